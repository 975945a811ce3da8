# SPDX-License-Identifier: GPL-2.0-only
"""The qdisc ackhold on Debian's own kernels: build without warnings, transfers with losses.

The guest's clock counts its instructions, so that times do not depend on the host. It has one
processor: QEMU executes several in turns, so with such a clock each stands still while another
runs, and its timers are late by tens of milliseconds.
AIRTCP_TEST_ACKHOLD is the number of transfers (`make ackhold-check`: 1000). It needs root and
Debian's mirror, and takes half an hour.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import qemu
from guests import GUEST, RecordCount, Say, assert_silent
from stockkernels import StockKernel, build, fetch, initramfs, mirror

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel.image import Kernel
from airtcp.paths import REPOSITORY

TRANSFERS = int(os.environ.get("AIRTCP_TEST_ACKHOLD", "0"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not TRANSFERS, reason="takes half an hour: make ackhold-check"),
]

MODULE = REPOSITORY / "dkms" / "ackhold"
SUITES = ("bookworm", "bookworm-backports")  # Linux 6.1 and 6.12
NEEDED = ("virtio_pci", "9pnet_virtio", "9p", "veth", "sch_netem")
MAX_HOLD_US = 20_000
# By how much the timer may be late in a busy guest of 1,000 MIPS.
LATE_US = 500

DKMS = """\
name=airtcp-ackhold/$(sed -n 's/^PACKAGE_VERSION="\\(.*\\)"/\\1/p' /usr/src/ackhold/dkms.conf)
mv /usr/src/ackhold "/usr/src/$(echo "$name" | tr / -)"
release=$(ls /lib/modules)
dkms install "$name" -k "$release"
modinfo "/lib/modules/$release/updates/dkms/sch_ackhold.ko"
dkms remove "$name" --all
[ -z "$(find /lib/modules -name 'sch_ackhold*')" ]
"""


@pytest.fixture(scope="module", params=SUITES)
def stock(request: pytest.FixtureRequest) -> StockKernel:
    return fetch(request.param)


def test_transfers_complete_and_no_ack_waits_longer_than_allowed(
    stock: StockKernel, tools: GuestTools, tmp_path: Path, say: Say, record_property: RecordCount
) -> None:
    module = build(stock, MODULE, tmp_path / "module")
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    for name in ("ackhold_transfers.py", "netns.py"):
        shutil.copy(GUEST / name, run_dir)
    shutil.copy(MODULE / "ackhold-stats", run_dir / "ackhold_stats.py")
    (run_dir / "plan.sh").write_text(f"python3 -B ackhold_transfers.py {TRANSFERS} >output.json\n")
    image = tmp_path / "kernel" / "linux"
    image.parent.mkdir()
    shutil.copyfile(stock.image, image)
    result = qemu.boot(
        Kernel(image, stock.release, "stock"),
        tools,
        run_dir,
        cpus=1,
        instructions=True,
        initramfs=initramfs(stock, NEEDED, [module], tmp_path),
        timeout_wall_s=600 + 20 * TRANSFERS,
    )
    console = result.console.read_text(errors="replace")
    assert result.status == "ok", (result.reason, console[-3000:])
    assert_silent(result.console)
    found = json.loads((run_dir / "output.json").read_text())
    say(f"Linux {stock.release}: {found}")
    record_property("transfers", found["complete"])
    record_property(f"us of the longest hold on Linux {stock.release}", found["longest_us"])
    assert found["complete"] == TRANSFERS, found
    assert found["replaced"] > 0 < found["expired"] + found["flushed"], found
    # With few transfers, these may not occur.
    if TRANSFERS >= 1000:
        assert found["held"] > TRANSFERS, found
        assert found["expired"] > 0 < found["removed_while_holding"], found
    assert found["longest_us"] <= MAX_HOLD_US + LATE_US, found
    # What tc shows without a plugin; it was asked a little earlier.
    assert found["tc_overlimits"] == pytest.approx(found["held"], rel=0.1)
    assert found["tc_drops"] == pytest.approx(found["replaced"], rel=0.1)
    exchanges = found["exchanges"]
    assert exchanges["complete"] == 2, exchanges
    assert exchanges["flushed"] > 0, exchanges
    # Held ACKs do not fill the queue of one packet; a packet sent from a softirq may find it full.
    full = exchanges["tc_drops"] - exchanges["replaced"]
    assert full <= exchanges["tc_packets"] / 100, exchanges
    # Data that overtakes a held ACK would make it old: the peer refuses it, and answers.
    assert exchanges["overtaken"] == 0, exchanges


def test_dkms_builds_it_on_the_newest_kernel(tmp_path: Path) -> None:
    root = tmp_path / "sid"
    command = ["debootstrap", "--variant=minbase", "sid", str(root), mirror()]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    install = "apt-get install -y --no-install-recommends dkms linux-headers-amd64 openssl"
    inside(root, f"DEBIAN_FRONTEND=noninteractive {install}")
    shutil.copytree(MODULE, root / "usr" / "src" / "ackhold")
    output = inside(root, DKMS)
    assert re.search(r"^alias: +net-sch-ackhold$", output, re.M)
    assert "/updates/dkms/sch_ackhold.ko" in output


def inside(root: Path, commands: str) -> str:
    """Run shell commands in a chroot; returns their output."""
    enter = ["unshare", "--mount", "--pid", "--fork", f"--mount-proc={root / 'proc'}"]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
    done = subprocess.run(
        [*enter, "chroot", str(root), "sh", "-ec", commands],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{commands}: {done.stdout[-3000:]} {done.stderr[-2000:]}"
    return done.stdout
