# SPDX-License-Identifier: GPL-2.0-only
"""airsim's radio against IEEE 802.11-2020, whose timing is worked out here independently."""

from math import ceil

import pytest
from conftest import Measure

# Clause 19.3 (HT), 40 MHz: data subcarriers and bits on each by MCS of one stream.
SUBCARRIERS = {"20MHz": 52, "40MHz": 108}
BITS = (0.5, 1, 1.5, 2, 3, 4, 4.5, 5)
SYMBOL_US = {"long": 4.0, "short": 3.6}

# Table 17-21 (OFDM at 5 GHz), and the EDCA defaults for best effort of table 9-155.
SIFS_US, SLOT_US, AIFSN, CW_MIN = 16, 9, 3, 15

# UDP in IPv4 in LLC/SNAP in a QoS data frame with its FCS.
PAYLOAD = 1472
MPDU = PAYLOAD + 8 + 20 + 8 + 26 + 4
MAX_AMPDU = 65535
MAX_PPDU_US = 5484


def ppdu_us(width: str, guard: str, mcs: int, octets: int) -> float:
    """HT-mixed PPDU: preamble with an HT-LTF a stream (four for three), then whole symbols."""
    streams = mcs // 8 + 1
    symbols = ceil((16 + 8 * octets + 6) / (SUBCARRIERS[width] * BITS[mcs % 8] * streams))
    preamble_us = 20 + 8 + 4 + 4 * {1: 1, 2: 2, 3: 4, 4: 4}[streams]
    return preamble_us + 4 * ceil(SYMBOL_US[guard] * symbols / 4 - 1e-9)


def goodput_mbps(width: str, guard: str, mcs: int, most: int) -> float:
    """A lone saturated sender: AIFS, mean backoff, A-MPDU, SIFS, BlockAck, and again."""

    def octets(count: int) -> int:
        return (count - 1) * (4 + 4 * ceil(MPDU / 4)) + 4 + MPDU if count > 1 else MPDU

    def allowed(count: int) -> bool:
        fits = octets(count) <= MAX_AMPDU
        return fits and ppdu_us(width, guard, mcs, octets(count)) <= MAX_PPDU_US

    count = max(n for n in range(1, most + 1) if allowed(n))
    # BlockAck 32 octets, ACK 14: three and two symbols at 24 Mbit/s.
    answer_us = 20 + 4 * (3 if count > 1 else 2)
    access_us = SIFS_US + AIFSN * SLOT_US + CW_MIN / 2 * SLOT_US
    cycle_us = access_us + ppdu_us(width, guard, mcs, octets(count)) + SIFS_US + answer_us
    return count * PAYLOAD * 8 / cycle_us


@pytest.mark.parametrize(
    ("width", "guard", "mcs", "most"),
    [
        ("40MHz", "short", 13, 64),
        ("40MHz", "short", 13, 1),
        ("20MHz", "long", 7, 64),
    ],
)
def test_a_saturated_sender_reaches_what_the_standard_allows(
    measure: Measure, width: str, guard: str, mcs: int, most: int
) -> None:
    expected = goodput_mbps(width, guard, mcs, most)
    result = measure(
        *("protocol=udp", f"udp_rate={1.15 * expected:.0f}Mbit", "ping_interval=0ms"),
        *(f"width={width}", f"guard_interval={guard}", f"mcs={mcs}", f"ampdu_mpdus={most}"),
        "duration=2s",
    )
    assert result["error"] is None
    assert result["metrics"]["goodput_mbps"] == pytest.approx(expected, rel=0.01)


def test_the_shares_of_airtime_add_up(measure: Measure) -> None:
    metrics = measure("duration=5s")["metrics"]
    shares = [metrics[f"airtime_{kind}_share"] for kind in ("data", "ack", "idle", "collision")]
    # What is missing is management: a beacon each 102.4 ms.
    assert 0.99 < sum(shares) < 1
    assert min(shares) > 0


def test_errors_on_the_air_are_retried_below_tcp(measure: Measure) -> None:
    clean = measure()["metrics"]
    lossy = measure("error_rate=0.1")["metrics"]
    sent = lossy["data_segments"] + lossy["acks_sent"]
    # Of each MPDU 1 / 0.9 transmissions, those after collisions not counted.
    assert lossy["tx_retries"] > 0.9 * sent * (1 / 0.9 - 1)
    assert 0.75 < lossy["goodput_mbps"] / clean["goodput_mbps"] < 0.95
