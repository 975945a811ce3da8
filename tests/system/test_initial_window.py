# SPDX-License-Identifier: GPL-2.0-only
"""The initial receive window limits slow start; divided ACKs do not make it grow faster."""

from pathlib import Path

import pytest

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.experiment import Case
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.parameters.quantity import Plain
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

# With ACKs divided into 16, slow start sends 3, 51, and the other 630 segments.
FILE: dict[str, Plain] = {
    **{"workload": "transfer", "transfer_size": "990000B", "transfers": 1, "access": "ethernet"},
    **{"delay": "250ms", "initcwnd": 3, "congestion_control": "reno", "divack_sender": 15},
    **{"gro": "off", "gso": "off", "tso": "off", "gso_segments": 1},
    **{"ack_policy": "divack", "divack": 15},
}


@pytest.mark.parametrize(
    ("values", "rounds"),
    [
        ({"tcp_rmem_default": "4MiB"}, 4),
        # 30 segments, and two more for each that arrives.
        ({"tcp_rmem_default": "4MiB", "initrwnd": 30}, 6),
        ({"initrwnd": 30}, 7),
        # 45 segments: half of the receive buffer.
        ({}, 6),
    ],
)
def test_file_takes_as_many_rounds_as_the_window_allows(
    lab_kernel: Kernel, tools: GuestTools, tmp_path: Path, values: dict[str, Plain], rounds: int
) -> None:
    case = Case(values, Parameters().replace({**FILE, **values}))
    result = run_one(RunRequest.of(lab_kernel, tools, case, 1), tmp_path)
    assert result.error is None
    assert rounds <= result.values["completion_time_ms_mean"] / 250 < rounds + 0.5
