# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps on full disks, and file systems that cannot hold the memory of guests."""

import os
from pathlib import Path

import mounts
import pytest
import sweeps

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel

RUNS = ("--set", "mcs=7", "--seeds", "4")


@pytest.fixture(scope="module")
def undisturbed(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    assert lab_kernel and tools
    mounts.require()
    out_dir = tmp_path_factory.mktemp("undisturbed")
    sweeps.run(out_dir, *RUNS)
    return out_dir


@pytest.mark.parametrize("limit", ["size=480k", "size=100m,nr_inodes=75"])
def test_full_disk_is_reported_in_one_line(undisturbed: Path, tmp_path: Path, limit: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    out_dir = disk / "out"
    done = mounts.run(
        f"mount -t tmpfs -o {limit} tmpfs {disk}\n"
        f'code=0; "$@" 2>{tmp_path}/stderr || code=$?; echo $code; ls {out_dir}/runs/*\n'
        f"mount -o remount,size=100m,nr_inodes=100000 {disk}\n"
        f'"$@" 2>{tmp_path}/again\n'
        f"cp -a {out_dir} {tmp_path}/kept",
        *sweeps.command(out_dir, *RUNS, "--jobs", "1"),
        **sweeps.ENVIRONMENT,
    )
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "stderr").read_text().splitlines()
    [line] = [line for line in lines if line[0] != "["]
    run_dir = f"{out_dir}/runs/ack_policy-default_mcs-7/seed-"
    assert line.startswith(f"airtcp: {run_dir}")
    kept = len([word for word in done.stdout.split() if word.startswith("seed-")])
    assert 0 < kept < 4
    assert line.endswith(
        f": No space left on device; {kept} of 4 runs are kept in {out_dir}; "
        "the same command resumes from there"
    )
    assert "1" in done.stdout.splitlines()
    assert f"{kept} of 4 runs are in" in (tmp_path / "again").read_text()
    sweeps.assert_same(undisturbed, tmp_path / "kept")


def test_a_directory_on_a_read_only_file_system_is_refused(tmp_path: Path) -> None:
    mounts.require()
    disk = tmp_path / "disk"
    disk.mkdir()
    done = mounts.run(
        f"mount -t tmpfs tmpfs {disk}; mkdir {disk}/out; mount -o remount,ro {disk}\n"
        '"$@" || echo $?',
        *sweeps.command(disk / "out", *RUNS),
        **sweeps.ENVIRONMENT,
    )
    assert done.stdout == "2\n"
    assert done.stderr == (
        f"airtcp: --out {disk}/out: Read-only file system; "
        "give a new or existing directory that you can write\n"
    )


@pytest.mark.parametrize(
    "shm",
    [
        "mount -t tmpfs -o ro tmpfs /dev/shm",
        "mount -t tmpfs -o noexec tmpfs /dev/shm",
        "mount -t tmpfs -o size=100m tmpfs /dev/shm",
    ],
    ids=["read-only", "noexec", "small"],
)
def test_guest_memory_outside_dev_shm_gives_the_same_bytes(
    undisturbed: Path, tmp_path: Path, shm: str
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    out_dir = tmp_path / "out"
    environment = {**sweeps.ENVIRONMENT, "TMPDIR": str(scratch)}
    done = mounts.run(f'{shm}; "$@"', *sweeps.command(out_dir, *RUNS), **environment)
    assert done.returncode == 0, done.stderr
    sweeps.assert_same(undisturbed, out_dir)
    assert not list(scratch.glob("airtcp-*"))


def test_guest_memory_on_a_disk_gives_the_same_bytes(undisturbed: Path, tmp_path: Path) -> None:
    """On the console, User Mode Linux warns about memory that is not on a tmpfs."""
    scratch = Path("/var/tmp") / f"airtcp-test-{os.getpid()}"
    scratch.mkdir()
    out_dir = tmp_path / "out"
    environment = {**sweeps.ENVIRONMENT, "TMPDIR": str(scratch)}
    script = f'mount -t tmpfs -o ro tmpfs /dev/shm; stat -f -c %T {scratch}; "$@"'
    try:
        done = mounts.run(script, *sweeps.command(out_dir, *RUNS), **environment)
        assert not list(scratch.iterdir())
    finally:
        scratch.rmdir()
    assert done.returncode == 0, done.stderr
    if done.stdout.startswith("tmpfs"):
        pytest.skip("/var/tmp is a tmpfs, not a disk")
    sweeps.assert_same(undisturbed, out_dir)


def test_runs_without_room_for_their_memory_wait(undisturbed: Path, tmp_path: Path) -> None:
    out_dir, scratch, reference = tmp_path / "out", tmp_path / "scratch", tmp_path / "reference"
    scratch.mkdir()
    many = (*RUNS, "--seeds", "12")
    done = mounts.run(
        "mount -t tmpfs -o size=520m tmpfs /dev/shm\n"
        f'mount -t tmpfs -o size=1m tmpfs {scratch}\n"$@"',
        *sweeps.command(out_dir, *many, "--jobs", "4"),
        **{**sweeps.ENVIRONMENT, "TMPDIR": str(scratch)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Mbit/s") == 12
    [line] = [line for line in done.stderr.splitlines() if line.endswith("only 1 run at once")]
    assert line.startswith("/dev/shm has ")
    sweeps.run(reference, *many)
    sweeps.assert_same(reference, out_dir)


def test_single_run_without_room_for_its_memory_fails(undisturbed: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = mounts.run(
        "mount -t tmpfs -o size=9m tmpfs /dev/shm\n"
        f'mount -t tmpfs -o size=9m tmpfs {scratch}\n"$@"',
        *sweeps.command(tmp_path / "out", "--set", "mcs=7"),
        **{**sweeps.ENVIRONMENT, "TMPDIR": str(scratch)},
    )
    assert done.returncode == 1
    assert "set TMPDIR to a directory on one" in done.stderr.splitlines()[-1]


def test_memory_that_fills_up_during_a_run_is_reported(undisturbed: Path, tmp_path: Path) -> None:
    out_dir = tmp_path / "out"
    run_dir = out_dir / "runs" / "ack_policy-default_mcs-7" / "seed-1"
    done = mounts.run(
        "mount -t tmpfs -o size=520m tmpfs /dev/shm\n"
        f'"$@" & while [ ! -e {run_dir}/progress ]; do sleep 0.05; done\n'
        "head -c 600000000 /dev/zero >/dev/shm/other 2>/dev/null || true\n"
        "wait $!",
        *sweeps.command(out_dir, "--set", "mcs=7", "--duration", "20s", "--jobs", "1"),
        **sweeps.ENVIRONMENT,
    )
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    assert "this machine does not have enough memory for the guest: " in line
