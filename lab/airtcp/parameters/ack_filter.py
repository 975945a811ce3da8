# SPDX-License-Identifier: GPL-2.0-only
"""ACK filtering: stages that drop or replace TCP ACKs on their path."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BeforeValidator, PlainSerializer

from airtcp import suggest
from airtcp.parameters.cable import Cable
from airtcp.parameters.jsonschema import Shape, joined
from airtcp.parameters.path import Path
from airtcp.parameters.quantity import count, duration, rate, size
from airtcp.parameters.radio import Radio
from airtcp.parameters.section import (
    Conflict,
    DefaultTopologyOnly,
    OnlyWith,
    Scale,
    Section,
    not_with,
    parameter,
)
from airtcp.parameters.workload import Workload

# In the order of their names in results; docs/explanation/ack-filter.md describes them.
STAGES = (
    *("police", "shape", "cake", "cake-aggressive", "ackhold", "txq", "txq-aggressive"),
    *("hold", "multicast"),
)
NONE = "none"
# At most one of each group.
_ALTERNATIVES = (("police", "shape"), ("cake", "cake-aggressive"), ("txq", "txq-aggressive"))
# The qdisc of dkms/ackhold.
ACKHOLD = "ackhold"
# Stages in a radio.
RADIO_STAGES = ("txq", "txq-aggressive", "hold", "multicast")


def _read(value: object) -> tuple[str, ...]:
    """Parse `police+multicast`. Raises ValueError with the allowed values."""
    if isinstance(value, tuple):
        return value
    text = str(value).strip()
    stages = () if text == NONE else tuple(stage.strip() for stage in text.split("+"))
    for stage in stages:
        if stage not in STAGES:
            known = suggest.allowed(stage, (NONE, *STAGES), "stages joined by +")
            raise ValueError(f"{stage!r} is not a stage of ACK filtering; {known}")
    for group in _ALTERNATIVES:
        if sum(stage in group for stage in stages) > 1:
            raise ValueError(f"{text!r} has both of {' and '.join(group)}; choose one")
    return tuple(stage for stage in STAGES if stage in stages)


Stages = Annotated[
    tuple[str, ...],
    BeforeValidator(_read),
    PlainSerializer(lambda stages: "+".join(stages) or NONE),
    Shape(lambda: joined(STAGES, "+", NONE)),
]

_POLICE = OnlyWith("ack_filter", "police")
_POLICE_OR_SHAPE = OnlyWith("ack_filter", "police", "shape")
_HOLD = OnlyWith("ack_filter", "hold")


class Stage(Section):
    """Stages and their parameters."""

    ack_filter: Stages = parameter(
        "ack_filter",
        (),
        "filters that drop or replace ACKs along the path, joined by + "
        "(docs/explanation/ack-filter.md)",
    )
    ack_filter_at: Annotated[Literal["bridge", "router"], _POLICE_OR_SHAPE] = parameter(
        "ack_filter_at", "bridge", "police, shape: node at whose ingress ACKs are filtered"
    )
    ack_filter_rate_bps: Annotated[float | None, rate("none"), _POLICE_OR_SHAPE] = parameter(
        "ack_filter_rate", None, "police, shape: maximum rate of ACKs"
    )
    ack_filter_burst_bytes: Annotated[int, size(64, 1 << 30), _POLICE] = parameter(
        "ack_filter_burst", 5000, "police: bytes of ACKs that may pass at once"
    )
    ack_filter_match: Annotated[Literal["acks", "destination"], _POLICE] = parameter(
        "ack_filter_match",
        "acks",
        "police: acks: it limits bare ACKs; destination: it limits all packets to the sender of "
        "the data, and drops all others",
    )
    ack_hold: Annotated[int, count(2, 65535), _HOLD] = parameter(
        "ack_hold", 8, "hold: number of ACKs that are replaced by the newest of them"
    )
    ack_hold_delay_s: Annotated[float, duration(0, 0.1), _HOLD, Scale(1e6)] = parameter(
        "ack_hold_delay", 5e-3, "hold: maximum time that the first of them is held"
    )
    ack_hold_rate_bps: Annotated[float | None, rate("any"), _HOLD, Scale(1e-3)] = parameter(
        "ack_hold_rate", None, "hold: only while the radio sends at this rate or a higher one"
    )


class FilteredStations(Section):
    """Which stations stages are for, where they are not parameters of nodes."""

    ack_filter_stations: Annotated[
        Literal["all", "first"], _POLICE_OR_SHAPE, DefaultTopologyOnly()
    ] = parameter(
        "ack_filter_stations", "all", "police, shape: stations whose connections are filtered"
    )


class AckFilter(FilteredStations, Stage, Radio, Workload, Path, Cable):
    """Stages, with the sections of the path that they depend on."""

    def own_conflicts(self) -> Iterator[Conflict]:
        for stage in self.ack_filter:
            if stage in ("police", "shape") and self.ack_filter_rate_bps is None:
                yield Conflict("ack_filter", f"{stage} needs ack_filter_rate, as in 100kbit")
            if stage in (*RADIO_STAGES, ACKHOLD) and self.access != "wifi":
                yield Conflict("ack_filter", f"{stage} is done at radios; allowed: access wifi")
            if stage.startswith("txq") and self.queue == "fifo":
                yield not_with(
                    "ack_filter", stage, "queue fifo, where no packet waits", "queue txq"
                )
            if stage.startswith("cake") and not self._has_return_bottleneck:
                yield Conflict(
                    "ack_filter",
                    f"{stage} needs a bottleneck on the return path: return_rate, path, access "
                    "ethernet",
                )

    def misplaced(self) -> Iterator[Conflict]:
        """Conflicts with the default topology."""
        if "multicast" in self.ack_filter and self.direction != "upload":
            yield Conflict(
                "ack_filter",
                "multicast is for ACKs that an access point sends, as a station's frames go to it "
                "alone; allowed: direction upload",
            )
        if self.ack_filter_at == "router" and self.router == "none":
            yield not_with("ack_filter_at", "router", "router none", "bridge")

    @property
    def _has_return_bottleneck(self) -> bool:
        return self.return_rate_bps is not None or self.path != "none" or self.access == "ethernet"
