# SPDX-License-Identifier: GPL-2.0-only
"""A tournament from the command to the page, with two conditions and one entrant."""

import json
from pathlib import Path

import pytest
from small_report import Elements

from airtcp import cli
from airtcp.experiment import tournament as field


def test_a_tournament_ranks_policies_and_keeps_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    everything = field.load()
    conditions = [each for each in everything.conditions if each.name in ("lan", "files-10k")]
    quick = field.Extent(seeds=2, duration="1s")
    small = everything.model_copy(update={"conditions": tuple(conditions), "quick": quick})
    monkeypatch.setattr(field, "load", lambda: small)
    command = ["tournament", "--entrants", "count-32", "--out", str(tmp_path), "--json"]
    assert cli.main(command) == 0
    document = json.loads(capsys.readouterr().out)
    policies = {policy["name"]: policy for policy in document["policies"]}
    assert policies.keys() == {"default", "count-32"}
    assert policies["count-32"]["acks_per_s"] < policies["default"]["acks_per_s"]
    assert policies["count-32"]["completion_ratio"] > 0
    assert [case["name"] for case in document["cases"]] == ["lan", "files-10k"]

    elements = Elements((tmp_path / "index.html").read_text())
    assert not elements.open
    links = [link for link in elements.references if not link.startswith("#")]
    assert len(links) == 4
    assert all((tmp_path / link).is_dir() for link in links)

    # A condition is an ordinary sweep, and nothing runs again.
    assert cli.main(["report", str(tmp_path / "lan")]) == 0
    capsys.readouterr()
    assert cli.main(command) == 0
    again = capsys.readouterr()
    assert json.loads(again.out) == document
    assert again.err.count("4 of 4 runs are in") == 2
