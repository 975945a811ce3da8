# SPDX-License-Identifier: GPL-2.0-only
"""The figures of a run in a network of one's own: those of the whole, and those of each flow."""

from pathlib import Path
from typing import Any

import numpy

from airtcp.experiment.metrics import METRICS
from airtcp.results import metrics
from airtcp.results.files.airsim import read_airsim
from airtcp.results.files.iperf3 import read_iperf3
from airtcp.results.files.latency import read_ping
from airtcp.results.files.tcpwatch import read_flows
from airtcp.steps import topology_traffic
from airtcp.testbed.topology import Scene, Stream

Value = float | None


def compute(run_dir: Path, scene: Scene) -> dict[str, Value]:
    """Every metric of metrics.METRICS; None for those that such a network has not.

    Goodput is what reached the receivers over the whole run, whenever flows began and ended. Of TCP
    it is all flows together, of ping all stations. Raises AirtcpError for a file that is missing,
    cut short or corrupt, and when frames went astray in the radios.
    """
    metrics.check_fates(run_dir)
    length_s = read_airsim(run_dir)["time_ns"] / 1e9
    values: dict[str, Value] = dict.fromkeys(METRICS)
    received = {stream.label: _received_bits(run_dir, stream) for stream in scene.streams}
    for direction in ("download", "upload"):
        own = [received[one.label] for one in scene.streams if one.direction == direction]
        if own:
            values[f"goodput_{direction}_mbps"] = sum(own) / length_s / 1e6
    values["goodput_mbps"] = sum(received.values()) / length_s / 1e6
    if over_tcp := [stream for stream in scene.streams if stream.protocol == "tcp"]:
        sent, got = read_flows(run_dir, over_tcp)
        values |= metrics.counted(run_dir, [one.final for one in sent], [one.final for one in got])
        values |= metrics.sampled(run_dir, sent)
    return values | _ping(run_dir, scene) | metrics.air(run_dir, scene.media)


def flows(run_dir: Path, scene: Scene) -> list[dict[str, Any]]:
    """Each flow: what it was, and its figures over its own time, None where UDP has none."""
    found = []
    for stream in scene.streams:
        client = read_iperf3(run_dir / stream.file("client"))
        of_tcp: dict[str, Value] = {}
        if stream.protocol == "tcp":
            sent, got = read_flows(run_dir, [stream])
            of_tcp = metrics.counted(run_dir, [sent[0].final], [got[0].final])
            of_tcp |= metrics.sampled(run_dir, sent)
        found.append(
            {
                "name": stream.label,
                "from": stream.sender,
                "to": stream.receiver,
                "protocol": stream.protocol,
                "congestion_control": stream.congestion_control if of_tcp else None,
                "start_s": stream.start_s,
                "seconds": client.number("end", "sum_received", "seconds"),
                "received_bytes": round(client.number("end", "sum_received", "bytes")),
                "goodput_mbps": client.number("end", "sum_received", "bits_per_second") / 1e6,
                **{name: of_tcp.get(name) for name in _OF_TCP},
            }
        )
    return found


_OF_TCP = (
    *("retransmits", "data_segments", "acks_sent", "acks_per_segment"),
    *("tcp_rtt_ms_p50", "tcp_rtt_ms_p95", "cwnd_segments_mean"),
)


def _received_bits(run_dir: Path, stream: Stream) -> float:
    client = read_iperf3(run_dir / stream.file("client"))
    return 8 * client.number("end", "sum_received", "bytes")


def _ping(run_dir: Path, scene: Scene) -> dict[str, Value]:
    files = [topology_traffic.ping_file(node.name) for node in topology_traffic.pinging(scene)]
    if not files:
        return {}
    rtts_ms = numpy.concatenate([read_ping(run_dir, file).rtt_ms for file in files])
    return {
        "ping_rtt_ms_p50": float(numpy.percentile(rtts_ms, 50)),
        "ping_rtt_ms_p95": float(numpy.percentile(rtts_ms, 95)),
    }
