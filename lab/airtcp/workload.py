# SPDX-License-Identifier: GPL-2.0-only
"""The second half of a run's plan: the transfers, and the instruments beside them.

Bulk: for each station iperf3 sends from the sender to the receiver, all at the same time; ping goes
from the first station to the server. The other workloads: at the receiver the guest's program
exchange asks, at the sender it answers. tcpwatch reads the state of TCP at both ends; tcpdump
captures where asked; nstat, tc, mac80211 and airsim count. The files are left in the directory of
the run, which is the plan's working directory.
"""

from airtcp import walk
from airtcp.guesttools import GUEST_DIR
from airtcp.nodes import (
    SERVER_ADDRESS,
    numbered,
    radio_mac,
    server_address,
    station_address,
    station_node,
)
from airtcp.parameters import Parameters
from airtcp.topology import ADDRESSES, stations

# Payload that fills an Ethernet frame: 1500 less the headers of IPv4 and UDP.
_UDP_PAYLOAD_BYTES = 1472

# Instruments start this long before the transfer.
_LEAD_S = 1

# Bytes kept of a packet: headers, with those of radiotap and 802.11 on the air.
_CAPTURES = {
    "server": ("server eth0", 128),
    "station": ("station wlan0", 128),
    "air": ("init airsim0", 160),
}
_CAPTURE_BUFFER_KIB = 16384

# mac80211's own queues, for each peer and TID: what they hold, sent and dropped.
_QUEUES = "/sys/kernel/debug/ieee80211"

_TRACING = "/sys/kernel/tracing"
# Some 200,000 lines; what comes later takes the place of what came first.
_TRACE_BUFFER_KIB = 32768

_HELPERS = """\
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


def plan(parameters: Parameters) -> str:
    """The shell script of the transfers; it follows topology.plan(parameters)."""
    bulk = parameters.workload == "bulk"
    listening, at_work, afterwards = _bulk(parameters) if bulk else _exchanges(parameters)
    return f"""\
{_HELPERS}
{_instruments(parameters)}
{listening}\
sleep {_LEAD_S}
check

must cp /sys/kernel/debug/airsim/stats airsim-before.txt
{_walk(parameters)}\
{at_work}\
must cp /sys/kernel/debug/airsim/stats airsim-after.txt
{_walk_end(parameters)}\
must cp {_QUEUES}/phy0/netdev:wlan0/stations/{radio_mac(1)}/aqm queues-ap.txt
must cp {_QUEUES}/phy1/netdev:wlan0/stations/{radio_mac(0)}/aqm queues-station.txt
{afterwards}\
# tcpwatch tells a connection's last counters when both ends have let it go.
closed() {{ [ -z "$(ip netns exec "$1" ss -Htn state connected exclude time-wait)" ]; }}
for node in {" ".join(_ends(parameters))}; do
	wait_until 60 "the connections at $node are closed" closed "$node"
done
{_drain(parameters)}\
stop
{_trace_end(parameters)}\
must ip netns exec server tc -s -j qdisc show dev eth0 >qdisc-server.json
must ip netns exec server nstat -azsj >nstat-server.json
must ip netns exec station nstat -azsj >nstat-station.json
must airsim radio show >radios.txt
must cp /proc/uptime uptime
"""


def _trace_end(parameters: Parameters) -> str:
    return f"must cp {_TRACING}/trace ack-trace.txt\n" if parameters.ack_trace else ""


def _drain(parameters: Parameters) -> str:
    """A closed connection goes with its last packet, which may wait behind thousands of ACKs."""
    if parameters.protocol != "tcp":
        return ""
    return f"""\
sent() {{
	awk '$4 ~ /^[1-9]/ {{ exit 1 }}' {_QUEUES}/phy*/netdev:wlan0/stations/*/aqm &&
		grep -qx "tx_queued 0" /sys/kernel/debug/airsim/stats
}}
wait_until 60 "the radios have sent all that they hold" sent
"""


def _ends(parameters: Parameters) -> list[str]:
    """The nodes of the transfers, that of the senders first."""
    names = [station_node(number) for number in stations(parameters)]
    return ["server", *names] if parameters.direction == "download" else [*names, "server"]


def _bulk(parameters: Parameters) -> tuple[str, str, str]:
    """What listens, what it is that is measured, and what only ends after it."""
    numbers = stations(parameters)
    listening = f"""\
receivers= senders=
{"".join(_receiver(parameters, number) for number in numbers)}"""
    at_work = f"""\
{_ping(parameters)}\
# The first station's last: until it ends the shell waits for it.
{"".join(_sender(parameters, number) for number in reversed(numbers))}\
for pid in $senders; do wait "$pid" || exit 1; done
for pid in $receivers; do wait "$pid" || fail "iperf3 at the {parameters.receiver}"; done
"""
    return listening, at_work, _ping_end(parameters)


def _exchanges(parameters: Parameters) -> tuple[str, str, str]:
    """The same three of small messages, or of files."""
    request, options = parameters.message_bytes, f"-C {parameters.congestion_control}"
    if not parameters.nagle:
        options += " -N"
    verb, reply, connections = {
        "request_response": ("ask", request, 1),
        "transfer": ("fetch", parameters.transfer_size_bytes, parameters.transfers),
    }[parameters.workload]
    sender, receiver = parameters.sender, parameters.receiver
    listening = (
        f"ip netns exec {sender} exchange {options} serve {request} {reply} {connections} & "
        "server=$!\n"
    )
    at_work = (
        f"must ip netns exec {receiver} exchange {options} {verb} {ADDRESSES[sender]} "
        f"{request} {reply} {parameters.exchange_count} >exchanges.csv\n"
        f'wait "$server" || fail "exchange at the {sender}"\n'
    )
    return listening, at_work, ""


def _receiver(parameters: Parameters, number: int) -> str:
    node, words = "server", "iperf3 -4 -s -1 -J"
    if parameters.direction == "download":
        node = station_node(number)
    elif parameters.stations > 1:
        words += f" -B {server_address(number)}"
    file = numbered("iperf3-server", number, ".json")
    command = _iperf3(parameters, node, words)
    return f'{command} >{file} & receivers="$receivers $!"\n'


def _sender(parameters: Parameters, number: int) -> str:
    node = "server" if parameters.direction == "download" else station_node(number)
    file = numbered("iperf3-client", number, ".json")
    command = _iperf3(parameters, node, client(parameters, number))
    others = ' & senders="$senders $!"' if number > 1 else ""
    return f"must {command} >{file}{others}\n"


def client(parameters: Parameters, number: int = 1) -> str:
    """iperf3's command at the sender, for a station's transfer."""
    download = parameters.direction == "download"
    receiver = station_address(number) if download else server_address(number)
    words = [
        f"iperf3 -4 -J -c {receiver}",
        f"-t {round(parameters.duration_s)} -P {parameters.flows}",
    ]
    if parameters.protocol == "udp":
        rate_bps = parameters.udp_rate_bps or unlimited_bps(parameters)
        words.append(f"-u -l {_UDP_PAYLOAD_BYTES} -b {round(rate_bps / parameters.flows)}")
    else:
        words.append(f"-C {parameters.congestion_control}")
        if not parameters.nagle:
            words.append("-N")
    return " ".join(words)


def _iperf3(parameters: Parameters, node: str, command: str) -> str:
    preload = f"env LD_PRELOAD={GUEST_DIR}/patience.so " if parameters.patience else ""
    return f"ip netns exec {node} {preload}{command}"


def radio_rate_bps(parameters: Parameters) -> float:
    """The rate at which the radio sends data, overhead aside; with minstrel at most."""
    return parameters.radio_rate.bps


def unlimited_bps(parameters: Parameters) -> float:
    """What a station's `unlimited` UDP sends: its share of the radio's rate.

    Overhead always takes a part of that rate. In virtual time a program is infinitely fast: a
    sender that nothing limits would let no time pass, and one far above what the radio can carry
    costs time for packets that only drop.
    """
    return radio_rate_bps(parameters) / parameters.stations


def _instruments(parameters: Parameters) -> str:
    sample_us = round(parameters.tcp_sample_s * 1e6)
    nodes = ["server", *(station_node(number) for number in stations(parameters))]
    lines = [f"start ip netns exec {node} tcpwatch {sample_us} tcp-{node}.csv" for node in nodes]
    for point in parameters.capture:
        (where, device), kept = _CAPTURES[point][0].split(), _CAPTURES[point][1]
        inside = "" if where == "init" else f"ip netns exec {where} "
        limit = ""
        if parameters.capture_duration_s is not None:
            limit = f"timeout -s INT {_LEAD_S + parameters.capture_duration_s:g} "
        if where == "init":
            lines.append(f"must ip link set {device} up")
        lines.append(
            f"start {inside}{limit}tcpdump -Z root -n -i {device} -s {kept} "
            f"-B {_CAPTURE_BUFFER_KIB} --time-stamp-precision=nano -w {point}.pcap"
        )
    if parameters.ack_trace:
        lines.append(f"echo mono >{_TRACING}/trace_clock")
        lines.append(f"echo {_TRACE_BUFFER_KIB} >{_TRACING}/buffer_size_kb")
        lines.append(f'echo 1 >{_TRACING}/events/tcp_ackpol/enable || fail "cannot trace"')
    return "\n".join(lines)


def _ping(parameters: Parameters) -> str:
    if not parameters.ping_interval_s:
        return ""
    return (
        f"ip netns exec station ping -n -D -i {parameters.ping_interval_s:g} "
        f"-w {round(parameters.duration_s)} {SERVER_ADDRESS} >ping.txt &\nping=$!\n"
    )


def _ping_end(parameters: Parameters) -> str:
    # It ends by itself, when the transfer does.
    return 'wait "$ping" || fail "ping had no answer"\n' if parameters.ping_interval_s else ""


def _walk(parameters: Parameters) -> str:
    if not parameters.walk:
        return ""
    steps = "".join(_leg(parameters, leg) for leg in walk.legs(parameters.walk))
    return f"walk() {{\n{steps}}}\nwalk & walker=$!\n"


def _leg(parameters: Parameters, leg: walk.Leg) -> str:
    lines = [
        f"\tmust airsim radio set {number} x_mm {leg.from_mm} vx_mm_per_s {leg.mm_per_s}\n"
        for number in stations(parameters)
    ]
    if leg.seconds is not None:
        lines.append(f"\tsleep {leg.seconds:g}\n")
    return "".join(lines)


def _walk_end(parameters: Parameters) -> str:
    if not parameters.walk:
        return ""
    # 143: ended by this kill, for those who are still on their way.
    return """\
kill "$walker" 2>/dev/null
wait "$walker"
case $? in 0 | 143) ;; *) fail "the stations could not walk" ;; esac
"""
