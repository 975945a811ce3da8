# SPDX-License-Identifier: GPL-2.0-only
"""Custom topologies, as they stand in YAML.

A node may override parameters, by the same names as in `parameters:`. All others are those of the
case, so that a factor reaches every node that does not override it.
"""

from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from airtcp.parameters import Parameters
from airtcp.parameters.ack_policy import AckPolicy
from airtcp.parameters.bss import Bss
from airtcp.parameters.cable import Cable, Link
from airtcp.parameters.errors import Errors
from airtcp.parameters.host import Host
from airtcp.parameters.jsonschema import Json
from airtcp.parameters.quantity import Plain, duration, rate, whole_seconds
from airtcp.parameters.radio import DataRate, Radio
from airtcp.parameters.section import Strict
from airtcp.parameters.sender import CongestionControl, Sender, SenderSysctls

SWITCH = "switch"
"""The node where all cables end, which no file names."""

_DAY_S = 86400


def _without_defaults(schema: Json) -> None:
    """What a node does not override has no default here: it is the case's."""
    for described in schema["properties"].values():
        described.pop("default", None)


class NodeParameters(Strict):
    """Parameters that a node overrides. Only those that are given count."""

    model_config = ConfigDict(json_schema_extra=_without_defaults)

    def plain(self) -> dict[str, Plain]:
        """As in YAML, by the names of parameters."""
        given: dict[str, Plain] = self.model_dump(mode="json", exclude_unset=True)
        return given


class Server(Cable, Host, Sender, AckPolicy, NodeParameters):
    """A host on a cable to the switch."""


class AccessPoint(Errors, Radio, Bss, NodeParameters):
    """A bridge between the switch and its radio; its stations inherit its parameters."""


class _Associated(NodeParameters):
    access_point: str = Field(description="the access point that it joins")


class Station(Errors, Radio, Host, Sender, AckPolicy, _Associated):
    """A host with a radio."""


class Settings(Errors, DataRate, Link, SenderSysctls, AckPolicy, NodeParameters):
    """What can change while a run goes on."""


class Topology(Strict):
    """The nodes, by their names: what takes the place of the server, access point and stations."""

    servers: dict[str, Server] = Field(
        default={}, description="hosts on cables; all cables end at one switch"
    )
    access_points: dict[str, AccessPoint] = Field(
        description="bridges between the switch and their radios"
    )
    stations: dict[str, Station] = Field(description="hosts with radios")
    hidden: tuple[tuple[str, str], ...] = Field(
        default=(), description="pairs of access points and stations that do not hear each other"
    )

    @property
    def names(self) -> list[str]:
        """Those of all nodes."""
        return [*self.servers, *self.access_points, *self.stations]

    def group(self, name: str) -> str | None:
        """The key under which a node stands; None for no node of that name."""
        groups = ("servers", "access_points", "stations")
        return next((group for group in groups if name in getattr(self, group)), None)


class Flow(Strict):
    """One connection, or UDP at a rate, from a host to another."""

    sender: str = Field(alias="from", description="the host that sends")
    receiver: str = Field(alias="to", description="the host that receives")
    name: str | None = Field(
        default=None, description="of its results and files; FROM-TO, numbered, unless given"
    )
    protocol: Literal["tcp", "udp"] = Field(default="tcp", description="transport")
    rate_bps: Annotated[float | None, rate("unlimited")] = Field(
        default=None, alias="rate", description="rate at which the program sends; UDP needs one"
    )
    congestion_control: CongestionControl | None = Field(
        default=None, description="tcp: its own; that of the sender unless given"
    )
    start_s: Annotated[float, duration(0, _DAY_S)] = Field(
        default=0.0, alias="start", description="when it starts, from the start of the run"
    )
    duration_s: Annotated[float | None, whole_seconds(1, _DAY_S)] = Field(
        default=None,
        alias="duration",
        description="for how long, whole seconds; as many as the run has left unless given",
    )

    def own(self, sender: Parameters) -> Parameters:
        """The parameters of its workload, where the sender has these."""
        given: dict[str, Plain] = {"protocol": self.protocol}
        if self.congestion_control:
            given["congestion_control"] = self.congestion_control
        return sender.replace(given)


class Change(Strict):
    """What a node has from some time on."""

    at_s: Annotated[float, duration(0, _DAY_S)] = Field(
        alias="at", description="when, from the start of the run"
    )
    node: str = Field(description="where")
    settings: Settings = Field(alias="set", description="what, and to which value")


class Network(Strict):
    """All of it."""

    topology: Topology
    flows: tuple[Flow, ...]
    schedule: tuple[Change, ...] = ()

    def plain(self) -> dict[str, Any]:
        """As in YAML: what is given, no defaults."""
        return self.model_dump(mode="json", exclude_unset=True)

    def own(self, name: str) -> dict[str, Plain]:
        """The parameters that a node overrides; a station inherits those of its access point."""
        group = self.topology.group(name)
        given: dict[str, Plain] = getattr(self.topology, str(group))[name].plain()
        if group == "stations":
            of_cell = self.topology.access_points[str(given.pop("access_point"))].plain()
            return {**of_cell, **given}
        return given


def rest_s(parameters: Parameters, flow: Flow) -> float:
    """The whole seconds from a flow's start to the end of the run."""
    return float(int(parameters.duration_s - flow.start_s))


def flow_names(network: Network) -> list[str]:
    """FROM-TO where no name is given, from the second on with a number."""
    seen: Counter[str] = Counter()
    names = []
    for flow in network.flows:
        pair = f"{flow.sender}-{flow.receiver}"
        seen[pair] += flow.name is None
        names.append(flow.name or (f"{pair}-{seen[pair]}" if seen[pair] > 1 else pair))
    return names


MODELS: dict[str, type[BaseModel]] = {
    "servers": Server,
    "access_points": AccessPoint,
    "stations": Station,
}


def model_at(at: tuple[str | int, ...]) -> type[BaseModel] | None:
    """The model whose keys stand at a place of the file; None for places of others."""
    match at:
        case ("topology", str(group), _, _, *_) if group in MODELS:
            return MODELS[group]
        case ("topology", _, *_):
            return Topology
        case ("flows", int(), *_):
            return Flow
        case ("schedule", int(), "set", _, *_):
            return Settings
        case ("schedule", int(), *_):
            return Change
    return None
