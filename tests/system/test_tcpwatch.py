# SPDX-License-Identifier: GPL-2.0-only
"""tcpwatch records iperf3 over the loopback device of a guest."""

import csv
import itertools
import json
from pathlib import Path

import pytest
from guests import TIME_LIMIT_S

from airtcp.backends.guesttools import GuestTools
from airtcp.backends.uml import boot
from airtcp.kernel.image import Kernel

PLAN = """\
sleep 1
tc qdisc add dev lo root netem rate 100mbit delay 1ms limit 1000
tcpwatch 10000 watch.csv &
watch=$!
iperf3 -s -1 >/dev/null &
sleep 1
iperf3 -c 127.0.0.1 -t 2 -J >iperf3.json
sleep 1
kill $watch
wait $watch
"""

# SYN and FIN: TCP counts each as a byte.
SYN_FIN = 2


# Other versions of Linux do not have /proc/tcp_watch, and sock_diag is asked.
@pytest.mark.parametrize("before", ["", "mount -t tmpfs none /proc\n"], ids=["kernel", "sock_diag"])
def test_samples_are_regular_and_final_counters_exact(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, before: str
) -> None:
    (tmp_path / "plan.sh").write_text(before + PLAN)
    result = boot(lab_kernel, tools, tmp_path, seed=1, timeout_wall_s=TIME_LIMIT_S)
    assert result.status == "ok", result.reason
    with (tmp_path / "watch.csv").open() as file:
        rows = list(csv.DictReader(file))
    iperf3 = json.loads((tmp_path / "iperf3.json").read_text())
    local = f"127.0.0.1:{iperf3['start']['connected'][0]['local_port']}"
    sender = [row for row in rows if row["local"] == local]
    receiver = [row for row in rows if row["remote"] == local]

    times_ns = [int(row["time_ns"]) for row in sender if row["event"] == "sample"]
    steps_ns = [later - earlier for earlier, later in itertools.pairwise(times_ns)]
    assert len(times_ns) >= 200
    assert all(9_000_000 < step < 11_000_000 for step in steps_ns)

    (sent,) = (row for row in sender if row["event"] == "close")
    (received,) = (row for row in receiver if row["event"] == "close")
    # The end of the test cuts the sender off: bytes in flight do not count as sent.
    assert 0 <= int(sent["bytes_acked"]) - int(received["bytes_received"]) <= SYN_FIN
    assert 20e6 < int(received["bytes_received"]) <= iperf3["end"]["sum_sent"]["bytes"] + SYN_FIN
    assert int(sent["data_segs_out"]) >= int(received["data_segs_in"])
    assert int(sent["retrans"]) == iperf3["end"]["sum_sent"]["retransmits"]


def test_wrong_settings_of_the_kernels_samples_are_refused(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    (tmp_path / "plan.sh").write_text(
        "for text in '' 0 '0 1 2' '1000 1' '1000 x 2' '-1 1 2' '1000 1 65536 '"
        # After this time since boot, the clock would overflow.
        " '9223372036854775807 1 2'"
        " 10000000000000000000000000000000000000000000000000000000000000000; do\n"
        '    if echo "$text" >/proc/tcp_watch; then echo "accepted: $text" >>wrong; fi\n'
        "done 2>/dev/null\n"
        "if cat /proc/tcp_watch; then echo read without settings >>wrong; fi\n"
        "cat wrong 2>/dev/null && exit 1 || exit 0\n"
    )
    result = boot(lab_kernel, tools, tmp_path, seed=1, timeout_wall_s=TIME_LIMIT_S)
    assert result.status == "ok", (result.reason, (tmp_path / "console.log").read_text())
