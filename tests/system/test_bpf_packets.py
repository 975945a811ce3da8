# SPDX-License-Identifier: GPL-2.0-only
"""The packet scripts of auto with the same policy in BPF, on x86-64 with two processors.

The guest's clock counts instructions, so the host has no influence, but processing takes time:
ACKs are a little late (COUNTED in packet_clock.py). The kernel has no runtime checks, with which a
segment would take longer than the time until the next. Therefore what TCP sends is compared with
the scripts in this mode, both for the module, as a control, and for the programs.
"""

import json
import os
import re
import shutil
import struct
from typing import Any

import pytest
import qemu
from guests import RecordCount, Say
from test_packets import INTERPRETER, SCRIPTS, TESTS

from airtcp.backends.guesttools import GuestTools
from airtcp.kernel import bpf, image

pytestmark = pytest.mark.skipif(
    not os.environ.get("AIRTCP_TEST_BPF"), reason="takes minutes: make bpf-check"
)

AUTO = [path for path in SCRIPTS if re.match(r"auto-|.*-auto$", path.stem)]
PARAMETER = re.compile(r"--sysctl net\.ipv4\.tcp_auto_(min|max)_interval_us=(\d+)\n")
DEFAULTS = {"min": 2000, "max": 10000}

# They depend on what a script does not check.
NOT_COMPARED = re.compile(r" win \d+| <TS val \d+ ecr \d+>|TS val \d+ ecr \d+,?")
TOLERANCE_MS = 0.05

DELAYED = "+40900us > [ect0] . 1:1(0) ack 12001"
WRONG = {
    "late": (f"+41100us{DELAYED[8:]}", "expected at 45.200000 ms"),
    "early": (f"+40700us{DELAYED[8:]}", "expected at 44.800000 ms"),
    "number": (DELAYED.replace("12001", "11001"), "ack 11001"),
    "mark": (DELAYED.replace(" .", " .E"), ".E 1:1(0) ack 12001"),
    "missing": (f"{DELAYED}\n+0 > [ect0] . 1:1(0) ack 12001", "nothing was sent"),
    "unexpected": ("+40900us nothing()", "not expected"),
}
"""Mistakes in the last ACK of dctcp-auto, and the expected messages."""
SILENCE = "+2000us > . 1:1(0) ack 3025001"
WRONG_SILENCE = {
    "silence late": (f"+2200us{SILENCE[7:]}", "ack 3025001"),
    "silence early": (f"+1800us{SILENCE[7:]}", "ack 3025001"),
}
"""And in the last ACK of auto-silence, which a timer of the policy sends."""


def in_bpf(script: str) -> str:
    """A script with the policy in BPF, whose parameters are not sysctls."""
    assert "--policy=auto\n" in script
    return PARAMETER.sub("", script.replace("--policy=auto\n", "--policy=bpf_auto\n"))


def parameters(script: str) -> str:
    """The policy's parameters as bpftool's bytes of the map .data."""
    values = {**DEFAULTS, **{name: int(value) for name, value in PARAMETER.findall(script)}}
    return struct.pack("<II", values["min"], values["max"]).hex(" ")


@pytest.fixture(scope="module")
def results(
    say: Say, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """The problem of each script and what TCP sent, by kind: module, bpf, wrong."""
    fragments = (*image.FRAGMENTS_OF_X86, "x86-btf")
    kernel = image.build(fragments=fragments, arch="x86_64", say=say)
    directory = tmp_path_factory.mktemp("packets")
    for path in INTERPRETER:
        shutil.copy(path, directory)
    bpf.compile_program(bpf.PROGRAMS / "bpf_ackpol_auto.c", directory / "bpf_auto.o")
    plan = ["modprobe tcp-ackpol-auto", "bpftool struct_ops register bpf_auto.o >&2"]

    def add(kind: str, name: str, script: str) -> None:
        (directory / kind).mkdir(exist_ok=True)
        (directory / kind / name).write_text(script)

    for path in AUTO:
        script = path.read_text()
        add("module", path.stem, script)
        add(f"bpf {parameters(script)}", path.stem, in_bpf(script))
    for name, right, wrong in (
        ("dctcp-auto", DELAYED, WRONG),
        ("auto-silence", SILENCE, WRONG_SILENCE),
    ):
        script = in_bpf((TESTS / "packets" / f"{name}.pkt").read_text())
        assert f"{right}\n" in script
        for mistake, (line, _) in wrong.items():
            add("wrong", mistake, script.replace(right, line))
    kinds = sorted(path.name for path in directory.iterdir() if path.is_dir())
    for kind in kinds:
        values = kind.removeprefix("bpf ") if kind.startswith("bpf ") else parameters("")
        update = f"bpftool map update name bpf_auto.data key 0 0 0 0 value hex {values}"
        run = f"python3 -B packets.py --instructions '{kind}'/* >'{kind}.json'"
        plan += [update, run]
    (directory / "plan.sh").write_text(" || exit 1\n".join(plan) + "\n")
    result = qemu.boot(kernel, tools, directory, cpus=2, instructions=True, timeout_wall_s=3600)
    assert result.status == "ok", (result.reason, result.console.read_text()[-3000:])
    found: dict[str, dict[str, Any]] = {"module": {}, "bpf": {}, "wrong": {}}
    for kind in kinds:
        found[kind.split()[0]] |= json.loads((directory / f"{kind}.json").read_text())
    return found


@pytest.mark.parametrize("script", [path.stem for path in AUTO])
@pytest.mark.parametrize("kind", ["module", "bpf"])
def test_script_passes(results: dict[str, Any], kind: str, script: str) -> None:
    result = results[kind][script]
    sent = "\n".join(result["sent"])
    assert not result["problem"], f"{result['problem']}\nsent by TCP:\n{sent}"


@pytest.mark.parametrize("script", [path.stem for path in AUTO])
def test_programs_send_what_the_module_sends(results: dict[str, Any], script: str) -> None:
    """Except while a script allows anything, which depends on when the window stops growing."""
    sent, expected = (results[kind][script]["checked"] for kind in ("bpf", "module"))
    assert sent  # auto-growing-window checks only the handshake
    for one, other in zip(sent, expected, strict=True):
        (at, _, what), (expected_at, _, expected_what) = one.partition(" "), other.partition(" ")
        assert NOT_COMPARED.sub("", what) == NOT_COMPARED.sub("", expected_what)
        assert abs(float(at) - float(expected_at)) < TOLERANCE_MS


@pytest.mark.parametrize("name", [*WRONG, *WRONG_SILENCE])
def test_wrong_script_fails(results: dict[str, Any], name: str) -> None:
    message = {**WRONG, **WRONG_SILENCE}[name][1]
    assert message in results["wrong"][name]["problem"]


def test_every_script_has_run(results: dict[str, Any], record_property: RecordCount) -> None:
    assert len(AUTO) >= 24
    names = sorted(path.stem for path in AUTO)
    assert sorted(results["module"]) == sorted(results["bpf"]) == names
    record_property("packet_scripts", sum(not x["problem"] for x in results["bpf"].values()))
