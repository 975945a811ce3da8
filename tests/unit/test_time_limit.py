# SPDX-License-Identifier: GPL-2.0-only
"""The limit of wall time of a run."""

from pathlib import Path

import pytest

from airtcp.backends import uml
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import StopError
from airtcp.experiment.experiment import Case
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.sweep import run
from airtcp.sweep.request import requests

KERNEL = Kernel(Path("linux"), "6.12.0", "0123456789abcdef")
TOOLS = GuestTools(Path("tools"))


@pytest.mark.parametrize(
    ("settings", "least_s", "most_s"),
    [
        ({"duration": "10s"}, 450, 550),  # 150, and 36.5 for each second at 65 Mbit/s
        ({"duration": "300s"}, 10_000, 12_000),
        ({"duration": "10s", "baseline": "100s"}, 650, 750),
        ({"duration": "10s", "stations": "64"}, 1_000, 1_200),
        ({"workload": "command", "command": "true", "command_limit": "60s"}, 750, 900),
        ({"workload": "command", "command": "true", "command_limit": "1s"}, 180, 200),
        ({"workload": "request_response", "exchanges": "100"}, 250, 300),
        ({"workload": "transfer", "transfer_size": "10MB", "transfers": "10"}, 250, 300),
        ({"workload": "web", "pages": "10", "reading_time": "1s"}, 200, 250),
    ],
)
def test_a_guest_that_hangs_is_ended(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    least_s: float,
    most_s: float,
) -> None:
    limits_s = []

    def hang(*_: object, timeout_wall_s: float, **_options: object) -> None:
        limits_s.append(timeout_wall_s)
        raise StopError("hangs")

    monkeypatch.setattr(uml.Uml, "run", hang)
    [job] = requests(KERNEL, TOOLS, [Case({}, Parameters().replace(settings))], [1])
    with pytest.raises(StopError):
        run.run_one(job, tmp_path)
    assert least_s <= limits_s[0] <= most_s
