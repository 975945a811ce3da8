# SPDX-License-Identifier: GPL-2.0-only
"""lab/setup.sh on machines with problems: it repairs them or reports them in one line."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from airtcp import cache
from airtcp import programs as host
from airtcp.errors import InputError

ROOT = Path(__file__).parents[2]
SETUP = ROOT / "lab" / "setup.sh"
NEEDED = (
    "awk basename cat cut dirname env flock grep id mkdir pwd readlink rm rmdir sed sha256sum sh "
    "sync touch"
)

# In place of Python: creates environments at once, and records what is installed in them.
PYTHON = """\
#!/bin/sh
case "$*" in
-VV) echo "Python 3.11.0" ;;
*" -m pip "*) for file; do :; done; basename "$file" >>"${0%/bin/python}.made" ;;
"-I -m venv "*) mkdir -p "$4/bin" && cp -p "$0" "$4/bin/python" && echo made >>"$4.made" ;;
esac
"""


def write_program(directory: Path, name: str, text: str) -> None:
    (directory / name).write_text(text)
    (directory / name).chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A PATH without apt-get."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in (*NEEDED.split(), "cp"):
        (directory / name).symlink_to(str(shutil.which(name)))
    write_program(directory, "python3", PYTHON)
    return directory


def setup(
    programs: Path, *arguments: str, **variables: object
) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": str(programs), **{name: str(value) for name, value in variables.items()}}
    return subprocess.run([SETUP, *arguments], env=environment, capture_output=True, text=True)


def test_error_without_a_home_says_what_to_set(
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
def test_a_cache_directory_with_spaces_or_colons_is_refused(
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


def test_a_removed_current_directory_is_an_error(programs: Path, tmp_path: Path) -> None:
    removed = tmp_path / "gone"
    removed.mkdir()
    done = subprocess.run(
        ["sh", "-c", f"cd {removed} && rmdir {removed} && exec {SETUP}"],
        env={"PATH": str(programs), "AIRTCP_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    # The shell prints its own error before.
    assert done.stderr.splitlines()[-1] == (
        "airtcp: the current directory has been removed: change to an existing one"
    )


def test_environment_is_created_once_and_repaired(programs: Path, tmp_path: Path) -> None:
    for _ in range(2):
        done = setup(programs, HOME=tmp_path)
        assert done.returncode == 0, done.stderr
    python = Path(done.stdout.strip())
    record = python.parents[1].with_suffix(".made")
    assert python.is_relative_to(tmp_path / ".cache" / "airtcp")
    assert record.read_text() == "made\nrequirements.txt\n"
    assert done.stderr == ""
    python.unlink()
    done = setup(programs, HOME=tmp_path)
    assert done.returncode == 0
    assert "is damaged: its Python interpreter is missing" in done.stderr
    assert python.exists()
    assert record.read_text() == "made\nrequirements.txt\n" * 2


def test_libraries_of_tests_are_added_once(programs: Path, tmp_path: Path) -> None:
    python = setup(programs, HOME=tmp_path).stdout
    for _ in range(2):
        done = setup(programs, "test", HOME=tmp_path)
        assert (done.returncode, done.stdout) == (0, python), done.stderr
    assert done.stderr == ""
    record = Path(python.strip()).parents[1].with_suffix(".made")
    assert record.read_text().split() == ["made", "requirements.txt", "requirements-test.txt"]


def test_test_libraries_that_cannot_be_installed_are_reported(
    programs: Path, tmp_path: Path
) -> None:
    failing = PYTHON.replace('*" -m pip "*)', '*/requirements-test.txt) exit 1 ;;\n*" -m pip "*)')
    write_program(programs, "python3", failing)
    done = setup(programs, "test", HOME=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last.startswith("airtcp: cannot create the Python environment in ")
    assert setup(programs, HOME=tmp_path).returncode == 0


def test_an_unknown_set_is_refused(programs: Path, tmp_path: Path) -> None:
    done = setup(programs, "tests", HOME=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "airtcp: lab/setup.sh tests: allowed are run, test and verify\n"


def test_a_failing_python_leaves_no_environment(programs: Path, tmp_path: Path) -> None:
    write_program(programs, "python3", "#!/bin/sh\necho cannot fork >&2\nexit 1\n")
    done = setup(programs, HOME=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "airtcp: cannot create the Python environment in "
    )
    assert list(tmp_path.rglob("venv-*")) == []


def machine(programs: Path, tmp_path: Path, *missing: str, user: int) -> Path:
    """Fake Debian without some packages; returns the file with the arguments of apt-get."""
    apt = tmp_path / "apt"
    write_program(programs, "apt-get", f'#!/bin/sh\necho "$@" >>{apt}\n')
    write_program(programs, "apt-cache", "#!/bin/sh\necho '  Candidate: 1.0'\n")
    edits = "; ".join(f"s/ {name}:installed / {name}: /" for name in missing)
    reply = f"#!/bin/sh\nshift 3\nprintf ' %s:installed ' \"$@\" | sed '{edits}'\n"
    write_program(programs, "dpkg-query", reply)
    (programs / "id").unlink()
    write_program(programs, "id", f"#!/bin/sh\necho {user}\n")
    return apt


def test_packages_that_a_user_cannot_install_are_listed(programs: Path, tmp_path: Path) -> None:
    apt = machine(programs, tmp_path, "iw", user=1001)
    done = setup(programs, HOME=tmp_path)
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == (
        "airtcp: missing Debian packages, which must be installed as root: iw"
    )
    assert not apt.exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), ["iw"]),
        (("test",), ["iw", "chromium"]),
        (("verify",), ["iw", "chromium", "rsync"]),
    ],
    ids=["run", "test", "verify"],
)
def test_only_the_packages_of_the_set_are_installed(
    programs: Path, tmp_path: Path, arguments: tuple[str, ...], expected: list[str]
) -> None:
    apt = machine(programs, tmp_path, "iw", "chromium", "rsync", user=0)
    done = setup(programs, *arguments, HOME=tmp_path)
    assert done.returncode == 0
    first, *packages = done.stderr.splitlines()[: len(expected) + 1]
    assert first == "airtcp: installing required Debian packages:"
    assert [line.split()[0] for line in packages] == expected
    assert apt.read_text() == (f"-q -y --no-install-recommends install {' '.join(expected)}\n")


def test_every_package_has_a_set_and_a_purpose() -> None:
    lines = (ROOT / "lab" / "packages.txt").read_text().splitlines()
    packages = [line.split(None, 2) for line in lines if not line.startswith("#")]
    assert all(len(fields) == 3 and fields[1] in ("run", "test", "verify") for fields in packages)
    sets = {name: group for name, group, _ in packages}
    assert len(sets) == len(packages)
    for needed, group in (
        (host.BUILD, "run"),
        (host.RUN, "run"),
        (host.TEST, "test"),
        (host.DEB, "verify"),
    ):
        # util-linux is on every Debian.
        for package in set(needed.values()) - {"util-linux"}:
            assert ["run", "test", "verify"].index(sets[package]) <= (
                ["run", "test", "verify"].index(group)
            ), package


@pytest.mark.parametrize(
    ("library", "message"),
    [
        ("import yaml.nodes", "No module named 'yaml.nodes'; 'yaml' is not a package"),
        (
            "try:\n raise ImportError('x.so: file too short')\n"
            "except ImportError as error:\n raise ImportError('much\\nadvice') from error",
            "x.so: file too short",
        ),
    ],
    ids=["missing", "truncated"],
)
def test_error_of_a_damaged_library_is_one_line(tmp_path: Path, library: str, message: str) -> None:
    (tmp_path / "yaml.py").write_text(library)
    done = subprocess.run(
        [sys.executable, "-m", "airtcp", "list"],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'lab'}:{tmp_path}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith(
        f"airtcp: {message}: the Python environment in {sys.prefix} is damaged; "
    )
