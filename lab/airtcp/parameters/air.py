# SPDX-License-Identifier: GPL-2.0-only
"""Conflicts between the parameters of BSS, radio, errors and propagation, and the data rate."""

import math
from collections.abc import Iterator

from airtcp.parameters.bss import Bss
from airtcp.parameters.errors import Errors, Propagation
from airtcp.parameters.ieee80211 import (
    STANDARDS,
    Rate,
    Standard,
    fastest,
    is_6ghz,
    mcs_of,
    of_minstrel,
    widths_mhz,
)
from airtcp.parameters.mobility import ORIGIN, Position
from airtcp.parameters.radio import Radio
from airtcp.parameters.section import PRESET, Conflict, listed, not_with

# Longest A-MPDU (9.4.2.55.3, 9.4.2.157.2, of 802.11be aPSDUMaxLength).
_MOST_BYTES = {"ht": 65535, "vht": 1048575, "he": 1048575, "eht": 15523200}

# Transmit power of every preset.
_PRESET_DBM = 20.0

# Path loss at 1 m in airsim.
_REFERENCE_LOSS_DB = 46.677

# With less, most beacons are lost, which have the lowest rate.
_BEACON_SNR_DB = 2.0


class Air(Errors, Propagation, Radio, Bss):
    """The sections of the air together; it adds no parameters."""

    @property
    def radio_rate(self) -> Rate:
        """The rate of data frames; unless it is fixed, the highest possible one."""
        standard = STANDARDS[self.standard]
        if self.rate_control == "minstrel":
            standard = of_minstrel(standard, self.channel)
            return fastest(standard, self.width_mhz, self.streams, standard.guards_ns[0])
        if self.rate_control == "ideal":
            return fastest(standard, self.width_mhz, self.streams, self.guard_ns)
        if standard.legacy:
            return Rate("ofdm", legacy_mbps=int(self.legacy_rate.removesuffix("Mbit")))
        return Rate(standard.format, self.width_mhz, self.mcs, self.streams, self.guard_ns)

    @property
    def sent_dbm(self) -> float:
        """The transmit power."""
        return _PRESET_DBM if self.tx_power_dbm is None else self.tx_power_dbm

    def received_dbm(self, distance_m: float) -> float:
        """The strength of the radio's signal at a distance."""
        decades = math.log10(max(1.0, distance_m))
        return self.sent_dbm - _REFERENCE_LOSS_DB - 10 * self.path_loss_exponent * decades

    @property
    def range_m(self) -> float:
        """How far away the radio is heard: where its signal is as weak as the CCA threshold."""
        spare_db = self.received_dbm(1) - self.cca_threshold_dbm
        return float(10 ** (spare_db / 10 / self.path_loss_exponent))

    def may_leave(self, access_point: "Air", of: Position = ORIGIN) -> bool:
        """Whether fading, or a walk to where a radio is not received, may end the association.

        access_point: its parameters. of: its position.
        """
        if self.fading != "none":
            return True
        if not self.walk:
            return False
        farthest_m = max(point.position.distance_m(of) for point in self.walk)
        least_dbm = max(self.cca_threshold_dbm, self.noise_dbm + _BEACON_SNR_DB)
        weaker_dbm = min(each.received_dbm(farthest_m) for each in (self, access_point))
        return weaker_dbm < least_dbm

    def out_of_reach(self, access_point: "Air", of: Position = ORIGIN) -> Iterator[Conflict]:
        """That a station which does not move is out of range of an access point, or vice versa.

        access_point: its parameters. of: its position.
        """
        name, here = "distance", None if self.distance_m is None else Position(self.distance_m)
        if self.walk and len(self.walk) == 1:
            name, here = "walk", self.walk[0].position
        range_m = min(self.range_m, access_point.range_m)
        if here is not None and (distance_m := here.distance_m(of)) > range_m:
            allowed = f"up to {math.floor(range_m * 10) / 10:g}m"
            yield Conflict(
                name,
                f"{round(distance_m, 1):.10g}m from the access point is out of reach; allowed: "
                f"{allowed} with cca_threshold {self.text('cca_threshold_dbm')}",
            )

    def too_strong(self, access_point: "Air") -> Iterator[Conflict]:
        """That the SNR of a station is higher than without any loss.

        access_point: its parameters.
        """
        most_db = access_point.sent_dbm - self.noise_dbm
        if self.snr_db is not None and self.snr_db > most_db:
            yield not_with(
                "snr",
                self.text("snr_db"),
                f"tx_power {access_point.text('tx_power_dbm')} at {self.width}",
                f"up to {math.floor(most_db * 1000) / 1000:.3f}dB",
            )

    def own_conflicts(self) -> Iterator[Conflict]:
        standard = STANDARDS[self.standard]
        yield from self._operating_point(standard)
        yield from self._aggregation(standard)
        yield from self._errors()

    def missing_place(self) -> Iterator[Conflict]:
        """A missing parameter that stations of a custom topology may provide."""
        if self.error_model == "snr" and not any(self._places().values()):
            yield Conflict("error_model", f"snr needs one of {listed(self._places())}")

    def _places(self) -> dict[str, bool]:
        """The parameters that determine the SNR, and whether they are set."""
        return {
            "snr": self.snr_db is not None,
            "distance": self.distance_m is not None,
            "walk": self.walk is not None,
        }

    def _operating_point(self, standard: Standard) -> Iterator[Conflict]:
        if self.channel not in standard.channels:
            yield not_with("channel", self.channel, self.standard, listed(standard.channels))
            return
        widths = widths_mhz(standard, self.channel)
        if self.width_mhz not in widths:
            given = f"{self.standard} on channel {self.channel}"
            yield not_with("width", self.width, given, listed(widths, "MHz"))
            return
        if self.streams > standard.streams:
            allowed = listed(range(1, standard.streams + 1))
            yield not_with("streams", self.streams, self.standard, allowed)
            return
        if self.rate_control == "minstrel":
            if is_6ghz(self.channel):
                given = f"channel {self.channel}, at 6 GHz"
                yield not_with("rate_control", self.rate_control, given, "fixed ideal")
            return
        if self.guard_ns not in standard.guards_ns:
            allowed = listed(standard.guards_ns, "ns")
            yield not_with("guard_interval", self.guard_interval, self.standard, allowed)
        if standard.legacy or self.rate_control == "ideal":
            return
        known = mcs_of(standard, self.width_mhz, self.streams)
        if self.mcs not in known:
            given = f"{self.standard} at {self.width} with streams {self.streams}"
            of_ht = f" (MCS {self.mcs} of 802.11n is mcs {self.mcs % 8} with streams "
            of_ht += f"{self.mcs // 8 + 1})"
            allowed = listed(known) + (of_ht if standard.format == "ht" else "")
            yield not_with("mcs", self.mcs, given, allowed)

    def _aggregation(self, standard: Standard) -> Iterator[Conflict]:
        name, mpdus, octets = self.standard, self.ampdu_mpdus, self.ampdu_bytes
        if standard.legacy:
            # There are no A-MPDUs; limits for them are not a conflict, like an MCS.
            if self.amsdu == "on":
                yield not_with("amsdu", "on", name, "off or 'preset'")
            if self.mpdu_spacing != PRESET:
                yield not_with("mpdu_spacing", self.mpdu_spacing, name, "'preset'")
            return
        if mpdus is not None and mpdus > standard.ba_window:
            yield not_with("ampdu_mpdus", mpdus, name, f"1 to {standard.ba_window} or 'preset'")
        if octets is not None and octets > (most := _MOST_BYTES[standard.format]):
            yield not_with("ampdu_bytes", octets, name, f"2048 to {most} or 'preset'")

    def _errors(self) -> Iterator[Conflict]:
        given = [name for name, is_set in self._places().items() if is_set]
        if len(given) > 1:
            yield Conflict(given[1], f"is not allowed with {given[0]}; give only one of them")
        if self.rate_control == "ideal" and self.error_model != "snr":
            other = f"error_model {self.error_model}"
            yield not_with("rate_control", self.rate_control, other, "fixed minstrel")
        least_db = self.cca_threshold_dbm - self.noise_dbm
        if self.snr_db is not None and self.snr_db < least_db:
            yield not_with(
                "snr",
                self.text("snr_db"),
                f"cca_threshold {self.text('cca_threshold_dbm')} at {self.width}",
                f"{max(0.0, least_db):.3f}dB and more",
            )
