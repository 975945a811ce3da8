# SPDX-License-Identifier: GPL-2.0-only
"""lab/setup.sh and lab/python.sh, also on machines with problems."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait_until

from airtcp import cache
from airtcp import programs as host
from airtcp.errors import InputError

ROOT = Path(__file__).parents[2]
SETUP, PYTHON_SH = ROOT / "lab" / "setup.sh", ROOT / "lab" / "python.sh"
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
    return called(SETUP, programs, "--yes", *arguments, **variables)


def python(
    programs: Path, *arguments: str, **variables: object
) -> "subprocess.CompletedProcess[str]":
    return called(PYTHON_SH, programs, *arguments, **variables)


def called(
    script: Path, programs: Path, *arguments: str, **variables: object
) -> "subprocess.CompletedProcess[str]":
    """Run one of the scripts, without a terminal."""
    environment = {"PATH": str(programs), **{name: str(value) for name, value in variables.items()}}
    return subprocess.run(
        [script, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def test_error_without_a_home_says_what_to_set(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = "no cache directory: set HOME, or set AIRTCP_CACHE to a directory"
    for done in (setup(programs), python(programs)):
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
        ["sh", "-c", f"cd {removed} && rmdir {removed} && exec {PYTHON_SH}"],
        env={"PATH": str(programs), "AIRTCP_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    # The shell prints its own error before.
    assert done.stderr.splitlines()[-1] == (
        "airtcp: the current directory has been removed: change to an existing one"
    )


@pytest.mark.parametrize(
    ("version", "code"), [("3.9.2", 2), ("3.10.12", 2), ("3.11.2", 0), ("3.14.0", 0)]
)
def test_a_python_that_is_too_old_is_refused(
    programs: Path, tmp_path: Path, version: str, code: int
) -> None:
    text = PYTHON.replace("3.11.0", f"{version} (main, Jan  1 2025) [GCC 12.2.0]")
    write_program(programs, "python3", text)
    done = setup(programs, HOME=tmp_path)
    error = f"airtcp: Python {version} is too old: airtcp needs Python 3.11 or later as python3\n"
    assert (done.returncode, done.stderr == error) == (code, code == 2)
    if code:
        assert python(programs, HOME=tmp_path).stderr == error
        assert list(tmp_path.rglob("venv*")) == []


def record(python_path: str) -> list[str]:
    """What has been installed in an environment."""
    made = Path(python_path.strip()).parents[1].with_suffix(".made")
    return made.read_text().split()


def test_environment_is_created_once_and_repaired(programs: Path, tmp_path: Path) -> None:
    done = python(programs, HOME=tmp_path)
    hint = "'./airtcp setup' lists what is missing and installs it"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"airtcp: not set up: {hint}\n"
    assert setup(programs, HOME=tmp_path).returncode == 0
    assert setup(programs, HOME=tmp_path).stderr == "airtcp: nothing to install for build\n"
    done = python(programs, HOME=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    path = Path(done.stdout.strip())
    assert path.is_relative_to(tmp_path / ".cache" / "airtcp")
    assert record(done.stdout) == ["made", "requirements.txt"]
    path.unlink()
    damaged = python(programs, HOME=tmp_path)
    assert damaged.returncode == 2
    assert damaged.stderr.endswith(f"is damaged: its Python interpreter is missing: {hint}\n")
    repaired = setup(programs, HOME=tmp_path)
    assert repaired.returncode == 0
    assert "is damaged: its Python interpreter is missing" in repaired.stderr
    assert path.exists()
    assert record(done.stdout) == ["made", "requirements.txt"] * 2


def test_waiting_for_another_setup_is_reported(programs: Path, tmp_path: Path) -> None:
    output = tmp_path / "output"
    with (tmp_path / "venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with output.open("w") as stderr:
            variables = {"PATH": str(programs), "AIRTCP_CACHE": str(tmp_path)}
            process = subprocess.Popen([SETUP, "--yes"], env=variables, stderr=stderr)
        waiting = f"airtcp: waiting for another airtcp to finish ({tmp_path}/venv.lock)\n"
        wait_until(lambda: waiting in output.read_text(), "no message", timeout_s=30)
    assert process.wait() == 0
    assert "installing airtcp's Python libraries" in output.read_text()


def test_libraries_of_tests_are_added_once(programs: Path, tmp_path: Path) -> None:
    setup(programs, HOME=tmp_path)
    done = python(programs, "test", HOME=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "airtcp: not set up: './airtcp setup test' lists what is missing and installs it\n"
    )
    for _ in range(2):
        assert setup(programs, "test", HOME=tmp_path).returncode == 0
    path = python(programs, "test", HOME=tmp_path).stdout
    assert path == python(programs, HOME=tmp_path).stdout
    assert record(path) == ["made", "requirements.txt", "requirements-test.txt"]


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
    assert python(programs, HOME=tmp_path).returncode == 0


def test_nothing_is_installed_without_confirmation(programs: Path, tmp_path: Path) -> None:
    apt = machine(programs, tmp_path, "iw", user=0)
    done = called(SETUP, programs, HOME=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    *listed, last = done.stderr.splitlines()
    assert last == "airtcp: not a terminal, so it cannot ask: 'setup --yes' installs this"
    assert listed[0] == "airtcp: missing Debian packages:"
    assert listed[1].split(None, 1) == ["iw", "configures the radios"]
    assert listed[2].startswith("airtcp: missing: Python libraries for runs (pip), in ")
    assert not apt.exists()
    assert not (tmp_path / ".cache").exists()


@pytest.mark.parametrize(
    ("answer", "installs"), [("y", True), ("yes", True), ("n", False), ("", False)]
)
def test_a_terminal_is_asked(
    programs: Path, tmp_path: Path, answer: str, *, installs: bool
) -> None:
    apt = machine(programs, tmp_path, "iw", user=0)
    controller, terminal = os.openpty()
    os.write(controller, f"{answer}\n".encode())
    done = subprocess.run(
        [SETUP],
        env={"PATH": str(programs), "HOME": str(tmp_path)},
        stdin=terminal,
        capture_output=True,
        text=True,
    )
    os.close(controller)
    os.close(terminal)
    assert "airtcp: install this? [y/N] " in done.stderr
    assert done.returncode == (0 if installs else 2)
    assert apt.exists() == installs
    assert (tmp_path / ".cache").exists() == installs


def test_only_packages_are_installed_on_request(programs: Path, tmp_path: Path) -> None:
    apt = machine(programs, tmp_path, "iw", user=0)
    done = setup(programs, "--packages", HOME=tmp_path)
    assert (done.returncode, apt.exists()) == (0, True)
    assert not (tmp_path / ".cache").exists()


@pytest.mark.parametrize(
    ("manager", "command"),
    [("dnf", "dnf install gcc make glibc-static"), ("pacman", "pacman -S --needed gcc make glibc")],
)
def test_other_distributions_get_the_names_of_their_packages(
    programs: Path, tmp_path: Path, manager: str, command: str
) -> None:
    write_program(programs, manager, "#!/bin/sh\nexit 1\n")
    done = setup(programs, HOME=tmp_path)
    assert done.returncode == 0
    first = done.stderr.splitlines()[0]
    assert first.startswith(f"airtcp: setup installs no packages with {manager}; run: {command} ")
    assert " - " not in first and "qemu" not in first


@pytest.mark.parametrize("script", [SETUP, PYTHON_SH])
def test_an_unknown_set_is_refused(programs: Path, tmp_path: Path, script: Path) -> None:
    done = called(script, programs, "tests", HOME=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    expected = "setup tests: allowed are run, build, be, test, verify and bench"
    assert done.stderr == f"airtcp: {expected}\n"


def test_a_second_set_is_refused(programs: Path, tmp_path: Path) -> None:
    done = setup(programs, "test", "bench", HOME=tmp_path)
    assert (done.returncode, done.stderr) == (2, "airtcp: setup test bench: give one set\n")


def test_an_unknown_option_is_refused(programs: Path, tmp_path: Path) -> None:
    done = setup(programs, "--no", HOME=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "airtcp: setup --no: unknown option; allowed are --yes, --packages and --hostap-source\n"
    )


def test_commands_call_no_package_manager(tmp_path: Path) -> None:
    """Also if packages are missing: every program that installs or asks for packages fails."""
    calls = tmp_path / "calls"
    for name in ("apt-get", "apt-cache", "dpkg-query", "dpkg", "sudo", "pip", "pip3", "tee"):
        write_program(tmp_path, name, f'#!/bin/sh\necho "$0 $*" >>{calls}\nexit 1\n')
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    before = {path: path.stat().st_mtime_ns for path in cache.cache_dir().iterdir()}
    for arguments in (["list"], ["doctor"], ["--version"], ["show", "thesis-lan"], ["--help"]):
        done = subprocess.run(
            [ROOT / "airtcp", *arguments], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout
    assert not calls.exists(), calls.read_text()
    after = {path: path.stat().st_mtime_ns for path in cache.cache_dir().iterdir()}
    assert {path for path in after if path.name.startswith("venv")} == {
        path for path in before if path.name.startswith("venv")
    }


def test_a_failing_python_leaves_no_environment(programs: Path, tmp_path: Path) -> None:
    write_program(programs, "python3", "#!/bin/sh\necho cannot fork >&2\nexit 1\n")
    done = setup(programs, HOME=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "airtcp: cannot create the Python environment in "
    )
    assert list(tmp_path.rglob("venv-*")) == []


def test_a_cache_that_cannot_be_written_is_reported(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "venv.lock").symlink_to("/nonexistent/lock")
    done = setup(programs, AIRTCP_CACHE=tmp_path)
    assert done.returncode == 1
    last = f"airtcp: cannot create the Python environment in {tmp_path} (see above)"
    assert done.stderr.splitlines()[-1] == last


def machine(programs: Path, tmp_path: Path, *missing: str, user: int) -> Path:
    """Fake Debian without some packages; returns the file with the arguments of apt-get."""
    apt = tmp_path / "apt"
    write_program(programs, "apt-get", f'#!/bin/sh\necho "$@" >>{apt}\n')
    translated = '[ "$LC_ALL" = C ] || exec echo "  Installationskandidat: 1.0"'
    write_program(programs, "apt-cache", f"#!/bin/sh\n{translated}\necho '  Candidate: 1.0'\n")
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
    assert "airtcp: only root can install packages: apt-get install iw" in done.stderr.splitlines()
    assert not apt.exists()
    assert python(programs, HOME=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("run",), ["iw"]),
        ((), ["bc", "iw"]),
        (("build",), ["bc", "iw"]),
        (("test",), ["bc", "iw", "chromium"]),
        (("verify",), ["bc", "iw", "chromium", "rsync"]),
        (("bench",), ["bc", "iw", "chromium", "g++"]),
    ],
)
def test_only_the_packages_of_the_set_are_installed(
    programs: Path, tmp_path: Path, arguments: tuple[str, ...], expected: list[str]
) -> None:
    apt = machine(programs, tmp_path, "iw", "bc", "chromium", "rsync", "g++", user=0)
    done = setup(programs, *arguments, HOME=tmp_path)
    assert done.returncode == 0
    first, *packages = done.stderr.splitlines()[: len(expected) + 1]
    assert first == "airtcp: missing Debian packages:"
    assert [line.split()[0] for line in packages] == expected
    assert apt.read_text() == (f"-q -y --no-install-recommends install {' '.join(expected)}\n")


def test_apt_can_read_the_suite_of_the_kernel_source_with_any_umask(
    programs: Path, tmp_path: Path
) -> None:
    machine(programs, tmp_path, "linux-source-6.12", user=0)
    seen = tmp_path / "seen"
    write_program(programs, "tee", f"#!/bin/sh\numask >{seen}\ncat >/dev/null\n")
    absent = f'[ -e {seen} ] || case "$*" in *6.12*) exit ;; esac'
    write_program(programs, "apt-cache", f"#!/bin/sh\n{absent}\necho '  Candidate: 1.0'\n")
    suite = '. /etc/os-release\necho "http://mirror $VERSION_CODENAME"'
    write_program(programs, "apt-get", f"#!/bin/sh\n{suite}\n")
    before = os.umask(0o077)
    try:
        assert setup(programs, HOME=tmp_path).returncode == 0
    finally:
        os.umask(before)
    assert seen.read_text() == "0022\n"


@pytest.mark.parametrize("is_new", [True, False])
def test_a_new_ssh_server_is_turned_off(programs: Path, tmp_path: Path, is_new: bool) -> None:
    machine(programs, tmp_path, "openssh-server" if is_new else "chromium", user=0)
    calls = tmp_path / "calls"
    write_program(programs, "systemctl", f'#!/bin/sh\necho "$*" >>{calls}\n')
    assert setup(programs, "test", HOME=tmp_path).returncode == 0
    assert calls.exists() == is_new
    assert not is_new or calls.read_text() == "disable --now ssh\n"


def test_missing_packages_of_tests_are_named(programs: Path, tmp_path: Path) -> None:
    setup(programs, "test", HOME=tmp_path)
    machine(programs, tmp_path, "chromium", "rsync", user=0)
    done = python(programs, "test", HOME=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    hint = "'./airtcp setup test' lists what is missing and installs it"
    assert done.stderr == f"airtcp: missing Debian packages: chromium; {hint}\n"


def test_every_package_has_a_set_and_a_purpose() -> None:
    lines = (ROOT / "lab" / "packages.txt").read_text().splitlines()
    packages = [line.split(None, 4) for line in lines if not line.startswith("#")]
    known = ["run", "build", "test", "be", "verify", "bench"]
    assert all(len(fields) == 5 and fields[1] in known for fields in packages)
    sets = {fields[0]: fields[1] for fields in packages}
    assert len(sets) == len(packages)
    for needed, group in (
        (host.BUILD, "build"),
        (host.RUN, "run"),
        (host.TEST, "test"),
        (host.DEB, "verify"),
    ):
        for package in set(needed.values()):
            assert known.index(sets[package]) <= known.index(group), package


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
        f"airtcp: {message}: the Python environment in {sys.prefix} is damaged: "
    )
