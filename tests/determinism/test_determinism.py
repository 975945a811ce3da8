# SPDX-License-Identifier: GPL-2.0-only
"""The same seed gives the same packets, byte for byte; another seed gives different packets."""

from pathlib import Path

import pytest
from guests import with_kernel_options

from airtcp.backends import uml
from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Setting
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.results.record import RunRecord
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

# Of the instruction sets that select libraries and functions of glibc.
OLD_PROCESSOR = "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-FMA,-ERMS,-SSE4_2,-SSSE3"
CAPTURES = ("server.pcapng", "station.pcapng", "air.pcapng")


def measure(
    lab_kernel: Kernel, tools: GuestTools, out_dir: Path, seed: int, policy: str = "default"
) -> RunRecord:
    settings = ("duration=3s", "capture_duration=unlimited", "delay=10ms", f"ack_policy={policy}")
    [case] = load("thesis-lan").cases([Setting.parse(text) for text in settings])
    result = run_one(RunRequest.of(lab_kernel, tools, case, seed), out_dir)
    assert result.error is None
    return result


def hashes(result: RunRecord) -> list[str]:
    return [result.artifacts[name].sha256 for name in CAPTURES]


@pytest.mark.parametrize("policy", ["default", "aad"])
def test_the_same_seed_gives_the_same_bytes(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, policy: str
) -> None:
    # Directories of different lengths: the path of a run must not affect it.
    first = measure(lab_kernel, tools, tmp_path / "a", 1, policy)
    again = measure(lab_kernel, tools, tmp_path / "another-directory", 1, policy)
    assert hashes(first) == hashes(again)
    assert first.metrics == again.metrics


def test_an_older_processor_gives_the_same_bytes(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = measure(lab_kernel, tools, tmp_path / "this-processor", 1)
    options = with_kernel_options(f"GLIBC_TUNABLES={OLD_PROCESSOR}")
    monkeypatch.setattr(uml, "_command", options)
    older = measure(lab_kernel, tools, tmp_path / "older-processor", 1)
    assert hashes(first) == hashes(older)
    assert first.metrics == older.metrics


def test_another_seed_gives_different_bytes(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path
) -> None:
    first = measure(lab_kernel, tools, tmp_path, 1)
    other = measure(lab_kernel, tools, tmp_path, 2)
    assert not set(hashes(first)) & set(hashes(other))
    assert first.metrics != other.metrics
