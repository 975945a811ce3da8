# SPDX-License-Identifier: GPL-2.0-only
"""Settings of a radio and their effects on the air."""

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from radio import (
    MPDU_OCTETS,
    OCTETS,
    Cell,
    address,
    counted,
    difference,
    flow,
    mbps,
    read_sample,
    run,
)
from wifi_timing import Format, Rate, legacy, ppdu_us, psdu_octets, saturated_goodput_mbps

from airtcp.backends.guesttools import GuestTools
from airtcp.files.airsim import ampdu_sizes
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.testbed.addresses import radio_mac


def ht(rate: Rate) -> Parameters:
    values: dict[str, Plain] = {
        **{"standard": "802.11n", "width": f"{rate.width_mhz}MHz", "mcs": rate.mcs},
        **{"streams": rate.streams, "guard_interval": f"{rate.gi_ns}ns"},
    }
    return Parameters().replace(values)


HT_RATE = Rate(Format.HT, 5, 2, 40, 400)
HT = ht(HT_RATE)
DOWN = [Cell("ap", ["sta"], HT)]
DUMP = "node sta tcpdump -ni wlan0 -c 2000 --time-stamp-precision=nano -tt udp >arrivals 2>log\n"

Run = Callable[..., Path]


@pytest.fixture
def guest_run(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> Run:
    def boot(script: str, cells: Sequence[Cell] = DOWN, keys: str = "", name: str = "run") -> Path:
        return run(lab_kernel, tools, tmp_path / name, cells, script, keys=keys)

    return boot


def saturated(seconds: float, before: str = "", *more: int, cells: Sequence[Cell] = DOWN) -> str:
    start = flow(cells, cells[0].ap, cells[0].stations[0], seconds + 1, *more)
    return f"{before}{start}sleep 0.5\nsample before\nsleep {seconds:g}\nsample after\n"


def test_fifo_delays_ping_and_fq_codel_does_not(guest_run: Run) -> None:
    ping = "node sta ping -q -c 40 -i 0.05 10.0.0.1 >ping.txt\n"

    def rtt_ms(queue: str) -> float:
        # The kernel's other queues are long enough not to be the limit.
        script = flow(DOWN, "ap", "sta", 5) + "sleep 1\n" + ping
        directory = guest_run(script, keys=queue, name=queue.split()[1])
        match = re.search(r"= [\d.]+/([\d.]+)/", (directory / "ping.txt").read_text())
        assert match
        return float(match[1])

    fifo, txq = rtt_ms("queueing fifo fifo_mpdus 1000"), rtt_ms("queueing txq")
    print(f"ping with a saturated queue: FIFO {fifo:.1f} ms, TXQ {txq:.1f} ms")
    # A thousand packets are 60 ms at 210 Mbit/s.
    assert fifo > 45
    assert txq < fifo / 5


@pytest.mark.parametrize(
    ("keys", "low", "high"),
    [
        ("rx_delivery mpdu", 1, 1.1),
        ("rx_delivery ppdu", 35, 45),
        ("rx_delivery coalesced coalesce_mpdus 16 coalesce_us 2000", 13, 16.5),
        ("rx_delivery coalesced coalesce_mpdus 256 coalesce_us 500", 6, 14),
        # The gap between two PPDUs is longer than 60 us, that between two MPDUs shorter.
        ("rx_delivery coalesced coalesce_mpdus 1024 coalesce_us 9000 coalesce_idle_us 60", 35, 45),
        ("rx_delivery coalesced coalesce_mpdus 1024 coalesce_us 1000 coalesce_idle_us 500", 12, 22),
    ],
)
def test_rx_delivery_sets_how_many_packets_are_delivered_together(
    guest_run: Run, keys: str, low: float, high: float
) -> None:
    script = f"{flow(DOWN, 'ap', 'sta', 3)}sleep 1\n{DUMP}"
    lines = (guest_run(script, keys=keys) / "arrivals").read_text().splitlines()
    stamps = [line.split()[0] for line in lines]
    together = len(stamps) / len(set(stamps))
    print(f"{keys}: {together:.1f} packets at a time")
    assert len(stamps) == 2000
    assert low <= together <= high


def test_what_has_arrived_may_be_delivered_with_a_transmission(guest_run: Run) -> None:
    """The station waits for 1,024 MPDUs, which take 60 ms, and sends a packet every 5 ms."""
    pings = "node sta ping -q -i 0.005 -c 400 10.0.0.1 >/dev/null &\nsleep 0.5\n"
    shows = "for i in $(seq 40); do sleep 0.0137; airsim radio show 1 >>held; done\n"

    def waiting(switch: str) -> float:
        keys = f"rx_delivery coalesced coalesce_mpdus 1024 coalesce_us 100000 coalesce_tx {switch}"
        script = flow(DOWN, "ap", "sta", 3) + pings + shows
        shown = (guest_run(script, keys=keys, name=switch) / "held").read_text()
        mpdus = [int(text) for text in re.findall(r"^rx_waiting (\d+)", shown, re.M)]
        assert len(mpdus) == 40
        return statistics.median(mpdus)

    without, with_tx = waiting("off"), waiting("on")
    print(f"{without} MPDUs wait, {with_tx} if transmissions deliver them")
    assert without > 300 and with_tx < 200


def test_transmissions_deliver_only_what_is_coalesced(guest_run: Run) -> None:
    """The station's transmissions are reported 0.4 ms late, within the next PPDU."""
    pings = "node sta ping -q -i 0.003 -c 1000 10.0.0.1 >/dev/null &\nsleep 1\n"

    def arrivals(switch: str) -> str:
        keys = f"rx_delivery ppdu completion_us 400 coalesce_tx {switch}"
        script = flow(DOWN, "ap", "sta", 3) + pings + DUMP
        return (guest_run(script, keys=keys, name=switch) / "arrivals").read_text()

    without = arrivals("off")
    assert len(without.splitlines()) == 2000
    assert arrivals("on") == without


def test_a_change_of_rx_delivery_delivers_what_has_arrived(guest_run: Run) -> None:
    slow = [Cell("ap", ["sta"], ht(Rate(Format.HT, 3, 1, 20, 800)))]
    # In the middle of a PPDU; 1,024 MPDUs take 0.5 s.
    change = "must airsim radio set 1 rx_delivery coalesced coalesce_mpdus 1024 coalesce_us 1000\n"
    script = flow(slow, "ap", "sta", 2) + f"sleep 1\n{change}sleep 0.2\nsample after\n"
    sta = read_sample(guest_run(script, slow, "rx_delivery ppdu") / "after").nodes["sta"]
    assert sta["rx_waiting"] <= 3


@pytest.mark.parametrize(
    ("keys", "sizes"),
    [
        *(
            (f"formed_ppdus {formed}{queue}", sizes)
            for formed, sizes in (
                (0, {10: 30}),
                (1, {1: 30, 9: 30}),
                (2, {1: 60, 8: 30}),
                (8, {1: 240, 2: 30}),
            )
            for queue in ("", " queueing fifo fifo_mpdus 100")
        ),
        ("formed_ppdus 2 formed_singles 1", {1: 60, 8: 30}),
        ("formed_ppdus 2 formed_singles 6", {1: 180, 4: 30}),
        # The FIFO holds what is in PPDUs, too: the ninth packet enters when the first is sent.
        ("formed_ppdus 2 queueing fifo fifo_mpdus 8", {1: 90, 7: 30}),
    ],
)
def test_aggregates_formed_ahead_contain_the_packets_queued_by_then(
    guest_run: Run, keys: str, sizes: dict[int, int]
) -> None:
    """Bursts of ten packets arrive at an idle radio, before it has won the medium."""
    bursts = (
        "import socket, time\n"
        "sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for _ in range(30):\n"
        "    for _ in range(10):\n"
        f'        sender.sendto(bytes(1000), ("{address(0, 1)}", 9))\n'
        "    time.sleep(0.02)\n"
    )
    stats = "/sys/kernel/debug/airsim/stats"
    script = f"cp {stats} before\nmust node ap python3 -c '{bursts}'\ncp {stats} after\n"
    directory = guest_run(script, keys=keys)
    before, after = (
        ampdu_sizes({name: int(count) for name, count in map(str.split, text.splitlines())})
        for text in ((directory / name).read_text() for name in ("before", "after"))
    )
    counts = {size: n - before.get(size, 0) for size, n in after.items()}
    assert sum(size * n for size, n in counts.items()) == 300
    # A burst that arrives during a beacon is complete at its end.
    assert all(counts.get(size, 0) >= 0.9 * n for size, n in sizes.items()), counts


def test_completions_are_late(guest_run: Run) -> None:
    """A socket whose buffer holds few packets sends more when it learns that they are sent."""

    def packet_us(completion_us: int) -> float:
        script = saturated(2, "", 0, 4608)
        keys = f"completion_us {completion_us}"
        sample = counted(guest_run(script, keys=keys, name=str(completion_us)))
        return sample.time_s * 1e6 / sample.nodes["sta"]["packets"]

    at_once, late, later = (packet_us(us) for us in (0, 2000, 4000))
    buffered = 2000 / (later - late)
    print(f"{at_once:.1f}, {late:.1f}, {later:.1f} us per packet; {buffered:.2f} at a time")
    # Twice the delay takes twice the time, for each buffer's worth of packets.
    assert later - late == pytest.approx(late - at_once, rel=0.1)
    assert buffered == pytest.approx(round(buffered), rel=0.02)


def test_amsdus_carry_several_packets(guest_run: Run) -> None:
    plain = counted(guest_run(saturated(2), keys="ampdu_mpdus 4", name="plain"))
    amsdu = counted(guest_run(saturated(2), keys="ampdu_mpdus 4 amsdu on", name="amsdu"))
    packets = amsdu.nodes["sta"]["packets"] / amsdu.nodes["sta"]["received"]
    print(f"{packets:.2f} packets per MPDU; {mbps(plain):.1f} and {mbps(amsdu):.1f} Mbit/s")
    assert plain.nodes["sta"]["packets"] <= plain.nodes["sta"]["received"]
    assert packets > 1.8
    assert mbps(amsdu) > 1.2 * mbps(plain)


@pytest.mark.parametrize("spacing_ns", [0, 8000, 16000])
def test_starts_of_mpdus_have_the_spacing_of_the_receiver(guest_run: Run, spacing_ns: int) -> None:
    """MPDUs of 166 octets take less than 6 us at 240 Mbit/s; delimiters fill the rest."""
    send = f"node ap saturate send {address(0, 1)} 9 100 4 &\n"
    script = f"{send}sleep 0.5\nsample before\nsleep 3\nsample after\n"
    sample = counted(guest_run(script, keys=f"mpdu_spacing_ns {spacing_ns}"))
    packets = sample.nodes["sta"]["packets"] / sample.time_s
    mpdu = 100 + MPDU_OCTETS - OCTETS
    expected = saturated_goodput_mbps(HT_RATE, 100, mpdu, min_spacing_us=spacing_ns / 1000)
    print(f"{spacing_ns} ns: {packets * 800 / 1e6:.2f} of {expected:.2f} Mbit/s")
    assert packets * 800 / 1e6 == pytest.approx(expected, rel=0.01)


def test_presets_have_the_values_of_their_drivers(guest_run: Run) -> None:
    radios = {
        "preset ar9580": {"mpdu_spacing_ns 8000", "retry_limit 31", "coalesce_tx on"},
        "preset ar5bhb116": {"rx_delivery coalesced", "coalesce_us 2000", "coalesce_idle_us 500"},
        "preset ar9271": {"mpdu_spacing_ns 8000", "retry_limit 11"},
        "preset qca6178": {"mpdu_spacing_ns 8000", "retry_limit 7"},
        "preset qca6178 mpdu_spacing_ns 500": {"mpdu_spacing_ns 500"},
        "standard 802.11n width_mhz 40 ba_window 64": {"mpdu_spacing_ns 8000"},
        "standard 802.11ac ba_window 64": {"mpdu_spacing_ns 0"},
        "preset generic": {"mpdu_spacing_ns 0", "retry_limit 7"},
    }
    lines = "".join(
        f"must airsim radio add {keys} >/dev/null\nairsim radio show {number} >radio-{number}\n"
        for number, keys in enumerate(radios, start=2)
    )
    directory = guest_run(lines)
    for number, (keys, expected) in enumerate(radios.items(), start=2):
        shown = (directory / f"radio-{number}").read_text().splitlines()
        assert expected <= set(shown), keys


@dataclass(frozen=True)
class Txop:
    """MPDUs in an A-MPDU at most; the RTS threshold; MPDUs in the first A-MPDU of a TXOP."""

    rate: Rate
    most: int
    rts: str
    first: int


@pytest.mark.parametrize(
    "txop",
    [
        Txop(HT_RATE, 4, "off", 4),
        Txop(Rate(Format.HT, 3, 1, 20, 800), 64, "off", 6),
        Txop(Rate(Format.HT, 3, 1, 20, 800), 64, "1000", 5),
    ],
    ids=["short", "long", "long-rts"],
)
def test_txop_contains_as_many_exchanges_as_fit(guest_run: Run, txop: Txop) -> None:
    """Video at an access point: AIFSN 1, CWmin 7, TXOP limit 94 * 32 us (hostapd's default)."""
    rate = txop.rate
    cells = [Cell("ap", ["sta"], ht(rate))]
    rts = f"must node ap iw phy phy0 set rts {txop.rts}\n"
    keys = f"ampdu_mpdus {txop.most}"
    sample = counted(guest_run(saturated(3, rts, 0xA0, cells=cells), cells, keys))
    # RTS, CTS and SIFS after each.
    used_us = 2 * (28.0 + 16) if txop.rts != "off" else 0
    limit_us, mpdus = 94 * 32, [0]
    while True:
        # The fullest PPDU that fits with its response: BlockAck, or ACK for one MPDU.
        fitting = [
            (count, used_us + us)
            for count in range(1, txop.most + 1)
            for us in [_ppdu_us(rate, count) + 16 + (28 if count == 1 else 32)]
            if used_us + us <= limit_us
        ]
        if not fitting:
            break
        count, end_us = fitting[-1]
        mpdus, used_us = [*mpdus, count], end_us + 16
    expected = sum(mpdus) * OCTETS * 8 / (16 + 9 + 3.5 * 9 + used_us - 16)
    print(f"{mpdus[1:]} MPDUs per TXOP: {mbps(sample):.2f} of {expected:.2f} Mbit/s")
    assert mpdus[1] == txop.first
    assert mbps(sample) == pytest.approx(expected, rel=0.01)


def test_an_aggregate_that_does_not_fit_into_the_txop_is_still_one(guest_run: Run) -> None:
    """Two are formed ahead, one of them on the air; of each TXOP the second does not fit."""
    cells = [Cell("ap", ["sta"], ht(Rate(Format.HT, 3, 1, 20, 800)))]
    held = "for i in $(seq 50); do airsim radio show 0 >>held; sleep 0.0137; done\n"
    script = flow(cells, "ap", "sta", 3, 0xA0) + "sleep 1\n" + held
    shown = (guest_run(script, cells, "formed_ppdus 2 ampdu_mpdus 6") / "held").read_text()
    queued = [int(mpdus) for mpdus in re.findall(r"^queued (\d+)", shown, re.M)]
    assert len(queued) == 50
    assert max(queued) == 2 * 6


def _ppdu_us(rate: Rate, mpdus: int) -> float:
    return ppdu_us(rate, psdu_octets(rate, MPDU_OCTETS, mpdus, 8))


def test_lost_block_ack_is_requested_or_all_mpdus_are_repeated(guest_run: Run) -> None:
    lossy = "must airsim radio set 0 response_error_ppm 100000\n"
    bar_on = counted(guest_run(saturated(3, lossy), keys="bar on", name="bar-on"))
    bar_off = counted(guest_run(saturated(3, lossy), keys="bar off", name="bar-off"))
    ap, sta = bar_on.nodes["ap"], bar_on.nodes["sta"]
    print(f"BlockAckReq: {mbps(bar_on):.1f}, all MPDUs: {mbps(bar_off):.1f} Mbit/s")
    assert ap["bar_sent"] > 0.08 * ap["ppdus"] > 0 == bar_off.nodes["ap"]["bar_sent"]
    # What has arrived is not sent again, and the station's stack gets nothing twice.
    assert sta["received"] - ap["bar_sent"] < 1.001 * sta["packets"]
    assert bar_off.nodes["sta"]["received"] > 1.08 * bar_off.nodes["sta"]["packets"]
    assert bar_off.nodes["ap"]["acked"] == pytest.approx(bar_off.nodes["sta"]["packets"], rel=0.005)
    assert mbps(bar_on) > mbps(bar_off)


def test_mpdus_are_dropped_at_the_retry_limit(guest_run: Run) -> None:
    def dropped(limit: int) -> float:
        keys = f"retry_limit {limit} mpdu_error_ppm 400000"
        ap = counted(guest_run(saturated(3), keys=keys, name=str(limit))).nodes["ap"]
        return ap["dropped_retries"] / (ap["dropped_retries"] + ap["acked"])

    assert dropped(2) == pytest.approx(0.4**2, rel=0.05)
    assert dropped(4) == pytest.approx(0.4**4, rel=0.1)
    assert dropped(31) == 0


def test_losses_come_in_bursts(guest_run: Run) -> None:
    burst = (
        "must airsim radio set 1 errors burst burst_enter_ppm 50000 burst_leave_ppm 200000 "
        "burst_bad_error_ppm 500000\n"
    )
    sample = counted(guest_run(saturated(10, burst), keys="ampdu_mpdus 1"))
    lost = sample.nodes["ap"]["retries"] / sample.nodes["ap"]["ppdus"]
    # The state is bad for 50000 / (50000 + 200000) of the frames, half of which are lost.
    assert lost == pytest.approx(0.1, rel=0.1)


def test_rate_follows_a_station_that_walks_away_and_back(guest_run: Run) -> None:
    minstrel = HT.replace({"rate_control": "minstrel"})
    cells = [Cell("ap", ["sta"], minstrel)]
    script = (
        "for n in 0 1; do must airsim radio set $n errors snr x_mm $((n * 2000)); done\n"
        + flow(cells, "ap", "sta", 60)
        + "must airsim radio set 1 vx_mm_per_s 3000\n"
        + "".join(f"sample at-{second}\nsleep 2\n" for second in range(0, 20, 2))
        + "must airsim radio set 1 vx_mm_per_s -3000\n"
        + "".join(f"sample at-{second}\nsleep 2\n" for second in range(20, 42, 2))
        + "sample at-42\n"
    )
    directory = guest_run(script, cells)
    rates = [
        mbps(difference(directory / f"at-{second}", directory / f"at-{second + 2}"))
        for second in range(0, 42, 2)
    ]
    print("Mbit/s every 2 s:", *(f"{rate:.0f}" for rate in rates))
    near, far, back = rates[1], rates[9], rates[19]
    assert near > 100 > 1.5 * far
    assert back > 0.8 * near


@pytest.mark.parametrize(
    ("rate", "keys"),
    [
        (legacy(24000), "rate_format ofdm rate_legacy_kbps 24000"),
        (Rate(Format.HT, 3, 1, 20, 800), "rate_format ht rate_mcs 3 rate_streams 1"),
    ],
)
def test_access_point_sends_to_a_station_at_its_own_rate(
    guest_run: Run, rate: Rate, keys: str
) -> None:
    """One stream and 20 MHz, or 802.11a, in a cell with two streams and 40 MHz."""
    plain: dict[str, Plain] = {"width": "20MHz", "streams": 1, "guard_interval": "800ns", "mcs": 3}
    if rate.format is Format.OFDM:
        plain |= {"standard": "802.11a", "preset": "wifi-11a"}
    cells = [Cell("ap", ["sta", "other"], HT, {"other": HT.replace(plain)})]
    script = f"must airsim link set 0 2 {keys}\nairsim link show >links\n"
    script += flow(cells, "ap", "other", 3) + "sleep 0.5\nsample before\nsleep 2\nsample after\n"
    script += "must airsim link set 0 2 rate_fixed off\nairsim link show >none\n"
    directory = guest_run(script, cells, name="rate")
    sample = counted(directory)
    expected = saturated_goodput_mbps(rate, OCTETS, MPDU_OCTETS, min_spacing_us=8)
    print(f"{keys}: {mbps(sample, 'other'):.2f} of {expected:.2f} Mbit/s")
    assert mbps(sample, "other") == pytest.approx(expected, rel=0.01)
    assert (directory / "links").read_text().startswith(f"0 2 {keys}")
    assert (directory / "none").read_text() == ""


def test_multicast_is_sent_once_at_the_lowest_rate(guest_run: Run) -> None:
    lossy = (
        "must airsim radio set 1 mpdu_error_ppm 500000\n"
        "must node ap ip route add 239.0.0.0/8 dev wlan0\n"
    )
    send = "node ap saturate send 239.1.2.3 9 1000 4 &\n"
    directory = guest_run(lossy + send + "sleep 1\nsample before\nsleep 2\nsample after\n")
    sample = counted(directory)
    ap = sample.nodes["ap"]
    arrived = sample.nodes["sta"]["received"] / ap["unanswerable"]
    assert ap["retries"] == ap["acked"] == 0
    assert arrived == pytest.approx(0.5, abs=0.05)
    # 6 Mbit/s: the PPDU, AIFS and the mean backoff.
    assert ap["unanswerable"] / sample.time_s == pytest.approx(1e6 / 1540, rel=0.05)


def test_stations_without_wmm_get_the_same_airtime(guest_run: Run) -> None:
    parameters = Parameters().replace({"standard": "802.11g", "channel": 6, "wmm": "off"})
    cells = [Cell("ap", ["near", "far"], parameters)]
    script = "must airsim link set 0 2 rate_format ofdm rate_legacy_kbps 6000\n"
    script += "".join(flow(cells, "ap", name, 4) for name in ("near", "far"))
    script += "sleep 1\nsample before\nsleep 2\nsample after\n"
    sample = counted(guest_run(script, cells))
    near_us, far_us = (ppdu_us(legacy(kbps, 6), MPDU_OCTETS - 2) for kbps in (54_000, 6_000))
    airtime_us = {
        "near": sample.nodes["near"]["packets"] * near_us,
        "far": sample.nodes["far"]["packets"] * far_us,
    }
    assert airtime_us["near"] == pytest.approx(airtime_us["far"], rel=0.1)


def test_airtime_agrees_with_mac80211(guest_run: Run) -> None:
    cells = [Cell("ap", ["near", "far"], HT)]
    stations = "/sys/kernel/debug/ieee80211/phy0/netdev:wlan0/stations"
    show = "".join(
        f"echo {name} $(grep '^0 {radio_mac(index)} present' /sys/kernel/debug/airsim/peers) "
        f"$(grep -o 'TX: [0-9]*' {stations}/{radio_mac(index)}/airtime) >>airtime\n"
        for index, name in ((1, "near"), (2, "far"))
    )
    lossy = "must airsim radio set 2 mpdu_error_ppm 300000\n"
    # Both buffers fit into mac80211's 4 MB of queues; otherwise it would always drop packets.
    flows = "".join(flow(cells, "ap", name, 3, 0, 1_000_000) for name in ("near", "far"))
    script = lossy + flows + "sleep 4\n" + show
    for line in (guest_run(script, cells) / "airtime").read_text().splitlines():
        name, _, _, _, airsim_ns, _, mac80211_us = line.split()
        print(name, airsim_ns, mac80211_us)
        assert int(airsim_ns) > 1e9
        # mac80211 counts only QoS data, not management frames.
        assert int(mac80211_us) * 1000 == pytest.approx(int(airsim_ns), rel=0.001)
