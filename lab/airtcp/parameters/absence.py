# SPDX-License-Identifier: GPL-2.0-only
"""Times when a station's radio does not receive: power save and scans."""

from typing import Annotated, ClassVar

from airtcp.parameters.quantity import OnOff, duration
from airtcp.parameters.section import OnlyWith, Section, parameter


class Absence(Section):
    """Power save and scans of stations, by mac80211."""

    only_with: ClassVar = OnlyWith("access", "wifi")

    power_save: OnOff = parameter(
        "power_save",
        False,
        "stations doze after 100 ms without traffic (mac80211's dynamic power save); the access "
        "point then buffers their packets until the next beacon",
    )
    scan_interval_s: Annotated[float, duration(0, 3600)] = parameter(
        "scan_interval",
        0.0,
        "time from the end of a station's scan of all channels to its next one; 0ms: no scans",
    )
