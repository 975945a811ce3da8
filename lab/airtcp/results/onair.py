# SPDX-License-Identifier: GPL-2.0-only
"""Metrics of what was captured on the air: responses, and the states of the stations' radios."""

from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy
from numpy.typing import ArrayLike, NDArray

from airtcp.errors import AirtcpError
from airtcp.experiment.metrics import Value
from airtcp.files import airtrace
from airtcp.files.airsim import read_airsim
from airtcp.models.radio_energy import mean_power_w
from airtcp.statistics import Floats
from airtcp.testbed.model import Node, Testbed

_NS_PER_S = 1e9
_MBIT_PER_GB = 8000
_BETWEEN_BEACONS_S = 0.1024

_FIELDS = [
    *(("start_s", float), ("end_s", float), ("sender", int)),
    *(("is_response", bool), ("is_data", bool), ("to_group", bool), ("saves_power", bool)),
]

Sent = NDArray[Any]
"""Transmissions with these fields, those of each radio in order, of shape (N,)."""

_Intervals = Floats
"""Starts and ends in seconds, of shape (N, 2)."""


class States(NamedTuple):
    """Shares of a time that a radio spends in each state (idle for the rest), and wake-ups."""

    transmitting: float
    receiving: float
    dozing: float
    wakeups_per_s: float


def measure(run_dir: Path, testbed: Testbed, goodput_mbps: Value) -> dict[str, Value]:
    """Metrics of the part of the transfer in the capture of the air.

    goodput_mbps: None if no flow has a duration. Raises AirtcpError if the capture ends before the
    transfer starts.
    """
    path = run_dir / "air.pcapng"
    start_s, end_s, is_whole = _window_s(path)
    sent = transmissions(path, end_s)
    length_s = end_s - start_s
    responses = (sent["is_response"] & (sent["end_s"] > start_s)).sum()
    values: dict[str, Value] = {"mac_acks_per_s": float(responses / length_s)}
    scans = any(node.parameters.scan_interval_s for node in testbed.stations)
    if scans or testbed.handovers or testbed.roaming:
        return values  # a radio can be on a channel other than that of its access point
    stations = testbed.wireless("station")
    states = [states_of(sent, testbed, station, (start_s, end_s)) for station in stations]
    power_w = [mean_power_w(one.transmitting, one.receiving, one.dozing) for one in states]
    values |= {
        "station_tx_share": fmean(one.transmitting for one in states),
        "station_rx_share": fmean(one.receiving for one in states),
        "station_doze_share": fmean(one.dozing for one in states),
        "station_wakeups_per_s": fmean(one.wakeups_per_s for one in states),
        "station_power_w": fmean(power_w),
    }
    if goodput_mbps and is_whole:
        values["station_energy_j_per_gb"] = sum(power_w) / goodput_mbps * _MBIT_PER_GB
    return values


def states_of(sent: Sent, testbed: Testbed, station: Node, window_s: tuple[float, float]) -> States:
    """The states of a station's radio in a window, from all transmissions up to its end.

    A radio that is awake receives everything on channels that overlap its own, whoever it is for;
    one that dozes receives what the access point sends to groups. It dozes from the end of a data
    frame with the Power Management bit to the next one without, except while it transmits.
    """
    own, access_point = testbed.radio(station.name), testbed.radio(station.access_point)
    sent = sent[numpy.isin(sent["sender"], testbed.on_channel(station))]
    by_own = sent[sent["sender"] == own]
    to_groups = sent[(sent["sender"] == access_point) & sent["to_group"]]
    dozing = _dozing(by_own, window_s) if station.parameters.power_save else _intervals([])
    awake = _intervals([window_s[0], *dozing.ravel(), window_s[1]])
    transmitting_s = _covered_s(by_own, _intervals(window_s))
    received_dozing_s = _covered_s(to_groups, dozing)
    sent_dozing_s = _covered_s(by_own, dozing)  # frames without data
    receiving_s = _covered_s(sent, awake) - transmitting_s + sent_dozing_s + received_dozing_s
    length_s = window_s[1] - window_s[0]
    return States(
        transmitting_s / length_s,
        max(0.0, receiving_s / length_s),
        (numpy.diff(dozing).sum() - sent_dozing_s - received_dozing_s) / length_s,
        (dozing[:, 1] < window_s[1]).sum() / length_s,
    )


def transmissions(path: Path, end_s: float) -> Sent:
    """The transmissions in a capture of the air that begin before end_s."""
    rows = (
        (
            *(one.start_ns / _NS_PER_S, one.end_ns / _NS_PER_S, one.sender),
            *(one.kind in ("ack", "blockack"), one.kind == "data"),
            *(one.kind in ("beacon", "multicast"), one.power_management),
        )
        for one in airtrace.read(path, 0.0, end_s)
    )
    return numpy.fromiter(rows, dtype=_FIELDS)


def _window_s(path: Path) -> tuple[float, float, bool]:
    """The captured part of the transfer (start, end), and whether that is all of it."""
    start_s = airtrace.transfer_start_ns(path) / _NS_PER_S
    transfer_s = read_airsim(path.parent)["time_ns"] / _NS_PER_S
    captured_s = airtrace.length_ns(path) / _NS_PER_S - start_s
    if captured_s <= 0:
        raise AirtcpError(
            f"{path}: the capture ends before the transfer starts: use a longer capture_duration"
        )
    is_whole = captured_s > transfer_s - _BETWEEN_BEACONS_S
    return start_s, start_s + min(transfer_s, captured_s), is_whole


def _dozing(sent: Sent, window_s: tuple[float, float]) -> _Intervals:
    """When a station dozes, by the frames that it sends."""
    data = sent[sent["is_data"]]
    saving = data["saves_power"]
    begins = saving & ~numpy.append(saving[1:], False)  # the last of several attempts
    ends = numpy.append(data["start_s"][1:], window_s[1])
    intervals: _Intervals = numpy.column_stack((data["end_s"], ends))[begins].clip(*window_s)
    return intervals[intervals[:, 1] > intervals[:, 0]]


def _intervals(bounds: ArrayLike) -> _Intervals:
    return numpy.asarray(bounds, dtype=float).reshape(-1, 2)


def _covered_s(sent: Sent, within: _Intervals) -> float:
    """How long at least one transmission lasts within these intervals, which are disjoint."""
    if not len(sent):
        return 0.0
    sent = sent[sent["start_s"].argsort()]
    starts, until = sent["start_s"], numpy.maximum.accumulate(sent["end_s"])
    first = numpy.append(True, starts[1:] > until[:-1])  # of transmissions that overlap
    last = numpy.append(first[1:], True)
    bounds = numpy.column_stack((starts[first], until[last])).ravel()
    lengths = numpy.diff(bounds, prepend=bounds[0])
    lengths[::2] = 0  # gaps
    return float(numpy.diff(numpy.interp(within, bounds, lengths.cumsum())).sum())
