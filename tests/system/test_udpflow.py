# SPDX-License-Identifier: GPL-2.0-only
"""udpflow: what it sends, and what it counts."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from guests import Measure

from airtcp.backends.guesttools import GuestTools
from airtcp.files import capture

# Sends datagrams with the numbers and transit times (in ms) of argv, as a sender whose clock
# differs. The receiver's results follow on the TCP connection.
SENDER = """
import json, socket, struct, sys, time
control = socket.create_connection(("127.0.0.1", 5201))
control.sendall(struct.pack("=II", 1, 100))
assert control.recv(1) == b"\\0"
data = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
data.connect(("127.0.0.1", 5201))
for number, transit_ms in json.loads(sys.argv[1]):
    sent_ns = time.time_ns() - round(transit_ms * 1e6)
    data.send(struct.pack(">IIQq", 0, 0, number, sent_ns).ljust(100, b"\\0"))
data.send(struct.pack(">IIQq", 1, 0, 1, 0).ljust(100, b"\\0"))  # of a stream that does not exist
data.send(b"not a header")
time.sleep(float(sys.argv[2]))
control.sendall(struct.pack("=q", 250_000_000))
assert len(control.recv(1 << 16)) == 48
"""


def in_namespace(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script in a network namespace that has only a loopback device."""
    command = ["unshare", "-n", "sh", "-ec", f"ip link set lo up\n{script}", "sh", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def received(
    tools: GuestTools, tmp_path: Path, sent: list[tuple[int, float]], late_s: float = 0
) -> dict[str, Any]:
    """What the receiver reports of datagrams with these numbers and transit times in ms.

    late_s: time between them and the sender's last message, which says that it sent for 250 ms.
    """
    output = tmp_path / "received.json"
    script = """
        "$1" receive >"$2" & until ss -Hltn | grep -q :5201; do sleep 0.05; done
        "$3" -c "$4" "$5" "$6"; wait $!
    """
    python = sys.executable, SENDER, json.dumps(sent), str(late_s)
    done = in_namespace(script, str(tools.directory / "udpflow"), str(output), *python)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(output.read_text())
    [stream] = document["end"]["streams"]
    assert stream["udp"]["packets"] == document["end"]["sum_received"]["packets"]
    return document


@pytest.mark.parametrize(
    ("numbers", "packets", "lost", "reordered"),
    [
        ([1, 2, 3], 3, 0, 0),
        ([2, 5], 5, 3, 0),
        ([1, 3, 2, 4], 4, 0, 1),
        ([4, 1, 3], 4, 1, 2),
        ([1, 1], 1, 0, 1),
    ],
    ids=["in order", "lost", "late", "lost and late", "twice"],
)
def test_lost_and_late_datagrams_are_counted(
    tools: GuestTools,
    tmp_path: Path,
    numbers: list[int],
    packets: int,
    lost: int,
    reordered: int,
) -> None:
    total = received(tools, tmp_path, [(number, 0.0) for number in numbers])["end"]["sum_received"]
    counts = (total["packets"], total["lost_packets"], total["out_of_order"])
    assert counts == (packets, lost, reordered)
    assert total["bytes"] == 100 * len(numbers)
    assert total["lost_percent"] == pytest.approx(100 * lost / packets)


def test_jitter_is_that_of_rfc_3550(tools: GuestTools, tmp_path: Path) -> None:
    sent = [(number, 10_000.0 * (number % 2)) for number in range(1, 21)]
    total = received(tools, tmp_path, sent)["end"]["sum_received"]
    # 19 changes of 10 s, much longer than a datagram takes here.
    assert total["jitter_ms"] == pytest.approx(10_000 * (1 - (15 / 16) ** 19), rel=0.01)


def test_goodput_does_not_depend_on_when_the_last_message_arrives(
    tools: GuestTools, tmp_path: Path
) -> None:
    sent = [(number, 0.0) for number in range(1, 11)]
    total = received(tools, tmp_path, sent, late_s=1)["end"]["sum_received"]
    assert 0.25 <= total["seconds"] < 1
    assert total["bits_per_second"] == pytest.approx(8 * 1000 / total["seconds"])


def test_receiver_fails_if_its_sender_ends(tools: GuestTools, tmp_path: Path) -> None:
    script = """
        "$1" receive >"$2" & until ss -Hltn | grep -q :5201; do sleep 0.05; done
        "$3" -c 'import socket; socket.create_connection(("127.0.0.1", 5201)).sendall(b"12345678")'
        wait $!
    """
    arguments = str(tools.directory / "udpflow"), str(tmp_path / "output"), sys.executable
    done = in_namespace(script, *arguments)
    assert done.returncode == 1
    assert done.stderr == "udpflow: the other end is not udpflow\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("send 127.0.0.1 1472 1e6 1", "udpflow: connecting: Connection refused"),
        ("send 1.2.3 1472 1e6 1", "udpflow: 1.2.3: not an IPv4 address"),
        ("send 127.0.0.1 23 1e6 1", "udpflow: 23: not an integer from 24 to 65507"),
        ("send 127.0.0.1 1472 nan 1", "udpflow: nan: not a number from 1 to 1e+12"),
        ("send 127.0.0.1 1472 1e6 0", "udpflow: 0: not a number from 0.001 to 86400"),
        ("-P 129 send 127.0.0.1 1472 1e6 1", "udpflow: 129: not an integer from 1 to 128"),
        ("-B 1.2.3.4 receive", "udpflow: binding to the port: Cannot assign requested address"),
    ],
)
def test_wrong_arguments_are_reported(tools: GuestTools, arguments: str, message: str) -> None:
    done = in_namespace(f'"$1" {arguments}', str(tools.directory / "udpflow"))
    assert done.returncode in (1, 2)
    assert done.stderr == message + "\n"


def datagrams(path: Path) -> int:
    """The number of full UDP datagrams in a capture of Ethernet."""
    return sum(
        packet.wire_length == 1514 and packet.data[23] == 17
        for packet in capture.read_packets(path)
    )


def test_loss_on_a_path_is_that_of_captures(measure: Measure, tmp_path: Path) -> None:
    result = measure(
        *("protocol=udp", "udp_rate=20Mbit", "flows=2", "wire_loss=0.1"),
        *("capture=server,station", "capture_duration=unlimited"),
    )
    run_dir = tmp_path / Path(result.artifacts["plan.sh"].path).parent
    client, server = (
        json.loads((run_dir / f"udpflow-{role}.json").read_text()) for role in ("client", "server")
    )
    sent, arrived = client["end"]["sum_sent"]["packets"], datagrams(run_dir / "station.pcapng")
    assert sent == pytest.approx(20e6 * 2 / 8 / 1472, rel=0.001)
    assert datagrams(run_dir / "server.pcapng") == arrived  # the loss is before this capture
    assert 0.05 < result.values["udp_lost_share"] < 0.15
    assert result.values["udp_lost_share"] == pytest.approx(1 - arrived / sent, abs=0.001)
    assert result.values["udp_reordered_share"] == 0
    assert server["end"]["sum_received"]["bytes"] == 1472 * arrived
    per_second = [interval["sum"]["bytes"] for interval in server["intervals"]]
    assert sum(per_second) == 1472 * arrived and len(per_second) == 2
