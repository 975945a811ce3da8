# SPDX-License-Identifier: GPL-2.0-only
"""Stations that doze or scan: their access point keeps their packets."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from radio import (
    CAPTURE,
    CAPTURE_END,
    Cell,
    Sample,
    counted,
    difference,
    flow,
    mbps,
    read_sample,
    run,
)

from airtcp.backends.guesttools import GuestTools
from airtcp.files import capture
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.results import onair
from airtcp.testbed.default import testbed

HT = Parameters().replace(
    {"standard": "802.11n", "width": "40MHz", "guard_interval": "400ns", "mcs": 5, "streams": 2}
)
# A beacon every 102.4 ms, as hostapd sends them by itself.
CELLS = [Cell("ap", ["sta"], HT, hostapd="beacon_int=100")]
Boot = Callable[..., Path]

SAVE = "must node sta iw dev wlan0 set power_save on\n"


@pytest.fixture
def booted(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> Boot:
    def boot(script: str, name: str = "run", keys: str = "power_save on") -> Path:
        return run(lab_kernel, tools, tmp_path / name, CELLS, script, keys=keys)

    return boot


def rtts_ms(path: Path) -> list[float]:
    return [float(ms) for ms in re.findall(r"time=([\d.]+) ms", path.read_text())]


def test_a_dozing_station_gets_packets_after_a_beacon(booted: Boot) -> None:
    """It dozes 100 ms after the last packet, and wakes for beacons."""
    pings = (
        "sleep 1\nsample before\n"
        "for ms in 515 524 537 550 563 576 588 601; do\n"
        "\tnode ap ping -nc 1 10.0.0.2 >>rare; sleep 0.$ms\ndone\n"
        "sample after\n"
        "node ap ping -nc 20 -i 0.03 10.0.0.2 >often\n"
    )
    directory = booted(SAVE + pings)
    rare, often = rtts_ms(directory / "rare"), rtts_ms(directory / "often")
    sample = counted(directory)
    dozing = sample.nodes["sta"]["doze_ns"] / sample.time_s / 1e9
    print(f"dozing {dozing:.2f} of the time; rare {rare}, often {often[1:4]}")
    assert len(rare) == 8 and len(often) == 20
    # A reply comes just after a beacon, so the next ping waits for the rest of 102.4 ms.
    for waited, ms in zip(rare[1:], (515, 524, 537, 550, 563, 576, 588), strict=True):
        assert waited == pytest.approx(102.4 - ms % 102.4, abs=3)
    assert max(often[3:]) < 2
    # Awake for 100 ms after each packet.
    cycle = sample.time_s / len(rare)
    assert dozing == pytest.approx((cycle - 0.1) / cycle, abs=0.05)
    assert sample.nodes["ap"]["dropped_retries"] == 0


def test_the_capture_shows_when_a_station_dozes(booted: Boot) -> None:
    pings = "for ms in 515 524 537 550; do node ap ping -nc 1 10.0.0.2 >pings; sleep 0.$ms; done\n"
    sampled = f"sleep 1\nsample before\n{pings}sample after\n"
    directory = booted(CAPTURE + SAVE + sampled + CAPTURE_END)
    air = directory / "air.pcap"
    first_s = next(iter(capture.read_packets(air))).time_ns / 1e9
    begin_s, end_s = (
        read_sample(directory / name).time_s - first_s for name in ("before", "after")
    )
    saving = testbed(Parameters().replace({"power_save": "on"}))
    [station] = saving.stations
    states = onair.states_of(onair.transmissions(air, end_s), saving, station, (begin_s, end_s))
    sample = counted(directory)
    dozing = sample.nodes["sta"]["doze_ns"] / sample.time_s / 1e9
    # airsim counts the reception of beacons as dozing.
    assert states.dozing == pytest.approx(dozing, abs=0.01)
    assert states.wakeups_per_s == pytest.approx(4 / sample.time_s, rel=0.01)
    assert 0 < states.transmitting < 0.001 < states.receiving < 0.02


def test_a_station_without_power_save_is_always_awake(booted: Boot) -> None:
    directory = booted("sample before\nsleep 1\nnode ap ping -nc 1 10.0.0.2 >rare\nsample after\n")
    assert max(rtts_ms(directory / "rare")) < 2
    assert counted(directory).nodes["sta"]["doze_ns"] == 0


def test_traffic_keeps_a_station_awake(booted: Boot) -> None:
    load = flow(CELLS, "ap", "sta", 4) + "sleep 1\nsample before\nsleep 2\nsample after\n"
    awake, saving = counted(booted(load, "awake")), counted(booted(SAVE + load, "saving"))
    assert saving.nodes["sta"]["doze_ns"] == 0
    assert saving.nodes["sta"]["packets"] == pytest.approx(awake.nodes["sta"]["packets"], rel=0.01)


@pytest.mark.parametrize("keys", ["", "formed_ppdus 2", "queueing fifo fifo_mpdus 500"])
def test_packets_wait_while_a_station_scans(booted: Boot, keys: str) -> None:
    load = flow(CELLS, "ap", "sta", 13) + "sleep 1\nsample before\nsleep 2\nsample after\n"
    scan = "must node sta iw dev wlan0 scan >scan\nsample end\nsleep 1\nsample again\n"
    directory = booted(load + scan, keys=keys)
    steady = counted(directory)
    scanning = difference(directory / "after", directory / "end")
    after = difference(directory / "end", directory / "again")
    rates = [sample.nodes["sta"]["packets"] / sample.time_s for sample in (steady, scanning, after)]
    print(
        f"packets per second: {rates[0]:.0f}, in {scanning.time_s:.2f} s {rates[1]:.0f}", rates[2]
    )
    # 38 channels, 30 ms each, with returns between them.
    assert 1 < scanning.time_s < 10
    assert rates[1] < 0.8 * rates[0]
    assert rates[2] == pytest.approx(rates[0], rel=0.02)
    # What is on its way when the station leaves is kept, not dropped after 7 attempts.
    assert scanning.nodes["ap"]["dropped_retries"] == 0


def upload(
    kernel: Kernel, tools: GuestTools, directory: Path, parameters: Parameters, keys: str, scan: str
) -> list[Sample]:
    """A saturated station for one second, during a scan, and for one second after it."""
    cells = [Cell("ap", ["sta"], parameters, hostapd="beacon_int=100")]
    script = flow(cells, "sta", "ap", 9) + "sleep 1\nsample 0\nsleep 1\nsample 1\n"
    script += f"must node sta iw dev wlan0 scan {scan} >scan\nsample 2\nsleep 1\nsample 3\n"
    run(kernel, tools, directory, cells, script, keys=keys)
    return [difference(directory / str(n), directory / str(n + 1)) for n in range(3)]


@pytest.mark.parametrize(
    ("parameters", "keys", "scan"),
    [
        # mac80211 does not say again that slots are short.
        (Parameters().replace({"standard": "802.11g", "channel": 6}), "", "freq 2412 2462"),
        # A null frame at 6 Mbit/s makes mac80211 expect that MPDUs exceed AQL's limit.
        (HT, "formed_ppdus 2", "freq 5240 5260"),
    ],
    ids=["802.11g", "formed"],
)
def test_an_upload_is_as_fast_after_a_scan(
    lab_kernel: Kernel,
    tools: GuestTools,
    tmp_path: Path,
    parameters: Parameters,
    keys: str,
    scan: str,
) -> None:
    before, _, after = upload(lab_kernel, tools, tmp_path / "run", parameters, keys, scan)
    assert mbps(after, "ap") == pytest.approx(mbps(before, "ap"), rel=0.02)


def test_a_station_sends_what_it_holds_before_it_scans(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    keys = "queueing fifo fifo_mpdus 500"
    _, scanning, _ = upload(lab_kernel, tools, tmp_path / "run", HT, keys, "")
    assert scanning.nodes["ap"]["packets"] > 400
    assert scanning.nodes["sta"]["dropped_retries"] == 0


def test_a_station_keeps_what_it_cannot_send_before_it_scans(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """1000 packets at 6 Mbit/s take two seconds, and mac80211 waits for less than half of one."""
    slow = Parameters().replace({"standard": "802.11a", "legacy_rate": "6Mbit"})
    keys = "queueing fifo fifo_mpdus 1000"
    before, scanning, after = upload(
        lab_kernel, tools, tmp_path / "run", slow, keys, "freq 5240 5260"
    )
    assert scanning.nodes["sta"]["dropped_retries"] == 0
    assert mbps(after, "ap") == pytest.approx(mbps(before, "ap"), rel=0.02)


def test_what_a_station_holds_leaves_after_a_scan_of_its_own_channel(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """mac80211 scans it without HT, and returns to the same frequencies. The sender is silent."""
    slow = Parameters().replace({"standard": "802.11n", "width": "20MHz", "streams": 1, "mcs": 0})
    cells = [Cell("ap", ["sta"], slow, hostapd="beacon_int=100")]
    # 1000 packets at once
    script = "sample 0\n" + flow(cells, "sta", "ap", 0.001, 0, 2_500_000) + "sleep 0.1\n"
    script += "must node sta iw dev wlan0 scan freq 5240 5180 >scan\nsample 1\nsleep 3\nsample 2\n"
    directory = tmp_path / "run"
    run(lab_kernel, tools, directory, cells, script, keys="queueing fifo fifo_mpdus 1000")
    held = difference(directory / "0", directory / "1").nodes["sta"]["queued"]
    after = difference(directory / "1", directory / "2")
    assert held > 300
    assert after.nodes["ap"]["packets"] == pytest.approx(held, abs=5)
    assert after.nodes["sta"]["dropped_retries"] == 0


@pytest.mark.parametrize("tos", ["0x00", "0x20", "0xa0"], ids=["be", "bk", "vi"])
def test_a_packet_of_an_idle_station_leaves_after_a_scan(booted: Boot, tos: str) -> None:
    """Nothing else is sent that would make its access category contend."""
    scan = "node sta iw dev wlan0 scan freq 5240 5260 >scan &\nscanning=$!\n"
    ping = f"node sta ping -nc 1 -W 5 -Q {tos} 10.0.0.1 >ping\n"
    wait = "wait $scanning\n"
    directory = booted(f"sleep 1\n{scan}sleep 0.03\n{ping}{wait}", keys="")
    [rtt_ms] = rtts_ms(directory / "ping")
    print(f"answered after {rtt_ms} ms")
    # It waits for the rest of 33 ms on one channel and 110 ms on the other.
    assert 80 < rtt_ms < 200


def test_late_completions_wake_a_queue(booted: Boot) -> None:
    """AQL stops a queue whose packets are not reported for 20 ms, for longer than the air needs."""
    load = flow(CELLS, "sta", "ap", 4) + "sleep 1\nsample before\nsleep 2\nsample after\n"
    assert mbps(counted(booted(load, keys="completion_us 20000")), "ap") > 100
