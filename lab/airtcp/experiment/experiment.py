# SPDX-License-Identifier: GPL-2.0-only
"""The model of an experiment: parameters, design, figures and published values.

A factor is a parameter for which the design or `--set` gives values. A case is one combination of
factor values.
"""

import hashlib
import itertools
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, PrivateAttr, ValidationError

from airtcp.errors import InputError
from airtcp.experiment.figures import Figure
from airtcp.experiment.messages import explain, key_at, named, parameters_like
from airtcp.experiment.papers import OWN, Paper
from airtcp.experiment.published import Published, PublishedTable, by_parameter, parameter
from airtcp.experiment.topology import Change, Flow, Network, Topology
from airtcp.experiment.topology_checks import Problem, problems
from airtcp.kernel.names import Names
from airtcp.parameters import OBSERVATION, PARAMETER_NAMES, Parameters, kernelnames, renames
from airtcp.parameters.jsonschema import HINT, Json, Shape, words
from airtcp.parameters.quantity import Plain, WithCommas, duration, whole_seconds
from airtcp.parameters.section import Strict, facts, key_of

KERNEL_FACTOR = "kernel"
"""The factor of sweeps with several kernels, the only one that is not a parameter."""

_T = TypeVar("_T")

_NAME = "[a-z0-9][a-z0-9-]*"

# Other commands write to results/NAME with these names.
_TAKEN = ("all", "tournament", "demo", "deb")

_LONGEST_SLUG = 200
_COMMANDS = {"command", "server_command"}
_WITH_COMMAS = tuple(key_of(Parameters, name) for name, _ in facts(Parameters, WithCommas))


def _factor_shape() -> Json:
    return words(PARAMETER_NAMES, "a factor of the design")


def _values(name: str) -> Json:
    return {"type": "array", "items": parameter(name), "minItems": 1}


@dataclass(frozen=True)
class Case:
    """One combination of factor values, and the resulting parameters."""

    factors: Mapping[str, Plain]
    parameters: Parameters
    network: Network | None = None

    @property
    def slug(self) -> str:
        """Directory name: only letters, digits, dots, dashes and underscores.

        A name that would be too long, or in which commands could become equal, has a hash.
        """
        text = "_".join(f"{name}-{value}" for name, value in self.factors.items())
        name = re.sub(r"[^A-Za-z0-9._-]", "+", text)
        if len(name) <= _LONGEST_SLUG and not _COMMANDS.intersection(self.factors):
            return name
        return f"{name[:_LONGEST_SLUG]}+{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def condition_of(factors: Mapping[str, _T]) -> dict[str, _T]:
    """The factors, or their values, without the ACK policy: a condition compares policies."""
    return {name: value for name, value in factors.items() if name != "ack_policy"}


def differing(cases: Iterable[tuple[Hashable, Mapping[str, Plain]]]) -> list[str]:
    """The factors in which cases differ that have the same key; cases: (key, factors)."""
    differ: dict[str, None] = {}
    first: dict[Hashable, Mapping[str, Plain]] = {}
    for key, factors in cases:
        other = first.setdefault(key, factors)
        differ |= {name: None for name, value in factors.items() if other.get(name) != value}
    return list(differ)


@dataclass(frozen=True)
class Setting:
    """One `--set NAME=V1,V2` as text. option: as it was given, for messages."""

    name: str
    values: tuple[str, ...]
    option: str = ""

    @classmethod
    def parse(cls, text: str) -> "Setting":
        """Raises InputError unless the text is NAME=V1,V2... of a known parameter."""
        name, equals, values = text.partition("=")
        if not name:
            shown = text or repr(text)
            raise InputError(f"--set {shown}: give a name and values, as in --set delay=10ms")
        name = renames.current(name, f"--set {text}")
        if name not in PARAMETER_NAMES:
            raise InputError(f"--set {text}: unknown parameter {name!r}; {parameters_like(name)}")
        listed = (values,) if name in _WITH_COMMAS else tuple(values.split(","))
        if not equals or not all(listed):
            raise InputError(f"--set {text}: give values, as in --set {name}=V1,V2")
        return cls(name, listed)


def checked_name(name: str) -> str:
    """The name; raises ValueError if it is not allowed for an experiment."""
    if not re.fullmatch(_NAME, name):
        raise ValueError(f"{name!r} is not a name; allowed: lower-case letters, digits and dashes")
    if name in _TAKEN:
        taken = f"as another command writes to results/{name}"
        raise ValueError(f"{name!r} is not allowed, {taken}; give another name")
    return name


def _name_shape() -> Json:
    pattern = f"^(?!({'|'.join(_TAKEN)})$){_NAME}$"
    return {"type": ["string", "integer"], "pattern": pattern, HINT: "a-z 0-9 -"}


class Experiment(Strict):
    """One experiment file, from experiments/ or from a user."""

    name: Annotated[str, AfterValidator(checked_name), Shape(_name_shape)] = Field(
        description=f"lower-case letters, digits and dashes, except {', '.join(_TAKEN)}; "
        "results go to results/NAME"
    )
    title: str = Field(min_length=1, description="one line, for `list` and the report")
    paper: Paper = Field(OWN, description="the publication that it reproduces, for `list`")
    source: str = Field(
        "", min_length=1, description="origin of the setup: a paper, a thesis, yourself"
    )
    description: str = Field(
        "", min_length=1, description="what is measured, which choices were made and why"
    )
    expects: str = Field("", description="the expected result")
    reason: str = Field(
        "",
        description="why values differ from published ones, for those without their own `reason`",
    )
    compares: Annotated[str, Shape(_factor_shape)] = Field(
        "",
        description="the factor that the report compares first (default: the ACK policy if it "
        "varies, else a factor of the figures)",
    )
    published_duration_s: Annotated[float | None, duration(0.001, 86_400, "unknown")] = Field(
        None,
        alias="published_duration",
        description="duration of the published measurements, where the publication states it, for "
        "comparison with that of the runs",
    )
    quick_duration_s: Annotated[float, whole_seconds(1, 86_400)] = Field(
        10,
        alias="quick_duration",
        description="limit of `--quick` for the duration of transfers; set it below the default if "
        "the verdicts on published values stay the same",
    )
    parameters: Annotated[Parameters, AfterValidator(Parameters.check)] = Field(
        Parameters(), description="parameters of all cases that differ from the defaults"
    )
    topology: Topology | None = Field(
        None,
        description="a custom topology instead of the default one: docs/reference/topologies.md",
    )
    flows: tuple[Flow, ...] = Field((), description="flows in a custom topology")
    schedule: tuple[Change, ...] = Field(
        (), description="changes in a custom topology during the run"
    )
    design: tuple[Annotated[dict[str, list[str]], Shape(lambda: by_parameter(_values))], ...] = (
        Field(
            ({},),
            description="what varies: each entry gives lists of values for parameters; its cases "
            "are all combinations of these values",
        )
    )
    published: tuple[Published, ...] = Field(
        (), description="values that others measured, for comparison with the results"
    )
    published_tables: tuple[PublishedTable, ...] = Field(
        (), description="the same as tables; the reader adds their values to `published`"
    )
    readings: tuple[str, ...] = Field(
        (),
        description="ACK policies that are readings of the same published one; a published value "
        "that is compared with several of them counts once, with the best",
    )
    reading_of: Annotated[str, AfterValidator(checked_name), Shape(_name_shape)] = Field(
        "",
        description="another experiment with the same published values; this one assumes a "
        "different setting where the publication is silent or contradicts itself; each value "
        "counts once, with the better verdict",
    )
    figures: tuple[Figure, ...] = Field(
        (), description="figures of the report, in addition to those that every report has"
    )

    _allowed: Names = PrivateAttr(default_factory=kernelnames.context)

    def model_post_init(self, context: Names | None) -> None:
        """Keep the names that the file may have, for those of `--set`."""
        if context is not None:
            self._allowed = context

    @property
    def network(self) -> Network | None:
        """The custom topology; None for the default one."""
        if self.topology is None:
            return None
        return Network(topology=self.topology, flows=self.flows, schedule=self.schedule)

    @property
    def factors(self) -> list[str]:
        """The factors of the design, each once."""
        return list(dict.fromkeys(itertools.chain(*self.design)))

    def cases(self, settings: Sequence[Setting] = ()) -> list[Case]:
        """The cases to run, in order, each once.

        Settings replace the design by the full product of their values; the experiment's policies
        are kept unless ack_policy is set. A single value for a parameter that only observes
        (OBSERVATION) changes that parameter and keeps the design. Raises InputError.
        """
        products: list[Mapping[str, Sequence[str]]] = list(self.design)
        observed: dict[str, str] = {}
        factors: dict[str, Sequence[str]] = {}
        for setting in settings:
            if setting.name in observed.keys() | factors:
                raise InputError(f"--set {setting.name}: given twice; give all values in one --set")
            if setting.name in OBSERVATION and len(setting.values) == 1:
                observed[setting.name] = setting.values[0]
            else:
                factors[setting.name] = setting.values
        if factors:
            if "ack_policy" not in factors:
                factors["ack_policy"] = self.policies()
            products = [factors]
        combinations = [
            observed | dict(zip(product, values, strict=True))
            for product in products
            for values in itertools.product(*product.values())
        ]
        names = dict.fromkeys(itertools.chain(*products))
        return _checked(self._cases(names, combinations, settings), settings)

    def published_cases(self) -> list[Case]:
        """The cases with published values, in order, each once. Raises InputError."""
        combinations = [value.when for value in self.published]
        combinations += [
            value.when | value.relative_to for value in self.published if value.relative_to
        ]
        names = dict.fromkeys(itertools.chain(self.factors, *combinations))
        return _checked(self._cases(names, combinations))

    def policies(self) -> tuple[str, ...]:
        """The ACK policies of the design, each once."""
        listed = [policy for product in self.design for policy in product.get("ack_policy", ())]
        return tuple(dict.fromkeys(listed)) or (self.parameters.ack_policy,)

    def published_for(self, cases: Iterable[Case]) -> list[dict[str, Published]]:
        """For each case, the values published for exactly its conditions, by metric."""
        values: dict[tuple[object, ...], dict[str, Published]] = {}
        for value in self.published:
            if not value.relative_to:
                under = self.parameters.replace(value.when).conditions
                values.setdefault(under, {}).setdefault(value.metric, value)
        return [values.get(case.parameters.conditions, {}) for case in cases]

    def _cases(
        self,
        names: Iterable[str],
        combinations: Iterable[Mapping[str, str]],
        settings: Sequence[Setting] = (),
    ) -> list[Case]:
        """A case for each combination of factor values; equivalent combinations are merged."""
        cases: dict[str, Case] = {}
        for values in combinations:
            parameters = self._set(values, settings)
            case = Case(parameters.plain(names), parameters, self.network)
            cases.setdefault(case.slug, case)
        return list(cases.values())

    def _set(self, values: Mapping[str, Plain], settings: Sequence[Setting]) -> Parameters:
        try:
            return self.parameters.replace(values, self._allowed)
        except ValidationError as error:
            first = error.errors()[0]
            at, text = named(first, values), explain(first, Parameters)
            options = {setting.name: setting.option for setting in settings}
            where = options.get(at) or (f"--set {at}" if settings else at)
            raise InputError(f"{where}: {text}") from None


def _checked(cases: list[Case], settings: Sequence[Setting] = ()) -> list[Case]:
    """The same cases. Raises InputError if one has a problem."""
    for case in cases:
        for problem in problems_of(case.network, case.parameters):
            at = key_at(problem.at).removeprefix("parameters.")
            given = [f"{setting.name}={','.join(setting.values)}" for setting in settings]
            options = f"--set {' '.join(given)}: " if given else ""
            where = "" if [setting.name for setting in settings] == [at] else f"{at}: "
            raise InputError(f"{options}{where}{problem.text}")
    return cases


def conditions(parameters: Mapping[str, Plain]) -> dict[str, Plain]:
    """The conditions of a measurement: all parameters but those in OBSERVATION."""
    return {name: value for name, value in parameters.items() if name not in OBSERVATION}


def problems_of(network: Network | None, parameters: Parameters) -> Iterator[Problem]:
    """Problems of a case whose parameters do not conflict with each other."""
    if network:
        yield from problems(network, parameters)
    else:
        yield from (Problem(("parameters", name), text) for name, text in parameters.misfits())
