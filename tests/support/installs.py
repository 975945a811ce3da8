# SPDX-License-Identifier: GPL-2.0-only
"""Install airtcp with pip in new environments, without the network."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from airtcp.paths import REPOSITORY


def environment(directory: Path) -> Path:
    """The directory of programs of a new environment with the libraries of this one."""
    venv.create(directory, symlinks=True)
    python = directory / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    output = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout
    libraries = sysconfig.get_path("purelib")
    Path(output.strip(), "libraries.pth").write_text(f"{libraries}\n")
    return python.parent


def install(programs: Path, *what: str) -> None:
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        programs / "python",
        "install",
        "-q",
    ]
    subprocess.run(
        [*pip, "--no-index", "--no-build-isolation", "--disable-pip-version-check", *what],
        check=True,
        capture_output=True,
    )


def run(programs: Path, cwd: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the installed program without the environment variables of this process."""
    return subprocess.run(
        [programs / "airtcp", *arguments],
        cwd=cwd,
        env={"HOME": str(cwd), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )


def make_wheel(target: Path) -> tuple[Path, Path]:
    """The wheel and the sdist of `make wheel`, in this directory."""
    script = str(REPOSITORY / "lab" / "wheel.py")
    command = [sys.executable, "-P", script, str(target)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "lab")}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    [wheel], [sdist] = target.glob("*.whl"), target.glob("*.tar.gz")
    return wheel, sdist
