# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps of many runs without guests: a stub leaves the files of a short run."""

import io
import pickle
import shutil
import tarfile
import tempfile
import time
from functools import cache
from pathlib import Path

import fake_run

from airtcp.backends.base import GuestResult
from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Case, Experiment, Setting
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.results import jsonfile
from airtcp.results.record import RESULT_FILE, Artifact, RunRecord
from airtcp.sweep import clusterworker, run
from airtcp.sweep.jobprocess import RunOutput
from airtcp.sweep.request import RunRequest

SEEDS = 100
"""Runs of a case: 100,000 runs have 1,000 cases."""

RUN_S = 4.0
"""Wall time of a stub on a worker, as that of a run of 30 virtual seconds."""

# Files of a guest that metrics do not need, and their sizes in bytes.
OTHER_FILES = {
    **{"nstat-server.json": 5691, "nstat-station.json": 5686, "qdisc-server.json": 242},
    **{"queues-ap.txt": 641, "queues-station.txt": 638, "radios.txt": 1871},
}


def sweep_of(runs: int) -> tuple[Experiment, list[Case]]:
    """An experiment, and as many of its cases as this number of runs needs."""
    delays = ",".join(f"{number}ms" for number in range(max(1, runs // SEEDS)))
    settings = ("ack_policy=default", "capture=off", "duration=1s", f"delay={delays}")
    experiment = load("thesis-lan")
    return experiment, experiment.cases([Setting.parse(text) for text in settings])


def machine(directory: Path) -> tuple[Kernel, GuestTools]:
    """Files in place of a kernel and of guest programs."""
    image, tools = directory / "0123456789abcdef" / "linux", directory / "fedcba9876543210"
    for path in (image, tools / "init"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("stub\n")
    return Kernel(image, "6.12.0", image.parent.name), GuestTools(tools)


def boot(_kernel: Kernel, _tools: GuestTools, run_dir: Path, **_rest: object) -> GuestResult:
    """Leave the files of a guest; in place of uml.boot()."""
    with tempfile.TemporaryDirectory() as scratch:
        for path in fake_run.write_run(Path(scratch) / "run").iterdir():
            shutil.copyfile(path, run_dir / path.name)
    for name, text in (("uptime", "5.1 1.0\n"), ("progress", "5\n"), ("exit", "0\n")):
        (run_dir / name).write_text(text)
    for name, size in OTHER_FILES.items():
        (run_dir / name).write_bytes(bytes(size))
    (run_dir / "console.log").write_text("airtcp\n")
    return GuestResult("ok", 0, 0.9, 0.6, run_dir / "console.log", "")


@cache
def _run() -> tuple[RunRecord, dict[str, bytes]]:
    """The record and the files of a run with the stub, which must be in place of uml.boot()."""
    with tempfile.TemporaryDirectory() as scratch:
        out_dir = Path(scratch)
        _, [case, *_] = sweep_of(1)
        request = RunRequest.of(*machine(out_dir / "machine"), case, 1)
        done = run.run_one(request, out_dir)
        assert done.ok, done.error
        return done, {path.name: path.read_bytes() for path in request.directory(out_dir).iterdir()}


def files(case: Case, seed: int, identity: str) -> tuple[RunRecord, dict[str, bytes]]:
    """The record and the files of a run with these conditions, without doing it."""
    done, contents = _run()
    where = f"runs/{case.slug}/seed-{seed}"
    changed = {
        "factors": case.factors,
        "parameters": case.parameters.plain(),
        "seed": seed,
        "identity": identity,
        "artifacts": {
            name: Artifact(path=f"{where}/{name}", sha256=artifact.sha256)
            for name, artifact in done.artifacts.items()
        },
    }
    record = done.model_copy(update=changed)
    return record, contents | {RESULT_FILE: jsonfile.text(record.model_dump()).encode()}


def work(task: clusterworker.Task) -> bytes:
    """Do a run on a worker without a process of its own; in place of clusterworker.work()."""
    time.sleep(RUN_S)
    record, contents = files(task.case, task.seed, task.identity)
    packed = io.BytesIO()  # as atomicfile.pack() does, without files: many workers share a process
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in sorted(contents.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return pickle.dumps(RunOutput(record, packed.getvalue(), Path("/scratch")))
