# SPDX-License-Identifier: GPL-2.0-only
"""What an experiment is: its parameters, its design, its figures, what was published; from YAML.

A factor is a parameter that the design, or `--set`, gives values. A cell is one combination of
factors.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from airtcp import suggest, yamlfile
from airtcp.catalogue.literature import Paper, Precision, Word
from airtcp.errors import InputError
from airtcp.network.checks import Problem, problems
from airtcp.network.model import Change, Flow, Network, Topology, model_at
from airtcp.network.scene import Scene
from airtcp.outputs.figures import KIND, KINDS, Figure, ModelFigure, tsq_packets, unknown_metric
from airtcp.outputs.metrics import METRICS
from airtcp.parameters import CONFLICT, OBSERVATION, PARAMETER_NAMES, Strict, jsonschema
from airtcp.parameters import Parameters as Parameters
from airtcp.parameters.conflicts import unsaid
from airtcp.parameters.jsonschema import HINT, PARAMETER, Json, Shape
from airtcp.parameters.quantity import Plain
from airtcp.paths import EXPERIMENTS_DIR, REPOSITORY

_NAME = "[a-z0-9][a-z0-9-]*"

# Where the list of parameters is, which is too long for a message.
_PARAMETERS_IN = "all: docs/experiments.md"


def _parameter(name: str) -> Json:
    return {PARAMETER: name}


def _values(name: str) -> Json:
    return {"type": "array", "items": _parameter(name), "minItems": 1}


def _by_parameter(schema: Callable[[str], Json]) -> Json:
    properties = {name: schema(name) for name in PARAMETER_NAMES}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _read_value(value: object) -> float | str:
    text = str(value)
    if text in get_args(Word):
        return text
    try:
        return float(text)
    except ValueError:
        allowed = ", ".join(get_args(Word))
        raise ValueError(f"{text!r} is not a number; with relative_to also {allowed}") from None


def _value_shape() -> Json:
    return jsonschema.either(dict(jsonschema.NUMBER), jsonschema.words(get_args(Word)))


class Published(Strict):
    """A figure that others measured, and the factor values at which they did.

    With relative_to the value is a ratio: the metric over that at the same factor values but for
    these; or in words what is said of it. reason: why ours differs, as far as it is known; where it
    is empty that of the experiment.
    """

    when: Annotated[dict[str, str], Shape(lambda: _by_parameter(_parameter))] = Field(
        description="the parameters at which it was measured, where they differ from those above"
    )
    relative_to: Annotated[dict[str, str], Shape(lambda: _by_parameter(_parameter))] = Field(
        {},
        description="makes the figure a ratio: to the metric at the same parameters but for these",
    )
    metric: Annotated[str, Shape(lambda: jsonschema.words(METRICS, "a metric"))] = Field(
        description="what was measured (docs/metrics.md)"
    )
    value: Annotated[float | Word, BeforeValidator(_read_value), Shape(_value_shape)] = Field(
        description="the figure, in the unit of the metric; of a ratio also more, less or same"
    )
    precision: Precision = Field(
        description="exact: printed as a number; approximate: read off a plot or a text; or a bound"
    )
    source: str = Field(description="where it stands: table, figure, page")
    reason: str = Field("", description="why ours differs, as far as it is known")

    @model_validator(mode="after")
    def _comparable(self) -> "Published":
        if isinstance(self.value, str) and not self.relative_to:
            raise ValueError(f"value {self.value}: say than when, by relative_to")
        if self.relative_to and self.precision not in ("exact", "approximate"):
            raise ValueError(f"precision {self.precision}: is of values, not of ratios")
        return self


@dataclass(frozen=True)
class Cell:
    """One combination of factor values, and all the parameters that it gives."""

    factors: Mapping[str, Plain]
    parameters: Parameters
    network: Network | None = None

    @property
    def scene(self) -> Scene | None:
        """The network of the experiment's own with these parameters; None for the usual one."""
        return Scene(self.network, self.parameters) if self.network else None

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
            raise InputError(f"--set {text}: unknown factor {name!r}; {_parameters_like(name)}")
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
        Parameters(), description="what all cells have in common, where it is not the default"
    )
    topology: Topology | None = Field(
        None, description="a network of one's own, in place of the usual one: docs/topologies.md"
    )
    flows: tuple[Flow, ...] = Field((), description="what is sent in a topology of one's own")
    schedule: tuple[Change, ...] = Field((), description="what changes in it while it runs")
    design: tuple[Annotated[dict[str, list[str]], Shape(lambda: _by_parameter(_values))], ...] = (
        Field(
            ({},),
            description="what differs: every entry gives parameters lists of values, its cells are "
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

    def cells(self, settings: Sequence[Setting] = ()) -> list[Cell]:
        """The cells to run, in order and each once.

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
        cells = _cells(base, self.network, names, combinations)
        for cell in cells:
            for problem in _problems(cell.network, cell.parameters):
                at = ".".join(map(str, problem.at))
                given = " ".join(f"{one.name}={','.join(one.values)}" for one in settings)
                raise InputError(f"--set {given}: {at}: {problem.text}")
        return cells

    def published_cells(self) -> list[Cell]:
        """The cells that published figures are about, in order and each once."""
        combinations = [one.when for one in self.published]
        combinations += [one.when | one.relative_to for one in self.published if one.relative_to]
        names = dict.fromkeys(itertools.chain(self.factors, *combinations))
        return _cells(self.parameters, self.network, names, combinations)

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


def _cells(
    base: Parameters,
    network: Network | None,
    names: Iterable[str],
    combinations: Iterable[Mapping[str, str]],
) -> list[Cell]:
    """One for each combination of factor values; two that mean the same are one."""
    cells: dict[str, Cell] = {}
    for values in combinations:
        parameters = _set(base, values)
        plain = parameters.plain()
        cell = Cell({name: plain[name] for name in names}, parameters, network)
        cells.setdefault(cell.slug, cell)
    return list(cells.values())


def _problems(network: Network | None, parameters: Parameters) -> Iterator[Problem]:
    """What is wrong with a cell, though its parameters can be together."""
    if network:
        yield from problems(network, parameters)
    else:
        yield from (Problem(("parameters", name), text) for name, text in unsaid(parameters))


def _set(parameters: Parameters, values: Mapping[str, Plain]) -> Parameters:
    try:
        return parameters.replace(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"--set {_named(first, values)}: {_explain(first, Parameters)}") from None


def _named(error: ErrorDetails, values: Mapping[str, Plain]) -> str:
    """The parameter at fault; when it is not among the values, also those, which conflict."""
    name = str(error["loc"][0])
    if name in values:
        return name
    return " ".join(f"{key}={value}" for key, value in values.items()) + f": {name}"


def load(experiment: str | Path) -> Experiment:
    """The experiment of a name in experiments/, or of a YAML file. Raises InputError."""
    path = Path(experiment)
    if path.suffix not in (".yaml", ".yml"):
        path = EXPERIMENTS_DIR / f"{experiment}.yaml"
        if not path.is_file():
            here = [
                file for file in (f"{experiment}.yaml", f"{experiment}.yml") if Path(file).is_file()
            ]
            known = suggest.allowed(
                str(experiment), [*here, *names()], "or the path of a .yaml file"
            )
            raise InputError(f"unknown experiment {str(experiment)!r}; {known}")
    return _Reader(_shown(path)).experiment(yamlfile.read(path))


def names() -> list[str]:
    """The experiments that come with the laboratory."""
    return sorted(path.stem for path in EXPERIMENTS_DIR.glob("*.yaml"))


def _shown(path: Path) -> str:
    """The path as an error names it: short when it is one of ours."""
    path = path.resolve()
    root = REPOSITORY
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


_Location = tuple[str | int, ...]


class _Reader:
    """Reads one YAML file into an Experiment and can say on which line each thing stands."""

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self._lines: dict[_Location, int] = {}

    def experiment(self, text: str) -> Experiment:
        node = yamlfile.compose(text, self._shown)
        if not isinstance(node, yaml.MappingNode):
            raise InputError(
                f"{self._shown}:1: must be a list of `key: value` lines; keys: "
                + " ".join(Experiment.model_fields)
            )
        try:
            experiment = Experiment.model_validate(self._data(node, ()))
        except ValidationError as error:
            first = _telling(error)
            at = first["loc"]
            # pydantic names the kind of a figure after its number; the file has no such key there.
            key = (*at[:2], *at[3:]) if at[0] == "figures" else at
            raise self._error(key, _explain(first, _model_at(at))) from None
        for name in ("flows", "schedule"):
            if experiment.topology is None and (name,) in self._lines:
                raise self._error((name,), "is for networks with a `topology`")
        self._check_factors(experiment)
        self._check_figures(experiment)
        self._check_published(experiment)
        return experiment

    def _data(self, node: yaml.Node, at: _Location) -> object:
        """The node as dicts, lists and the very text of scalars: the schema gives the types."""
        self._lines.setdefault(at, node.start_mark.line + 1)
        if isinstance(node, yaml.SequenceNode):
            return [self._data(item, (*at, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            mapping: dict[str, object] = {}
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    self._lines[at] = key.start_mark.line + 1
                    raise self._error(at, "a key is a word, not a list or keys of its own")
                where = (*at, str(key.value))
                if key.value in mapping:
                    self._lines[where] = key.start_mark.line + 1
                    raise self._error(where, "given twice")
                self._lines[where] = key.start_mark.line + 1
                mapping[str(key.value)] = self._data(value, where)
            return mapping
        return node.value

    def _check_factors(self, experiment: Experiment) -> None:
        """Factor names and values of the design and of published figures are parameters."""
        for number, product in enumerate(experiment.design):
            for name, values in product.items():
                for index, value in enumerate(values):
                    self._check_value(name, value, ("design", number, name), (index,))
                if not values:
                    raise self._error(("design", number, name), "give at least one value")
        for number, figure in enumerate(experiment.published):
            for key, factors in (("when", figure.when), ("relative_to", figure.relative_to)):
                for name, value in factors.items():
                    self._check_value(name, value, ("published", number, key, name), ())
            if figure.metric not in METRICS:
                raise self._error(
                    ("published", number, "metric"),
                    unknown_metric(figure.metric),
                )
        self._check_conflicts(experiment)

    def _check_figures(self, experiment: Experiment) -> None:
        """Figures name factors of the design; a model has something to be compared with."""
        factors = experiment.factors
        for number, figure in enumerate(experiment.figures):
            for key, factor in figure.factors().items():
                if factor not in factors:
                    raise self._error(
                        ("figures", number, key),
                        f"{factor!r} is not a factor of the design; "
                        + suggest.allowed(factor, factors),
                    )
            if isinstance(figure, ModelFigure) and not any(
                tsq_packets(cell.parameters.plain()["tsq"]) for cell in experiment.cells()
            ):
                raise self._error(
                    ("figures", number, "model"),
                    "no cell has a tsq in packets, as in 40packets, which the model is about",
                )

    def _check_conflicts(self, experiment: Experiment) -> None:
        """Every cell, and the conditions of every published figure, are possible."""
        combinations: list[tuple[_Location, dict[str, str]]] = [
            (("design", number), dict(zip(product, values, strict=True)))
            for number, product in enumerate(experiment.design)
            for values in itertools.product(*product.values())
        ]
        for number, figure in enumerate(experiment.published):
            combinations.append((("published", number, "when"), figure.when))
            if figure.relative_to:
                other = figure.when | figure.relative_to
                combinations.append((("published", number, "relative_to"), other))
        for at, values in combinations:
            try:
                parameters = experiment.parameters.replace(values)
            except ValidationError as error:
                first = error.errors()[0]
                text = f"{_named(first, values)}: {_explain(first, Parameters)}"
                raise self._error(at, text) from None
            for problem in _problems(experiment.network, parameters):
                given = " ".join(f"{name}={value}" for name, value in values.items())
                raise self._error(problem.at, f"{problem.text}{given and f' (with {given})'}")

    def _check_published(self, experiment: Experiment) -> None:
        """Every published figure is about a case of the design."""
        base = experiment.parameters.plain()
        design = [
            {name: set(values) for name, values in product.items()} for product in experiment.design
        ]
        for number, figure in enumerate(experiment.published):
            when = {"when": figure.when}
            if figure.relative_to:
                when["relative_to"] = figure.when | figure.relative_to
            for key, values in when.items():
                # As text first: values of parameters take a while.
                if any(_fits(values, product, base) for product in design):
                    continue
                under = conditions(experiment.parameters.replace(values))
                if under not in (conditions(cell.parameters) for cell in experiment.cells()):
                    given = " ".join(f"{name}={value}" for name, value in values.items())
                    raise self._error(
                        ("published", number, key),
                        f"no case of the design has {given or 'the parameters above'}",
                    )

    def _check_value(self, name: str, value: str, at: _Location, within: _Location) -> None:
        if name not in PARAMETER_NAMES:
            raise self._error(at, f"unknown factor; {_parameters_like(name)}")
        try:
            Parameters.model_validate({name: value})
        except ValidationError as error:
            first = error.errors()[0]
            # Whether values go together hangs on the others, too.
            if first["type"] != CONFLICT:
                raise self._error((*at, *within), _explain(first, Parameters)) from None

    def _error(self, at: _Location, message: str) -> InputError:
        """`file:line: key: message`; a thing that is missing is reported where it should be."""
        known = at
        while known not in self._lines:
            known = known[:-1]
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in at)
        separator = ": " if key else ""
        return InputError(
            f"{self._shown}:{self._lines[known]}: {key.lstrip('.')}{separator}{message}"
        )


def _fits(
    values: Mapping[str, str], product: Mapping[str, set[str]], base: Mapping[str, Plain]
) -> bool:
    """Whether a combination of the product has these values, all of them as text."""
    return all(
        values.get(name, str(base[name])) in product.get(name, {str(base[name])})
        for name in values.keys() | product.keys()
        if name not in OBSERVATION
    )


def _telling(error: ValidationError) -> ErrorDetails:
    """The error that says most: a key that is missing may be there, but misspelt."""
    first, *others = error.errors()
    if first["type"] != "missing":
        return first
    return next((one for one in others if one["type"] == "extra_forbidden"), first)


def _parameters_like(name: str) -> str:
    return suggest.allowed(name, PARAMETER_NAMES, _PARAMETERS_IN)


def _model_at(at: _Location) -> type[BaseModel]:
    """The model whose keys stand at a place: for the list of what is allowed."""
    if own := model_at(at):
        return own
    if len(at) < 2:
        return Experiment
    if at[0] == "figures" and len(at) > 2:
        return KINDS[str(at[2])]
    return Parameters if at[0] == "parameters" else Published


def _explain(error: ErrorDetails, model: type[BaseModel]) -> str:
    """pydantic's words in ours: what is wrong and what is allowed."""
    if error["type"] == "extra_forbidden":
        keys = (field.alias or name for name, field in model.model_fields.items())
        more = _PARAMETERS_IN if model is Parameters else ""
        return f"unknown key; {suggest.allowed(str(error['loc'][-1]), keys, more)}"
    if error["type"] == "missing":
        return "missing"
    if error["type"] == "literal_error":
        return suggest.not_allowed(error["input"], re.findall("'(.*?)'", error["ctx"]["expected"]))
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] in (CONFLICT, KIND):
        return error["msg"]
    return f"{error['msg']}, not {error['input']!r}"
