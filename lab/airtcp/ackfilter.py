# SPDX-License-Identifier: GPL-2.0-only
"""Stages that thin TCP ACKs on their way, without either host knowing.

All are made of the real tools in the guest: tc's policer, CAKE, nftables, mac80211's ACK filter,
and what radios' drivers do. With the guest they go.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, PlainSerializer

# What a stage is, for people; the order in which they are named.
STAGES: Mapping[str, str] = {
    "police": "drops bare ACKs beyond a rate where they enter the bridge (tc police)",
    "shape": "of those beyond a rate the newest of each connection waits its turn (CAKE)",
    "cake": "CAKE's ack-filter at the bottleneck back to the server",
    "cake-aggressive": "CAKE's ack-filter-aggressive there",
    "txq": "a newer ACK takes the place of older ones in mac80211's queues",
    "txq-aggressive": "the same, whatever windows they tell",
    "hold": "the radio's driver lets the newest stand for several",
    "multicast": "ACKs go over the air to a group, so that no 802.11 ACK answers them",
}
NONE = "none"
# Of each group one at most.
_ALTERNATIVES = (("police", "shape"), ("cake", "cake-aggressive"), ("txq", "txq-aggressive"))

# An address of the block that IANA has set apart for documentation (RFC 7042, section 2.1.2).
GROUP_MAC = "01:00:5e:90:10:01"

_BARE_ACK_BYTES = (40, 52)


def _read(value: object) -> tuple[str, ...]:
    """`police+multicast`; raises ValueError with what is allowed."""
    if isinstance(value, tuple):
        return value
    text = str(value).strip()
    chosen = () if text == NONE else tuple(text.split("+"))
    for stage in chosen:
        if stage not in STAGES:
            allowed = " ".join([NONE, *STAGES])
            raise ValueError(
                f"{stage!r} is not a stage of ACK filtering; allowed: {allowed}, joined by +"
            )
    for group in _ALTERNATIVES:
        if sum(stage in group for stage in chosen) > 1:
            raise ValueError(f"{text!r} has both of {' and '.join(group)}; choose one")
    return tuple(stage for stage in STAGES if stage in chosen)


Stages = Annotated[
    tuple[str, ...],
    BeforeValidator(_read),
    PlainSerializer(lambda stages: "+".join(stages) or NONE),
]


class Flow(NamedTuple):
    """Whose ACKs a policer is for: the receiver of the data, and where they come in."""

    device: str
    source: str
    destination: str


def cake(stages: tuple[str, ...]) -> str:
    """The qdisc at the bottleneck; empty: no stage is there."""
    words = {"cake": "ack-filter", "cake-aggressive": "ack-filter-aggressive"}
    chosen = [word for stage, word in words.items() if stage in stages]
    return f"cake unlimited besteffort {chosen[0]}" if chosen else ""


def police(flow: Flow, number: int, rate_bps: float, burst_bytes: int) -> str:
    """Shell: a token bucket for the bare ACKs of a receiver, whatever they are dropped for.

    A. Statkus' dissertation (2017), section 1.10: committed information rate and committed burst
    size, counted as tc does on ingress, without the Ethernet header. Spared is what does more than
    acknowledge: data, flags, SACK. The policer knows no state: it drops duplicates without SACK,
    window updates, and the last ACK of a connection, if the bucket is empty.
    """
    first = (
        f"police rate {round(rate_bps)}bit burst {burst_bytes}b "
        f"conform-exceed drop/continue index {number}"
    )
    again = f"police index {number}"
    return _ingress(flow.device) + "".join(
        f"must tc filter add dev {flow.device} ingress protocol ip prio 1 {match} action {action}\n"
        for match, action in zip(_bare_acks(flow), (first, again), strict=True)
    )


def shape(flows: list[Flow], rate_bps: float) -> str:
    """Shell: bare ACKs share a rate; of each connection only the newest waits.

    Nothing is lost that the receiver of ACKs needs: CAKE drops an ACK only when a newer one of its
    connection is behind it, so the last one always comes.
    """
    lines = [
        "must ip link add ifb1 type ifb\nmust ip link set ifb1 up\n"
        f"must tc qdisc add dev ifb1 root cake bandwidth {round(rate_bps)}bit besteffort "
        "ack-filter-aggressive\n"
    ]
    for flow in flows:
        lines.append(_ingress(flow.device))
        lines += [
            f"must tc filter add dev {flow.device} ingress protocol ip prio 1 {match} "
            "action mirred egress redirect dev ifb1\n"
            for match in _bare_acks(flow)
        ]
    return "".join(lines)


def _ingress(device: str) -> str:
    return f"tc qdisc add dev {device} clsact 2>/dev/null\n"


def _bare_acks(flow: Flow) -> list[str]:
    """u32 matches of ACKs with no option, and with timestamps alone."""
    common = (
        f"u32 match ip protocol 6 0xff match u8 0x45 0xff at 0 "
        f"match ip src {flow.source}/32 match ip dst {flow.destination}/32 "
        "match u8 0x10 0xff at 33"
    )
    plain, stamped = (f"match u16 {octets} 0xffff at 2" for octets in _BARE_ACK_BYTES)
    # NOP, NOP, and the timestamps option of 10 bytes.
    return [
        f"{common} {plain} match u8 0x50 0xff at 32",
        f"{common} {stamped} match u8 0x80 0xff at 32 match u32 0x0101080a 0xffffffff at 40",
    ]


def to_group(device: str) -> str:
    """Shell: bare ACKs leave the bridge's port for a group, which nobody acknowledges."""
    sizes = ", ".join(map(str, _BARE_ACK_BYTES))
    return f"""\
must nft -f - <<'RULES'
table bridge airtcp {{
	chain acks {{
		type filter hook postrouting priority 0
		oifname "{device}" ip protocol tcp ip length {{ {sizes} }} tcp flags == ack \\
			counter ether daddr set {GROUP_MAC}
	}}
}}
RULES
"""


def from_group(device: str, address: str, mac: str) -> str:
    """Shell: what came to the group for this host is given its own address again."""
    return f"""\
must nft -f - <<'RULES'
table netdev airtcp {{
	chain acks {{
		type filter hook ingress device "{device}" priority 0
		ether daddr {GROUP_MAC} ip daddr {address} \\
			counter ether daddr set {mac} meta pkttype set host
	}}
}}
RULES
"""


def txq(stages: tuple[str, ...], radio: int) -> str:
    """Shell: mac80211's filter of a radio, by its number."""
    modes = {"txq": "on", "txq-aggressive": "aggressive"}
    chosen = [mode for stage, mode in modes.items() if stage in stages]
    file = f"/sys/kernel/debug/ieee80211/phy{radio}/ack_filter"
    return f"must sh -c 'echo {chosen[0]} >{file}'\n" if chosen else ""


# Of each stage: the file with what it has counted, and how to read the ACKs dropped.
_DROPS = re.compile(r"dropped (\d+)")
_ACK_DROPS = re.compile(r'"ack_drops":\s*(\d+)')
_FILTERED = re.compile(r"^filtered (\d+)$", re.MULTILINE)
_SUPPRESSED = re.compile(r"^acks_suppressed (\d+)$", re.MULTILINE)

FILES: Mapping[str, tuple[str, Callable[[str], list[str]]]] = {
    "police": ("ack-filter-police.txt", _DROPS.findall),
    "shape": ("ack-filter-shape.json", _ACK_DROPS.findall),
    "cake": ("qdisc-bridge.json", _ACK_DROPS.findall),
    "cake-aggressive": ("qdisc-bridge.json", _ACK_DROPS.findall),
    "txq": ("ack-filter-txq.txt", _FILTERED.findall),
    "txq-aggressive": ("ack-filter-txq.txt", _FILTERED.findall),
    "hold": ("airsim-after.txt", _SUPPRESSED.findall),
}


def filtered(run_dir: Path, stages: tuple[str, ...]) -> int:
    """ACKs that the stages have dropped since boot; drops of full queues are not among them."""
    total = 0
    for stage in stages:
        if stage in FILES:
            name, find = FILES[stage]
            total += sum(map(int, find((run_dir / name).read_text())))
    return total
