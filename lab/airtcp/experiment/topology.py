# SPDX-License-Identifier: GPL-2.0-only
"""Custom topologies as in YAML.

A node can override parameters, with the same names as in `parameters:`. All other parameters are
those of the case, so a factor applies to every node that does not override it.
"""

from collections import Counter
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from airtcp.parameters import PARAMETER_NAMES, Parameters
from airtcp.parameters.absence import Absence
from airtcp.parameters.ack_filter import Stage
from airtcp.parameters.ack_policy import AckPolicy
from airtcp.parameters.bss import Bss, Capability
from airtcp.parameters.cable import Cable, Link
from airtcp.parameters.errors import Errors, Place
from airtcp.parameters.host import Host
from airtcp.parameters.jsonschema import Json
from airtcp.parameters.kernelnames import CongestionControl
from airtcp.parameters.mobility import Coordinates
from airtcp.parameters.path import Access, LinkPreset, Router, SlowHost
from airtcp.parameters.quantity import Plain, duration, level, rate, whole_seconds
from airtcp.parameters.radio import DataRate, Radio
from airtcp.parameters.section import Strict
from airtcp.parameters.sender import Sender, SenderSysctls
from airtcp.parameters.workload import Traffic

SWITCH = "switch"
"""The node where all cables end; files cannot name it."""

ROUTER = "router-"
"""Prefix of the name of a server's router, before the name of the server."""

_DAY_S = 86400

# A station has one of these, or a position, which becomes a walk. Those of the case and of its
# access point are then ignored.
PLACES = ("snr", "distance", "walk")

# What stations do not inherit: they may be of another standard.
_NOT_INHERITED = ("tx_power", "ul_ofdma", "ul_ofdma_interval", "mu_edca")


def _without_defaults(schema: Json) -> None:
    """Remove the defaults of parameters: if not overridden, they are those of the case."""
    for name, described in schema["properties"].items():
        if name in PARAMETER_NAMES:
            described.pop("default", None)


class NodeParameters(Strict):
    """Parameters that a node overrides: only those given in the file."""

    model_config = ConfigDict(json_schema_extra=_without_defaults)

    def given(self) -> dict[str, Plain]:
        """The given keys as in YAML."""
        given: dict[str, Plain] = self.model_dump(mode="json", exclude_unset=True)
        return given

    def plain(self) -> dict[str, Plain]:
        """The given parameters as in YAML."""
        return {key: value for key, value in self.given().items() if key in PARAMETER_NAMES}


class Server(Stage, SlowHost, Router, LinkPreset, Cable, Host, Sender, AckPolicy, NodeParameters):
    """A host with a cable to the switch, or to its own router."""


class _Positioned(NodeParameters):
    position: Coordinates | None = Field(
        default=None,
        description="error_model snr: where it is in a plane, x or x/y, as in 40m/20m (default of "
        "access points: 0m)",
    )


class AccessPoint(Stage, Errors, Radio, Bss, _Positioned):
    """A bridge between the switch and its radio; its stations inherit its parameters."""


class _Associated(NodeParameters):
    access_point: str = Field(description="the access point that a station joins")
    roam_below_dbm: Annotated[float | None, level(-100, 0)] = Field(
        default=None,
        alias="roam_below",
        description="while the signal of its access point is below this, the station looks for a "
        "stronger one every second and joins it (wpa_supplicant)",
    )


class Station(
    Stage,
    SlowHost,
    Access,
    Absence,
    Place,
    Errors,
    Radio,
    Capability,
    Host,
    Sender,
    AckPolicy,
    _Associated,
    _Positioned,
):
    """A host with a radio, or with a cable to its access point."""


class _Moving(NodeParameters):
    access_point: str | None = Field(
        default=None, description="the access point that a station joins"
    )


class Settings(Errors, DataRate, Link, SenderSysctls, AckPolicy, _Moving):
    """What can change during a run."""


class Topology(Strict):
    """The nodes by name, which replace the server, access point and stations of the default."""

    servers: dict[str, Server] = Field(
        default={}, description="wired hosts; all their cables end at one switch"
    )
    access_points: dict[str, AccessPoint] = Field(
        description="bridges between the switch and their radios"
    )
    stations: dict[str, Station] = Field(description="hosts with radios or cables")
    hidden: tuple[tuple[str, str], ...] = Field(
        default=(), description="pairs of access points and stations that do not hear each other"
    )

    @property
    def names(self) -> list[str]:
        """The names of all nodes."""
        return [*self.servers, *self.access_points, *self.stations]

    def group(self, name: str) -> str | None:
        """The key of a node's group; None if there is no such node."""
        groups = ("servers", "access_points", "stations")
        return next((group for group in groups if name in getattr(self, group)), None)


class _Ends(NodeParameters):
    sender: str = Field(alias="from", description="the host that sends")
    receiver: str = Field(alias="to", description="the host that receives")
    name: str | None = Field(
        default=None, description="name in results and files (default: FROM-TO, numbered)"
    )
    via: str | None = Field(
        default=None, description="a server that forwards the flow's packets, in both directions"
    )


class Flow(Traffic, _Ends):
    """Traffic from one host to another, with its own parameters."""

    rate_bps: Annotated[float | None, rate("unlimited")] = Field(
        default=None,
        alias="rate",
        description="bulk: rate at which the program sends; UDP needs one, here or udp_rate",
    )
    congestion_control: CongestionControl | None = Field(
        default=None, description="tcp: congestion control (default: the sender's)"
    )
    start_s: Annotated[float, duration(0, _DAY_S)] = Field(
        default=0.0, alias="start", description="when it starts, from the start of the run"
    )
    duration_s: Annotated[float | None, whole_seconds(1, _DAY_S)] = Field(
        default=None,
        alias="duration",
        description="bulk: how long, in whole seconds (default: all that are left of the run)",
    )

    def overrides(self) -> dict[str, Plain]:
        """The parameters that the flow overrides."""
        given = {*Traffic.model_fields, "congestion_control"} & self.model_fields_set
        return self.model_dump(mode="json", include=given, exclude_none=True)


class Change(Strict):
    """A change of a node during the run."""

    at_s: Annotated[float, duration(0, _DAY_S)] = Field(
        alias="at", description="when, from the start of the run"
    )
    node: str = Field(description="the node to change")
    settings: Settings = Field(
        alias="set", description="parameters and their new values, or access_point"
    )


class Network(Strict):
    """A custom topology with its flows and changes."""

    topology: Topology
    flows: tuple[Flow, ...]
    schedule: tuple[Change, ...] = ()

    def plain(self) -> dict[str, Any]:
        """As in YAML, without defaults."""
        return self.model_dump(mode="json", exclude_unset=True)

    def own(self, name: str) -> dict[str, Plain]:
        """The parameters that a node overrides; a station inherits those of its access point.

        These are of the radio: a station on a cable has none.
        """
        group = self.topology.group(name)
        given: dict[str, Plain] = getattr(self.topology, str(group))[name].plain()
        if group != "stations":
            return given
        if given.get("access") == "ethernet":
            return given
        station = self.topology.stations[name]
        if station.position is not None:
            given["walk"] = f"0s={station.position}"
        inherited = self.topology.access_points[station.access_point].plain()
        inherited = {key: value for key, value in inherited.items() if key not in _NOT_INHERITED}
        if places := [place for place in PLACES if place in given]:
            elsewhere = {place: "none" for place in PLACES if place not in places}
            return {**inherited, **elsewhere, **given}
        return {**inherited, **given}

    @property
    def roaming(self) -> list[str]:
        """The stations that choose their access points."""
        stations = self.topology.stations
        return [name for name, station in stations.items() if station.roam_below_dbm is not None]

    def access_points_of(self, station: str) -> list[str]:
        """The access points that a station joins, in order of time; if it roams, all."""
        if station in self.roaming:
            first = self.topology.stations[station].access_point
            return list(dict.fromkeys([first, *self.topology.access_points]))
        changes = sorted(self.schedule, key=lambda change: change.at_s)
        joined = [change.settings.access_point for change in changes if change.node == station]
        return [self.topology.stations[station].access_point, *filter(None, joined)]

    def of_node(self, name: str, parameters: Parameters) -> Parameters:
        """The parameters of a node. Raises pydantic's ValidationError if they conflict."""
        return parameters.override(self.own(name))


def rest_s(parameters: Parameters, flow: Flow) -> float:
    """The whole seconds from a flow's start to the end of the run."""
    return float(int(parameters.duration_s - flow.start_s))


def flow_names(network: Network) -> list[str]:
    """The names of flows; default: FROM-TO, with a number from the second on."""
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
    """The model of the keys at a location of the file; None outside of custom topologies."""
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
