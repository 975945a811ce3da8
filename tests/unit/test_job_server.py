# SPDX-License-Identifier: GPL-2.0-only
"""The processes in which a thread of a cluster's worker executes runs."""

import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from waiting import TIMEOUT_S, wait_until

from airtcp.sweep import clusterworker

INSTEAD = (
    "from airtcp.sweep import jobprocess as j; import os, time; j._do = lambda given: {}; j.main()"
)
"""A server that does something else instead of a run."""

WORKER = f"""\
import os, pickle, subprocess, sys, time
server = {INSTEAD.format("time.sleep(600)")!r}
process = subprocess.Popen([sys.executable, "-P", "-c", server], stdin=subprocess.PIPE)
process.stdin.write(pickle.dumps(os.getpid()) + pickle.dumps(None))
process.stdin.flush()
print(process.pid, flush=True)
time.sleep(600)
"""


def children(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def test_runs_end_with_a_killed_worker() -> None:
    command = [sys.executable, "-P", "-c", WORKER]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as worker:
        assert worker.stdout
        server = int(worker.stdout.readline())
        wait_until(lambda: children(server), "no run")
        [run] = children(server)
        worker.kill()
    for pid in (server, run):
        wait_until(lambda pid=pid: not Path(f"/proc/{pid}").exists(), f"{pid} still runs")  # type: ignore[misc]


def test_a_signal_during_the_fork_ends_the_server_and_the_run() -> None:
    """On one processor, so that the server has ended the run before this executes anything."""
    kill = "os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), 15))"
    kill += "; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])"
    code = INSTEAD.format("time.sleep(600)").replace("j.main()", f"{kill}; j.main()")
    command = [sys.executable, "-P", "-c", code]
    given = pickle.dumps(os.getpid()) + pickle.dumps(None)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        try:  # the run inherits standard output
            assert server.communicate(given, timeout=TIMEOUT_S)[0] == b""
        finally:
            server.kill()


def test_a_server_survives_a_run_that_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of runs share a server, and a run can be killed when memory runs out."""
    instead = INSTEAD.format("(os.getppid(), given) if given else os.kill(os.getpid(), 9)")
    monkeypatch.setattr(clusterworker, "SERVER", (sys.executable, "-P", "-c", instead))

    def execute(given: Any) -> tuple[int, bytes]:
        return clusterworker._execute(given, lambda: True)

    with ThreadPoolExecutor(1) as thread:
        done = list(thread.map(execute, ["first", "", "x" * (1 << 20)]))
    (code, first), killed, (_, last) = done
    (server, given), (same_server, long) = pickle.loads(first), pickle.loads(last)
    assert (code, given, len(long)) == (0, "first", 1 << 20)
    assert killed == (-9, b"")
    assert server == same_server
    wait_until(lambda: not alive(server), "the server outlives its thread")


def test_a_run_that_is_not_wanted_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    instead = INSTEAD.format("time.sleep(600)")
    monkeypatch.setattr(clusterworker, "SERVER", (sys.executable, "-P", "-c", instead))
    with ThreadPoolExecutor(1) as thread:
        given: Any = None
        code, answer = thread.submit(clusterworker._execute, given, lambda: False).result()
    assert answer == b""
    assert code in (0, -signal.SIGTERM)  # before it handles the signal


def alive(pid: int) -> bool:
    """Whether a process exists and is not only waited for."""
    try:
        return "(zombie)" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
