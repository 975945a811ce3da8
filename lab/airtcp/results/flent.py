# SPDX-License-Identifier: GPL-2.0-only
"""Writes a run in the file format of Flent, a network tester that plots and compares runs.

Format version 4, as written by Flent 2.1: series of equal length over x_values, and raw samples.
Tests and series have Flent's names, so that its plots work. Times are those of the guest.
"""

import gzip
import json
import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy

from airtcp.backends.uml import EPOCH_NS
from airtcp.files.exchanges import read_exchanges
from airtcp.files.latency import Latency, read_ping, read_udp_ping
from airtcp.results import timeseries
from airtcp.statistics import Floats
from airtcp.testbed.model import RRUL_CLASSES, Flow, Testbed

_FORMAT = 4
_STEP_S = 0.2
# Minimum for exchanges, which may take less than a step.
_MIN_STEPS = 20

# In the file, probing starts when the guest boots. Flent requires microseconds.
BOOT = datetime.fromtimestamp(EPOCH_NS // 10**9, tz=UTC)


class _Series(NamedTuple):
    """A series of Flent: a value or None for each of x_values, and its samples."""

    units: str
    values: Sequence[float | None]
    samples: Sequence[tuple[float, float]] = ()


def write(path: Path, run_dir: Path, testbed: Testbed, title: str, began: datetime = BOOT) -> None:
    """Write the run in run_dir as a .flent.gz. Raises AirtcpError if its files are missing.

    began: when probing started; default: the boot of the guest.
    """
    parameters, bulk = testbed.parameters, bool(testbed.bulk)
    ends_s, series = (_bulk if bulk else _exchanges)(run_dir, testbed)
    total_s = float(ends_s[-1])
    epoch_s = began.timestamp()
    began_text = began.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    document = {
        "version": _FORMAT,
        "metadata": {
            "NAME": test_name(testbed),
            "TITLE": title,
            "TIME": began_text,
            "T0": began_text,
            "HOST": testbed.hosts[0].addresses[0],
            "LOCAL_HOST": testbed.stations[0].name,
            "DELAY": round(parameters.baseline_s),
            "LENGTH": round(parameters.duration_s) if bulk else total_s,
            "TOTAL_LENGTH": total_s,
            "STEP_SIZE": float(ends_s[0]),
            "IP_VERSION": 4,
            "NOTE": None,
            "DATA_FILENAME": path.name,
            "TEST_PARAMETERS": _test_parameters(testbed),
            "SERIES_META": {name: {"UNITS": values.units} for name, values in series.items()},
        },
        "x_values": [round(float(end_s), 3) for end_s in ends_s],
        "results": {name: list(values.values) for name, values in series.items()},
        "raw_values": {
            name: [{"t": epoch_s + at_s, "val": value} for at_s, value in values.samples]
            for name, values in series.items()
            if values.samples
        },
    }
    # The same run gives the same bytes.
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write(json.dumps(document, sort_keys=True).encode())


def test_name(testbed: Testbed) -> str:
    """The name of the test of Flent with the series and plots of the run."""
    if not testbed.bulk:
        # The only series is a time over TCP; Flent's test ping has times over ICMP and UDP.
        return "http"
    directions = _directions(testbed)
    if not testbed.over("tcp"):
        return "udp_flood"
    if len(directions) > 1:
        return "rrul" if _is_rrul(testbed) else "rrul_be_nflows"
    return "tcp_nup" if "upload" in directions else "tcp_ndown"


def _direction(flow: Flow) -> str:
    """The direction in Flent, which has two: traffic between stations or servers is download."""
    return "upload" if flow.direction == "upload" else "download"


def _directions(testbed: Testbed) -> set[str]:
    return {_direction(flow) for flow in testbed.bulk}


def _is_rrul(testbed: Testbed) -> bool:
    """Whether there is exactly one flow of each class and direction, all of one station."""
    classes = sorted(
        (_direction(flow), str(flow.service), flow.connections) for flow in testbed.bulk
    )
    wanted = sorted((way, name, 1) for way in ("upload", "download") for name in RRUL_CLASSES)
    return classes == wanted and len({flow.station for flow in testbed.bulk}) == 1


def _test_parameters(testbed: Testbed) -> dict[str, str]:
    connections = Counter[str]()
    for flow in testbed.bulk or testbed.flows:
        connections[_direction(flow)] += flow.connections
    most = str(max(connections.values()))
    return {"upload_streams": most, "download_streams": most}


def _bulk(run_dir: Path, testbed: Testbed) -> tuple[Floats, dict[str, _Series]]:
    over_time = timeseries.read(run_dir, testbed, _STEP_S)
    ends_s, series = over_time.ends_s, dict[str, _Series]()
    both = len(_directions(testbed)) > 1
    for direction in ("upload", "download"):
        for protocol in ("TCP", "UDP"):
            flows = [
                flow
                for flow in over_time.flows
                if (_direction(flow.transfer), flow.transfer.protocol)
                == (direction, protocol.lower())
            ]
            if flows:
                series |= _one_way(testbed, protocol, direction, ends_s, flows)
    if both:
        total = numpy.sum([flow.goodput_mbps for flow in over_time.flows], axis=0)
        prefix = "TCP" if testbed.over("tcp") else "UDP"
        series[f"{prefix} totals"] = _over_time(ends_s, total)
    probes = _probes(run_dir, testbed)
    for name, probe in probes.items():
        series[name] = _latency(ends_s, probe)
    if probes and both:
        columns = [series[name].values for name in probes]
        means = [_mean(values) for values in zip(*columns, strict=True)]
        series["Ping (ms) avg"] = _over_time(ends_s, numpy.array(means), "ms")
    return ends_s, series


def _one_way(
    testbed: Testbed,
    protocol: str,
    direction: str,
    ends_s: Floats,
    flows: Sequence[timeseries.FlowSeries],
) -> dict[str, _Series]:
    goodputs = numpy.array([flow.goodput_mbps for flow in flows])
    both, total = len(_directions(testbed)) > 1, _over_time(ends_s, goodputs.sum(axis=0))
    if protocol == "UDP":
        # Flent's flood is an upload.
        return {f"UDP {direction if both else 'upload'}": total}
    suffixes = [f" BE::{number}" if both else f"::{number}" for number in range(1, len(flows) + 1)]
    if _is_rrul(testbed):
        suffixes = [f" {flow.transfer.service}" for flow in flows]
    series = {
        f"TCP {direction}{suffix}": _over_time(ends_s, flow.goodput_mbps)
        for suffix, flow in zip(suffixes, flows, strict=True)
    }
    series[f"TCP {direction} avg"] = _over_time(ends_s, goodputs.mean(axis=0))
    return {**series, f"TCP {direction} sum": total}


def _probes(run_dir: Path, testbed: Testbed) -> dict[str, Latency]:
    """Probes by Flent's names. These do not distinguish stations: the first probe of each name."""
    latencies: dict[str, Latency] = {}
    for probe in testbed.probes:
        if probe.tool == "ping":
            latencies.setdefault("Ping (ms) ICMP", read_ping(run_dir, probe.file))
        else:
            name = f"Ping (ms) UDP {probe.service}"
            latencies.setdefault(name, read_udp_ping(run_dir / probe.file))
    return latencies


def _over_time(ends_s: Floats, values: Floats, units: str = "Mbits/s") -> _Series:
    """A series whose samples are its values."""
    known = [_known(value) for value in values]
    samples = [
        (float(end_s), value)
        for end_s, value in zip(ends_s, known, strict=True)
        if value is not None
    ]
    return _Series(units, known, samples)


def _latency(ends_s: Floats, probe: Latency) -> _Series:
    """Interpolated between replies, as in Flent; None before the first and after the last."""
    sent_s, rtt_ms = probe.answered.sent_s, probe.answered.rtt_ms
    if not sent_s.size:
        return _Series("ms", [None] * len(ends_s))
    values = numpy.interp(ends_s, sent_s, rtt_ms, left=numpy.nan, right=numpy.nan)
    samples = [(float(at_s), float(ms)) for at_s, ms in zip(sent_s, rtt_ms, strict=True)]
    return _Series("ms", [_known(value) for value in values], samples)


def _exchanges(run_dir: Path, testbed: Testbed) -> tuple[Floats, dict[str, _Series]]:
    read = [read_exchanges(run_dir / flow.exchanges_file) for flow in testbed.exchanges]
    # Flent's HTTP client measures pages, too, as lists of objects.
    by_flow = [exchanges.by_page() if any(exchanges.page) else exchanges for exchanges in read]
    begin_ns = min(start_ns for exchanges in by_flow for start_ns in exchanges.start_ns)
    ends_s = numpy.array(
        [(end_ns - begin_ns) / 1e9 for exchanges in by_flow for end_ns in exchanges.end_ns]
    )
    times_ms = numpy.concatenate([exchanges.times_ms for exchanges in by_flow])
    order = numpy.argsort(ends_s, kind="stable")
    probe = Latency(ends_s[order], times_ms[order])
    steps = max(_MIN_STEPS, math.ceil(ends_s.max() / _STEP_S))
    step_s = min(_STEP_S, round(ends_s.max() / steps, 6))
    steps_s = step_s * numpy.arange(1, steps + 1, dtype=numpy.float64)
    return steps_s, {"HTTP latency": _latency(steps_s, probe)}


def _known(value: float) -> float | None:
    return None if numpy.isnan(value) else round(float(value), 6)


def _mean(values: Sequence[float | None]) -> float:
    """Mean of the known values; NaN if there are none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else math.nan
