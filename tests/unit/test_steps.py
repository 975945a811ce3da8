# SPDX-License-Identifier: GPL-2.0-only
"""Commands of a plan that are batched in one program, and the errors of failed commands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from airtcp.backends.shell import FAILURE, HELPERS, render, text
from airtcp.steps.step import EndInstruments, Instrument, Note, Run, Step, Sysctl, run

STEPS: list[Step] = [
    run("ip link set lo up"),
    run("ip address add 10.0.0.1/24 dev eth0"),
    run("tc qdisc add dev eth0 root pfifo"),
    run("ip link set eth0 up"),
    run("ip link set eth1 up"),
    run("ip route show", stdout="routes"),
    run("ip link show", node="ap"),
    Run(("ip", "link", "show"), required=False),
    run("ip link set eth1 down"),
    Note(),
    run("ip link set eth0 down"),
    Sysctl("ip_forward", "1"),
    Sysctl("tcp_rmem", "1 2 3"),
    run("echo", "two words", "a;b"),
]

TOGETHER = """\
batch ip '
link set lo up
address add 10.0.0.1/24 dev eth0
'
must tc qdisc add dev eth0 root pfifo
batch ip '
link set eth0 up
link set eth1 up
'
must ip route show >routes
must node ap ip link show
ip link show
must ip link set eth1 down

must ip link set eth0 down
set_sysctl ip_forward 1
set_sysctl tcp_rmem "1 2 3"
must echo 'two words' 'a;b'
"""


def test_consecutive_commands_are_batched_in_order() -> None:
    assert text(STEPS) == TOGETHER


@pytest.mark.parametrize(
    ("program", "code", "stderr"),
    [
        ("true", 0, ""),
        ("echo Warning: odd >&2", 0, "Warning: odd\n"),
        (
            "echo Error: no such device. >&2; echo Command failed -:3 >&2; exit 1",
            1,
            "Error: no such device.\nCommand failed -:3\n"
            f"{FAILURE}ip link set eth1 up (exit code 1)\n",
        ),
        (
            "echo Error: not a prefix. >&2; exit 255",
            1,
            f"Error: not a prefix.\n{FAILURE}ip -batch: Error: not a prefix. (exit code 255)\n",
        ),
    ],
)
def test_error_names_the_command_that_failed(
    tmp_path: Path, program: str, code: int, stderr: str
) -> None:
    (tmp_path / "ip").write_text(f"#!/bin/sh\ncat >{tmp_path}/read\n{program}\n")
    (tmp_path / "ip").chmod(0o755)
    lines = "batch ip '\nlink set eth0 up\nlink set eth1 up\n'\n"
    done = subprocess.run(
        ["sh", "-c", HELPERS + lines],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, stderr)
    assert (tmp_path / "read").read_text() == "\nlink set eth0 up\nlink set eth1 up\n\n"


PLAN_IN_ANY_LOCALE = r"""
import sys
from pathlib import Path
from airtcp.backends import uml
from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Case
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.sweep import run
from airtcp.sweep.request import RunRequest

uml.boot = lambda *_, **__: None
kernel, tools = Kernel(Path("linux"), "6.12.0", ""), GuestTools(Path("tools"))
case = Case({}, Parameters().replace({"workload": "command", "command": "echo \u00fc"}))
run._boot(RunRequest.of(kernel, tools, case, 1), Path(sys.argv[1]))
"""


def test_plans_are_the_same_in_every_locale(tmp_path: Path) -> None:
    """Commands of the user may have other characters than those of ASCII."""
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-P", "-c", PLAN_IN_ANY_LOCALE, str(tmp_path / "run")]
    subprocess.run(command, env=os.environ | ascii_only, check=True)
    assert "echo \u00fc".encode() in (tmp_path / "run" / "plan.sh").read_bytes()


@pytest.mark.parametrize(
    ("instrument", "failure"),
    [
        ("exec sleep 60", ""),
        ("exec timeout 0.01 sleep 60", ""),
        ("exit 0", ""),
        ("exit 1", "an instrument failed with exit code 1: see the console"),
        ("kill -s KILL $$", "an instrument failed with exit code 137: see the console"),
    ],
)
def test_an_instrument_that_failed_before_the_end_fails_the_run(
    instrument: str, failure: str
) -> None:
    """tcpdump does so if it cannot write; its capture would be too short."""
    steps: list[Step] = [
        Instrument(run("sh -c", instrument)),
        Instrument(run("sleep 60")),
        run("sleep 0.1"),
        EndInstruments(),
    ]
    done = subprocess.run(["sh", "-c", render(steps)], capture_output=True, text=True, check=False)
    assert done.returncode == bool(failure)
    failures = [line for line in done.stderr.splitlines() if line.startswith(FAILURE)]
    assert failures == ([FAILURE + failure] if failure else [])
