# SPDX-License-Identifier: GPL-2.0-only
"""lab/setup.sh on machines where something is wrong: one line, or it is put right."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from airtcp import cache
from airtcp.errors import InputError

ROOT = Path(__file__).parents[2]
SETUP = ROOT / "lab" / "setup.sh"
NEEDED = (
    "awk cat cut dirname env flock grep id mkdir pwd readlink rm rmdir sed sha256sum sh sync touch"
)

# Makes environments as quickly as that, with a Python that says which one it is.
PYTHON = """\
#!/bin/sh
case "$*" in
-VV) echo "Python 3.11.0" ;;
"-I -m venv "*) mkdir -p "$4/bin" && cp -p "$0" "$4/bin/python" && echo made >>"$4.made" ;;
esac
"""


def give(directory: Path, name: str, text: str) -> None:
    (directory / name).write_text(text)
    (directory / name).chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A PATH without apt-get."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in (*NEEDED.split(), "cp"):
        (directory / name).symlink_to(str(shutil.which(name)))
    give(directory, "python3", PYTHON)
    return directory


def setup(programs: Path, **variables: object) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": str(programs), **{name: str(value) for name, value in variables.items()}}
    return subprocess.run([SETUP], env=environment, capture_output=True, text=True)


def test_without_a_home_it_says_what_to_set(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = setup(programs)
    expected = "no cache directory: set HOME, or set AIRTCP_CACHE to a directory"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"airtcp: {expected}\n")
    for name in ("HOME", "AIRTCP_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match=f"^{expected}$"):
        cache.cache_dir()


@pytest.mark.parametrize("name", ["a b", "a:b", "a\tb"])
def test_a_cache_where_no_kernel_builds_is_refused(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    directory = tmp_path / name
    done = setup(programs, AIRTCP_CACHE=directory)
    expected = f"{directory}: the kernel cannot be built in a path with spaces or colons; "
    assert done.returncode == 2
    assert done.stderr == f"airtcp: {expected}set AIRTCP_CACHE to another directory\n"
    assert not directory.exists()
    monkeypatch.setenv("AIRTCP_CACHE", str(directory))
    with pytest.raises(InputError) as error:
        cache.cache_dir()
    assert str(error.value).startswith(expected)


def test_a_directory_that_is_gone_is_said(programs: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", f"cd {gone} && rmdir {gone} && exec {SETUP}"],
        env={"PATH": str(programs), "AIRTCP_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    # The shell itself complains before it.
    assert done.stderr.splitlines()[-1] == (
        "airtcp: the current directory has been removed: change to an existing one"
    )


def test_an_environment_is_made_once_and_again_when_its_python_is_gone(
    programs: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        done = setup(programs, HOME=tmp_path)
        assert done.returncode == 0, done.stderr
    python = Path(done.stdout.strip())
    made = python.parents[1].with_suffix(".made")
    assert python.is_relative_to(tmp_path / ".cache" / "airtcp")
    assert made.read_text() == "made\n"
    assert done.stderr == ""
    python.unlink()
    done = setup(programs, HOME=tmp_path)
    assert done.returncode == 0
    assert "is damaged: its Python interpreter is missing" in done.stderr
    assert python.exists()
    assert made.read_text() == "made\nmade\n"


def test_a_python_that_fails_makes_no_environment(programs: Path, tmp_path: Path) -> None:
    give(programs, "python3", "#!/bin/sh\necho cannot fork >&2\nexit 1\n")
    done = setup(programs, HOME=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "airtcp: cannot create the Python environment in "
    )
    assert list(tmp_path.rglob("venv-*")) == []


def test_who_may_not_install_packages_is_told_which(programs: Path, tmp_path: Path) -> None:
    for name in ("apt-get", "apt-cache"):
        give(programs, name, f"#!/bin/sh\ntouch {tmp_path}/called\n")
    give(
        programs,
        "dpkg-query",
        "#!/bin/sh\nshift 3\nprintf ' %s:installed ' \"$@\" | sed s/iw:i/iw:/\n",
    )
    (programs / "id").unlink()
    give(programs, "id", "#!/bin/sh\necho 1001\n")
    done = setup(programs, HOME=tmp_path)
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == (
        "airtcp: missing Debian packages, which must be installed as root: iw"
    )
    assert not (tmp_path / "called").exists()


@pytest.mark.parametrize(
    ("library", "said"),
    [
        ("import yaml.nodes", "No module named 'yaml.nodes'; 'yaml' is not a package"),
        (
            "try:\n raise ImportError('x.so: file too short')\n"
            "except ImportError as error:\n raise ImportError('much\\nadvice') from error",
            "x.so: file too short",
        ),
    ],
    ids=["gone", "short"],
)
def test_a_library_that_is_damaged_is_one_line(tmp_path: Path, library: str, said: str) -> None:
    (tmp_path / "yaml.py").write_text(library)
    done = subprocess.run(
        [sys.executable, "-m", "airtcp", "list"],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'lab'}:{tmp_path}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith(f"airtcp: {said}: the Python environment in {sys.prefix} is damaged; ")
