# SPDX-License-Identifier: GPL-2.0-only
"""results.json and its table: summaries, published values, gains."""

import json
import re
from pathlib import Path
from typing import cast

import pytest
from fake_run import record

from airtcp.errors import InputError
from airtcp.experiment import papers
from airtcp.experiment.experiment import Case, Experiment, Setting
from airtcp.experiment.metrics import METRICS
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.results import assembly, documents, jsonfile
from airtcp.results.documents import SummaryRow, SweepDocument
from airtcp.results.record import FlowRecord, KernelRecord, RunRecord, read, write
from airtcp.results.table import table

KERNEL = Kernel(Path("linux"), "6.12.0", "0123456789abcdef")


def run(
    case: Case, seed: int, value: float | None, metric: str = "goodput_mbps"
) -> tuple[Case, RunRecord]:
    """A finished run with one metric, or a failed run."""
    if value is None:
        return case, record(case, seed, {}, status="failed", error="it broke")
    return case, record(case, seed, dict.fromkeys(METRICS) | {metric: value})


def thesis(*settings: str) -> tuple[Experiment, list[Case]]:
    experiment = load("thesis-lan")
    return experiment, experiment.cases([Setting.parse(text) for text in settings])


def document(goodputs: dict[str, list[float | None]]) -> SweepDocument:
    experiment, cases = thesis("delay=0ms", "ack_policy=default,aad")
    runs = [
        run(case, seed, value)
        for case in cases
        for seed, value in enumerate(goodputs[str(case.factors["ack_policy"])], start=1)
    ]
    return assembly.document(experiment, cases, KERNEL, reversed(runs), "./airtcp run thesis-lan")


def summary(found: SweepDocument, policy: str, metric: str) -> SummaryRow:
    [row] = [
        row for row in found.summary if row.factors["ack_policy"] == policy and row.metric == metric
    ]
    return row


def test_published_values_are_compared_with_runs_of_the_first_kernel() -> None:
    experiment, [case] = thesis("delay=0ms", "ack_policy=default")
    others = KernelRecord(version="6.1.9", hash="fedcba9876543210")
    first, second = run(case, 1, 160), run(case, 2, 320)
    second = case, second[1].model_copy(update={"kernel": others})
    found = assembly.document(experiment, [case], KERNEL, [first, second], "./airtcp run")
    assert {(row.measured, row.n) for row in found.published if row.n} == {(160, 1)}
    again = assembly.without(found, [found.runs[1]])
    assert {(row.measured, row.n) for row in again.published if row.n} == {(160, 1)}
    assert not any(row.n for row in assembly.without(found, [found.runs[0]]).published)


def test_document_has_kernel_runs_and_summary() -> None:
    found = document({"default": [160, 162], "aad": [180, 184]})
    assert found.schema_version == 3
    assert found.experiment == "thesis-lan"
    assert found.kernel == KernelRecord(version="6.12.0", hash="0123456789abcdef")
    assert [(run.factors["ack_policy"], run.seed) for run in found.runs] == [
        ("default", 1),
        ("default", 2),
        ("aad", 1),
        ("aad", 2),
    ]
    assert len(found.summary) == 2 * len(METRICS)
    goodput = summary(found, "default", "goodput_mbps")
    assert goodput.mean == 161
    assert goodput.n == 2
    # Student's t for one degree of freedom is 12.706; the standard error is 1.
    assert goodput.ci95 == pytest.approx(12.706, abs=1e-3)
    assert goodput.published and goodput.published.value == 157.4
    assert "Table 5.1" in goodput.published.source
    assert summary(found, "default", "retransmits").mean is None
    assert summary(found, "default", "retransmits").published is None


def test_a_failed_run_is_listed_but_not_summarized() -> None:
    found = document({"default": [160, None], "aad": [None, None]})
    assert [run.status for run in found.runs] == ["ok", "failed", "failed", "failed"]
    goodput = summary(found, "default", "goodput_mbps")
    assert (goodput.mean, goodput.ci95, goodput.n) == (160, None, 1)
    assert summary(found, "aad", "goodput_mbps").n == 0
    [line] = [line for line in table(found).splitlines() if "ack_policy=default" in line]
    assert line.split()[2:] == ["1", "160.00", "-", "157.4", "1.02"]


def test_published_gains_are_computed_from_published_means() -> None:
    text = table(document({"default": [100, 200], "aad": [110, 220]}))
    lines = text.splitlines()
    # Student's t for one degree of freedom is 12.706; the standard error is 50.
    assert lines[1].split()[2:6] == ["2", "150.00", "±", "635.31"]
    assert lines[4].split() == ["gain", "over", "default", "95%", "published"]
    [gain] = [line for line in lines if line.endswith("+10.8%")]
    assert gain.split() == ["delay=0ms", "ack_policy=aad", "+10.0%", "±", "0.0%", "+10.8%"]


def test_the_interval_of_a_gain_is_in_percent() -> None:
    """Ratios of 1.1 and 1.3; without a published value of one of the two there is no gain."""
    found = document({"default": [100, 100], "aad": [110, 130]})
    assert table(found).splitlines()[5].split()[2:] == ["+20.0%", "±", "127.1%", "+10.8%"]
    for policy in ("default", "aad"):
        summaries = tuple(
            row.model_copy(update={"published": None})
            if row.factors["ack_policy"] == policy
            else row
            for row in found.summary
        )
        lines = table(found.model_copy(update={"summary": summaries})).splitlines()
        assert lines[5].split()[2:] == ["+20.0%", "±", "127.1%"]


def test_no_change_has_no_sign() -> None:
    lines = table(document({"default": [100, 200], "aad": [100 - 1e-9, 200]})).splitlines()
    assert lines[5].split() == ["delay=0ms", "ack_policy=aad", "0.0%", "±", "0.0%", "+10.8%"]


def test_table_has_published_values() -> None:
    lines = table(document({"default": [157.4], "aad": [348.8]})).splitlines()
    values = ["1", "157.40", "-", "157.4", "1.00"]
    assert lines[1].split() == ["delay=0ms", "ack_policy=default", *values]
    assert lines[2].split()[-2:] == ["174.4", "2.00"]


def test_table_has_the_metrics_that_are_asked_for() -> None:
    experiment, cases = thesis("delay=0ms", "ack_policy=default,aad")
    shares = {"default": 0.0944, "aad": 0.0472}
    runs = [
        run(case, 1, shares[str(case.factors["ack_policy"])], "airtime_ack_share") for case in cases
    ]
    found = assembly.document(experiment, cases, KERNEL, runs, "./airtcp run thesis-lan")
    parts = table(found, ["airtime_ack_share", "retransmits", "flow_jain"]).split("\n\n")
    shown = [[line.split() for line in part.splitlines()] for part in parts]
    assert shown[0][0] == ["n", "airtime_ack_share", "95%"]  # nothing published
    assert shown[0][1][2:] == ["1", "0.0944", "-"]
    assert shown[1][0][:3] == ["change", "from", "default"]
    assert shown[1][1][2:] == ["-50.0%", "-"]
    assert shown[2][0][:3] == ["n", "retransmits", "segments"]
    assert shown[2][1][2:] == shown[3][1][2:] == ["0", "-", "-"]
    assert not any("goodput Mbit/s" in part for part in parts)
    notes = [line for line in parts[-1].splitlines() if line.startswith("note: ")]
    assert "note: retransmits does not apply to any of these runs: " in notes[1]
    assert len(notes) == 3 and "airtime" not in "".join(notes)


def test_table_says_which_published_values_are_bounds() -> None:
    found = document({"default": [157.4], "aad": [348.8]})
    for precision, sign in papers.SIGNS.items():
        rows = [
            row.model_copy(
                update={
                    "published": row.published
                    and row.published.model_copy(update={"precision": precision})
                }
            )
            for row in found.summary
        ]
        line = table(found.model_copy(update={"summary": tuple(rows)})).splitlines()[2]
        assert line.split()[5:-1] == f"{sign}174.4".split()


@pytest.mark.parametrize(
    ("runs", "words"),
    [(1, "unless nothing is random, as on cables"), (2, "12.7 standard errors"), (3, None)],
)
def test_a_note_under_the_table_reports_too_few_runs(runs: int, words: str | None) -> None:
    goodputs: list[float | None] = [100.0 + seed for seed in range(runs)]
    text = table(document({"default": goodputs, "aad": goodputs}))
    last = text.splitlines()[-1]
    if words is None:
        assert "note" not in text
    else:
        assert last.startswith("note: ") and words in last and "--seeds" in last


def test_ratios_are_in_a_table_of_their_own() -> None:
    found = document({"default": [100], "aad": [110]})
    values = {"relative_to": {"ack_policy": "default"}, "measured": 1.1, "published": 1.2, "n": 1}
    ratio = found.published[0].model_copy(update=values | {"ci95": None, "agreement": "differs"})
    lines = table(found.model_copy(update={"published": (ratio,)})).split("\n\n")[-1].splitlines()
    assert lines[0].startswith("relative to others")
    assert lines[1].endswith(", relative to ack_policy default  1    1.1        1.2  differs")


@pytest.mark.parametrize(
    "factors", [("workload=bulk,request_response",), ("workload=request_response",)]
)
def test_each_workload_has_a_table_with_its_cases(factors: tuple[str, ...]) -> None:
    experiment, cases = thesis(*factors, "ack_policy=default,every")
    times_ms = {"default": [10.0, 20.0], "every": [9.0, 18.0]}
    runs = [
        run(case, seed, value, "request_response_ms_mean")
        if case.parameters.workload == "request_response"
        else run(case, seed, None)
        for case in cases
        for seed, value in enumerate(times_ms[str(case.factors["ack_policy"])], start=1)
    ]
    found = assembly.document(experiment, cases, KERNEL, runs, "./airtcp run thesis-lan")
    tables = [part.splitlines() for part in table(found).split("\n\n")]
    if "bulk" in factors[0]:
        bulk = tables.pop(0)
        assert "goodput Mbit/s" in bulk[0]
        assert ["workload=bulk" in line for line in bulk[1:]] == [True, True]
    latencies, changes = tables
    assert "mean latency ms" in latencies[0]
    assert [line.split()[3] for line in latencies[1:]] == ["15.00", "13.50"]
    assert "change from default (less is better)" in changes[0]
    label = ["workload=request_response", "ack_policy=every"]
    assert changes[1].split() == [*label, "-10.0%", "±", "0.0%"]


@pytest.mark.parametrize(
    ("workloads", "heads"),
    [
        (("transfer",), ["n mean completion time ms 95%"]),
        (("bulk", "web"), ["n goodput Mbit/s 95% published ratio", "n mean page time ms 95%"]),
    ],
)
def test_a_custom_topology_has_tables_of_the_workloads_of_its_flows(
    workloads: tuple[str, ...], heads: list[str]
) -> None:
    experiment, [case] = thesis("delay=0ms", "ack_policy=default")
    ends = {"name": "a-b", "sender": "a", "receiver": "b", "protocol": "tcp", "start_s": 0}
    none = dict.fromkeys(("congestion_control", "seconds", "received_bytes", "goodput_mbps"))
    flows = [FlowRecord(**ends, **none, workload=workload) for workload in workloads]
    done = record(case, 1, {"goodput_mbps": None}).model_copy(update={"flows": tuple(flows)})
    found = assembly.document(experiment, [case], KERNEL, [(case, done)], "./airtcp run own.yaml")
    printed = [part.splitlines()[0] for part in table(found).split("\n\n")]
    assert [re.sub(" +", " ", head).strip() for head in printed] == heads


def test_cases_without_runs_are_in_the_table_of_their_workload() -> None:
    """That of their factor, of the other cases of a topology, or bulk if there is no run."""

    def first_column(cases: list[Case], *runs: tuple[Case, RunRecord]) -> list[list[str]]:
        found = assembly.document(experiment, cases, KERNEL, runs, "./airtcp run")
        tables = [part.splitlines() for part in table(found).split("\n\n")]
        return [[lines[0].split()[1], *(line.split()[0] for line in lines[1:])] for lines in tables]

    experiment, cases = thesis("workload=bulk,web", "ack_policy=default")
    bulk = run(cases[0], 1, 100)
    expected = [["goodput", "workload=bulk"], ["mean", "workload=web"]]
    assert [each[:2] for each in first_column(cases, bulk)] == expected
    _, cases = thesis("delay=0ms,10ms", "ack_policy=default")
    case, done = run(cases[0], 1, 5, "completion_time_ms_mean")
    transfers = done.model_copy(update={"parameters": {"workload": "transfer"}})
    delays = ["delay=0ms", "delay=10ms"]
    assert [each[:3] for each in first_column(cases, (case, transfers))] == [["mean", *delays]]
    assert [each[:3] for each in first_column(cases)] == [["goodput", *delays]]


def test_written_results_are_read_back(tmp_path: Path) -> None:
    found = document({"default": [1], "aad": [2]})
    documents.write(tmp_path, found)
    assert documents.read(tmp_path) == found
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_results_that_run_has_not_written_yet_are_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"; give a directory that `run` wrote$"):
        documents.read(tmp_path)
    (tmp_path / "runs").mkdir()
    with pytest.raises(InputError, match="; `run` writes it at its end; if it was killed, "):
        documents.read(tmp_path)


def test_a_document_also_has_the_verdicts_of_schema_1() -> None:
    [row, *_] = document({"default": [157.4], "aad": [174.4]}).model_dump()["published"]
    assert (row["agreement"], row["verdict"]) == ("within 10%", "in size")


def test_verdicts_of_schema_2_are_judged_again(tmp_path: Path) -> None:
    """Approximate values were within tolerance up to 20%, large changes up to half."""
    found = document({"default": [157.4], "aad": [174.4]}).model_dump()
    row = found["published"][0]
    value = row | {"published": 100.0, "agreement": "within tolerance"}
    ratio = value | {"relative_to": {"ack_policy": "aad"}, "published": 2.0}
    words = {"published": "same", "ratio": None, "relative_to": {"ack_policy": "aad"}}
    rows = [
        value | {"measured": 109.0, "ratio": 1.09},
        value | {"measured": 115.0, "ratio": 1.15, "precision": "approximate"},
        ratio | {"measured": 1.9, "ratio": 0.95},
        ratio | {"measured": 1.7, "ratio": 0.85},
        value | words,
        *(value | {"agreement": word} for word in ("same trend", "not reproduced", "not measured")),
    ]
    del found["reason"]
    earlier = jsonfile.text(found | {"schema": 2, "published": rows})
    (tmp_path / "results.json").write_text(earlier)
    read = documents.read(tmp_path)
    assert [each.agreement for each in read.published] == [
        *("within 10%", "same trend", "within 10%", "same trend", "within 10%"),
        *("same trend", "differs", "not measured"),
    ]
    assert (read.schema_version, read.reason, read.published_duration_s) == (3, "", 300)


@pytest.mark.filterwarnings("error")
def test_runs_of_custom_topologies_are_written_with_their_flows(tmp_path: Path) -> None:
    _, cases = thesis("delay=0ms", "ack_policy=default")
    bulk = FlowRecord(
        **{"name": "a-b", "sender": "a", "receiver": "b", "protocol": "udp", "start_s": 0},
        **{"congestion_control": None, "seconds": 2, "received_bytes": 7, "goodput_mbps": 0.5},
        service="EF",
    )
    web = bulk.model_copy(
        update={"workload": "web", "seconds": None, "received_bytes": None, "goodput_mbps": None}
    )
    plain = record(cases[0], 1, {"retransmits": 3, "goodput_mbps": None})
    custom = plain.model_copy(update={"network": {"topology": {}}, "flows": (bulk, web)})
    for run in (plain, custom):
        write(tmp_path, run)
        assert read(tmp_path) == run
    on_disk = json.loads((tmp_path / "result.json").read_text())
    first, second = on_disk["flows"]
    assert (first["from"], first["workload"], first["class"]) == ("a", "bulk", "EF")
    assert (second["workload"], second["seconds"]) == ("web", None)
    assert on_disk["metrics"] == {"retransmits": 3, "goodput_mbps": None}
    assert "network" not in plain.model_dump() and "flows" not in plain.model_dump()


def test_flows_without_a_workload_are_bulk() -> None:
    """In earlier versions, custom topologies had no other workload."""
    old = {
        **{"name": "a-b", "from": "a", "to": "b", "protocol": "tcp", "congestion_control": "bbr"},
        **{"start_s": 0, "seconds": 2, "received_bytes": 7, "goodput_mbps": 0.5},
    }
    flow = FlowRecord.model_validate(old)
    assert (flow.sender, flow.workload, flow.service) == ("a", "bulk", None)


def test_documents_of_older_versions_are_upgraded_step_by_step() -> None:
    class Third(jsonfile.Document):
        steps: list[int]

    def upgrade(step: int) -> jsonfile.Upgrade:
        return lambda document: document | {"steps": [*cast(list[int], document["steps"]), step]}

    form = jsonfile.Form(Third, 3, {1: upgrade(1), 2: upgrade(2)})
    first = jsonfile.JsonObject(schema=1, steps=[])
    assert form.parse(json.dumps(first).encode()).steps == [1, 2]
    second = jsonfile.JsonObject(schema=2, steps=[])
    assert form.parse(jsonfile.text(second).encode()).steps == [2]
    with pytest.raises(ValueError, match=r"^has changed$"):  # schema 2 added a hash
        form.parse(json.dumps(second).encode())
    with pytest.raises(jsonfile.VersionMismatchError, match=r"schema 4.* reads schemas 1 to 3"):
        form.parse(jsonfile.text(jsonfile.JsonObject(schema=4)).encode())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "results.json: No such file"),
        ("{", "results.json is not JSON"),
        pytest.param("[" * 100_000, "results.json is not JSON", id="deeply nested"),
        ("{}", "results.json is not a document of airtcp: it has no schema"),
        ("[]", "it has no schema"),
        ('{"schema": 4}', "results.json is of schema 4, .* this one reads schemas 1 to 3$"),
        ('{"schema": 1, "published": [{}]}', "is not a complete document of schema 1"),
        ('{"schema": 1, "figures": [{"x": ["a"]}]}', "is not a complete document of schema 1"),
        ('{"schema": 1, "runs": 5}', "is not a complete document .*again"),
        ('{"schema": 1, "runs": null}', "is not a complete document .*again"),
        ('{"schema": 1, "runs": []}', "not a complete document .experiment: Field required.*again"),
    ],
)
def test_a_directory_without_results_is_bad_input(
    tmp_path: Path, text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / "results.json").write_text(text)
    with pytest.raises(InputError, match=message):
        documents.read(tmp_path)
