# SPDX-License-Identifier: GPL-2.0-only
"""Everything that determines a run except its seed: type, unit, range and default of parameters."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from airtcp.kernel.names import Names
from airtcp.parameters.absence import Absence
from airtcp.parameters.ack_filter import AckFilter
from airtcp.parameters.ack_policy import AckPolicy
from airtcp.parameters.air import Air
from airtcp.parameters.bss import Bss
from airtcp.parameters.cable import Cable
from airtcp.parameters.errors import Errors, Propagation
from airtcp.parameters.host import Host
from airtcp.parameters.observation import Observation
from airtcp.parameters.path import Path
from airtcp.parameters.quantity import Plain, Quantity
from airtcp.parameters.radio import StationRadio
from airtcp.parameters.section import Conflict, key_of, not_with, own_fields
from airtcp.parameters.sender import Cubic, Sender
from airtcp.parameters.workload import Workload
from airtcp.units import format_duration_s, format_rate_bps, format_size_bytes

# Type of the error for values that are allowed individually, but not together.
CONFLICT = "conflict"


# pydantic collects fields from the last base to the first.
class Parameters(
    Observation,
    AckFilter,
    Absence,
    Air,
    Errors,
    Propagation,
    StationRadio,
    Bss,
    Workload,
    Path,
    Cable,
    Host,
    Cubic,
    Sender,
    AckPolicy,
):
    """All sections as one flat list; aliases are the YAML keys.

    Validation checks each value individually; check() and replace() also check combinations.
    """

    def check(self, changed: Collection[str] | None = None) -> "Parameters":
        """These parameters; raises pydantic's ValidationError if they conflict.

        changed: as for Section.conflicts().
        """
        for conflict in self.conflicts(changed):
            error = InitErrorDetails(
                type=PydanticCustomError(CONFLICT, "{text}", {"text": conflict.text}),
                loc=(conflict.name,),
                input=None,
            )
            raise ValidationError.from_exception_data("Parameters", [error])
        return self

    @staticmethod
    @cache
    def defaults() -> Mapping[str, Plain]:
        """All defaults, in the format of plain()."""
        return Parameters.model_construct().plain()

    def plain(self, names: Iterable[str] | None = None) -> dict[str, Plain]:
        """The values as in YAML and JSON, by name; quantities are text with their unit.

        names: only these, in this order.
        """
        if names is None:
            return self.model_dump(mode="json")
        return {name: self.text(_ATTRIBUTES[name]) for name in names}

    def replace(self, values: Mapping[str, Plain], context: Names | None = None) -> "Parameters":
        """These parameters with changed values; only the latter are parsed.

        Others that have no effect with these values are reset to their defaults. context: the
        allowed names, from kernelnames.context(); None: all. Raises pydantic's ValidationError
        for invalid values and for conflicts.
        """
        given = Parameters.model_validate(values, context=context)
        changed = {name: getattr(given, name) for name in given.model_fields_set}
        replaced = self.model_copy(update=changed)
        if any(replaced.conflicts(changed.keys())):
            return replaced._reset_idle(changed.keys()).check()
        return replaced

    def override(self, values: Mapping[str, Plain]) -> "Parameters":
        """These parameters with the overrides of a node or a flow; raises as replace() does.

        Parameters that have no effect with these overrides are reset to their defaults: a wired
        station has no channel.
        """
        given = Parameters.model_validate(values)
        given_values = {name: getattr(given, name) for name in given.model_fields_set}
        # Captures are of the whole run.
        kept = self.model_copy(update={"capture": (), **given_values})
        return kept._reset_idle(given_values.keys()).check()

    def _reset_idle(self, kept: Collection[str]) -> "Parameters":
        """These parameters, with those that have no effect reset to defaults, except `kept`."""
        parameters = self
        while idle := {
            name: default
            for name, default in parameters.without_effect()
            if name not in kept and getattr(parameters, name) != default
        }:
            parameters = parameters.model_copy(update=idle)
        return parameters

    def misfits(self) -> Iterator[Conflict]:
        """Conflicts with the default topology."""
        yield from self.missing_place()
        yield from self.out_of_reach(self)
        yield from self.too_strong(self)
        yield from self.missing_traffic()
        yield from self.misplaced()
        yield from self._unanswered()
        if self.protocol == "udp" and self.ack_policy != "default":
            given = "protocol udp, which has no ACKs"
            yield not_with("ack_policy", self.ack_policy, given, "default")

    def _unanswered(self) -> Iterator[Conflict]:
        """Pings that end before the first answer arrives, with which a run fails."""
        length_s = self.duration_s + 2 * self.baseline_s
        delays_s = self.delay_s + self.return_delay_s
        if self.lasts and self.ping_interval_s and delays_s >= length_s:
            yield Conflict(
                "ping_interval",
                f"no ping is answered within {format_duration_s(length_s)} with delays of "
                f"{format_duration_s(delays_s)} together; allowed: 0ms, or a longer duration",
            )

    @property
    def conditions(self) -> tuple[object, ...]:
        """All parameters except Observation; equal for runs that a published value applies to."""
        return tuple(getattr(self, name) for name in _CONDITIONS)


_ATTRIBUTES = {key_of(Parameters, name): name for name in Parameters.model_fields}

PARAMETER_NAMES = tuple(_ATTRIBUTES)

_OBSERVING = own_fields(Observation)
_CONDITIONS = tuple(name for name in Parameters.model_fields if name not in _OBSERVING)

# Parameters that control how long and how closely a run is observed, not what is observed.
OBSERVATION = frozenset(key_of(Observation, name) for name in _OBSERVING)


class Number(NamedTuple):
    """A numeric parameter: its unit in figures, its attribute, and the size of the unit."""

    unit: str
    attribute: str
    scale: float

    def of(self, parameters: Parameters) -> float | None:
        """The value in that unit; None if it is a word."""
        value = getattr(parameters, self.attribute)
        return None if value is None else float(value) / self.scale


_UNITS: Mapping[Any, tuple[str, float]] = {
    format_duration_s: ("ms", 1e-3),
    format_rate_bps: ("Mbit/s", 1e6),
    format_size_bytes: ("kB", 1e3),
}

NUMBERS: Mapping[str, Number] = {
    field.alias or name: Number(unit, name, scale)
    for name, field in Parameters.model_fields.items()
    for quantity in field.metadata
    if isinstance(quantity, Quantity)
    for unit, scale in (_UNITS.get(quantity.write, ("", 1.0)),)
}
