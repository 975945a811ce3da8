# SPDX-License-Identifier: GPL-2.0-only
"""results.json as the page needs it: conditions, the policies measured under each, their runs.

A condition is one combination of all factors but ack_policy: what the policies are compared under.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from airtcp import statistics
from airtcp.errors import AirtcpError, InputError
from airtcp.experiment.figures import Figure
from airtcp.experiment.metrics import HEADLINES, Headline
from airtcp.experiment.topology import Network
from airtcp.kernel.policies import BASELINE
from airtcp.parameters import Parameters
from airtcp.results import documents, reproduction
from airtcp.results.files.latency import Latency, read_ping
from airtcp.results.modelfit import Point
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

    seed: int
    directory: Path
    parameters: Mapping[str, Any]
    metrics: Mapping[str, float | None]
    cost: Mapping[str, float]
    artifacts: Mapping[str, Mapping[str, str]]
    identity: str  # hash of all that decides the run
    network: Mapping[str, Any] | None = None  # of one's own
    flows: Sequence[Mapping[str, Any]] = ()  # in such a network

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
        if self.network is None:
            return build(self.settings)
        try:
            return build(self.settings, Network.model_validate(self.network))
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
    mean_absolute_error: Mapping[str, float] | None


@dataclass(frozen=True)
class Results:
    """A whole experiment."""

    name: str
    title: str
    source: str
    command: str
    kernel: Mapping[str, str]
    policies: Sequence[str]
    conditions: Sequence[Condition]
    failures: Sequence[str]
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
    if run.network is not None:
        return any(flow.get("workload", "bulk") == "bulk" for flow in run.flows)
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
    """Read out_dir/results.json. Raises InputError when it is missing or not what it should be."""
    document = documents.read(out_dir)
    try:
        return _results(out_dir, document)
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration) as error:
        raise InputError(f"{out_dir / 'results.json'}: not a whole document ({error!r})") from None


def _results(out_dir: Path, document: Mapping[str, Any]) -> Results:
    runs = [run for run in document["runs"] if _finished(run)]
    if not runs:
        raise InputError(f"{out_dir / 'results.json'}: no run in it has finished")
    policies = list(dict.fromkeys(_policy(run) for run in runs))
    policies.sort(key=lambda policy: policy != BASELINE)  # stable: the others keep their order
    conditions = {_condition_key(run): _condition_factors(run["factors"]) for run in runs}
    return Results(
        name=document["experiment"],
        title=document["title"],
        source=document["source"],
        command=document["command"],
        kernel=document["kernel"],
        policies=policies,
        conditions=[
            _condition(out_dir, runs, document["summary"], key, factors, policies)
            for key, factors in conditions.items()
        ],
        failures=[
            f"{_label(run['factors'])}, seed {run['seed']}: {run['error']}"
            for run in document["runs"]
            if not _finished(run)
        ],
        figures=[_declared(one) for one in document.get("figures", ())],
        ratios=reproduction.ratios(document.get("published", ())),
    )


def _declared(document: Mapping[str, Any]) -> Declared:
    measured = ("points", "mean_absolute_error")
    figure = {key: value for key, value in document.items() if key not in measured}
    return Declared(
        TypeAdapter[Figure](Figure).validate_python(figure),
        [Point.read(point) for point in document.get("points", ())],
        document.get("mean_absolute_error"),
    )


def _finished(run: Mapping[str, Any]) -> bool:
    return bool(run["status"] == "ok")


def _policy(of: Mapping[str, Any]) -> str:
    """The ACK policy of a run, be it a factor or not."""
    return str(of["factors"].get(_POLICY) or of["parameters"][_POLICY])


def _condition_factors(factors: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in factors.items() if name != _POLICY}


def _condition_key(of: Mapping[str, Any]) -> str:
    return json.dumps(_condition_factors(of["factors"]))


def _condition(
    out_dir: Path,
    all_runs: Sequence[Mapping[str, Any]],
    all_summaries: Sequence[Mapping[str, Any]],
    key: str,
    factors: Mapping[str, Any],
    policies: Sequence[str],
) -> Condition:
    label = _label(factors)
    measured = []
    for policy in policies:
        runs = [one for one in all_runs if _is(one, key, policy)]
        summaries = [one for one in all_summaries if _is(one, key, policy)]
        if runs:
            measured.append(_measured(out_dir, policy, runs, summaries))
    return Condition(label, re.sub("[^A-Za-z0-9]+", "-", label).strip("-").lower(), measured)


def _is(of: Mapping[str, Any], condition_key: str, policy: str) -> bool:
    return _condition_key(of) == condition_key and (of["factors"].get(_POLICY, policy) == policy)


def _measured(
    out_dir: Path,
    policy: str,
    runs: Sequence[Mapping[str, Any]],
    summaries: Sequence[Mapping[str, Any]],
) -> Measured:
    return Measured(
        policy=policy,
        runs=sorted((_run(out_dir, run) for run in runs), key=lambda run: run.seed),
        summaries={
            one["metric"]: statistics.Summary(one["mean"], one["ci95"], one["n"])
            for one in summaries
            if one["mean"] is not None
        },
        published={
            one["metric"]: Published(
                float(one["published"]["value"]),
                one["published"]["source"],
                one["published"]["precision"] != "exact",
            )
            for one in summaries
            if one.get("published")
        },
    )


def _run(out_dir: Path, run: Mapping[str, Any]) -> Run:
    first = next(iter(run["artifacts"].values()))
    return Run(
        seed=int(run["seed"]),
        directory=out_dir / Path(first["path"]).parent,
        parameters=run["parameters"],
        metrics=run["metrics"],
        cost=run["cost"],
        artifacts=run["artifacts"],
        identity=run["identity"],
        network=run.get("network"),
        flows=run.get("flows", ()),
    )


def _label(factors: Mapping[str, Any]) -> str:
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
