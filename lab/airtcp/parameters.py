# SPDX-License-Identifier: GPL-2.0-only
"""Everything that decides a run beside its seed: each parameter's type, unit, range and default."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
)
from pydantic_core import CoreSchema, core_schema

from airtcp.units import (
    format_duration_s,
    format_rate_bps,
    format_size_bytes,
    parse_duration_s,
    parse_rate_bps,
    parse_size_bytes,
)

# 5 GHz channels without radar, each with its secondary above it.
CHANNELS = ("36", "44", "149", "157")

CAPTURE_POINTS = ("server", "station", "air")

# Parameters that say how long and how closely to look, not what is looked at: changing one leaves
# the design and the comparison with published figures as they are.
OBSERVATION = frozenset({"duration", "ping_interval", "tcp_sample", "capture", "capture_duration"})

# A value as it stands in JSON and in YAML.
Plain = str | int | float


@dataclass(frozen=True)
class Quantity:
    """A number in a range, with a unit or without, or one word that stands for None."""

    parse: Callable[[str], float]
    write: Callable[[Any], Plain]
    low: float
    high: float
    none: str | None = None

    def read(self, value: object) -> float | None:
        text = str(value)
        if self.none is not None and text == self.none:
            return None
        try:
            number = self.parse(text)
        except ValueError as error:
            also = f", or {self.none!r}" if self.none else ""
            raise ValueError(f"{error}{also}") from None
        if not self.low <= number <= self.high:
            raise ValueError(f"{text!r} is out of range; allowed: {self.allowed()}")
        return number

    def plain(self, value: float | None) -> Plain | None:
        return self.none if value is None else self.write(value)

    def allowed(self) -> str:
        bounds = f"{self.write(self.low)} to {self.write(self.high)}"
        return f"{bounds} or {self.none!r}" if self.none else bounds

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.read,
            serialization=core_schema.plain_serializer_function_ser_schema(self.plain),
        )


def _parse_count(text: str) -> int:
    if not re.fullmatch("[0-9]+", text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _parse_fraction(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not a number")
    return number


def _parse_seconds(text: str) -> float:
    seconds = parse_duration_s(text)
    if seconds != int(seconds):
        raise ValueError(f"{text!r} is not a whole number of seconds, which iperf3 needs")
    return seconds


def _duration(low_s: float, high_s: float, none: str | None = None) -> Quantity:
    return Quantity(parse_duration_s, format_duration_s, low_s, high_s, none)


def _rate(none: str) -> Quantity:
    return Quantity(parse_rate_bps, format_rate_bps, 1e4, 1e11, none)


def _size(low: int, high: int) -> Quantity:
    return Quantity(parse_size_bytes, format_size_bytes, low, high)


def _count(low: int, high: int, none: str | None = None) -> Quantity:
    return Quantity(_parse_count, int, low, high, none)


def _fraction(low: float, high: float, none: str | None = None) -> Quantity:
    return Quantity(_parse_fraction, float, low, high, none)


def _read_on_off(value: object) -> bool:
    if value in ("on", "off"):
        return value == "on"
    raise ValueError(f"{value!r} is not a switch; allowed: on, off")


def _write_on_off(value: bool) -> str:
    return "on" if value else "off"


def _read_channel(value: object) -> int:
    text = str(value)
    if text not in CHANNELS:
        raise ValueError(f"{text!r} is not a channel; allowed: {' '.join(CHANNELS)}")
    return int(text)


def _read_capture(value: object) -> tuple[str, ...]:
    if value == "off":
        return ()
    points = [point.strip() for point in str(value).split(",")]
    for point in points:
        if point not in CAPTURE_POINTS:
            raise ValueError(
                f"{point!r} is not a capture point; allowed: off, or any of "
                + ",".join(CAPTURE_POINTS)
            )
    return tuple(point for point in CAPTURE_POINTS if point in points)


def _write_capture(points: tuple[str, ...]) -> str:
    return ",".join(points) or "off"


OnOff = Annotated[bool, BeforeValidator(_read_on_off), PlainSerializer(_write_on_off)]
Capture = Annotated[
    tuple[str, ...], BeforeValidator(_read_capture), PlainSerializer(_write_capture)
]

# The word that leaves a value to the kernel, which has its own default for it.
_KERNEL = "kernel"


class Strict(BaseModel):
    """A model that takes the keys it knows and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)


def _field(default: Any, alias: str, description: str) -> Any:
    return Field(default=default, alias=alias, description=description)


class Parameters(Strict):
    """Everything that decides a run, beside its seed. One flat list; aliases are the YAML keys."""

    ack_policy: Literal["default", "aad"] = _field(
        "default", "ack_policy", "ACK policy of the receiver of the data (net.ipv4.tcp_ack_policy)"
    )
    aad_alpha: Annotated[float | None, _fraction(0, 1, _KERNEL)] = _field(
        None, "aad_alpha", "AAD: weight of the smallest inter-arrival time"
    )
    aad_beta: Annotated[float | None, _fraction(0.01, 100, _KERNEL)] = _field(
        None, "aad_beta", "AAD: timer as a multiple of the estimated inter-arrival time"
    )
    aad_min_iat_s: Annotated[float | None, _duration(0, 1, _KERNEL)] = _field(
        None, "aad_min_iat", "AAD: a shorter inter-arrival time lies inside an aggregate"
    )
    aad_reset_s: Annotated[float | None, _duration(0.001, 3600, _KERNEL)] = _field(
        None, "aad_reset", "AAD: period after which the smallest inter-arrival time is forgotten"
    )
    aad_segments: Annotated[int | None, _count(1, 65535, _KERNEL)] = _field(
        None, "aad_segments", "AAD: segments after which the estimated timer is used"
    )
    aad_max_delay_s: Annotated[float | None, _duration(1e-6, 0.5, _KERNEL)] = _field(
        None, "aad_max_delay", "AAD: longest time that an acknowledgment may wait"
    )

    delay_s: Annotated[float, _duration(0, 10)] = _field(
        0.0, "delay", "delay on the wire, one way, server to access point (netem)"
    )
    rate_bps: Annotated[float | None, _rate("unlimited")] = _field(
        None, "rate", "rate of the wire, server to access point (tbf)"
    )
    rate_burst_bytes: Annotated[int, _size(1600, 1 << 30)] = _field(
        4000, "rate_burst", "bucket of tbf (4000B is the 32kbit of most tc examples)"
    )
    rate_latency_s: Annotated[float, _duration(0.001, 60)] = _field(
        0.4, "rate_latency", "longest wait in tbf's queue, beyond which it drops"
    )
    wire_queue_packets: Annotated[int, _count(1, 10**7)] = _field(
        1000, "wire_queue", "netem's queue in packets (1000 is what tc gives when not told)"
    )

    direction: Literal["download", "upload"] = _field(
        "download", "direction", "download: the server sends; upload: the station sends"
    )
    protocol: Literal["tcp", "udp"] = _field("tcp", "protocol", "transport of the transfer")
    udp_rate_bps: Annotated[float | None, _rate("unlimited")] = _field(
        None, "udp_rate", "rate at which UDP is sent; unlimited: the radio's own rate"
    )
    duration_s: Annotated[float, Quantity(_parse_seconds, format_duration_s, 1, 86400)] = _field(
        10.0, "duration", "length of the transfer in virtual time, whole seconds"
    )
    flows: Annotated[int, _count(1, 128)] = _field(1, "flows", "parallel flows")
    patience: OnOff = _field(
        True, "patience", "iperf3 waits in the kernel instead of polling: same packets, sooner done"
    )

    congestion_control: Literal["cubic", "reno", "westwood", "bbr"] = _field(
        "cubic", "congestion_control", "congestion control of the sender"
    )
    sack: OnOff = _field(True, "sack", "selective acknowledgments (net.ipv4.tcp_sack)")
    nagle: OnOff = _field(True, "nagle", "Nagle's algorithm; off is TCP_NODELAY (iperf3 -N)")
    timestamps: OnOff = _field(True, "timestamps", "TCP timestamps (net.ipv4.tcp_timestamps)")
    gro: OnOff = _field(True, "gro", "generic receive offload, every interface")
    gso: OnOff = _field(True, "gso", "generic segmentation offload, every interface")
    tso: OnOff = _field(True, "tso", "TCP segmentation offload, where an interface can")
    tcp_rmem_max_bytes: Annotated[int, _size(4096, 1 << 31)] = _field(
        6 << 20, "tcp_rmem_max", "largest receive buffer (net.ipv4.tcp_rmem)"
    )
    tcp_wmem_max_bytes: Annotated[int, _size(4096, 1 << 31)] = _field(
        4 << 20, "tcp_wmem_max", "largest send buffer (net.ipv4.tcp_wmem)"
    )

    standard: Literal["802.11n"] = _field("802.11n", "standard", "amendment that the radios speak")
    channel: Annotated[int, BeforeValidator(_read_channel)] = _field(
        36, "channel", "primary channel, 5 GHz; at 40 MHz the secondary is the next above"
    )
    width: Literal["20MHz", "40MHz"] = _field("20MHz", "width", "channel width")
    guard_interval: Literal["short", "long"] = _field(
        "long", "guard_interval", "guard interval of data frames (400 or 800 ns)"
    )
    mcs: Annotated[int, _count(0, 31)] = _field(
        7, "mcs", "fixed modulation and coding; 8 a spatial stream, so 13 is MCS 5 on two"
    )
    error_rate: Annotated[float, _fraction(0, 1)] = _field(
        0.0, "error_rate", "probability that an MPDU on the air is lost"
    )
    ampdu_mpdus: Annotated[int, _count(1, 64)] = _field(
        64, "ampdu_mpdus", "most MPDUs in an aggregate"
    )
    ampdu_bytes: Annotated[int, _size(2048, 65535)] = _field(
        65535, "ampdu_bytes", "most bytes in an aggregate"
    )
    ampdu_duration_s: Annotated[float, _duration(100e-6, 5484e-6)] = _field(
        5484e-6, "ampdu_duration", "longest PPDU (5484us is the most that 802.11n allows)"
    )
    gro_flush_s: Annotated[float, _duration(0, 0.1)] = _field(
        100e-6, "gro_flush", "how long the radio's receive poll may hold segments to merge them"
    )

    ping_interval_s: Annotated[float, _duration(0, 60)] = _field(
        0.2, "ping_interval", "ping from the station to the server beside the transfer; 0ms: none"
    )
    tcp_sample_s: Annotated[float, _duration(0.001, 60)] = _field(
        0.01, "tcp_sample", "period at which the state of TCP is read"
    )
    capture: Capture = _field(
        (), "capture", "where packets are captured: off, or any of server,station,air"
    )
    capture_duration_s: Annotated[float | None, _duration(0.001, 86400, "unlimited")] = _field(
        None, "capture_duration", "how long packets are captured, from the transfer's start"
    )

    def plain(self) -> dict[str, Plain]:
        """As in YAML and JSON: names of the schema, quantities as text with their unit."""
        return self.model_dump(mode="json")

    def replace(self, values: Mapping[str, Plain]) -> "Parameters":
        """These parameters with some changed, validated; raises pydantic's ValidationError."""
        return Parameters.model_validate({**self.plain(), **values})

    @property
    def sender(self) -> Literal["server", "station"]:
        return "server" if self.direction == "download" else "station"

    @property
    def receiver(self) -> Literal["server", "station"]:
        return "station" if self.direction == "download" else "server"


PARAMETER_NAMES = tuple(field.alias or name for name, field in Parameters.model_fields.items())
