# SPDX-License-Identifier: GPL-2.0-only
"""One run: write the plan, boot the guest, compute results. result.json is written last.

OUT/runs/<case>/seed-<n>/ contains the plan, the console, the instruments' files and result.json,
an element of "runs" in results.json.
"""

import math
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

import numpy.ma  # noqa: F401 - otherwise percentile() loads it in the process of every run

from airtcp import atomicfile
from airtcp.backends import shell, uml
from airtcp.backends.base import STALLED, GuestResult, virtual_time_s
from airtcp.errors import AirtcpError, StopError, of_file, of_reading
from airtcp.experiment.experiment import Case
from airtcp.experiment.metrics import Value
from airtcp.files import capture, iperf3
from airtcp.files.airsim import read_transfer_start_ns
from airtcp.kernel import policies
from airtcp.results import artifacts, flent, metrics, record, timeseries
from airtcp.results.record import (
    RESULT_FILE,
    Cost,
    FlowRecord,
    KernelRecord,
    Provenance,
    RunRecord,
    StationRecord,
)
from airtcp.steps.workloads import WORKLOADS, input_files
from airtcp.sweep.request import Request, RunRequest
from airtcp.testbed.default import access_rate_bps
from airtcp.testbed.model import Flow, Testbed

Say = Callable[[str], None]


def expected_virtual_s(testbed: Testbed) -> float:
    """Approximate virtual time from boot to power-off; setting up the network takes 5 s."""
    ends_s = (flow.start_s + WORKLOADS[flow.workload].expected_s(flow) for flow in testbed.flows)
    return max(ends_s) + 2 * testbed.parameters.baseline_s + 5


def finished(request: Request, out_dir: Path, known: bool, say: Say) -> RunRecord | None:
    """The record of the requested run, if it is finished and undamaged; otherwise None.

    say is called if it is finished but files are missing or have changed. Without result.json, it
    is considered finished only if results.json contains it (known).
    """
    run_dir = request.directory(out_dir)
    try:
        recorded = record.read(run_dir)
    except (OSError, ValueError) as error:
        if known or isinstance(error, ValueError):
            say(f"{run_dir}: {RESULT_FILE} {of_reading(error)}: this run is repeated")
        return None
    if recorded.identity != request.identity or not recorded.ok:
        return None
    if changed := ", ".join(artifacts.changes(recorded.artifacts, out_dir)):
        say(f"{run_dir}: {changed}: this run is repeated")
        return None
    return recorded


def run_one(request: RunRequest, out_dir: Path) -> RunRecord:
    """Execute a run. It replaces the files of an earlier run in its directory.

    If the guest fails, the record has its status and error. Raises as writing().
    """
    run_dir = request.directory(out_dir)
    with writing(run_dir):
        ended = _boot(request, run_dir)
        measured = _measured(request, ended, run_dir)
        if measured.error and (full := atomicfile.no_room(run_dir)):
            raise StopError(f"{run_dir}: {full}")
        done = _record(request, ended, measured, run_dir, out_dir)
        atomicfile.flush(run_dir)
        record.write(run_dir, done)
    return done


@contextmanager
def writing(run_dir: Path) -> Iterator[None]:
    """Raises AirtcpError if files of the run cannot be written.

    After StopError the directory is removed, to make room for the tables if the disk is full.
    """
    try:
        yield
    except StopError:
        shutil.rmtree(run_dir, ignore_errors=True)
        raise
    except OSError as error:
        failure = of_file(error, run_dir)
        if isinstance(failure, StopError):
            shutil.rmtree(run_dir, ignore_errors=True)
        raise failure from None


def _boot(request: RunRequest, run_dir: Path) -> GuestResult:
    """Run the plan in an empty directory."""
    testbed = request.testbed
    uml.remove_leftovers(run_dir)
    atomicfile.remove(run_dir, RESULT_FILE)
    run_dir.mkdir(parents=True)
    for name, text in input_files(testbed.flows, request.seed).items():
        (run_dir / name).write_text(text)
    (run_dir / "plan.sh").write_text(shell.render(request.plan), encoding="utf-8")
    return uml.boot(
        request.kernel,
        request.tools,
        run_dir,
        seed=request.seed,
        memory_mb=testbed.memory_mb,
        timeout_wall_s=_timeout_wall_s(testbed),
        timeout_virtual_s=partial(_timeout_virtual_s, testbed, run_dir),
        root=request.tools.root,
    )


@dataclass(frozen=True)
class _Measured:
    """The results of a run, or the error."""

    status: str
    error: str | None = None
    metrics: Mapping[str, Value] = field(default_factory=dict)
    flows: Sequence[FlowRecord] = ()
    stations: Sequence[StationRecord] = ()


def _measured(request: RunRequest, ended: GuestResult, run_dir: Path) -> _Measured:
    """Compute results from the guest's files. Writes *.pcapng, series.csv and run.flent.gz."""
    if ended.status != "ok":
        failure = _failure(ended, run_dir)
        if ended.status == "timeout":
            failure += _unfinished(request.testbed.bulk, run_dir)
        return _Measured(ended.status, _with_cause(failure, request.testbed))
    if failed := _failed_command(_console(ended), run_dir):
        return _Measured("failed", f"{failed} (console: {ended.console})")
    testbed = request.testbed
    try:
        convert_captures(run_dir, testbed)
        values = metrics.compute(run_dir, testbed)
        flows = metrics.flows(run_dir, testbed) if request.case.network else ()
        stations = metrics.stations(run_dir, testbed)
        write_series(run_dir, testbed, request.case, request.seed)
    except AirtcpError as error:
        return _Measured("failed", _with_cause(str(error), testbed))
    return _Measured(ended.status, None, values, flows, stations)


def _record(
    request: RunRequest, ended: GuestResult, measured: _Measured, run_dir: Path, out_dir: Path
) -> RunRecord:
    case, kernel = request.case, request.kernel
    return RunRecord(
        factors=case.factors,
        seed=request.seed,
        status=measured.status,
        error=measured.error,
        metrics=measured.metrics,
        cost=Cost(
            wall_s=round(ended.wall_s, 3),
            cpu_s=round(ended.cpu_s, 3),
            virtual_s=virtual_time_s(run_dir, ("uptime", "progress")),
        ),
        artifacts=artifacts.hashed(run_dir, out_dir),
        parameters=case.parameters.plain(),
        network=case.network.plain() if case.network else None,
        flows=tuple(measured.flows),
        stations=tuple(measured.stations),
        kernel=KernelRecord(version=kernel.version, hash=kernel.hash),
        provenance=Provenance.here(request.command),
        identity=request.identity,
    )


def _timeout_wall_s(testbed: Testbed) -> float:
    # Much longer than any run takes; it ends guests that hang.
    rate_bps = sum(access_rate_bps(node.parameters) for node in testbed.access_points)
    needed = [WORKLOADS[flow.workload].timeout_s(flow, rate_bps) for flow in testbed.flows]
    return 120 + 10 * len(testbed.nodes) + max(needed) + 2 * testbed.parameters.baseline_s


def _timeout_virtual_s(testbed: Testbed, run_dir: Path) -> float:
    # iperf3 waits forever for an end that has given up. TCP gives up after a quarter of an hour.
    # When all bulk data has been sent, exchanges may take as long as they need.
    paths = (run_dir / flow.file("client") for flow in testbed.bulk)
    if testbed.exchanges and all(path.is_file() and path.stat().st_size for path in paths):
        return math.inf
    return expected_virtual_s(testbed) + 3600


def convert_captures(run_dir: Path, testbed: Testbed) -> None:
    """Convert the captures to *.pcapng, cut off at capture_duration: tcpdump ends later."""
    to_ns, limit_s = math.inf, testbed.parameters.capture_duration_s
    start_ns = read_transfer_start_ns(run_dir)
    if limit_s is not None and start_ns is not None:
        to_ns = uml.EPOCH_NS + start_ns + limit_s * 1e9
    for point, device in testbed.captures.items():
        pcap = run_dir / f"{point}.pcap"
        capture.convert(pcap, run_dir / f"{point}.pcapng", device, to_ns)
        pcap.unlink()


def write_series(
    run_dir: Path, testbed: Testbed, case: Case, seed: int, began: datetime = flent.BOOT
) -> None:
    """Write series.csv and run.flent.gz. began: when probing started."""
    if testbed.bulk:
        timeseries.write_csv(run_dir / "series.csv", run_dir, testbed)
    title = " ".join([*(f"{name}={value}" for name, value in case.factors.items()), f"seed={seed}"])
    flent.write(run_dir / "run.flent.gz", run_dir, testbed, title, began)


_UDPFLOW = "udpflow: "
_ENDED_EARLY = "an instrument ended early"
_REFUSED_POLICY = "net.ipv4.tcp_ack_policy refuses the value "
_NOT_REGISTERED = (
    ": the module of --policy has not registered it; tcp_register_ackpol() fails without .name and "
    ".ack_delay_us, and if a policy or sysctl has the same name; .name must be the name in "
    "MODULE_ALIAS_TCP_ACKPOL"
)


def _console(ended: GuestResult) -> list[str]:
    return ended.console.read_text(errors="replace").splitlines()


def _failure(ended: GuestResult, run_dir: Path) -> str:
    """One line: the failed command, the error message of the program, the console file."""
    lines = _console(ended)
    failed = next((line for line in lines if line.startswith(shell.FAILURE)), None)
    if ended.status != "failed" or not failed:
        return ended.reason
    message = failed.strip().removeprefix(shell.FAILURE)
    before, early = lines[: lines.index(failed)], message.startswith(_ENDED_EARLY)
    if of_user := _failed_command(before, run_dir, early):
        return f"{of_user} (console: {ended.console})"
    refused = message.removeprefix(_REFUSED_POLICY)
    if refused != message and refused not in policies.names():
        message += _NOT_REGISTERED
    of_udp = (line.removeprefix(_UDPFLOW) for line in lines if line.startswith(_UDPFLOW))
    of_tcp = iperf3.error_in(run_dir, "iperf3-client*.json")
    if said := of_tcp or next(map(iperf3.explained, of_udp), ""):
        message += f": {said}"
    return f"{message} (console: {ended.console})"


def _with_cause(failure: str, testbed: Testbed) -> str:
    """The failure, preceded by its likely cause in the parameters, if nothing arrived."""
    if any(server.parameters.wire_loss == 1 for server in testbed.servers):
        return f"wire_loss 1.0 loses every packet: {failure}"
    if STALLED not in failure and "no answer" not in failure:
        return failure
    _, cause = min(_snrs(testbed), default=(0.0, ""))
    return f"{cause}: {failure}" if cause else failure


def _snrs(testbed: Testbed) -> Iterator[tuple[float, str]]:
    """The SNRs in dB of stations with the error model `snr`, in the weaker direction, with texts.

    Without stations whose SNR does not depend on their distance, or that move or choose access
    points.
    """
    places = {radio.node: radio.position for radio in testbed.radios}
    for station in testbed.wireless("station"):
        parameters, access_point = station.parameters, testbed.by_name[station.access_point]
        here, there = places[station.name], places[access_point.name]
        if here is None or there is None or parameters.snr_db is not None:
            continue
        moves = len(parameters.walk or ()) > 1 or station in testbed.roaming
        if moves or parameters.error_model != "snr":
            continue
        distance_m = here.distance_m(there)
        senders = (parameters, access_point.parameters)
        weaker_dbm = min(sender.received_dbm(distance_m) for sender in senders)
        snr_db = weaker_dbm - parameters.noise_dbm
        place = f"{station.name}, {distance_m:.4g} m from {access_point.name}"
        yield snr_db, f"{place}, has an SNR of {snr_db:.1f} dB"


def _unfinished(flows: Sequence[Flow], run_dir: Path) -> str:
    """For messages: the flows of which one end has written no result, unless these are all."""
    unfinished = []
    for flow in flows:
        paths = [run_dir / flow.file("client"), run_dir / flow.file("server")]
        if not all(path.is_file() and path.stat().st_size for path in paths):
            unfinished.append(flow)
    if len(unfinished) in (0, len(flows)):
        return ""
    names = (flow.label or f"{flow.direction} of station {flow.station}" for flow in unfinished)
    return f"; unfinished: {', '.join(dict.fromkeys(names))}"  # classes of RRUL share one


_OF_USER = re.compile(r"(server-)?command[\w-]*: ")
_SUCCESS = ": exit code 0"
_TOO_EARLY = ", before the command began; it must stay in the foreground"
_NOT_IN_TMP = re.compile(r"/tmp/.*(No such file|not found)", re.I)


def _failed_command(lines: Sequence[str], run_dir: Path, early: bool = False) -> str:
    """Which program of the user failed first, how, and the last line that it wrote to stderr.

    early: a server that has ended without an error has failed, too. Empty if none has failed.
    """
    ends = [line for line in lines if _OF_USER.match(line)]
    failed = [line for line in ends if not line.endswith(_SUCCESS)] or (ends if early else [])
    if not failed:
        return ""
    path = run_dir / f"{failed[0].partition(':')[0]}.err"
    said = path.read_text(errors="replace").strip() if path.is_file() else ""
    ended = failed[0] + (_TOO_EARLY if failed[0].endswith(_SUCCESS) else "")
    if not said:
        return ended
    last = said.splitlines()[-1]
    hint = "; the guest has its own /tmp" if _NOT_IN_TMP.search(last) else ""
    return f"{ended}: {last}{hint}"
