# SPDX-License-Identifier: GPL-2.0-only
"""The command line without a kernel: exit codes, one line per error, standard output."""

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import fake_run
import pytest

from airtcp import cli, interrupts
from airtcp.backends.guesttools import GuestTools
from airtcp.cli import doctor, sweeping
from airtcp.errors import AirtcpError, InputError
from airtcp.experiment import catalogue
from airtcp.experiment.metrics import METRICS
from airtcp.experiment.reader import load
from airtcp.kernel import image
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.paths import REPOSITORY
from airtcp.results import artifacts, documents, parquet, record
from airtcp.results.record import KernelRecord
from airtcp.sweep import session
from airtcp.sweep.request import Request, RunRequest
from airtcp.sweep.sweep import Batch, Outcome


@pytest.fixture(autouse=True)
def no_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the kernel and the guest's programs."""
    monkeypatch.setattr(doctor, "require_programs", lambda: None)
    monkeypatch.setattr(
        image, "build", lambda *_, **__: Kernel(Path("linux"), "6.12.0", "0123456789abcdef")
    )
    monkeypatch.setattr(sweeping, "build_tools", lambda _say: GuestTools(Path("tools")))


def broken(run_dir: Path) -> str:
    return f"it broke (console: {run_dir}/console.log)"


def sweep_with(
    monkeypatch: pytest.MonkeyPatch, *, failing: Sequence[int] = (), interrupted: bool = False
) -> None:
    """Replace sweeps by one that returns at once; runs of the seeds in `failing` fail."""

    def sweep(todo: Sequence[RunRequest], out_dir: Path, *_: object) -> Outcome:
        for job in todo:
            run_dir = job.directory(out_dir)
            run_dir.mkdir(parents=True)
            (run_dir / "plan.sh").touch()
            run = fake_run.record(
                *(job.case, job.seed, {} if job.seed in failing else dict.fromkeys(METRICS, 1.0)),
                status="failed" if job.seed in failing else "ok",
                error=broken(run_dir) if job.seed in failing else None,
                artifacts=artifacts.hashed(run_dir, out_dir),
                identity=job.identity,
            )
            record.write(run_dir, run)
        failures: dict[Request, str] = {
            job: broken(job.directory(out_dir)) for job in todo if job.seed in failing
        }
        return Outcome(list(todo), failures, interrupted)

    def sweep_batches(batches: Iterable[Batch], *_: object) -> None:
        for batch in batches:
            batch.ended(sweep(batch.todo, batch.out_dir))

    monkeypatch.setattr(session, "sweep", sweep)
    monkeypatch.setattr(session, "sweep_batches", sweep_batches)


@pytest.fixture
def all_experiments(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The experiments of `run all`, whose sweeps return at once."""
    sweep_with(monkeypatch)
    names = ["thesis-lan", "acklimit-vm"]
    monkeypatch.setattr(catalogue, "experiments", lambda: list(map(load, names)))
    return names


def test_json_prints_only_a_json_document(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_with(monkeypatch)
    arguments = ["run", "thesis-lan", "--set", "delay=0ms,50ms", "--set", "ack_policy=default,aad"]
    arguments += ["--duration", "30s", "--seeds", "3", "--out", "out", "--json"]
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 0
    printed = capsys.readouterr().out
    document = json.loads(printed)
    assert len(document["runs"]) == 12
    assert document["command"] == "./airtcp " + " ".join(arguments)
    assert (tmp_path / "out/results.json").read_text() == printed
    assert document["title"] == load("thesis-lan").title
    assert cli.main([*arguments, "--title", "Fewer ACKs"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Fewer ACKs"
    assert len(parquet.read(tmp_path / "out")) == 12


def test_files_of_the_user_are_kept_beside_the_results(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sweep_with(monkeypatch)
    samples = REPOSITORY / "samples"
    arguments = ["run", str(samples / "fetch.yaml"), "--policy", str(samples / "ackpol")]
    assert cli.main([*arguments, "--out", str(tmp_path)]) == 0
    kept = tmp_path / "inputs"
    assert (kept / "fetch.yaml").read_bytes() == (samples / "fetch.yaml").read_bytes()
    policy = {path.name for path in (kept / "policy").iterdir()}
    assert policy == {"Makefile", "tcp_ackpol_fixed.c"}
    assert cli.main(["run", "thesis-lan", "--set", "mcs=7", "--out", str(tmp_path / "named")]) == 0
    assert not (tmp_path / "named" / "inputs").exists()


@pytest.mark.parametrize(
    "command", ["run all --quick", "tournament --entrants fixed --conditions lan"]
)
def test_policies_of_the_user_are_kept_beside_the_results_of_several_experiments(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, all_experiments: list[str], command: str
) -> None:
    assert all_experiments
    policy = REPOSITORY / "samples" / "ackpol"
    arguments = [*command.split(), "--policy", str(policy), "--out", str(tmp_path)]
    assert cli.main(arguments) == 0
    kept = tmp_path / "inputs" / "policy"
    assert {path.name for path in kept.iterdir()} == {"Makefile", "tcp_ackpol_fixed.c"}


def test_files_are_kept_as_they_were_when_the_sweep_began(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sweep_with(monkeypatch)
    before = (REPOSITORY / "samples" / "fetch.yaml").read_bytes()
    mine = tmp_path / "mine.yaml"
    mine.write_bytes(before)

    def edit_and_measure(*arguments: Any) -> Any:
        mine.unlink()
        return session.measure(*arguments)

    monkeypatch.setattr("airtcp.cli.run.measure", edit_and_measure)
    assert cli.main(["run", str(mine), "--out", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "inputs" / "mine.yaml").read_bytes() == before


def test_run_prints_the_metrics_of_its_options(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_with(monkeypatch)
    arguments = ["run", "thesis-lan", "--set", "mcs=7", "--out", str(tmp_path)]
    assert cli.main([*arguments, "--metric", "tx_retries", "--metric", "collisions"]) == 0
    printed = capsys.readouterr().out
    assert [name for name in METRICS if name in printed] == ["tx_retries", "collisions"]
    assert cli.main(arguments) == 0
    assert "collisions" not in capsys.readouterr().out


def test_no_report_is_suggested_if_all_runs_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_with(monkeypatch, failing=[1])
    assert cli.main(["run", "thesis-lan", "--set", "mcs=7", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().out.endswith("results.json; no run has finished\n")


def test_run_all_runs_every_experiment_and_writes_a_page(
    all_experiments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", "all", "--quick", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'reproduction.md'}\n"
    page = (tmp_path / "reproduction.md").read_text()
    for name in all_experiments:
        assert f"### `{name}`" in page
        assert (tmp_path / name / "results.parquet").is_file()
        quick = [case.parameters.plain() for case in catalogue.quick(load(name))]
        assert [run.parameters for run in documents.read(tmp_path / name).runs] == quick
    (tmp_path / "reproduction.md").unlink()
    assert cli.main(["report", str(tmp_path), "--published"]) == 0
    assert (tmp_path / "reproduction.md").read_text() == page
    assert cli.main(["report", str(tmp_path), "--published", "--timeline", "1"]) == 2
    assert cli.main(["report", str(tmp_path / all_experiments[0]), "--published"]) == 2


def test_published_values_are_compared_with_the_first_kernel(
    all_experiments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["run", "all", "--quick", "--out", str(tmp_path)]) == 0
    page = tmp_path / "reproduction.md"
    of_one = [line for line in page.read_text().splitlines() if line.startswith("|")]
    for name in all_experiments:
        document = documents.read(tmp_path / name)
        kernel = KernelRecord(version="6.1.9", hash="fedcba9876543210")
        changed = {"kernel": kernel, "metrics": dict.fromkeys(METRICS, 1e3)}
        others = (run.model_copy(update=changed) for run in document.runs)
        both = document.model_copy(update={"runs": (*document.runs, *others)})
        documents.write(tmp_path / name, both)
    monkeypatch.setattr(artifacts, "damaged", lambda *_: [])
    assert cli.main(["report", str(tmp_path), "--published"]) == 0
    assert [line for line in page.read_text().splitlines() if line.startswith("|")] == of_one


def test_run_all_goes_on_after_an_experiment_that_cannot_be_measured(
    all_experiments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis-lan").mkdir()
    (tmp_path / "thesis-lan/.experiment").write_text("thesis-wan\n")
    assert cli.main(["run", "all", "--quick", "--out", str(tmp_path)]) == 2
    [line] = [line for line in capsys.readouterr().err.splitlines() if "has the runs of" in line]
    assert line.startswith(f"thesis-lan: {tmp_path / 'thesis-lan'} has the runs of the experiment ")
    assert "### `acklimit-vm`" in (tmp_path / "reproduction.md").read_text()


def test_a_failed_run_prints_one_line_and_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_with(monkeypatch, failing=[2])
    arguments = ["run", "thesis-lan", "--set", "mcs=7", "--set", "ack_policy=aad", "--seeds", "2"]
    assert cli.main([*arguments, "--out", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    run_dir = tmp_path / "runs" / "mcs-7_ack_policy-aad" / "seed-2"
    assert f"airtcp: mcs=7 ack_policy=aad seed=2: {broken(run_dir)}\n" in captured.err
    assert "mcs=7 ack_policy=aad  1" in captured.out


def test_ctrl_c_exits_with_130_and_says_what_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_with(monkeypatch, interrupted=True)
    assert cli.main(["run", "thesis-lan", "--out", str(tmp_path)]) == 130
    assert "21 of 21 runs are kept" in capsys.readouterr().err
    assert (tmp_path / "results.json").is_file()


def test_an_interrupted_tournament_leaves_the_page_of_an_earlier_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "index.html"
    page.write_text("finished")
    sweep_with(monkeypatch, interrupted=True)
    options = ["--entrants", "aad", "--conditions", "lan,delay-5", "--out", str(tmp_path)]
    assert cli.main(["tournament", *options]) == 130
    captured = capsys.readouterr()
    assert "interrupted after 0 of 2 conditions; the same command continues" in captured.err
    assert (captured.out, page.read_text()) == ("", "finished")


def test_copies_of_files_are_those_of_the_last_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sweep_with(monkeypatch)
    samples = REPOSITORY / "samples"
    run = ["run", str(samples / "fetch.yaml"), "--out", str(tmp_path)]
    assert cli.main([*run, "--policy", str(samples / "ackpol")]) == 0
    assert cli.main(run) == 0
    assert [path.name for path in (tmp_path / "inputs").rglob("*")] == ["fetch.yaml"]


def test_results_are_printed_if_files_cannot_be_copied(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_with(monkeypatch)
    (tmp_path / "inputs").touch()
    sample = REPOSITORY / "samples" / "fetch.yaml"
    assert cli.main(["run", str(sample), "--out", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert "results.json; next: " in captured.out
    assert f"airtcp: {tmp_path / 'inputs'}" in captured.err


def test_certificates_of_the_environment_are_only_for_clusters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_with(monkeypatch)
    monkeypatch.setenv("AIRTCP_CERTIFICATES", "/nonexistent")
    run = ["run", "thesis-lan", "--set", "mcs=7", "--out", str(tmp_path)]
    assert cli.main(run) == 0
    assert cli.main([*run, "--cluster", "tls://here:1"]) == 2
    assert "/nonexistent/ca.pem: No such file" in capsys.readouterr().err
    assert cli.main([*run, "--certificates", str(tmp_path)]) == 2
    assert "--certificates: allowed only with --cluster" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (AirtcpError("the build broke"), 1),
        (OSError(28, "No space left on device", "/source", None, "/out"), 1),
        (MemoryError(), 1),
        (RuntimeError("can't start new thread"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_errors_print_one_line_without_a_traceback(
    error: BaseException,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def build(*_: object, **__: object) -> Kernel:
        raise error

    monkeypatch.setattr(image, "build", build)
    assert cli.main(["kernel", "build"]) == code
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "/source" not in message  # of a copy, what could not be written


def test_an_error_caused_by_ctrl_c_exits_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def build(*_: object, **__: object) -> Kernel:
        monkeypatch.setattr(interrupts, "arrived", lambda: True)
        raise InputError("Error calling function `plain`: KeyboardInterrupt: ")

    monkeypatch.setattr(image, "build", build)
    assert cli.main(["kernel", "build"]) == 130
    assert capsys.readouterr().err == "airtcp: interrupted\n"


def test_results_are_queried_compared_and_exported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_with(monkeypatch, failing=[3])
    arguments = ["run", "thesis-lan", "--set", "mcs=7", "--set", "ack_policy=aad"]
    for name, seeds in (("a", "3"), ("b", "4")):
        cli.main([*arguments, "--seeds", seeds, "--out", str(tmp_path / name)])
    capsys.readouterr()
    sql = "SELECT count(*) AS runs, avg(goodput_mbps) AS mean, max(error) AS error FROM runs"
    both = [str(tmp_path / name) for name in "ab"]
    assert cli.main(["results", "query", sql, *both]) == 0
    where = "runs/mcs-7_ack_policy-aad/seed-3"
    assert capsys.readouterr().out == f"runs  mean  error\n   7     1  {broken(Path(where))}\n"
    for out in both:
        shutil.rmtree(Path(out) / "runs")
    assert cli.main(["results", "compare", *both]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[1].split() == (
        ["mcs=7", "ack_policy=aad", "goodput_mbps", *"21110"]
    )
    assert "12.7 standard errors" in captured.out.splitlines()[2]
    assert captured.err.splitlines() == [
        f"no counterpart with the same parameters and seed: 1 run of {both[1]}",
        *(f"airtcp: {out}/runs is missing: the files of runs are not checked" for out in both),
    ]
    assert cli.main(["results", "export", both[0]]) == 0
    assert capsys.readouterr().out.count("\n") == 4


def test_sweeps_without_a_common_run_are_not_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_with(monkeypatch)
    arguments = ["run", "thesis-lan", "--set", "mcs=7", "--set", "ack_policy=aad"]
    both = [str(tmp_path / name) for name in "ab"]
    for out_dir, duration in zip(both, ("2s", "5s"), strict=True):
        cli.main([*arguments, "--duration", duration, "--out", out_dir])
    capsys.readouterr()
    assert cli.main(["results", "compare", *both]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"airtcp: no run of {both[0]} has the same parameters and seed as a run of {both[1]}; "
        "they differ in duration (2s; 5s)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["worker"], ["Execute runs until the scheduler exits."]),
        (["results", "compare"], ["its 95% interval"]),
        (["results", "export"], ["Print the table of all runs as CSV."]),
        (["kernel", "series"], ["postable: the ACK policy", "research: more", "wifi: the ACK"]),
    ],
)
def test_help_contains(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        cli.main([*arguments, "--help"])
    assert exited.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert all(word in text for word in words), text


def test_list_prints_the_same_as_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "--json"]) == 0
    listed = [(row["name"], row["title"]) for row in json.loads(capsys.readouterr().out)]
    assert len(listed) > 10
    assert cli.main(["list"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert sorted(tuple(line.split(maxsplit=1)) for line in lines) == sorted(listed)


def test_show_prints_the_same_as_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "thesis-lan", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["cases"]) == 21 and len(shown["published"]) == 24
    assert cli.main(["show", "thesis-lan"]) == 0
    text = capsys.readouterr().out
    assert 'goodput_mbps 157.4 (Table 5.1, "LAN. No restrictions", default)' in text
    assert all(f" ({value['source']})" in text for value in shown["published"])
    for case in shown["cases"]:
        assert "\n    {}  ".format(" ".join(map("=".join, case.items()))) in text
    for key in ("source", "description"):
        assert shown[key] in text
    for name, value in shown["parameters"].items():
        mark = " " if value == Parameters.defaults()[name] else "*"
        assert f"\n  {mark} {name:<20} {value!s:<20} " in text
    assert "wired link, server to access point (tbf) [10kbit to 100Gbit or 'unlimited']\n" in text
    assert "9.75%" in shown["expects"]
    assert f"Expected: {shown['expects']}\n" in text
    assert f"Why values differ: {shown['reason']}\n" in text


def test_show_marks_published_bounds_and_approximate_values(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["show", "rrul"]) == 0
    text = capsys.readouterr().out
    assert "goodput_upload_mbps ≈ 10 (" in text and "ping_rtt_ms_p50 ≤ 35 (" in text


def test_show_lists_the_figures_of_an_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "tsq-size", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["figures"]
    assert [figure["y"] for figure in shown] == [["goodput_mbps"], ["ampdu_mpdus_mean"]]
    assert cli.main(["show", "tsq-size"]) == 0
    text = capsys.readouterr().out
    assert "(Figure 7): goodput_mbps against ping_rtt_ms_p50, lines congestion_control, " in text
