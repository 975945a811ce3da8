# SPDX-License-Identifier: GPL-2.0-only
"""Parameters of a BSS, which the access point sets, and of its radios."""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from airtcp.parameters import jsonschema
from airtcp.parameters.ieee80211 import CHANNELS_2GHZ, CHANNELS_5GHZ
from airtcp.parameters.jsonschema import Shape
from airtcp.parameters.quantity import OnOff
from airtcp.parameters.section import OnlyWith, Section, parameter

CHANNELS = CHANNELS_2GHZ + CHANNELS_5GHZ

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

    standard: Literal["802.11a", "802.11g", "802.11n", "802.11ac", "802.11ax"] = parameter(
        "standard", "802.11n", "latest 802.11 amendment that the radios support"
    )
    width: Literal["20MHz", "40MHz", "80MHz", "160MHz"] = parameter(
        "width", "20MHz", "channel width"
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
        "channel", 36, "primary channel; from 40 MHz on the secondary is the next above"
    )
    wmm: OnOff = parameter("wmm", True, "EDCA with four access categories; off: legacy DCF")
