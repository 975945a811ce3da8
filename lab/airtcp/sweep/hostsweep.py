# SPDX-License-Identifier: GPL-2.0-only
"""A sweep on real hosts: one run after the other, with the same files and results as in guests."""

import os
import shutil
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airtcp import atomicfile
from airtcp.errors import AirtcpError, InputError, StopError
from airtcp.experiment.experiment import Case, condition_of
from airtcp.experiment.metrics import Value
from airtcp.files import iwstation
from airtcp.files.iperf3 import read_iperf3
from airtcp.hosts import applicable, settings
from airtcp.hosts.inventory import Inventory
from airtcp.hosts.lab import HostsLab
from airtcp.hosts.ssh import AGENT
from airtcp.results import artifacts, metrics, record
from airtcp.results.record import (
    RESULT_FILE,
    Cost,
    HostRecord,
    KernelRecord,
    MeasuredOn,
    Provenance,
    RunRecord,
)
from airtcp.sweep.request import CODE, Request, hash_of
from airtcp.sweep.run import convert_captures, write_series, writing
from airtcp.sweep.sweep import Event, Failure, Outcome, Watch, collect
from airtcp.testbed.build import testbed_of
from airtcp.testbed.model import AIR, Testbed


@dataclass(frozen=True)
class HostOptions:
    """Options of runs on real hosts."""

    inventory: Inventory
    seeds: int
    command: str
    say: Callable[[str], None]
    verify: bool = False

    def not_applied(self, cases: Sequence[Case]) -> dict[str, dict[str, str]]:
        """The parameters that the hosts ignore, with the reason, by the slug of the case.

        Raises InputError if they cannot do a case.
        """
        return {case.slug: _named(case, self.inventory) for case in cases}

    @contextmanager
    def machines(self, cases: Sequence[Case]) -> Iterator["HostMachines"]:
        """The hosts, whose settings are restored at the end.

        Raises InputError if they cannot do a case, AirtcpError if a host is not ready.
        """
        ignored = self.not_applied(cases)
        captures = any(set(case.parameters.capture) - {AIR} for case in cases)
        needs = settings.needs([case.parameters for case in cases])
        with HostsLab(self.inventory, captures, needs, self.say) as lab:
            for case in cases:
                settings.check_case(case.parameters, lab.facts)
            lab.require_rights([on_hosts(testbed_of(case)) for case in cases])
            yield HostMachines(self, lab, ignored)


def _named(case: Case, inventory: Inventory) -> dict[str, str]:
    try:
        return applicable.not_applied(case, inventory)
    except InputError as error:
        raise InputError(f"--hosts: {error}") from None


@dataclass(frozen=True)
class HostMachines:
    """The hosts of a sweep. ignored: by case, the parameters that they ignore."""

    options: HostOptions
    lab: HostsLab
    ignored: Mapping[str, Mapping[str, str]]

    @property
    def kernel(self) -> KernelRecord:
        """Versions of all kernels, and a hash of all that identifies the hosts."""
        versions = dict.fromkeys(facts.kernel for facts in self.lab.facts.values())
        return KernelRecord(version=", ".join(versions), hash=hash_of(self._hosts)[:16])

    @property
    def _hosts(self) -> dict[str, Any]:
        entries: dict[str, Any] = {
            role: entry.model_dump() for role, entry in self.options.inventory.entries
        }
        return {role: (entries[role], facts.kernel) for role, facts in self.lab.facts.items()}

    def requests(self, cases: Sequence[Case]) -> Sequence[Request]:
        """All cases with the first seed, then with the next, against drift.

        The policies of a condition follow each other.
        """
        conditions = [condition_of(case.factors) for case in cases]
        ordered = sorted(cases, key=lambda case: conditions.index(condition_of(case.factors)))
        return [
            Request(
                case=case,
                seed=seed,
                testbed=on_hosts(testbed_of(case)),
                identity=hash_of(
                    *(CODE, AGENT.read_text(), self._hosts, case.parameters.plain()),
                    *(dict(case.factors), seed),
                ),
                command=self.options.command,
            )
            for seed in range(1, self.options.seeds + 1)
            for case in ordered
        ]

    def execute(self, todo: Sequence[Request], out_dir: Path, watch: Watch) -> Outcome:
        return collect(self._events(todo, out_dir), watch)

    def _events(self, todo: Sequence[Request], out_dir: Path) -> Generator[Event]:
        for job in todo:
            yield Event([(job, 0.0)])
            try:
                yield Event(ended=(job, self._run(job, out_dir)))
            except StopError:
                raise
            except AirtcpError as error:
                yield Event(ended=(job, Failure(str(error))))

    def _run(self, request: Request, out_dir: Path) -> RunRecord:
        run_dir = request.directory(out_dir)
        try:
            with writing(run_dir):
                atomicfile.remove(run_dir, RESULT_FILE)
                done = self._measured(request, run_dir, out_dir)
                atomicfile.flush(run_dir)
                record.write(run_dir, done)
        except KeyboardInterrupt:
            shutil.rmtree(run_dir, ignore_errors=True)
            raise
        return done

    def _measured(self, request: Request, run_dir: Path, out_dir: Path) -> RunRecord:
        case, testbed = request.case, request.testbed
        began, began_s, began_cpu_s = datetime.now(UTC), time.monotonic(), _cpu_s()
        values: Mapping[str, Value] = {}
        problem = None
        try:
            self.lab.run(testbed, run_dir)
            convert_captures(run_dir, testbed)
            values = metrics.compute(run_dir, testbed, _transfer_s(testbed, run_dir))
            write_series(run_dir, testbed, case, request.seed, began)
        except StopError:
            raise
        except AirtcpError as error:
            problem, values = str(error), {}
        return RunRecord(
            factors=case.factors,
            seed=request.seed,
            status="failed" if problem else "ok",
            error=problem,
            metrics=values,
            cost=Cost(
                wall_s=round(time.monotonic() - began_s, 3),
                cpu_s=round(_cpu_s() - began_cpu_s, 3),
                virtual_s=None,
            ),
            artifacts=artifacts.hashed(run_dir, out_dir),
            parameters=case.parameters.plain(),
            kernel=self.kernel,
            provenance=Provenance.here(request.command),
            measured_on=self._measured_on(request, run_dir, values),
            identity=request.identity,
        )

    def _measured_on(
        self, request: Request, run_dir: Path, values: Mapping[str, Value]
    ) -> MeasuredOn:
        destinations: dict[str, str] = {
            role: entry.ssh for role, entry in self.options.inventory.entries
        }
        hosts = {
            role: HostRecord(
                ssh=destinations[role],
                kernel=facts.kernel,
                ack_policies=facts.policies,
                clock_ahead_ms=round(facts.clock_ahead_s * 1e3, 3),
                clock_error_ms=round(facts.clock_error_s * 1e3, 3),
                radio=facts.radio,
                driver=iwstation.increase(run_dir, role) if facts.radio is not None else None,
            )
            for role, facts in self.lab.facts.items()
        }
        return MeasuredOn(
            hosts=hosts,
            not_applied=self.ignored[request.case.slug],
            not_measured=applicable.not_measured(values),
        )


def on_hosts(testbed: Testbed) -> Testbed:
    """Without what is simulated, also captures of the air."""
    captures = {point: device for point, device in testbed.captures.items() if point != AIR}
    return replace(testbed, radios=(), queues=(), captures=captures)


def _cpu_s() -> float:
    """User and system time of this process and its children so far."""
    return sum(os.times()[:4])


def _transfer_s(testbed: Testbed, run_dir: Path) -> float:
    """How long the receivers received, in seconds."""
    clients = [read_iperf3(run_dir / flow.file("client")) for flow in testbed.flows]
    return max(client.number("end", "sum_received", "seconds") for client in clients)
