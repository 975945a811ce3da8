# SPDX-License-Identifier: GPL-2.0-only
"""What an experiment says of a network of its own, as it stands in YAML.

A node may have parameters of its own: those of `parameters:`, by the same names. What it does not
say is as the case has it, so that a factor reaches every node without an opinion.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from airtcp.parameters import CongestionControl, Parameters, Strict
from airtcp.parameters.quantity import Plain, duration, rate, whole_seconds

SWITCH = "switch"
"""The node where all cables end, which no file names."""

_DAY_S = 86400

ACK_POLICY = (
    *("ack_policy", "ack_delay_bound"),
    *("aad_alpha", "aad_beta", "aad_min_iat", "aad_reset", "aad_segments"),
    *("aad_max_delay", "ack_limit", "ack_limit_max", "ack_count", "ack_count_delay"),
    *("tack_segments", "tack_beta", "divack", "divack_spread"),
)
SENDER = ("divack_sender", "tsq", "tso_rtt_log", "pacing_factor")
_HOST = (
    *ACK_POLICY,
    *SENDER,
    *("congestion_control", "nagle", "initcwnd", "sack", "timestamps"),
    *("tcp_rmem_max", "tcp_wmem_max", "gro", "gso", "gso_segments", "tso"),
)
_CABLE = (
    *("delay", "rate", "rate_burst", "rate_latency", "wire_queue", "wire_loss"),
    *("return_delay", "return_rate", "return_queue"),
)
RATE = ("mcs", "guard_interval", "legacy_rate")
ERRORS = (
    *("error_rate", "response_error_rate"),
    *("burst_enter", "burst_leave", "burst_good_error", "burst_bad_error"),
)
_RADIO = (
    *RATE,
    *ERRORS,
    *("snr", "streams", "preset", "rate_control", "rts_threshold"),
    *("ampdu_mpdus", "ampdu_bytes", "mpdu_spacing", "ampdu_duration", "block_ack_request"),
    *("amsdu", "queue", "formed_ppdus", "fifo_mpdus"),
    *("hand_up", "coalesce_mpdus", "coalesce", "gro_flush"),
)
_CELL = ("standard", "channel", "width", "wmm")

CABLE_CHANGES = ("delay", "rate", "wire_loss")


class Own(Strict):
    """Parameters of a node's own: those that are given, and no others."""

    def plain(self) -> dict[str, Plain]:
        """As in YAML, by the names of parameters."""
        given: dict[str, Plain] = self.model_dump(mode="json", exclude_unset=True)
        return given


def _own(name: str, says: str, keys: Sequence[str], **more: Any) -> type[Own]:
    """A model of some parameters, each as Parameters has it, but without a default."""
    fields: dict[str, Any] = {}
    for attribute, field in Parameters.model_fields.items():
        if field.alias in keys:
            kind = field.annotation
            for extra in field.metadata:
                kind = Annotated[kind, extra]  # type: ignore[assignment]
            own = Field(default=None, alias=field.alias, description=field.description)
            fields[attribute] = (kind, own)
    return create_model(name, __base__=Own, __doc__=says, **more, **fields)


if TYPE_CHECKING:  # what the checker cannot see of models made of others' fields

    class Server(Own): ...

    class AccessPoint(Own): ...

    class Station(Own):
        access_point: str

    class Settings(Own): ...

else:
    Server = _own("Server", "A host on a cable to the switch.", (*_CABLE, *_HOST))
    AccessPoint = _own(
        "AccessPoint",
        "A bridge between the switch and its radio; its stations inherit what it says.",
        (*_CELL, *_RADIO),
    )
    Station = _own(
        "Station",
        "A host with a radio.",
        (*_RADIO, *_HOST),
        access_point=(str, Field(description="the access point that it joins")),
    )
    Settings = _own(
        "Settings",
        "What can change while a run goes on.",
        (*ACK_POLICY, *SENDER, *CABLE_CHANGES, *RATE, *ERRORS, "snr"),
    )


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
        """The parameters that a node has of its own: those of its access point, too."""
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
