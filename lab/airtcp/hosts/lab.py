# SPDX-License-Identifier: GPL-2.0-only
"""The hosts as long as a sweep lasts, and one run on them."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

from airtcp import atomicfile, interrupts
from airtcp.errors import AirtcpError, StopError
from airtcp.files import iperf3, ss
from airtcp.hosts import preflight, settings
from airtcp.hosts.inventory import EndEntry, Inventory, Role
from airtcp.hosts.preflight import Facts, Needs
from airtcp.hosts.settings import Call
from airtcp.hosts.ssh import LostError, Remote, Say
from airtcp.steps.instruments import CAPTURED_BYTES, LEAD_S
from airtcp.steps.traffic import probe_command
from airtcp.steps.workloads.bulk import client, server
from airtcp.testbed.model import Flow, Probe, Testbed

_T = TypeVar("_T")

# A transfer may start this long after its captures.
_LATE_S = 4

_SETUP_S = 30
"""A program may need this much longer than the transfer."""

# Times are relative to this long before a run, so that they are positive.
_BEFORE_NS = 60 * 10**9


class HostsLab:
    """Context manager: installs the agents, and restores all settings however the block ends."""

    def __init__(
        self,
        inventory: Inventory,
        captures: bool,
        needs: Mapping[Role, Needs],
        say: Say,
    ) -> None:
        """needs: what the runs need, by role."""
        self._inventory = inventory
        self._captures = captures
        self._needs = needs
        self._say = say
        self._remotes = [Remote(role, entry, inventory) for role, entry in inventory.entries]
        self.facts: dict[str, Facts] = {}
        self._epoch_ns = 0

    def __enter__(self) -> "HostsLab":
        try:
            found = self._each(self._prepared)
        except BaseException:
            self._uninstall()
            raise
        self.facts = {
            remote.role: facts for remote, facts in zip(self._remotes, found, strict=True)
        }
        return self

    def _prepared(self, remote: Remote) -> Facts:
        remote.install(self._say)
        facts = preflight.check(remote, self._captures, self._needs[remote.role])
        remote.boot = facts.boot
        return facts

    def require_rights(self, testbeds: Sequence[Testbed]) -> None:
        """Raise AirtcpError if root may not be asked for all settings of these runs."""

        def require(remote: Remote) -> None:
            facts = self.facts[remote.role]
            calls = [
                tuple(call)
                for testbed in testbeds
                for call in settings.of_host(remote.role, facts, self._inventory, testbed)
            ]
            asked = [("rights", *call) for call in dict.fromkeys(calls)]
            remote.call(*asked, timeout_s=60 + len(asked))

        self._each(require)

    def _each(self, call: Callable[[Remote], _T]) -> list[_T]:
        """Call a function for all hosts at the same time; raises the first exception."""
        with ThreadPoolExecutor(len(self._remotes)) as threads:
            return list(threads.map(call, self._remotes))

    def __exit__(self, *_: object) -> None:
        self._uninstall()

    def _uninstall(self) -> None:
        def uninstall(remote: Remote) -> None:
            try:
                remote.uninstall()
            except AirtcpError as error:
                self._say(f"airtcp: {error}; {self._restored_later()}")

        with interrupts.deferred():
            self._each(uninstall)

    def _restored_later(self) -> str:
        limit_s = self._inventory.dead_man_s
        return f"its dead-man timer restores its settings within about {limit_s:g} s"

    def run(self, testbed: Testbed, run_dir: Path) -> None:
        """Execute a run; its files are then in run_dir, as of the laboratory's guest.

        Raises AirtcpError if the run failed, and StopError if others would, too. Settings are
        restored.
        """
        run_dir.mkdir(parents=True)
        self._epoch_ns = time.time_ns() - _BEFORE_NS
        try:
            try:
                self._measure(testbed)
            except (StopError, KeyboardInterrupt):
                raise
            except AirtcpError as error:
                self._fetch(run_dir)
                raise AirtcpError(_explained(error, run_dir)) from None
            self._fetch(run_dir)
        except LostError as error:
            raise self._lost(error) from None
        finally:
            self._restore()
        self._convert(testbed, run_dir)

    def _lost(self, error: LostError) -> StopError:
        """The error for a host that was lost; waits for a host that reboots."""
        remote = next(remote for remote in self._remotes if str(error).startswith(str(remote)))
        deadline = time.monotonic() + self._inventory.dead_man_s
        while time.monotonic() < deadline:
            try:
                boot = remote.current_boot_id()
            except LostError:
                time.sleep(1)
                continue
            if boot == remote.boot:
                return StopError(f"{error} during a run")
            remote.mark_lost()
            return StopError(f"{remote}: was rebooted during a run, which restored its settings")
        remote.mark_lost()
        return StopError(f"{error} during a run; {self._restored_later()}")

    def _restore(self) -> None:
        """Restore the settings of all hosts. Raises StopError if that fails."""

        def restore(remote: Remote) -> str:
            try:
                if remote.installed:
                    remote.call(("restore",))
            except AirtcpError as error:
                return str(error)
            return ""

        with interrupts.deferred():
            failures = self._each(restore)
        if any(failures):
            raise StopError("; ".join(filter(None, failures)))

    def _at(self, role: str) -> Remote:
        return next(remote for remote in self._remotes if remote.role == role)

    def _entry(self, role: str) -> EndEntry:
        return self._inventory.server if role == "server" else self._inventory.station

    def _measure(self, testbed: Testbed) -> None:
        """Settings, instruments, traffic, counters."""
        parameters = testbed.parameters
        flows = [self._real(flow) for flow in testbed.flows]
        self._each(lambda remote: self._prepare(remote, testbed))
        for role in dict.fromkeys(flow.receiver for flow in flows):
            received = [flow for flow in flows if flow.receiver == role]
            self._at(role).call(
                *(_start("server", flow, server(flow)) for flow in received),
                *(("listening", flow.port) for flow in received),
            )
        time.sleep(LEAD_S)
        self._each(lambda remote: remote.call(*self._capture(testbed, remote)))
        if pings := [self._ping(testbed, probe) for probe in testbed.probes]:
            self._at("station").call(*pings)
        time.sleep(parameters.baseline_s)
        self._transfer(flows, round(parameters.duration_s) + _SETUP_S)
        limit_s = round(2 * parameters.baseline_s) + _SETUP_S
        for remote in self._remotes:
            jobs = [_name("server", flow) for flow in flows if flow.receiver == remote.role]
            jobs += ["ping"] * (remote.role == "station" and bool(pings))
            jobs += ["capture"] * self._captured(testbed, remote)
            remote.call(
                *(("await", name, limit_s) for name in jobs),
                self._counters(remote, "after"),
                ("end_jobs",),
                ("room",),
                timeout_s=limit_s + 60,
            )

    def _prepare(self, remote: Remote, testbed: Testbed) -> None:
        """Apply the settings, start the instruments, read the clock."""
        facts = self.facts[remote.role]
        wanted = settings.of_host(remote.role, facts, self._inventory, testbed)
        instruments = self._instruments(testbed, remote)
        remote.call(("fresh",), *wanted, *instruments, self._counters(remote, "before"))
        ahead_s, error_s = preflight.clock(remote)
        self.facts[remote.role] = replace(facts, clock_ahead_s=ahead_s, clock_error_s=error_s)

    def _ping(self, testbed: Testbed, probe: Probe) -> Call:
        there = replace(probe, address=self._entry(probe.peer).address)
        return ("start", "ping", probe.file, *probe_command(testbed.parameters, there))

    def _transfer(self, flows: Sequence[Flow], limit_s: int) -> None:
        """Run all flows until they end."""
        senders = list(dict.fromkeys(flow.sender for flow in flows))
        awaited: list[tuple[Remote, list[Call]]] = []
        for role in senders:
            sent = [flow for flow in flows if flow.sender == role]
            started = [_start("client", flow, client(flow)) for flow in sent]
            ends: list[Call] = [("await", _name("client", flow), limit_s) for flow in sent]
            if role == senders[-1]:  # in one call
                awaited.append((self._at(role), [*started, *ends]))
            else:
                self._at(role).call(*started)
                awaited.insert(0, (self._at(role), ends))
        for remote, calls in reversed(awaited):
            remote.call(*calls, timeout_s=limit_s + 60)

    def _real(self, flow: Flow) -> Flow:
        """The flow with the addresses of the hosts."""
        return replace(
            flow,
            sender_address=self._entry(flow.sender).address,
            receiver_address=self._entry(flow.receiver).address,
        )

    def _counters(self, remote: Remote, when: str) -> Call:
        name = f"{remote.role}-{when}"
        return ("counters", name, remote.entry.interface or "none")

    def _captured(self, testbed: Testbed, remote: Remote) -> bool:
        return remote.role in testbed.parameters.capture and remote.role != "ap"

    def _instruments(self, testbed: Testbed, remote: Remote) -> list[Call]:
        if not isinstance(remote.entry, EndEntry):
            return []
        ports = dict.fromkeys(flow.port for flow in testbed.flows)
        terms = [f"sport = :{port} or dport = :{port}" for port in ports]
        return [
            ("start", "sample", f"ss-{remote.role}.txt", "sample", f"( {' or '.join(terms)} )"),
            ("start", "closes", f"ss-{remote.role}-closed.txt", "closes"),
        ]

    def _capture(self, testbed: Testbed, remote: Remote) -> list[Call]:
        """Capture from shortly before the transfer. Only root could end that earlier."""
        if not self._captured(testbed, remote):
            return []
        parameters = testbed.parameters
        length_s = parameters.capture_duration_s or parameters.duration_s
        limit_s = parameters.baseline_s + min(length_s, parameters.duration_s) + _LATE_S
        return [("capture", remote.role, remote.entry.interface, f"{limit_s:g}", CAPTURED_BYTES)]

    def _fetch(self, run_dir: Path) -> None:
        for packed in self._each(Remote.fetch):
            atomicfile.extract(packed, run_dir)

    def _convert(self, testbed: Testbed, run_dir: Path) -> None:
        """Samples as of tcpwatch, with the laboratory's addresses; counters of the run alone."""
        names = {self._entry(node.name).address: node.addresses[0] for node in testbed.hosts}
        for remote in self._remotes:
            nstat(run_dir, remote.role)
            if isinstance(remote.entry, EndEntry):
                ss.convert(
                    run_dir / f"ss-{remote.role}.txt",
                    run_dir / f"ss-{remote.role}-closed.txt",
                    run_dir / f"tcp-{remote.role}.csv",
                    names=names,
                    ahead_ns=round(self.facts[remote.role].clock_ahead_s * 1e9),
                    epoch_ns=self._epoch_ns,
                )


def nstat(run_dir: Path, role: Role) -> None:
    """Replace the counters before and after a run by their increase."""
    before, after = (run_dir / f"nstat-{role}-{when}.json" for when in ("before", "after"))
    try:
        first, second = (json.loads(path.read_text())["kernel"] for path in (before, after))
    except (OSError, ValueError, KeyError) as error:
        raise AirtcpError(f"{after}: not JSON of nstat: {error}") from None
    increase = {name: value - first.get(name, 0) for name, value in second.items()}
    text = json.dumps({"kernel": increase}, indent=1)
    (run_dir / f"nstat-{role}.json").write_text(f"{text}\n")
    before.unlink()
    after.unlink()


def _name(program: str, flow: Flow) -> str:
    return f"iperf3-{program}{flow.suffix}"


def _start(program: Literal["client", "server"], flow: Flow, command: str) -> Call:
    return ("start", _name(program, flow), flow.file(program), *command.split())


def _explained(error: AirtcpError, run_dir: Path) -> str:
    """The error, or what iperf3 says about it."""
    said = iperf3.error_in(run_dir, "iperf3-*.json")
    return f"{str(error).removesuffix(': ')}: {said}" if said else str(error)
