# SPDX-License-Identifier: GPL-2.0-only
"""The limits of wall time and of virtual time of a run."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airtcp.backends import uml
from airtcp.backends.guesttools import GuestTools
from airtcp.errors import StopError
from airtcp.experiment.experiment import Case
from airtcp.experiment.topology import Network
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.sweep import run
from airtcp.sweep.request import requests
from airtcp.testbed.model import Testbed

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
    assert least_s <= _limits(settings, tmp_path, monkeypatch)["timeout_wall_s"] <= most_s


@pytest.mark.parametrize(
    ("settings", "limit_s"),
    [
        ({"duration": "10s", "baseline": "100s"}, 3815),
        ({"workload": "web", "pages": "10"}, math.inf),  # takes as long as it needs
    ],
)
def test_bulk_data_has_an_hour_of_virtual_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], limit_s: float
) -> None:
    limit: Callable[[], float] = _limits(settings, tmp_path, monkeypatch)["timeout_virtual_s"]
    assert limit() == limit_s


def test_bulk_data_has_an_hour_also_beside_other_workloads(tmp_path: Path) -> None:
    ends: dict[str, object] = {"from": "server", "to": "station"}
    flows = [{**ends, "duration": "9s"}, {**ends, "workload": "web", "pages": 10}]
    testbed = _testbed(flows, {"duration": "9s"})
    for flow in testbed.bulk:
        assert run._timeout_virtual_s(testbed, tmp_path) == run.expected_virtual_s(testbed) + 3600
        (tmp_path / flow.file("client")).touch()
        assert run._timeout_virtual_s(testbed, tmp_path) == run.expected_virtual_s(testbed) + 3600
        (tmp_path / flow.file("client")).write_text("{}")
    assert run._timeout_virtual_s(testbed, tmp_path) == math.inf  # pages take as long as they need


def test_a_run_takes_until_its_last_flow_has_ended() -> None:
    ends: dict[str, object] = {"from": "server", "to": "station"}
    flows = [{**ends, "start": "20s", "duration": "3s"}, {**ends, "duration": "9s"}]
    testbed = _testbed(flows, {"baseline": "2s"})
    assert run.expected_virtual_s(testbed) == 23 + 2 * 2 + 5
    # 150, twice the baseline, and 36.5 for each second until the end of the last flow.
    assert 900 <= run._timeout_wall_s(testbed) <= 1100


def _testbed(flows: list[dict[str, object]], settings: dict[str, str]) -> Testbed:
    """A server and a station with these flows."""
    network = Network.model_validate(
        {
            "topology": {
                "servers": {"server": {}},
                "access_points": {"ap": {}},
                "stations": {"station": {"access_point": "ap"}},
            },
            "flows": flows,
        }
    )
    case = Case({}, Parameters().replace(settings), network)
    [job] = requests(KERNEL, TOOLS, [case], [1])
    return job.testbed


def _limits(
    settings: dict[str, str], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """The arguments with which a run with these settings starts its guest."""
    limits_s: dict[str, Any] = {}

    def hang(*_: object, **options: object) -> None:
        limits_s.update(options)
        raise StopError("hangs")

    monkeypatch.setattr(uml, "boot", hang)
    [job] = requests(KERNEL, TOOLS, [Case({}, Parameters().replace(settings))], [1])
    with pytest.raises(StopError):
        run.run_one(job, directory)
    return limits_s
