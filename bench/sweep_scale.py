# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps at scale: the cost of a run besides its guest, by number of runs.

A stub replaces the guest (tests/support/stub_runs.py). Scheduler, result store, hashes, index,
resuming and tables are the real ones. Costs are per run: a step that is quadratic in the number of
runs shows as a cost that grows. Each measurement has processes of its own.
"""

import argparse
import asyncio
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import dask
import stub_runs
from distributed import Worker

from airtcp.backends import uml
from airtcp.cache import cache_dir
from airtcp.cli.messages import say
from airtcp.sweep import cluster, clusterworker, request, session, sweep
from airtcp.sweep.request import requests

LOCAL = (1_000, 3_000, 10_000)
DISTRIBUTED = (3_000, 10_000)
INDEXED = (1_000, 3_000, 10_000, 30_000, 100_000)
WORKERS = 1_000
PROCESSES = 10
"""Of workers: the time to start many in one grows with the square of their number."""
ADDRESS = "tcp://127.0.0.1:8798"
QUERY = "SELECT ack_policy, avg(goodput_mbps) AS mbps, count(*) AS n FROM runs GROUP BY ALL"


def row(what: str, runs: int, wall_s: float, cpu_s: float, more: str = "") -> None:
    """Print a measurement: wall time, and wall and CPU time per run."""
    per_run = f"{1000 * wall_s / runs:8.2f} {1000 * cpu_s / runs:8.2f} ms"
    print(f"{what:34} {runs:8,} {wall_s:8.1f} s {per_run}  {more}", flush=True)


def child(part: str, out_dir: Path, runs: int) -> dict[str, float]:
    """Do a part in a process of its own; returns its answer."""
    command = [sys.executable, __file__, "--part", part, str(out_dir), str(runs)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def used() -> dict[str, float]:
    """CPU time in seconds and largest memory in MB of this process, without its children."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "rss_mb": usage.ru_maxrss / 1024}


def used_by_children() -> float:
    """CPU time in seconds of the processes that this one has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(out_dir: Path, runs: int, seeds: int, scheduler: str | None = None) -> float:
    """Do or resume a sweep as `run` does; returns its wall time in seconds."""
    kernel, tools = stub_runs.machine(out_dir.parent / "machine")
    options = session.SweepOptions(
        *(kernel, tools, seeds, None, scheduler, None, "bench/sweep_scale.py", say)
    )
    began = time.monotonic()
    with mock.patch.object(session, "_write"):  # progress
        session.measure(options, *stub_runs.sweep_of(runs), out_dir)
    return time.monotonic() - began


def do_sweep(out_dir: Path, runs: int) -> dict[str, float]:
    """A new sweep, or one without new runs: reads all records and writes the tables."""
    wall_s = measure(out_dir, runs, stub_runs.SEEDS)
    return {"wall_s": wall_s, **used()}


def do_distributed(out_dir: Path, runs: int) -> dict[str, float]:
    """A sweep on the workers of the scheduler in AIRTCP_BENCH_SCHEDULER."""
    mock.patch.object(cluster, "work", stub_runs.work).start()
    wall_s = measure(out_dir, runs, stub_runs.SEEDS, os.environ["AIRTCP_BENCH_SCHEDULER"])
    return {"wall_s": wall_s, **used()}


def do_prepare(out_dir: Path, runs: int) -> dict[str, float]:
    """Write finished runs, without waiting for the disk."""
    kernel, tools = stub_runs.machine(out_dir.parent / "machine")
    _, cases = stub_runs.sweep_of(runs)
    for job in requests(kernel, tools, cases, range(1, stub_runs.SEEDS + 1)):
        run_dir = job.directory(out_dir)
        run_dir.mkdir(parents=True)
        _, contents = stub_runs.files(job.case, job.seed, job.identity)
        for name, content in contents.items():
            (run_dir / name).write_bytes(content)
    return used()


def do_resume(out_dir: Path, runs: int) -> dict[str, float]:
    """Resume a sweep with one more seed, until the first new run starts."""
    began = time.time() - time.process_time()  # since then, libraries have been imported

    def start(*_: object) -> NoReturn:
        answer = {"wall_s": time.time() - began, **used()}
        answer["cpu_s"] += used_by_children()
        print(json.dumps(answer), flush=True)
        os._exit(0)

    with mock.patch.object(sweep, "_start", start):
        measure(out_dir, runs, stub_runs.SEEDS + 1)
    raise AssertionError("no run was started")


def do_workers(_: Path, workers: int) -> dict[str, float]:
    """Many workers in this process, until it is terminated."""
    # What each worker does all the time would add up in one process.
    dask.config.set({"distributed.worker.profile.enabled": False})
    dask.config.set({"distributed.admin.system-monitor.interval": "1h"})

    async def work() -> None:
        options: dict[str, Any] = {"nthreads": 1, "dashboard": False, "memory_limit": 0}
        options |= {"resources": clusterworker.resources(), "host": "127.0.0.1"}
        scheduler = os.environ["AIRTCP_BENCH_SCHEDULER"]
        for _ in range(workers):
            await Worker(scheduler, **options)
        print(flush=True)
        await asyncio.Event().wait()

    asyncio.run(work())
    return {}


PARTS: dict[str, Callable[[Path, int], dict[str, float]]] = {
    "sweep": do_sweep,
    "distributed": do_distributed,
    "prepare": do_prepare,
    "resume": do_resume,
    "workers": do_workers,
}


def cpu_of(process: "subprocess.Popen[bytes]") -> float:
    """CPU time of a process in seconds."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def local(scratch: Path) -> None:
    """Sweeps on this machine. The stub itself takes most of the time."""
    for runs in LOCAL:
        found = child("sweep", scratch / f"local-{runs}" / "out", runs)
        row("local sweep", runs, found["wall_s"], found["cpu_s"], f"{found['rss_mb']:.0f} MB")
        shutil.rmtree(scratch / f"local-{runs}")


def distributed(scratch: Path) -> None:
    """Sweeps on many workers, whose runs take RUN_S each."""
    os.environ |= {"AIRTCP_BENCH_SCHEDULER": ADDRESS, "AIRTCP_CACHE": str(scratch / "cache")}
    with ExitStack() as processes:

        def start(*command: object, **options: Any) -> "subprocess.Popen[bytes]":
            process = subprocess.Popen(list(map(str, command)), **options)
            processes.callback(process.wait)
            processes.callback(process.terminate)
            return process

        host, port = ADDRESS.removeprefix("tcp://").split(":")
        module = (sys.executable, "-P", "-m", "distributed.cli.dask_scheduler")
        where = ("--host", host, "--port", port, "--dashboard-address", f"{host}:0")
        scheduler = start(*module, *where, "--no-dashboard", stderr=subprocess.DEVNULL)
        part = (sys.executable, __file__, "--part", "workers", scratch, WORKERS // PROCESSES)
        for workers in [
            start(*part, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            for _ in range(PROCESSES)
        ]:
            assert workers.stdout
            workers.stdout.readline()
        for runs in DISTRIBUTED:
            before = cpu_of(scheduler)
            found = child("distributed", scratch / f"distributed-{runs}" / "out", runs)
            scheduler_ms = 1000 * (cpu_of(scheduler) - before) / runs
            more = f"{found['rss_mb']:.0f} MB, scheduler: CPU {scheduler_ms:.2f} ms"
            row(f"on {WORKERS:,} workers", runs, found["wall_s"], found["cpu_s"], more)
            shutil.rmtree(scratch / f"distributed-{runs}")


def indexed(scratch: Path) -> None:
    """Finished sweeps: the first command reads all files, the others use the index."""
    environment = os.environ | {"PYTHONPATH": str(Path(request.__file__).parents[2])}
    for runs in INDEXED:
        out_dir = scratch / f"indexed-{runs}" / "out"
        child("prepare", out_dir, runs)
        for what, part in (
            ("open without index, write tables", "sweep"),
            ("open with index, write tables", "sweep"),
            ("resume until the first new run", "resume"),
        ):
            found = child(part, out_dir, runs)
            row(what, runs, found["wall_s"], found["cpu_s"], f"{found['rss_mb']:.0f} MB")
        for subcommand in (["query", QUERY, out_dir], ["compare", out_dir, out_dir]):
            command = [sys.executable, "-m", "airtcp", "results", *map(str, subcommand)]
            began, before_s = time.monotonic(), used_by_children()
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
            wall_s, cpu_s = time.monotonic() - began, used_by_children() - before_s
            row(f"results {subcommand[0]}", runs, wall_s, cpu_s)
        shutil.rmtree(scratch / f"indexed-{runs}")


MEASUREMENTS = {"local": local, "distributed": distributed, "indexed": indexed}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", help=f"default: all of {' '.join(MEASUREMENTS)}")
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        part, out_dir, runs = options.part
        mock.patch.object(uml, "boot", stub_runs.boot).start()
        mock.patch.object(request, "CODE", "bench").start()  # changes of the code do not matter
        print(json.dumps(PARTS[part](Path(out_dir), int(runs))))
        return 0
    with tempfile.TemporaryDirectory(prefix="sweeps-", dir=cache_dir()) as scratch:
        print(f"{'':34} {'runs':>8} {'wall':>10} {'per run':>8} {'CPU':>11}")
        for what in options.what or MEASUREMENTS:
            MEASUREMENTS[what](Path(scratch))
    return 0


if __name__ == "__main__":
    sys.exit(main())
