# SPDX-License-Identifier: GPL-2.0-only
"""Wireshark decodes the frames on the air without warnings."""

import subprocess
from collections import Counter
from pathlib import Path

import newer_hostapd
import pytest
from guests import Measure

WARNING = "_ws.expert.severity >= 0x600000"

# Changes to thesis-lan; the PHY according to Wireshark (by its numbers), and the data rate in
# Mbit/s that it computes.
STANDARDS = {
    "802.11a": (
        ("width=20MHz", "streams=1", "guard_interval=800ns", "rts_threshold=1000"),
        ("5", "54"),
    ),
    "802.11g": (
        ("channel=6", "width=20MHz", "streams=1", "guard_interval=800ns"),
        ("6", "54"),
    ),
    "802.11n": ((), ("7", "240")),
    "802.11ac": (("width=80MHz", "mcs=9"), ("8", "866.667")),
    "802.11ax": (
        ("width=80MHz", "guard_interval=3200ns", "mcs=11", "streams=3"),
        ("11", "1531.3"),
    ),
    # Wireshark 4.0 does not know the fields of EHT, and reads only the channel's.
    "802.11be": (
        ("width=160MHz", "guard_interval=800ns", "mcs=13", "preset=generic"),
        ("5", ""),
    ),
}


def tshark(path: Path, frames: str, *fields: str) -> Counter[str]:
    """Counts of the values of fields in frames that pass a filter. TCP is not dissected."""
    words = [word for field in fields for word in ("-e", field)]
    done = subprocess.run(
        ["tshark", "-r", path, "--disable-protocol", "tcp", "-Y", frames, "-T", "fields", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return Counter(done.stdout.splitlines())


@pytest.mark.parametrize("standard", list(STANDARDS))
def test_wireshark_does_not_warn(measure: Measure, tmp_path: Path, standard: str) -> None:
    settings, data = STANDARDS[standard]
    if standard == "802.11be":
        newer_hostapd.path()
    result = measure(f"standard={standard}", *settings, "capture=air", "capture_duration=500ms")
    assert result.error is None
    path = tmp_path / result.artifacts["air.pcapng"].path
    assert tshark(path, WARNING, "_ws.expert.message") == {}
    data_frames = "wlan.fc.type_subtype == 40 && wlan.ta == 02:61:69:72:00:00"
    values = tshark(path, data_frames, "wlan_radio.phy", "wlan_radio.data_rate")
    print(standard, dict(values))
    assert values.most_common(1)[0][0].split("\t") == list(data)
