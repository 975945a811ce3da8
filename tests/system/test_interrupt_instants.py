# SPDX-License-Identifier: GPL-2.0-only
"""Ctrl-C at random instants of every command.

The exit code is 130, there is no traceback, nothing is left running or half-written, and the same
command then succeeds. AIRTCP_TEST_INTERRUPTS is the number of instants for each (default: 2),
AIRTCP_TEST_SEED that of a run to repeat.
"""

import argparse
import json
import os
import random
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orphans
import pytest
import sweeps
from guests import Say
from installs import make_wheel

from airtcp import cli, programs
from airtcp.backends.guesttools import GuestTools
from airtcp.cache import cache_dir
from airtcp.cli import parser
from airtcp.errors import AirtcpError
from airtcp.kernel import image
from airtcp.kernel.image import Kernel
from airtcp.paths import REPOSITORY
from airtcp.results import artifacts, documents, parquet, record

INSTANTS = int(os.environ.get("AIRTCP_TEST_INTERRUPTS", "2"))
SEED = int(os.environ.get("AIRTCP_TEST_SEED") or random.SystemRandom().randrange(10**6))
# Of one command, on a machine with other work.
LIMIT_S = 900
# The command is repeated to its end after one of so many interruptions.
RESUMED = 10

RUN = "run thesis-lan --set ack_policy=default --duration 1s --seeds 2 --jobs 1 --out OUT"

# In a directory with the finished sweeps thesis-lan and other, and a report of the former.
COMMANDS = {
    "version": "--version",
    "list": "list",
    "list-json": "list --json",
    "show": "show tsq-size --json",
    "schema": "schema",
    "new": "new mine",
    "run": RUN,
    "run-finished": RUN.replace("OUT", "thesis-lan"),
    "demo": "demo --out OUT",
    "tournament": "tournament --entrants aad --conditions lan --jobs 2 --out OUT",
    "report": "report thesis-lan",
    "report-figures": "report other --figures",
    "report-index": "report --index .",
    "report-published": "report . --published",
    "query": "results query 'SELECT seed, goodput_mbps FROM runs' thesis-lan other",
    "compare": "results compare thesis-lan other",
    "export": "results export thesis-lan",
    "certificates": "scheduler --create-certificates OUT",
    "scheduler": "scheduler --port PORT",
    "worker": "worker tcp://127.0.0.1:PORT",
    "kernel-build": "kernel build",
    "kernel-path": "kernel path",
    "kernel-series": "kernel series OUT --topic wifi --author 'Jo Example <jo@example.org>'",
    "kernel-openwrt": "kernel openwrt OUT",
    "kernel-import": "kernel import WHEEL",
    "kernel-deb": "kernel deb --config SMALL --out OUT",
    "shell": "shell thesis-lan",
    "exec": "exec thesis-lan station -- ip -brief link",
    "ui": "ui .",
    "doctor": "doctor --json",
    "setup": "setup run",
    "completion": "completion bash",
}
# They run until they are interrupted; this long here.
ENDLESS = {"scheduler": 4.0, "worker": 4.0, "ui": 3.0}
# These need a host whose kernel has ACK policies in BPF.
NOT_INTERRUPTED = {"policy load", "policy list", "policy unload"}
SLOW = {"demo", "tournament", "report-figures", "kernel-series", "kernel-import", "kernel-deb"}
# Their output differs from run to run.
RANDOM = {"certificates", "doctor", "ui"}
# They refuse a directory or file that exists.
ONCE = {"new", "certificates", "kernel-series", "kernel-openwrt"}
# Removed before each call, so that each goes through all stages of a build.
BUILT = {"kernel-deb": "kernel/work-deb-*/linux/build-deb"}
# After Ctrl-C there is a report of the finished runs.
PARTIAL = {"demo", "tournament"}


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str
    wall_s: float


class Place:
    """A directory to work in, and one for temporary files."""

    def __init__(self, directory: Path, finished: Path, inputs: dict[str, Path]) -> None:
        self.work = directory / "work"
        self._inputs = inputs
        self.temporary = directory / "tmp"
        shutil.copytree(finished, self.work)
        self.temporary.mkdir()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]

    def call(self, command: str, interrupt_s: float | None = None) -> Ended:
        """Execute a command, and interrupt it after this time like a terminal."""
        if command in BUILT:
            for directory in cache_dir().glob(BUILT[command]):
                shutil.rmtree(directory)
        words = shlex.split(COMMANDS[command].replace("PORT", str(self._port)))
        arguments = [self._inputs.get(word, word) for word in words]
        began = time.monotonic()
        process = subprocess.Popen(
            [REPOSITORY / "airtcp", *arguments],
            cwd=self.work,
            env={**os.environ, "TMPDIR": str(self.temporary)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stdin
        with process.stdin as script:
            script.write("ip -brief address\n")
        process.stdin = None
        if interrupt_s is not None:
            time.sleep(max(0, began + interrupt_s - time.monotonic()))
            try:
                os.killpg(process.pid, signal.SIGINT)
            except ProcessLookupError:
                pass
        out, err = process.communicate(timeout=LIMIT_S)
        return Ended(process.returncode, out, err, time.monotonic() - began)

    def assert_clean(self, whole: Path | None = None) -> None:
        """Nothing is left running, and no file is temporary or incomplete.

        whole: where the same command has ended by itself; pages are the same there.
        """
        orphans.wait_for_all()
        assert sweeps.guests_of(self.work) == []
        # Dask keeps locks that all of its processes share.
        left = [path for path in self.temporary.rglob("*") if path.suffix != ".lock"]
        assert [path.name for path in left] in ([], ["dask-scratch-space"])
        for path in self.work.rglob("*"):
            name = path.relative_to(self.work)
            assert not path.name.endswith(".new") and not path.name.startswith((".cert", "tmp")), (
                name
            )
            if not path.is_file() or (path.parent.name.startswith("seed-")):
                continue
            if path.name == documents.FILE:
                documents.read(path.parent)
            elif path.name == parquet.FILE:
                parquet.read(path.parent)
            elif path.suffix == ".json":
                json.loads(path.read_text())
            elif whole and path.suffix in (
                ".html",
                ".md",
                ".yaml",
                ".js",
                ".pdf",
                ".svg",
                ".patch",
            ):
                assert path.read_bytes() == (whole / name).read_bytes(), name
        for result in self.work.glob("*/**/seed-*/result.json"):
            recorded = record.read(result.parent)
            out_dir = result.parents[3]
            assert list(artifacts.changes(recorded.artifacts, out_dir)) == [], result


@pytest.fixture(autouse=True)
def no_orphans() -> Iterator[None]:
    with orphans.adopted():
        yield


@pytest.fixture(scope="module")
def finished(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Two sweeps, the first with a report."""
    assert lab_kernel and tools  # built beforehand
    place = tmp_path_factory.mktemp("finished")
    for name in ("thesis-lan", "other"):
        arguments = shlex.split(RUN.replace("OUT", str(place / name)))
        assert cli.main(arguments) == 0
    assert cli.main(["report", str(place / "thesis-lan")]) == 0
    return place


@pytest.fixture
def inputs(
    command: str, say: Say, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Path]]:
    """Files for words of the command."""
    found = {}
    if command == "kernel-deb":
        try:
            programs.require({**programs.BUILD, **programs.DEB})
        except AirtcpError as error:
            pytest.skip(str(error))
        found["SMALL"] = image.build(arch="x86_64", say=say).path.parent / "config"
    if command == "kernel-import":
        found["WHEEL"] = make_wheel(tmp_path_factory.mktemp("dist"))[0]
    yield found
    if command == "kernel-import":
        shutil.rmtree(cache_dir() / "prebuilt")


def commands_of(above: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands below a parser, by name."""
    for action in above._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def test_each_command_is_interrupted() -> None:
    known = parser.build()
    commands = {
        f"{name} {below}".strip()
        for name, command in commands_of(known).items()
        for below in commands_of(command) or [""]
    }
    interrupted = [f"{command} " for command in COMMANDS.values()]
    for command in commands - NOT_INTERRUPTED:
        assert any(each.startswith(f"{command} ") for each in interrupted), command


@pytest.mark.parametrize(
    "command",
    [pytest.param(command, marks=[pytest.mark.slow] * (command in SLOW)) for command in COMMANDS],
)
def test_ctrl_c_at_any_instant(
    command: str, finished: Path, inputs: dict[str, Path], tmp_path: Path
) -> None:
    rng = random.Random(f"{SEED} {command}")
    whole = None
    first = Place(tmp_path / "whole", finished, inputs)
    if command in ENDLESS:
        lasts_s = ENDLESS[command]
    else:
        if command in BUILT:
            first.call(command)  # fills ccache's cache
        whole = first.call(command)
        assert whole.code == 0, whole.err
        lasts_s = whole.wall_s
    first.assert_clean()
    interrupted = 0
    for number in range(INSTANTS):
        instant_s = rng.uniform(0, lasts_s)
        where = f"AIRTCP_TEST_SEED={SEED}: {command} after {instant_s:.3f} s of {lasts_s:.3f} s"
        print(where)
        place = Place(tmp_path / str(number), finished, inputs)
        ended = place.call(command, instant_s)
        assert "Traceback" not in ended.err, f"{where}\n{ended.err}"
        if ended.code == -signal.SIGINT:  # a script was starting; a shell's exit code is 130
            assert (ended.out, ended.err) == ("", ""), where
        elif ended.code == 0 and whole:  # it was faster than the first time
            assert command in RANDOM or ended.out == whole.out, where
        else:
            assert ended.code == 130, f"{where}\n{ended.err}"
        interrupted += ended.code != 0
        place.assert_clean(first.work if whole and command not in PARTIAL else None)
        if whole and number % RESUMED == min(INSTANTS, RESUMED) - 1:
            again = place.call(command)
            refused = command in ONCE and again.code == 2
            assert again.code == 0 or refused, f"{where}\n{again.err}"
            if refused:  # everything had been written
                assert "already exists" in again.err
            elif command not in RANDOM:
                assert again.out == whole.out, where
            # The report of a demo says how long the runs took.
            place.assert_clean(first.work if command != "demo" else None)
        shutil.rmtree(tmp_path / str(number))
    assert interrupted or INSTANTS < 20
