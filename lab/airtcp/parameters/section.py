# SPDX-License-Identifier: GPL-2.0-only
"""Sections of the parameters: fields, facts about fields, and conflicts.

A section is a pydantic model; Parameters inherits all of them. Facts about a parameter are metadata
of its field:

    ack_hold: Annotated[int, count(2, 65535), OnlyWith("ack_filter", "hold")] = parameter(...)
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from inspect import get_annotations
from typing import Any, ClassVar, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from airtcp.parameters.quantity import Plain, Quantity

# Words that leave a value to the kernel, or to the radio's preset.
KERNEL = "kernel"
PRESET = "preset"

# By how much the product of a value and its scale may differ from a whole number.
_EXACT = 1e-6

_Fact = TypeVar("_Fact")


class Strict(BaseModel):
    """A frozen model that rejects unknown keys. It is built when it is first used."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, serialize_by_alias=True, defer_build=True
    )


class OnlyWith:
    """The parameter has an effect only if another one has one of these values."""

    def __init__(self, name: str, *values: str) -> None:
        self.name = name
        self.values = frozenset(values)

    def holds(self, section: "Section") -> bool:
        value = getattr(section, self.name)
        return not self.values.isdisjoint(value if isinstance(value, tuple) else (value,))


@dataclass(frozen=True)
class Sysctl:
    """The parameter sets a sysctl of net.ipv4 to its number times scale, or to its text."""

    name: str
    scale: float = 1
    before: str = ""

    def text(self, value: float | str) -> str:
        """The value; before: the leading values of a sysctl with several."""
        if isinstance(value, str):
            return value
        return f"{self.before} {round(value * self.scale)}".strip()


@dataclass(frozen=True)
class RadioKey:
    """The parameter sets a key of `airsim radio` to its number times scale, or to its word."""

    name: str
    scale: float = 1

    def text(self, value: float | str) -> str:
        return value if isinstance(value, str) else str(round(value * self.scale))


@dataclass(frozen=True)
class Scale:
    """What applies the parameter has it as a whole number: its number times scale."""

    scale: float


class DefaultTopologyOnly:
    """The parameter must have its default in experiments with a `topology`."""


class Conflict(NamedTuple):
    """The parameter at fault, and a text: what is wrong with its value and what is allowed."""

    name: str
    text: str


class Section(Strict):
    """A group of parameters.

    A section whose conflicts depend on another section's values inherits from that section.
    """

    only_with: ClassVar[OnlyWith | None] = None
    """A condition of all fields that the class itself declares."""

    def conflicts(self, changed: Collection[str] | None = None) -> Iterator[Conflict]:
        """Conflicting values, section by section.

        changed: attributes that differ from parameters without conflicts; sections without any of
        them are skipped.
        """
        values = vars(self)
        yield from self._between_steps(changed)
        for rules in _rules(type(self)):
            for attribute, default, condition in rules.conditions:
                if values[attribute] != default and not condition.holds(self):
                    yield self._without_effect(attribute, condition)
            if rules.own_conflicts and (
                changed is None or not rules.attributes.isdisjoint(changed)
            ):
                yield from rules.own_conflicts(self)

    def without_effect(self) -> Iterator[tuple[str, object]]:
        """(attribute, default) of the parameters that have no effect with these values."""
        for rules in _rules(type(self)):
            for attribute, default, condition in rules.conditions:
                if not condition.holds(self):
                    yield attribute, default

    def own_conflicts(self) -> Iterator[Conflict]:
        """Conflicts that the class itself defines, between its fields, also inherited ones."""
        return iter(())

    def text(self, attribute: str) -> Plain:
        """The value of one parameter as in YAML."""
        [value] = self.model_dump(mode="json", include={attribute}).values()
        plain: Plain = value
        return plain

    def _between_steps(self, changed: Collection[str] | None) -> Iterator[Conflict]:
        """Values that would be rounded."""
        for attribute, scale, quantity in _scaled(type(self)):
            if changed is not None and attribute not in changed:
                continue
            value = getattr(self, attribute)
            if isinstance(value, float) and abs(value * scale - round(value * scale)) > _EXACT:
                step = quantity.write(1 / scale)
                shown = f"{step:.8f}".rstrip("0") if isinstance(step, float) else step
                yield Conflict(
                    key_of(type(self), attribute),
                    f"{self.text(attribute)} would be rounded; allowed: multiples of {shown}",
                )

    def _without_effect(self, attribute: str, condition: OnlyWith) -> Conflict:
        given = f"{condition.name} {self.text(condition.name)}"
        default = type(self).model_construct().text(attribute)
        conflict = not_with(key_of(type(self), attribute), self.text(attribute), given, default)
        needed = " or ".join(sorted(condition.values))
        return Conflict(
            conflict.name, f"{conflict.text}; other values need {condition.name} {needed}"
        )


def parameter(name: str, default: Any, description: str) -> Any:
    """A field: its key in YAML, its default, and its help in one line."""
    return Field(default=default, alias=name, description=description)


def key_of(model: type[BaseModel], attribute: str) -> str:
    """The key in YAML of a field."""
    return model.model_fields[attribute].alias or attribute


def keys(model: type[BaseModel]) -> tuple[str, ...]:
    """The keys in YAML of a model."""
    return tuple(field.alias or name for name, field in model.model_fields.items())


@cache
def own_fields(section: type[Section]) -> tuple[str, ...]:
    """The attributes of the fields that the class itself declares."""
    return tuple(name for name in get_annotations(section) if name in section.model_fields)


@cache
def sections(model: type[Section]) -> tuple[type[Section], ...]:
    """The sections of a model, in the order of their fields, including itself."""
    bases = (base for base in reversed(model.__mro__) if issubclass(base, Section))
    return tuple(base for base in bases if base is not Section)


@cache
def facts(model: type[BaseModel], kind: type[_Fact]) -> tuple[tuple[str, _Fact], ...]:
    """(attribute, fact) of each field that has a fact of this kind."""
    return tuple(
        (name, fact)
        for name, field in model.model_fields.items()
        for fact in field.metadata
        if isinstance(fact, kind)
    )


@cache
def _scaled(model: type[BaseModel]) -> tuple[tuple[str, float, Quantity], ...]:
    """(attribute, scale, type) of the parameters that exist only in steps."""
    quantities = dict(facts(model, Quantity))
    scales = (*facts(model, Sysctl), *facts(model, RadioKey), *facts(model, Scale))
    return tuple((name, fact.scale, quantities[name]) for name, fact in scales if fact.scale != 1)


_Condition = tuple[str, object, OnlyWith]


class _Rules(NamedTuple):
    """A section's conditions, its own_conflicts, and all attributes that own_conflicts can read."""

    conditions: tuple[_Condition, ...]
    own_conflicts: Callable[[Section], Iterator[Conflict]] | None
    attributes: frozenset[str]


@cache
def _rules(model: type[Section]) -> tuple[_Rules, ...]:
    all_rules = (
        _Rules(
            _conditions(section),
            vars(section).get("own_conflicts"),
            frozenset(section.model_fields),
        )
        for section in sections(model)
    )
    return tuple(rules for rules in all_rules if rules.conditions or rules.own_conflicts)


def _conditions(section: type[Section]) -> tuple[_Condition, ...]:
    """(attribute, default, condition) of the fields that the class itself declares."""
    names = own_fields(section)
    requirements = [(name, vars(section).get("only_with")) for name in names]
    each = [(name, fact) for name, fact in facts(section, OnlyWith) if name in names]
    return tuple(
        (name, section.model_fields[name].default, condition)
        for name, condition in (*requirements, *each)
        if condition
    )


def sysctls(parameters: Section, section: type[Section]) -> dict[str, str]:
    """The sysctls that a section's parameters set; None leaves one to the kernel.

    Several parameters of one sysctl are its values in the order of the fields.
    """
    values: dict[str, str] = {}
    for attribute, fact in facts(section, Sysctl):
        value = getattr(parameters, attribute)
        if value is not None:
            values[fact.name] = f"{values.get(fact.name, '')} {fact.text(value)}".strip()
    return values


def airsim_keys(parameters: Section, section: type[Section]) -> dict[str, str]:
    """The keys of a radio that a section's parameters set.

    Those left to the preset, and those without effect because of OnlyWith, are not set.
    """
    unused = {name for name, fact in facts(section, OnlyWith) if not fact.holds(parameters)}
    given = (
        (fact, getattr(parameters, name))
        for name, fact in facts(section, RadioKey)
        if name not in unused
    )
    return {fact.name: fact.text(value) for fact, value in given if value not in (None, PRESET)}


def not_with(name: str, value: object, given: str, allowed: object) -> Conflict:
    """The conflict of a value with another one. given: the other value, with its name."""
    return Conflict(name, f"{value} is not allowed with {given}; allowed: {allowed}")


def listed(values: Iterable[object], unit: str = "") -> str:
    """The values in a message, separated by spaces."""
    return " ".join(f"{value}{unit}" for value in values)
