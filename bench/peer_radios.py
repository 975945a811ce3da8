# SPDX-License-Identifier: GPL-2.0-only
"""Radios of bench/peer_scenarios.py: rates and limits, for both simulators."""

from dataclasses import dataclass

from edca_simulation import simulate
from radio import MPDU_OCTETS, OCTETS
from wifi_timing import (
    BLOCKACK_WITHOUT_BITMAP,
    Format,
    Rate,
    legacy,
    most_mpdus,
    ppdu_us,
    psdu_octets,
    response_octets,
)

NS3_FORMATS = {
    Format.OFDM: "OfdmRate",
    Format.HT: "HtMcs",
    Format.VHT: "VhtMcs",
    Format.HE: "HeMcs",
}


@dataclass(frozen=True)
class Radio:
    """A standard, its rate of data, and limits of A-MPDUs."""

    standard: str
    rate: Rate
    ampdu_octets: int = 65535
    ba_window: int = 64

    @property
    def legacy(self) -> bool:
        return self.rate.format is Format.OFDM

    @property
    def mode(self) -> str:
        """ns-3's name of the rate; its HT MCSs count the streams."""
        name = NS3_FORMATS[self.rate.format]
        if self.legacy:
            return f"{name}{self.rate.legacy_kbps // 1000}Mbps"
        streams = self.rate.streams - 1 if self.rate.format is Format.HT else 0
        return f"{name}{self.rate.mcs + 8 * streams}"

    def parameters(self) -> dict[str, str]:
        """airtcp's parameters."""
        if self.legacy:
            kbps = self.rate.legacy_kbps
            return {
                "standard": self.standard,
                "width": "20MHz",
                "streams": "1",
                "legacy_rate": f"{kbps // 1000}Mbit",
                "guard_interval": "800ns",
            }
        return {
            "standard": self.standard,
            "width": f"{self.rate.width_mhz}MHz",
            "streams": str(self.rate.streams),
            "mcs": str(self.rate.mcs),
            "guard_interval": f"{self.rate.gi_ns}ns",
            "ampdu_mpdus": str(self.ba_window),
            "ampdu_bytes": f"{self.ampdu_octets}B",
            "ampdu_duration": "5484us",
            "mpdu_spacing": "0us",
        }

    def contention_mbps(
        self, stations: int, bar: bool = True, eifs: bool = True, cw_reset: bool = True
    ) -> float:
        """Goodput of saturated stations. bar: after a missing BlockAck; others: of simulate()."""
        mpdus = most_mpdus(
            self.rate, MPDU_OCTETS, limit=self.ba_window, ampdu_octets=self.ampdu_octets
        )
        control = legacy(24000)
        return simulate(
            stations,
            ppdu_us(self.rate, psdu_octets(self.rate, MPDU_OCTETS, mpdus)),
            ppdu_us(control, response_octets(mpdus, self.ba_window)),
            OCTETS * mpdus,
            bar_us=ppdu_us(control, BLOCKACK_WITHOUT_BITMAP) if bar and mpdus > 1 else 0,
            exchanges=300_000,
            eifs=eifs,
            cw_reset=cw_reset,
        ).throughput_mbps

    def options(self) -> dict[str, object]:
        """Options of ns3-scenario."""
        return {
            "standard": self.standard,
            "mode": self.mode,
            "width_mhz": self.rate.width_mhz,
            "streams": self.rate.streams,
            "gi_ns": self.rate.gi_ns,
            "ampdu_octets": self.ampdu_octets,
            "ba_window": self.ba_window,
        }


RADIOS = {
    "a": Radio("802.11a", legacy(54000)),
    "n": Radio("802.11n", Rate(Format.HT, 5, 2, 40, 400)),
    "n20": Radio("802.11n", Rate(Format.HT, 5, 2, 20, 400)),
    "ac": Radio("802.11ac", Rate(Format.VHT, 9, 2, 80, 400), 1048575),
    "ax": Radio("802.11ax", Rate(Format.HE, 11, 2, 80, 800), 1048575, 256),
}
