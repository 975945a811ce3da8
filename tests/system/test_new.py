# SPDX-License-Identifier: GPL-2.0-only
"""`new`, then `run` and `report`, as a user types them in any directory."""

import subprocess
from pathlib import Path

from airtcp.kernel.image import Kernel

AIRTCP = Path(__file__).parents[2] / "airtcp"


def test_experiment_that_new_writes_can_be_run(lab_kernel: Kernel, tmp_path: Path) -> None:
    def airtcp(*arguments: str) -> str:
        done = subprocess.run([AIRTCP, *arguments], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    airtcp("new", "mine")
    table = airtcp("run", "mine.yaml")
    assert "ack_policy=aad rate=50Mbit" in table
    assert "results/mine/results.json" in table
    assert airtcp("report", "results/mine") == "results/mine/report.html\n"
    page = (tmp_path / "results" / "mine" / "report.html").read_text()
    assert "Goodput versus wire rate" in page
    assert {path.name for path in tmp_path.iterdir()} == {
        *("mine.yaml", "airtcp.schema.json", "results"),
    }
