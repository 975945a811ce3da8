# SPDX-License-Identifier: GPL-2.0-only
"""Decisions of the qdisc ackhold, in a C program for user space, and its packaging."""

import argparse
import re
import runpy
import socket
import struct
import subprocess
import sys
from pathlib import Path

import deny_syscalls
import pytest
from plans import planned, section

from airtcp import __version__
from airtcp.cli import kernels
from airtcp.experiment.reader import load
from airtcp.kernel import ackhold, own_policy, source
from airtcp.kernel.image import Kernel
from airtcp.kernel.source import Changes
from airtcp.paths import REPOSITORY

MODULE = REPOSITORY / "dkms" / "ackhold"
TESTS = REPOSITORY / "tests" / "guest" / "ackhold"
HEADER = "ackhold.h"

# A rule, and what is left of the header without it.
BROKEN = {
    "duplicates": ("!ackhold_after(seg->ack, flow->ack)", "ackhold_after(flow->ack, seg->ack)"),
    "flags": ("(seg->flags & ~ACKHOLD_PSH) != ACKHOLD_ACK", "!(seg->flags & ACKHOLD_ACK)"),
    "options": ("!seg->plain || !ackhold_after", "!ackhold_after"),
    "data": ("seg->flags == ACKHOLD_ACK && !seg->payload", "seg->flags == ACKHOLD_ACK"),
    "zero window": ("!seg->window || !flow->window", "!flow->window"),
    "first window": ("!seg->window || !flow->window", "!seg->window"),
    "window": ("|| ackhold_shrinks(flow, seg)", ""),
    "timestamp value": ("!ackhold_after(flow->tsval, seg->tsval)", "true"),
    "timestamp echo": ("!ackhold_after(flow->tsecr, seg->tsecr)", "true"),
    "timestamps": ("seg->has_ts != flow->has_ts", "false"),
    "holes": ("!flow->has_hole", "true"),
    "SACK": ("seg->has_sack || (", "("),
    "first ACK": ("!flow->is_known || (seg", "(seg"),
    "one segment": ("|| bytes <= flow->sk.mss", ""),
    "bound": ("max_hold_us - (u32)(now_us - first_us)", "max_hold_us"),
    "idle": ("tcp_auto_gap(&flow->timing, now_us - flow->arrival_us)", "{}"),
    "order": ("if (verdict.send_held)\n\t\tackhold_sent", "if (false)\n\t\tackhold_sent"),
    "SYN": ("!sk || (seg->flags & ACKHOLD_SYN)", "!sk"),
}


def run(directory: Path) -> dict[str, bool]:
    """Compile the tests with the headers of a directory; whether each one passed, by name."""
    program = directory / "decisions"
    command = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Wno-sign-compare", "-Werror"]
    command += [f"-I{TESTS}", f"-I{directory}", f"-I{MODULE}", "-o", str(program)]
    subprocess.run([*command, str(TESTS / "decisions.c")], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60)
    verdicts = re.findall(r"^(ok|not ok) (\w+)", done.stdout, re.M)
    assert done.returncode == any(verdict != "ok" for verdict, _ in verdicts)
    return {name: verdict == "ok" for verdict, name in verdicts}


def test_decisions_are_as_specified(tmp_path: Path) -> None:
    passed = run(tmp_path)
    assert len(passed) > 30
    assert [name for name in passed if not passed[name]] == []


@pytest.mark.parametrize("rule", BROKEN)
def test_every_rule_has_a_test(rule: str, tmp_path: Path) -> None:
    old, new = BROKEN[rule]
    header = (MODULE / HEADER).read_text()
    assert header.count(old) == 1, old
    (tmp_path / HEADER).write_text(header.replace(old, new))
    assert not all(run(tmp_path).values())


def test_the_timing_is_that_of_auto() -> None:
    timing = MODULE / "tcp_ackpol_auto.h"
    assert timing.resolve() == REPOSITORY / "kernel" / "net" / "ipv4" / timing.name


def test_the_version_is_that_of_airtcp() -> None:
    assert f'PACKAGE_VERSION="{__version__}"' in (MODULE / "dkms.conf").read_text()


@pytest.mark.parametrize(
    ("release", "builds"),
    [
        *((release, False) for release in ("4.19.0-27-amd64", "5.10.0-32-amd64", "6.0.0-6-amd64")),
        *((release, True) for release in ("6.1.0-50-amd64", "6.12.95+deb12-amd64", "7.2.13")),
        *((release, True) for release in ("6.9.0", "10.0.1")),
    ],
)
def test_dkms_skips_kernels_before_6_1(release: str, builds: bool) -> None:
    """As DKMS does, which is a bash script."""
    script = '. "$0"; [[ $1 =~ $BUILD_EXCLUSIVE_KERNEL ]]'
    done = subprocess.run(["bash", "-c", script, MODULE / "dkms.conf", release])
    assert (done.returncode == 0) == builds


def test_the_qdisc_is_added_to_the_kernel_after_all_other_changes() -> None:
    [step] = ackhold.changes()
    assert all(path.is_file() for path in step.files.values())
    assert {path.name for path in step.files.values()} >= {"sch_ackhold.c", HEADER}
    others = {name for each in source.read_changes() for name in each.touched}
    assert step.touched.isdisjoint(others)


def test_stations_have_the_qdisc() -> None:
    steps = planned(ack_filter="ackhold", stations=2)
    added = "tc qdisc add dev wlan0 root ackhold"
    nodes = ("server", "ap", "station", "station2")
    counts = [sum(added in line for line in section(steps, node)) for node in nodes]
    assert counts == [0, 0, 1, 1]


def test_only_cases_with_the_qdisc_have_a_kernel_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: object, plain: bool, other: Changes, say: object) -> Kernel:
        return Kernel(Path(), "", "with" if other == ackhold.changes() else str(other))

    monkeypatch.setattr(own_policy, "build", build)
    choices = kernels.choices_of(argparse.Namespace(kernel_source=None, plain=False))
    cases = load("ackhold").cases()
    without = [case for case in cases if case.factors["ack_filter"] == "none"]
    assert len(without) == 6 < len(cases)
    built = [kernels.build_all(choices, None, some) for some in (without, cases)]
    assert [kernel.hash for by_label in built for kernel in by_label.values()] == ["()", "with"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 0, ""),
        (["nodev"], 1, "ackhold-stats: nodev: no such device with the qdisc ackhold\n"),
        (["lo", "eth0"], 1, "usage: ackhold-stats [DEVICE]\n"),
    ],
)
def test_counters_of_a_device_without_the_qdisc_are_an_error(
    arguments: list[str], code: int, message: str
) -> None:
    done = subprocess.run([MODULE / "ackhold-stats", *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, message)


@pytest.mark.parametrize(
    ("kind", "code", "message"),
    [
        ("NLMSG_ERROR", -1, "ackhold-stats: cannot list qdiscs: Operation not permitted"),
        ("NLMSG_DONE", -12, "ackhold-stats: cannot list qdiscs: Cannot allocate memory"),
        ("NLMSG_DONE", 0, None),
    ],
)
def test_errors_of_netlink_are_reported(
    kind: str, code: int, message: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    stats = runpy.run_path(str(MODULE / "ackhold-stats"))
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    kernel.send(struct.pack("=IHHIIi", 20, stats[kind], 0, 1, 0, code))
    with kernel:
        monkeypatch.setattr(socket, "socket", lambda *_: ours)
        assert stats["main"]([]) == message


def test_a_refused_socket_is_reported() -> None:
    command = [sys.executable, deny_syscalls.__file__, "socket"]
    done = subprocess.run([*command, MODULE / "ackhold-stats"], capture_output=True, text=True)
    error = "ackhold-stats: cannot list qdiscs: Operation not permitted\n"
    assert (done.returncode, done.stderr) == (1, error)


@pytest.mark.parametrize(
    ("action", "qdisc", "expected"),
    [
        ("up", "noqueue", ["qdisc replace dev wlan0 root ackhold"]),
        ("up", "mq", []),
        ("up", "cake", []),
        ("up", "ackhold", []),
        ("down", "ackhold", ["qdisc del dev wlan0 root"]),
        ("down", "cake", []),
        ("dhcp4-change", "noqueue", []),
    ],
)
def test_the_dispatcher_replaces_no_other_qdisc(
    tmp_path: Path, action: str, qdisc: str, expected: list[str]
) -> None:
    """wlan0 is a Wi-Fi device with that qdisc; tc is a stub."""
    (tmp_path / "sys/class/net/wlan0/phy80211").mkdir(parents=True)
    (tmp_path / "tc").write_text(
        f'#!/bin/sh\n[ "$2" != show ] || exec echo "qdisc {qdisc} 0: root refcnt 2"\n'
        f'echo "$*" >>{tmp_path}/calls\n'
    )
    (tmp_path / "tc").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "AIRTCP_ROOT": str(tmp_path)}
    for device in ("wlan0", "eth0"):
        subprocess.run([MODULE / "50-airtcp-ackhold", device, action], env=environment, check=True)
    calls = tmp_path / "calls"
    assert (calls.read_text().splitlines() if calls.exists() else []) == expected
