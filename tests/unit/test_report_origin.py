# SPDX-License-Identifier: GPL-2.0-only
"""What a report says about the origin of its results: topology, version of airtcp."""

import json
from pathlib import Path

import pytest
from small_report import text_of, write_results

from airtcp.experiment.topology import Network
from airtcp.report import contents, model, page

TOPOLOGY = '<h3 id="topology">'


def test_page_names_the_versions_of_airtcp_that_did_the_runs(tmp_path: Path) -> None:
    write_results(tmp_path)
    host = {"kernel": "6.1", "cpu": "x", "distribution": "y"}
    for seed, command in ((1, "run a"), (2, "run b")):  # one version, two commands
        path = tmp_path / f"runs/aad_0ms/seed-{seed}/result.json"
        written = {"version": "1.2", "commit": "abc", "command": command, "host": host}
        path.write_text(json.dumps(json.loads(path.read_text()) | {"provenance": written}))
    document = json.loads((tmp_path / "results.json").read_text())
    document["runs"] = [
        json.loads(path.read_text()) for path in sorted(tmp_path.glob("runs/*/*/result.json"))
    ]
    (tmp_path / "results.json").write_text(json.dumps(document))
    assert text_of(tmp_path).count("<dt>airtcp</dt><dd>1.2, commit abc</dd>") == 1


def test_page_describes_a_custom_topology(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert TOPOLOGY not in text_of(write_results(tmp_path))
    shown = contents.describe(model.load(tmp_path))
    network = {
        "topology": {
            "servers": {"near": {}},
            "access_points": {"ap": {}},
            "stations": {"phone": {"access_point": "ap", "mcs": 1}},
        },
        "flows": [{"from": "near", "to": "phone", "start": "1s"}],
        "schedule": [{"at": "2s", "node": "phone", "set": {"ack_policy": "aad"}}],
    }
    monkeypatch.setattr(model.Run, "network", property(lambda _: Network.model_validate(network)))
    text = page.render(
        shown, {plot.slug: page.Saved("<svg></svg>", {}, None) for plot in shown.plots}, None
    )
    for line in (
        "station phone: access point ap, mcs 1",
        "flow near to phone: start 1s",
        "at 2s phone: ACK policy aad",
    ):
        assert f"<li>{line}</li>" in text
    assert TOPOLOGY in text
