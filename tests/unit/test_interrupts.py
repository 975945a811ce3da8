# SPDX-License-Identifier: GPL-2.0-only
"""Repeated signals raise one KeyboardInterrupt, and none while signals are deferred."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import stub_runs

from airtcp import interrupts
from airtcp.backends import base, uml
from airtcp.backends.guesttools import GuestTools
from airtcp.paths import REPOSITORY


@pytest.fixture(autouse=True)
def restored_handlers() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # Not ignored, as SIGHUP is under nohup.
    before = [signal.signal(number, signal.SIG_DFL) for number in numbers]
    interrupts.install()
    yield
    interrupts.install()
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def interrupt(number: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_only_the_first_signal_raises(number: signal.Signals) -> None:
    cleaned = False
    with pytest.raises(KeyboardInterrupt):
        try:
            interrupt(number)
        finally:
            for _ in range(4):
                interrupt()
            cleaned = True
    assert cleaned


def test_a_deferred_block_runs_to_its_end() -> None:
    written = []
    with pytest.raises(KeyboardInterrupt), interrupts.deferred():
        with interrupts.deferred():
            interrupt()
        interrupt()
        written.append("file")
    assert written == ["file"]


def test_a_deferred_block_after_an_interrupt_does_not_raise() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    with interrupts.deferred():
        interrupt()


def test_check_raises_a_swallowed_interrupt() -> None:
    class Swallower:
        def __del__(self) -> None:
            try:
                interrupt()
            except KeyboardInterrupt:
                pass

    interrupts.check()
    Swallower()
    with pytest.raises(KeyboardInterrupt):
        interrupts.check()


@pytest.mark.parametrize(("module", "function"), [(tempfile, "mkdtemp"), (shutil, "rmtree")])
def test_an_interrupted_run_leaves_no_guest_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: ModuleType, function: str
) -> None:
    """Even if the signal arrives while the directory is created or removed."""
    original = getattr(module, function)

    def interrupted(*arguments: Any, **options: Any) -> Any:
        result = original(*arguments, **options) if function == "mkdtemp" else None
        interrupt()
        return result or original(*arguments, **options)

    (memory := tmp_path / "memory").mkdir()
    monkeypatch.setattr(uml, "_memory_dirs", lambda: [memory])
    monkeypatch.setattr(module, function, interrupted)
    kernel, _ = stub_runs.machine(tmp_path)
    kernel.path.write_text("#!/bin/sh\n")
    kernel.path.chmod(0o755)
    (tmp_path / "plan.sh").touch()
    with pytest.raises(KeyboardInterrupt):
        uml.boot(kernel, GuestTools(tmp_path), tmp_path, seed=1, timeout_wall_s=10)
    assert list(memory.iterdir()) == []


def test_a_swallowed_interrupt_ends_the_guest(tmp_path: Path) -> None:
    """Python ignores exceptions in destructors, such as that of Popen."""

    def swallow(_virtual_s: float) -> None:
        with suppress(KeyboardInterrupt):
            interrupt()

    (tmp_path / "plan.sh").touch()
    command = ["sh", "-c", "echo 1 > progress; sleep 1000"]
    with pytest.raises(KeyboardInterrupt):
        base.run_guest(command, tmp_path, {}, tmp_path, timeout_wall_s=10, on_progress=swallow)


def test_ignored_signals_stay_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interrupts.install()
    interrupt(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_an_interrupted_process_exits_silently(capfd: pytest.CaptureFixture[str]) -> None:
    """Also when a library replaces KeyboardInterrupt by its own exception."""
    process = os.fork()
    if not process:
        with interrupts.exits_silently():
            interrupts.install_in_child()
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            except KeyboardInterrupt:
                raise ValueError("Error calling function: KeyboardInterrupt") from None
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 7
    assert capfd.readouterr().err == ""


def test_other_errors_are_raised() -> None:
    with pytest.raises(ValueError, match=r"^other$"), interrupts.exits_silently():
        raise ValueError("other")


def test_the_exit_code_is_130_if_executed_text_was_interrupted(tmp_path: Path) -> None:
    """Python would end by SIGINT."""
    (tmp_path / "program.py").write_text("""\
import sys
from airtcp import interrupts
interrupts.at_start()
interrupts.install()
try:
    exec("import os, signal; os.kill(os.getpid(), signal.SIGINT)")
except KeyboardInterrupt:
    sys.exit(interrupts.CODE)
""")
    environment = {**os.environ, "PYTHONPATH": f"{REPOSITORY / 'lab'}:{tmp_path}"}
    command = [sys.executable, "-P", "-m", "program"]
    done = subprocess.run(command, env=environment, capture_output=True)
    assert (done.returncode, done.stderr) == (interrupts.CODE, b"")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_at_the_start_leaves_no_temporary_file(tmp_path: Path, name: str) -> None:
    """Before the first use of the directory, Python writes a file there and removes it."""
    text = f"""
import os, signal, tempfile
from airtcp import interrupts
unlink = os.unlink
def interrupted(path):
    os.kill(os.getpid(), signal.{name})
    unlink(path)
tempfile._os.unlink = interrupted
interrupts.at_start()
print("not interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={"PYTHONPATH": str(REPOSITORY / "lab"), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert list(tmp_path.iterdir()) == []


def test_signals_at_the_end_do_not_change_the_exit_code() -> None:
    program = """\
import atexit, os, signal
atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
from airtcp import interrupts
interrupts.at_start()
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("moment", ["gc.freeze", "interrupts.at_end"])
def test_a_signal_before_or_after_the_command_is_reported(moment: str) -> None:
    program = f"""\
import gc, os, signal, sys
from airtcp import __main__, interrupts
{moment} = lambda: os.kill(os.getpid(), signal.SIGINT)
sys.argv[1:] = ["completion", "bash"]
sys.exit(__main__.start())
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True)
    assert (done.returncode, done.stderr) == (interrupts.CODE, b"airtcp: interrupted\n")


def test_an_interrupt_that_a_destructor_loses_is_raised_later() -> None:
    program = """\
import os, signal, sys
from types import SimpleNamespace
from airtcp import cli, interrupts
interrupts.at_start()
interrupts.install()
class Destroyed:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
def do(options):
    Destroyed()
    return 0
options = SimpleNamespace(do=do)
cli.parser.build = lambda arguments: SimpleNamespace(parse_args=lambda arguments: options)
sys.exit(cli.main(["list"]))
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True)
    assert (done.returncode, done.stderr) == (interrupts.CODE, b"airtcp: interrupted\n")


def test_other_errors_of_destructors_are_shown() -> None:
    program = """\
from airtcp import interrupts
interrupts.at_start()
class Destroyed:
    def __del__(self):
        raise ValueError("wrong")
Destroyed()
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True)
    assert done.stderr.endswith("ValueError: wrong\n")


def test_a_signal_after_the_last_result_is_reported() -> None:
    program = """\
import os, signal
from airtcp import interrupts
interrupts.at_start()
interrupts.install()
interrupts.at_end()
os.kill(os.getpid(), signal.SIGINT)
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True)
    assert (done.returncode, done.stderr) == (interrupts.CODE, b"airtcp: interrupted\n")


@pytest.mark.parametrize("when", ["starting", "running"])
def test_a_program_of_dask_removes_its_directory(tmp_path: Path, when: str) -> None:
    """Also if the signal arrives after the directory exists, but before Dask handles signals."""
    script = f"""\
import asyncio, os, signal, sys, threading, types
from airtcp import interrupts
interrupts.at_start()
from airtcp.sweep import daskprogram
from distributed._signals import wait_for_signals
from distributed.diskutils import WorkSpace

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

def main(arguments):
    directory = WorkSpace({str(tmp_path)!r}).new_work_dir(prefix="scheduler-")
    assert os.path.isdir(directory.dir_path)
    if {when!r} == "starting":
        interrupt()
    else:
        threading.Timer(0.3, interrupt).start()
    asyncio.run(program.wait_for_signals())
    sys.exit(0)

program = types.ModuleType("program")
program.main, program.wait_for_signals = main, wait_for_signals
daskprogram.run(program, [])
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "lab")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == interrupts.CODE, done.stderr
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".lock"] == []
