# SPDX-License-Identifier: GPL-2.0-only
"""airsim's counters in a transfer."""

from guests import Measure


def test_the_shares_of_airtime_add_up(measure: Measure) -> None:
    metrics = measure("duration=5s").values
    shares = [metrics[f"airtime_{kind}_share"] for kind in ("data", "ack", "idle", "collision")]
    # The rest is management: a beacon every 102.4 ms.
    assert 0.99 < sum(shares) < 1
    assert min(shares) > 0


def test_errors_on_the_air_are_retried_below_tcp(measure: Measure) -> None:
    clean = measure().values
    lossy = measure("error_rate=0.1").values
    sent = lossy["data_segments"] + lossy["acks_sent"]
    # 1 / 0.9 transmissions per MPDU, not counting those after collisions.
    assert lossy["tx_retries"] > 0.9 * sent * (1 / 0.9 - 1)
    assert 0.75 < lossy["goodput_mbps"] / clean["goodput_mbps"] < 0.95
