# SPDX-License-Identifier: GPL-2.0-only
"""One run: plan, boot, collect. All that it leaves is in one directory, result.json last.

OUT/runs/<case>/seed-<n>/ holds the plan, the console, the instruments' files and result.json, which
is one element of "runs" in results.json.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from airtcp import atomicfile
from airtcp.backends import shell, uml
from airtcp.backends.base import Backend, GuestResult
from airtcp.errors import AirtcpError, StopError, of_file
from airtcp.experiment.experiment import Case
from airtcp.results import artifacts, flent, metrics, timeseries
from airtcp.results.files import capture
from airtcp.results.record import RESULT_FILE, SCHEMA, Result
from airtcp.steps.workloads import WORKLOADS
from airtcp.sweep.request import RunRequest
from airtcp.testbed.default import access_rate_bps
from airtcp.testbed.model import Testbed

Say = Callable[[str], None]

# What whoever reads a result takes for granted.
_TABLES = ("factors", "metrics", "cost", "artifacts", "parameters", "kernel")
_NOT_ARTIFACTS = frozenset({RESULT_FILE, "exit", "progress"})


def expected_virtual_s(testbed: Testbed) -> float:
    """Virtual time from boot to power-off, about: the network takes 5 s to stand."""
    ends_s = (
        flow.start_s + WORKLOADS[flow.workload].expected_s(flow.parameters)
        for flow in testbed.flows
    )
    return max(ends_s) + 2 * testbed.parameters.baseline_s + 5


def finished(request: RunRequest, out_dir: Path, say: Say) -> Result | None:
    """The result of this very run, if it has been done.

    None, and a line, when it has been done but its files are not as it has left them.
    """
    run_dir = request.directory(out_dir)
    try:
        result: Result = json.loads((run_dir / RESULT_FILE).read_text())
        if result["identity"] != request.identity or result["status"] != "ok":
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if wrong := _wrong(result, out_dir):
        say(f"{run_dir}: {wrong}: this run is done again")
        return None
    return result


def _wrong(result: Result, out_dir: Path) -> str:
    """Why a result of the past cannot be used; empty when it can."""
    if result.get("schema") != SCHEMA:
        return f"{RESULT_FILE} is of schema {result.get('schema')}, not {SCHEMA}"
    for name in _TABLES:
        if not isinstance(result.get(name), dict):
            return f"{RESULT_FILE} has no {name}"
    try:
        return ", ".join(artifacts.changes(result["artifacts"], out_dir))
    except (KeyError, TypeError):
        return f"{RESULT_FILE}: not what artifacts are"


def run_one(request: RunRequest, out_dir: Path) -> Result:
    """Do a run; what an earlier run left in its directory is replaced.

    A guest that fails gives a result with its status and error. Raises AirtcpError when the files
    of the run cannot be written; of StopError nothing is left.
    """
    run_dir = request.directory(out_dir)
    case, seed, testbed = request.case, request.seed, request.testbed
    backend: Backend = uml.Uml(request.kernel, request.tools)
    try:
        backend.clean(run_dir)
        atomicfile.remove(run_dir, RESULT_FILE)
        run_dir.mkdir(parents=True)
        for flow in testbed.flows:
            for name, text in WORKLOADS[flow.workload].files(flow, seed).items():
                (run_dir / name).write_text(text)
        ended = backend.run(
            request.plan,
            run_dir,
            seed=seed,
            memory_mb=testbed.memory_mb,
            timeout_wall_s=_timeout_wall_s(testbed),
        )
        result = _result(request, ended, run_dir)
        if ended.status == "ok":
            try:
                _convert_captures(run_dir, testbed)
                result["metrics"] = metrics.compute(run_dir, testbed)
                if case.network:
                    result["flows"] = metrics.flows(run_dir, testbed)
                _write_series(run_dir, testbed, case, seed)
            except AirtcpError as error:
                result |= {"status": "failed", "error": str(error)}
        else:
            result["error"] = _failure(ended, run_dir)
        if result["error"] and (full := atomicfile.no_room(run_dir)):
            raise StopError(f"{run_dir}: {full}")
        result["artifacts"] = artifacts.record(run_dir, out_dir, _NOT_ARTIFACTS)
        atomicfile.flush(run_dir)
        atomicfile.write_json(run_dir / RESULT_FILE, result)
    except StopError:
        shutil.rmtree(run_dir, ignore_errors=True)
        raise
    except OSError as error:
        failure = of_file(error, run_dir)
        if isinstance(failure, StopError):
            shutil.rmtree(run_dir, ignore_errors=True)
        raise failure from None
    return result


def _result(request: RunRequest, ended: GuestResult, run_dir: Path) -> Result:
    """What is known of a run when its guest has ended: all but metrics and files."""
    case, kernel = request.case, request.kernel
    return {
        "schema": SCHEMA,
        "factors": dict(case.factors),
        "seed": request.seed,
        "status": ended.status,
        "error": None,
        "metrics": {},
        "cost": {
            "wall_s": round(ended.wall_s, 3),
            "cpu_s": round(ended.cpu_s, 3),
            "virtual_s": _virtual_s(run_dir),
        },
        "artifacts": {},
        "parameters": case.parameters.plain(),
        **({"network": case.network.plain(), "flows": []} if case.network else {}),
        "kernel": {"version": kernel.version, "hash": kernel.hash},
        "identity": request.identity,
    }


def _timeout_wall_s(testbed: Testbed) -> float:
    # Far more than any run takes: it ends guests that hang.
    rate_bps = sum(access_rate_bps(node.parameters) for node in testbed.access_points)
    needed = [WORKLOADS[flow.workload].timeout_s(flow, rate_bps) for flow in testbed.flows]
    return 120 + 10 * len(testbed.nodes) + max(needed) + 2 * testbed.parameters.baseline_s


def _virtual_s(run_dir: Path) -> float | None:
    for name in ("uptime", "progress"):
        try:
            return float((run_dir / name).read_text().split()[0])
        except (OSError, ValueError, IndexError):
            continue
    return None


def _convert_captures(run_dir: Path, testbed: Testbed) -> None:
    for point, device in testbed.captures.items():
        pcap = run_dir / f"{point}.pcap"
        capture.convert(pcap, run_dir / f"{point}.pcapng", device)
        pcap.unlink()


def _write_series(run_dir: Path, testbed: Testbed, case: Case, seed: int) -> None:
    if testbed.bulk:
        timeseries.write_csv(run_dir / "series.csv", run_dir, testbed)
    title = " ".join([*(f"{name}={value}" for name, value in case.factors.items()), f"seed={seed}"])
    flent.write(run_dir / "run.flent.gz", run_dir, testbed, title)


def _failure(ended: GuestResult, run_dir: Path) -> str:
    """One line: the command that failed, in the words of iperf3 if it was iperf3; the console."""
    with ended.console.open(errors="replace") as lines:
        failed = next((line for line in lines if line.startswith(shell.FAILURE)), None)
    if ended.status != "failed" or not failed:
        return ended.reason
    said = failed.strip().removeprefix(shell.FAILURE)
    for path in sorted(run_dir.glob("iperf3-client*.json")):
        try:
            return f"{said}: {json.loads(path.read_text())['error']} (console: {ended.console})"
        except (OSError, ValueError, KeyError, TypeError):
            pass
    return f"{said} (console: {ended.console})"
