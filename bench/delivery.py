# SPDX-License-Identifier: GPL-2.0-only
"""CPU time per delivered gigabyte, sender and receiver together, by ACK policy.

A file goes from one network namespace to another over a veth pair without offloads: each packet is
one segment. Both ends are in one guest of QEMU, whose clock counts instructions: one takes a
nanosecond, so the host's speed and load have no effect. The times are those of the kernel's
accounting: system, softirq and irq, and everything except idle. Fewer ACKs save work at both ends.
"""

import os
import sys
import tempfile
from pathlib import Path

from instructions import FRAGMENT, count

from airtcp.backends.guesttools import GuestTools, build_tools
from airtcp.cli.messages import say
from airtcp.kernel import image, policies
from airtcp.kernel.image import Kernel

FILE_BYTES = 200_000_000
# Kills the loop that reports the guest's progress once a second.
NETWORK = """\
for pid in $(pgrep -P 1); do [ "$pid" = $$ ] || kill "$pid"; done
mkdir -p /run/netns
ip netns add a && ip netns add b
ip link add eth0 netns a type veth peer name eth0 netns b
for node in a b; do
	ip -n $node link set lo up
	ip -n $node link set eth0 up gso_max_segs 1
	ip netns exec $node ethtool -K eth0 gro off gso off tso off
done
ip -n a address add 10.0.0.1/24 dev eth0
ip -n b address add 10.0.0.2/24 dev eth0
ip netns exec b ping -nq -c 1 10.0.0.1 >/dev/null || exit 1
# Ticks in the kernel, ticks not idle, segments that the receiver got, and those that it sent.
spent() {
	awk '$1 == "cpu" { print $4 + $7 + $8, $2 + $3 + $4 + $7 + $8 }' /proc/stat
	ip netns exec b awk '$1 == "Tcp:" && $11 ~ /[0-9]/ { print $11, $12 }' /proc/net/snmp
}
"""


def measure(built: Kernel, tools: GuestTools) -> dict[str, tuple[float, float, float]]:
    """By policy: seconds per gigabyte (kernel, all), ACKs per segment. AirtcpError if it fails."""
    plan = NETWORK
    fetch = f"exchange -C cubic fetch 10.0.0.1 100 {FILE_BYTES} 1"
    for policy in policies.names():
        plan += (
            f"ip netns exec b sysctl -q -w net.ipv4.tcp_ack_policy={policy} || exit 1\n"
            f"ip netns exec a exchange -C cubic serve 100 {FILE_BYTES} 1 & server=$!\n"
            "before=$(echo $(spent))\n"
            f"ip netns exec b {fetch} >times || exit 1\n"
            f'wait "$server" || exit 1\necho "{policy} $before" $(spent) >>costs\n'
        )
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        count(built, tools, directory, plan)
        lines = (directory / "costs").read_text().splitlines()
    costs = {}
    for line in lines:
        policy, *counters = line.split()
        before, after = counters[:4], counters[4:]
        kernel, everything, received, sent = (
            int(last) - int(first) for first, last in zip(before, after, strict=True)
        )
        # A tick of /proc/stat is a hundredth of a second.
        scale = 0.01 * 1e9 / FILE_BYTES
        costs[policy] = (scale * kernel, scale * everything, sent / received)
    return costs


def main() -> int:
    _, patched = image.build_pair(FRAGMENT, say)
    tools = build_tools(say)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    costs = measure(patched, tools)
    base = costs["default"]
    print("per delivered gigabyte, both ends together; a second is 10^9 instructions")
    print(f"{'policy':11}  {'kernel':>9}  {'all':>9}  {'ACKs':>5}  over default")
    for policy, (kernel, everything, acks) in costs.items():
        over = f"{100 * (kernel / base[0] - 1):+.1f}%  {100 * (everything / base[1] - 1):+.1f}%"
        print(f"{policy:11}  {kernel:7.2f} s  {everything:7.2f} s  {acks:5.3f}  {over}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
