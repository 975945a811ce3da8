# SPDX-License-Identifier: GPL-2.0-only
"""The second half of a run's plan: the transfer, and the instruments beside it.

iperf3 sends from the sender to the receiver; ping goes from the station to the server; tcpwatch
reads the state of TCP at both ends; tcpdump captures where asked; nstat, tc, mac80211 and airsim
count. The files are left in the directory of the run, which is the plan's working directory.
"""

from airtcp.guesttools import GUEST_DIR
from airtcp.parameters import Parameters
from airtcp.topology import ADDRESSES, AP_RADIO_MAC, SERVER_ADDRESS, STATION_MAC

# Data bits of an OFDM symbol for each subcarrier and stream, by MCS of one stream (802.11n, 19.5).
_BITS_PER_SUBCARRIER = (0.5, 1, 1.5, 2, 3, 4, 4.5, 5)
_DATA_SUBCARRIERS = {"20MHz": 52, "40MHz": 108}
_SYMBOL_S = {"long": 4.0e-6, "short": 3.6e-6}

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
    """The shell script of the transfer; it follows topology.plan(parameters)."""
    receiver, sender = parameters.receiver, parameters.sender
    return f"""\
{_HELPERS}
{_instruments(parameters)}
{_iperf3(parameters, receiver, "iperf3 -4 -s -1 -J")} >iperf3-server.json &
receiver=$!
sleep {_LEAD_S}
check

must cp /sys/kernel/debug/airsim/stats airsim-before.txt
{_ping(parameters)}must {_iperf3(parameters, sender, client(parameters))} >iperf3-client.json
wait "$receiver" || fail "iperf3 at the {receiver} (exit code $?)"
must cp /sys/kernel/debug/airsim/stats airsim-after.txt
must cp {_QUEUES}/phy0/netdev:wlan0/stations/{STATION_MAC}/aqm queues-ap.txt
must cp {_QUEUES}/phy1/netdev:wlan0/stations/{AP_RADIO_MAC}/aqm queues-station.txt
{_ping_end(parameters)}# tcpwatch tells a connection's last counters when both ends have let it go.
closed() {{ [ -z "$(ip netns exec "$1" ss -Htn state connected exclude time-wait)" ]; }}
wait_until 60 "the sender's connections are closed" closed {sender}
wait_until 60 "the receiver's connections are closed" closed {receiver}
stop
must ip netns exec server tc -s -j qdisc show dev eth0 >qdisc-server.json
must ip netns exec server nstat -azsj >nstat-server.json
must ip netns exec station nstat -azsj >nstat-station.json
must cp /proc/uptime uptime
"""


def client(parameters: Parameters) -> str:
    """iperf3's command at the sender."""
    words = [
        f"iperf3 -4 -J -c {ADDRESSES[parameters.receiver]}",
        f"-t {round(parameters.duration_s)} -P {parameters.flows}",
    ]
    if parameters.protocol == "udp":
        rate_bps = parameters.udp_rate_bps or radio_rate_bps(parameters)
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
    """The radio's rate, of which overhead always takes a part: it is what `unlimited` UDP sends.

    In virtual time a program is infinitely fast: a sender that nothing limits would let no time
    pass, and one far above what the radio can carry costs time for packets that only drop.
    """
    streams, mcs = parameters.mcs // 8 + 1, parameters.mcs % 8
    bits = streams * _BITS_PER_SUBCARRIER[mcs] * _DATA_SUBCARRIERS[parameters.width]
    return bits / _SYMBOL_S[parameters.guard_interval]


def _instruments(parameters: Parameters) -> str:
    sample_us = round(parameters.tcp_sample_s * 1e6)
    lines = [
        f"start ip netns exec {node} tcpwatch {sample_us} tcp-{node}.csv"
        for node in ("server", "station")
    ]
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
