# SPDX-License-Identifier: GPL-2.0-only
"""The index of reports, and errors in the choice of a run."""

import json
import shutil
from pathlib import Path

import pytest
from small_report import Elements

from airtcp import cli


def test_index_has_a_card_for_each_report(site: Path, tmp_path: Path) -> None:
    for name in ("first one", "second"):
        shutil.copytree(site / "one", tmp_path / name)
    shutil.copytree(site / "one", tmp_path / "bare")
    (tmp_path / "bare" / "report.html").unlink()
    path = tmp_path / "second" / "results.json"
    row = {"factors": {}, "relative_to": {}, "metric": "goodput_mbps", "published": 1.0}
    row |= {"precision": "exact", "source": "", "measured": 1.0, "ci95": None, "n": 1}
    row |= {"ratio": 1.0, "reason": "", "derived": False}
    rows = [row | {"verdict": verdict} for verdict in ("no", "in size", "no")]
    path.write_text(json.dumps(json.loads(path.read_text()) | {"published": rows}))
    assert cli.main(["report", "--index", str(tmp_path)]) == 0
    text = (tmp_path / "index.html").read_text()
    elements = Elements(text)
    assert not elements.open
    assert len(elements.ids) == len(set(elements.ids))
    links = [link for link in elements.references if not link.startswith("#")]
    assert links == ["first%20one/report.html", "second/report.html"]
    assert "<dd>1 within tolerance, 2 not reproduced</dd>" in text
    assert "<dd>nothing published</dd>" in text
    assert "A &lt;small&gt; experiment" in text
    assert f"./airtcp report {tmp_path / 'bare'}" in text
    assert cli.main(["report", "--index", str(tmp_path)]) == 0
    assert (tmp_path / "index.html").read_text() == text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--index"], "no directory in it has a report.html"),
        (
            ["--index", "--run", "aad_0ms/seed-1"],
            "--index: --run, --timeline and --figures are not",
        ),
    ],
)
def test_an_index_error_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert cli.main(["report", str(tmp_path), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_missing_run_is_refused(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(site / "one"), "--run", "aad_0ms/seed-9"]) == 2
    error = capsys.readouterr().err
    assert "allowed: default_0ms/seed-1 default_0ms/seed-2 aad_0ms/seed-1" in error
    assert error.count("\n") == 1
