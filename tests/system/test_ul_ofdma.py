# SPDX-License-Identifier: GPL-2.0-only
"""UL OFDMA: airtime compared with the standard's arithmetic, losses, other settings of radios.

tests/support/ofdma_timing.py has the arithmetic, without the driver's code.
"""

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import ofdma_timing as timing
import pytest
from guests import Measure, thesis_case
from ofdma_timing import SIFS_US, Tb
from radio import (
    CAPTURE,
    CAPTURE_END,
    MPDU_OCTETS,
    OCTETS,
    Cell,
    Sample,
    counted,
    flow,
    mbps,
    run,
)
from test_radiotap import WARNING, tshark

from airtcp.backends.guesttools import GuestTools
from airtcp.files import airtrace
from airtcp.files.airtrace import Transmission
from airtcp.files.capture import read_packets
from airtcp.files.iperf3 import read_iperf3
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one


@dataclass(frozen=True)
class Point:
    """Saturated stations, and limits of the duration and the number of MPDUs."""

    width_mhz: int
    stations: int
    mcs: int
    streams: int = 1
    gi_ns: int = 1600
    duration_us: int = 5484
    mpdus: int = 256
    channel: int = 36

    @property
    def parameters(self) -> Parameters:
        values: dict[str, Plain] = {
            **{"standard": "802.11ax", "width": f"{self.width_mhz}MHz", "mcs": self.mcs},
            **{"streams": self.streams, "guard_interval": f"{self.gi_ns}ns"},
            **{"channel": self.channel},
            **{"ampdu_mpdus": self.mpdus, "ampdu_duration": f"{self.duration_us}us"},
            **{"ul_ofdma": "on", "mu_edca": "never"},
            # Without an AQM, no queue runs empty.
            **{"queue": "fifo"},
        }
        return Parameters().replace(values)

    @property
    def expected_mbps(self) -> float:
        """Of the size of RU with the highest goodput, by as many stations as there are RUs."""
        return max(self.mbps(tones) for tones in timing.COUNTS[self.width_mhz])

    def mbps(self, tones: int) -> float:
        tb = Tb(tones, self.mcs, self.streams, timing.ltfs(self.streams), self.gi_ns)
        stations = min(timing.COUNTS[self.width_mhz][tones], self.stations)
        # The exponents of VHT, and at 2.4 GHz of HT.
        limits = self.mpdus, self.duration_us, 65535 if self.channel < 15 else 1048575
        return timing.saturated_goodput_mbps(tb, stations, OCTETS, MPDU_OCTETS, *limits)


def uplink(
    kernel: Kernel, tools: GuestTools, directory: Path, point: Point, seconds: float
) -> Sample:
    """Counters over `seconds` of saturated stations."""
    stations = [f"sta{number}" for number in range(point.stations)]
    cells = [Cell("ap", stations, point.parameters)]
    script = "".join(flow(cells, name, "ap", seconds + 3) for name in stations)
    script += f"sleep 1\nsample before\nsleep {seconds:g}\nsample after\n"
    run(kernel, tools, directory, cells, script)
    return counted(directory)


@pytest.mark.parametrize(
    "point",
    [
        Point(20, 1, 11),
        Point(20, 2, 5, gi_ns=3200, mpdus=3),
        Point(20, 9, 4, mpdus=1),
        Point(20, 1, 11, streams=2, channel=6),
        Point(80, 4, 9, streams=2),
        Point(80, 8, 7, mpdus=4),
        Point(80, 3, 3, mpdus=16),
        Point(160, 2, 11, streams=2, duration_us=2000),
        pytest.param(Point(40, 18, 11, mpdus=1), marks=pytest.mark.slow),
        pytest.param(Point(80, 16, 11, mpdus=2), marks=pytest.mark.slow),
        pytest.param(Point(160, 1, 7, streams=4, gi_ns=3200), marks=pytest.mark.slow),
    ],
    ids=lambda at: f"ch{at.channel}-{at.width_mhz}MHz-{at.stations}x-mcs{at.mcs}",
)
def test_saturated_stations_reach_the_goodput_of_the_standard(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, point: Point
) -> None:
    sample = uplink(lab_kernel, tools, tmp_path, point, seconds=3)
    measured_mbps = mbps(sample, "ap")
    ratio = measured_mbps / point.expected_mbps
    print(f"{point}: {measured_mbps:.2f} of {point.expected_mbps:.2f} Mbit/s, {ratio:.4f}")
    sent = sum(sample.nodes[name]["ppdus"] for name in sample.nodes if name != "ap")
    assert sent == sum(sample.nodes[name]["tb_sent"] for name in sample.nodes)
    assert ratio == pytest.approx(1, abs=0.01)


@dataclass(frozen=True)
class User:
    aid: int
    tones: int
    index: int
    mcs: int
    streams: int


@dataclass(frozen=True)
class Trigger:
    """What a captured Trigger frame specifies."""

    basic: bool
    ul_length: int
    gi_ns: int
    ltfs: int
    octets: int
    users: Sequence[User]


def parse(frame: bytes) -> Trigger:
    """Read a Trigger frame, without FCS (9.3.1.22)."""
    (common,) = struct.unpack_from("<Q", frame, 16)
    basic = common & 0xF == 0
    users = []
    for at in range(24, len(frame), 6 if basic else 5):
        info = int.from_bytes(frame[at : at + 5], "little")
        number = info >> 13 & 0x7F
        first = max(first for first in timing.ALLOCATION if first <= number)
        users.append(
            User(
                aid=info & 0xFFF,
                tones=timing.ALLOCATION[first],
                index=number - first,
                mcs=info >> 21 & 0xF,
                streams=(info >> 29 & 0x7) + 1,
            )
        )
    return Trigger(
        basic=basic,
        ul_length=common >> 4 & 0xFFF,
        gi_ns={1: 1600, 2: 3200}[common >> 20 & 3],
        ltfs={0: 1, 1: 2, 2: 4}[common >> 23 & 7],
        octets=len(frame) + 4,
        users=users,
    )


def triggers(path: Path) -> list[Trigger]:
    """The Trigger frames of a capture, in order."""
    found = []
    for packet in read_packets(path):
        (length,) = struct.unpack_from("<H", packet.data, 2)
        if packet.data[length] == 0x24:
            found.append(parse(packet.data[length:]))
    return found


def us(ppdu: Transmission) -> float:
    return (ppdu.end_ns - ppdu.start_ns) / 1000


def check_exchange(trigger: Trigger, sent: Sequence[Transmission]) -> int:
    """Compare an exchange with the standard; returns the number of stations that answered."""
    first, *others = sent
    assert trigger.octets == timing.trigger_octets(len(trigger.users), trigger.basic)
    assert us(first) == timing.control_us(trigger.octets)
    parts = [(user.tones, user.index) for user in trigger.users]
    assert len(set(parts)) == len(parts) and len({tones for tones, _ in parts}) == 1
    assert parts[0][0] == timing.ru_tones(80, len(parts))
    answers = [ppdu for ppdu in others if ppdu.kind == "data"]
    assert len(answers) <= len(trigger.users)
    ltfs = max(timing.ltfs(user.streams) for user in trigger.users)
    assert trigger.ltfs == ltfs
    modes = {(user.mcs, user.streams) for user in trigger.users}
    [tb] = [Tb(parts[0][0], *mode, ltfs, trigger.gi_ns) for mode in modes]
    for ppdu in answers:
        assert ppdu.start_ns - first.end_ns == SIFS_US * 1000
        assert us(ppdu) == pytest.approx(tb.us_of_length(trigger.ul_length), abs=1e-6)
        subframes = [4 + 4 * -(-octets // 4) for octets in ppdu.mpdu_octets]
        assert us(ppdu) >= tb.us(sum(subframes[:-1]) + 4 + ppdu.mpdu_octets[-1]) - 1e-6
    acknowledged = [ppdu for ppdu in answers if len(ppdu.lost) < ppdu.mpdus]
    responses = [ppdu for ppdu in others if ppdu.kind == "blockack"]
    if trigger.basic and responses:
        [response] = responses
        assert response.start_ns - answers[0].end_ns == SIFS_US * 1000
        # Those without data have sent a QoS Null, which is not acknowledged.
        bitmaps = [0 if ppdu.mpdus == 1 else 32 for ppdu in acknowledged if not is_null(ppdu)]
        octets = timing.multi_blockack_octets(bitmaps)
        assert us(response) == timing.control_us(octets)
    return len(answers)


def is_null(ppdu: Transmission) -> bool:
    return ppdu.mpdu_octets == (34,)


def exchanges(path: Path) -> list[list[Transmission]]:
    """From each Trigger frame to the frame before the next one, or to its BlockAck."""
    ordered = sorted(airtrace.read(path), key=lambda ppdu: (ppdu.start_ns, ppdu.sender))
    found: list[list[Transmission]] = []
    inside = False
    for ppdu in ordered:
        if ppdu.kind == "trigger":
            found.append([ppdu])
            inside = True
        elif inside and (ppdu.rate.startswith("HE RU") or ppdu.kind == "blockack"):
            found[-1].append(ppdu)
            inside = ppdu.kind != "blockack"
        else:
            inside = False
    return found


# Jain's index of four stations, of which one does not get through and the others are equal.
THREE_OF_FOUR = 0.75

AX = (
    *("standard=802.11ax", "width=80MHz", "preset=generic", "guard_interval=1600ns", "mcs=9"),
    *("formed_ppdus=0", "ul_ofdma=on", "stations=4"),
)


@pytest.mark.parametrize("direction", ["download", "upload"])
def test_exchanges_have_the_durations_of_the_standard(
    measure: Measure, tmp_path: Path, direction: str
) -> None:
    result = measure(
        *AX, f"direction={direction}", "capture=air", "capture_duration=unlimited", "duration=1s"
    )
    assert result.error is None
    path = tmp_path / result.artifacts["air.pcapng"].path
    specified, sent = triggers(path), exchanges(path)
    assert len(specified) == len(sent) > 100
    collided = [each for each in sent if any(ppdu.collided for ppdu in each)]
    pairs = zip(specified, sent, strict=True)
    answers = Counter(check_exchange(*pair) for pair in pairs if pair[1] not in collided)
    print(direction, dict(answers), len(collided), "collided")
    assert max(answers) == 4 and len(collided) < 0.1 * len(sent)
    assert {trigger.basic for trigger in specified} == {True, False}
    assert tshark(path, WARNING, "_ws.expert.message") == {}
    types = tshark(path, "wlan.fc.type_subtype == 18", "wlan.trigger.he.trigger_type")
    assert set(types) == {"0", "4"}


def test_a_qos_null_fits_into_what_a_short_limit_leaves(measure: Measure, tmp_path: Path) -> None:
    """A station without data answers with a QoS Null, of which at MCS 0 none takes only 150 us."""
    short = ("width=20MHz", "mcs=0", "streams=1", "stations=9", "ampdu_duration=150us")
    result = measure(*AX, *short, "capture=air", "capture_duration=unlimited")
    assert result.error is None
    specified = triggers(tmp_path / result.artifacts["air.pcapng"].path)
    assert len(specified) > 50
    for trigger in specified:
        tb = Tb(trigger.users[0].tones, 0, 1, trigger.ltfs, trigger.gi_ns)
        assert tb.us_of_length(trigger.ul_length) >= tb.us(4 + 34) - 1e-6


def test_the_exchanges_of_a_txop_do_not_exceed_its_limit(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """Stations with 5.5 ms of data; hostapd sets a limit of 47 units of 32 us for best effort."""
    stations = [f"sta{number}" for number in range(4)]
    parameters = Point(20, 4, 3).parameters
    cells = [Cell("ap", stations, parameters, hostapd="tx_queue_data2_burst=1.5")]
    script = CAPTURE + "".join(flow(cells, name, "ap", 1) for name in stations)
    run(lab_kernel, tools, tmp_path, cells, script + "sleep 1\n" + CAPTURE_END)
    txops: list[list[Transmission]] = []
    for exchange in exchanges(tmp_path / "air.pcap"):
        if txops and exchange[0].start_ns - txops[-1][-1].end_ns == SIFS_US * 1000:
            txops[-1] += exchange
        else:
            txops.append(exchange)
    longest_us = max(txop[-1].end_ns - txop[0].start_ns for txop in txops) / 1000
    print(f"{len(txops)} TXOPs of at most {longest_us} us")
    assert len(txops) > 100 and 1300 < longest_us <= 47 * 32


def test_control_frames_have_a_rate_for_the_stations_in_them(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """A slow station waits while the other four send."""
    stations = [f"sta{number}" for number in range(5)]
    own = {"sta0": Point(80, 5, 0).parameters}
    cells = [Cell("ap", stations, Point(80, 5, 9).parameters, own)]
    script = CAPTURE + "".join(flow(cells, name, "ap", 2) for name in stations)
    run(lab_kernel, tools, tmp_path, cells, script + "sleep 2\n" + CAPTURE_END)
    path = tmp_path / "air.pcap"
    rates = Counter(
        (min(user.mcs for user in trigger.users), ppdu.rate)
        for trigger, exchange in zip(triggers(path), exchanges(path), strict=True)
        for ppdu in exchange
        if trigger.basic and ppdu.kind in ("trigger", "blockack")
    )
    print(rates)
    assert set(rates) == {(0, "6 Mbit/s"), (9, "24 Mbit/s")}
    assert min(rates.values()) > 20


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("mu_edca", ["low", "never"])
def test_uploads_have_equal_shares(measure: Measure, protocol: str, mu_edca: str) -> None:
    """Stations whose report is empty are asked again, even while another one has data.

    Windows and socket buffers are often shorter than an A-MPDU, so that nothing is left to report.
    """
    queues = ("sack=on", "txq_limit=preset", "duration=4s", f"mu_edca={mu_edca}")
    values = measure(*AX, *queues, f"protocol={protocol}", "direction=upload").values
    print({name: values[name] for name in ("goodput_mbps", "goodput_jain", "triggers")})
    assert values["goodput_jain"] > 0.95
    assert values["triggers"] > 0.8 * 4 / 0.005


def test_he_tb_ppdus_are_not_formed_ahead(measure: Measure) -> None:
    """The Trigger frame gives their length, so they contain MPDUs of several formed A-MPDUs."""
    uploads = ("protocol=udp", "direction=upload")
    late, early = (
        measure(*AX, *uploads, f"formed_ppdus={formed}").values["goodput_mbps"] for formed in (0, 2)
    )
    print(f"formed late {late:.0f}, early {early:.0f} Mbit/s")
    assert early > 0.75 * late


@pytest.mark.parametrize("errors", [(), ("error_model=snr", "distance=10m")], ids=["", "snr"])
def test_the_access_point_chooses_rates_for_minstrel(
    measure: Measure, errors: tuple[str, ...]
) -> None:
    """Without that, HE TB PPDUs have the low rates with which minstrel_ht begins."""
    uploads = (*AX, *errors, "protocol=udp", "direction=upload", "rate_control=minstrel")
    alone, triggered = (measure(*uploads, f"ul_ofdma={switch}").values for switch in ("off", "on"))
    print(f"goodput {alone['goodput_mbps']:.0f}, with UL OFDMA {triggered['goodput_mbps']:.0f}")
    assert triggered["goodput_mbps"] > 1.1 * alone["goodput_mbps"]
    assert triggered["tx_retries"] < 0.1 * triggered["he_tb_ppdus"] * triggered["ampdu_mpdus_mean"]


def test_uploads_with_losses_go_on_and_are_repeated_exactly(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    losses = ("error_rate=0.1", "response_error_rate=0.05")
    # In two seconds, congestion windows after losses can differ by as much as if one had stopped.
    case = thesis_case(*AX, *losses, "direction=upload", "duration=8s", "capture=air")
    request = RunRequest.of(lab_kernel, tools, case, seed=1)
    first, again = (run_one(request, tmp_path / name) for name in ("a", "another"))
    assert first.error is None
    values = first.values
    shown = ("goodput_mbps", "goodput_jain", "he_tb_ppdus", "tx_retries", "tx_drops")
    print({name: values[name] for name in shown})
    assert values["goodput_jain"] > THREE_OF_FOUR
    assert values["he_tb_ppdus"] > 2000
    # 1 / 0.9 transmissions per MPDU, and more after lost BlockAcks.
    assert values["tx_retries"] > 0.1 * values["data_segments"]
    assert first.metrics == again.metrics
    assert first.artifacts["air.pcapng"].sha256 == again.artifacts["air.pcapng"].sha256


@pytest.mark.parametrize(
    "settings",
    [
        ("rate_control=minstrel", "mu_edca=off"),
        ("error_model=snr", "distance=15m", "capture_effect=on", "mcs=3"),
        ("preset=qca6178", "queue=fifo", "direction=both"),
        ("preset=ar9580", "formed_ppdus=2", "rx_delivery=ppdu"),
        ("channel=6", "width=20MHz", "mu_edca=never", "direction=both"),
        ("rts_threshold=500", "amsdu=on", "completion=500us"),
    ],
    ids=lambda settings: settings[0],
)
def test_stations_of_other_settings_answer(
    measure: Measure, tmp_path: Path, settings: tuple[str, ...]
) -> None:
    result = measure(*AX, "direction=upload", *settings)
    assert result.error is None
    clients = [read_iperf3(path) for path in tmp_path.rglob("iperf3-client*.json")]
    received = [client.number("end", "sum_received", "bytes") for client in clients]
    shown = ("goodput_mbps", "triggers", "he_tb_ppdus", "collisions", "tx_drops")
    values = {name: result.values[name] for name in shown}
    print(settings, received, values)
    # At least a twentieth of an equal share, as TCP needs more than 2 s to share equally.
    assert len(received) >= 4 and min(received) > sum(received) / len(received) / 20
    assert values["he_tb_ppdus"] > values["triggers"] / 2 > 50


def test_mu_edca_keeps_stations_from_contending(measure: Measure) -> None:
    """Uploads need the medium often, so the fewer collisions the less stations contend."""
    collisions = {
        mu_edca: measure(*AX, "direction=upload", f"mu_edca={mu_edca}").values["collisions"]
        for mu_edca in ("off", "low", "never")
    }
    print(collisions)
    assert collisions["off"] > 2 * collisions["low"] >= 2 * collisions["never"]
