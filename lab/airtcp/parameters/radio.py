# SPDX-License-Identifier: GPL-2.0-only
"""The radio of a node: rates, aggregation, queues, delivery of received frames."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from airtcp.parameters.quantity import count, duration, level, size
from airtcp.parameters.section import (
    PRESET,
    Conflict,
    DefaultTopologyOnly,
    OnlyWith,
    RadioKey,
    Section,
    not_with,
    parameter,
)

_WIFI = OnlyWith("access", "wifi")

_Switch = Literal["on", "off", "preset"]

Preset = Literal[
    "generic",
    "ar9271",
    "ar9580",
    "ar5bhb116",
    "qca6178",
    "tl-wdr4300",
    "tl-wdr4300-calibrated",
    "wifi-11a",
]


# 802.11n numbers its MCSs across streams, the later amendments and airtcp per stream.
_HT_MCS = " (MCS 15 of 802.11n is mcs 7 with streams 2)"


class DataRate(Section):
    """The rate of data frames with rate_control fixed. It may change during a run."""

    only_with: ClassVar = _WIFI

    mcs: Annotated[int, count(0, 13, hint=_HT_MCS)] = parameter(
        "mcs", 7, "fixed: MCS index per spatial stream; not for 802.11a and g"
    )
    guard_interval: Literal["400ns", "800ns", "1600ns", "3200ns"] = parameter(
        "guard_interval", "800ns", "fixed, ideal: guard interval of data frames"
    )
    legacy_rate: Literal[
        "6Mbit", "9Mbit", "12Mbit", "18Mbit", "24Mbit", "36Mbit", "48Mbit", "54Mbit"
    ] = parameter("legacy_rate", "54Mbit", "fixed: rate of data frames with 802.11a and g")

    @property
    def guard_ns(self) -> int:
        return int(self.guard_interval.removesuffix("ns"))


class Radio(DataRate):
    """All parameters of a radio."""

    only_with: ClassVar = _WIFI

    preset: Preset = parameter(
        "preset",
        "generic",
        "real radio to model; it sets what is left at `preset` below. Drivers: ath9k (ar9580 "
        "ar5bhb116 tl-wdr4300), ath9k_htc (ar9271), ath10k (qca6178)",
    )
    streams: Annotated[int, count(1, 4)] = parameter("streams", 1, "spatial streams")
    tx_power_dbm: Annotated[
        float | None,
        level(-20, 40, PRESET),
        OnlyWith("error_model", "snr"),
        RadioKey("tx_power_mdbm", 1e3),
    ] = parameter("tx_power", None, "transmit power (presets: 20dBm)")
    rate_control: Literal["fixed", "minstrel", "ideal"] = parameter(
        "rate_control",
        "fixed",
        "fixed: the rate above; minstrel: minstrel_ht, which has no HE and EHT rates, so that "
        "802.11ax and be send at VHT rates (HT at 2.4 GHz); ideal: with error_model snr, the MCS "
        "and streams with the highest expected throughput at the current SNR",
    )
    rts_threshold_bytes: Annotated[int | None, size(0, 2347, "off")] = parameter(
        "rts_threshold", None, "PPDUs with more bytes are protected by RTS/CTS"
    )
    protection: Annotated[Literal["rts-cts", "cts-to-self", "preset"], RadioKey("protection")] = (
        parameter(
            "protection",
            PRESET,
            "what protects PPDUs near stations of older standards: RTS and CTS (presets), or a CTS "
            "that the sender addresses to itself; rts_threshold means RTS and CTS in any case",
        )
    )
    mpdu_spacing: Literal[
        "0us", "0.25us", "0.5us", "1us", "2us", "4us", "8us", "16us", "preset"
    ] = parameter(
        "mpdu_spacing",
        PRESET,
        "Minimum MPDU Start Spacing in an A-MPDU that the receiver requests; preset generic: 8us "
        "with 802.11n, else none",
    )
    amsdu: Annotated[_Switch, RadioKey("amsdu")] = parameter(
        "amsdu", PRESET, "mac80211 aggregates packets into A-MSDUs"
    )
    queue: Annotated[Literal["txq", "fifo", "preset"], RadioKey("queueing")] = parameter(
        "queue", PRESET, "packets wait in mac80211's TXQs (FQ-CoDel), or in the driver's FIFO"
    )
    txq_limit_packets: Annotated[int | None, count(1, 65535, PRESET)] = parameter(
        "txq_limit",
        None,
        "queue txq: packets in all TXQs of a radio (`iw phy set txq limit`; mac80211's default is "
        "8192); if there are more, up to 32 of the longest flow are dropped",
    )
    codel_target_s: Annotated[
        float | None, duration(100e-6, 1, PRESET), RadioKey("codel_target_us", 1e6)
    ] = parameter(
        "codel_target",
        None,
        "how long packets may wait in the TXQs before CoDel drops some (mac80211: 20ms; a queueing "
        "discipline fq_codel: 5ms)",
    )
    ampdu_mpdus: Annotated[int | None, count(1, 1024, PRESET), RadioKey("ampdu_mpdus")] = parameter(
        "ampdu_mpdus", None, "maximum MPDUs per A-MPDU (802.11n and ac: 64, ax: 256, be: 1023)"
    )
    ampdu_bytes: Annotated[int | None, size(2048, 15523200, PRESET), RadioKey("ampdu_octets")] = (
        parameter(
            "ampdu_bytes",
            None,
            "maximum bytes per A-MPDU (802.11n: 65535, ac and ax: 1048575, be: 15523200)",
        )
    )
    ampdu_duration_s: Annotated[
        float | None, duration(100e-6, 5484e-6, PRESET), RadioKey("ampdu_duration_us", 1e6)
    ] = parameter(
        "ampdu_duration", None, "maximum duration of a PPDU (the standard's limit is 5484us)"
    )
    block_ack_request: Annotated[_Switch, RadioKey("bar")] = parameter(
        "block_ack_request",
        PRESET,
        "after a lost BlockAck: send a BlockAckReq (on), or retransmit the MPDUs (off)",
    )
    retry_limit: Annotated[int | None, count(1, 31, PRESET), RadioKey("retry_limit")] = parameter(
        "retry_limit",
        None,
        "attempts to send an MPDU of a BlockAck session, after which it is dropped; all other "
        "frames: 7 (mac80211's default)",
    )
    formed_ppdus: Annotated[int | None, count(0, 8, PRESET), RadioKey("formed_ppdus")] = parameter(
        "formed_ppdus",
        None,
        "A-MPDUs that the driver forms ahead of channel access, the one on the air included; 0: "
        "it forms them on access",
    )
    formed_singles: Annotated[int | None, count(0, 64, PRESET), RadioKey("formed_singles")] = (
        parameter(
            "formed_singles",
            None,
            "like formed_ppdus, but applies while every A-MPDU formed ahead has a single MPDU",
        )
    )
    completion_s: Annotated[
        float | None, duration(0, 0.1, PRESET), RadioKey("completion_us", 1e6)
    ] = parameter(
        "completion",
        None,
        "time from a packet's acknowledgment until the stack learns of it (presets: none)",
    )
    fifo_mpdus: Annotated[int | None, count(1, 65535, PRESET), RadioKey("fifo_mpdus")] = parameter(
        "fifo_mpdus", None, "queue fifo: depth of the driver's FIFO in MPDUs"
    )
    rx_delivery: Annotated[
        Literal["mpdu", "ppdu", "coalesced", "preset"], RadioKey("rx_delivery")
    ] = parameter(
        "rx_delivery",
        PRESET,
        "received MPDUs are delivered to the stack one by one, per PPDU, or coalesced by "
        "count or time",
    )
    coalesce_mpdus: Annotated[int | None, count(1, 1024, PRESET), RadioKey("coalesce_mpdus")] = (
        parameter("coalesce_mpdus", None, "rx_delivery coalesced: MPDUs per delivery")
    )
    coalesce_s: Annotated[float | None, duration(0, 0.1, PRESET), RadioKey("coalesce_us", 1e6)] = (
        parameter(
            "coalesce", None, "rx_delivery coalesced: maximum time from the first MPDU to delivery"
        )
    )
    coalesce_idle_s: Annotated[
        float | None, duration(0, 0.1, PRESET), RadioKey("coalesce_idle_us", 1e6)
    ] = parameter(
        "coalesce_idle",
        None,
        "rx_delivery coalesced: maximum time from the last MPDU to delivery; 0: only coalesce "
        "limits the time",
    )
    coalesce_tx: Annotated[_Switch, RadioKey("coalesce_tx")] = parameter(
        "coalesce_tx",
        PRESET,
        "rx_delivery coalesced: also deliver when the stack learns that a packet was sent",
    )
    capture_effect: Annotated[_Switch, OnlyWith("error_model", "snr"), RadioKey("capture")] = (
        parameter(
            "capture_effect",
            PRESET,
            "snr: of overlapping frames, a receiver decodes the stronger one if its SINR suffices; "
            "off: it loses both",
        )
    )
    gro_flush_s: Annotated[float, duration(0, 0.1), RadioKey("gro_flush_us", 1e6)] = parameter(
        "gro_flush", 100e-6, "maximum time that the radio's NAPI poll holds segments for GRO"
    )

    def own_conflicts(self) -> Iterator[Conflict]:
        if self.formed_singles and (self.queue == "fifo" or self.formed_ppdus == 0):
            given = "queue fifo" if self.queue == "fifo" else "formed_ppdus 0"
            yield not_with("formed_singles", self.formed_singles, given, "0 or 'preset'")


class StationRadio(Radio):
    """The radios of stations, which may differ from the access point's."""

    only_with: ClassVar = _WIFI

    station_preset: Annotated[Literal["same", Preset], DefaultTopologyOnly()] = parameter(
        "station_preset",
        "same",
        "preset of the stations' radios, if the access point has another one; parameters that can "
        "be `preset` then apply to the access point only. same: one preset for all radios",
    )

    def of_stations(self) -> Self:
        """These parameters for a station, whose radio may have a preset of its own."""
        if self.station_preset == "same":
            return self
        default = Radio.model_construct()
        names = [name for name in Radio.model_fields if default.text(name) == PRESET]
        left = {name: getattr(default, name) for name in names}
        return self.model_copy(update={**left, "preset": self.station_preset})
