# SPDX-License-Identifier: GPL-2.0-only
"""The stages that thin TCP ACKs on their way, without either host knowing.

All are made of the real tools in the guest: tc's policer, CAKE, nftables, mac80211's ACK filter,
and what radios' drivers do. With the guest they go.
"""

import re
from collections.abc import Mapping, Sequence

from airtcp.steps.step import Put, Run, Step, run
from airtcp.testbed.model import AckFilter, AckFlow, Testbed

# An address of the block that IANA has set apart for documentation (RFC 7042, section 2.1.2).
GROUP_MAC = "01:00:5e:90:10:01"

_BARE_ACK_BYTES = (40, 52)


def cake(stage: str) -> str:
    """The qdisc at the bottleneck; empty: no stage is there."""
    words = {"cake": "ack-filter", "cake-aggressive": "ack-filter-aggressive"}
    return f"cake unlimited besteffort {words[stage]}" if stage else ""


def functional_block(name: str) -> list[Step]:
    """A device of the node (ifb) through whose queue packets of others are sent."""
    return [run(f"ip link add {name} type ifb"), run(f"ip link set {name} up")]


def classified(device: str) -> Run:
    """Filters may be added to what enters and leaves a device; once or again."""
    return run(f"tc qdisc replace dev {device} clsact")


def at_node(filters: Sequence[AckFilter]) -> list[Step]:
    """All policing and shaping of a node. Each policer has an index there."""
    steps: list[Step] = []
    polices = 0
    for one in filters:
        if one.stage == "shape":
            steps += shape(one.flows, one.rate_bps, one.device)
        if one.stage == "police":
            for flow in one.flows:
                polices += 1
                steps += police(flow, polices, one.rate_bps, one.burst_bytes)
    return steps


def police(flow: AckFlow, number: int, rate_bps: float, burst_bytes: int) -> list[Step]:
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
        classified(flow.device),
        *(
            run(f"tc filter add dev {flow.device} ingress protocol ip prio 1 {match}", *action)
            for match, action in zip(
                _bare_acks(flow),
                (("action", *first.split()), ("action", *again.split())),
                strict=True,
            )
        ),
    ]


def shape(flows: Sequence[AckFlow], rate_bps: float, device: str) -> list[Step]:
    """Bare ACKs share a rate; of each connection only the newest waits.

    Nothing is lost that the receiver of ACKs needs: CAKE drops an ACK only when a newer one of its
    connection is behind it, so the last one always comes.
    """
    lines = [
        *functional_block(device),
        run(
            f"tc qdisc add dev {device} root cake bandwidth {round(rate_bps)}bit besteffort "
            "ack-filter-aggressive"
        ),
    ]
    for flow in flows:
        lines.append(classified(flow.device))
        lines += [
            run(
                f"tc filter add dev {flow.device} ingress protocol ip prio 1 {match} "
                f"action mirred egress redirect dev {device}"
            )
            for match in _bare_acks(flow)
        ]
    return lines


def _bare_acks(flow: AckFlow) -> list[str]:
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


_ACK_DROPS = re.compile(r'"ack_drops":\s*(\d+)')
_FILTERED = re.compile(r"^filtered (\d+)$", re.MULTILINE)

DROPS: Mapping[str, re.Pattern[str]] = {
    "police": re.compile(r"dropped (\d+)"),
    "shape": _ACK_DROPS,
    "cake": _ACK_DROPS,
    "cake-aggressive": _ACK_DROPS,
    "txq": _FILTERED,
    "txq-aggressive": _FILTERED,
    "hold": re.compile(r"^acks_suppressed (\d+)$", re.MULTILINE),
}
"""The ACKs that a stage has dropped, in what it has counted."""


def counted(testbed: Testbed) -> list[Step]:
    """What the stages have done until now."""
    return [
        run(command, node=one.node, stdout=one.file)
        for one in testbed.filters
        for command in _counters(one)
    ]


def _counters(one: AckFilter) -> tuple[str, ...]:
    match one.stage:
        case "police":
            return ("tc -s actions list action police",)
        case "shape":
            return (f"tc -s -j qdisc show dev {one.device}",)
        case "cake" | "cake-aggressive":
            return (f"tc -s -j qdisc show dev {one.device}",)
        case "txq" | "txq-aggressive":
            return ("cat /sys/kernel/debug/ieee80211/phy*/ack_filter",)
    return ()
