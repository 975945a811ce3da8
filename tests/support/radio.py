# SPDX-License-Identifier: GPL-2.0-only
"""Runs of airsim without an experiment: cells, saturating flows, counters.

For what experiments cannot express, such as many cells with different rates in one guest. Radio i
belongs to the i-th node.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

import newer_hostapd
from guests import HELPERS

from airtcp.backends import uml
from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.ieee80211 import STANDARDS, frequency_mhz, is_6ghz
from airtcp.steps import wifi
from airtcp.testbed.addresses import radio_mac

PORT = 9
OCTETS = 1472
"""Payload of a datagram that fills an Ethernet frame."""
MPDU_OCTETS = OCTETS + 8 + 20 + 8 + 26 + 4
"""Its MPDU: with UDP, IPv4, LLC/SNAP, QoS data header and FCS."""

LEGACY = Parameters().replace(
    {"standard": "802.11a", "preset": "wifi-11a", "width": "20MHz", "legacy_rate": "54Mbit"}
)

Counters = Mapping[str, int]


@dataclass(frozen=True)
class Cell:
    """An access point and its stations. own: parameters by node; hostapd: further lines."""

    ap: str
    stations: Sequence[str]
    parameters: Parameters
    own: Mapping[str, Parameters] = field(default_factory=dict)
    hostapd: str = ""


@dataclass(frozen=True)
class Sample:
    """Counters of each node at a time: those of `airsim radio show`, and packets received."""

    time_s: float
    nodes: Mapping[str, Counters]


def mbps(sample: Sample, name: str = "sta") -> float:
    """Goodput of a node that receives datagrams of OCTETS."""
    return sample.nodes[name]["packets"] * OCTETS * 8 / sample.time_s / 1e6


CAPTURE = (
    "must ip link set airsim0 up\n"
    "tcpdump -Z root -n -i airsim0 -B 16384 --time-stamp-precision=nano -w - "
    ">air.pcap 2>/dev/null &\ncapture=$!\nsleep 0.2\n"
)
"""Lines of the script that start a capture of the air."""
# tcpdump gets a block of packets when it is full or 1 s old.
CAPTURE_END = "sleep 1.1\nkill -INT $capture\nwait $capture\n"


# Few beacons (in units of 1.024 ms), and no disassociation of stations that do not answer, because
# neither is to be measured.
_QUIET = "beacon_int=1000\ndisassoc_low_ack=0"


def nodes_of(cells: Sequence[Cell]) -> list[str]:
    return [name for cell in cells for name in (cell.ap, *cell.stations)]


def run(
    kernel: Kernel,
    tools: GuestTools,
    directory: Path,
    cells: Sequence[Cell],
    script: str,
    *,
    keys: str = "",
    seed: int = 1,
    memory_mb: int = 512,
    timeout_wall_s: float = 900,
) -> Path:
    """Boot the cells and run the script after all stations have associated; returns `directory`.

    keys: further arguments of `airsim radio add`. The script can call `node NAME COMMAND...` and
    `sample FILE`; flow() returns lines for it.
    """
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "plan.sh").write_text(plan(cells, script, keys))
    ended = uml.boot(
        kernel, tools, directory, seed=seed, memory_mb=memory_mb, timeout_wall_s=timeout_wall_s
    )
    assert ended.status == "ok", ended.reason + "\n" + ended.console.read_text()[-2000:]
    return directory


def plan(cells: Sequence[Cell], script: str, keys: str = "") -> str:
    names = nodes_of(cells)
    index = {name: number for number, name in enumerate(names)}
    parts = [f"#!/bin/sh\n{HELPERS}{_helpers(names)}"]
    for cell in cells:
        for name in (cell.ap, *cell.stations):
            of_node = cell.own.get(name, cell.parameters)
            words = f"{wifi.radio_keys(of_node, station=name != cell.ap)} {keys}"
            parts.append(
                f"must airsim radio add {words} >/dev/null\n"
                f"must ip netns add {name}\n"
                f"must iw phy phy{index[name]} set netns name {name}\n"
            )
    for number, cell in enumerate(cells):
        parts.append(_access_point(number, cell, index))
    for number, cell in enumerate(cells):
        parts += [_station(number, cell, name, index) for name in cell.stations]
    parts.append("for pid in $joining; do wait $pid || fail 'a station did not join'; done\n")
    parts += [f"node {name} saturate sink {PORT} >/dev/null &\n" for name in names]
    return "".join(parts) + script


def address(cell: int, index: int) -> str:
    return f"10.{cell}.0.{index + 1}"


def _helpers(names: Sequence[str]) -> str:
    shows = "".join(
        f'\techo "node {name} $(airsim radio show {number} | tr "\\n" " ") '
        f"packets $(node {name} cat "
        f'/sys/class/net/wlan0/statistics/rx_packets)"\n'
        for number, name in enumerate(names)
    )
    return f"""\
joining=
sample() {{
	{{ echo "time $(date +%s.%N)"
{shows}	}} >"$1"
}}
"""


def _access_point(number: int, cell: Cell, index: Mapping[str, int]) -> str:
    lines = wifi.hostapd_conf(cell.parameters, ssid=f"cell{number}").splitlines()
    conf = "\n".join(line for line in lines if not line.startswith("bridge="))
    neighbours = "".join(
        f"node {cell.ap} ip neighbour add {address(number, index[name])} "
        f"lladdr {radio_mac(index[name])} dev wlan0 nud permanent\n"
        for name in cell.stations
    )
    return f"""\
cat >/tmp/hostapd-{cell.ap}.conf <<'END'
{conf}
{_QUIET}
{cell.hostapd}
END
must node {cell.ap} ip address add {address(number, index[cell.ap])}/16 dev wlan0
must node {cell.ap} {_hostapd(cell.parameters)} -B /tmp/hostapd-{cell.ap}.conf
beaconing() {{ node {cell.ap} iw dev wlan0 info | grep -q channel; }}
wait_until 60 "hostapd has started the network of {cell.ap}" beaconing
{neighbours}"""


def _hostapd(parameters: Parameters) -> str | Path:
    """The host's, or for 802.11be a newer one."""
    return newer_hostapd.path() if STANDARDS[parameters.standard].has("eht") else "hostapd"


def _connecting(number: int, cell: Cell, name: str) -> tuple[str, str]:
    """What associates a station, once and again: WPA3 at 6 GHz needs a program that goes on."""
    if not is_6ghz(cell.parameters.channel):
        mhz = frequency_mhz(cell.parameters.channel)
        return "", f"node {name} iw dev wlan0 connect -w cell{number} {mhz} >/dev/null"
    conf = f"/tmp/wpa_supplicant-{name}.conf"
    text = wifi.supplicant_conf(cell.parameters, f"cell{number}")
    start = f"must node {name} {newer_hostapd.supplicant()} -B -i wlan0 -D nl80211 -c {conf}"
    return f"cat >{conf} <<'END'\n{text}END\n\t{start}\n", "sleep 0.5"


def _station(number: int, cell: Cell, name: str, index: Mapping[str, int]) -> str:
    ap = index[cell.ap]
    start, again = _connecting(number, cell, name)
    return f"""\
{{
	must node {name} ip link set wlan0 up
	must node {name} ip address add {address(number, index[name])}/16 dev wlan0
	must node {name} ip neighbour add {address(number, ap)} lladdr {radio_mac(ap)} \\
		dev wlan0 nud permanent
	# Stagger the stations, and retry, because probe requests that collide are lost.
	sleep {index[name] * 0.003:.3f}
	{start}tries=20
	until node {name} iw dev wlan0 link | grep -q Connected; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "{name} could not associate"
		{again}
		sleep 0.1
	done
	node {name} iw dev wlan0 set power_save off
	must node {name} ping -nq -c 1 -w 20 {address(number, ap)} >/dev/null
}} & joining="$joining $!"
"""


def blocked(*radios: int) -> str:
    """Lines of the script: none of the radios detects another one of them."""
    return "".join(
        f"must airsim link set {one} {other} blocked\n" for one, other in permutations(radios, 2)
    )


def flow(cells: Sequence[Cell], sender: str, receiver: str, seconds: float, *more: int) -> str:
    """A line of the script: a saturating sender. more: TOS, buffer. All nodes have a sink."""
    names = nodes_of(cells)
    number = next(n for n, cell in enumerate(cells) if receiver in (cell.ap, *cell.stations))
    words = " ".join(map(str, more))
    return (
        f"node {sender} saturate send {address(number, names.index(receiver))} {PORT} {OCTETS} "
        f"{seconds:g} {words} &\n"
    )


def read_sample(path: Path) -> Sample:
    lines = [line.split() for line in path.read_text().splitlines()]
    nodes = {}
    for words in lines[1:]:
        pairs = zip(words[2::2], words[3::2], strict=False)
        nodes[words[1]] = {key: int(value) for key, value in pairs if value.isdigit()}
    return Sample(float(lines[0][1]), nodes)


def difference(before: Path, after: Path) -> Sample:
    """The time between two samples, and the increase of each counter."""
    first, last = read_sample(before), read_sample(after)
    nodes = {
        name: {key: value - first.nodes[name].get(key, 0) for key, value in counters.items()}
        for name, counters in last.nodes.items()
    }
    return Sample(last.time_s - first.time_s, nodes)


def counted(directory: Path) -> Sample:
    """The difference between the samples `before` and `after`."""
    return difference(directory / "before", directory / "after")


def saturated_uplink(
    kernel: Kernel,
    tools: GuestTools,
    directory: Path,
    n: int,
    seconds: float,
    cw_min: int,
    seeds: Sequence[int],
) -> tuple[float, float]:
    """Goodput in Mbit/s and collision probability of n saturated 802.11a stations at 54 Mbit/s.

    Each seed is run for this number of seconds; the results are pooled.
    """
    windows = f"wmm_ac_be_cwmin={cw_min.bit_length()}\nwmm_ac_be_cwmax=10"
    stations = [f"sta{number}" for number in range(n)]
    cells = [Cell("ap", stations, LEGACY, hostapd=windows)]
    script = "".join(flow(cells, name, "ap", seconds + 3, 0, 40_000) for name in stations)
    script += f"sleep 1\nsample before\nsleep {seconds:g}\nsample after\n"
    packets, collided, ppdus, time_s = 0, 0, 0, 0.0
    for seed in seeds:
        seed_dir = directory / str(seed)
        run(kernel, tools, seed_dir, cells, script, seed=seed, timeout_wall_s=600)
        sample = counted(seed_dir)
        packets += sample.nodes["ap"]["packets"]
        collided += sum(sample.nodes[name]["collided"] for name in stations)
        ppdus += sum(sample.nodes[name]["ppdus"] for name in stations)
        time_s += sample.time_s
    return packets * OCTETS * 8 / time_s / 1e6, collided / ppdus
