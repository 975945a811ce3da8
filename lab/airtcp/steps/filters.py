# SPDX-License-Identifier: GPL-2.0-only
"""The stages that thin TCP ACKs on their way, without either host knowing.

All are made of the real tools in the guest: tc's policer, CAKE, nftables, mac80211's ACK filter,
and what radios' drivers do. With the guest they go.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from airtcp.steps import links
from airtcp.steps.step import Put, Run, Step, run

# An address of the block that IANA has set apart for documentation (RFC 7042, section 2.1.2).
GROUP_MAC = "01:00:5e:90:10:01"

_BARE_ACK_BYTES = (40, 52)


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


def police(flow: Flow, number: int, rate_bps: float, burst_bytes: int) -> list[Step]:
    """A token bucket for the bare ACKs of a receiver, whatever they are dropped for.

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
    return [
        links.classified(flow.device),
        *(
            run(f"tc filter add dev {flow.device} ingress protocol ip prio 1 {match}", *action)
            for match, action in zip(
                _bare_acks(flow),
                (("action", *first.split()), ("action", *again.split())),
                strict=True,
            )
        ),
    ]


def shape(flows: list[Flow], rate_bps: float) -> list[Step]:
    """Bare ACKs share a rate; of each connection only the newest waits.

    Nothing is lost that the receiver of ACKs needs: CAKE drops an ACK only when a newer one of its
    connection is behind it, so the last one always comes.
    """
    lines = [
        *links.functional_block("ifb1"),
        run(
            f"tc qdisc add dev ifb1 root cake bandwidth {round(rate_bps)}bit besteffort "
            "ack-filter-aggressive"
        ),
    ]
    for flow in flows:
        lines.append(links.classified(flow.device))
        lines += [
            run(
                f"tc filter add dev {flow.device} ingress protocol ip prio 1 {match} "
                "action mirred egress redirect dev ifb1"
            )
            for match in _bare_acks(flow)
        ]
    return lines


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


def to_group(device: str) -> Run:
    """Bare ACKs leave the bridge's port for a group, which nobody acknowledges."""
    sizes = ", ".join(map(str, _BARE_ACK_BYTES))
    rules = f"""\
table bridge airtcp {{
	chain acks {{
		type filter hook postrouting priority 0
		oifname "{device}" ip protocol tcp ip length {{ {sizes} }} tcp flags == ack \\
			counter ether daddr set {GROUP_MAC}
	}}
}}
"""
    return _nft(rules)


def from_group(device: str, address: str, mac: str) -> Run:
    """What came to the group for this host is given its own address again."""
    rules = f"""\
table netdev airtcp {{
	chain acks {{
		type filter hook ingress device "{device}" priority 0
		ether daddr {GROUP_MAC} ip daddr {address} \\
			counter ether daddr set {mac} meta pkttype set host
	}}
}}
"""
    return _nft(rules)


def _nft(rules: str) -> Run:
    return Run(("nft", "-f", "-"), stdin=rules)


def txq(stages: tuple[str, ...], radio: int) -> list[Step]:
    """mac80211's filter of a radio, by its number."""
    modes = {"txq": "on", "txq-aggressive": "aggressive"}
    chosen = [mode for stage, mode in modes.items() if stage in stages]
    file = f"/sys/kernel/debug/ieee80211/phy{radio}/ack_filter"
    return [Put(chosen[0], file)] if chosen else []


class Counted(NamedTuple):
    """What a stage has counted: the file, the ACKs dropped in it, the command that writes it.

    No command: the file is there anyway. node `{node}` is where ACKs are policed or shaped.
    """

    file: str
    drops: re.Pattern[str]
    command: str = ""
    node: str = ""


_ACK_DROPS = re.compile(r'"ack_drops":\s*(\d+)')
_CAKE = Counted("qdisc-bridge.json", _ACK_DROPS, "tc -s -j qdisc show dev eth0", "ap")
_TXQ = Counted(
    "ack-filter-txq.txt",
    re.compile(r"^filtered (\d+)$", re.MULTILINE),
    "cat /sys/kernel/debug/ieee80211/phy*/ack_filter",
)

COUNTED: Mapping[str, Counted] = {
    "police": Counted(
        "ack-filter-police.txt",
        re.compile(r"dropped (\d+)"),
        "tc -s actions list action police",
        "{node}",
    ),
    "shape": Counted(
        "ack-filter-shape.json",
        _ACK_DROPS,
        "tc -s -j qdisc show dev ifb1",
        "{node}",
    ),
    "cake": _CAKE,
    "cake-aggressive": _CAKE,
    "txq": _TXQ,
    "txq-aggressive": _TXQ,
    "hold": Counted("airsim-after.txt", re.compile(r"^acks_suppressed (\d+)$", re.MULTILINE)),
}


def counted(stages: tuple[str, ...], node: str) -> list[Step]:
    """What the stages have done until now. node: where ACKs are policed or shaped."""
    own = [COUNTED[stage] for stage in stages if stage in COUNTED]
    return [
        run(one.command, node=one.node.format(node=node), stdout=one.file)
        for one in own
        if one.command
    ]
