# SPDX-License-Identifier: GPL-2.0-only
"""One run: write the plan, boot the guest, compute results. result.json is written last.

OUT/runs/<case>/seed-<n>/ contains the plan, the console, the instruments' files and result.json,
an element of "runs" in results.json.
"""

import math
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
from airtcp.backends.base import GuestResult, virtual_time_s
from airtcp.errors import AirtcpError, StopError, of_file, of_reading
from airtcp.experiment.experiment import Case
from airtcp.experiment.metrics import Value
from airtcp.files import capture
from airtcp.files.airsim import read_transfer_start_ns
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
from airtcp.sweep import failure
from airtcp.sweep.request import Request, RunRequest
from airtcp.testbed.default import access_rate_bps
from airtcp.testbed.model import Testbed

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
        unwritten = of_file(error, run_dir)
        if isinstance(unwritten, StopError):
            shutil.rmtree(run_dir, ignore_errors=True)
        raise unwritten from None


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
        return _Measured(ended.status, failure.of_guest(ended, request.testbed, run_dir))
    if failed := failure.of_command(ended, run_dir):
        return _Measured("failed", failed)
    testbed = request.testbed
    try:
        convert_captures(run_dir, testbed)
        values = metrics.compute(run_dir, testbed)
        flows = metrics.flows(run_dir, testbed) if request.case.network else ()
        stations = metrics.stations(run_dir, testbed)
        write_series(run_dir, testbed, request.case, request.seed)
    except AirtcpError as error:
        return _Measured("failed", failure.with_cause(str(error), testbed))
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
