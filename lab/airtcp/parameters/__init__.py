# SPDX-License-Identifier: GPL-2.0-only
"""Everything that decides a run beside its seed: each parameter's type, unit, range and default."""

import math
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from airtcp.parameters import jsonschema
from airtcp.parameters.ack_filter import Stages
from airtcp.parameters.conflicts import conflicts
from airtcp.parameters.ieee80211 import CHANNELS_2GHZ, CHANNELS_5GHZ, STANDARDS, Rate, fastest
from airtcp.parameters.jsonschema import Shape
from airtcp.parameters.mobility import FARTHEST_M, Walk
from airtcp.parameters.policies import Policy
from airtcp.parameters.quantity import (
    Capture,
    OnOff,
    Plain,
    Quantity,
    count,
    distance,
    duration,
    fraction,
    level,
    rate,
    ratio,
    size,
    whole_seconds,
)
from airtcp.parameters.small_queue import SmallQueue
from airtcp.units import format_duration_s, format_rate_bps, format_size_bytes

CHANNELS = CHANNELS_2GHZ + CHANNELS_5GHZ

# Parameters that say how long and how closely to look, not what is looked at: changing one leaves
# the design and the comparison with published figures as they are.
OBSERVATION = frozenset(
    {"duration", "idle", "ping_interval", "udp_ping_interval", "tcp_sample"}
    | {"capture", "capture_duration", "ack_trace", "cwnd_trace"}
)

# Type of the error for values that are allowed each by itself, but not together.
CONFLICT = "conflict"

# Transmit power of every preset, and the noise of airsim's receivers: thermal, at 290 K, and a
# noise figure of 7 dB.
TX_POWER_DBM = 20.0
_NOISE_DBM_PER_HZ = -174.0 + 7.0


CongestionControl = Literal[
    "cubic",
    "reno",
    "bbr",
    "bbr_plain",
    "bbr2",
    "bbrp",
    "nv",
    "yeah",
    "highspeed",
    "westwood",
    "illinois",
    "scalable",
    "hybla",
]


def _read_channel(value: object) -> int:
    text = str(value)
    if text not in map(str, CHANNELS):
        raise ValueError(f"{text!r} is not a channel; allowed: {' '.join(map(str, CHANNELS))}")
    return int(text)


Channel = Annotated[int, BeforeValidator(_read_channel), Shape(lambda: jsonschema.words(CHANNELS))]

# The words that leave a value to the kernel, or to the radio's preset.
_KERNEL = "kernel"
_PRESET = "preset"


class Strict(BaseModel):
    """A model that takes the keys it knows and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)


def _field(default: Any, alias: str, description: str) -> Any:
    return Field(default=default, alias=alias, description=description)


class Parameters(Strict):
    """Everything that decides a run, beside its seed. One flat list; aliases are the YAML keys."""

    ack_policy: Policy = _field(
        "default", "ack_policy", "ACK policy of the receiver of the data (net.ipv4.tcp_ack_policy)"
    )
    ack_delay_bound: OnOff = _field(
        True,
        "ack_delay_bound",
        "TCP bounds how long an ACK may wait (RFC 1122, RFC 5681); off: as long as the policy says",
    )
    aad_alpha: Annotated[float | None, fraction(0, 1, _KERNEL)] = _field(
        None, "aad_alpha", "AAD: weight of the smallest inter-arrival time"
    )
    aad_beta: Annotated[float | None, fraction(0.01, 100, _KERNEL)] = _field(
        None, "aad_beta", "AAD: timer as a multiple of the estimated inter-arrival time"
    )
    aad_min_iat_s: Annotated[float | None, duration(0, 1, _KERNEL)] = _field(
        None, "aad_min_iat", "AAD: a shorter inter-arrival time lies inside an aggregate"
    )
    aad_reset_s: Annotated[float | None, duration(0.001, 3600, _KERNEL)] = _field(
        None, "aad_reset", "AAD: period after which the smallest inter-arrival time is forgotten"
    )
    aad_segments: Annotated[int | None, count(1, 65535, _KERNEL)] = _field(
        None, "aad_segments", "AAD: segments after which the estimated timer is used"
    )
    aad_max_delay_s: Annotated[float | None, duration(1e-6, 0.5, _KERNEL)] = _field(
        None, "aad_max_delay", "AAD: longest time that an acknowledgment may wait"
    )
    ack_limit: Annotated[int | None, count(0, (1 << 31) - 1, _KERNEL)] = _field(
        None, "ack_limit", "limit: segments before it starts; 0 and 1: as many as eq. 2.5 gives"
    )
    ack_limit_max: Annotated[int | None, count(1, 65535, _KERNEL)] = _field(
        None,
        "ack_limit_max",
        "limit: bound of n, where more than n segments bring an acknowledgment",
    )
    ack_count: Annotated[int | None, count(1, 65535, _KERNEL)] = _field(
        None, "ack_count", "count: segments that an acknowledgment stands for"
    )
    ack_count_delay_s: Annotated[float | None, duration(1e-6, 0.5, _KERNEL)] = _field(
        None, "ack_count_delay", "count: longest time that an acknowledgment may wait"
    )
    tack_segments: Annotated[int | None, count(1, 65535, _KERNEL)] = _field(
        None, "tack_segments", "TACK: L, full segments an acknowledgment at low rates"
    )
    tack_beta: Annotated[int | None, count(1, 65535, _KERNEL)] = _field(
        None, "tack_beta", "TACK: most acknowledgments in the smallest round-trip time"
    )
    divack: Annotated[int | None, count(0, 64, _KERNEL)] = _field(
        None, "divack", "divack: parts that precede a whole acknowledgment"
    )
    divack_spread_s: Annotated[float | None, duration(0, 0.5, _KERNEL)] = _field(
        None, "divack_spread", "divack: time over which they are spread; 0ms: all at once"
    )
    divack_sender: Annotated[int | None, count(0, 64, _KERNEL)] = _field(
        None,
        "divack_sender",
        "parts of one segment's acknowledgment by which the sender grows its window, in slow "
        "start (net.ipv4.tcp_divack_sender)",
    )

    delay_s: Annotated[float, duration(0, 10)] = _field(
        0.0, "delay", "delay on the wire, one way, server to access point (netem)"
    )
    rate_bps: Annotated[float | None, rate("unlimited")] = _field(
        None, "rate", "rate of the wire, server to access point (tbf)"
    )
    rate_burst_bytes: Annotated[int, size(1600, 1 << 30)] = _field(
        4000, "rate_burst", "bucket of tbf (4000B is the 32kbit of most tc examples)"
    )
    rate_latency_s: Annotated[float, duration(0.001, 60)] = _field(
        0.4, "rate_latency", "longest wait in tbf's queue, beyond which it drops"
    )
    wire_queue_packets: Annotated[int, count(1, 10**7)] = _field(
        1000, "wire_queue", "netem's queue in packets (1000 is what tc gives when not told)"
    )
    wire_loss: Annotated[float, fraction(0, 1)] = _field(
        0.0, "wire_loss", "probability that the wire loses a packet on its way to the stations"
    )
    return_delay_s: Annotated[float, duration(0, 10)] = _field(
        0.0, "return_delay", "delay on the wire, one way, access point to server"
    )
    return_rate_bps: Annotated[float | None, rate("unlimited")] = _field(
        None, "return_rate", "rate of the wire, access point to server, frames and their gaps"
    )
    return_queue_packets: Annotated[int, count(1, 10**6)] = _field(
        100, "return_queue", "return_rate: packets that wait for it"
    )
    path: Literal["none", "satellite", "adsl", "lte"] = _field(
        "none",
        "path",
        "delays and rates of the wire both ways, where ACKs fill the way back "
        "(docs/explanation/ack-filter.md)",
    )
    access: Literal["wifi", "ethernet"] = _field(
        "wifi", "access", "what joins the stations to the bridge: radios or cables"
    )
    ethernet_rate_bps: Annotated[float, rate()] = _field(
        1e9, "ethernet_rate", "access ethernet: rate of every cable, both ways"
    )

    router: Literal["none", "custom", "cisco881", "cisco1841"] = _field(
        "none",
        "router",
        "between server and bridge, with one slow processor: of a make, or with the costs below",
    )
    router_packet_s: Annotated[float, duration(0, 0.01)] = _field(
        0.0, "router_packet", "router custom: processor time of a packet"
    )
    router_byte_s: Annotated[float, duration(1e-9, 1e-3)] = _field(
        1e-9, "router_byte", "router custom: and of each of its bytes"
    )
    router_queue: Annotated[int, count(1, 10**6)] = _field(
        1000, "router_queue", "router custom: packets that wait for the processor"
    )
    slow_host: Literal["none", "sender", "receiver"] = _field(
        "none", "slow_host", "which host has one slow processor, with the costs below"
    )
    host_packet_s: Annotated[float, duration(0, 0.01)] = _field(
        0.0, "host_packet", "slow_host: processor time of a packet, sent or received"
    )
    host_byte_s: Annotated[float, duration(1e-9, 1e-3)] = _field(
        1e-9, "host_byte", "slow_host: and of each of its bytes"
    )
    host_queue: Annotated[int, count(1, 10**6)] = _field(
        1000, "host_queue", "slow_host: packets that wait for the processor"
    )

    ack_filter: Stages = _field(
        (),
        "ack_filter",
        "what thins ACKs on their way (docs/explanation/ack-filter.md); stages joined by +",
    )
    ack_filter_at: Literal["bridge", "router"] = _field(
        "bridge", "ack_filter_at", "police, shape: the node where ACKs are filtered as they enter"
    )
    ack_filter_rate_bps: Annotated[float | None, rate("none")] = _field(
        None, "ack_filter_rate", "police, shape: rate of the ACKs that pass"
    )
    ack_filter_burst_bytes: Annotated[int, size(64, 1 << 30)] = _field(
        5000, "ack_filter_burst", "police: bytes of ACKs that pass at once"
    )
    ack_filter_stations: Literal["all", "first"] = _field(
        "all", "ack_filter_stations", "police, shape: connections of which stations"
    )
    ack_hold: Annotated[int, count(2, 65535)] = _field(
        8, "ack_hold", "hold: ACKs for which the newest stands"
    )
    ack_hold_delay_s: Annotated[float, duration(0, 0.1)] = _field(
        5e-3, "ack_hold_delay", "hold: how long the first of them may wait"
    )
    ack_hold_rate_bps: Annotated[float | None, rate("any")] = _field(
        None, "ack_hold_rate", "hold: while the radio sends at this rate or a higher one"
    )

    direction: Literal["download", "upload", "both"] = _field(
        "download",
        "direction",
        "download: the server sends; upload: the station sends; both: at the same time, where what "
        "is said of the sender is the station's, and both are receivers",
    )
    workload: Literal["bulk", "request_response", "transfer", "web"] = _field(
        "bulk",
        "workload",
        "bulk: data for as long as `duration`; request_response: small messages to and fro over "
        "one connection; transfer: files of a size, each over a new connection; web: pages of "
        "objects of all sizes, each over a new connection",
    )
    message_bytes: Annotated[int, size(1, 1 << 30)] = _field(
        64, "message", "request_response: request and reply; transfer: the request for a file"
    )
    exchanges: Annotated[int, count(1, 10**6)] = _field(
        1000, "exchanges", "request_response: how many, one after the other"
    )
    transfer_size_bytes: Annotated[int | None, size(1, 1 << 30, "none")] = _field(
        None, "transfer_size", "transfer: size of a file"
    )
    transfers: Annotated[int, count(1, 10000)] = _field(
        20, "transfers", "transfer: how many, one after the other"
    )
    pages: Annotated[int, count(1, 10000)] = _field(
        20, "pages", "web: how many, one after the other"
    )
    reading_s: Annotated[float, duration(0, 3600)] = _field(
        1.0, "reading", "web: mean pause between two pages (30s in the model of its source)"
    )
    protocol: Literal["tcp", "udp"] = _field("tcp", "protocol", "transport of the transfer")
    udp_rate_bps: Annotated[float | None, rate("unlimited")] = _field(
        None, "udp_rate", "rate at which UDP is sent; unlimited: the radio's own rate"
    )
    duration_s: Annotated[float, whole_seconds(1, 86400)] = _field(
        10.0, "duration", "bulk: length of the transfer in virtual time, whole seconds"
    )
    idle_s: Annotated[float, whole_seconds(0, 3600)] = _field(
        0.0, "idle", "bulk: time with ping alone, before the transfer and after it, whole seconds"
    )
    flows: Annotated[int, count(1, 128)] = _field(
        1, "flows", "parallel flows of a station in a direction"
    )
    marking: Literal["none", "rrul"] = _field(
        "none",
        "marking",
        "bulk: class of the flows; rrul: best effort, background (CS1), CS5, EF in turn, as in the "
        "RRUL test",
    )
    patience: OnOff = _field(
        True, "patience", "iperf3 waits in the kernel instead of polling: same packets, sooner done"
    )

    congestion_control: CongestionControl = _field(
        "cubic",
        "congestion_control",
        "congestion control of the sender; bbr_plain: BBR without its room for aggregation",
    )
    hystart: OnOff = _field(
        True, "hystart", "CUBIC: HyStart, which leaves slow start before anything is lost"
    )
    tsq: SmallQueue = _field(
        None,
        "tsq",
        "limit of the sender's small queues (net.ipv4.tcp_small_queue): a time at its pacing rate, "
        "bytes, packets, off, what the driver says, or what the kernel has",
    )
    tso_rtt_log: Annotated[int | None, count(0, 31, _KERNEL)] = _field(
        None,
        "tso_rtt_log",
        "how far a small RTT lets the sender send more at once than its pacing rate in 1 ms "
        "(net.ipv4.tcp_tso_rtt_log); 0: not at all, as before Linux 5.18",
    )
    pacing_factor: Annotated[float, fraction(0.1, 5)] = _field(
        1.0, "pacing_factor", "factor of the sender's pacing ratios, BBR's too: 2 is the field's 2p"
    )
    sack: OnOff = _field(True, "sack", "selective acknowledgments (net.ipv4.tcp_sack)")
    initcwnd_segments: Annotated[int | None, count(1, 1000, _KERNEL)] = _field(
        None, "initcwnd", "the sender's first window in segments (ip route's initcwnd; Linux: 10)"
    )
    nagle: OnOff = _field(True, "nagle", "Nagle's algorithm; off is TCP_NODELAY (iperf3 -N)")
    timestamps: OnOff = _field(True, "timestamps", "TCP timestamps (net.ipv4.tcp_timestamps)")
    gro: OnOff = _field(True, "gro", "generic receive offload, every interface")
    gso: OnOff = _field(True, "gso", "generic segmentation offload, every interface")
    gso_segments: Annotated[int | None, count(1, 65535, _KERNEL)] = _field(
        None,
        "gso_segments",
        "most segments that TCP hands down as one packet (ip link's gso_max_segs); it does so even "
        "with gso off, where the stack takes them apart above the driver",
    )
    tso: OnOff = _field(True, "tso", "TCP segmentation offload, where an interface can")
    tcp_rmem_max_bytes: Annotated[int, size(4096, 1 << 31)] = _field(
        6 << 20, "tcp_rmem_max", "largest receive buffer (net.ipv4.tcp_rmem)"
    )
    tcp_wmem_max_bytes: Annotated[int, size(4096, 1 << 31)] = _field(
        4 << 20, "tcp_wmem_max", "largest send buffer (net.ipv4.tcp_wmem)"
    )

    stations: Annotated[int, count(1, 64)] = _field(
        1, "stations", "stations, each with transfers of its own at the same time"
    )
    preset: Literal[
        "generic", "ar9271", "ar9580", "ar5bhb116", "qca6178", "tl-wdr4300", "wifi-11a"
    ] = _field("generic", "preset", "radio of the field: says what is left to it with `preset`")
    standard: Literal["802.11a", "802.11g", "802.11n", "802.11ac", "802.11ax"] = _field(
        "802.11n", "standard", "newest amendment that the radios speak"
    )
    channel: Channel = _field(
        36, "channel", "primary channel; from 40 MHz on the secondary is the next above"
    )
    width: Literal["20MHz", "40MHz", "80MHz", "160MHz"] = _field("20MHz", "width", "channel width")
    streams: Annotated[int, count(1, 4)] = _field(1, "streams", "spatial streams")
    rate_control: Literal["fixed", "minstrel"] = _field(
        "fixed",
        "rate_control",
        "fixed: the rate below; minstrel: minstrel_ht, which knows no HE rates, so that 802.11ax "
        "sends VHT (at 2.4 GHz HT) rates",
    )
    mcs: Annotated[int, count(0, 11)] = _field(
        7, "mcs", "fixed: modulation and coding of one stream; not for 802.11a and g"
    )
    guard_interval: Literal["400ns", "800ns", "1600ns", "3200ns"] = _field(
        "800ns", "guard_interval", "fixed: guard interval of data frames"
    )
    legacy_rate: Literal[
        "6Mbit", "9Mbit", "12Mbit", "18Mbit", "24Mbit", "36Mbit", "48Mbit", "54Mbit"
    ] = _field("54Mbit", "legacy_rate", "fixed: rate of data frames with 802.11a and g")
    wmm: OnOff = _field(
        True, "wmm", "QoS: four access categories; off: 802.11's first channel access, DCF"
    )
    rts_threshold_bytes: Annotated[int | None, size(0, 2347, "off")] = _field(
        None, "rts_threshold", "PPDUs with more bytes are announced by RTS and CTS"
    )

    ampdu_mpdus: Annotated[int | None, count(1, 256, _PRESET)] = _field(
        None, "ampdu_mpdus", "most MPDUs in an aggregate (802.11n and ac: 64, ax: 256)"
    )
    ampdu_bytes: Annotated[int | None, size(2048, 1048575, _PRESET)] = _field(
        None, "ampdu_bytes", "most bytes in an aggregate (802.11n: 65535)"
    )
    mpdu_spacing: Literal[
        "0us", "0.25us", "0.5us", "1us", "2us", "4us", "8us", "16us", "preset"
    ] = _field(
        "preset",
        "mpdu_spacing",
        "least time between the starts of two MPDUs of an aggregate, as its receiver asks (Minimum "
        "MPDU Start Spacing); without a preset's radio 8us with 802.11n, else none",
    )
    ampdu_duration_s: Annotated[float | None, duration(100e-6, 5484e-6, _PRESET)] = _field(
        None, "ampdu_duration", "longest PPDU (5484us is the most that the standard allows)"
    )
    block_ack_request: Literal["on", "off", "preset"] = _field(
        "preset",
        "block_ack_request",
        "after a BlockAck that did not come: a BlockAckReq (on), or the MPDUs again (off)",
    )
    amsdu: Literal["on", "off", "preset"] = _field(
        "preset", "amsdu", "mac80211 joins packets in A-MSDUs"
    )
    queue: Literal["txq", "fifo", "preset"] = _field(
        "preset", "queue", "packets wait in mac80211's queues (FQ-CoDel), or in the driver's FIFO"
    )
    formed_ppdus: Annotated[int | None, count(0, 8, _PRESET)] = _field(
        None,
        "formed_ppdus",
        "queue txq: aggregates that the driver forms before they win the medium, that on the air "
        "among them; 0: it forms them when they do",
    )
    fifo_mpdus: Annotated[int | None, count(1, 65535, _PRESET)] = _field(
        None, "fifo_mpdus", "depth of the driver's FIFO"
    )
    hand_up: Literal["mpdu", "ppdu", "coalesced", "preset"] = _field(
        "preset",
        "hand_up",
        "received MPDUs are handed up: each at its end, all at the PPDU's "
        "end, or after so many or so long",
    )
    coalesce_mpdus: Annotated[int | None, count(1, 256, _PRESET)] = _field(
        None, "coalesce_mpdus", "hand_up coalesced: after so many MPDUs"
    )
    coalesce_s: Annotated[float | None, duration(0, 0.1, _PRESET)] = _field(
        None, "coalesce", "hand_up coalesced: or so long after the first"
    )
    gro_flush_s: Annotated[float, duration(0, 0.1)] = _field(
        100e-6, "gro_flush", "how long the radio's receive poll may hold segments to merge them"
    )

    error_model: Literal["fixed", "snr", "burst"] = _field(
        "fixed",
        "error_model",
        "what loses frames: fixed chances, noise, or a channel that turns good and bad",
    )
    error_rate: Annotated[float, fraction(0, 1)] = _field(
        0.0, "error_rate", "fixed: probability that an MPDU on the air is lost"
    )
    response_error_rate: Annotated[float, fraction(0, 1)] = _field(
        0.0, "response_error_rate", "fixed, burst: the same for ACKs, BlockAcks, RTS and CTS"
    )
    burst_enter: Annotated[float, fraction(0, 1)] = _field(
        0.0, "burst_enter", "burst: probability before an MPDU that the channel turns bad"
    )
    burst_leave: Annotated[float, fraction(0, 1)] = _field(
        1.0, "burst_leave", "burst: probability before an MPDU that it turns good again"
    )
    burst_good_error: Annotated[float, fraction(0, 1)] = _field(
        0.0, "burst_good_error", "burst: probability that an MPDU is lost while it is good"
    )
    burst_bad_error: Annotated[float, fraction(0, 1)] = _field(
        1.0, "burst_bad_error", "burst: probability that an MPDU is lost while it is bad"
    )
    snr_db: Annotated[float | None, ratio(0, 100, "none")] = _field(
        None, "snr", "signal over noise in the channel's width, between access point and stations"
    )
    distance_m: Annotated[float | None, distance(0, FARTHEST_M, "none")] = _field(
        None, "distance", "from the access point to the stations, which stand together"
    )
    walk: Walk = _field(
        None,
        "walk",
        "distance over time since the transfer's start, as in 0s=5m,10s=40m; in between the "
        "stations walk at constant speed",
    )
    path_loss_exponent: Annotated[float, fraction(1, 10)] = _field(
        3.0, "path_loss_exponent", "distance, walk: how fast signals weaken (2: free space)"
    )
    sense_dbm: Annotated[float, level(-120, 0)] = _field(
        -90.0, "sense", "snr, distance, walk: weaker signals are not heard at all"
    )

    ping_interval_s: Annotated[float, duration(0, 60)] = _field(
        0.2, "ping_interval", "bulk: ping from the station to the server beside it; 0ms: none"
    )
    udp_ping_interval_s: Annotated[float, duration(0, 60)] = _field(
        0.0,
        "udp_ping_interval",
        "bulk: UDP requests from the station to the server and their answers beside it; 0ms: none",
    )
    tcp_sample_s: Annotated[float, duration(0.001, 60)] = _field(
        0.01, "tcp_sample", "period at which the state of TCP is read"
    )
    capture: Capture = _field(
        (), "capture", "where packets are captured: off, or any of server,station,air"
    )
    capture_duration_s: Annotated[float | None, duration(0.001, 86400, "unlimited")] = _field(
        None, "capture_duration", "how long packets are captured, from the transfer's start"
    )
    cwnd_trace: OnOff = _field(
        False, "cwnd_trace", "keep the sender's window at every ACK: cwnd-trace.txt"
    )
    ack_trace: OnOff = _field(
        False, "ack_trace", "keep what ACK policies decide, and every ACK: ack-trace.txt"
    )

    @model_validator(mode="after")
    def _together(self) -> "Parameters":
        for conflict in conflicts(self):
            error = InitErrorDetails(
                type=PydanticCustomError(CONFLICT, "{text}", {"text": conflict.text}),
                loc=(conflict.name,),
                input=None,
            )
            raise ValidationError.from_exception_data("Parameters", [error])
        return self

    @staticmethod
    @cache
    def usual() -> Mapping[str, Plain]:
        """What the parameters are that an experiment says nothing of."""
        return Parameters.model_construct().plain()

    def plain(self) -> dict[str, Plain]:
        """As in YAML and JSON: names of the schema, quantities as text with their unit."""
        return self.model_dump(mode="json")

    def replace(self, values: Mapping[str, Plain]) -> "Parameters":
        """These parameters with some changed, validated; raises pydantic's ValidationError."""
        return Parameters.model_validate({**self.plain(), **values})

    @property
    def width_mhz(self) -> int:
        return int(self.width.removesuffix("MHz"))

    @property
    def guard_ns(self) -> int:
        return int(self.guard_interval.removesuffix("ns"))

    @property
    def radio_rate(self) -> Rate:
        """The rate of data frames; with minstrel the highest that it may choose."""
        standard = STANDARDS[self.standard]
        if self.rate_control == "minstrel":
            return fastest(standard, self.channel, self.width_mhz, self.streams)
        if standard.legacy:
            return Rate("ofdm", legacy_mbps=int(self.legacy_rate.removesuffix("Mbit")))
        return Rate(standard.format, self.width_mhz, self.mcs, self.streams, self.guard_ns)

    @property
    def noise_dbm(self) -> float:
        """What a receiver hears of thermal noise in the channel's width."""
        return _NOISE_DBM_PER_HZ + 10 * math.log10(self.width_mhz * 1e6)

    @property
    def station_numbers(self) -> range:
        return range(1, self.stations + 1)

    @property
    def station_device(self) -> Literal["wlan0", "eth0"]:
        """What a station calls its only interface."""
        return "wlan0" if self.access == "wifi" else "eth0"

    @property
    def sender(self) -> Literal["server", "station"]:
        """Who sends the data, and so has the settings of senders."""
        return "server" if self.direction == "download" else "station"

    @property
    def receiver(self) -> Literal["server", "station"]:
        """Who receives what the sender sends."""
        return "station" if self.direction == "download" else "server"

    @property
    def receivers(self) -> tuple[str, ...]:
        """All who receive data, and so have an ACK policy."""
        return ("station", "server") if self.direction == "both" else (self.receiver,)

    @property
    def exchange_count(self) -> int:
        """How many times are measured in a run, where that is known before."""
        counts = {"request_response": self.exchanges, "transfer": self.transfers}
        return counts.get(self.workload, 0)


PARAMETER_NAMES = tuple(field.alias or name for name, field in Parameters.model_fields.items())


class Number(NamedTuple):
    """A parameter that is a number: the unit in which people compare it, and how many make one."""

    unit: str
    attribute: str
    scale: float

    def of(self, parameters: Parameters) -> float | None:
        """In that unit; None where a word stands in its place."""
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
