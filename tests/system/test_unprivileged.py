# SPDX-License-Identifier: GPL-2.0-only
"""A user without privileges runs the commands of `make demo`, with the same results as root."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
import sweeps

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel

ROOT = Path(__file__).parents[2]
NOBODY = "65534"
AS_NOBODY = (
    "setpriv",
    f"--reuid={NOBODY}",
    f"--regid={NOBODY}",
    "--clear-groups",
    "--no-new-privs",
)
RUN = "./airtcp run thesis-lan --set ack_policy=default,aad --set delay=0ms --duration 1s --out"


def is_open(path: Path) -> bool:
    """Whether every user can read the path."""
    return all(part.stat().st_mode & 0o001 for part in (path, *path.parents))


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory outside those of pytest, which other users cannot read."""
    path = Path(mkdtemp(prefix="airtcp-home-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def script(home: Path, airtcp: Path, environment: Path) -> str:
    """Shell: make the paths that the user cannot read readable by mounts, then run his commands."""
    lines = ["set -e"]
    closed = [path for path in (Path(sys.base_prefix), environment) if not is_open(path)]
    # Replaces the topmost closed directories (root's home) by a tmpfs with only these paths in it.
    for top in {next(up for up in reversed(path.parents) if not is_open(up)) for path in closed}:
        stash = home / "stash" / top.name
        lines += [f"mkdir -p {stash}", f"mount --bind {top} {stash}"]
        lines += [f"mount -t tmpfs -o mode=755 tmpfs {top}"]
        for path in (path for path in closed if path.is_relative_to(top)):
            lines += [f"mkdir -p {path}", f"mount --bind {stash / path.relative_to(top)} {path}"]
    commands = f"cd {airtcp} && {RUN} {home}/out && ./airtcp report {home}/out"
    return "\n".join([*lines, f"exec {' '.join(AS_NOBODY)} sh -c '{commands}'"])


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_unprivileged_user_gets_the_same_results_as_root(
    lab_kernel: Kernel, tools: GuestTools, home: Path, tmp_path: Path
) -> None:
    airtcp, cache = home / "airtcp", home / ".cache" / "airtcp"
    for name in ("lab", "kernel", "experiments"):
        shutil.copytree(ROOT / name, airtcp / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "airtcp", airtcp)
    shutil.copytree(lab_kernel.path.parent, cache / "kernel" / lab_kernel.hash)
    environment = Path(sys.prefix).resolve()
    (cache / Path(sys.prefix).name).symlink_to(environment)
    subprocess.run(["chown", "-R", "-h", f"{NOBODY}:{NOBODY}", home], check=True)
    path = f"{sys.base_prefix}/bin:{os.environ['PATH']}"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script(home, airtcp, environment)],
        env={"PATH": path, "HOME": str(home), "PIP_NO_INDEX": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "installing" not in done.stderr and "packages" not in done.stderr, done.stderr
    out = home / "out"
    assert (out / "report.html").stat().st_uid == int(NOBODY)
    assert len(list(out.glob("runs/*/seed-1/*.pcapng"))) == 6

    command = RUN.split()[1:]
    sweep = [*sweeps.AIRTCP, *command, str(tmp_path)]
    subprocess.run(sweep, env=sweeps.ENVIRONMENT, check=True, capture_output=True)
    sweeps.assert_same(out, tmp_path)
