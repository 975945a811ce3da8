# SPDX-License-Identifier: GPL-2.0-only
"""Transmissions read from captures of the air that the tests write byte by byte."""

import re
from pathlib import Path

import pytest
from fake_air import (
    ACK,
    BAR,
    BEACON,
    BLOCKACK,
    CTS,
    EHT,
    FROM_AP,
    HE,
    HE_TB,
    HT,
    LEGACY_6M,
    MEDIUM_NS,
    PROBE,
    PS_POLL,
    QOS_DATA,
    RTS,
    TO_AP,
    TRIGGER,
    USIG,
    VHT,
    ampdu,
    frame,
    tlv,
    write_air,
)
from fake_capture import ethernet, on_air, tcp_packet
from fake_run import DATA_PORT, write_exchanges, write_run

from airtcp.errors import AirtcpError
from airtcp.files import airtrace
from airtcp.parameters import Parameters
from airtcp.results import metrics
from airtcp.testbed.default import testbed


def test_an_ampdu_is_one_transmission(tmp_path: Path) -> None:
    sizes = (1500, 100, 300)
    path = write_air(tmp_path, ampdu(10, 400.5, sizes, rate=VHT, lost=(1,), marks=0x02))
    (transmission,) = airtrace.read(path)
    assert transmission == airtrace.Transmission(
        start_ns=0,
        end_ns=390_500,
        sender=0,
        receiver=1,
        kind="data",
        from_ap=True,
        mpdus=3,
        lost=(1,),
        mpdu_octets=(1504, 104, 304),  # with the FCS, which the capture leaves out
        collided=False,
        retry=True,
        rate="VHT 80 MHz MCS 9 x2 SGI",
        channel_mhz=5190,
        carries_data=True,
    )
    assert transmission.octets == 1912


@pytest.mark.parametrize(
    ("control", "to_group", "kind"),
    [
        (QOS_DATA, False, "data"),
        (0x08, True, "multicast"),
        (BEACON, True, "beacon"),
        (PROBE, True, "management"),
        (PS_POLL, False, "management"),
        (TRIGGER, True, "trigger"),
        (BAR, False, "bar"),
        (BLOCKACK, False, "blockack"),
        (RTS, False, "rts"),
        (CTS, False, "cts"),
        (ACK, False, "ack"),
    ],
)
def test_frame_control_determines_the_kind(
    tmp_path: Path, control: int, to_group: bool, kind: str
) -> None:
    path = write_air(tmp_path, [frame(0, 10, control=control, to_group=to_group)])
    assert [transmission.kind for transmission in airtrace.read(path)] == [kind]


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (LEGACY_6M, "6 Mbit/s"),
        ((2, bytes([11])), "5.5 Mbit/s"),
        (HT, "HT 40 MHz MCS 13 SGI"),
        ((19, bytes([0x07, 0x00, 7])), "HT 20 MHz MCS 7"),
        (VHT, "VHT 80 MHz MCS 9 x2 SGI"),
        (HE, "HE 80 MHz MCS 11 x2 GI 1600 ns"),
        (HE_TB, "HE RU 106 MCS 4 x1 GI 3200 ns"),
        (EHT, "EHT 320 MHz MCS 13 x2 GI 1600 ns"),
        ((-1, b""), "rate unknown"),
    ],
)
def test_rates_are_described_by_format(tmp_path: Path, rate: tuple[int, bytes], text: str) -> None:
    path = write_air(tmp_path, [frame(0, 10, rate=rate)])
    assert [transmission.rate for transmission in airtrace.read(path)] == [text]


def test_frames_from_an_access_point_are_recognized(tmp_path: Path) -> None:
    records = [
        frame(0, 10, sender=3, control=BEACON, direction=0),
        frame(20, 30, sender=3, direction=FROM_AP),
        frame(40, 50, sender=4, direction=TO_AP),
        frame(60, 70, sender=4, control=ACK, direction=FROM_AP),
    ]
    transmissions = airtrace.read(write_air(tmp_path, records))
    found = {sent.start_ns // 1000: sent.from_ap for sent in transmissions}
    assert found == {
        0: True,
        20: True,
        40: False,
        60: False,
    }


def test_receiver_collision_and_noise(tmp_path: Path) -> None:
    records = [
        frame(0, 10, receiver=0xFFFF, to_group=True),
        frame(20, 30, marks=0x01, lost=True),
        frame(40, 50, marks=0x04, lost=True),
    ]
    to_all, collided, noisy = airtrace.read(write_air(tmp_path, records))
    assert to_all.receiver is None
    assert (collided.collided, collided.lost) == (True, (0,))
    assert (noisy.collided, noisy.retry, noisy.lost) == (False, False, (0,))


def test_overlapping_transmissions_are_separated_by_sender(tmp_path: Path) -> None:
    first = ampdu(0, 300, (100, 100), sender=0)
    second = ampdu(5, 295, (200, 200), sender=2)
    mixed = [first[0], second[0], second[1], first[1]]
    found = airtrace.read(write_air(tmp_path, mixed))
    assert [(sent.sender, sent.mpdu_octets) for sent in found] == [(0, (104, 104)), (2, (204, 204))]


def test_a_ppdu_with_missing_records_is_kept(tmp_path: Path) -> None:
    records = [*ampdu(0, 300, (100, 100, 100))[:2], *ampdu(400, 700, (100, 100, 100))[:1]]
    found = airtrace.read(write_air(tmp_path, records))
    assert [(sent.mpdus, sent.mpdu_octets) for sent in found] == [(3, (104, 104)), (3, (104,))]


def test_256_mpdus(tmp_path: Path) -> None:
    # The number of MPDUs is an octet, at most 255.
    records = [frame(0, 5000, mpdus=255, place=place, lost=place == 255) for place in range(256)]
    (sent,) = airtrace.read(write_air(tmp_path, records))
    assert (sent.mpdus, len(sent.mpdu_octets), sent.lost) == (256, 256, (255,))


def test_1024_mpdus_of_eht(tmp_path: Path) -> None:
    places = range(1024)
    records = [frame(0, 5000, rate=EHT, mpdus=1024, place=n, lost=n == 1023) for n in places]
    (sent,) = airtrace.read(write_air(tmp_path, records))
    assert (sent.mpdus, len(sent.mpdu_octets), sent.lost) == (1024, 1024, (1023,))
    assert (sent.sender, sent.receiver, sent.end_ns, sent.channel_mhz) == (0, 1, 5_000_000, 5190)


def test_a_window_has_the_transmissions_that_overlap_it(tmp_path: Path) -> None:
    every_ms = [frame(ms * 1000, ms * 1000 + 500) for ms in range(3000)]
    path = write_air(tmp_path, every_ms)

    def starts_ms(from_s: float, to_s: float) -> list[int]:
        return [sent.start_ns // 1_000_000 for sent in airtrace.read(path, from_s, to_s)]

    assert starts_ms(0, 0.003) == [0, 1, 2]
    assert starts_ms(2.0002, 2.0021) == [2000, 2001, 2002]  # 2000 began before
    assert starts_ms(2.0005, 2.002) == [2001]  # 2000 ends there, 2002 begins there
    assert starts_ms(2.999, 9) == [2999]
    assert starts_ms(3, 9) == []


def test_a_transmission_that_ends_after_the_window_is_complete(tmp_path: Path) -> None:
    long, short = ampdu(0, 5000, (100, 100)), frame(4000, 4100, sender=1, receiver=0)
    path = write_air(tmp_path, [long[0], short, long[1]])
    assert [sent.mpdu_octets for sent in airtrace.read(path, 0, 0.001)] == [(104, 104)]


def test_the_file_is_not_read_beyond_the_window(tmp_path: Path) -> None:
    path = write_air(tmp_path, [frame(ms * 1000, ms * 1000 + 500) for ms in range(100)])
    path.write_bytes(path.read_bytes()[:-5])
    assert len(list(airtrace.read(path, 0, 0.01))) == 10
    with pytest.raises(AirtcpError, match="ends inside"):
        list(airtrace.read(path))


def test_length_is_from_the_first_start_to_the_last_end(tmp_path: Path) -> None:
    path = write_air(tmp_path, [frame(100, 200), frame(300, 450), frame(900, 1000.25)])
    assert airtrace.length_ns(path) == 900_250
    with pytest.raises(AirtcpError, match="contains no frame"):
        airtrace.length_ns(write_air(tmp_path, []))


def test_a_second_presence_word_moves_the_fields(tmp_path: Path) -> None:
    path = write_air(tmp_path, [frame(0, 10, more_words=bytes(4))])
    assert [(sent.rate, sent.end_ns) for sent in airtrace.read(path)] == [
        ("HT 40 MHz MCS 13 SGI", 10_000)
    ]


GOOD = frame(0, 10)[1]
GOOD_EHT = frame(0, 10, rate=EHT)[1]
CUT_IN_ADDRESS = GOOD[: int.from_bytes(GOOD[2:4], "little") + 4]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (on_air(tcp_packet()), "frame 2 has no airsim field; run again"),
        (ethernet(tcp_packet()), "frame 2 has no"),
        (GOOD.replace(b"\x02\x00\x00\x01", b"\x02\x00\x00\x02"), "frame 2 has no airsim field"),
        (b"\x00\x00\xff\xff" + bytes(40), "frame 2 has no complete radiotap header"),
        (b"\x00\x00\x08\x00" + b"\xff" * 4, "frame 2 is truncated"),
        (b"\x00", "frame 2 is truncated"),
        (CUT_IN_ADDRESS, "frame 2 is truncated"),
        (GOOD_EHT.replace(b"\x02\x00\x00\x01", b"\x02\x00\x00\x02"), "frame 2 has no airsim field"),
        (GOOD_EHT.replace(tlv(33, USIG)[:4], b"\x21\x00\xff\xff"), "frame 2 has no airsim field"),
    ],
    ids=[
        *("no vendor", "Ethernet", "other vendor", "length", "presence", "one octet", "address"),
        *("other vendor in TLV", "length of TLV"),
    ],
)
def test_a_malformed_frame_is_one_line(tmp_path: Path, data: bytes, error: str) -> None:
    stamp_ns, good = frame(0, 10)
    path = write_air(tmp_path, [(stamp_ns, good), (stamp_ns, data)])
    with pytest.raises(AirtcpError, match=rf"air\.pcapng: {error}") as raised:
        list(airtrace.read(path))
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AirtcpError, match=r"air\.pcapng: No such file"):
        list(airtrace.read(tmp_path / "air.pcapng"))
    with pytest.raises(AirtcpError, match=r"air\.pcapng: No such file"):
        airtrace.length_ns(tmp_path / "air.pcapng")


def start_after_s(run: Path, after_s: float, transfer_s: float = 4) -> None:
    """Let the transfer start that long after the first captured frame."""
    start_ns = MEDIUM_NS + round(after_s * 1e9)
    for name, at_ns in (("before", start_ns), ("after", start_ns + round(transfer_s * 1e9))):
        path = run / f"airsim-{name}.txt"
        path.write_text(re.sub(r"(?m)^time_ns .*", f"time_ns {at_ns}", path.read_text()))


def test_acks_on_the_air_are_counted_during_the_transfer(tmp_path: Path) -> None:
    """With a long delay, connections are opened for longer than `duration`."""
    run = write_run(tmp_path / "run")
    start_after_s(run, 1)
    capturing = testbed(Parameters().replace({"capture": "air", "duration": "1s"}))
    frames = [
        frame(0, 300, control=BEACON, direction=0, receiver=0xFFFF, to_group=True),
        *(
            frame(at_us, at_us + 30, sender=1, receiver=0, control=control, direction=0)
            for at_us, control in (
                *((500_000, ACK), (1_500_000, ACK)),
                *((2_000_000, BLOCKACK), (2_500_000, BLOCKACK)),
            )
        ),
        frame(2_999_700, 3_000_000),
    ]
    write_air(run, frames)
    assert metrics.compute(run, capturing)["mac_acks_per_s"] == 3 / 2
    start_after_s(run, 1, transfer_s=1.25)
    assert metrics.compute(run, capturing)["mac_acks_per_s"] == 2 / 1.25
    start_after_s(run, 2)
    assert metrics.compute(run, capturing)["mac_acks_per_s"] == 2
    start_after_s(run, 0.5, transfer_s=1)
    assert metrics.compute(run, capturing)["mac_acks_per_s"] == 1
    start_after_s(run, 1)
    write_air(run, frames[:2])
    with pytest.raises(
        AirtcpError, match="before the transfer starts: use a longer capture_duration"
    ):
        metrics.compute(run, capturing)


def test_acks_on_the_air_after_exchanges_are_not_counted(tmp_path: Path) -> None:
    """The capture lasts until all connections are closed; the transfer takes longer than 30 s."""
    run = write_exchanges(write_run(tmp_path / "run"), [1.0], [DATA_PORT])
    start_after_s(run, 1, transfer_s=40)
    frames = [
        frame(at_us, at_us + 30, sender=1, receiver=0, control=ACK, direction=0)
        for at_us in (0, 2_000_000, 38_000_000, 42_000_000)
    ]
    write_air(run, frames)
    changes = {"capture": "air", "workload": "request_response", "exchanges": "1"}
    parameters = Parameters().replace(changes)
    assert metrics.compute(run, testbed(parameters))["mac_acks_per_s"] == 2 / 40


def test_airtime_is_that_of_all_media(tmp_path: Path) -> None:
    """airsim's idle time is that of a single medium."""
    values = metrics.air(write_run(tmp_path / "run"), media=2)
    shares = {name: value for name, value in values.items() if name.startswith("airtime_")}
    assert shares == pytest.approx(
        {
            "airtime_data_share": 0.30,
            "airtime_ack_share": 0.10,
            "airtime_idle_share": 1 - (0.60 + 0.20 + 0.01 + 0.04) / 2,
            "airtime_collision_share": 0.02,
        }
    )


def test_airtime_of_cells_that_do_not_hear_each_other_leaves_no_idle_time(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    with (run / "airsim-after.txt").open("a") as file:
        file.write("airtime_data_ns 4800000100\nairtime_idle_ns 0\n")
    values = metrics.air(run)
    assert values["airtime_data_share"] == pytest.approx(1.2)
    assert values["airtime_idle_share"] is None
