# SPDX-License-Identifier: GPL-2.0-only
"""The same seed gives the same packets, byte for byte; another seed gives others."""

from pathlib import Path

import pytest

from airtcp.experiment import Setting, load
from airtcp.guesttools import GuestTools, build_tools
from airtcp.kernel import Kernel, build
from airtcp.run import Result, run_one

CAPTURES = ("server.pcapng", "station.pcapng", "air.pcapng")


@pytest.fixture(scope="module")
def machine() -> tuple[Kernel, GuestTools]:
    return build(say=print), build_tools(print)


def measure(
    machine: tuple[Kernel, GuestTools], out_dir: Path, seed: int, policy: str = "default"
) -> Result:
    settings = ("duration=3s", "capture_duration=unlimited", "delay=10ms", f"ack_policy={policy}")
    [cell] = load("thesis-lan").cells([Setting.parse(text) for text in settings])
    result = run_one(*machine, cell, seed, out_dir)
    assert result["error"] is None
    return result


def hashes(result: Result) -> list[str]:
    return [result["artifacts"][name]["sha256"] for name in CAPTURES]


@pytest.mark.parametrize("policy", ["default", "aad"])
def test_the_same_seed_gives_the_same_bytes(
    machine: tuple[Kernel, GuestTools], tmp_path: Path, policy: str
) -> None:
    # Directories of different lengths: where a run is kept must not matter.
    first = measure(machine, tmp_path / "a", 1, policy)
    again = measure(machine, tmp_path / "another-directory", 1, policy)
    assert hashes(first) == hashes(again)
    assert first["metrics"] == again["metrics"]


def test_another_seed_gives_other_bytes(machine: tuple[Kernel, GuestTools], tmp_path: Path) -> None:
    first = measure(machine, tmp_path, 1)
    other = measure(machine, tmp_path, 2)
    assert not set(hashes(first)) & set(hashes(other))
    assert first["metrics"] != other["metrics"]
