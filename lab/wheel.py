# SPDX-License-Identifier: GPL-2.0-only
"""Build the wheel, with kernel and root file system, and the sdist; `make wheel` runs it.

The same sources, compiler and Debian packages give the same files, byte for byte.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from airtcp import programs, provenance
from airtcp.backends import guestroot, guesttools
from airtcp.cache import cache_dir
from airtcp.cli.messages import say
from airtcp.errors import AirtcpError, of_file
from airtcp.kernel import image
from airtcp.kernel.source import DEBIAN_TARBALL
from airtcp.paths import REPOSITORY
from airtcp.prebuilt import DESCRIPTION

_DOC = Path("/usr/share/doc")
_FIELDS = ("binary:Package", "Version", "source:Package", "source:Version")
# Packages whose code is in the kernel image and in the programs that are linked statically.
_LINKED = ("libc6-dev", "libmnl-dev", "linux-libc-dev")
_HEAD = """\
Debian packages of which the wheel contains code: name, version, name and version of the source
package. The licences are in the files named after the packages. The kernel is Linux {version} from
Debian's package linux-source-6.12, with the patches and files in airtcp's source distribution.

"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", type=Path, default=Path("dist"))
    directory = parser.parse_args().directory
    with reporting("wheel", directory), tempfile.TemporaryDirectory() as scratch:
        build(Path(scratch), directory)
    return 0


@contextmanager
def reporting(what: str, directory: Path) -> Iterator[None]:
    """Report an error in one line and exit. directory: that of the files to build."""
    try:
        yield
    except AirtcpError as error:
        say(f"{what}: {error}")
        sys.exit(error.exit_code)
    except OSError as error:
        say(f"{what}: {of_file(error, f'{directory} or {tempfile.gettempdir()}')}")
        sys.exit(1)


def build(scratch: Path, directory: Path) -> None:
    """Put wheel and sdist into the directory, and print their paths and sizes."""
    kernel = image.build(use_prebuilt=False, say=say)
    tools = guesttools.build_tools(say, use_prebuilt=False).directory
    prebuilt = scratch / "prebuilt"
    parts = {
        "kernel": (image.default_recipe(), kernel.path.parent),
        "tools": (guesttools.recipe(), tools),
    }
    description: dict[str, object] = {"schema": 1, "commit": provenance.commit()}
    for part, (recipe, built) in parts.items():
        shutil.copytree(built, prebuilt / part / built.name)
        description[part] = {"recipe": recipe, "directory": f"{part}/{built.name}"}
    (prebuilt / DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n")
    copied = guestroot.sources(cache_dir() / "tools" / "root.json").files.values()
    add_licences(prebuilt / "licences", copied, kernel.version)
    new = scratch / "dist"
    for kind in ("wheel", "sdist"):
        hatchling(kind, new, prebuilt)
    directory.mkdir(parents=True, exist_ok=True)
    for path in sorted(new.iterdir()):
        shutil.copyfile(path, directory / path.name)
        print(f"{directory / path.name} ({path.stat().st_size / 1e6:.1f} MB)")


def hatchling(kind: str, target: Path, prebuilt: Path) -> None:
    command = [sys.executable, "-P", "-m", "hatchling", "build", "-t", kind, "-d", target]
    environment = {**os.environ, "AIRTCP_PREBUILT": str(prebuilt)}
    programs.run(command, f"cannot build the {kind}", cwd=REPOSITORY, environment=environment)


def add_licences(target: Path, files: Iterable[Path], linux: str) -> None:
    """Copy the licences of the packages that have the files, and list the packages."""
    target.mkdir()
    names = {owner(path) for path in files} | set(_LINKED)
    lines = []
    for name in sorted(names):
        lines.append(facts(name))
        shutil.copyfile(copyright_of(name), target / name)
    shutil.copyfile(copyright_of(f"{DEBIAN_TARBALL.name.partition('.tar')[0]}"), target / "linux")
    (target / "README").write_text(_HEAD.format(version=linux) + "\n".join(lines) + "\n")


def owner(path: Path) -> str:
    """The Debian package of a file. Raises AirtcpError if it has none."""
    resolved = path.resolve()
    environment = {**os.environ, "LC_ALL": "C"}
    # Where /bin is a link to /usr/bin, packages may have the file under either name.
    for name in (path, resolved, Path("/", *resolved.parts[2:])):
        command = ["dpkg-query", "-S", str(name)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        # A file that replaces another package's, as /bin/sh of dash, has lines about that first.
        lines = [line for line in done.stdout.splitlines() if not line.startswith("diversion by ")]
        if done.returncode == 0 and lines:
            return lines[0].partition(":")[0]
    raise AirtcpError(f"{path}: belongs to no Debian package, so its licence is not known")


def facts(package: str) -> str:
    """Name and version of a package and of its source package."""
    layout = " ".join(f"${{{field}}}" for field in _FIELDS) + "\n"
    command = ["dpkg-query", "-W", "-f", layout, package]
    return programs.run(command, f"the package {package} is not known").splitlines()[0]


def copyright_of(package: str) -> Path:
    path = _DOC / package / "copyright"
    if not path.exists():
        raise AirtcpError(f"{path} is missing: the licence of the package {package}")
    return path


if __name__ == "__main__":
    sys.exit(main())
