# SPDX-License-Identifier: GPL-2.0-only
"""Start of commands: no imports from the working directory, Ctrl-C reported in one line."""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from airtcp import cli
from airtcp.sweep import batchjobs, clusterservers, clusterworker

ROOT = Path(__file__).parents[2]
MODULES = ("airtcp/__init__", "ctypes", "json", "numpy", "pickle", "statistics", "token", "types")


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with modules that write a file when they are imported."""
    directory, imported = tmp_path / "cwd", tmp_path / "imported"
    (directory / "airtcp").mkdir(parents=True)
    for name in (*MODULES, "yaml"):
        (directory / f"{name}.py").write_text(f"open({str(imported)!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(directory)
    return imported


@pytest.mark.parametrize("arguments", [["list"], ["doctor"], ["show", "thesis-lan"]])
def test_commands_do_not_import_from_the_working_directory(
    trap: Path, arguments: list[str]
) -> None:
    done = subprocess.run([ROOT / "airtcp", *arguments], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.stdout
    assert not trap.exists(), trap.read_text()


def clone(directory: Path) -> Path:
    """The program `airtcp` in a directory that is like a clone."""
    directory.mkdir()
    shutil.copy(ROOT / "airtcp", directory)
    (directory / "lab").symlink_to(ROOT / "lab")
    return directory / "airtcp"


def test_a_clone_in_a_path_with_colons_is_refused(tmp_path: Path) -> None:
    """A colon ends a path in PYTHONPATH."""
    program = clone(tmp_path / "a:b")
    for arguments in (["list"], ["setup"]):
        done = subprocess.run([program, *arguments], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            f"airtcp: {program.parent}: Python finds no modules in a path with colons; "
            "move the clone to another directory\n"
        )


def test_messages_quote_the_path_of_the_program(tmp_path: Path) -> None:
    program = clone(tmp_path / "it's $HOME")
    command = [str(program), "new", str(tmp_path / "mine.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    [line] = [line for line in done.stderr.splitlines() if line.startswith("next: ")]
    assert shlex.split(line)[1:3] == [str(program), "run"]


def test_commands_ignore_the_libraries_of_another_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHOME", "/nonexistent")
    done = subprocess.run([ROOT / "airtcp", "list"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    script = subprocess.run([ROOT / "lab" / "python.sh"], capture_output=True, text=True)
    assert (script.returncode, script.stderr) == (0, "")


def test_cluster_processes_do_not_import_from_the_working_directory(
    trap: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "lab"))
    subprocess.run(clusterworker.SERVER, input=b"", capture_output=True)
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execve", lambda _path, command, _environment: started.append(command))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    cli.main(["scheduler", "--port", port])
    cli.main(["worker", f"tcp://127.0.0.1:{port}"])
    assert len(started) == 2
    for command in started:
        subprocess.run([*command[:4], "--help"], capture_output=True, check=True)
    python = batchjobs.python()
    subprocess.run(f"{python} -m {clusterservers.WORKER} --help", shell=True, check=True)
    assert not trap.exists(), trap.read_text()


def test_ctrl_c_at_any_time_of_the_start_is_reported_in_one_line() -> None:
    def start() -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [ROOT / "airtcp", "list"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    began = time.monotonic()
    start().communicate()
    duration_s = time.monotonic() - began
    codes = []
    for number in range(10):
        command = start()
        time.sleep(duration_s * number / 10)
        os.killpg(command.pid, signal.SIGINT)
        _, stderr = command.communicate()
        # Between two programs, the signal has its default action, without a message.
        assert (command.returncode, stderr) in [
            (130, "airtcp: interrupted\n"),
            (-signal.SIGINT, ""),
            (0, ""),
        ]
        codes.append(command.returncode)
    assert codes.count(130) > 2, codes


def test_ctrl_c_while_modules_are_imported_exits_with_130() -> None:
    """The signal is blocked until Python can handle it, then handled first."""
    command = [sys.executable, "-P", "-m", "airtcp", "list"]
    done = subprocess.run(
        ["env", "--block-signal=INT", "sh", "-c", 'kill -INT $$; exec "$@"', "sh", *command],
        env={**os.environ, "PYTHONPATH": str(ROOT / "lab")},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "airtcp: interrupted\n")
