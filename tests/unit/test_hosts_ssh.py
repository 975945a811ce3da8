# SPDX-License-Identifier: GPL-2.0-only
"""Hosts whose ssh is a program that runs the commands on this machine."""

import io
import os
import shutil
import signal
import tarfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from waiting import wait_until

from airtcp import interrupts
from airtcp.errors import AirtcpError, StopError
from airtcp.files import ss
from airtcp.hosts import lab, preflight, settings, ssh
from airtcp.hosts.inventory import HostEntry, Inventory
from airtcp.hosts.ssh import LostError, Remote
from airtcp.parameters import Parameters
from airtcp.sweep.hostsweep import on_hosts
from airtcp.testbed import default

NEEDED = "cat date env head id ls mkdir mv rm sed sh sleep tail tar uname wc"
SSH = """\
#!/bin/sh
while [ "$1" != -- ]; do shift; done
PATH={there} exec sh -c "$3"
"""
# A cat that writes agent.sh slowly.
CAT = '#!/bin/sh\n[ "$1" ] || sleep 0.5\nexec {cat} "$@"\n'
# An rm whose first two calls fail, as if a file had been created in the directory meanwhile.
RM = """\
#!/bin/sh
for flag in {flags}; do
	[ "$1" != -rf ] || [ -e $flag ] || exec mkdir $flag /
done
exec {rm} "$@"
"""
# An rm whose first call removes one file of the directory, and the others after a pause.
SLOW_RM = """\
#!/bin/sh
if [ "$1" = -rf ] && [ ! -e {flag} ]; then
	{rm} -rf "$2"/{first}
	: >{flag}
	sleep 0.5
fi
exec {rm} "$@"
"""
# A mkdir whose first call finds a directory that another client then removes.
MKDIR = """\
#!/bin/sh
exec 2>&1
[ -e {flag} ] || {{ : >{flag}; exec {mkdir} /; }}
exec {mkdir} "$@"
"""
# A date and a sleep without fractions of seconds, as in OpenWrt's BusyBox.
DATE = '#!/bin/sh\ncase $1 in\n*%N) echo "$({date} +%s)%N" ;;\n*) exec {date} "$@" ;;\nesac\n'
SLEEP = '#!/bin/sh\ncase $1 in\n*.*) exit 1 ;;\nesac\nexec {sleep} "$@"\n'


def write_program(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs of the host."""
    here, there = tmp_path / "here", tmp_path / "there"
    for directory in (here, there):
        directory.mkdir()
    for name in NEEDED.split():
        (there / name).symlink_to(str(shutil.which(name)))
    write_program(here / "ssh", SSH.format(there=there))
    monkeypatch.setenv("PATH", f"{here}:{os.environ['PATH']}")
    return there


def inventory_of(tmp_path: Path) -> Inventory:
    end = {"ssh": "host", "interface": "eth0"}
    return Inventory.model_validate(
        {
            "server": {**end, "address": "192.0.2.1"},
            "station": {**end, "address": "192.0.2.2"},
            "directory": str(tmp_path / "host"),
            "dead_man": "4s",
        }
    )


def remote_of(tmp_path: Path) -> Remote:
    (tmp_path / "host").mkdir(exist_ok=True)
    return Remote("ap", HostEntry(ssh="host"), inventory_of(tmp_path))


@pytest.fixture
def remote(there: Path, tmp_path: Path) -> Iterator[Remote]:
    made = remote_of(tmp_path)
    yield made
    made.uninstall()
    assert list((tmp_path / "host").iterdir()) == []


def test_busybox_suffices_on_the_access_point(there: Path, tmp_path: Path, remote: Remote) -> None:
    date, sleep = shutil.which("date"), shutil.which("sleep")
    write_program(there / "date", DATE.format(date=date))
    write_program(there / "sleep", SLEEP.format(sleep=sleep))
    remote.install(pytest.fail)
    ahead_s, error_s = remote.clock()
    assert 0.5 <= error_s < 0.75
    assert abs(ahead_s) <= error_s
    [directory] = (tmp_path / "host").iterdir()
    beat = directory / "beat"
    for _ in range(2):  # heartbeats continue
        beat.unlink(missing_ok=True)
        wait_until(beat.exists, timeout_s=10)


def test_a_clock_with_nanoseconds_is_measured_accurately(remote: Remote) -> None:
    remote.install(pytest.fail)
    ahead_s, error_s = remote.clock()
    assert abs(ahead_s) <= error_s + 0.001 < 0.4


def test_a_changed_clock_is_measured_again(there: Path, remote: Remote) -> None:
    remote.install(pytest.fail)
    assert abs(remote.clock()[0]) < 1
    date = shutil.which("date")
    write_program(there / "date", f"#!/bin/sh\nexec {date} -d '+7 seconds' \"$@\"\n")
    ahead_s, _ = remote.clock()
    assert 6 < ahead_s < 8


def test_a_clock_that_does_not_answer_is_an_error(remote: Remote) -> None:
    """It is not one that agrees exactly with that of this machine."""
    remote.install(pytest.fail)
    assert remote._heartbeat
    os.killpg(remote._heartbeat._process.pid, signal.SIGKILL)
    remote._heartbeat._process.wait()
    with pytest.raises(LostError, match=r"^ap \(host\): the connection was lost$"):
        remote.clock()


def test_a_killed_ssh_is_a_lost_host(tmp_path: Path, remote: Remote) -> None:
    """So that the sweep ends, and the same command resumes."""
    remote.install(pytest.fail)
    ssh = tmp_path / "here" / "ssh"
    working = ssh.read_text()
    write_program(ssh, "#!/bin/sh\nkill -KILL $$\n")
    with pytest.raises(LostError, match=r"^ap \(host\): ssh was killed by SIGKILL$"):
        remote.fetch()
    write_program(ssh, working)


def test_files_that_are_being_written_are_fetched(remote: Remote) -> None:
    """After a run has failed, so that its error is reported, and not that of tar."""
    remote.install(pytest.fail)
    remote.call(("start", "noise", "server.pcap", "sh", "-c", "while :; do echo; done"))
    packed = [remote.fetch() for _ in range(5)]
    assert remote.call(("end_jobs",)) == ""
    for each in packed:
        with tarfile.open(fileobj=io.BytesIO(each)) as archive:
            assert "./server.pcap" in archive.getnames()


def test_the_login_shell_may_be_any(tmp_path: Path, remote: Remote) -> None:
    """As fish, which does not know $?: its commands are only programs and their arguments."""
    ssh = tmp_path / "here" / "ssh"
    write_program(ssh, ssh.read_text().replace('sh -c "$3"', "env $3"))
    remote.install(pytest.fail)
    assert remote.current_boot_id() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    with tarfile.open(fileobj=io.BytesIO(remote.fetch())) as archive:
        assert archive.getnames() == ["."]


def test_each_run_reads_the_clocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty, seen = io.BytesIO(), []
    tarfile.open(fileobj=empty, mode="w").close()
    for name, answer in (("call", ""), ("clock", (7.0, 0.001)), ("fetch", empty.getvalue())):
        monkeypatch.setattr(Remote, name, lambda *_, answer=answer, **__: answer)
    monkeypatch.setattr(ss, "convert", lambda *_, ahead_ns, **__: seen.append(ahead_ns))
    monkeypatch.setattr(lab, "nstat", lambda *_: None)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    hosts = lab.HostsLab(inventory_of(tmp_path), False, {}, pytest.fail)
    facts = preflight.Facts("", "6.12", "", (), (), 0.0, 0.001, None)
    hosts.facts = {"server": facts, "station": facts}
    hosts.run(on_hosts(default.testbed(Parameters())), tmp_path / "run")
    assert seen == [7 * 10**9] * 2
    assert [each.clock_ahead_s for each in hosts.facts.values()] == [7, 7]


@pytest.mark.parametrize(
    ("absent", "radio", "missing"),
    [("nstat iw", True, "nstat iw"), ("iw", True, "iw"), ("iw", False, "")],
)
def test_programs_of_an_access_point_are_checked(
    remote: Remote, monkeypatch: pytest.MonkeyPatch, absent: str, radio: bool, missing: str
) -> None:
    def do(*calls: Sequence[object]) -> str:
        assert not calls or {"nstat", "iw"} < set(calls[0])
        facts = {"missing": absent, "kernel": "", "boot": "", "policies": "", "congestion": ""}
        names = [*facts, *(["radio"] if radio else [])]
        return "".join(f"== {name}\n{facts.get(name, '')}\n" for name in names)

    remote.install(pytest.fail)
    with monkeypatch.context() as patched:
        patched.setattr(remote, "call", do)
        if not missing:
            assert preflight.check(remote, captures=False, needs=preflight.Needs()).radio is None
            return
        message = rf"^ap \(host\): missing: {missing}; install them there$"
        with pytest.raises(AirtcpError, match=message):
            preflight.check(remote, captures=False, needs=preflight.Needs())


@pytest.mark.parametrize("policies", ["default aad", ""])
def test_modules_that_are_needed_are_loaded(
    remote: Remote, monkeypatch: pytest.MonkeyPatch, policies: str
) -> None:
    """Plain Linux, where `policies` is empty, has none to load."""
    loaded: list[object] = []

    def do(*calls: Sequence[object]) -> str:
        facts = {"missing": "", "kernel": "", "boot": ""}
        if calls and calls[0][0] == "load":
            loaded.extend(calls[0][1:])
            facts = {"policies": policies and f"{policies} tack", "congestion": "reno cubic bbr"}
        else:
            facts |= {"policies": policies, "congestion": "reno cubic"}
        return "".join(f"== {name}\n{text}\n" for name, text in facts.items())

    remote.install(pytest.fail)
    needs = preflight.Needs(frozenset({"aad", "tack"}), frozenset({"bbr", "cubic"}))
    with monkeypatch.context() as patched:
        patched.setattr(remote, "call", do)
        facts = preflight.check(remote, captures=False, needs=needs)
    assert loaded == (["tcp-ackpol-tack"] if policies else []) + ["tcp_bbr"]
    assert facts.policies == (("default", "aad", "tack") if policies else ())
    assert facts.congestion_controls == ("reno", "cubic", "bbr")


def test_congestion_controls_that_are_not_allowed_cannot_be_used(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And their modules, which are loaded, are not asked for."""
    facts = {"missing": "", "kernel": "", "boot": "", "policies": "", "congestion": "bbr cubic"}

    def do(*calls: Sequence[object]) -> str:
        return "".join(f"== {name}\n{text}\n" for name, text in facts.items()) if calls else ""

    remote.install(pytest.fail)
    needs = preflight.Needs(frozenset(), frozenset({"cubic"}))
    with monkeypatch.context() as patched:
        patched.setattr(remote, "call", do)
        found = preflight.check(remote, captures=False, needs=needs)
        assert found.congestion_controls == ("bbr", "cubic")
        facts["allowed"] = "bbr"
        found = preflight.check(remote, captures=False, needs=needs)
    message = r"^congestion_control cubic: ap \(host\) does not have it.*only to root.*: bbr$"
    with pytest.raises(AirtcpError, match=message):
        settings.check_case(Parameters(), {"server": found, "station": found})


def test_a_shell_that_prints_is_an_error(tmp_path: Path, remote: Remote) -> None:
    ssh = tmp_path / "here" / "ssh"
    write_program(ssh, ssh.read_text().replace("\nPATH", "\necho Welcome!\nPATH"))
    with pytest.raises(StopError, match=r"^ap \(host\): its shell prints 'Welcome!', which would"):
        remote.install(pytest.fail)


def test_a_dead_man_timer_that_does_not_start_is_an_error(there: Path, remote: Remote) -> None:
    write_program(there / "setsid", "#!/bin/sh\n")
    message = r"^ap \(host\): the dead-man timer has not started within 5 s: the host is too busy$"
    with pytest.raises(StopError, match=message):
        remote.install(pytest.fail)
    assert not list(Path(remote._inventory.directory).iterdir())


def test_removal_is_retried_if_files_appear_meanwhile(
    there: Path, tmp_path: Path, remote: Remote
) -> None:
    remote.install(pytest.fail)
    flags = [tmp_path / "first", tmp_path / "second"]
    fails = RM.format(flags=" ".join(map(str, flags)), rm=shutil.which("rm"))
    write_program(there / "rm", fails)
    remote.uninstall()
    assert all(flag.exists() for flag in flags)


def abandon(remote: Remote, undo: str) -> Path:
    """Leave the host with the directory of an airtcp that was killed, as its timer was."""
    remote.install(pytest.fail)
    [directory] = Path(remote._inventory.directory).iterdir()
    copied = shutil.copytree(directory, directory.parent.parent / "copied")
    remote.uninstall()
    shutil.copytree(copied, directory)
    (directory / "undo").write_text(undo)
    (directory / "guard").write_text("99999999\n")  # no process has this number
    return directory


def test_a_dead_man_timer_ends_although_another_airtcp_has_replaced_its_directory(
    tmp_path: Path, remote: Remote
) -> None:
    remote.install(pytest.fail)
    [directory] = (tmp_path / "host").iterdir()
    timer = Path("/proc", (directory / "guard").read_text().strip())
    assert timer.exists()
    of_next = shutil.copytree(directory, tmp_path / "next")
    directory.rename(tmp_path / "removed")
    of_next.rename(directory)
    (tmp_path / "removed" / "guard").unlink()
    wait_until(lambda: not timer.exists(), timeout_s=10)


def test_setting_of_an_earlier_run_that_cannot_be_restored(remote: Remote) -> None:
    directory = abandon(remote, "root ip link set dev gone gso_max_segs 1\n")
    message = rf"not restored: root ip link .*; restore that by hand, and remove {directory}$"
    with pytest.raises(StopError, match=message):
        remote.install(pytest.fail)
    shutil.rmtree(directory)


def test_only_one_of_two_takes_over_what_a_killed_airtcp_left(
    there: Path, tmp_path: Path, remote: Remote
) -> None:
    (there / "flock").symlink_to(str(shutil.which("flock")))
    restored = tmp_path / "restored"
    abandon(remote, f"sleep 1; echo restored >>{restored}\n")
    others, said = [remote, remote_of(tmp_path)], list[str]()

    def use(other: Remote) -> None:
        other.install(said.append)
        time.sleep(1)
        other.uninstall()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(use, others))
    assert said == ["ap (host): waiting for another airtcp, or for its dead-man timer"]
    assert restored.read_text() == "restored\n"


def test_a_second_airtcp_waits_even_while_the_first_one_prepares_the_host(
    there: Path, tmp_path: Path, remote: Remote
) -> None:
    write_program(there / "cat", CAT.format(cat=shutil.which("cat")))
    second, said = remote_of(tmp_path), list[str]()
    with ThreadPoolExecutor(2) as threads:
        installed = threads.submit(remote.install, pytest.fail)
        wait_until(lambda: list((tmp_path / "host").iterdir()))
        waiting = threads.submit(second.install, said.append)
        installed.result()
        while not said:
            assert not waiting.done(), waiting.result()
            time.sleep(0.01)
        remote.uninstall()
        waiting.result()
    second.uninstall()
    assert said == ["ap (host): waiting for another airtcp, or for its dead-man timer"]


@pytest.mark.parametrize("flock", [False, True])
@pytest.mark.parametrize("first", ["guard", "boot", "*"])
def test_a_second_airtcp_waits_while_the_first_one_removes_its_files(
    there: Path, tmp_path: Path, remote: Remote, first: str, flock: bool
) -> None:
    if flock:
        (there / "flock").symlink_to(str(shutil.which("flock")))
    remote.install(pytest.fail)
    removes = SLOW_RM.format(first=first, flag=tmp_path / "slow", rm=shutil.which("rm"))
    write_program(there / "rm", removes)
    second, said = remote_of(tmp_path), list[str]()
    with ThreadPoolExecutor(1) as threads:
        left = threads.submit(remote.uninstall)
        wait_until((tmp_path / "slow").exists)
        second.install(said.append)
        left.result()
    assert second.call(("echo", "here")) == "here\n"
    second.uninstall()
    assert said == ["ap (host): waiting for another airtcp, or for its dead-man timer"]


def test_a_directory_that_is_removed_at_once_is_created_again(
    there: Path, tmp_path: Path, remote: Remote
) -> None:
    """It exists when this client creates it, and no longer when this client looks at it."""
    write_program(
        there / "mkdir", MKDIR.format(flag=tmp_path / "gone", mkdir=shutil.which("mkdir"))
    )
    said: list[str] = []
    remote.install(said.append)
    assert said == ["ap (host): waiting for another airtcp, or for its dead-man timer"]


def test_waiting_for_another_airtcp_ends_ten_seconds_after_its_dead_man_timer(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.install(pytest.fail)
    second, waited = remote_of(tmp_path), list[float]()
    clock = SimpleNamespace(
        monotonic=lambda: sum(waited),
        sleep=waited.append,
        time=time.time,  # for the connection that holds the host
    )
    message = r"^ap \(host\): another airtcp is using this host; wait until it ends$"
    with monkeypatch.context() as patched, pytest.raises(StopError, match=message):
        patched.setattr(ssh, "time", clock)
        second.install(lambda _said: None)
    assert waited == [1] * 15


def test_ctrl_c_ends_waiting_for_another_airtcp(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.install(pytest.fail)
    second = remote_of(tmp_path)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        second.install(lambda _said: patched.setattr(interrupts, "_wanted", True))
