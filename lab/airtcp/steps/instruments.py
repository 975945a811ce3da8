# SPDX-License-Identifier: GPL-2.0-only
"""The instruments beside the transfers: tcpwatch, tcpdump, the kernel's traces; and their end."""

from collections.abc import Iterable

from airtcp.parameters import Parameters

# Instruments start this long before the transfer.
LEAD_S = 1

# Bytes kept of a packet: headers, with those of radiotap and 802.11 on the air.
_CAPTURED_BYTES, _CAPTURED_ON_AIR_BYTES = 128, 160
_CAPTURE_BUFFER_KIB = 16384

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
stop() {
	for pid in $pids; do kill "$pid" 2>/dev/null; done
	for pid in $pids; do wait "$pid"; done
	pids=
}
# `watch NODE COMMAND...` is for tcpwatch, which when told to ends with the last connection.
watching=
watch() { node "$@" & watching="$watching $!"; }
closed() {
	for pid in $watching; do kill "$pid"; done
	for pid in $watching; do
		wait "$pid" || fail "gave up waiting until connections are closed: see above"
	done
}
check() {
	for pid in $watching $pids; do
		kill -0 "$pid" || fail "an instrument ended early: see the lines above"
	done
}
"""


def watch(parameters: Parameters, nodes: Iterable[str], first_port: int, last_port: int) -> str:
    """Shell: the state of TCP at these nodes, in tcp-NODE.csv."""
    sample_us = round(parameters.tcp_sample_s * 1e6)
    ports = "" if last_port == first_port else f" {first_port} {last_port}"
    return "".join(f"watch {node} tcpwatch {sample_us} tcp-{node}.csv{ports}\n" for node in nodes)


def capture(parameters: Parameters, point: str, device: str) -> str:
    """Shell: POINT.pcap of a node's device, or of the air."""
    on_air = point == AIR
    inside, up = f"node {point} ", ""
    if on_air:
        inside, up = "", f"must ip link set {device} up\n"
    limit = ""
    if parameters.capture_duration_s is not None:
        limit_s = LEAD_S + parameters.baseline_s + parameters.capture_duration_s
        limit = f"timeout -s INT {limit_s:g} "
    # The shell opens the file: tcpdump would give one of its own to root, which only root may do on
    # the host. -Z root: it stays root.
    return (
        f"{up}start {inside}{limit}tcpdump -Z root -n -i {device} "
        f"-s {_CAPTURED_ON_AIR_BYTES if on_air else _CAPTURED_BYTES} "
        f"-B {_CAPTURE_BUFFER_KIB} --time-stamp-precision=nano -w - >{point}.pcap\n"
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
