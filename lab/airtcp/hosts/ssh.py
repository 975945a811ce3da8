# SPDX-License-Identifier: GPL-2.0-only
"""A host over OpenSSH: commands of agent.sh, its dead-man timer, its clock.

Everything goes over one connection (ControlMaster), which ends soon after its last command.
"""

import os
import shlex
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from airtcp import interrupts
from airtcp.errors import AirtcpError, StopError
from airtcp.hosts.inventory import HostEntry, Inventory, Role

Say = Callable[[str], None]

AGENT = Path(__file__).with_name("agent.sh")

_LOST = 255
_NO_OTHER_RUN = 3
_BUSY = 75
# Number of answers used to measure the offset of a clock.
_ANSWERS = 5
# Exit codes of sh when the dead-man timer has removed the script.
_NO_SCRIPT = (2, 127)

# Prepares the directory. One that remains was left by a killed client, whose timer still runs, or
# by a host that was switched off: a reboot has restored its settings. It is a function, so that
# nothing is executed if the client is killed while it sends this.
_INSTALL = """\
# A twentieth of a second for each try. The sleep of BusyBox may have no fractions.
nap() {{
	tries=$((tries - 1))
	sleep 0.05 2>/dev/null || {{ sleep 1; tries=$((tries - 19)); }}
}}
install_agent() {{
umask 077
d={directory}/airtcp-$(id -u)
if ! why=$(LC_ALL=C mkdir "$d" 2>&1); then
	# Another airtcp has just removed it.
	case $why in *exists*) [ -e "$d" ] || [ -L "$d" ] || exit 75 ;; esac
	if [ -L "$d" ] || [ ! -O "$d" ]; then echo "$why" >&2; exit 3; fi
	# Only one of several may restore and empty it; the lock ends with this shell.
	if command -v flock >/dev/null; then
		command exec 9<"$d" && flock -n 9 && [ "$d" -ef /proc/self/fd/9 ] || exit 75
	fi
	# Another airtcp may be creating it, or have left it and be removing it: files may be missing.
	tries=120
	until boot=$(cat "$d/boot" 2>/dev/null) guard=$(cat "$d/guard" 2>/dev/null)
		[ "$boot" ] && [ "$guard" ] || [ $tries -le 0 ]
	do
		[ -e "$d" ] || exit 75
		nap
	done
	if [ "$boot" = "$(cat /proc/sys/kernel/random/boot_id)" ]; then
		kill -0 "$guard" 2>/dev/null && exit 75
		if [ -s "$d/undo" ] && ! why=$(sh "$d/agent.sh" restore 2>&1); then
			echo "$(echo "$why" | tail -n 1); restore that by hand, and remove $d" >&2
			exit 3
		fi
	fi
	rm -rf "$d"/* || exit 3
fi
cat >"$d/agent.sh" <<'END_OF_AGENT' || {{ echo "no space left in $d" >&2; rm -rf "$d"; exit 3; }}
{agent}END_OF_AGENT
cat /proc/sys/kernel/random/boot_id >"$d/boot"
: >"$d/undo"
mkdir "$d/run" "$d/jobs"
detached=$(command -v setsid)
# As nohup does, which BusyBox may not have.
(trap '' HUP; exec $detached sh "$d/agent.sh" guard {limit_s}) >/dev/null 2>&1 </dev/null 9<&- &
tries=100
until [ -s "$d/guard" ]; do
	nap
	[ $tries -gt 0 ] && continue
	why="the dead-man timer has not started within 5 s: the host is too busy"
	(echo >"$d/room") 2>/dev/null || why="no space left in $d"
	echo "$why" >&2
	rm -rf "$d"
	exit 3
done
echo "$d"
}}
install_agent
"""


class LostError(StopError):
    """A host cannot be reached, or refuses the login."""


class Remote:
    """A host while a sweep runs."""

    def __init__(self, role: Role, entry: HostEntry, inventory: Inventory) -> None:
        self.role = role
        self.entry = entry
        self._inventory = inventory
        self._directory = ""
        self._heartbeat: _Heartbeat | None = None
        self.boot = ""

    def __str__(self) -> str:
        return f"{self.role} ({self.entry.ssh})"

    def install(self, say: Say) -> None:
        """Put the agent on the host and start its dead-man timer. Raises StopError."""
        limit_s = round(self._inventory.dead_man_s)
        script = _INSTALL.format(
            directory=shlex.quote(self._inventory.directory),
            agent=AGENT.read_text(),
            limit_s=limit_s,
        )
        deadline = time.monotonic() + limit_s + 10
        waiting = False
        while (ended := self._ssh("sh", script)).returncode == _BUSY:
            interrupts.check()
            if time.monotonic() > deadline:
                raise StopError(f"{self}: another airtcp is using this host; wait until it ends")
            if not waiting:
                say(f"{self}: waiting for another airtcp, or for its dead-man timer")
                waiting = True
            time.sleep(1)
        *said, self._directory = self._checked(ended).decode(errors="replace").splitlines() or [""]
        self._heartbeat = _Heartbeat(self._command(f"{self._agent} pulse"), limit_s / 5)
        if said:
            raise StopError(
                f"{self}: its shell prints {said[0]!r}, which would damage the files of runs: let "
                "it print only on terminals"
            )

    @property
    def _agent(self) -> str:
        return f"sh {self._directory}/agent.sh"

    @property
    def installed(self) -> bool:
        return bool(self._directory)

    def call(self, *commands: Sequence[object], timeout_s: float = 60) -> str:
        """Call functions of agent.sh; returns their output.

        Raises LostError without a connection, StopError if no other run would work, and otherwise
        AirtcpError, with what the host says.
        """
        if not commands:
            return ""
        script = "".join(f"{shlex.join(map(str, command))}\n" for command in commands)
        ended = self._ssh(f"{self._agent} lines", script, timeout_s)
        return self._checked(ended).decode(errors="replace")

    def fetch(self) -> bytes:
        """The files of the run, as a tar archive."""
        return self._checked(self._ssh(f"{self._agent} pack", "", 600))

    def clock(self) -> tuple[float, float]:
        """How far its clock is ahead of ours now, and the uncertainty, in seconds.

        Raises LostError without a connection.
        """
        assert self._heartbeat
        if answers := self._heartbeat.answers():
            error_s, offset_s = min(answers)  # the quickest
            return offset_s, error_s
        raise LostError(f"{self}: the connection was lost")

    def current_boot_id(self) -> str:
        """The boot_id, over a new connection."""
        return (
            self._checked(self._ssh("cat /proc/sys/kernel/random/boot_id", "", 15)).decode().strip()
        )

    def uninstall(self) -> None:
        """Restore its settings, and remove everything from the host. Raises AirtcpError."""
        if not self._directory:
            return
        try:
            self._checked(self._ssh(f"{self._agent} leave", "", 60))
        finally:
            self.mark_lost()

    def mark_lost(self) -> None:
        """Stop using a host that is lost or has restored its settings."""
        if self._heartbeat:
            self._heartbeat.end()
        self._directory = ""

    def _command(self, command: str) -> list[str]:
        options = {
            "BatchMode": "yes",
            "ConnectTimeout": "10",
            "ControlMaster": "auto",
            "ControlPath": f"{_sockets()}/{os.getpid()}-{self.role}",
            "ControlPersist": "5",
            "ServerAliveInterval": "5",
            "ServerAliveCountMax": "3",
            "LogLevel": "ERROR",
        }
        config = ["-F", self._inventory.ssh_config] if self._inventory.ssh_config else []
        given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        return ["ssh", "-T", *config, *given, "--", self.entry.ssh, command]

    def _ssh(
        self, command: str, script: str, timeout_s: float = 60
    ) -> "subprocess.CompletedProcess[bytes]":
        try:
            # A new session, so that Ctrl-C does not reach ssh.
            return subprocess.run(
                self._command(command),
                input=script.encode(),
                capture_output=True,
                timeout=timeout_s,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise StopError("ssh is missing on this machine; install openssh-client") from None
        except subprocess.TimeoutExpired:
            raise LostError(f"{self}: no answer for {timeout_s:g} s") from None

    def _checked(self, ended: "subprocess.CompletedProcess[bytes]") -> bytes:
        if not ended.returncode:
            return ended.stdout
        if ended.returncode < 0:
            raise LostError(f"{self}: ssh was killed by {signal.Signals(-ended.returncode).name}")
        lines = ended.stderr.decode(errors="replace").strip().splitlines()
        # ssh says what is wrong first, and then that the connection is closed.
        if ended.returncode == _LOST:
            why = [line for line in lines if "closed" not in line] or lines
            raise LostError(f"{self}: {why[0] if why else 'the connection was lost'}")
        if ended.returncode in _NO_SCRIPT and self._directory:
            self.mark_lost()
            raise StopError(
                f"{self}: its dead-man timer has restored its settings, because it was not "
                f"reached for {self._inventory.dead_man_s:g} s"
            )
        kind = StopError if ended.returncode == _NO_OTHER_RUN else AirtcpError
        raise kind(f"{self}: {lines[-1] if lines else f'exit code {ended.returncode}'}")


def _sockets() -> Path:
    """The directory for sockets of connections; ssh removes a socket with its connection.

    Their paths must be short.
    """
    return private_directory(Path(f"/tmp/airtcp-ssh-{os.getuid()}"))


def private_directory(path: Path) -> Path:
    """Create a directory that only this user can access. Raises StopError if others can."""
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o077:
        raise StopError(f"{path}: not a directory that only this user can access: remove it")
    return path


def _time_of(answer: int) -> tuple[float, float]:
    """The time in an answer of agent.sh (in ns or whole seconds), and its uncertainty, in s."""
    return (answer / 1e9, 0) if answer > 10**12 else (answer + 0.5, 0.5)


class _Heartbeat:
    """Periodically tells a host that airtcp is alive; its answers give the offset of its clock."""

    def __init__(self, command: Sequence[str], interval_s: float) -> None:
        self._interval_s = interval_s
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._asking = threading.Lock()
        self._ended = threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self) -> None:
        while not self._ended.wait(self._interval_s):
            if not self._ask():
                break

    def _ask(self) -> tuple[float, float] | None:
        """The error and the offset of the clock; None if the connection was lost.

        The next command reports that.
        """
        assert self._process.stdin and self._process.stdout
        with self._asking:
            try:
                asked_s = time.time()
                self._process.stdin.write(b"\n")
                self._process.stdin.flush()
                answer = self._process.stdout.readline()
                halfway_s = (time.time() - asked_s) / 2
                there_s, rounding_s = _time_of(int(answer))
            except (OSError, ValueError):
                return None
        return halfway_s + rounding_s, there_s - asked_s - halfway_s

    def answers(self) -> list[tuple[float, float]]:
        """Several measurements of the clock: (error, offset). Empty without a connection."""
        return list(filter(None, [self._ask() for _ in range(_ANSWERS)]))

    def end(self) -> None:
        self._ended.set()
        self._process.kill()
        self._process.wait()
