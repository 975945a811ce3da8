# SPDX-License-Identifier: GPL-2.0-only
"""Each ACK policy, segment by segment: the scripts of tests/packets, run by packets.py."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from airtcp.backends.guesttools import GuestTools
from airtcp.backends.uml import boot
from airtcp.kernel import policies
from airtcp.kernel.image import Kernel

TESTS = Path(__file__).parents[1]
SCRIPTS = sorted((TESTS / "packets").glob("*.pkt"))
INTERPRETER = (*(TESTS / "guest").glob("packet*.py"), TESTS / "guest" / "netns.py")
"""The programs that run scripts."""

WRONG = {
    "late": ("+51ms > . 1:1(0) ack 17001", "expected at 55.000000 ms"),
    "early": ("+31ms > . 1:1(0) ack 17001", "expected at 35.000000 ms"),
    "late-1us": ("+41001us > . 1:1(0) ack 17001", "expected at 45.001000 ms"),
    "early-1us": ("+40999us > . 1:1(0) ack 17001", "expected at 44.999000 ms"),
    "number": ("+41ms > . 1:1(0) ack 17002", "ack 17002"),
    "missing": ("+41ms > . 1:1(0) ack 17001\n+0 > . 1:1(0) ack 17001", "nothing was sent"),
    "unexpected": ("+41ms nothing()", "not expected"),
    "option": ("+41ms > . 1:1(0) ack 17001 <sack 1:2>", "sack 1:2"),
    "window": ("+41ms > . 1:1(0) ack 17001 win 1", "win 1"),
    "result": ("+41ms > . 1:1(0) ack 17001\n+1ms read(1) = 1", "read(1) = -1 EAGAIN, expected 1"),
    "counter": ("+41ms > . 1:1(0) ack 17001\n+1ms counter(DelayedACKs) = 2", "= 1, expected 2"),
    "syntax": ("41ms > . 1:1(0) ack 17001", "not a line of a script"),
}
"""Mistakes in the last line of a script, and the expected messages."""

AS_DEFAULT = (
    "auto-growing-window",
    "auto-read",
    "auto-short-rtt",
    "auto-slow-start",
    "auto-small-window",
)
"""Scripts with a policy that leaves all decisions to TCP."""


@pytest.fixture(scope="module")
def results(
    lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The problem of each script and the segments that TCP sent; one guest runs all."""
    run_dir = tmp_path_factory.mktemp("packets")
    copy_scripts(run_dir)
    lone = (TESTS / "packets" / "default-one-segment.pkt").read_text()
    for name, (line, _) in WRONG.items():
        assert "+41ms > . 1:1(0) ack 17001\n" in lone
        wrong = lone.replace("+41ms > . 1:1(0) ack 17001", line)
        (run_dir / "scripts" / f"wrong {name}").write_text(wrong)
    for name in AS_DEFAULT:
        script = (TESTS / "packets" / f"{name}.pkt").read_text()
        assert "--policy=auto" in script
        copy = script.replace("--policy=auto", "--policy=default")
        (run_dir / "scripts" / f"{name} by default").write_text(copy)
    return run_scripts(lab_kernel, tools, run_dir)


def copy_interpreter(run_dir: Path) -> None:
    """Copy the programs that run scripts, and make a directory for the scripts."""
    for path in INTERPRETER:
        shutil.copy(path, run_dir)
    (run_dir / "scripts").mkdir()


def copy_scripts(run_dir: Path) -> None:
    copy_interpreter(run_dir)
    for path in SCRIPTS:
        shutil.copy(path, run_dir / "scripts")


def run_scripts(
    kernel: Kernel, tools: GuestTools, run_dir: Path, options: str = "", memory_mb: int = 512
) -> dict[str, Any]:
    plan = f"python3 -B packets.py {options} scripts/* >results.json\n"
    (run_dir / "plan.sh").write_text(plan)
    result = boot(kernel, tools, run_dir, seed=1, timeout_wall_s=300, memory_mb=memory_mb)
    assert result.status == "ok", result.reason
    output: dict[str, Any] = json.loads((run_dir / "results.json").read_text())
    return output


@pytest.mark.parametrize("script", [path.stem for path in SCRIPTS])
def test_script_passes(results: dict[str, Any], script: str) -> None:
    result = results[f"{script}.pkt"]
    sent = "\n".join(result["sent"])
    assert not result["problem"], f"{result['problem']}\nsent by TCP:\n{sent}"


@pytest.mark.slow
def test_scripts_depend_neither_on_memory_nor_on_jitter(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    """Without a sysctl, TCP's maximum receive buffer would be half of that with 512 MB."""
    copy_scripts(tmp_path)
    results = run_scripts(lab_kernel, tools, tmp_path, "--jitter", memory_mb=256)
    problems = {name: result["problem"] for name, result in results.items()}
    assert problems == dict.fromkeys((path.name for path in SCRIPTS), "")


@pytest.mark.parametrize("name", WRONG)
def test_wrong_script_fails(results: dict[str, Any], name: str) -> None:
    assert WRONG[name][1] in results[f"wrong {name}"]["problem"]


@pytest.mark.parametrize("name", AS_DEFAULT)
def test_acknowledges_as_default(results: dict[str, Any], name: str) -> None:
    """The times differ by less than 1 us, the resolution of the guest's timers."""
    sent, expected = (results[file]["sent"] for file in (f"{name}.pkt", f"{name} by default"))
    assert len(sent) > 16
    for one, other in zip(sent, expected, strict=True):
        (at, _, what), (expected_at, _, expected_what) = one.partition(" "), other.partition(" ")
        assert what == expected_what
        assert abs(float(at) - float(expected_at)) < 0.001


def marked(sent: list[str]) -> list[int]:
    """Every hundredth sequence number that ACKs with ECE acknowledged."""
    numbers: list[int] = []
    acked = 1
    for line in sent:
        match = re.search(r"> (?:\[\w+\] )?(\S+) .* ack (\d+)", line)
        assert match, line
        if "S" not in match[1]:
            numbers += range(acked, int(match[2]), 100) if "E" in match[1] else []
            acked = max(acked, int(match[2]))
    return numbers


@pytest.mark.parametrize("policy", ["aad", "auto", "count", "limit", "tack", "every"])
def test_dctcp_feedback_is_that_of_default(results: dict[str, Any], policy: str) -> None:
    expected = marked(results["dctcp-default.pkt"]["sent"])
    assert expected == list(range(5001, 8001, 100))
    assert marked(results[f"dctcp-{policy}.pkt"]["sent"]) == expected


def test_every_policy_is_covered() -> None:
    scripts = [path.stem for path in SCRIPTS]
    assert len(scripts) >= 60
    covered = {name for name in policies.names() for x in scripts if x.startswith(f"{name}-")}
    assert covered == set(policies.names())
