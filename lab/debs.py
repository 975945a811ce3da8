# SPDX-License-Identifier: GPL-2.0-only
"""Build the Debian packages airtcp and airtcp-dkms, for Debian 12; `make packages` runs it.

The same sources, compiler and Debian packages give the same files, byte for byte.
"""

import argparse
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Literal

from argcomplete.shell_integration import shellcode

import wheel
from airtcp import __version__, programs
from airtcp.errors import AirtcpError
from airtcp.paths import REPOSITORY

PACKAGING = REPOSITORY / "packaging"
# Python of Debian 12, for which the libraries are.
PYTHON = (3, 11)
_NEEDED = {
    "dpkg-buildpackage": "dpkg-dev",
    "dh": "debhelper",
    "dh_dkms": "dh-dkms",
}
_NOT_USED = ("bin", "share", "direct_url.json", "tests", "include")
_ENVIRONMENT = """\
home = /usr/bin
include-system-site-packages = false
version = {}.{}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", type=Path, default=Path("dist"))
    parser.add_argument("--version", default=__version__, help="of the packages")
    options = parser.parse_args()
    os.umask(0o022)  # pip gives files the modes that they have in the package
    with wheel.reporting("packages", options.directory):
        for path in build(options.directory, options.version):
            print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0


def build(directory: Path, version: str = __version__) -> list[Path]:
    """Put the packages into the directory; returns their paths. Raises AirtcpError."""
    if sys.version_info[:2] != PYTHON:
        raise AirtcpError("packages can be built only with Python 3.11, that of Debian 12")
    programs.require(_NEEDED)
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch, "airtcp")
        source_tree(tree, version)
        wheel.build(Path(scratch), Path(scratch, "wheel"))
        [built] = Path(scratch, "wheel").glob("*.whl")
        environment(built, tree / "environment")
        directory.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copy(path, directory)) for path in build_tree(tree, "binary")]


def source_tree(tree: Path, version: str) -> None:
    """Make the source of the packages, without the Python environment of airtcp."""
    shutil.copytree(PACKAGING, tree)
    set_version(tree / "debian" / "changelog", r"(?<=^airtcp \()[^)]+", version)
    shutil.copyfile(REPOSITORY / "docs" / "reference" / "airtcp.1", tree / "airtcp.1")
    (tree / "completions").mkdir()
    (tree / "completions" / "airtcp").write_text(shellcode(["airtcp"], shell="bash"))
    built = shutil.ignore_patterns("*.mod.c")  # debian/rules installs all *.c
    shutil.copytree(REPOSITORY / "dkms" / "ackhold", tree / "ackhold", ignore=built)
    set_version(tree / "ackhold" / "dkms.conf", r'(?<=^PACKAGE_VERSION=")[^"]+', version)


def build_tree(tree: Path, kind: Literal["binary", "all"]) -> list[Path]:
    """Build the packages of a source tree, or with `all` only airtcp-dkms; they are next to it."""
    command = ["dpkg-buildpackage", f"--build={kind}", "--no-sign", "--no-check-builddeps"]
    programs.run(command, "dpkg-buildpackage failed", cwd=tree)
    return sorted(tree.parent.glob("*.deb"))


def set_version(path: Path, pattern: str, version: str) -> None:
    text, count = re.subn(pattern, version, path.read_text(), count=1, flags=re.M)
    assert count, path
    path.write_text(text)


def environment(built: Path, directory: Path) -> None:
    """Install the wheel and its libraries in a Python environment, without an interpreter."""
    libraries = directory / "lib" / f"python{PYTHON[0]}.{PYTHON[1]}" / "site-packages"
    locked = REPOSITORY / "lab" / "requirements.txt"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    options = ["--no-deps", "--no-compile", "--only-binary=:all:", "--target", libraries]
    programs.run([*pip, *options, "-r", locked, built], "pip cannot install the libraries")
    for path in [path for name in _NOT_USED for path in libraries.rglob(name)]:
        if _is_used(path.relative_to(libraries)):
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)  # it may have been in a directory of another name
    (directory / "pyvenv.cfg").write_text(_ENVIRONMENT.format(*PYTHON))


def _is_used(path: Path) -> bool:
    """Whether a file with a name of _NOT_USED belongs to airtcp, or is a library's licence."""
    return path.parts[0] == "airtcp" or path.parts[1:2] == ("licenses",)


if __name__ == "__main__":
    sys.exit(main())
