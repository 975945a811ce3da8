# SPDX-License-Identifier: GPL-2.0-only
"""The guest's programs fail, and say why, if they cannot write their output."""

import subprocess
from pathlib import Path

import pytest

from airtcp.backends.guesttools import GuestTools
from airtcp.backends.uml import boot
from airtcp.kernel.image import Kernel

# In the background: the other end of a measurement.
BACKGROUND = "& until ss -Hltn | grep -q :5201; do sleep 0.05; done;"


@pytest.mark.parametrize(
    ("program", "script"),
    [
        ("udpflow", f'"$1" receive >got {BACKGROUND} "$1" send 127.0.0.1 99 1e6 0.1 >/dev/full'),
        (
            "udpflow",
            f'"$1" receive >/dev/full {BACKGROUND} "$1" send 127.0.0.1 99 1e6 0.1 >sent; wait $!',
        ),
        ("exchange", f'"$1" serve 1 1 1 {BACKGROUND} "$1" ask 127.0.0.1 1 1 1 >/dev/full'),
        ("udpecho", '"$1" probe 127.0.0.1 0 500000 1 >/dev/full'),
    ],
    ids=["udpflow send", "udpflow receive", "exchange", "udpecho"],
)
def test_full_disk_is_reported(
    tools: GuestTools, tmp_path: Path, program: str, script: str
) -> None:
    command = ["unshare", "-n", "sh", "-c", f"ip link set lo up; {script}", "sh"]
    done = subprocess.run(
        [*command, tools.directory / program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr == f"{program}: writing: No space left on device\n"


def test_full_disk_is_reported_for_a_command(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    (tmp_path / "plan.sh").write_text(
        "unshare -m command it run 5 1 true >/dev/full 2>error; echo $? >code\n"
    )
    result = boot(lab_kernel, tools, tmp_path, seed=1, timeout_wall_s=120)
    assert result.status == "ok", result.reason
    assert (tmp_path / "error").read_text() == "command: writing: No space left on device\n"
    assert (tmp_path / "code").read_text() == "1\n"


# Rows fill the disk, which has room again before tcpwatch ends.
FULL_FOR_A_WHILE = """\
mkdir /tmp/disk
mount -t tmpfs -o size=64k none /tmp/disk
tc qdisc add dev lo root netem delay 1ms
exchange serve 1 1 1 &
tcpwatch 100 /tmp/disk/watch.csv 2>error &
watch=$!
sleep 0.1
exchange ask 127.0.0.1 1 1 1500 >/dev/null
mount -o remount,size=64m none /tmp/disk
kill $watch
wait $watch
echo $? >code
"""


def test_rows_of_tcpwatch_that_are_lost_are_reported(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    (tmp_path / "plan.sh").write_text(FULL_FOR_A_WHILE)
    result = boot(lab_kernel, tools, tmp_path, seed=1, timeout_wall_s=60)
    assert result.status == "ok", result.reason
    error = (tmp_path / "error").read_text()
    assert error == "tcpwatch: /tmp/disk/watch.csv: not all rows could be written\n"
    assert (tmp_path / "code").read_text() == "1\n"
