# SPDX-License-Identifier: GPL-2.0-only
"""Which parameters cannot be together, though each is allowed by itself."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from airtcp.parameters.ieee80211 import STANDARDS, Standard, mcs_of, widths_mhz
from airtcp.parameters.quantity import Plain

if TYPE_CHECKING:  # the schema of parameters itself needs conflicts()
    from airtcp.parameters import Parameters

# The error models that look at a parameter: with another its value would do nothing.
_OF_MODEL = {
    "error_rate": ("fixed",),
    "response_error_rate": ("fixed", "burst"),
    "burst_enter": ("burst",),
    "burst_leave": ("burst",),
    "burst_good_error": ("burst",),
    "burst_bad_error": ("burst",),
    "snr": ("snr",),
    "distance": ("snr",),
    "walk": ("snr",),
}
# The workloads that do.
_OF_WORKLOAD = {
    "message": ("request_response", "transfer"),
    "pages": ("web",),
    "reading": ("web",),
    "exchanges": ("request_response",),
    "transfer_size": ("transfer",),
    "transfers": ("transfer",),
    "protocol": ("bulk",),
    "flows": ("bulk",),
    "idle": ("bulk",),
    "marking": ("bulk",),
    "udp_ping_interval": ("bulk",),
    "stations": ("bulk",),
}
# The accesses that do.
_RADIO = (
    *("preset", "standard", "channel", "width", "streams", "rate_control", "mcs"),
    *("guard_interval", "legacy_rate", "wmm", "rts_threshold", "ampdu_mpdus", "ampdu_bytes"),
    *("mpdu_spacing", "ampdu_duration", "block_ack_request", "amsdu", "queue"),
    *("formed_ppdus", "fifo_mpdus"),
    *("hand_up", "coalesce_mpdus", "coalesce", "gro_flush", "error_model", "error_rate"),
    *("response_error_rate", "burst_enter", "burst_leave", "snr", "distance", "walk", "sense"),
)
_OF_ACCESS = dict.fromkeys(_RADIO, ("wifi",)) | {"ethernet_rate": ("ethernet",)}
# Whether a path of a preset, a router and a slow host have their own values.
_OF_PATH = dict.fromkeys(("delay", "rate", "return_delay", "return_rate"), ("none",))
_OF_ROUTER = dict.fromkeys(("router_packet", "router_byte", "router_queue"), ("custom",))
_OF_HOST = dict.fromkeys(("host_packet", "host_byte", "host_queue"), ("sender", "receiver"))
# The stages of ACK filtering that look at a parameter.
_OF_STAGES = {
    "ack_filter_at": ("police", "shape"),
    "ack_filter_rate": ("police", "shape"),
    "ack_filter_burst": ("police",),
    "ack_filter_stations": ("police", "shape"),
    "ack_hold": ("hold",),
    "ack_hold_delay": ("hold",),
    "ack_hold_rate": ("hold",),
}
_RADIO_STAGES = ("txq", "txq-aggressive", "hold", "multicast")
# The congestion controls that do.
_OF_CONGESTION_CONTROL = {"hystart": ("cubic",)}
_PLACES = ("snr", "distance", "walk")

# The bucket of a processor counts up to so many bytes for a packet.
_MOST_BYTES_OF_A_PACKET = 65535

# Longest A-MPDU (9.4.2.55.3, 9.4.2.157.2).
_MOST_BYTES = {"ht": 65535, "vht": 1048575, "he": 1048575}


class Conflict(NamedTuple):
    """The parameter at fault, and what is wrong with its value and what is allowed."""

    name: str
    text: str


def conflicts(parameters: "Parameters") -> Iterator[Conflict]:
    """All that is wrong, what the rest follows from first."""
    standard = STANDARDS[parameters.standard]
    plain = parameters.plain()
    yield from _idle(parameters, plain, "access", _OF_ACCESS)
    yield from _operating_point(parameters, standard)
    yield from _aggregation(parameters, standard)
    yield from _errors(parameters, plain)
    yield from _idle(parameters, plain, "workload", _OF_WORKLOAD)
    yield from _idle(parameters, plain, "congestion_control", _OF_CONGESTION_CONTROL)
    yield from _idle(parameters, plain, "path", _OF_PATH)
    if "air" in parameters.capture and parameters.access != "wifi":
        yield _not_with("capture", "air", f"access {parameters.access}", "server station")
    yield from _slow(parameters, plain)
    yield from _ack_filters(parameters, plain)
    if parameters.queue == "fifo" and parameters.formed_ppdus:
        yield _not_with("formed_ppdus", parameters.formed_ppdus, "queue fifo", "0 or 'preset'")
    if parameters.direction == "both" and parameters.workload != "bulk":
        yield _not_with("direction", "both", f"workload {parameters.workload}", "download upload")
    if parameters.workload == "transfer" and parameters.transfer_size_bytes is None:
        yield Conflict("workload", "transfer needs transfer_size, as in 100000B")


def unsaid(parameters: "Parameters") -> Iterator[Conflict]:
    """What parameters have to say where no topology does, station by station."""
    snr = parameters.error_model == "snr"
    if snr and not _given_places(parameters, parameters.plain()):
        yield Conflict("error_model", f"snr needs one of {_words(_PLACES)}; none is given")


def _given_places(parameters: "Parameters", plain: Mapping[str, Plain]) -> list[str]:
    usual = type(parameters).usual()
    return [name for name in _PLACES if plain[name] != usual[name]]


def _operating_point(parameters: "Parameters", standard: Standard) -> Iterator[Conflict]:
    name, channel, width = parameters.standard, parameters.channel, parameters.width_mhz
    if channel not in standard.channels:
        yield _not_with("channel", channel, name, _words(standard.channels))
        return
    if width not in (widths := widths_mhz(standard, channel)):
        given = f"{name} on channel {channel}"
        yield _not_with("width", parameters.width, given, _words(widths, "MHz"))
        return
    streams = parameters.streams
    if streams > standard.streams:
        yield _not_with("streams", streams, name, _words(range(1, standard.streams + 1)))
        return
    if parameters.rate_control != "fixed":
        return
    if parameters.guard_ns not in standard.guards_ns:
        allowed = _words(standard.guards_ns, "ns")
        yield _not_with("guard_interval", parameters.guard_interval, name, allowed)
    if not standard.legacy and parameters.mcs not in (known := mcs_of(standard, width, streams)):
        given = f"{name} at {parameters.width} with streams {streams}"
        yield _not_with("mcs", parameters.mcs, given, _words(known))


def _aggregation(parameters: "Parameters", standard: Standard) -> Iterator[Conflict]:
    name, mpdus, octets = parameters.standard, parameters.ampdu_mpdus, parameters.ampdu_bytes
    if standard.legacy:
        # Without A-MPDUs their limits say nothing, as an MCS does.
        if parameters.amsdu == "on":
            yield _not_with("amsdu", "on", name, "off or 'preset'")
        if parameters.mpdu_spacing != "preset":
            yield _not_with("mpdu_spacing", parameters.mpdu_spacing, name, "'preset'")
        return
    if mpdus is not None and mpdus > standard.ba_window:
        yield _not_with("ampdu_mpdus", mpdus, name, f"1 to {standard.ba_window} or 'preset'")
    if octets is not None and octets > (most := _MOST_BYTES[standard.format]):
        yield _not_with("ampdu_bytes", octets, name, f"2048 to {most} or 'preset'")


def _errors(parameters: "Parameters", plain: Mapping[str, Plain]) -> Iterator[Conflict]:
    yield from _idle(parameters, plain, "error_model", _OF_MODEL)
    if parameters.error_model != "snr":
        return
    if len(given := _given_places(parameters, plain)) > 1:
        what = f"given are {' and '.join(given)}"
        yield Conflict("error_model", f"snr needs one of {_words(_PLACES)}; {what}")
    if parameters.snr_db is not None:
        least_db = parameters.sense_dbm - parameters.noise_dbm
        if parameters.snr_db < least_db:
            yield _not_with(
                "snr",
                plain["snr"],
                f"sense {plain['sense']} at {parameters.width}",
                f"{max(0.0, least_db):.3f}dB and more",
            )


def _slow(parameters: "Parameters", plain: Mapping[str, Plain]) -> Iterator[Conflict]:
    """Routers and hosts with a slow processor."""
    yield from _idle(parameters, plain, "router", _OF_ROUTER)
    yield from _idle(parameters, plain, "slow_host", _OF_HOST)
    if parameters.slow_host != "none" and not parameters.host_packet_s:
        yield Conflict("slow_host", "needs host_packet, as in 20us")
    costs = {
        "router_packet": (parameters.router_packet_s, parameters.router_byte_s),
        "host_packet": (parameters.host_packet_s, parameters.host_byte_s),
    }
    for name, (packet_s, byte_s) in costs.items():
        if packet_s > _MOST_BYTES_OF_A_PACKET * byte_s:
            yield Conflict(
                name,
                f"is more than that of {_MOST_BYTES_OF_A_PACKET} bytes; allowed with "
                f"{name.replace('packet', 'byte')} {round(byte_s * 1e9)}ns: up to "
                f"{_MOST_BYTES_OF_A_PACKET * byte_s * 1e6:.0f}us",
            )


def _ack_filters(parameters: "Parameters", plain: Mapping[str, Plain]) -> Iterator[Conflict]:
    stages = parameters.ack_filter
    yield from _idle(parameters, plain, "ack_filter", _OF_STAGES)
    for stage in stages:
        if stage in ("police", "shape") and parameters.ack_filter_rate_bps is None:
            yield Conflict("ack_filter", f"{stage} needs ack_filter_rate, as in 100kbit")
        if stage in _RADIO_STAGES and parameters.access != "wifi":
            yield Conflict("ack_filter", f"{stage} is a matter of radios; allowed: access wifi")
        if stage.startswith("txq") and parameters.queue == "fifo":
            yield _not_with("ack_filter", stage, "queue fifo, where no packet waits", "queue txq")
        if stage.startswith("cake") and not _has_way_back(parameters):
            yield Conflict(
                "ack_filter",
                f"{stage} needs a bottleneck on the way back: return_rate, path, access ethernet",
            )
    if "multicast" in stages and parameters.direction != "upload":
        yield Conflict(
            "ack_filter",
            "multicast is for ACKs that an access point sends, as a station's frames go to it "
            "alone; allowed: direction upload",
        )
    if parameters.ack_filter_at == "router" and parameters.router == "none":
        yield _not_with("ack_filter_at", "router", "router none", "bridge")


def _has_way_back(parameters: "Parameters") -> bool:
    return (
        parameters.return_rate_bps is not None
        or parameters.path != "none"
        or parameters.access == "ethernet"
    )


def _idle(
    parameters: "Parameters",
    plain: Mapping[str, Plain],
    chooser: str,
    users: Mapping[str, Sequence[str]],
) -> Iterator[Conflict]:
    """Parameters whose value would do nothing, for the chooser has not chosen one of its users.

    A chooser of several has them joined by +.
    """
    usual = type(parameters).usual()
    chosen = str(plain[chooser]).split("+")
    for name, choices in users.items():
        if not set(chosen) & set(choices) and plain[name] != usual[name]:
            yield _not_with(name, plain[name], f"{chooser} {plain[chooser]}", usual[name])


def _not_with(name: str, value: object, given: str, allowed: object) -> Conflict:
    return Conflict(name, f"{value} is not allowed with {given}; allowed: {allowed}")


def _words(values: Iterable[object], unit: str = "") -> str:
    return " ".join(f"{value}{unit}" for value in values)
