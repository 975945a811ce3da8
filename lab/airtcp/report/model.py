# SPDX-License-Identifier: GPL-2.0-only
"""results.json as the page needs it: conditions, the policies measured under each, their runs.

A condition is one combination of all factors but ack_policy: what the policies are compared under.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from airtcp import statistics
from airtcp.errors import AirtcpError, InputError
from airtcp.experiment.figures import Figure
from airtcp.experiment.metrics import Value
from airtcp.experiment.topology import Network
from airtcp.files.latency import Latency, read_ping
from airtcp.kernel.policies import BASELINE
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.results import artifacts, assembly, documents, reproduction
from airtcp.results.documents import FigureRecord, SummaryRow
from airtcp.results.modelfit import MeanAbsoluteError, Point
from airtcp.results.record import Artifact, Cost, FlowRecord, KernelRecord, RunRecord
from airtcp.steps.workloads import HEADLINES
from airtcp.steps.workloads.workload import Headline
from airtcp.testbed.build import build
from airtcp.testbed.model import Testbed

_POLICY = "ack_policy"

_MICRO = "\N{MICRO SIGN}"

# Values of a factor that mean "nothing was done"; a label names the others.
_NEUTRAL = frozenset({"0ms", "unlimited", "none", "kernel", "preset"})
_QUANTITY = re.compile(r"([0-9.]+)(s|ms|us|ns|[kMG]?bit|[KMG]i?B|B|MHz|packets)")


@dataclass(frozen=True)
class Published:
    """A figure that others published for the same conditions and policy."""

    value: float
    source: str
    approximate: bool


@dataclass(frozen=True)
class Run:
    """One simulation. directory holds the files that it left."""

    record: RunRecord
    directory: Path

    @property
    def seed(self) -> int:
        return self.record.seed

    @property
    def parameters(self) -> Mapping[str, Plain]:
        """As recorded, in the words of the version that did the run."""
        return self.record.parameters

    @property
    def metrics(self) -> Mapping[str, Value]:
        return self.record.metrics

    @property
    def cost(self) -> Cost:
        return self.record.cost

    @property
    def artifacts(self) -> Mapping[str, Artifact]:
        return self.record.artifacts

    @property
    def identity(self) -> str:
        """A hash of all that decides the run."""
        return self.record.identity

    @property
    def flows(self) -> Sequence[FlowRecord]:
        """Those of a custom topology."""
        return self.record.flows

    @property
    def settings(self) -> Parameters:
        """The parameters as such. Raises AirtcpError for those of another version."""
        try:
            return Parameters.model_validate(dict(self.parameters))
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise AirtcpError(
                f"{self.directory}: not parameters of this version: {reason}"
            ) from None

    @property
    def testbed(self) -> Testbed:
        """What it was about. Raises AirtcpError for a topology of another version."""
        network = self.record.network
        if network is None:
            return build(self.settings)
        try:
            return build(self.settings, Network.model_validate(network))
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise AirtcpError(f"{self.directory}: no network of this version: {reason}") from None

    @property
    def pings(self) -> list[Latency]:
        """Of each station from which there was ping. Raises AirtcpError."""
        if self.metrics.get("ping_rtt_ms_p50") is None:
            return []
        files = [probe.file for probe in self.testbed.probes if probe.tool == "ping"]
        return [read_ping(self.directory, file) for file in files]


@dataclass(frozen=True)
class Measured:
    """One policy under one condition: its runs by seed, and the means over them."""

    policy: str
    runs: Sequence[Run]
    summaries: Mapping[str, statistics.Summary]
    published: Mapping[str, Published]

    def by_seed(self, metric: str) -> dict[int, float]:
        """The metric of every run that has it."""
        values = ((run.seed, run.metrics.get(metric)) for run in self.runs)
        return {seed: value for seed, value in values if value is not None}


@dataclass(frozen=True)
class Condition:
    """What the policies are compared under. slug is fit for file names and fragments."""

    label: str
    slug: str
    policies: Sequence[Measured]

    def measured(self, policy: str) -> Measured | None:
        return next((one for one in self.policies if one.policy == policy), None)


@dataclass(frozen=True)
class Gain:
    """A policy's mean over the baseline's, under one condition: paired by seed, and published."""

    condition: Condition
    policy: str
    measured: statistics.Summary | None
    published: float | None


@dataclass(frozen=True)
class Declared:
    """A figure that the experiment declares; of a model also each point and the mean error."""

    figure: Figure
    points: Sequence[Point]
    mean_absolute_error: MeanAbsoluteError | None


@dataclass(frozen=True)
class Results:
    """A whole experiment."""

    name: str
    title: str
    source: str
    command: str
    kernel: KernelRecord
    policies: Sequence[str]
    conditions: Sequence[Condition]
    failures: Sequence[str]
    damaged: Sequence[str]  # runs that are left out: some file is not as the run has left it
    figures: Sequence[Declared]
    ratios: Sequence[Sequence[str]]  # published ones beside ours, as reproduction.ratios has them

    @property
    def cases(self) -> list[Measured]:
        return [one for condition in self.conditions for one in condition.policies]

    @property
    def runs(self) -> list[Run]:
        return [run for one in self.cases for run in one.runs]


def is_bulk(run: Run) -> bool:
    """Whether a flow is of the workload bulk, as all were before there were others."""
    if run.record.network is not None:
        return any(flow.workload == "bulk" for flow in run.flows)
    return bool(run.parameters.get("workload", "bulk") == "bulk")


def having(of: Results, metric: str) -> Results:
    """The conditions that have a figure of it: of some there is none, such as airtime of cables."""
    conditions = [
        condition
        for condition in of.conditions
        if any(metric in one.summaries for one in condition.policies)
    ]
    return replace(of, conditions=conditions)


def headlines(of: Results) -> list[tuple[Headline, Results]]:
    """What its workloads are about, each with the conditions that have a figure of it."""
    found = [(headline, having(of, headline.metric)) for headline in HEADLINES.values()]
    return [(headline, those) for headline, those in found if those.conditions]


def gains(of: Results, metric: str) -> list[Gain]:
    """Every policy over the baseline, under the conditions where both were measured."""
    found = []
    for condition in of.conditions:
        baseline = condition.measured(BASELINE)
        for other in condition.policies:
            if baseline is None or other is baseline:
                continue
            base, published = baseline.published.get(metric), other.published.get(metric)
            found.append(
                Gain(
                    condition,
                    other.policy,
                    statistics.paired_ratio(baseline.by_seed(metric), other.by_seed(metric)),
                    published.value / base.value if base and published else None,
                )
            )
    return found


def load(out_dir: Path) -> Results:
    """Read out_dir/results.json, without the runs whose files are damaged. Raises InputError."""
    whole = documents.read(out_dir)
    damaged = artifacts.damaged(whole.runs, out_dir)
    document = assembly.without(whole, [one.run for one in damaged])
    runs = [run for run in document.runs if run.ok]
    if not runs:
        raise InputError(
            f"{out_dir / documents.FILE}: no run in it has finished"
            + (f" undamaged ({damaged[0]})" if damaged else "")
        )
    policies = list(dict.fromkeys(_policy(run) for run in runs))
    policies.sort(key=lambda policy: policy != BASELINE)  # stable: the others keep their order
    conditions = {_condition_key(run.factors): _condition_factors(run.factors) for run in runs}
    return Results(
        name=document.experiment,
        title=document.title,
        source=document.source,
        command=document.command,
        kernel=document.kernel,
        policies=policies,
        conditions=[
            _condition(out_dir, runs, document.summary, key, factors, policies)
            for key, factors in conditions.items()
        ],
        failures=[
            f"{_label(run.factors)}, seed {run.seed}: {run.error}"
            for run in document.runs
            if not run.ok
        ],
        damaged=[str(one) for one in damaged],
        figures=[_declared(one) for one in document.figures],
        ratios=reproduction.ratios(document.published),
    )


def _declared(one: FigureRecord) -> Declared:
    if one.compared is None:
        return Declared(one.figure, (), None)
    return Declared(one.figure, one.compared.points, one.compared.mean_absolute_error)


def _policy(run: RunRecord) -> str:
    """The ACK policy of a run, be it a factor or not."""
    return str(run.factors.get(_POLICY) or run.parameters[_POLICY])


def _condition_factors(factors: Mapping[str, Plain]) -> dict[str, Plain]:
    return {name: value for name, value in factors.items() if name != _POLICY}


def _condition_key(factors: Mapping[str, Plain]) -> str:
    return json.dumps(_condition_factors(factors))


def _condition(
    out_dir: Path,
    all_runs: Sequence[RunRecord],
    all_summaries: Sequence[SummaryRow],
    key: str,
    factors: Mapping[str, Plain],
    policies: Sequence[str],
) -> Condition:
    label = _label(factors)
    measured = []
    for policy in policies:
        runs = [one for one in all_runs if _is(one.factors, key, policy)]
        summaries = [one for one in all_summaries if _is(one.factors, key, policy)]
        if runs:
            measured.append(_measured(out_dir, policy, runs, summaries))
    return Condition(label, re.sub("[^A-Za-z0-9]+", "-", label).strip("-").lower(), measured)


def _is(factors: Mapping[str, Plain], condition_key: str, policy: str) -> bool:
    return _condition_key(factors) == condition_key and factors.get(_POLICY, policy) == policy


def _measured(
    out_dir: Path, policy: str, runs: Sequence[RunRecord], summaries: Sequence[SummaryRow]
) -> Measured:
    return Measured(
        policy=policy,
        runs=[Run(run, run.directory(out_dir)) for run in sorted(runs, key=lambda run: run.seed)],
        summaries={
            one.metric: statistics.Summary(one.mean, one.ci95, one.n)
            for one in summaries
            if one.mean is not None
        },
        published={
            one.metric: Published(
                one.published.value, one.published.source, one.published.precision != "exact"
            )
            for one in summaries
            if one.published
        },
    )


def _label(factors: Mapping[str, Plain]) -> str:
    """The factors that do something; all of them where none does."""
    active = {name: value for name, value in factors.items() if str(value) not in _NEUTRAL}
    named = active or factors
    return ", ".join(factor(name, value) for name, value in named.items()) or "all"


def factor(name: str, value: object) -> str:
    """A factor with its value: `delay 50 ms`."""
    return f"{words(name)} {readable(value)}"


def words(name: str) -> str:
    return name.replace("_", " ")


def readable(value: object) -> str:
    """A value as people write it: `50ms` is 50 ms, `10Mbit` is 10 Mbit/s, 2.0 is 2."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    match = _QUANTITY.fullmatch(text)
    if not match:
        return text
    number, unit = match.groups()
    if unit.endswith("bit"):
        unit += "/s"
    return f"{number} {unit.replace('us', _MICRO + 's')}"
