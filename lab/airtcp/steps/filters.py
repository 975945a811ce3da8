# SPDX-License-Identifier: GPL-2.0-only
"""Stages that filter TCP ACKs on their path, transparently for both hosts.

All use real tools of the guest: tc's policer, CAKE, nftables, the qdisc ackhold, mac80211's ACK
filter, and functions of the radios' drivers.
"""

import re
from collections.abc import Mapping, Sequence

from airtcp.parameters.ack_filter import ACKHOLD
from airtcp.steps.step import Put, Run, Step, run
from airtcp.testbed.model import AckFilter, AckFlow, Testbed

# An address of IANA's block for documentation (RFC 7042, section 2.1.2).
GROUP_MAC = "01:00:5e:90:10:01"

_BARE_ACK_BYTES = (40, 52)


def cake(stage: str) -> str:
    """The qdisc at the bottleneck; empty without such a stage."""
    modes = {"cake": "ack-filter", "cake-aggressive": "ack-filter-aggressive"}
    return f"cake unlimited besteffort {modes[stage]}" if stage else ""


def functional_block(name: str) -> list[Step]:
    """An intermediate functional block (ifb) of the node, a queue for packets of other devices."""
    return [run(f"ip link add {name} type ifb"), run(f"ip link set {name} up")]


def clsact(device: str) -> Run:
    """Allow filters on ingress and egress of a device; may be repeated."""
    return run(f"tc qdisc replace dev {device} clsact")


def at_node(filters: Sequence[AckFilter]) -> list[Step]:
    """All policers, shapers and qdiscs of a node. Policers are numbered per node."""
    steps: list[Step] = []
    polices = 0
    for ack_filter in filters:
        if ack_filter.stage == ACKHOLD:
            steps.append(run(f"tc qdisc add dev {ack_filter.device} root ackhold"))
        if ack_filter.stage == "shape":
            steps += shape(ack_filter.flows, ack_filter.rate_bps, ack_filter.device)
        if ack_filter.stage == "police":
            for flow in ack_filter.flows:
                polices += 1
                limit = (polices, ack_filter.rate_bps, ack_filter.burst_bytes)
                limited = police_all if ack_filter.all_packets else police
                steps += limited(flow, *limit)
            if ack_filter.all_packets:
                for device in dict.fromkeys(flow.device for flow in ack_filter.flows):
                    polices += 1
                    steps.append(_dropping(device, polices))
    return steps


def police_all(flow: AckFlow, number: int, rate_bps: float, burst_bytes: int) -> list[Step]:
    """A token bucket for all packets to the sender of the data: the first rule of the script.

    A. Statkus' dissertation (2017), Figure 1.9, with a rate of 12,500 bytes per second and a burst
    of 102,400 bytes. Its match has no protocol: it also limits SYN, FIN, data and ACKs with SACK.
    """
    return [
        clsact(flow.device),
        run(
            f"tc filter add dev {flow.device} ingress protocol all prio 1 "
            f"u32 match ip dst {flow.destination}/32 action police rate {round(rate_bps)}bit "
            f"burst {burst_bytes}b conform-exceed drop/pass index {number}"
        ),
    ]


def _dropping(device: str, number: int) -> Run:
    """Drop all other packets: the second rule of the script."""
    return run(
        f"tc filter add dev {device} ingress protocol all prio 2 u32 match u32 0 0 at 0 "
        f"action police rate 8bit burst 1b conform-exceed drop/drop index {number}"
    )


def police(flow: AckFlow, number: int, rate_bps: float, burst_bytes: int) -> list[Step]:
    """A token bucket for the bare ACKs of a receiver.

    A. Statkus' dissertation (2017), section 1.10: committed information rate and committed burst
    size, counted as tc does on ingress, without the Ethernet header. Segments with data, other
    flags or SACK pass. The policer is stateless: with an empty bucket it also drops duplicate ACKs
    without SACK, window updates, and the last ACK of a connection.
    """
    first = (
        f"police rate {round(rate_bps)}bit burst {burst_bytes}b "
        f"conform-exceed drop/continue index {number}"
    )
    again = f"police index {number}"
    return [
        clsact(flow.device),
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
    """Shape bare ACKs to a rate, keeping only the newest of each connection in the queue.

    No information is lost: CAKE drops an ACK only if a newer one of the same connection is queued
    behind it, so the last one always arrives.
    """
    lines = [
        *functional_block(device),
        run(
            f"tc qdisc add dev {device} root cake bandwidth {round(rate_bps)}bit besteffort "
            "ack-filter-aggressive"
        ),
    ]
    for flow in flows:
        lines.append(clsact(flow.device))
        lines += [
            run(
                f"tc filter add dev {flow.device} ingress protocol ip prio 1 {match} "
                f"action mirred egress redirect dev {device}"
            )
            for match in _bare_acks(flow)
        ]
    return lines


def _bare_acks(flow: AckFlow) -> list[str]:
    """u32 matches of ACKs without options, and with only timestamps."""
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


def to_group() -> Run:
    """Send bare ACKs from a port of the bridge to a group, so that no station acknowledges them."""
    sizes = ", ".join(map(str, _BARE_ACK_BYTES))
    rules = f"""\
table bridge airtcp {{
	chain acks {{
		type filter hook postrouting priority 0
		oifname "wlan0" ip protocol tcp ip length {{ {sizes} }} tcp flags == ack \\
			counter ether daddr set {GROUP_MAC}
	}}
}}
"""
    return _nft(rules)


def from_group(address: str, mac: str) -> Run:
    """Restore the MAC address of packets to the group that are for this host."""
    rules = f"""\
table netdev airtcp {{
	chain acks {{
		type filter hook ingress device "wlan0" priority 0
		ether daddr {GROUP_MAC} ip daddr {address} \\
			counter ether daddr set {mac} meta pkttype set host
	}}
}}
"""
    return _nft(rules)


def _nft(rules: str) -> Run:
    return Run(("nft", "-f", "-"), stdin=rules)


def txq(stages: tuple[str, ...], radio: int) -> list[Step]:
    """Turn on mac80211's ACK filter of a radio."""
    modes = {"txq": "on", "txq-aggressive": "aggressive"}
    modes_set = [mode for stage, mode in modes.items() if stage in stages]
    file = f"/sys/kernel/debug/ieee80211/phy{radio}/ack_filter"
    return [Put(modes_set[0], file)] if modes_set else []


_ACK_DROPS = re.compile(r'"ack_drops":\s*(\d+)')
_FILTERED = re.compile(r"^filtered (\d+)$", re.MULTILINE)

DROPS: Mapping[str, re.Pattern[str]] = {
    "police": re.compile(r"dropped (\d+)"),
    "shape": _ACK_DROPS,
    "cake": _ACK_DROPS,
    "cake-aggressive": _ACK_DROPS,
    # The radios' devices never stop their queue, so nothing else is dropped.
    ACKHOLD: re.compile(r'"drops":\s*(\d+)'),
    "txq": _FILTERED,
    "txq-aggressive": _FILTERED,
    "hold": re.compile(r"^acks_suppressed (\d+)$", re.MULTILINE),
}
"""Match the number of dropped ACKs in the counters of a stage."""


def counted(testbed: Testbed) -> list[Step]:
    """Save the counters of all stages."""
    steps = (
        run(command, node=ack_filter.node, stdout=ack_filter.file)
        for ack_filter in testbed.filters
        for command in _counters(ack_filter)
    )
    return list(dict.fromkeys(steps))


def _counters(ack_filter: AckFilter) -> tuple[str, ...]:
    match ack_filter.stage:
        case "police":
            return ("tc -s actions list action police",)
        case "shape" | "cake" | "cake-aggressive" | "ackhold":
            return (f"tc -s -j qdisc show dev {ack_filter.device}",)
        case "txq" | "txq-aggressive":
            return ("cat /sys/kernel/debug/ieee80211/phy*/ack_filter",)
    return ()
