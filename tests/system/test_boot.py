# SPDX-License-Identifier: GPL-2.0-only
"""Guests that succeed, fail, panic or never end; their results do not depend on directories."""

import hashlib
import json
import os
import shutil
import threading
from pathlib import Path

import pytest
from guests import GUEST, with_kernel_options

from airtcp.backends import uml
from airtcp.backends.base import GuestResult
from airtcp.backends.guesttools import GuestTools, compile_program
from airtcp.backends.uml import boot
from airtcp.errors import InputError
from airtcp.kernel.image import Kernel

# Everything that could differ between two runs: addresses, ports, random numbers, times.
REVEALING_PLAN = """\
sleep 1
tcpdump -i lo --time-stamp-precision=nano -Z root -w - >packets.pcap 2>/dev/null &
tcpdump=$!
tc qdisc add dev lo root netem delay 5ms 2ms loss 1%
iperf3 -s -1 >/dev/null &
sleep 1
iperf3 -c 127.0.0.1 -t 1 -J | grep -v IPv6 >iperf3.json
sleep 1
kill $tcpdump
wait $tcpdump
{ cat /proc/self/maps /proc/cmdline /proc/uptime; env; head -c 64 /dev/urandom; date +%N; } >facts
"""


def test_the_kernel_was_built_without_warnings(lab_kernel: Kernel) -> None:
    facts = json.loads((lab_kernel.path.parent / "build.json").read_text())
    assert facts["warnings"] == []


def run(
    kernel: Kernel,
    tools: GuestTools,
    run_dir: Path,
    plan: str,
    seed: int = 1,
    timeout_wall_s: float = 60,
) -> GuestResult:
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / "plan.sh").write_text(plan)
    return boot(kernel, tools, run_dir, seed=seed, timeout_wall_s=timeout_wall_s)


def test_guest_runs_the_plan_in_virtual_time(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    result = run(lab_kernel, tools, tmp_path, "sleep 1000; echo hello; cat /proc/uptime >uptime")
    assert (result.status, result.exit_code, result.reason) == ("ok", 0, "")
    assert "hello" in result.console.read_text()
    assert 1000 <= float((tmp_path / "uptime").read_text().split()[0]) < 1002
    assert result.wall_s < 60
    assert 0 < result.cpu_s <= result.wall_s * 2


def test_failed_plan_is_reported_with_its_code_and_console(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    result = run(lab_kernel, tools, tmp_path, "echo 'no radio'; exit 3")
    assert (result.status, result.exit_code) == ("failed", 3)
    assert "no radio" in result.reason
    assert str(result.console) in result.reason
    assert "no radio" in result.console.read_text()


def test_files_of_read_only_mounts_are_read_once(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    plan = """\
mkdir /tmp/kept
echo first >file
mount -t hostfs -o ro,/proc/self/cwd/run/. none /tmp/kept
cat /tmp/kept/file >read
echo second >file
echo third >new
cat /tmp/kept/file /tmp/kept/new file >>read
"""
    run(lab_kernel, tools, tmp_path, plan)
    assert (tmp_path / "read").read_text().split() == ["first", "first", "third", "second"]


def test_kernel_panic_is_reported(lab_kernel: Kernel, tmp_path: Path) -> None:
    (tmp_path / "init").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "init").chmod(0o755)
    result = run(lab_kernel, GuestTools(tmp_path), tmp_path / "run", "")
    assert (result.status, result.exit_code) == ("panic", None)
    assert "Kernel panic" in result.reason
    assert "Kernel panic" in result.console.read_text()


def test_guest_that_never_ends_is_killed(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    result = run(lab_kernel, tools, tmp_path, "while :; do :; done", timeout_wall_s=3)
    assert (result.status, result.exit_code) == ("timeout", None)
    assert 3 <= result.wall_s < 10


def test_no_plan_is_bad_input(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no plan\.sh"):
        boot(lab_kernel, tools, tmp_path, seed=1, timeout_wall_s=5)


def test_progress_is_virtual_seconds(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> None:
    # Sleeping takes only virtual time, and computing only that of the host.
    compute = "i=0\nwhile [ $i -lt 100000 ]; do i=$((i + 1)); done\n"
    (tmp_path / "plan.sh").write_text(10 * f"sleep 50\n{compute}")
    seen: list[float] = []
    boot(lab_kernel, tools, tmp_path, seed=1, timeout_wall_s=60, on_progress=seen.append)
    assert seen == sorted(seen)
    assert len(set(seen)) > 2
    assert all(0 < virtual_s <= 502 for virtual_s in seen)


def test_same_seed_gives_the_same_bytes_in_any_directory_and_in_parallel(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    here, there = tmp_path / "a", tmp_path / "a much longer path" / "to the same" / "run"
    parallel = threading.Thread(target=run, args=(lab_kernel, tools, there, REVEALING_PLAN))
    parallel.start()
    assert run(lab_kernel, tools, here, REVEALING_PLAN).status == "ok"
    parallel.join()
    assert digests(here) == digests(there)


@pytest.mark.slow
def test_access_times_of_the_host_do_not_matter(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """Reading a file for the first time updates its access time, which is written back later."""
    unread = GuestTools(shutil.copytree(tools.directory, tmp_path / "tools"))
    for path in unread.directory.iterdir():
        os.utime(path, (0, 1e9))
    read = GuestTools(shutil.copytree(tools.directory, tmp_path / "read"))
    for path in read.directory.iterdir():
        os.utime(path, (2e9, 1e9))
    plan = REVEALING_PLAN.replace("-t 1", "-t 5")  # written back 5 s after boot
    assert run(lab_kernel, unread, tmp_path / "one", plan).status == "ok"
    assert run(lab_kernel, read, tmp_path / "two", plan).status == "ok"
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


def test_seeds_give_different_runs(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert run(lab_kernel, tools, first, REVEALING_PLAN, seed=1).status == "ok"
    assert run(lab_kernel, tools, second, REVEALING_PLAN, seed=2).status == "ok"
    assert digests(first)["packets.pcap"] != digests(second)["packets.pcap"]


def test_programs_keep_their_registers_memory_and_signals(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With seccomp and with ptrace, the results are the same, byte for byte."""
    results = {}
    for mode, argv in (("seccomp", uml._command), ("ptrace", with_kernel_options("seccomp=off"))):
        monkeypatch.setattr(uml, "_command", argv)
        run_dir = tmp_path / mode
        run_dir.mkdir()
        compile_program(run_dir / "programs", GUEST / "programs.c", "-pthread")
        result = run(lab_kernel, tools, run_dir, f"{REVEALING_PLAN}./programs >checks || exit 1\n")
        checks = (run_dir / "checks").read_text()
        assert result.status == "ok", (result.reason, checks)
        assert checks.count("holds: ") == 11
        results[mode] = (digests(run_dir), checks)
    assert results["seccomp"] == results["ptrace"]


def test_threads_whose_state_was_read_end(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """Regression: the kernel looped forever over the dentry of stat, and virtual time stopped."""
    compile_program(tmp_path / "threads", GUEST / "threads.c", "-pthread")
    result = run(lab_kernel, tools, tmp_path, "./threads")
    assert result.status == "ok", result.reason
    assert "ended: 200 of 200" in result.console.read_text()


def digests(run_dir: Path) -> dict[str, str]:
    return {
        name: hashlib.sha256((run_dir / name).read_bytes()).hexdigest()
        for name in ("packets.pcap", "iperf3.json", "facts")
    }
