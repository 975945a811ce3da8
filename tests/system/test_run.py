# SPDX-License-Identifier: GPL-2.0-only
"""Whole runs on the laboratory's kernel: metrics and failures."""

import csv
from pathlib import Path

import pytest
from edits import with_word
from guests import PATH_METRICS, UDP_METRICS, Measure

from airtcp.backends.uml import EPOCH_NS
from airtcp.experiment.metrics import METRICS
from airtcp.files.airsim import read_transfer_start_ns
from airtcp.files.capture import read_packets
from airtcp.steps.plan import plan
from airtcp.sweep import request

# Metrics of other workloads and of probes that are off.
OTHERS = {
    name
    for name in METRICS
    if name.startswith(
        (
            *("request_response_", "completion_time_", "page_time_", "command_time_"),
            *("ping_idle_", "udp_ping_", *UDP_METRICS, *PATH_METRICS),
        )
    )
}
CAPTURED = {name for name in METRICS if name.startswith(("mac_acks", "station_"))}
UPLOAD, DOWNLOAD = "goodput_upload_mbps", "goodput_download_mbps"


@pytest.mark.parametrize(
    "settings",
    [
        ("capture=server,station,air",),
        ("ack_policy=aad", "delay=50ms"),
        ("rate=10Mbit", "delay=10ms"),
        ("direction=upload", "flows=3", "congestion_control=bbr"),
        ("gro=on", "gso=on", "tso=on", "sack=on", "nagle=on", "iperf3_block=off"),
        (
            *("width=20MHz", "guard_interval=800ns", "streams=1", "mcs=0", "error_rate=0.1"),
            "timestamps=off",
        ),
        ("standard=802.11a", "preset=wifi-11a", "width=20MHz", "streams=1", "guard_interval=800ns"),
        ("standard=802.11ac", "preset=qca6178", "width=80MHz", "mcs=9", "queue=fifo"),
        ("standard=802.11ax", "preset=generic", "width=160MHz", "guard_interval=800ns", "mcs=11"),
        ("rate_control=minstrel", "error_model=snr", "snr=25dB", "rts_threshold=2000B"),
        ("error_model=snr", "walk=0s=5m,1s=10m,2s=5m", "rx_delivery=coalesced"),
        ("error_model=burst", "burst_enter=0.01", "burst_leave=0.1", "burst_bad_error=0.5"),
    ],
    ids=" ".join,
)
def test_tcp_run_has_every_metric(measure: Measure, settings: tuple[str, ...]) -> None:
    result = measure(*settings)
    assert result.error is None
    assert set(result.metrics) == set(METRICS)
    missing = {name for name, value in result.metrics.items() if value is None}
    # Fairness needs several stations or flows.
    several = "flows=3" in settings
    opposite = DOWNLOAD if "direction=upload" in settings else UPLOAD
    absent = (
        {"goodput_jain", "airtime_jain", opposite} | OTHERS | (set() if several else {"flow_jain"})
    )
    captured = "air" in settings[0]
    assert missing == absent - (CAPTURED if captured else set())
    assert result.values["goodput_mbps"] > 1
    assert result.cost.virtual_s and result.cost.virtual_s > 2
    if captured:
        assert {"server.pcapng", "station.pcapng", "air.pcapng"} <= set(result.artifacts)


@pytest.mark.parametrize("mcs", [0, 4, 7])
def test_no_access_category_stops_after_others_have_filled_the_fifo(
    measure: Measure, mcs: int
) -> None:
    """TCP does not send a segment again while it is queued, so nothing else would wake it."""
    result = measure(
        *("preset=generic", "width=20MHz", "guard_interval=800ns", f"mcs={mcs}"),
        *("queue=fifo", "fifo_mpdus=1", "direction=upload", "dscp=rrul", "flows=4"),
    )
    assert result.error is None


@pytest.mark.parametrize("rate", ["1Mbit", "unlimited"])
def test_captures_contain_their_whole_duration(measure: Measure, tmp_path: Path, rate: str) -> None:
    """On a slow path, tcpdump has the last packets up to a second later."""
    settings = ("capture=server,station,air", "capture_duration=1500ms", "ping_interval=10ms")
    result = measure(f"rate={rate}", *settings, "duration=3s")
    started_ns = read_transfer_start_ns((tmp_path / result.artifacts["air.pcapng"].path).parent)
    assert started_ns is not None
    for point in ("server", "station", "air"):
        path = tmp_path / result.artifacts[f"{point}.pcapng"].path
        last_ns = max(packet.time_ns for packet in read_packets(path))
        assert 1.48e9 < last_ns - EPOCH_NS - started_ns < 1.5e9


def test_udp_run_has_every_metric_but_those_of_tcp(measure: Measure) -> None:
    result = measure("protocol=udp")
    assert result.error is None
    missing = {name for name, value in result.metrics.items() if value is None}
    assert missing == {
        *("retransmits", "data_segments", "delivery_share", "acks_sent", "acks_per_segment"),
        *("tcp_rtt_ms_mean", "tcp_rtt_ms_p50", "tcp_rtt_ms_p95", "goodput_jain"),
        "airtime_jain",
        *("cwnd_segments_mean", "cwnd_segments_max", "packets_per_s"),
        *("flow_jain", UPLOAD, *(OTHERS - set(UDP_METRICS))),
    }


def test_stations_share_the_channel(measure: Measure) -> None:
    metrics = measure("stations=4", "duration=4s").values
    assert METRICS.keys() - metrics == OTHERS | {UPLOAD}
    assert metrics["goodput_jain"] > 0.8
    assert 100 < metrics["goodput_mbps"] < 200


def test_results_of_many_flows_are_exchanged_over_a_long_path(measure: Measure) -> None:
    """Those of 128 flows are larger than a segment, and arrive in several round trips."""
    result = measure("flows=128", "delay=50ms", "duration=1s")
    assert result.error is None


def test_wire_limits_goodput_as_in_the_thesis(measure: Measure) -> None:
    """tbf counts Ethernet frames: 1448 of 1514 bytes are payload, 47.8 of 50 Mbit/s."""
    result = measure("rate=50Mbit", "duration=5s")
    assert result.values["goodput_mbps"] == pytest.approx(50 * 1448 / 1514, rel=0.01)


def test_a_short_queue_drops_and_waits_less(measure: Measure) -> None:
    default = measure("duration=5s", "txq_limit=8192").values
    short = measure("duration=5s", "txq_limit=64").values
    assert short["retransmits"] > 10 * default["retransmits"]
    assert short["tcp_rtt_ms_mean"] < 0.5 * default["tcp_rtt_ms_mean"]


def test_packets_wait_as_long_as_codel_lets_them(measure: Measure) -> None:
    """Between drops the window is 0.7 to 1 times the largest, so the mean wait is a bit shorter."""

    def rtt_ms(target: str) -> float:
        setup = ("duration=10s", "txq_limit=8192", f"codel_target={target}")
        return measure(*setup).values["tcp_rtt_ms_mean"]

    rtts = {target_ms: rtt_ms(f"{target_ms}ms") for target_ms in (5, 20, 40)}
    print(rtts)
    assert rtt_ms("preset") == rtts[20]
    assert rtts[20] - rtts[5] == pytest.approx(15, rel=0.3)
    assert rtts[40] - rtts[20] == pytest.approx(20, rel=0.3)


def test_gro_reduces_the_acks_of_the_default_policy(measure: Measure) -> None:
    """Off: an ACK per two segments. On: one per merged burst, as with NAPI drivers."""
    alone = measure("gro=off", "rx_delivery=mpdu").values["acks_per_segment"]
    merged = measure("gro=on", "rx_delivery=mpdu").values["acks_per_segment"]
    assert 0.48 < alone < 0.6
    assert merged < 0.25


def test_a_station_that_walked_out_of_range_associates_again(
    measure: Measure, tmp_path: Path
) -> None:
    """TCP is heard again at its next retransmission timeout, ping at once."""
    walk = "walk=0s=5m,1s=5m,1200ms=150m,3700ms=150m,3900ms=5m"
    result = measure("error_model=snr", walk, "duration=10s")
    assert result.error is None
    assert result.values["goodput_mbps"] > 20
    [series] = tmp_path.rglob("series.csv")
    mbps = [float(row["goodput_mbps"]) for row in csv.DictReader(series.open())]
    assert mbps[0] > 20 and mbps[2] == 0 and mbps[-1] > 20


def test_pings_at_short_intervals_do_not_poll(measure: Measure) -> None:
    """Replies arrive less than 10 ms before the next request; polling would take 20 s."""
    result = measure("delay=10ms", "ping_interval=20ms")
    assert result.error is None
    assert result.cost.cpu_s is not None and result.cost.cpu_s < 6


def test_failed_command_is_reported(measure: Measure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "plan", lambda *of: with_word(plan(*of), "delay", "dealy"))
    result = measure("delay=50ms")
    assert result.status == "failed"
    assert result.error
    assert result.error.startswith("node server tc qdisc add dev eth0 root handle 1: netem dealy")
    assert result.error.endswith("console.log)")


def test_sysctl_that_the_kernel_does_not_have_is_reported(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request, "plan", lambda *of: with_word(plan(*of), "tcp_sack", "tcp_sock"))
    error = measure().error
    assert error and error.startswith(
        "this kernel has no sysctl net.ipv4.tcp_sock, so it cannot be set to 0"
    )
