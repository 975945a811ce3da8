# SPDX-License-Identifier: GPL-2.0-only
"""Protection near stations of older standards: RTS and CTS, or a CTS to the sender itself."""

import struct
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from edca_simulation import simulate
from radio import (
    CAPTURE,
    CAPTURE_END,
    MPDU_OCTETS,
    OCTETS,
    Cell,
    Sample,
    blocked,
    counted,
    flow,
    mbps,
    run,
)
from test_radiotap import WARNING, tshark
from wifi_timing import (
    ACK,
    AIFSN,
    CW_MIN,
    Format,
    Rate,
    legacy,
    most_mpdus,
    ppdu_us,
    psdu_octets,
    response_octets,
)

from airtcp.backends.guesttools import GuestTools
from airtcp.files import airtrace
from airtcp.files.airtrace import Transmission
from airtcp.files.capture import read_packets
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.testbed.addresses import radio_mac

HT = Parameters().replace({"standard": "802.11n", "mcs": 7})
HT_RATE = Rate(Format.HT, 7)
OLD = Parameters().replace({"standard": "802.11a", "preset": "wifi-11a"})
G = Parameters().replace({"standard": "802.11g", "channel": 6})
RTS, CTS = 20, 14
SIFS_US, SLOT_US = 16, 9
SELF = "protection cts-to-self"

Measured = Callable[..., tuple[Sample, Path]]


@pytest.fixture
def measured(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> Measured:
    """A function that lets flows run, and returns counters over `seconds` and the capture.

    Without `captured`, there is no capture.
    """

    def measure_flows(
        cells: Sequence[Cell],
        flows: Sequence[tuple[str, str]],
        seconds: float,
        keys: str = "",
        before: str = "",
        captured: bool = False,
    ) -> tuple[Sample, Path]:
        directory = tmp_path / str(len(list(tmp_path.iterdir())))
        parts = [before, CAPTURE if captured else ""]
        parts += [flow(cells, *pair, seconds + 2, 0, 200_000) for pair in flows]
        parts.append(f"sleep 1\nsample before\nsleep {seconds:g}\nsample after\n")
        if captured:
            parts.append(CAPTURE_END)
        run(lab_kernel, tools, directory, cells, "".join(parts), keys=keys)
        return counted(directory), directory / "air.pcap"

    return measure_flows


def mixed(*stations: str, parameters: Parameters = HT, hostapd: str = "") -> list[Cell]:
    """A cell of 802.11n with an idle station of 802.11a."""
    return [Cell("ap", [*stations, "old"], parameters, {"old": OLD}, hostapd)]


@dataclass(frozen=True)
class Cts:
    """A captured CTS: its receiver address, the end of the medium's reservation, the flags."""

    sent: Transmission
    address: str
    reserved_until_ns: int


def data_frames(path: Path, sender: str) -> Iterator[tuple[int, int]]:
    """Frame control and sequence number of the QoS Data frames of a sender."""
    for packet in read_packets(path):
        (length,) = struct.unpack_from("<H", packet.data, 2)
        (control,) = struct.unpack_from("<H", packet.data, length)
        if control & 0xFC == 0x88 and packet.data[length + 10 : length + 16].hex(":") == sender:
            (sequence,) = struct.unpack_from("<H", packet.data, length + 22)
            yield control, sequence >> 4


def cts_frames(path: Path) -> list[Cts]:
    """The CTS of a capture, in order."""
    sent = [ppdu for ppdu in airtrace.read(path) if ppdu.kind == "cts"]
    frames = []
    for packet in read_packets(path):
        (length,) = struct.unpack_from("<H", packet.data, 2)
        control, duration_us, address = struct.unpack_from("<HH6s", packet.data, length)
        if control == 0x00C4:
            frames.append((duration_us, address.hex(":")))
    assert len(frames) == len(sent)
    return [
        Cts(ppdu, address, ppdu.end_ns + duration_us * 1000)
        for ppdu, (duration_us, address) in zip(
            sorted(sent, key=lambda ppdu: ppdu.end_ns), frames, strict=True
        )
    ]


def cycle_us(protection_us: float, *, sifs_us: float = SIFS_US) -> float:
    """Mean time of access, protection and the SIFS that precedes the response."""
    return 2 * sifs_us + (AIFSN + CW_MIN / 2) * SLOT_US + protection_us


def test_transmissions_near_legacy_stations_are_protected(measured: Measured) -> None:
    alone, _ = measured([Cell("ap", ["sta"], HT)], [("ap", "sta")], 1)
    mixed, _ = measured([Cell("ap", ["sta", "old"], HT, {"old": OLD})], [("ap", "sta")], 1)
    assert alone.nodes["ap"]["rts_sent"] == 0
    assert mixed.nodes["ap"]["rts_sent"] >= mixed.nodes["ap"]["ppdus"] - 20 > 100


@pytest.mark.parametrize("mpdus", [1, 64])
def test_protection_costs_what_its_frames_last(measured: Measured, mpdus: int) -> None:
    """Control frames at 24 Mbit/s: RTS 28 us, CTS 28 us."""
    control = legacy(24000)
    cts_us = ppdu_us(control, CTS) + SIFS_US
    rts_us = ppdu_us(control, RTS) + SIFS_US
    count = most_mpdus(HT_RATE, MPDU_OCTETS, limit=mpdus, min_spacing_us=8)
    ppdu = ppdu_us(HT_RATE, psdu_octets(HT_RATE, MPDU_OCTETS, count, 8))
    response = ppdu_us(control, response_octets(count, 64))
    for keys, protection_us in (("", rts_us + cts_us), (SELF, cts_us)):
        sample, _ = measured(mixed("sta"), [("ap", "sta")], 3, f"ampdu_mpdus {mpdus} {keys}")
        expected = count * OCTETS * 8 / (cycle_us(protection_us) + ppdu + response)
        print(f"{keys or 'rts-cts'}: {mbps(sample, 'sta'):.3f} of {expected:.3f} Mbit/s")
        assert mbps(sample, "sta") == pytest.approx(expected, rel=0.005)
        ap = sample.nodes["ap"]
        sent = ("cts_to_self_sent", "rts_sent") if keys else ("rts_sent", "cts_to_self_sent")
        assert ap[sent[0]] >= ap["ppdus"] - 20 > 100
        assert ap[sent[1]] == 0


def test_a_cts_to_self_reserves_the_medium_until_the_response_has_ended(
    measured: Measured,
) -> None:
    cells = mixed("sta")
    sample, path = measured(cells, [("ap", "sta")], 1, SELF, captured=True)
    ordered = sorted(airtrace.read(path), key=lambda ppdu: ppdu.start_ns)
    following = {first.start_ns: second for first, second in pairwise(ordered)}
    frames = cts_frames(path)
    assert len(frames) >= sample.nodes["ap"]["cts_to_self_sent"] > 100
    for cts in frames[:-1]:  # the capture may end within an exchange
        assert (cts.sent.sender, cts.address, cts.sent.receiver) == (0, radio_mac(0), None)
        assert cts.sent.end_ns - cts.sent.start_ns == 28_000
        assert not cts.sent.lost and not cts.sent.collided
        ppdu = following[cts.sent.start_ns]
        response = following[ppdu.start_ns]
        assert (ppdu.kind, ppdu.sender) == ("data", 0)
        assert ppdu.start_ns == cts.sent.end_ns + SIFS_US * 1000
        assert response.kind in ("ack", "blockack")
        # Duration is in us, rounded up.
        assert 0 <= cts.reserved_until_ns - response.end_ns < 1000
    assert tshark(path, WARNING, "_ws.expert.message") == {}


@pytest.mark.parametrize("protection", ["rts-cts", "cts-to-self"])
def test_a_station_that_decodes_only_the_protection_keeps_its_distance(
    measured: Measured, protection: str
) -> None:
    """The old station receives the other one with 12 dB, and the access point not at all.

    So it does not decode the PPDU, waits EIFS, and contends before the response of 68 us has ended,
    unless the frames at 6 Mbit/s have set its NAV.
    """
    basic = "basic_rates=60"
    links = "".join(
        f"must airsim link set {pair} loss_mdb {loss}\n"
        for pair, loss in (("0 1", 60_000), ("1 0", 60_000), ("2 0", 60_000), ("1 2", 102_000))
    )
    deaf = links + "must airsim link set 0 2 blocked\n"
    deaf += "".join(f"must airsim radio set {number} errors snr\n" for number in range(3))
    flows = [("sta", "ap"), ("old", "ap")]

    def gap_us(cells: Sequence[Cell]) -> float:
        """Shortest time from a response to the other station to the next frame of the old one."""
        _, path = measured(cells, flows, 4, f"protection {protection}", deaf, captured=True)
        ordered = sorted(airtrace.read(path), key=lambda ppdu: ppdu.start_ns)
        gaps = [
            second.start_ns - first.end_ns
            for first, second in pairwise(ordered)
            if first.kind in ("ack", "blockack") and (first.receiver, second.sender) == (1, 2)
        ]
        assert len(gaps) > 20
        return min(gaps) / 1000

    plain = gap_us([Cell("ap", ["sta", "old"], HT, hostapd=basic)])
    protected = gap_us(mixed("sta", hostapd=basic))
    print(f"{protection}: {protected:.0f} us after a response, unprotected {plain:.0f} us")
    aifs_us = SIFS_US + AIFSN * SLOT_US
    assert plain < aifs_us <= protected < aifs_us + 2 * SLOT_US


def test_contending_stations_match_the_simulation(measured: Measured) -> None:
    """A collision costs the CTS and the PPDU, and is counted once."""
    control = legacy(24000)
    stations = [f"sta{number}" for number in range(4)]
    flows = [(name, "ap") for name in stations]
    sample, _ = measured(mixed(*stations), flows, 20, f"ampdu_mpdus 1 {SELF}")
    protected_us = ppdu_us(control, CTS) + SIFS_US + ppdu_us(HT_RATE, MPDU_OCTETS)
    expected = simulate(4, protected_us, ppdu_us(control, ACK))
    collided = sum(sample.nodes[name]["collided"] for name in stations)
    p = collided / sum(sample.nodes[name]["ppdus"] for name in stations)
    print(
        f"{mbps(sample, 'ap'):.3f} Mbit/s, simulation {expected.throughput_mbps:.3f}; p {p:.4f}, "
        f"simulation {expected.collision_probability:.4f}"
    )
    assert mbps(sample, "ap") == pytest.approx(expected.throughput_mbps, rel=0.01)
    assert p == pytest.approx(expected.collision_probability, rel=0.05)


def test_hidden_stations_lose_more_with_cts_to_self_than_with_rts(measured: Measured) -> None:
    """Neither hears the CTS that the other sends to itself; both hear that of the access point."""
    cells = mixed("left", "right", parameters=HT.replace({"mcs": 0}))
    flows = [("left", "ap"), ("right", "ap")]
    hide = blocked(1, 2)
    keys = "ampdu_mpdus 1"
    seen = mbps(measured(cells, flows, 10, f"{keys} {SELF}")[0], "ap")
    to_self = mbps(measured(cells, flows, 10, f"{keys} {SELF}", hide)[0], "ap")
    rts = mbps(measured(cells, flows, 10, keys, hide)[0], "ap")
    print(f"seen {seen:.2f}, hidden: CTS-to-self {to_self:.2f}, RTS {rts:.2f} Mbit/s")
    assert to_self < 0.5 * rts
    assert rts > 0.75 * seen


def test_the_rts_threshold_means_rts(measured: Measured) -> None:
    threshold = "must node ap iw phy phy0 set rts 500\n"
    sample, _ = measured(mixed("sta"), [("ap", "sta")], 1, SELF, threshold)
    ap = sample.nodes["ap"]
    assert ap["rts_sent"] > 100 > 20 > ap["cts_to_self_sent"]


def test_only_what_has_been_on_the_air_is_a_retry(measured: Measured) -> None:
    """With 30% of RTS, CTS and BlockAcks lost, MPDUs wait for a CTS or are sent again."""
    lossy = "".join(
        f"must airsim radio set {radio} response_error_ppm 300000\n" for radio in (0, 1)
    )
    threshold = "must node ap iw phy phy0 set rts 500\n"
    cells = [Cell("ap", ["sta"], HT)]
    sample, path = measured(cells, [("ap", "sta")], 1, "", lossy + threshold, captured=True)
    # The first frame may have been sent before the capture began.
    first, *frames = data_frames(path, radio_mac(0))
    recent = deque([first[1]], maxlen=512)
    counts = Counter[tuple[bool, bool]]()
    for control, number in frames:
        counts[number in recent, bool(control & 0x0800)] += 1
        recent.append(number)
    ap = sample.nodes["ap"]
    print(f"{counts}; {ap['rts_sent']} RTS, {ap['ppdus']} PPDUs, {ap['retries']} retries")
    assert set(counts) == {(False, False), (True, True)}
    assert ap["rts_sent"] > 1.3 * ap["ppdus"] and min(counts.values()) > 50


def test_without_old_stations_the_setting_has_no_effect(measured: Measured) -> None:
    cells = [Cell("ap", ["sta"], HT)]
    counts = [
        measured(cells, [("ap", "sta")], 1, f"protection {protection}")[0].nodes["ap"]
        for protection in ("rts-cts", "cts-to-self")
    ]
    assert counts[0] == counts[1]
    assert counts[0]["rts_sent"] == counts[0]["cts_to_self_sent"] == 0 < counts[0]["ppdus"]


@pytest.mark.parametrize("protection", ["rts-cts", "cts-to-self"])
def test_ofdm_is_protected_at_cck_rates_near_a_network_of_80211b(
    measured: Measured, protection: str
) -> None:
    """hostapd announces Use_Protection when it hears beacons of 802.11b; basic: 1 to 11 Mbit/s."""
    cells = [Cell("ap", ["sta"], G), Cell("b", [], G, hostapd="hw_mode=b")]
    keys = f"protection {protection}"
    sample, path = measured(cells, [("ap", "sta")], 2, keys, "sleep 2\n", captured=True)
    control, data = legacy(11000), legacy(54000, extension_us=6)
    sifs_us = 10
    protection_us = ppdu_us(control, CTS) + sifs_us
    if protection == "rts-cts":
        protection_us += ppdu_us(control, RTS) + sifs_us
    response_us = ppdu_us(legacy(24000, extension_us=6), ACK)
    exchange_us = ppdu_us(data, MPDU_OCTETS) + response_us
    expected = OCTETS * 8 / (cycle_us(protection_us, sifs_us=sifs_us) + exchange_us)
    print(f"{protection}: {mbps(sample, 'sta'):.3f} of {expected:.3f} Mbit/s")
    assert mbps(sample, "sta") == pytest.approx(expected, rel=0.01)
    ap = sample.nodes["ap"]
    sent = "rts_sent" if protection == "rts-cts" else "cts_to_self_sent"
    assert ap[sent] >= ap["ppdus"] - 10 > 100
    frames = cts_frames(path)
    assert {cts.sent.rate for cts in frames} == {"11 Mbit/s"}
    assert {cts.address for cts in frames} == {radio_mac(0)}


@pytest.mark.parametrize(
    ("basic", "rate"), [("basic_rates=240", "24 Mbit/s"), ("basic_rates=60 120", "6 Mbit/s")]
)
def test_rts_is_sent_at_a_basic_rate(measured: Measured, basic: str, rate: str) -> None:
    """10.6.6.2: even if all basic rates are faster than the PPDU."""
    cells = [Cell("ap", ["sta"], HT.replace({"mcs": 0}), hostapd=basic)]
    rts = "must node ap iw phy phy0 set rts 500\n"
    _, path = measured(cells, [("ap", "sta")], 1, before=rts, captured=True)
    rates = Counter(sent.rate for sent in airtrace.read(path) if sent.kind == "rts")
    print(rates)
    assert set(rates) == {rate} and rates[rate] > 50
