# SPDX-License-Identifier: GPL-2.0-only
"""A run in the file format of Flent, the field's network tester, which plots and compares them.

Format version 4, as Flent 2.1 writes it: series of equal length over x_values, raw samples beside
them. The names of tests and series are Flent's own, so that its plots find them. Time is the
guest's.
"""

import gzip
import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from airtcp.backends.uml import EPOCH_NS
from airtcp.parameters import Parameters
from airtcp.results import timeseries
from airtcp.results.files.exchanges import read_exchanges
from airtcp.results.files.latency import Latency, read_ping, read_udp_ping
from airtcp.testbed.addresses import SERVER_ADDRESS
from airtcp.testbed.flows import udp_probe_file, udp_probes

_FORMAT = 4
_STEP_S = 0.2
# Of exchanges, which may be over sooner than a step, there are that many at least.
_FEWEST_STEPS = 20

# Times in the file are as if probing began when the guest booted. Flent wants microseconds.
_BOOT = datetime.fromtimestamp(EPOCH_NS // 10**9, tz=UTC)
_BOOT_TEXT = _BOOT.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class _Series(NamedTuple):
    """One of Flent's: a value or None for each of x_values, and the samples it comes from."""

    units: str
    values: Sequence[float | None]
    samples: Sequence[tuple[float, float]] = ()


def write(path: Path, run_dir: Path, parameters: Parameters, title: str) -> None:
    """Write the run in run_dir as a .flent.gz. Raises AirtcpError for files that are missing."""
    bulk = parameters.workload == "bulk"
    ends_s, series = (_bulk if bulk else _exchanges)(run_dir, parameters)
    total_s = float(ends_s[-1])
    epoch_s = _BOOT.timestamp()
    document = {
        "version": _FORMAT,
        "metadata": {
            "NAME": test_name(parameters),
            "TITLE": title,
            "TIME": _BOOT_TEXT,
            "T0": _BOOT_TEXT,
            "HOST": SERVER_ADDRESS,
            "LOCAL_HOST": "station",
            "DELAY": round(parameters.baseline_s),
            "LENGTH": round(parameters.duration_s) if bulk else total_s,
            "TOTAL_LENGTH": total_s,
            "STEP_SIZE": float(ends_s[0]),
            "IP_VERSION": 4,
            "NOTE": None,
            "DATA_FILENAME": path.name,
            "TEST_PARAMETERS": _test_parameters(parameters),
            "SERIES_META": {name: {"UNITS": one.units} for name, one in series.items()},
        },
        "x_values": [round(float(end_s), 3) for end_s in ends_s],
        "results": {name: list(one.values) for name, one in series.items()},
        "raw_values": {
            name: [{"t": epoch_s + at_s, "val": value} for at_s, value in one.samples]
            for name, one in series.items()
            if one.samples
        },
    }
    # The same run gives the same bytes.
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write(json.dumps(document, sort_keys=True).encode())


def test_name(parameters: Parameters) -> str:
    """The test of Flent's whose series and plots are those of the run."""
    if parameters.workload != "bulk":
        # Its only series is a time over TCP; that of Flent's ping is of ICMP and UDP.
        return "http"
    if parameters.protocol == "udp":
        return "udp_flood"
    if parameters.direction == "both":
        return "rrul" if _is_rrul(parameters) else "rrul_be_nflows"
    return "tcp_nup" if parameters.direction == "upload" else "tcp_ndown"


def _is_rrul(parameters: Parameters) -> bool:
    """Is there a flow of each class in each direction, and no other?"""
    both = parameters.direction == "both"
    return both and (parameters.dscp, parameters.flows, parameters.stations) == ("rrul", 4, 1)


def _test_parameters(parameters: Parameters) -> dict[str, str]:
    flows = str(parameters.flows * parameters.stations)
    return {"upload_streams": flows, "download_streams": flows}


def _bulk(
    run_dir: Path, parameters: Parameters
) -> tuple[NDArray[numpy.float64], dict[str, _Series]]:
    over_time = timeseries.read(run_dir, parameters, _STEP_S)
    series: dict[str, _Series] = {}
    prefix = parameters.protocol.upper()
    for direction in ("upload", "download"):
        flows = [flow for flow in over_time.flows if flow.direction == direction]
        if not flows:
            continue
        goodputs = numpy.array([flow.goodput_mbps for flow in flows])
        if prefix == "UDP":
            # Flent's flood goes one way, which is its upload.
            name = "UDP upload" if parameters.direction != "both" else f"UDP {direction}"
            series[name] = _over_time(over_time.ends_s, goodputs.sum(axis=0))
            continue
        for number, flow in enumerate(flows, start=1):
            name = f"TCP {direction}{_suffix(parameters, flow, number)}"
            series[name] = _over_time(over_time.ends_s, flow.goodput_mbps)
        series[f"TCP {direction} avg"] = _over_time(over_time.ends_s, goodputs.mean(axis=0))
        series[f"TCP {direction} sum"] = _over_time(over_time.ends_s, goodputs.sum(axis=0))
    if parameters.direction == "both":
        total = numpy.sum([flow.goodput_mbps for flow in over_time.flows], axis=0)
        series[f"{prefix} totals"] = _over_time(over_time.ends_s, total)
    probes = {}
    if parameters.ping_interval_s:
        probes["Ping (ms) ICMP"] = read_ping(run_dir)
    for service in udp_probes(parameters):
        probes[f"Ping (ms) UDP {service}"] = read_udp_ping(run_dir / udp_probe_file(service))
    for name, probe in probes.items():
        series[name] = _latency(over_time.ends_s, probe)
    if probes and parameters.direction == "both":
        columns = [series[name].values for name in probes]
        means = [_mean(values) for values in zip(*columns, strict=True)]
        series["Ping (ms) avg"] = _over_time(over_time.ends_s, numpy.array(means), "ms")
    return over_time.ends_s, series


def _suffix(parameters: Parameters, flow: timeseries.Flow, number: int) -> str:
    """How Flent's test names a flow: by number, or by its class."""
    if _is_rrul(parameters):
        return f" {flow.transfer.service}"
    return f" BE::{number}" if parameters.direction == "both" else f"::{number}"


def _over_time(
    ends_s: NDArray[numpy.float64], values: NDArray[numpy.float64], units: str = "Mbits/s"
) -> _Series:
    """A series whose samples are its values."""
    known = [_known(value) for value in values]
    samples = [
        (float(end_s), value)
        for end_s, value in zip(ends_s, known, strict=True)
        if value is not None
    ]
    return _Series(units, known, samples)


def _latency(ends_s: NDArray[numpy.float64], probe: Latency) -> _Series:
    """Interpolated between answers, as Flent does; none before the first and after the last."""
    answered = ~numpy.isnan(probe.rtt_ms)
    sent_s, rtt_ms = probe.sent_s[answered], probe.rtt_ms[answered]
    if not sent_s.size:
        return _Series("ms", [None] * len(ends_s))
    values = numpy.interp(ends_s, sent_s, rtt_ms, left=numpy.nan, right=numpy.nan)
    samples = [(float(at_s), float(ms)) for at_s, ms in zip(sent_s, rtt_ms, strict=True)]
    return _Series("ms", [_known(value) for value in values], samples)


def _exchanges(
    run_dir: Path, parameters: Parameters
) -> tuple[NDArray[numpy.float64], dict[str, _Series]]:
    exchanges = read_exchanges(run_dir)
    if parameters.workload == "web":
        # What Flent's client of HTTP times is a list of objects.
        exchanges = exchanges.by_page()
    begin_ns = min(exchanges.start_ns)
    ends_s = numpy.array([(end_ns - begin_ns) / 1e9 for end_ns in exchanges.end_ns])
    order = numpy.argsort(ends_s, kind="stable")
    probe = Latency(ends_s[order], exchanges.times_ms[order])
    steps = max(_FEWEST_STEPS, math.ceil(ends_s.max() / _STEP_S))
    step_s = min(_STEP_S, round(ends_s.max() / steps, 6))
    steps_s = step_s * numpy.arange(1, steps + 1, dtype=numpy.float64)
    return steps_s, {"HTTP latency": _latency(steps_s, probe)}


def _known(value: float) -> float | None:
    return None if numpy.isnan(value) else round(float(value), 6)


def _mean(values: Sequence[float | None]) -> float:
    """Of those that are known; NaN of none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else math.nan
