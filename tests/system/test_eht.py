# SPDX-License-Identifier: GPL-2.0-only
"""802.11be in experiments: TCP downloads at 5 GHz and with WPA3 at 6 GHz, and their captures.

hostapd and wpa_supplicant are those of `./airtcp setup be`; without them the tests are skipped.
"""

from pathlib import Path

import newer_hostapd
import pytest
from guests import Measure

from airtcp.files import airtrace, capture

AT_5_GHZ = (
    *("standard=802.11be", "width=160MHz", "mcs=13", "guard_interval=800ns"),
    *("preset=generic", "txq_limit=preset"),
)
AT_6_GHZ = (*AT_5_GHZ, "channel=37", "width=320MHz")
CAPTURE = ("capture=air", "capture_duration=500ms")


@pytest.mark.parametrize(
    ("settings", "mbps"), [(AT_5_GHZ, 2882), (AT_6_GHZ, 5765)], ids=["5 GHz", "6 GHz"]
)
def test_downloads_use_most_of_the_rate(
    measure: Measure, settings: tuple[str, ...], mbps: float
) -> None:
    newer_hostapd.supplicant()
    default = measure(*settings).values
    auto = measure(*settings, "ack_policy=auto").values
    shown = ("goodput_mbps", "acks_sent", "ampdu_mpdus_mean")
    print([(values[name], name) for values in (default, auto) for name in shown])
    assert default["goodput_mbps"] > 0.7 * mbps
    assert auto["goodput_mbps"] > 0.98 * default["goodput_mbps"]
    assert auto["acks_sent"] < default["acks_sent"] / 2
    # Whole windows.
    assert auto["ampdu_mpdus_mean"] > 500


@pytest.mark.parametrize("settings", [AT_5_GHZ, AT_6_GHZ], ids=["5 GHz", "6 GHz"])
def test_runs_are_identical(measure: Measure, tmp_path: Path, settings: tuple[str, ...]) -> None:
    newer_hostapd.supplicant()
    runs = []
    for _ in range(2):
        result = measure(*settings, *CAPTURE, "duration=1s")
        path = tmp_path / result.artifacts["air.pcapng"].path
        runs.append((result.metrics, path.read_bytes()))
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("settings", "rate"),
    [
        (AT_5_GHZ, "EHT 160 MHz MCS 13 x2 GI 800 ns"),
        (AT_6_GHZ, "EHT 320 MHz MCS 13 x2 GI 800 ns"),
    ],
    ids=["5 GHz", "6 GHz"],
)
def test_captures_have_the_rate_and_tcp(
    measure: Measure, tmp_path: Path, settings: tuple[str, ...], rate: str
) -> None:
    newer_hostapd.supplicant()
    result = measure(*settings, *CAPTURE)
    path = tmp_path / result.artifacts["air.pcapng"].path
    data = [sent for sent in airtrace.read(path) if sent.kind == "data" and sent.from_ap]
    assert max(sent.mpdus for sent in data) > 500
    assert {sent.rate for sent in data} == {rate}
    # TCP is readable, also in a network with WPA3.
    assert sum(segment.payload_bytes > 0 for segment in capture.read_tcp(path)) > 10_000
