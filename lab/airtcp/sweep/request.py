# SPDX-License-Identifier: GPL-2.0-only
"""A requested run with its plan and its identity: the same identity gives the same results."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from airtcp.backends import hostapd, shell
from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.casenames import unusual
from airtcp.experiment.experiment import KERNEL_FACTOR, Case, differing
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.results.record import RUNS
from airtcp.steps.plan import plan
from airtcp.steps.step import Step
from airtcp.steps.workloads import input_files
from airtcp.testbed.build import testbed_of
from airtcp.testbed.model import Testbed

_PACKAGE = Path(__file__).parents[1]

# The packages above this one, which no run uses (import-linter checks that packages import only
# lower ones), and what a wheel adds.
_NOT_CODE = frozenset({"cli", "report", "ui", "__main__.py", "prebuilt", "share"})


def code_files(package: Path = _PACKAGE) -> list[Path]:
    """The modules that can affect a run: all except the packages above this one."""
    sources = sorted(package.rglob("[!.]*.py"))
    return [path for path in sources if path.relative_to(package).parts[0] not in _NOT_CODE]


def hash_of_code(package: Path = _PACKAGE) -> str:
    """SHA-256 of the current names and contents of those modules."""
    digest = hashlib.sha256()
    for path in code_files(package):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


CODE = hash_of_code()
"""The hash of the code of this process. The files may change while it runs."""


def run_directory(out_dir: Path, case: Case, seed: int) -> Path:
    """The directory of a run."""
    return out_dir / RUNS / case.slug / f"seed-{seed}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """A requested run. Compared by object identity, so that it can be a key.

    identity: a hash of everything that determines the run. command: for the record of the run.
    """

    case: Case
    seed: int
    testbed: Testbed
    identity: str
    command: str = ""

    @property
    def name(self) -> str:
        """Its factors and seed, for messages."""
        return self.short_name({})

    def short_name(self, usual: Mapping[str, object]) -> str:
        """The same without factors that have these values."""
        shown = unusual(self.case.factors, usual)
        return " ".join(f"{name}={value}" for name, value in (*shown.items(), ("seed", self.seed)))

    def directory(self, out_dir: Path) -> Path:
        """The directory of the run."""
        return run_directory(out_dir, self.case, self.seed)


@dataclass(frozen=True, eq=False, kw_only=True)
class RunRequest(Request):
    """A run in the laboratory.

    plan: its steps; plan_hash: of its script. identity: of kernel, guest programs, plan, topology,
    parameters, factors, seed, and the code that computes results.
    """

    kernel: Kernel
    tools: GuestTools
    plan: Sequence[Step]
    plan_hash: str

    @classmethod
    def of(
        cls, kernel: Kernel, tools: GuestTools, case: Case, seed: int, command: str = ""
    ) -> "RunRequest":
        """The run of a case with a seed."""
        [request] = requests(kernel, tools, [case], [seed], command)
        return request


def requests(
    kernel: Kernel,
    tools: GuestTools,
    cases: Sequence[Case],
    seeds: Iterable[int],
    command: str = "",
    kernels: Mapping[str, Kernel] | None = None,
) -> list[RunRequest]:
    """All cases with the first seed, then with the next: early results for every case.

    kernels: by the values of the factor `kernel`; kernel: for cases without it. Raises AirtcpError
    if a case needs a newer hostapd than there is.
    """
    planned = []
    for case in cases:
        testbed = testbed_of(case)
        steps = plan(testbed)
        chosen = (kernels or {}).get(str(case.factors.get(KERNEL_FACTOR)), kernel)
        programs = hostapd.tools_for(tools, testbed)
        plan_hash = _hash_of_plan(steps)
        common = _hash_of_case(chosen, programs, case, plan_hash)
        planned.append((chosen, programs, case, testbed, steps, plan_hash, common))
    return [
        RunRequest(
            kernel=chosen,
            tools=programs,
            case=case,
            seed=seed,
            testbed=testbed,
            plan=steps,
            plan_hash=plan_hash,
            identity=hashlib.sha256(f"{common} {seed}".encode()).hexdigest(),
            command=command,
        )
        for seed in seeds
        for chosen, programs, case, testbed, steps, plan_hash, common in planned
    ]


def without_effect(jobs: Sequence[RunRequest]) -> list[str]:
    """Factors in which runs differ that do the same, such as the MCS if minstrel chooses it.

    In a custom topology, all nodes and flows may override a factor.
    """

    def done(job: RunRequest) -> tuple[str, ...]:
        return job.kernel.hash, *_done(job.testbed, job.plan_hash)

    return differing((done(job), job.case.factors) for job in jobs if job.seed == jobs[0].seed)


def single_without_effect(jobs: Sequence[RunRequest]) -> list[str]:
    """Factors with one value with which all runs do the same as with its default."""
    first = [job for job in jobs if job.seed == jobs[0].seed]
    return [
        name
        for name, default in Parameters.defaults().items()
        if len(values := {job.case.factors.get(name, default) for job in first}) == 1
        and default not in values
        and all(_same_with(job, name, default) for job in first)
    ]


def _same_with(job: RunRequest, name: str, value: Plain) -> bool:
    """Whether a run does the same with another value of a parameter."""
    try:
        parameters = job.case.parameters.replace({name: value})
    except ValidationError:  # another parameter needs the present value
        return False
    testbed = testbed_of(replace(job.case, parameters=parameters))
    return _done(testbed, _hash_of_plan(plan(testbed))) == _done(job.testbed, job.plan_hash)


def _done(testbed: Testbed, plan_hash: str) -> tuple[str, str]:
    """What a run does, for comparison; the script does not contain the files of flows."""
    return plan_hash, str(input_files(testbed.flows, seed=0))


def _hash_of_plan(steps: Sequence[Step]) -> str:
    return hashlib.sha256(shell.render(steps).encode()).hexdigest()


def _hash_of_case(kernel: Kernel, tools: GuestTools, case: Case, plan_hash: str) -> str:
    """The part of the identity that all seeds of a case have in common."""
    # The script does not contain everything of a custom topology, such as the pages to load.
    network = case.network.plain() if case.network else None
    return hash_of(
        *(kernel.hash, tools.directory.name, CODE),
        *(plan_hash, network, case.parameters.plain(), dict(case.factors)),
    )


def hash_of(*facts: object) -> str:
    """SHA-256 of facts, which JSON can represent."""
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
