# SPDX-License-Identifier: GPL-2.0-only
"""The instruments beside the transfers: tcpwatch, tcpdump, the kernel's traces; and their end."""

from collections.abc import Iterable

from airtcp.parameters import Parameters

# Instruments start this long before the transfer.
LEAD_S = 1

# Bytes kept of a packet: headers, with those of radiotap and 802.11 on the air.
_CAPTURED_BYTES, _CAPTURED_ON_AIR_BYTES = 128, 160
_CAPTURE_BUFFER_KIB = 16384

# mac80211's own queues, for each peer and TID: what they hold, sent and dropped.
QUEUES = "/sys/kernel/debug/ieee80211"

AIR = "air"
"""The capture point of what all radios send."""
AIR_DEVICE = "airsim0"

_TRACING = "/sys/kernel/tracing"
# Some 200,000 lines; what comes later takes the place of what came first.
_TRACE_BUFFER_KIB = 32768

HELPERS = """\
# Instruments: `start COMMAND...` in the background, `stop` ends all and waits for them.
pids=
start() { "$@" & pids="$pids $!"; }
check() {
	for pid in $pids; do
		kill -0 "$pid" || fail "an instrument ended early: see the lines above"
	done
}
stop() {
	for pid in $pids; do kill "$pid" 2>/dev/null; done
	for pid in $pids; do wait "$pid"; done
	pids=
}
"""


def watch(parameters: Parameters, nodes: Iterable[str], first_port: int, last_port: int) -> str:
    """Shell: the state of TCP at these nodes, in tcp-NODE.csv."""
    sample_us = round(parameters.tcp_sample_s * 1e6)
    ports = "" if last_port == first_port else f" {first_port} {last_port}"
    return "".join(
        f"start ip netns exec {node} tcpwatch {sample_us} tcp-{node}.csv{ports}\n" for node in nodes
    )


def capture(parameters: Parameters, point: str, device: str) -> str:
    """Shell: POINT.pcap of a node's device, or of the air."""
    on_air = point == AIR
    inside, up = f"ip netns exec {point} ", ""
    if on_air:
        inside, up = "", f"must ip link set {device} up\n"
    limit = ""
    if parameters.capture_duration_s is not None:
        limit_s = LEAD_S + parameters.idle_s + parameters.capture_duration_s
        limit = f"timeout -s INT {limit_s:g} "
    return (
        f"{up}start {inside}{limit}tcpdump -Z root -n -i {device} "
        f"-s {_CAPTURED_ON_AIR_BYTES if on_air else _CAPTURED_BYTES} "
        f"-B {_CAPTURE_BUFFER_KIB} --time-stamp-precision=nano -w {point}.pcap\n"
    )


def traces(parameters: Parameters) -> str:
    """Shell: what the kernel traces, from now on."""
    lines = []
    if parameters.ack_trace:
        lines += [
            f"echo mono >{_TRACING}/trace_clock",
            f"echo {_TRACE_BUFFER_KIB} >{_TRACING}/buffer_size_kb",
            f'echo 1 >{_TRACING}/events/tcp_ackpol/enable || fail "cannot trace"',
        ]
    if parameters.cwnd_trace:
        own = f"{_TRACING}/instances/cwnd"
        lines += [
            f"must mkdir {own}",
            f"echo mono >{own}/trace_clock",
            f"echo {_TRACE_BUFFER_KIB} >{own}/buffer_size_kb",
            f'echo 1 >{own}/events/tcp/tcp_probe/enable || fail "cannot trace"',
        ]
    return "".join(f"{line}\n" for line in lines)


def traces_end(parameters: Parameters) -> str:
    """Shell: keep what has been traced."""
    lines = []
    if parameters.ack_trace:
        lines.append(f"must cp {_TRACING}/trace ack-trace.txt\n")
    if parameters.cwnd_trace:
        lines.append(f"must cp {_TRACING}/instances/cwnd/trace cwnd-trace.txt\n")
    return "".join(lines)


def closed(nodes: Iterable[str]) -> str:
    """Shell: wait until these nodes, senders first, have let go of their connections."""
    return f"""\
# tcpwatch tells a connection's last counters when both ends have let it go.
closed() {{ [ -z "$(ip netns exec "$1" ss -Htn state connected exclude time-wait)" ]; }}
for node in {" ".join(nodes)}; do
	wait_until 60 "the connections at $node are closed" closed "$node"
done
"""


def drained(delay_s: float, radios: bool) -> str:
    """Shell: wait for what is on the wires, whose delays both ways are given, and in the radios.

    A closed connection goes with its last packet, on the wire or behind thousands of ACKs.
    """
    on_the_wire = f"sleep {delay_s:g}\n" if delay_s else ""
    if not radios:
        return on_the_wire
    return f"""\
sent() {{
	awk '$4 ~ /^[1-9]/ {{ exit 1 }}' {QUEUES}/phy*/netdev:wlan0/stations/*/aqm &&
		grep -qx "tx_queued 0" /sys/kernel/debug/airsim/stats
}}
wait_until 60 "the radios have sent all that they hold" sent
{on_the_wire}"""
