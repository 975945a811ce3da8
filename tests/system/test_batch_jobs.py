# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps whose workers are jobs of a batch system."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
import sweeps

from airtcp.backends.guesttools import GuestTools
from airtcp.cache import cache_dir
from airtcp.kernel.image import Kernel
from airtcp.results import documents


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Fake commands of Slurm that run jobs on this machine; returns where they leave files."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "sbatch").write_text(
        f"#!/bin/sh\ncp $1 {tmp_path}/job.sh\nsetsid sh {tmp_path}/job.sh >/dev/null 2>&1 &\n"
        f"echo $! >{tmp_path}/job\necho Submitted batch job $!\n"
    )
    # Like Slurm, kills processes some time after SIGTERM (KillWait).
    (programs / "scancel").write_text(
        f"#!/bin/sh\necho $1 >>{tmp_path}/cancelled\nkill -- -$1\n"
        "(sleep 10; kill -s KILL -- -$1) >/dev/null 2>&1 &\n"
    )
    for program in programs.iterdir():
        program.chmod(0o755)
    monkeypatch.setitem(sweeps.ENVIRONMENT, "PATH", f"{programs}:{os.environ['PATH']}")
    return tmp_path


def test_batch_jobs_of_slurm(lab_kernel: Kernel, tools: GuestTools, slurm: Path) -> None:
    assert lab_kernel and tools
    configuration = slurm / "slurm.yaml"
    configuration.write_text("slurm:\n  cores: 2\n  memory: 2GB\n  queue: short\n")
    sweeps.run(slurm / "out", "--set", "mcs=7", "--cluster", str(configuration))
    [result] = sweeps.results(slurm / "out").values()
    assert json.loads(result.read_text())["status"] == "ok"
    script = (slurm / "job.sh").read_text()
    assert "#SBATCH -p short" in script
    assert "--nthreads 2" in script
    assert "tls://" in script and "--tls-key" in script
    assert (slurm / "cancelled").read_text().strip()
    assert not list(cache_dir().glob("certificates-*"))


def test_refused_job_is_reported_in_one_line(
    lab_kernel: Kernel, tools: GuestTools, slurm: Path
) -> None:
    assert lab_kernel and tools
    (slurm / "bin" / "sbatch").write_text("#!/bin/sh\necho no partition short >&2\nexit 1\n")
    configuration = slurm / "slurm.yaml"
    configuration.write_text("jobqueue:\n  slurm: {cores: 1, memory: 2GB}\n")
    command = sweeps.command(slurm / "out", "--cluster", str(configuration))
    done = subprocess.run(command, env=sweeps.ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"airtcp: {configuration}: sbatch: no partition short\n"


def test_jobs_that_have_ended_are_reported(
    lab_kernel: Kernel, tools: GuestTools, slurm: Path
) -> None:
    """As at their walltime; other jobs would not follow, so the sweep would wait forever."""
    assert lab_kernel and tools
    configuration = slurm / "slurm.yaml"
    configuration.write_text("slurm: {cores: 1, memory: 2GB}\n")
    out = slurm / "out"
    command = sweeps.command(out, "--seeds", "99", "--cluster", str(configuration))
    process = subprocess.Popen(
        command, env=sweeps.ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr
        line = process.stderr.readline()
        while not line.startswith("[1/"):
            assert line, "no run has finished"
            line = process.stderr.readline()
        os.killpg(int((slurm / "job").read_text()), signal.SIGKILL)
        _, error = process.communicate(timeout=120)
    finally:
        process.terminate()
        process.wait()
    assert process.returncode == 1
    last = error.splitlines()[-1]
    assert f"--cluster {configuration}: all batch jobs have ended" in last, error
    assert f"runs are kept in {out}; the same command resumes" in last
    assert documents.read(out).runs
