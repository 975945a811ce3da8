# SPDX-License-Identifier: GPL-2.0-only
"""Measured points compared with a model, in results.json and in its table."""

from pathlib import Path

import pytest
from fake_run import record

from airtcp.experiment.figures import ModelFigure
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.results import assembly, modelfit
from airtcp.results.documents import SweepDocument
from airtcp.results.table import table
from airtcp.statistics import Summary

KERNEL = Kernel(Path("linux"), "6.12.0", "0123456789abcdef")

MODEL = """\
name: model
title: A model
source: nobody
description: For tests.
design:
  - tsq: [10packets, 100packets, 4ms]
    pacing_factor: [1, 2]
figures:
  - title: Data and model
    model: aggregation
    rate: 216Mbit
"""


# Computed by hand: 9.6 and 19.2 packets take 1035.11 and 1568.44 us; 71, the maximum of an
# aggregate, take 4446.22 us; 96 packets need 2 aggregates, 192 need 3.
MODEL_MBPS = {10: (111.2925, 146.8974), 100: (191.6234, 191.6234)}


MODEL_MS = {10: (4.57022, 5.63689), 100: (2.5 + 2 * 4.44622, 2.5 + 3 * 4.44622)}


def model_document(directory: Path, settings: str = "", text: str = MODEL) -> SweepDocument:
    """At 10 packets, goodput is 10% below the model and RTT 1 ms above; else equal."""
    path = directory / "model.yaml"
    path.write_text(text + settings)
    experiment = load(path)
    cases = experiment.cases()
    runs = []
    for case in cases:
        packets = int(str(case.factors["tsq"]).removesuffix("packets").removesuffix("ms"))
        index = int(float(case.factors["pacing_factor"])) - 1
        goodput, rtt = MODEL_MBPS.get(packets, (1, 1))[index], MODEL_MS.get(packets, (1, 1))[index]
        if packets == 10:
            goodput, rtt = 0.9 * goodput, rtt + 1
        runs.append((case, record(case, 1, {"goodput_mbps": goodput, "tcp_rtt_ms_p50": rtt})))
    return assembly.document(experiment, cases, KERNEL, runs, "./airtcp run model")


def test_document_compares_measured_points_with_the_model(tmp_path: Path) -> None:
    [found] = model_document(tmp_path).figures
    on_disk = found.model_dump()
    assert (on_disk["rate"], on_disk["packet"], on_disk["access"]) == ("216Mbit", "1500B", "500us")
    assert on_disk["title"] == "Data and model"
    assert on_disk["points"][0]["tsq_packets"] == 10
    assert found.compared
    points = found.compared.points
    assert [(point.tsq_packets, point.pacing_factor) for point in points] == [
        *((10, 1), (10, 2), (100, 1), (100, 2))
    ]
    backlogs = [point.backlog_packets for point in points]
    assert backlogs == pytest.approx([9.6, 19.2, 96, 192])
    errors = [point.throughput_mbps.error_percent for point in points]
    assert errors == pytest.approx([100 / 9, 100 / 9, 0, 0], abs=0.01)
    assert [point.rtt_ms.error for point in points] == pytest.approx([-1, -1, 0, 0], abs=1e-3)
    mean = found.compared.mean_absolute_error
    assert mean
    assert mean.throughput_mbps == pytest.approx((11.129 + 14.690) / 4, abs=0.01)
    assert mean.throughput_percent == pytest.approx(100 / 18, abs=0.01)
    assert mean.rtt_ms == pytest.approx(0.5, abs=1e-3)
    # The model's throughput is too low by 1 and by 3 Mbit/s, its RTT too high by as many ms.
    low, high = ((-1.0, -10.0), (-3.0, -20.0)), ((1.0, 5.0), (3.0, 15.0))
    wrong = [
        points[0].model_copy(update={"throughput_mbps": changed(a), "rtt_ms": changed(b)})
        for a, b in zip(low, high, strict=True)
    ]
    assert modelfit.mean_absolute_error(wrong) == modelfit.MeanAbsoluteError(
        throughput_mbps=2, throughput_percent=15, rtt_ms=2, rtt_percent=10
    )


def changed(errors: tuple[float, float]) -> modelfit.Compared:
    error, percent = errors
    return modelfit.Compared(measured=1, ci95=None, model=1, error=error, error_percent=percent)


@pytest.mark.parametrize("metric", ["goodput_mbps", "tcp_rtt_ms_p50"])
@pytest.mark.parametrize("absent", [None, Summary(0, None, 1)])
def test_a_case_without_goodput_or_rtt_is_not_compared_with_the_model(
    tmp_path: Path, metric: str, absent: Summary | None
) -> None:
    found = model_document(tmp_path)
    figure, case = found.figures[0].figure, found.runs[0]
    assert isinstance(figure, ModelFigure)
    measured = dict.fromkeys(("goodput_mbps", "tcp_rtt_ms_p50"), Summary(1, None, 1))
    assert modelfit.compare(figure, case.factors, case.parameters, measured)
    measured = {name: value for name, value in measured.items() if name != metric}
    values = measured | ({metric: absent} if absent else {})
    assert modelfit.compare(figure, case.factors, case.parameters, values) is None


def test_table_has_the_errors_of_the_model(tmp_path: Path) -> None:
    lines = table(model_document(tmp_path)).split("\n\n")[-1].splitlines()
    columns = ("Mbit/s", "model", "error", "%", "RTT", "ms", "model", "error", "%")
    assert lines[0].split() == ["Data", "and", "model", *columns]
    assert lines[1].split()[2:] == [
        *("100.16", "111.29", "+11.13", "+11.1"),
        *("5.57", "4.57", "-1.00", "-18.0"),
    ]
    assert len(lines) == 7  # 4ms is not a limit in packets; the last line is a note
    assert lines[-2].split() == ["mean", "absolute", "error", "6.45", "5.6", "0.50", "8.3"]


def test_the_table_omits_a_model_without_points(tmp_path: Path) -> None:
    found = model_document(tmp_path)
    [figure] = found.figures
    assert figure.compared
    for compared in (None, figure.compared.model_copy(update={"points": ()})):
        empty = figure.model_copy(update={"compared": compared})
        assert "Data and model" not in table(found.model_copy(update={"figures": (empty,)}))


def test_pacing_factor_can_be_excluded_from_the_limit(tmp_path: Path) -> None:
    [found] = model_document(tmp_path, "    pacing_multiplies: off\n").figures
    assert found.compared
    assert [point.backlog_packets for point in found.compared.points] == [8, 8, 80, 80]


def test_model_has_the_aggregates_of_the_case_and_the_buffer_of_the_figure(tmp_path: Path) -> None:
    design = MODEL.replace("[1, 2]", "[1, 2]\n    ampdu_mpdus: [1, preset]")
    found = model_document(tmp_path, "    buffer: 50\n", design).figures[0].compared
    assert found
    points = {
        (point.ampdu_mpdus, point.tsq_packets, point.pacing_factor): point for point in found.points
    }
    assert points[None, 100, 1].backlog_packets == points[1, 100, 2].backlog_packets == 50
    # One packet takes 557.33 us; 50 of them wait for each other, or are one aggregate.
    single, aggregate = points[1, 100, 1], points[None, 100, 1]
    assert single.throughput_mbps.model == pytest.approx(12000 / 557.333, rel=1e-4)
    assert single.rtt_ms.model == pytest.approx(2.5 + 50 * 0.557333, rel=1e-4)
    assert aggregate.rtt_ms.model == pytest.approx(2.5 + 2 * 3.279556, rel=1e-4)
