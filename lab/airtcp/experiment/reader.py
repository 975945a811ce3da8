# SPDX-License-Identifier: GPL-2.0-only
"""Reads an experiment from YAML; errors are one line: file, line, key, error, allowed values."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from pydantic import BaseModel, ValidationError

from airtcp import suggest, yamlfile
from airtcp.errors import InputError
from airtcp.experiment.experiment import Experiment, problems_of
from airtcp.experiment.figures import (
    FACTOR_KEYS,
    KINDS,
    MetricFigure,
    ModelFigure,
    tsq_packets,
)
from airtcp.experiment.messages import (
    explain,
    key_at,
    most_specific,
    named,
    parameters_like,
)
from airtcp.experiment.metrics import METRICS, unknown_metric
from airtcp.experiment.published import Published, PublishedTable
from airtcp.experiment.summaries import names
from airtcp.experiment.topology import MODELS, model_at
from airtcp.kernel.names import Names
from airtcp.parameters import (
    CONFLICT,
    OBSERVATION,
    PARAMETER_NAMES,
    Parameters,
    kernelnames,
    renames,
)
from airtcp.parameters.quantity import Plain
from airtcp.paths import EXPERIMENTS_DIR

_Location = tuple[str | int, ...]


def load(
    experiment: str | Path, allowed: Names | None = None, *, checked: bool = True
) -> Experiment:
    """The experiment with a name in experiments/, or in a YAML file. Raises InputError.

    allowed: names that the experiment may use, from kernelnames.context(); None: those of the
    laboratory's kernel. checked: also check that every case is possible, which takes longer than
    reading the file.
    """
    path = own_file(experiment)
    shown = str(path)
    if path is None:
        path = EXPERIMENTS_DIR / f"{experiment}.yaml"
        shown = f"{EXPERIMENTS_DIR.name}/{experiment}.yaml"
        if not path.is_file():
            here = [
                file for file in (f"{experiment}.yaml", f"{experiment}.yml") if Path(file).is_file()
            ]
            known = suggest.allowed(
                str(experiment), [*here, *names()], "or the path of a .yaml file"
            )
            if experiment and Path(experiment).is_dir():
                raise InputError(f"{experiment}: is a directory; give an experiment")
            raise InputError(f"unknown experiment {str(experiment)!r}; {known}")
    if allowed is None:
        allowed = kernelnames.context()
    return _Reader(shown, allowed).experiment(yamlfile.read(path), checked)


def own_file(experiment: str | Path) -> Path | None:
    """The YAML file if it is the path of one; None for a name."""
    path = Path(experiment)
    return path if path.suffix in (".yaml", ".yml") else None


class _Reader:
    """Reads one YAML file into an Experiment and records the line of each key and item."""

    def __init__(self, shown: str, allowed: Names) -> None:
        self._shown = shown
        self._allowed = allowed
        self._lines: dict[_Location, int] = {}
        # Places of published values that are rows of tables.
        self._rows: dict[_Location, _Location] = {}

    def experiment(self, text: str, checked: bool) -> Experiment:
        node = yamlfile.compose(text, self._shown)
        if not isinstance(node, yaml.MappingNode):
            raise InputError(
                f"{self._shown}:1: must consist of `key: value` lines; allowed keys: "
                + " ".join(field.alias or name for name, field in Experiment.model_fields.items())
            )
        try:
            data = self._data(node, ())
            experiment = Experiment.model_validate(data, context=self._allowed)
        except ValidationError as error:
            first = most_specific(error)
            at = _as_written(first["loc"])
            if first["type"] == "missing":
                names = ", ".join(map(key_at, _missing(error)))
                raise self._error_at(at, f"{names}: missing") from None
            text = explain(first, _model_at(first["loc"]))
            if first["type"] == "extra_forbidden" and len(at) == 1 and at[0] in PARAMETER_NAMES:
                text = "unknown key; it is a parameter: write it below `parameters:`"
            raise self._error(at, text) from None
        for name in ("flows", "schedule"):
            if experiment.topology is None and (name,) in self._lines:
                raise self._error((name,), "needs a `topology`")
        experiment = self._with_tables(experiment)
        self._check_factors(experiment)
        if checked:
            self._check_cases(experiment)
            self._check_figures(experiment)
            self._check_published(experiment)
        return experiment

    def _with_tables(self, experiment: Experiment) -> Experiment:
        """Add the rows of tables to the published values."""
        values = list(experiment.published)
        for number, table in enumerate(experiment.published_tables):
            for row, value in table.values():
                place = ("published_tables", number, "rows", row)
                self._rows["published", len(values)] = place
                values.append(value)
        return experiment.model_copy(update={"published": tuple(values)})

    def _data(self, node: yaml.Node, at: _Location) -> object:
        """The node as dicts, lists and the text of scalars: the schema defines the types."""
        self._lines.setdefault(at, node.start_mark.line + 1)
        if isinstance(node, yaml.SequenceNode):
            if len(at) > 1 and at[0] == "parameters":
                raise self._error(at, "is a list; give one value; several go into `design`")
            return [self._data(item, (*at, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            mapping: dict[str, object] = {}
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    self._lines[at] = key.start_mark.line + 1
                    raise self._error(at, "a key must be a word, not a list or a mapping")
                line = key.start_mark.line + 1
                name = self._current(key.value, line) if _by_parameter(at) else str(key.value)
                where = (*at, name)
                self._lines[where] = line
                if name == "<<":
                    raise self._error(where, "merge keys are not supported; repeat the keys")
                if name in mapping:
                    raise self._error(where, "given twice")
                mapping[name] = self._data(value, where)
            return mapping
        if at[:1] == ("figures",) and at[-1] in FACTOR_KEYS:
            return self._current(node.value, node.start_mark.line + 1)
        return node.value

    def _current(self, name: str, line: int) -> str:
        return renames.current(str(name), f"{self._shown}:{line}")

    def _check_factors(self, experiment: Experiment) -> None:
        """Check that factors of the design and of published values are parameters with values."""
        for number, product in enumerate(experiment.design):
            for name, values in product.items():
                self._check_name(name, ("design", number, name))
                if not values:
                    raise self._error(("design", number, name), "give at least one value")
        if experiment.compares and experiment.compares not in experiment.factors:
            raise self._error(("compares",), _not_a_factor(experiment.compares, experiment.factors))
        compared = {value.when.get("ack_policy") for value in experiment.published}
        for number, policy in enumerate(experiment.readings):
            if policy not in compared:
                raise self._error(
                    ("readings", number), f"no published value has the ACK policy {policy!r}"
                )
        for number, value in enumerate(experiment.published):
            for key, factors in (("when", value.when), ("relative_to", value.relative_to)):
                for name in factors:
                    self._check_name(name, ("published", number, key, name))
            if value.metric not in METRICS:
                raise self._error(
                    ("published", number, "metric"),
                    unknown_metric(value.metric),
                )

    def _check_figures(self, experiment: Experiment) -> None:
        """Check that figures use factors of the design, and that a model can be compared."""
        factors = experiment.factors
        for number, figure in enumerate(experiment.figures):
            for key, factor in figure.factors().items():
                if factor not in factors:
                    raise self._error(("figures", number, key), _not_a_factor(factor, factors))
            if isinstance(figure, MetricFigure) and figure.lines and figure.relative_to:
                lines = [product.get(figure.lines, ()) for product in experiment.design]
                values = dict.fromkeys(itertools.chain(*lines))
                if figure.relative_to not in values:
                    text = suggest.not_allowed(figure.relative_to, values)
                    raise self._error(("figures", number, "relative_to"), text)
            if isinstance(figure, ModelFigure) and not any(
                tsq_packets(case.parameters.text("tsq")) for case in experiment.cases()
            ):
                raise self._error(
                    ("figures", number, "model"),
                    "the model needs a case with tsq in packets, such as 40packets",
                )

    def _check_cases(self, experiment: Experiment) -> None:
        """Check that every case and the conditions of every published value are possible."""
        for number, product in enumerate(experiment.design):
            for values in itertools.product(*product.values()):
                given = dict(zip(product, values, strict=True))
                self._check_case(experiment, given, ("design", number))
        for number, value in enumerate(experiment.published):
            self._check_case(experiment, value.when, ("published", number, "when"))
            if value.relative_to:
                other = value.when | value.relative_to
                self._check_case(experiment, other, ("published", number, "relative_to"))

    def _check_case(self, experiment: Experiment, values: dict[str, str], at: _Location) -> None:
        try:
            parameters = experiment.parameters.replace(values, self._allowed)
        except ValidationError as error:
            first = error.errors()[0]
            text = explain(first, Parameters)
            if first["type"] == CONFLICT:
                raise self._error(at, f"{named(first, values)}: {text}") from None
            name = str(first["loc"][0])
            raise self._error(_place_of(name, experiment, values, at), text) from None
        for problem in problems_of(experiment.network, parameters):
            if problem.at[0] == "parameters" and (name := str(problem.at[1])) in values:
                raise self._error(_place_of(name, experiment, values, at), problem.text)
            given = " ".join(f"{name}={value}" for name, value in values.items())
            if problem in problems_of(experiment.network, experiment.parameters):
                given = ""  # it is not about these values
            raise self._error(problem.at, f"{problem.text}{given and f' (with {given})'}")

    def _check_published(self, experiment: Experiment) -> None:
        """Check that every published value belongs to a case of the design."""
        base = experiment.parameters.plain()
        design = [
            {name: set(values) for name, values in product.items()} for product in experiment.design
        ]
        for number, value in enumerate(experiment.published):
            when = {"when": value.when}
            if value.relative_to:
                when["relative_to"] = value.when | value.relative_to
            for key, values in when.items():
                # Compare as text first: parsing parameters is slow.
                if any(_fits(values, product, base) for product in design):
                    continue
                under = experiment.parameters.replace(values).conditions
                if under not in (case.parameters.conditions for case in experiment.cases()):
                    given = " ".join(f"{name}={value}" for name, value in values.items())
                    raise self._error(
                        ("published", number, key),
                        f"no case of the design has {given or 'the parameters above'}",
                    )

    def _check_name(self, name: str, at: _Location) -> None:
        if name not in PARAMETER_NAMES:
            raise self._error(at, f"unknown parameter; {parameters_like(name)}")

    def _error(self, at: _Location, message: str) -> InputError:
        """`file:line: key: message`; a missing key is reported at the line of its parent."""
        at = self._rows.get(at[:2], at)
        key = key_at(at)
        separator = ": " if key else ""
        return self._error_at(at, f"{key}{separator}{message}")

    def _error_at(self, at: _Location, message: str) -> InputError:
        """`file:line: message`, with the line of the key or of its closest parent."""
        while at not in self._lines:
            at = at[:-1]
        return InputError(f"{self._shown}:{self._lines[at]}: {message}")


def _place_of(
    name: str, experiment: Experiment, values: Mapping[str, str], at: _Location
) -> _Location:
    """The place of one of the values of a case; at: that of all of them."""
    if at[0] != "design":
        return (*at, name)
    return (*at, name, experiment.design[int(at[1])][name].index(values[name]))


def _not_a_factor(name: str, factors: Sequence[str]) -> str:
    return f"{name!r} is not a factor of the design; {suggest.allowed(name, factors)}"


def _by_parameter(at: _Location) -> bool:
    """Whether the keys at a place of the file are names of parameters."""
    match at:
        case ("parameters",) | ("design", _):
            return True
        case ("published", _, "when" | "relative_to") | ("schedule", _, "set"):
            return True
        case ("published_tables", _, "when"):
            return True
        case ("topology", group, _):
            return group in MODELS
    return False


def _fits(
    values: Mapping[str, str], product: Mapping[str, set[str]], base: Mapping[str, Plain]
) -> bool:
    """Whether a combination of the product has these values, compared as text."""
    return all(
        values.get(name, str(base[name])) in product.get(name, {str(base[name])})
        for name in values.keys() | product.keys()
        if name not in OBSERVATION
    )


def _missing(error: ValidationError) -> list[_Location]:
    """All missing keys."""
    return [_as_written(each["loc"]) for each in error.errors() if each["type"] == "missing"]


def _as_written(at: _Location) -> _Location:
    """The location in the file: pydantic adds the kind of a figure after its index."""
    return (*at[:2], *at[3:]) if at[0] == "figures" else at


def _model_at(at: _Location) -> type[BaseModel]:
    """The model of the keys at a location, for the list of allowed keys."""
    if allowed := model_at(at):
        return allowed
    if len(at) < 2:
        return Experiment
    if at[0] == "figures" and len(at) > 2:
        return KINDS[str(at[2])]
    models: Mapping[str, type[BaseModel]] = {
        "parameters": Parameters,
        "published_tables": PublishedTable,
    }
    return models.get(str(at[0]), Published)
