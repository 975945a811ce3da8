# SPDX-License-Identifier: GPL-2.0-only
"""What an experiment is: its parameters, its design, its figures, what was published.

A factor is a parameter that the design, or `--set`, gives values. A case is one combination of
factors.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError

from airtcp.errors import InputError
from airtcp.experiment.figures import Figure
from airtcp.experiment.messages import explain, named, parameters_like
from airtcp.experiment.papers import Paper
from airtcp.experiment.published import Published, by_parameter, parameter
from airtcp.experiment.topology import Change, Flow, Network, Topology
from airtcp.experiment.topology_checks import Problem, problems
from airtcp.parameters import OBSERVATION, PARAMETER_NAMES, Parameters, Strict
from airtcp.parameters.conflicts import unsaid
from airtcp.parameters.jsonschema import HINT, Json, Shape
from airtcp.parameters.quantity import Plain

_NAME = "[a-z0-9][a-z0-9-]*"


def _values(name: str) -> Json:
    return {"type": "array", "items": parameter(name), "minItems": 1}


@dataclass(frozen=True)
class Case:
    """One combination of factor values, and all the parameters that it gives."""

    factors: Mapping[str, Plain]
    parameters: Parameters
    network: Network | None = None

    @property
    def slug(self) -> str:
        """A name for a directory: letters, digits, dots, dashes and underscores only."""
        text = "_".join(f"{name}-{value}" for name, value in self.factors.items())
        return re.sub(r"[^A-Za-z0-9._-]", "+", text)


@dataclass(frozen=True)
class Setting:
    """One `--set NAME=V1,V2` as text."""

    name: str
    values: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Setting":
        """Raises InputError unless the text is NAME=V1,V2... of a known parameter."""
        name, equals, values = text.partition("=")
        if name not in PARAMETER_NAMES:
            raise InputError(f"--set {text}: unknown factor {name!r}; {parameters_like(name)}")
        # A list of capture points, and that of the points of a walk, is one value.
        listed = (values,) if name in ("capture", "walk") else tuple(values.split(","))
        if not equals or not all(listed):
            raise InputError(f"--set {text}: give values, as in --set {name}=V1,V2")
        return cls(name, listed)


def checked_name(name: str) -> str:
    """The name; raises ValueError unless an experiment may have it."""
    if not re.fullmatch(_NAME, name):
        raise ValueError(f"{name!r} is not a name; allowed: lower-case letters, digits and dashes")
    return name


def _name_shape() -> Json:
    return {"type": ["string", "integer"], "pattern": f"^{_NAME}$", HINT: "a-z 0-9 -"}


class Experiment(Strict):
    """One file of experiments/, or of a user's own."""

    name: Annotated[str, AfterValidator(checked_name), Shape(_name_shape)] = Field(
        description="lower-case letters, digits and dashes; results go to results/NAME"
    )
    title: str = Field(description="one line, for `list` and the report")
    paper: Paper = Field("own", description="the literature that it reproduces, for `list`")
    source: str = Field(description="where the set-up comes from: a paper, a thesis, yourself")
    description: str = Field(description="what is measured, and what was chosen and why")
    expects: str = Field("", description="what should be seen")
    reason: str = Field(
        "", description="why figures differ from the published ones that say no reason themselves"
    )
    parameters: Parameters = Field(
        Parameters(), description="what all cases have in common, where it is not the default"
    )
    topology: Topology | None = Field(
        None,
        description="a custom topology instead of the default one: docs/reference/topologies.md",
    )
    flows: tuple[Flow, ...] = Field((), description="what is sent in a custom topology")
    schedule: tuple[Change, ...] = Field((), description="what changes in it while it runs")
    design: tuple[Annotated[dict[str, list[str]], Shape(lambda: by_parameter(_values))], ...] = (
        Field(
            ({},),
            description="what differs: every entry gives parameters lists of values, its cases are "
            "all their combinations",
        )
    )
    published: tuple[Published, ...] = Field(
        (), description="figures that others measured, which the results stand beside"
    )
    figures: tuple[Figure, ...] = Field(
        (), description="figures of the report, beside those that every report has"
    )

    @property
    def network(self) -> Network | None:
        """That of the file; None where the parameters say all."""
        if self.topology is None:
            return None
        return Network(topology=self.topology, flows=self.flows, schedule=self.schedule)

    @property
    def factors(self) -> list[str]:
        """Those of the design, each once."""
        return list(dict.fromkeys(itertools.chain(*self.design)))

    def cases(self, settings: Sequence[Setting] = ()) -> list[Case]:
        """The cases to run, in order and each once.

        Settings replace the design by the full product of their values; the experiment's policies
        stay where ack_policy is not among them. One value for a parameter that only observes
        (OBSERVATION) changes that parameter and leaves the design. Raises InputError.
        """
        base = self.parameters
        products: list[Mapping[str, Sequence[str]]] = list(self.design)
        factors: dict[str, Sequence[str]] = {}
        for setting in settings:
            if setting.name in OBSERVATION and len(setting.values) == 1:
                base = _set(base, {setting.name: setting.values[0]})
            elif setting.name in factors:
                raise InputError(f"--set {setting.name}: given twice; write all its values in one")
            else:
                factors[setting.name] = setting.values
        if factors:
            if "ack_policy" not in factors:
                factors["ack_policy"] = self.policies()
            products = [factors]
        combinations = [
            dict(zip(product, values, strict=True))
            for product in products
            for values in itertools.product(*product.values())
        ]
        names = dict.fromkeys(itertools.chain(*products))
        cases = _cases(base, self.network, names, combinations)
        for case in cases:
            for problem in problems_of(case.network, case.parameters):
                at = ".".join(map(str, problem.at))
                given = " ".join(f"{one.name}={','.join(one.values)}" for one in settings)
                raise InputError(f"--set {given}: {at}: {problem.text}")
        return cases

    def published_cases(self) -> list[Case]:
        """The cases that published figures are about, in order and each once."""
        combinations = [one.when for one in self.published]
        combinations += [one.when | one.relative_to for one in self.published if one.relative_to]
        names = dict.fromkeys(itertools.chain(self.factors, *combinations))
        return _cases(self.parameters, self.network, names, combinations)

    def policies(self) -> tuple[str, ...]:
        """The ACK policies of the design, each once."""
        listed = [policy for product in self.design for policy in product.get("ack_policy", ())]
        return tuple(dict.fromkeys(listed)) or (self.parameters.ack_policy,)

    def published_for(self, parameters: Parameters) -> dict[str, Published]:
        """By metric the figure published for these very conditions: all but OBSERVATION equal."""
        under = conditions(parameters)
        found: dict[str, Published] = {}
        for figure in self.published:
            if figure.metric in found or figure.relative_to:
                continue
            if under == conditions(self.parameters.replace(figure.when)):
                found[figure.metric] = figure
        return found


def conditions(parameters: Parameters) -> dict[str, Plain]:
    """What a figure is measured under: all but how long and how closely one looks."""
    return {name: value for name, value in parameters.plain().items() if name not in OBSERVATION}


def _cases(
    base: Parameters,
    network: Network | None,
    names: Iterable[str],
    combinations: Iterable[Mapping[str, str]],
) -> list[Case]:
    """One for each combination of factor values; two that mean the same are one."""
    cases: dict[str, Case] = {}
    for values in combinations:
        parameters = _set(base, values)
        plain = parameters.plain()
        case = Case({name: plain[name] for name in names}, parameters, network)
        cases.setdefault(case.slug, case)
    return list(cases.values())


def problems_of(network: Network | None, parameters: Parameters) -> Iterator[Problem]:
    """What is wrong with a case, though its parameters can be together."""
    if network:
        yield from problems(network, parameters)
    else:
        yield from (Problem(("parameters", name), text) for name, text in unsaid(parameters))


def _set(parameters: Parameters, values: Mapping[str, Plain]) -> Parameters:
    try:
        return parameters.replace(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"--set {named(first, values)}: {explain(first, Parameters)}") from None
