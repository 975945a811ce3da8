# SPDX-License-Identifier: GPL-2.0-only
"""ACK policies in BPF on x86-64 with two processors: the verifier, the modules, a soak.

The kernel has KASAN, lockdep and BTF. AIRTCP_TEST_BPF builds it (`make bpf-check`);
AIRTCP_BPF_SOAK is the number of connections of the soak (`make bpf-soak`).
"""

import os
import random
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from guests import GUEST, RecordCount, Say, checked_output
from test_smp import UNCHECKED, figures, figures_of_silent_soak, soak

from airtcp.backends.guesttools import GuestTools, compile_program
from airtcp.cache import cache_dir
from airtcp.kernel import bpf, image
from airtcp.kernel.image import Kernel

pytestmark = pytest.mark.skipif(
    not os.environ.get("AIRTCP_TEST_BPF"), reason="takes minutes: make bpf-check"
)

FRAGMENTS = (*image.FRAGMENTS_OF_X86, "x86-debug", "x86-btf")
NAMES = ("aad", "auto", "count")
ARRIVALS = int(os.environ.get("AIRTCP_BPF_ARRIVALS", "1000000"))

# What the verifier or the kernel says of each program that must not be accepted.
REJECTED = {
    "bpf_ackpol_ca": r"calling kernel function bpf_tcp_ackpol_priv is not allowed",
    "bpf_ackpol_cwnd": r"calling kernel function tcp_slow_start is not allowed",
    "bpf_ackpol_incompl": r"can't register struct_ops bpf_incompl",
    "bpf_ackpol_key": r"can't register struct_ops bpf_key",
    "bpf_ackpol_setsockopt": r"(?:cannot use helper|unknown func) bpf_setsockopt",
    "bpf_ackpol_sleepable": r"unsupported member ack_delay_us",
    "bpf_ackpol_tail_call": r"(?:cannot use helper|unknown func) bpf_tail_call",
    "bpf_ackpol_unsupp": r"unsupported member get_info",
    "bpf_module_kfunc": r"unsupported member ack_delay_us",
    "bpf_ackpol_write": r"only read is supported",
    "bpf_ackpol_write_priv": r"invalid access to memory",
}

ENOENT = 2
EOPNOTSUPP = 95

# 20,000 connections while programs are replaced 1,000 times; fewer of both in the same proportion.
CONNECTIONS = int(os.environ.get("AIRTCP_BPF_SOAK", "0"))
REPLACEMENTS = max(12, CONNECTIONS // 20)


@pytest.fixture(scope="module")
def kernel(say: Say) -> Kernel:
    return image.build(fragments=FRAGMENTS, arch="x86_64", say=say)


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """good/bpf_NAME.o, and bad/*.o, which the kernel must reject."""
    directory = tmp_path_factory.mktemp("objects")
    for kind in ("good", "bad"):
        (directory / kind).mkdir()
    for source in bpf.PROGRAMS.glob("bpf_ackpol_*.c"):
        name = source.stem.removeprefix("bpf_ackpol_")
        target = f"good/bpf_{name}.o" if name in NAMES else f"bad/{source.stem}.o"
        bpf.compile_program(source, directory / target)
    # See bpf_sleepable.c.
    text = (bpf.PROGRAMS / "bpf_ackpol_sleepable.c").read_text()
    source = directory / "sleepable.c"
    source.write_text(text.replace("struct_ops.s/", "struct_ops/"))
    bpf.compile_program(source, directory / "bad" / "bpf_ackpol_sleepable.o")
    source = GUEST / "bpf_module_kfunc.c"
    bpf.compile_program(source, directory / "bad" / "bpf_module_kfunc.o")
    bpf.compile_program(GUEST / "ackpol_clone.c", directory / "ackpol_clone.o")
    return directory


def build_replay(directory: Path) -> Path:
    """The module ackpol_replay.ko, built against the tree of the kernel."""
    shutil.copytree(GUEST / "ackpol_replay", directory)
    [tree] = (cache_dir() / "kernel").glob(f"work-*/linux/build-{'-'.join(FRAGMENTS)}")
    done = subprocess.run(
        ["make", "-C", tree, f"M={directory}", "modules"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "warning:" not in done.stderr
    return directory / "ackpol_replay.ko"


def arrivals(count: int, seed: int) -> bytes:
    """Arrivals as ackpol_replay.c reads them: connections with changing paths and pauses."""
    rng = random.Random(seed)
    records: list[bytes] = []
    now_us = 1_000_000
    while len(records) < count:
        rtt_us = int(10 ** rng.uniform(2.5, 5.3))
        queue_us = rng.choice((0, 0, rtt_us // 2, 3 * rtt_us))
        gap_us = 10 ** rng.uniform(0.5, 3.5)
        mss = rng.choice((536, 1000, 1448, 8948))
        timestamps = rng.choice((0, 2))
        now_us += int(10 ** rng.uniform(2, 6.5))
        new = rng.choice((0, 8))
        # The share of arrivals without a pause before them: "auto" treats bursts as "default".
        steady = rng.choice((0.9, 0.99, 1.0))
        for _ in range(rng.randrange(20, 5000)):
            within = rng.random() < steady
            now_us += int(rng.expovariate(1 / gap_us) * (0.1 if within else 10))
            segs = rng.choice((1, 1, 1, 2, 10, 44))
            lost = rng.random() < 0.003
            last = rng.randrange(1, mss) if rng.random() < 0.02 else mss
            flags = (1 if lost else 0) | timestamps | (4 if rng.random() < 0.01 else 0) | new
            new = 0
            rcv_rtt_us = max(1, int(rtt_us + queue_us * rng.random()))
            srtt_us = rng.choice((0, rtt_us))
            records.append(
                struct.pack(
                    *("<QIIIHHII", now_us, (segs - 1) * mss + last, rcv_rtt_us, srtt_us),
                    *(segs, mss, flags, 0),
                )
            )
    return b"".join(records[:count])


@pytest.fixture(scope="module")
def output(
    kernel: Kernel, tools: GuestTools, objects: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The output of bpf_ackpol.py. A warning, an oops or a stack overflow is a panic."""
    directory = tmp_path_factory.mktemp("bpf")
    shutil.copytree(objects, directory, dirs_exist_ok=True)
    for name in ("bpf_ackpol.py", "bpf_policies.py", "bpf_sockops.py", "netns.py"):
        shutil.copy(GUEST / name, directory)
    compile_program(directory / "bpf_sleepable", GUEST / "bpf_sleepable.c", "-lbpf")
    shutil.copy(build_replay(directory / "module"), directory)
    for seed, name in enumerate(NAMES):
        (directory / f"replay-{name}").write_bytes(arrivals(ARRIVALS, seed))
    return checked_output("bpf_ackpol.py", kernel, tools, directory, timeout_wall_s=3600)


@pytest.mark.parametrize("name", REJECTED)
def test_invalid_programs_are_rejected(output: dict[str, Any], name: str) -> None:
    code, text = output["bad"][name]
    assert code != 0
    assert re.search(REJECTED[name], text), text


def test_rejected_programs_are_not_registered(output: dict[str, Any]) -> None:
    assert [name for name in output["bad"]["available"] if name.startswith("bpf_")] == []


@pytest.mark.parametrize("name", NAMES)
def test_policy_is_registered_used_and_removed(output: dict[str, Any], name: str) -> None:
    result, full = output[name], f"bpf_{name}"
    assert result["register"][0] == 0, result["register"]
    assert "can't register struct_ops" in result["again"]
    assert result["ends"] == [full, full]
    assert result["bytes"] == result["bytes after"] == 200 * 2000
    assert result["back"] == ["default", full]
    assert result["unregister"][0] == 0, result["unregister"]
    # The namespace has another policy then, and the connection keeps its own.
    assert result["after"] == ["default", False, full]
    assert result["errno"] == ENOENT


def test_policy_cannot_be_set_while_a_socket_is_cloned(output: dict[str, Any]) -> None:
    """Until the security hook has run, the state is that of the listening socket."""
    results = output["clone"]
    for code, text in (results["load"], results["attach"]):
        assert code == 0, text
    policies = {"chosen": "aad", "namespace's": "aad", "default": "default"}
    for accepted, (name, policy) in zip((2, 4, 6), policies.items(), strict=True):
        result = results[name]
        assert (result["calls"], result["returned"]) == (accepted, -EOPNOTSUPP)
        assert result["policies"] == [policy, policy]
        assert result["listener"] == policy
        # On an accepted socket, after the listening one was closed.
        assert result["bytes"] == 20 * 2000


@pytest.mark.parametrize("name", NAMES)
def test_programs_decide_as_the_module(
    output: dict[str, Any], name: str, record_property: RecordCount
) -> None:
    counts = output[f"replay {name}"]
    assert counts["differences"] == 0, counts["first"]
    assert counts["arrivals"] == ARRIVALS
    assert counts["decisions"] > 0.9 * ARRIVALS
    # The arrivals lead to all kinds of decisions.
    assert counts["nonzero"] > 0.03 * ARRIVALS
    assert counts["acks"] > 0.01 * ARRIVALS
    if name == "auto":
        assert counts["as_default"] > 0.01 * ARRIVALS
        assert counts["delack"] > 0
    record_property("arrivals", counts["arrivals"])


@pytest.mark.skipif(not CONNECTIONS, reason="takes long: make bpf-soak")
def test_programs_are_replaced_under_load(
    kernel: Kernel, tools: GuestTools, objects: Path, tmp_path: Path, record_property: RecordCount
) -> None:
    shutil.copytree(objects / "good", tmp_path / "bpf")
    compile_program(tmp_path / "bpf_replace", GUEST / "bpf_replace.c", "-lbpf")
    parameters = UNCHECKED if CONNECTIONS > 1000 else ()
    result = soak(
        *(kernel, tools, tmp_path, CONNECTIONS, *parameters),
        # With 64, all tasks are seldom off the emulated processors, for which programs wait
        # when they are freed (RCU tasks).
        flows=16 if CONNECTIONS >= 1000 else 4,
        replacements=REPLACEMENTS,
    )
    load = figures_of_silent_soak(result, tmp_path, CONNECTIONS, *parameters)
    text = (tmp_path / "replaced").read_text()
    assert text.startswith("ready\n")
    (tmp_path / "replacements").write_text(text.removeprefix("ready\n"))
    replaced = figures(tmp_path / "replacements")
    assert replaced["updated"] + replaced["registered"] >= REPLACEMENTS
    assert min(replaced["updated"], replaced["registered"]) > REPLACEMENTS / 3
    record_property("connections", load["finished"])
    record_property("replaced", replaced["updated"] + replaced["registered"])
