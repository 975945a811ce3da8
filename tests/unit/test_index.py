# SPDX-License-Identifier: GPL-2.0-only
"""The index of reports, and errors in the choice of a run."""

import json
import shutil
from pathlib import Path

import pytest
from small_report import Elements, write_results

from airtcp import cli
from airtcp.cli import messages
from airtcp.report import model


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
    assert "<dd>1 within 10%, 2 differs</dd>" in text
    assert "<dd>none</dd>" in text
    assert '<a href="second/report.html">second</a>' in text
    assert "<span>seeds=2</span>" in text
    report = (tmp_path / "second" / "report.html").read_text()
    assert (finding := report.split('<p class="finding">')[1].split("</p>")[0])
    assert text.count(f'<p class="note">{finding}</p>') == 2
    assert "<p>A &lt;small&gt; experiment</p>" in text
    assert f"./airtcp report {tmp_path / 'bare'}" in text
    assert cli.main(["report", "--index", str(tmp_path)]) == 0
    assert (tmp_path / "index.html").read_text() == text


def test_a_card_has_the_title_of_its_report(site: Path, tmp_path: Path) -> None:
    shutil.copytree(site / "two", tmp_path / "two")
    assert cli.main(["report", str(tmp_path / "two"), "--title", "Fewer <ACKs>"]) == 0
    assert cli.main(["report", "--index", str(tmp_path)]) == 0
    text = (tmp_path / "index.html").read_text()
    assert "<p>Fewer &lt;ACKs&gt;</p>" in text and "small&gt; experiment" not in text


def test_a_damaged_report_has_a_card(site: Path, tmp_path: Path) -> None:
    shutil.copytree(site / "two", tmp_path / "two")
    (tmp_path / "two" / "report.html").write_bytes(b"<title>Fewer\xff ACKs</title>\0")
    assert cli.main(["report", "--index", str(tmp_path)]) == 0
    assert "<p>Fewer\ufffd ACKs</p>" in (tmp_path / "index.html").read_text()


@pytest.mark.parametrize(
    ("command", "settings"),
    [
        ("./airtcp run x", []),
        (
            "./airtcp run x --set delay=0ms,10ms --duration 2s --set 'command=ls -l' --quick",
            ["delay=0ms,10ms", "command=ls -l", "duration=2s", "quick"],
        ),
        ("./airtcp run x --set=delay=0ms,10ms --seeds=2", ["delay=0ms,10ms", "seeds=2"]),
        ("an 'unbalanced quote", []),
    ],
)
def test_what_a_command_sets(command: str, settings: list[str]) -> None:
    assert model.settings_of(command) == settings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--single-file", "--figures"], "--figures: writes other files"),
        (["--index"], "no directory in it has a report.html"),
        (
            ["--index", "--run", "aad_0ms/seed-1"],
            "--index: no other option is allowed with it",
        ),
    ],
)
def test_an_index_error_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert cli.main(["report", str(tmp_path), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_directory_of_experiments_gets_a_report_of_each_and_an_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("first", "second"):
        write_results(tmp_path / name)
    (tmp_path / "third").mkdir()
    (tmp_path / "third" / "results.json").write_text("{}")
    assert cli.main(["report", str(tmp_path)]) == 1
    said = capsys.readouterr()
    pages = [tmp_path / "first" / "report.html", tmp_path / "second" / "report.html"]
    assert said.out.split() == [str(path) for path in (*pages, tmp_path / "index.html")]
    assert all(path.exists() for path in pages)
    assert "first (1 of 3)\n" in said.err and "third (3 of 3)\nairtcp: " in said.err
    assert (tmp_path / "index.html").read_text().count("<li class") == 2
    assert cli.main(["report", str(tmp_path), "--run", "aad_0ms/seed-1"]) == 2
    assert "has 3 experiments: --run, --timeline and --title" in capsys.readouterr().err


def test_an_experiment_without_a_new_report_is_not_in_the_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directories = [tmp_path / "first", tmp_path / "second"]
    for directory in directories:
        write_results(directory)
    assert cli.main(["report", str(tmp_path)]) == 0
    index = tmp_path / "index.html"
    index.unlink()
    capsys.readouterr()

    (directories[1] / "results.json").write_text("{}")
    assert cli.main(["report", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.out.split() == [str(directories[0] / "report.html"), str(index)]
    assert said.err.count("\nairtcp: ") == 1
    assert index.read_text().count("<li class") == 1
    assert f"./airtcp report {directories[1]}" in index.read_text()

    (directories[0] / "results.json").write_text("{}")
    index.unlink()
    assert cli.main(["report", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("\nairtcp: ") == 2 and not index.exists()


def test_the_page_of_a_tournament_is_not_replaced_by_an_index(tmp_path: Path) -> None:
    write_results(tmp_path / "one")
    (tmp_path / "tournament.md").touch()
    (tmp_path / "index.html").write_text("tournament")
    assert cli.main(["report", str(tmp_path)]) == 0
    assert (tmp_path / "index.html").read_text() == "tournament"
    assert (tmp_path / "one" / "report.html").exists()


def test_progress_is_shown_only_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for tty, shown in ((False, ""), (True, "\r\033[Kone: condition 2 of 3\r\033[K")):
        monkeypatch.setattr("sys.stderr.isatty", lambda tty=tty: tty)
        with messages.counter("one: condition") as count:
            count(2, 3)
        assert capsys.readouterr().err == shown


def test_a_missing_run_is_refused(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(site / "one"), "--run", "aad_0ms/seed-9"]) == 2
    error = capsys.readouterr().err
    assert "allowed: default_0ms/seed-1 default_0ms/seed-2 aad_0ms/seed-1" in error
    assert error.count("\n") == 1
