# SPDX-License-Identifier: GPL-2.0-only
"""Parameters of a BSS, which the access point sets, and of its radios."""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from airtcp.parameters import jsonschema
from airtcp.parameters.ieee80211 import CHANNELS_2GHZ, CHANNELS_5GHZ, CHANNELS_6GHZ
from airtcp.parameters.jsonschema import Shape
from airtcp.parameters.quantity import OnOff, duration
from airtcp.parameters.section import OnlyWith, Scale, Section, parameter

CHANNELS = CHANNELS_2GHZ + CHANNELS_5GHZ + CHANNELS_6GHZ

# The noise of airsim's receivers: thermal noise at 290 K with a noise figure of 7 dB.
_NOISE_DBM_PER_HZ = -174.0 + 7.0


def _read_channel(value: object) -> int:
    text = str(value)
    if text not in map(str, CHANNELS):
        raise ValueError(f"{text!r} is not a channel; allowed: {' '.join(map(str, CHANNELS))}")
    return int(text)


Channel = Annotated[int, BeforeValidator(_read_channel), Shape(lambda: jsonschema.words(CHANNELS))]


class Capability(Section):
    """What a radio supports; a station may support less than its access point."""

    only_with: ClassVar = OnlyWith("access", "wifi")

    standard: Literal["802.11a", "802.11g", "802.11n", "802.11ac", "802.11ax", "802.11be"] = (
        parameter(
            "standard",
            "802.11n",
            "latest 802.11 amendment that the radios support; 802.11be needs `airtcp setup be`",
        )
    )
    width: Literal["20MHz", "40MHz", "80MHz", "160MHz", "320MHz"] = parameter(
        "width", "20MHz", "channel width; 320MHz at 6 GHz only"
    )

    @property
    def width_mhz(self) -> int:
        return int(self.width.removesuffix("MHz"))

    @property
    def noise_dbm(self) -> float:
        """The noise of a receiver over the channel's width."""
        return _NOISE_DBM_PER_HZ + 10 * math.log10(self.width_mhz * 1e6)


class Bss(Capability):
    """Standard, channel and channel access of a BSS."""

    only_with: ClassVar = OnlyWith("access", "wifi")

    channel: Channel = parameter(
        "channel",
        36,
        "primary channel; with 40 MHz or more, the secondary channel is the next higher one. 37 "
        "and 101 are at 6 GHz, where the network has WPA3",
    )
    # Without WMM, mac80211 associates without HT, and so at rates of 802.11a.
    wmm: Annotated[OnOff, OnlyWith("standard", "802.11a", "802.11g")] = parameter(
        "wmm",
        True,
        "EDCA with four access categories; off: a single one with the parameters of DCF (802.11a "
        "and g only)",
    )
    ul_ofdma: Annotated[Literal["on", "off"], OnlyWith("standard", "802.11ax")] = parameter(
        "ul_ofdma",
        "off",
        "802.11ax: the access point sends Trigger frames, which stations answer in parallel",
    )
    # If it were 0, the access point would never send its own data.
    ul_ofdma_interval_s: Annotated[
        float, duration(100e-6, 1), OnlyWith("ul_ofdma", "on"), Scale(1e6)
    ] = parameter(
        "ul_ofdma_interval",
        5e-3,
        "ul_ofdma: minimum time between Trigger frames that ask for buffer status reports, and "
        "between all Trigger frames while the access point has data to send",
    )
    mu_edca: Annotated[Literal["low", "never", "off"], OnlyWith("ul_ofdma", "on")] = parameter(
        "mu_edca",
        "low",
        "ul_ofdma: how stations contend for 2.1 s after they were acknowledged: with low priority "
        "(best effort: AIFSN 8, CWmin 511), never, or as others (off)",
    )
