# SPDX-License-Identifier: GPL-2.0-only
"""Programs in a guest cannot affect the host or the guest's kernel."""

import os
import re
import signal
import stat
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from guests import GUEST, assert_silent, with_kernel_options

from airtcp.backends import uml
from airtcp.backends.base import GuestResult
from airtcp.backends.guesttools import GuestTools, compile_program
from airtcp.backends.uml import boot
from airtcp.kernel.image import Kernel

MODES: dict[str, tuple[str, ...]] = {"seccomp": (), "ptrace": ("seccomp=off",)}
FUZZ_RUNS = int(os.environ.get("AIRTCP_TEST_FUZZ_STUB", "10000"))


@pytest.mark.parametrize("mode", MODES)
def test_system_calls_by_the_stub_do_not_reach_the_host(
    mode: str,
    lab_kernel: Kernel,
    tools: GuestTools,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = tmp_path / "reached"
    plan = f"./escape {target} >output 2>&1; echo $? >code; ./programs >checks\n"
    result = run(lab_kernel, tools, tmp_path / mode, plan, monkeypatch, MODES[mode])
    output = (tmp_path / mode / "output").read_text()
    assert result.status == "ok", (result.reason, output)
    assert not target.exists()
    rows = re.findall(r"^(.*): killed (\d+), reached (\d+), others (\d+)$", output, re.M)
    assert len(rows) == 22, output
    assert all(int(killed) and reached == others == "0" for _, killed, reached, others in rows), (
        output
    )
    assert (tmp_path / mode / "code").read_text() == "0\n", output
    # The guest still works.
    assert (tmp_path / mode / "checks").read_text().count("holds: ") == 11
    assert_silent(result.console)


def test_wild_jumps_into_the_stub_kill_only_their_process(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AIRTCP_TEST_FUZZ_STUB is their number; 10,000 take about 15 s of processor time."""
    plan = f"./stubfuzz {FUZZ_RUNS} 1 >output 2>&1 || exit 1; ./programs >checks\n"
    before = set(tmp_path.iterdir())
    result = run(
        lab_kernel, tools, tmp_path / "run", plan, monkeypatch, (), timeout_wall_s=FUZZ_RUNS
    )
    output = (tmp_path / "run" / "output").read_text()
    assert result.status == "ok", (result.reason, output)
    ends = [int(count) for count in re.findall(r"^(\d+) ended by signal \d+$", output, re.M)]
    assert sum(ends) == FUZZ_RUNS, output
    assert (tmp_path / "run" / "checks").read_text().count("holds: ") == 11
    assert_silent(result.console)
    assert set(tmp_path.iterdir()) - before == {tmp_path / "run"}


def test_root_can_write_only_to_the_directory_of_the_run(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a mount for writing is refused, mount(8) warns, and mounts read-only."""
    plan = f"""\
try() {{ "$@" 2>/dev/null && echo "$*" >>possible; }}
mkdir /tmp/host
mount -t hostfs -o {tmp_path} none /tmp/host 2>>mount.log
try ls /tmp/host/run
try touch /tmp/host/reached
try mount -o remount,rw /tmp/host
umount /tmp/host
mount -t hostfs -o /proc/self/cwd/run/./.. none /tmp/host 2>>mount.log
try touch /tmp/host/reached
try mount -o remount,rw /
try touch {tmp_path}/reached
try touch here
"""
    result = run(lab_kernel, tools, tmp_path / "run", plan, monkeypatch, ())
    assert result.status == "ok", result.reason
    possible = (tmp_path / "run" / "possible").read_text()
    assert possible.splitlines() == ["ls /tmp/host/run", "touch here"]
    assert not (tmp_path / "reached").exists()
    assert (tmp_path / "run" / "here").exists()
    assert (tmp_path / "run" / "mount.log").read_text().count("mounted read-only") == 2


def test_links_in_the_directory_of_the_run_do_not_lead_out_of_it(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link replaces a file that is open, or a directory that is open by another mount."""
    (tmp_path / "file").write_text("safe")
    (tmp_path / "empty").mkdir()
    plan = f"""\
try() {{ "$@" 2>/dev/null && echo "$*" >>possible; }}
mkdir directory /tmp/second
mount -t hostfs -o /proc/self/cwd/run/. none /tmp/second
exec 3<spin
rm spin
try ln -s {tmp_path}/file spin
(echo reached >/proc/self/fd/3) 2>/dev/null
cd /tmp/second/directory
rmdir /run/airtcp/directory
try ln -s {tmp_path}/empty /run/airtcp/directory
(echo reached >reached) 2>/dev/null
cd /run/airtcp
mkdir -p down/..name
for to in ../file .. down/../../file ./.. down/.. ..//file; do try ln -s $to up; done
for to in down/..name . ...; do try ln -s $to down/${{#to}}; done
"""
    result = run(lab_kernel, tools, tmp_path / "run", plan, monkeypatch, ())
    assert result.status == "ok", result.reason
    assert (tmp_path / "file").read_text() == "safe"
    assert not list((tmp_path / "empty").iterdir())
    possible = (tmp_path / "run" / "possible").read_text().splitlines()
    assert possible == ["ln -s down/..name down/11", "ln -s . down/1", "ln -s ... down/3"]


def test_files_of_the_guest_give_nobody_rights_on_the_host(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other users of the host could execute what has the user's rights, or root's devices."""
    plan = """\
touch file && chmod 7755 file
mknod null c 1 3 2>>refused
mknod disk b 7 0 2>>refused
mkfifo fifo
"""
    result = run(lab_kernel, tools, tmp_path / "run", plan, monkeypatch, ())
    assert result.status == "ok", result.reason
    modes = {path.name: path.stat().st_mode for path in (tmp_path / "run").iterdir()}
    assert oct(modes["file"]) == oct(stat.S_IFREG | 0o1755)
    assert stat.S_ISFIFO(modes["fifo"])
    assert not {"null", "disk"} & modes.keys()
    assert (tmp_path / "run" / "refused").read_text().count("Operation not permitted") == 2


def test_run_ends_at_its_limit_whatever_its_directory_contains(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening a FIFO waits for a writer; both files are read while the guest runs or after it."""
    plan = "for name in progress exit; do mkfifo $name.new && mv $name.new $name; done\n./spin\n"
    result = run(lab_kernel, tools, tmp_path / "run", plan, monkeypatch, (), timeout_wall_s=3)
    assert result.status == "timeout", result.reason
    for name in ("progress", "exit"):
        assert (tmp_path / "run" / name).is_fifo()


@pytest.mark.parametrize("mode", MODES)
def test_process_killed_by_the_host_ends_only_its_program(
    mode: str,
    lab_kernel: Kernel,
    tools: GuestTools,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The host may run out of memory; the guest's kernel must not wait forever."""
    killer = threading.Thread(target=kill_spinning_process)
    killer.start()
    plan = "./spin; echo $? >code; ./programs >checks\n"
    result = run(lab_kernel, tools, tmp_path / mode, plan, monkeypatch, MODES[mode])
    killer.join()
    assert result.status == "ok", result.reason
    assert (tmp_path / mode / "code").read_text() == f"{128 + signal.SIGSEGV}\n"
    assert (tmp_path / mode / "checks").read_text().count("holds: ") == 11


def kill_spinning_process() -> None:
    """Kill the process of a guest that has used half a second of processor time."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                pid, _, rest = entry.read_text().replace(")", "(").split("(")
            except (OSError, ValueError):
                continue
            fields = rest.split()
            parent, user_ticks = int(fields[1]), int(fields[11])
            if user_ticks > os.sysconf("SC_CLK_TCK") // 2 and is_guest_of_ours(parent):
                os.kill(int(pid), signal.SIGKILL)
                return
        time.sleep(0.1)


def test_guest_survives_being_stopped_by_the_host(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Ctrl-Z or suspend, after which the host repeats seccomp notifications."""
    stopped: list[int] = []
    checks = tmp_path / "run" / "checks"
    stopper = threading.Thread(target=stop_and_continue, args=(stopped, checks))
    stopper.start()
    plan = "for i in 1 2 3 4 5; do ./programs || exit 1; done >checks\n"
    result = run(lab_kernel, tools, tmp_path / "run", plan, monkeypatch, ())
    stopper.join()
    assert result.status == "ok", result.reason
    assert checks.read_text().count("holds: ") == 5 * 11
    assert len(stopped) > 5


def stop_and_continue(stopped: list[int], checks: Path) -> None:
    """Stop and continue this session's guest repeatedly, from when `checks` exists to its end.

    Earlier it could be stopped while it tests whether the host permits ptrace.
    """
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not checks.exists():
            time.sleep(0.01)
            continue
        guests = [
            int(x.name) for x in Path("/proc").glob("[0-9]*") if is_guest_of_ours(int(x.name))
        ]
        if not guests and stopped:
            return
        for pid in guests:
            try:
                os.killpg(pid, signal.SIGSTOP)
                time.sleep(0.01)
                os.killpg(pid, signal.SIGCONT)
                stopped.append(pid)
            except ProcessLookupError:
                pass
        time.sleep(0.03)


def is_guest_of_ours(pid: int) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return False
    return b"rootfstype=hostfs" in command and parent == os.getpid()


def run(
    kernel: Kernel,
    tools: GuestTools,
    run_dir: Path,
    plan: str,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    **settings: Any,
) -> GuestResult:
    run_dir.mkdir()
    for program in ("escape", "stubfuzz", "spin", "programs"):
        compile_program(run_dir / program, GUEST / f"{program}.c", "-pthread")
    (run_dir / "plan.sh").write_text(plan)
    monkeypatch.setattr(uml, "_command", with_kernel_options(*options))
    return boot(kernel, tools, run_dir, seed=1, **{"timeout_wall_s": 120, **settings})
