# SPDX-License-Identifier: GPL-2.0-only
"""Policies and senders on x86-64 with several processors in real time, concurrently.

AIRTCP_SOAK is the number of connections: `make soak` uses 100,000, which takes an hour and a half
without KVM. The kernels take ten minutes each to build; without AIRTCP_SOAK nothing is run.
"""

import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import kunit_suites
import pytest
import qemu
from guests import GUEST, RecordCount, Say, assert_silent, checked_output, copy_helpers, splats
from test_ackpol_fuzz import SOURCE as FUZZER
from test_ackpol_fuzz import documented_bounds, write_bounds

from airtcp.backends.base import GuestResult
from airtcp.backends.guesttools import GuestTools, compile_program
from airtcp.kernel import image
from airtcp.kernel.image import Kernel

CONNECTIONS = int(os.environ.get("AIRTCP_SOAK", "0"))
IN_ONE_GUEST = 20_000
FLOWS = 64 if CONNECTIONS >= 1000 else 4
PAUSE_S = 0.1 if qemu.has_kvm() else 0.3
# With more than the host has, processors would wait for locks whose holders do not run.
CPUS = max(2, min(4, os.cpu_count() or 1))
# They cost a third of the time: enabled only in a short soak.
UNCHECKED = ("kmemleak=off", "no_debug_objects")

# How long namespaces come and go while policies are loaded and unloaded.
CHURN_S = 120

# Few enough to search for data races in a reasonable time without KVM.
RACING_CONNECTIONS = max(min(40, CONNECTIONS), CONNECTIONS // 50)
RACING_INPUTS = RACING_CONNECTIONS * 10

pytestmark = pytest.mark.skipif(not CONNECTIONS, reason="takes long: make soak")


@pytest.fixture(scope="module")
def checked_kernel(say: Say) -> Kernel:
    return image.build(fragments=(*image.FRAGMENTS_OF_X86, "x86-debug"), arch="x86_64", say=say)


def figures(path: Path) -> Counter[str]:
    """Sums by name of a file with a name and an integer at the start of each line."""
    total: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        match = re.match(r"(\S.*?) +(\d+)(?: |$)", line)
        assert match, f"{path}: {line}"
        total[match[1]] += int(match[2])
    return total


def soak(
    built: Kernel,
    tools: GuestTools,
    directory: Path,
    connections: int,
    *parameters: str,
    flows: int = FLOWS,
    replacements: int = 0,
) -> GuestResult:
    """Run soak.sh. replacements: of policies in BPF, which are in directory/bpf."""
    for name in ("soak.sh", "soak_settings.py"):
        shutil.copy(GUEST / name, directory)
    write_bounds(directory / "bounds")
    copy_helpers(directory)
    compile_program(directory / "soak", GUEST / "soak.c", "-pthread")
    (directory / "plan.sh").write_text(
        f"exec sh ./soak.sh {connections} {flows} {PAUSE_S} {replacements}\n"
    )
    # Translated by QEMU on a busy machine, a guest takes several times as long as on an idle one.
    limit_s = 3600 + connections / 5 + 10 * replacements
    # Separate slab caches, because their objects are counted.
    parameters = ("slab_nomerge", *parameters)
    return qemu.boot(
        built, tools, directory, cpus=CPUS, parameters=parameters, timeout_wall_s=limit_s
    )


def test_policies_pass_their_unit_tests(
    checked_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    (tmp_path / "plan.sh").write_text(
        "for test in $(find /run/kernel/lib/modules -name 'tcp_*_test.ko'); do\n"
        '\tmodprobe "$(basename "$test" .ko)" || exit 1\n'
        "done\n"
        "dmesg --notime >dmesg.txt\n"
    )
    result = qemu.boot(checked_kernel, tools, tmp_path, timeout_wall_s=300)
    assert result.status == "ok", result.reason
    assert_silent(result.console)
    suites = re.findall(r"^(ok|not ok) \d+ (tcp_\S+)", (tmp_path / "dmesg.txt").read_text(), re.M)
    assert {name for _, name in suites} == kunit_suites.suites("net/ipv4")
    assert [name for verdict, name in suites if verdict != "ok"] == []


def figures_of_silent_soak(
    result: GuestResult, directory: Path, connections: int, *parameters: str
) -> Counter[str]:
    """The figures of the load, after checking that no tool of the kernel reported anything."""
    assert_silent(result.console)
    assert result.status == "ok", result.reason
    # kmemleak reports that it was disabled.
    lines = splats(directory / "dmesg.txt")
    assert [line for line in lines if "leak detector disabled" not in line] == []
    assert (directory / "left").read_text() == ""
    if parameters != UNCHECKED:
        assert (directory / "leaks").read_text() == ""
    # lockdep turns itself off after its first report, or when its tables are full.
    assert re.search(r"^ debug_locks: +1$", (directory / "lockdep").read_text(), re.M)
    load = figures(directory / "load")
    assert load["finished"] >= connections
    assert load["broken"] == load["stalled"] == 0
    return load


def rounds() -> dict[str, tuple[int, tuple[str, ...]]]:
    """Connections and kernel parameters of each guest; the first searches for leaks."""
    long = {
        f"round-{number}": (min(IN_ONE_GUEST, CONNECTIONS - done), UNCHECKED)
        for number, done in enumerate(range(0, CONNECTIONS, IN_ONE_GUEST), 1)
    }
    return {"all-checks": (min(1000, CONNECTIONS), ()), **(long if CONNECTIONS > 1000 else {})}


@pytest.mark.parametrize(("connections", "parameters"), rounds().values(), ids=rounds())
def test_policies_switch_unload_and_vanish_under_load(
    checked_kernel: Kernel,
    tools: GuestTools,
    tmp_path: Path,
    record_property: RecordCount,
    connections: int,
    parameters: tuple[str, ...],
) -> None:
    result = soak(checked_kernel, tools, tmp_path, connections, *parameters)
    load = figures_of_silent_soak(result, tmp_path, connections, *parameters)

    # All of these events occurred.
    assert load["switched"] > connections
    assert load["bulk_bytes"] > 1000 * connections
    settings = figures(tmp_path / "settings")
    assert settings["tcp_ack_policy"] > 0
    assert settings["route"] > 0
    modules = figures(tmp_path / "modules")
    assert modules["refused"] > 0
    assert figures(tmp_path / "namespaces")["gone"] > 0
    counters = figures(tmp_path / "counters")
    reasons = ["Delayed", "Timer", "Policy", "Quick", "Fin", "Stretched"]
    # With few connections on an emulated processor, these may not occur.
    if connections >= 1000:
        assert modules["unloaded"] > 0
        reasons += ["Now", "Window"]
    for name in reasons:
        assert counters[f"TcpExtTCPAckPol{name}"] > 0, name
    record_property("connections", load["finished"])
    record_property("policies_switched", load["switched"])
    record_property("modules_unloaded", modules["unloaded"])


@pytest.fixture(scope="module")
def namespaces(
    checked_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    directory = tmp_path_factory.mktemp("namespaces")
    for name in ("ackpol_api.py", "ackpol_namespaces.py", "netns.py"):
        shutil.copy(GUEST / name, directory)
    return checked_output(
        f"ackpol_namespaces.py {CHURN_S}", checked_kernel, tools, directory, timeout_wall_s=900
    )


def test_every_namespace_has_the_parameters_of_loaded_policies(namespaces: dict[str, Any]) -> None:
    found: set[str] = set()
    for policy, result in namespaces["parameters"].items():
        first, *others = result["loaded"]
        assert first, policy
        assert others == [first, first], policy
        assert result["unloaded"] == [{}, {}, {}], policy
        found |= first.keys()
    assert found == documented_bounds().keys()


def test_modules_load_and_unload_while_namespaces_come_and_go(namespaces: dict[str, Any]) -> None:
    """A route loads a module with the RTNL held, for which namespaces wait that are deleted."""
    counts = namespaces["churn"]
    assert counts["left"] == []
    assert "failed" not in counts
    assert counts["in use"] > 0
    for kind in ("policies", "congestion controls"):
        assert counts[f"routes with {kind}"] > 3, (kind, counts)
        assert counts[f"{kind} loaded by a route"] > 3, (kind, counts)
    for name in ("namespaces", "unloaded"):
        assert counts[name] > 3, (name, counts)


def test_senders_switch_and_unload_under_load(
    checked_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    for name in ("netns.py", "senders_smp.py"):
        shutil.copy(GUEST / name, tmp_path)
    (tmp_path / "plan.sh").write_text(
        "ip link set lo up\nmkdir /run/netns\npython3 -B senders_smp.py >output.json\n"
    )
    result = qemu.boot(checked_kernel, tools, tmp_path, cpus=CPUS, timeout_wall_s=900)
    assert_silent(result.console)
    assert result.status == "ok", result.reason
    counts = json.loads((tmp_path / "output.json").read_text())
    assert counts["finished"] == 20
    assert min(counts[name] for name in ("bbr2", "bbrp", "cubic")) > 3, counts
    assert min(counts[name] for name in ("reported", "changed", "in use")) > 0, counts
    assert counts["left"] == 0


@pytest.fixture(scope="module")
def racing_kernel(say: Say) -> Kernel:
    return image.build(fragments=(*image.FRAGMENTS_OF_X86, "x86-kcsan"), arch="x86_64", say=say)


# Races in other code of Linux must not end the guest.
RACING = "panic_on_warn=0"


# hrtimer_active(), which hrtimer_try_to_cancel() calls, reads without a lock what the start and the
# end of a handler change, and is written for it.
TOLERATED = "data-race in __hrtimer_run_queues / hrtimer_active"


def assert_no_race_of_ours(result: GuestResult) -> None:
    reports = result.console.read_text(errors="replace").split("=" * 66)
    races = [text for text in reports if "BUG: KCSAN" in text and TOLERATED not in text]
    assert [text for text in races if re.search(r"ackpol|small_queue", text)] == []


def test_policies_have_no_data_race(
    racing_kernel: Kernel, tools: GuestTools, tmp_path: Path, record_property: RecordCount
) -> None:
    result = soak(racing_kernel, tools, tmp_path, RACING_CONNECTIONS, RACING)
    assert_no_race_of_ours(result)
    assert result.status == "ok", result.reason
    record_property("connections", figures(tmp_path / "load")["finished"])


def test_fuzzed_policies_have_no_data_race(
    racing_kernel: Kernel, tools: GuestTools, tmp_path: Path, record_property: RecordCount
) -> None:
    """A fuzzer for each processor, while others read sockets and sysctls of its namespace."""
    write_bounds(tmp_path / "bounds")
    copy_helpers(tmp_path)
    shutil.copy(GUEST / "fuzz_smp.sh", tmp_path)
    compile_program(tmp_path / "fuzz", FUZZER)
    (tmp_path / "plan.sh").write_text(f"exec sh ./fuzz_smp.sh {CPUS} {RACING_INPUTS}\n")
    result = qemu.boot(
        racing_kernel,
        tools,
        tmp_path,
        cpus=CPUS,
        parameters=(RACING,),
        timeout_wall_s=900 + RACING_INPUTS / 5,
    )
    assert_no_race_of_ours(result)
    assert result.status == "ok", result.reason
    counts = figures(tmp_path / "counts")
    assert counts["segments"] > CPUS * RACING_INPUTS / 2
    assert counts["readings"] > CPUS
    record_property("inputs", CPUS * RACING_INPUTS)
    record_property("readings", counts["readings"])
