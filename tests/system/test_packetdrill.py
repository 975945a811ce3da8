# SPDX-License-Identifier: GPL-2.0-only
"""The packetdrill scripts of the ACK policies; skipped if packetdrill is not installed.

One guest runs all, over IPv4, each in its own network namespace. The options are those of Linux'
ksft_runner.sh, except for the tolerance, because time in the guest is virtual.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from airtcp.backends.guesttools import GuestTools
from airtcp.backends.uml import boot
from airtcp.kernel import series
from airtcp.kernel.image import Kernel
from airtcp.kernel.source import OVERLAY, find_series_source

PACKETDRILL = "tools/testing/selftests/net/packetdrill"
SCRIPTS = sorted((OVERLAY / PACKETDRILL).glob("*.pkt"))
TIMES = Path(__file__).parents[1] / "guest" / "packetdrill_times.c"
# Linux sends a delayed ACK up to a jiffy late, here 1 ms.
OPTIONS = (
    "--ip_version=ipv4 --local_ip=192.168.0.1 --gateway_ip=192.168.0.1 --netmask_ip=255.255.0.0 "
    "--remote_ip=192.0.2.1 --tolerance_usecs=1000 --tolerance_percent=0.01"
)
RUN_EACH = f"""\
for script in *.pkt; do
    LD_PRELOAD=./times.so unshare -n ./packetdrill {OPTIONS} "$script" >"$script.log" 2>&1
    echo "exit status $?" >>"$script.log"
done
"""

WRONG = {
    "late": ("bound-lone-segment", "+.199 >", "+.197 >", "timing error"),
    "early": ("bound-lone-segment", "+.199 >", "+.201 >", "timing error"),
    "number": ("out-of-order", "ack 1001 <", "ack 1002 <", "tcp_ack_seq"),
    "counter": ("counters", "Timer *1", "Timer *2", "non-zero status"),
    "error": ("sockopt", "-1 ENOENT", "-1 EPERM", "but got 2 (No such file"),
}
"""Mistakes in scripts (script, text, wrong text) and the expected messages."""


@pytest.fixture(scope="module")
def logs(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """The output of packetdrill and its exit status, by script."""
    packetdrill = shutil.which("packetdrill")
    if not packetdrill:
        pytest.skip("packetdrill is not on PATH")
    run_dir = tmp_path_factory.mktemp("packetdrill")
    shutil.copy(packetdrill, run_dir / "packetdrill")
    compile_times = ["gcc", "-Wall", "-Werror", "-shared", "-fPIC", "-o"]
    subprocess.run([*compile_times, run_dir / "times.so", TIMES], check=True)
    linux = run_dir / "linux"
    helpers = [f"{PACKETDRILL}/{name}" for name in ("defaults.sh", "set_sysctls.py")]
    series.extract(find_series_source(None, "a series"), helpers, linux)
    for path in [*(linux / name for name in helpers), *SCRIPTS]:
        shutil.copy(path, run_dir)
    for name, (script, text, wrong, _) in WRONG.items():
        right = (OVERLAY / PACKETDRILL / f"tcp_ackpol_{script}.pkt").read_text()
        assert text in right
        (run_dir / f"wrong-{name}.pkt").write_text(right.replace(text, wrong))
    (run_dir / "plan.sh").write_text(RUN_EACH)
    result = boot(lab_kernel, tools, run_dir, seed=1, timeout_wall_s=300)
    assert result.status == "ok", result.reason
    return {path.name.split(".")[0]: path.read_text() for path in run_dir.glob("*.pkt.log")}


@pytest.mark.parametrize("script", [path.stem for path in SCRIPTS])
def test_script_passes(logs: dict[str, str], script: str) -> None:
    assert logs[script].endswith("exit status 0\n"), logs[script]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_script_fails(logs: dict[str, str], name: str) -> None:
    log = logs[f"wrong-{name}"]
    assert log.endswith("exit status 1\n")
    assert WRONG[name][3] in log


def test_each_policy_of_the_series_is_covered() -> None:
    scripts = "".join(path.read_text() for path in SCRIPTS)
    policies = {"aad", "auto", "limit", "tack", "default"}
    assert set(re.findall(r"tcp_ack_policy=(\w+)", scripts)) == policies
    assert len(SCRIPTS) >= 15
