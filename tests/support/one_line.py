# SPDX-License-Identifier: GPL-2.0-only
"""Tables of wrong inputs, and the single line that each must give."""

from pathlib import Path

import pytest

from airtcp.backends.guesttools import GuestTools
from airtcp.cli import doctor, sweeping
from airtcp.kernel import image
from airtcp.kernel.image import Kernel
from airtcp.kernel.source import find_source


def refuse_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if an error is reported only after minutes of building, or if a run starts."""

    def build(source: Path | None = None, **_: object) -> Kernel:
        find_source(source)
        raise AssertionError("the input was accepted: a kernel would be built")

    def build_tools(*_: object) -> GuestTools:
        raise AssertionError("the guest programs would be compiled before the error is reported")

    monkeypatch.setattr(doctor, "require_programs", lambda **_options: None)
    monkeypatch.setattr(image, "build", build)
    monkeypatch.setattr(sweeping, "build_tools", build_tools)


def table(text: str) -> list[tuple[str, str]]:
    """Pairs of an input and a part of its message."""
    lines = (line.rpartition(" | ") for line in text.strip("\n").splitlines())
    return [(given, message) for given, _, message in lines]


def assert_one_line(code: int, out: str, err: str, message: str) -> None:
    assert (code, out) == (2, ""), err
    assert err.startswith("airtcp: "), err
    assert err.count("\n") == 1 and err.endswith("\n"), err
    assert message in err
    assert len(err) < 700, err
