# SPDX-License-Identifier: GPL-2.0-only
"""The steps of verification, and their parts.

A part is a program, a test or the tests of a file. It takes at most about 20 minutes on two
processors without KVM, so that an interruption loses no more. pytest lists the tests, so that none
is forgotten. `minutes` are for such a machine, with kernels already built.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from airtcp.errors import AirtcpError
from airtcp.paths import REPOSITORY

SMP = "tests/system/test_smp.py"
FUZZ = "tests/system/test_ackpol_fuzz.py"
SERIES = "tests/system/test_series.py"
PACKAGES = "tests/system/test_packages.py"
DEBIAN_PACKAGES = "tests/system/test_debian_packages.py"
ACKHOLD = "tests/system/test_ackhold_stock.py"
BPF = ("tests/system/test_bpf.py", "tests/system/test_no_op_hooks.py")
BPF_POLICIES = "tests/system/test_bpf_policies.py"
BPF_USED = ("tests/system/test_bpf_command.py", "tests/system/test_bpf_packets.py")
SELFTESTS = "tests/verification/selftests.py"
SELFTESTS_GUESTS = ("plain", "default", "aad")
DEBUG = {"AIRTCP_TEST_DEBUG": "1"}
# In the names of tests that search for data races.
RACES = "data race"


@dataclass(frozen=True)
class Part:
    """A command: arguments of Python, or with `tests` of pytest, and environment variables."""

    name: str
    arguments: tuple[str, ...]
    minutes: float
    environment: Mapping[str, str] = field(default_factory=dict)
    tests: bool = True

    def command(self) -> list[str]:
        return [sys.executable, *(("-m", "pytest") if self.tests else ()), *self.arguments]


@dataclass(frozen=True)
class Step:
    """What `make verify STEPS=name` runs. A step has passed if all its parts have.

    uml: whether its guests are User Mode Linux with the simulated radio; others are x86-64.
    """

    name: str
    what: str
    parts: Sequence[Part]
    uml: bool = False


@dataclass(frozen=True)
class Size:
    """Connections of the soak test, inputs of the fuzzer, and transfers of ackhold-check."""

    connections: int
    inputs: int
    transfers: int


FULL = Size(100_000, 1_000_000, 1000)
# Enough to check that every step runs.
SMALL = Size(40, 2000, 20)


def real_steps(size: Size = FULL) -> list[Step]:
    """All steps, for the working tree. Raises AirtcpError if pytest cannot list the tests."""
    variables = {
        "AIRTCP_SOAK": str(size.connections),
        "AIRTCP_TEST_FUZZ": str(size.inputs),
        "AIRTCP_TEST_STEPS": "1",
        "AIRTCP_TEST_DEB": "1",
        "AIRTCP_TEST_PACKAGES": "1",
        "AIRTCP_TEST_ACKHOLD": str(size.transfers),
        "AIRTCP_TEST_BPF": "1",
        "AIRTCP_BPF_SOAK": str(size.connections // 5),
    }
    tests = collected((SMP, FUZZ, SERIES, ACKHOLD), variables)
    debug = collected(("tests/system", "tests/determinism"), DEBUG)
    soak = parts(tests[SMP], variables, 18 if size == FULL else 3)
    return [
        Step(
            "soak",
            f"{size.connections:,} connections on x86-64 with SMP, KASAN and lockdep",
            [part for part in soak if RACES not in part.name],
        ),
        Step(
            "kcsan",
            "soak and random inputs, with KCSAN, which finds data races",
            [part for part in soak if RACES in part.name],
        ),
        Step(
            "fuzz",
            f"{size.inputs:,} random inputs, with KASAN, UBSAN and lockdep",
            parts(tests[FUZZ], variables, 13 if size == FULL else 1),
        ),
        Step(
            "selftests",
            "the kernel's own tests of TCP, plain Linux beside ours",
            selftests(),
        ),
        Step(
            "series-check",
            "a kernel after each patch of the series for posting",
            series(tests[SERIES], variables),
        ),
        *debian(size, tests[ACKHOLD], variables),
        Step(
            "bpf",
            "ACK policies in BPF, programs that choose policies, MPTCP, and hooks that are no-ops",
            bpf(variables),
        ),
        Step(
            "test-debug",
            "system tests on User Mode Linux with KASAN, UBSAN, lockdep and kmemleak",
            [Part(file, (file,), 10, DEBUG) for file in debug],
            uml=True,
        ),
        Step(
            "instructions",
            "what a received segment costs, within bounds",
            [Part("instructions", ("bench/instructions.py",), 10, tests=False)],
        ),
    ]


def bpf(variables: Mapping[str, str]) -> list[Part]:
    """Programs that choose policies, and policies that are programs."""
    loaded = (BPF_POLICIES, *BPF_USED, "-k", "not under_load")
    under_load = (BPF_POLICIES, "-k", "under_load")
    return [
        Part("programs and object code", BPF, 5, variables),
        Part("policies", loaded, 25, variables),
        Part("policies under load", under_load, 45, variables),
    ]


def debian(size: Size, ackhold: Sequence[str], variables: Mapping[str, str]) -> list[Step]:
    """The steps that build or use Debian packages."""
    return [
        Step(
            "deb-check",
            "Debian packages of the kernel, and a policy built against them",
            [Part("packages", (PACKAGES,), 20, variables)],
        ),
        Step(
            "packages-check",
            "Debian packages installed, used, upgraded and purged in a minimal Debian 12",
            [Part("packages", (DEBIAN_PACKAGES,), 30, variables)],
            uml=True,
        ),
        Step(
            "ackhold-check",
            f"{size.transfers:,} downloads through the qdisc ackhold on Debian's kernels, and DKMS",
            parts(ackhold, variables, 30 if size == FULL else 3),
        ),
    ]


def selftests() -> list[Part]:
    """A guest for each kernel, and the comparison of their results."""
    guests = [Part(name, (SELFTESTS, name), 20, tests=False) for name in SELFTESTS_GUESTS]
    return [*guests, Part("comparison", (SELFTESTS, "--reuse"), 1, tests=False)]


def series(nodes: Sequence[str], variables: Mapping[str, str]) -> list[Part]:
    """A part for each patch, which builds a kernel, and one for all other tests."""
    links = [node for node in nodes if "::test_links_" in node]
    rest = tuple(node for node in nodes if node not in links)
    return [Part("without a build", rest, 2, variables), *parts(links, variables, 4)]


def parts(nodes: Sequence[str], variables: Mapping[str, str], minutes: float) -> list[Part]:
    """A part for each test, with its name."""
    names = (node.partition("::test_")[2].replace("_", " ").replace("[", " [") for node in nodes)
    return [
        Part(name, (node,), minutes, variables) for name, node in zip(names, nodes, strict=True)
    ]


def collected(arguments: Sequence[str], environment: Mapping[str, str]) -> dict[str, list[str]]:
    """The tests that pytest would run, by file. Raises AirtcpError if pytest fails."""
    part = Part("", ("--collect-only", "-q", *arguments), 0, environment)
    done = subprocess.run(
        part.command(), cwd=REPOSITORY, env=clean_environment(part), capture_output=True, text=True
    )
    lines = (done.stdout + done.stderr).splitlines()
    if done.returncode:
        error = next((line for line in lines if line.startswith(("E ", "ERROR"))), "no message")
        raise AirtcpError(f"pytest cannot list {' '.join(arguments)}: {error}")
    files: dict[str, list[str]] = {}
    for line in lines:
        file, separator, _ = line.partition("::")
        if separator:
            files.setdefault(file, []).append(line)
    return files


def clean_environment(part: Part) -> dict[str, str]:
    """The environment of a part: this process's, without variables that select tests."""
    removed = (
        *("AIRTCP_TEST_", "AIRTCP_SOAK", "AIRTCP_BPF_", "PYTEST_"),
        *("MAKEFLAGS", "MAKELEVEL", "MFLAGS"),
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(removed)}
    path = os.pathsep.join(str(REPOSITORY / name) for name in ("lab", "tests/support"))
    return {**kept, "PYTHONPATH": path, **part.environment}
