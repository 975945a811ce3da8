# SPDX-License-Identifier: GPL-2.0-only
"""results.json as the page needs it: conditions, the policies measured under each, their runs.

A condition is a combination of all factors except ack_policy. Policies are compared per condition.
"""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from airtcp import provenance, statistics
from airtcp.errors import AirtcpError, InputError
from airtcp.experiment.casenames import display_name, unusual, usual_values
from airtcp.experiment.experiment import condition_of, differing
from airtcp.experiment.published import published_ratio
from airtcp.experiment.topology import Network
from airtcp.files.latency import Latency, read_ping
from airtcp.kernel.policies import BASELINE
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.results import artifacts, assembly, comparison, documents
from airtcp.results.comparison import Durations
from airtcp.results.documents import Comparison, FigureRecord, PublishedValue, SummaryRow
from airtcp.results.record import HostRecord, KernelRecord, RunRecord
from airtcp.steps.workloads import HEADLINES
from airtcp.steps.workloads.workload import Headline
from airtcp.testbed.build import build
from airtcp.testbed.model import Testbed

POLICY = "ack_policy"

_MICRO = "\N{MICRO SIGN}"
_MINUS = "\N{MINUS SIGN}"

# Defaults with which a factor has no effect; labels omit them.
_NEUTRAL = frozenset({"unlimited", "none", "kernel", "preset"})
_Item = TypeVar("_Item", RunRecord, SummaryRow)

# Options of `run` that change what is measured, beside --set.
_SETTING_OPTIONS = ("--duration", "--seeds", "--policy", "--kernel-source")

_QUANTITY = re.compile(r"(-?[0-9.]+)(s|ms|us|ns|[kMG]?bit|[KMG]i?B|B|MHz|packets|dBm?|m)")


@dataclass(frozen=True)
class Run:
    """One run. directory contains its files."""

    record: RunRecord
    directory: Path

    @property
    def seed(self) -> int:
        return self.record.seed

    @property
    def parameters(self) -> Mapping[str, Plain]:
        """As recorded, with the names of the version that did the run."""
        return self.record.parameters

    @property
    def hosts(self) -> Mapping[str, HostRecord]:
        """The real hosts that did the run, by name; empty if it was simulated."""
        return self.record.measured_on.hosts if self.record.measured_on else {}

    @cached_property
    def settings(self) -> Parameters:
        """The parsed parameters. Raises AirtcpError for those of an incompatible version."""
        try:
            return Parameters.model_validate(dict(self.parameters))
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise AirtcpError(
                f"{self.directory}: its parameters do not fit this version: {reason}"
            ) from None

    @cached_property
    def network(self) -> Network | None:
        """The custom topology, if any. Raises AirtcpError for one of an incompatible version."""
        if self.record.network is None:
            return None
        try:
            return Network.model_validate(self.record.network)
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise AirtcpError(
                f"{self.directory}: its topology does not fit this version: {reason}"
            ) from None

    @cached_property
    def testbed(self) -> Testbed:
        """The run's testbed. Raises AirtcpError for a topology of an incompatible version."""
        return build(self.settings, self.network)

    @property
    def pings(self) -> list[Latency]:
        """The RTTs of each station that ran ping. Raises AirtcpError if a file cannot be read."""
        if self.record.metrics.get("ping_rtt_ms_p50") is None:
            return []
        files = [probe.file for probe in self.testbed.probes if probe.tool == "ping"]
        return [read_ping(self.directory, file) for file in files]


@dataclass(frozen=True)
class Measured:
    """One policy under one condition: its runs by seed, and the means over its runs."""

    policy: str
    runs: Sequence[Run]
    summaries: Mapping[str, statistics.Summary]
    published: Mapping[str, PublishedValue]

    @cached_property
    def parameters(self) -> Mapping[str, Plain]:
        """The parameters of the case, and its kernel if there are several."""
        run = self.runs[0]
        return {**Parameters.defaults(), **run.parameters, **run.record.factors}

    def by_seed(self, metric: str) -> dict[int, float]:
        """The metric of every run that has it."""
        values = ((run.seed, run.record.metrics.get(metric)) for run in self.runs)
        return {seed: value for seed, value in values if value is not None}


@dataclass(frozen=True)
class Condition:
    """A condition with its policies. slug is safe in file names and fragments."""

    label: str
    slug: str
    policies: Sequence[Measured]

    @property
    def on_hosts(self) -> bool:
        """Whether real hosts did a run."""
        return any(run.hosts for measured in self.policies for run in measured.runs)

    def measured(self, policy: str) -> Measured | None:
        return next((measured for measured in self.policies if measured.policy == policy), None)


@dataclass(frozen=True)
class Gain:
    """Ratio of a policy to the baseline under one condition: paired by seed, and published."""

    condition: Condition
    policy: str
    measured: statistics.Summary | None
    published: float | None


@dataclass(frozen=True)
class Results:
    """The results of an experiment. all_factors: of all cases, also of those without a run."""

    name: str
    title: str
    source: str
    command: str
    kernels: Sequence[KernelRecord]
    policies: Sequence[str]
    conditions: Sequence[Condition]
    failures: Sequence[str]
    usual: Mapping[str, Plain]  # values that labels omit
    damaged: Sequence[str]  # runs that are left out because a file is missing or has changed
    figures: Sequence[FigureRecord]
    published: Sequence[Comparison]
    durations: Durations | None
    compares: str  # the main factor; "" if not declared
    expects: str
    reason: str  # why values differ from published ones
    all_factors: Sequence[Mapping[str, Plain]] = ()

    @property
    def settings(self) -> list[str]:
        """What the command set, as `delay=0ms,10ms`."""
        return settings_of(self.command)

    @property
    def cases(self) -> list[Measured]:
        return [case for condition in self.conditions for case in condition.policies]

    @property
    def runs(self) -> list[Run]:
        return [run for case in self.cases for run in case.runs]


def run_name(directory: Path) -> str:
    """The name of a run for its user: CASE/seed-N."""
    return f"{directory.parent.name}/{directory.name}"


def is_bulk(run: Run) -> bool:
    """Whether a flow has the workload bulk."""
    return "bulk" in run.record.workloads


def with_metric(results: Results, metric: str) -> Results:
    """Only the conditions that have this metric; with cables, for example, there is no airtime."""
    conditions = [
        condition
        for condition in results.conditions
        if any(metric in case.summaries for case in condition.policies)
    ]
    return replace(results, conditions=conditions)


def headlines(results: Results) -> list[tuple[Headline, Results]]:
    """The headline metrics of its workloads, each with the conditions that have it."""
    pairs = [(headline, with_metric(results, headline.metric)) for headline in HEADLINES.values()]
    return [(headline, matching) for headline, matching in pairs if matching.conditions]


def gains(results: Results, metric: str) -> list[Gain]:
    """Every policy relative to the baseline, under the conditions where both were measured."""
    ratios = []
    for condition in results.conditions:
        baseline = condition.measured(BASELINE)
        for other in condition.policies:
            if baseline is None or other is baseline:
                continue
            base, published = baseline.published.get(metric), other.published.get(metric)
            ratios.append(
                Gain(
                    condition,
                    other.policy,
                    statistics.paired_ratio(baseline.by_seed(metric), other.by_seed(metric)),
                    published_ratio(published, base) if base and published else None,
                )
            )
    return ratios


def load(out_dir: Path) -> Results:
    """Read out_dir/results.json, without the runs whose files are damaged.

    Raises InputError if it is missing or corrupt, or if no undamaged run has finished.
    """
    recorded = documents.read(out_dir)
    damaged = artifacts.damaged(recorded.runs, out_dir)
    document = assembly.without(recorded, [damage.run for damage in damaged])
    runs = [run for run in document.runs if run.ok]
    if not runs:
        raise InputError(
            f"{out_dir / documents.FILE}: contains no finished run"
            + (f" undamaged ({damaged[0]})" if damaged else "")
        )
    policies = list(dict.fromkeys(_policy(run) for run in runs))
    policies.sort(key=lambda policy: policy != BASELINE)  # stable: the others keep their order
    usual = usual_values([run.factors for run in document.runs])
    varying = differing(("", condition_of(run.factors)) for run in document.runs)
    summaries = _by_condition(document.summary)
    return Results(
        name=document.experiment,
        title=document.title,
        source=document.source,
        command=document.command,
        kernels=list(dict.fromkeys(run.kernel for run in runs)),
        policies=policies,
        conditions=list(
            _with_own_slugs(
                _condition(
                    _label(of_condition[0], varying, usual),
                    policies,
                    [Run(run, run.directory(out_dir)) for run in of_condition],
                    summaries.get(key, ()),
                )
                for key, of_condition in _by_condition(runs).items()
            )
        ),
        failures=[
            f"{label_of(run.factors, usual)}, seed {run.seed}: {run.error}"
            for run in document.runs
            if not run.ok
        ],
        usual=usual,
        damaged=[str(damage) for damage in damaged],
        figures=document.figures,
        published=[row for row in document.published if row.measured is not None],
        durations=comparison.durations(document),
        compares=document.compares,
        expects=document.expects,
        reason=document.reason,
        all_factors=list({str(row.factors): row.factors for row in document.summary}.values()),
    )


def _policy(run: RunRecord) -> str:
    """The ACK policy of a run, whether or not it is a factor."""
    return str(run.factors.get(POLICY) or run.parameters[POLICY])


def _by_condition(items: Sequence[_Item]) -> dict[str, list[_Item]]:
    """Runs or rows by their condition, in order."""
    grouped: dict[str, list[_Item]] = {}
    for item in items:
        grouped.setdefault(json.dumps(condition_of(item.factors)), []).append(item)
    return grouped


def _label(run: RunRecord, varying: Sequence[str], usual: Mapping[str, Plain]) -> str:
    """The label of a run's condition: the factors that vary, all if none varies."""
    factors = condition_of(run.factors)
    varied = {name: value for name, value in factors.items() if name in varying}
    return label_of(varied or factors, usual)


def _condition(
    label: str, policies: Sequence[str], runs: Sequence[Run], summaries: Sequence[SummaryRow]
) -> Condition:
    """A condition, of all its runs and rows."""
    measured = []
    for policy in policies:
        own_runs = [run for run in runs if run.record.factors.get(POLICY, policy) == policy]
        own_rows = [row for row in summaries if row.factors.get(POLICY, policy) == policy]
        if own_runs:
            measured.append(_measured(policy, own_runs, own_rows))
    text = label.replace(_MICRO, "u")
    return Condition(label, re.sub("[^A-Za-z0-9]+", "-", text).strip("-").lower(), measured)


def _with_own_slugs(conditions: Iterable[Condition]) -> Iterator[Condition]:
    """The conditions, with a number behind slugs that are already used."""
    used: set[str] = set()
    for condition in conditions:
        slug, number = condition.slug, 1
        while slug in used:
            number += 1
            slug = f"{condition.slug}-{number}"
        used.add(slug)
        yield replace(condition, slug=slug)


def _measured(policy: str, runs: Sequence[Run], summaries: Sequence[SummaryRow]) -> Measured:
    return Measured(
        policy=policy,
        runs=sorted(runs, key=lambda run: run.seed),
        summaries={
            row.metric: statistics.Summary(row.mean, row.ci95, row.n)
            for row in summaries
            if row.mean is not None
        },
        published={row.metric: row.published for row in summaries if row.published},
    )


def label_of(factors: Mapping[str, Plain], usual: Mapping[str, Plain] | None = None) -> str:
    """The factors that have an effect; all factors if none has.

    usual: values of casenames.py; if there are any, the factors with other values.
    """
    if usual:
        shown = unusual(factors, usual)
        return ", ".join(factor(name, value) for name, value in shown.items()) or "usual values"
    defaults = Parameters.defaults()
    active = {
        name: value
        for name, value in factors.items()
        if str(value) not in _NEUTRAL or str(value) != str(defaults.get(name))
    }
    named = active or factors
    return ", ".join(factor(name, value) for name, value in named.items()) or "all"


def factor(name: str, value: object) -> str:
    """A factor with its value: `delay 50 ms`; `cubic`, as no other factor has such values."""
    if name == "congestion_control":
        return str(value)
    return f"{display_name(name)} {readable(value)}"


def settings_of(command: str) -> list[str]:
    """What the command of a sweep set: `delay=0ms,10ms`, `duration=5s`, `quick`."""
    given = provenance.split(command)
    pairs = list(itertools.pairwise([*given, ""]))
    return [
        *(value for option, value in pairs if option == "--set"),
        *(f"{option[2:]}={value}" for option, value in pairs if option in _SETTING_OPTIONS),
        *(option[2:] for option in given if option in ("--quick", "--full")),
    ]


def readable(value: object) -> str:
    """A value as people write it: `50ms` is 50 ms, `10Mbit` 10 Mbit/s, `99000B` 99 kB, 2.0 is 2."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    match = _QUANTITY.fullmatch(text)
    if not match:
        return text
    number, unit = match.groups()
    if unit == "B" and number.endswith("000"):
        thousands = number.removesuffix("000")
        is_mega = thousands.endswith("000")
        number, unit = (thousands[:-3], "MB") if is_mega else (thousands, "kB")
    if unit.endswith("bit"):
        unit += "/s"
    return f"{number.replace('-', _MINUS)} {unit.replace('us', _MICRO + 's')}"
