# SPDX-License-Identifier: GPL-2.0-only
"""Both directions, classes, latency probes, web pages; Flent can plot all of them."""

import csv
import subprocess
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy
import pytest
from guests import PATH_METRICS, UDP_METRICS, Measure, thesis_case

from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.metrics import METRICS
from airtcp.files.exchanges import read_exchanges
from airtcp.files.latency import read_udp_ping
from airtcp.kernel.image import Kernel
from airtcp.results.record import RunRecord
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

# The paper's radio, as in the experiment tsq-size.
ATH9K = (
    *("preset=ar5bhb116", "streams=2", "mcs=7", "width=40MHz", "guard_interval=400ns"),
    *("gso=off", "tso=off", "gro=off", "tso_rtt_log=0"),
)
RRUL = (
    *(*ATH9K, "direction=both", "flows=4", "dscp=rrul"),
    *("udp_ping_interval=200ms", "baseline=2s", "duration=4s"),
)
BOTH = ("direction=both", "flows=2", "udp_ping_interval=200ms", "duration=3s")
UPLOAD = ("direction=upload", "flows=8", "duration=4s", "sack=on")
DOWNLOAD = ("duration=3s",)
UDP = ("protocol=udp", "udp_rate=30Mbit", "duration=3s")
ASKED = ("workload=request_response", "exchanges=300")
WEB = ("workload=web", "pages=6", "reading_time=200ms")

CLASSES = ("BE", "BK", "CS5", "EF")
OTHERS = (
    *("request_response_ms", "completion_time_ms", "page_time_ms", "command_time_ms"),
    *(*UDP_METRICS, *PATH_METRICS),
)


class Runs:
    """Runs with seed 1, each executed once."""

    def __init__(self, kernel: Kernel, tools: GuestTools, out_dir: Path) -> None:
        self._kernel, self._tools, self._out_dir = kernel, tools, out_dir
        self._done: dict[tuple[str, ...], RunRecord] = {}

    def __call__(self, *settings: str) -> RunRecord:
        if settings not in self._done:
            case = thesis_case(*settings)
            self._done[settings] = run_one(
                RunRequest.of(self._kernel, self._tools, case, 1), self._out_dir
            )
        result = self._done[settings]
        assert result.error is None
        return result

    def directory(self, result: RunRecord) -> Path:
        path: str = result.artifacts["plan.sh"].path
        return (self._out_dir / path).parent


@pytest.fixture(scope="module")
def runs(lab_kernel: Kernel, tools: GuestTools, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(lab_kernel, tools, tmp_path_factory.mktemp("runs"))


def missing(result: RunRecord) -> set[str]:
    return {name for name, value in result.metrics.items() if value is None}


def named(*prefixes: str) -> set[str]:
    return {name for name in METRICS if name.startswith(prefixes)}


def goodputs_mbps(run_dir: Path) -> Mapping[tuple[str, str, str], float]:
    """Goodput by direction, class and number of a flow, from series.csv."""
    sums: dict[tuple[str, str, str], float] = defaultdict(float)
    ended_s: dict[tuple[str, str, str], float] = defaultdict(float)
    with (run_dir / "series.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            flow, end_s = (row["direction"], row["class"], row["flow"]), float(row["time_s"])
            sums[flow] += float(row["goodput_mbps"]) * (end_s - ended_s[flow])
            ended_s[flow] = end_s
    return {flow: megabits / ended_s[flow] for flow, megabits in sums.items()}


def test_rrul_has_every_metric_and_all_of_its_flows(runs: Runs) -> None:
    result = runs(*RRUL)
    assert missing(result) == {"goodput_jain", "airtime_jain"} | named(*OTHERS)
    flows = goodputs_mbps(runs.directory(result))
    assert set(flows) == {(d, name, "1") for d in ("download", "upload") for name in CLASSES}
    for name in CLASSES:
        probe = runs.directory(result) / f"udp-ping-{name}.csv"
        assert probe.exists() == (name != "CS5")
    # Shares of voice and background on a busy medium, in goodput and latency.
    of_class = {name: flows["download", name, "1"] + flows["upload", name, "1"] for name in CLASSES}
    assert of_class["EF"] > 2 * of_class["BK"]
    pings = {
        name: read_udp_ping(runs.directory(result) / f"udp-ping-{name}.csv").within(2, 6)
        for name in ("BE", "EF")
    }
    assert numpy.median(pings["EF"].answered.rtt_ms) < 20
    # Requests without an answer in time count as 1 s.
    best_effort_ms = numpy.nan_to_num(pings["BE"].rtt_ms, nan=1000)
    assert numpy.median(best_effort_ms) > 10 * numpy.median(pings["EF"].answered.rtt_ms)


def test_both_directions_share_the_medium(runs: Runs) -> None:
    result = runs(*BOTH)
    metrics = result.values
    assert missing(result) == {"goodput_jain", "airtime_jain", "ping_idle_ms_p50"} | named(*OTHERS)
    parts = metrics["goodput_download_mbps"], metrics["goodput_upload_mbps"]
    assert metrics["goodput_mbps"] == pytest.approx(sum(parts))
    assert min(parts) > 0.1 * sum(parts)
    alone = runs(*DOWNLOAD).values["goodput_mbps"]
    assert metrics["goodput_mbps"] == pytest.approx(alone, rel=0.3)


def test_baseline_is_measured_without_load(runs: Runs) -> None:
    with_baseline = runs(*DOWNLOAD, "baseline=2s").values
    without = runs(*DOWNLOAD).values
    assert "ping_idle_ms_p50" not in without
    assert 5 * with_baseline["ping_idle_ms_p50"] < with_baseline["ping_rtt_ms_p50"]
    # Other metrics are those of the transfer, without the baseline.
    for share in ("data", "ack", "idle"):
        name = f"airtime_{share}_share"
        assert with_baseline[name] == pytest.approx(without[name], abs=0.03)
    assert with_baseline["goodput_mbps"] == pytest.approx(without["goodput_mbps"], rel=0.05)


def test_flows_add_up(runs: Runs) -> None:
    result = runs(*UPLOAD)
    metrics = result.values
    flows = goodputs_mbps(runs.directory(result))
    assert len(flows) == 8
    assert sum(flows.values()) == pytest.approx(metrics["goodput_mbps"], rel=0.02)
    assert 1 / 8 < metrics["flow_jain"] <= 1


def test_udp_in_both_directions(runs: Runs) -> None:
    result = runs(*UDP, "direction=both")
    metrics = result.values
    flows = goodputs_mbps(runs.directory(result))
    for direction in ("download", "upload"):
        # A medium with enough capacity loses nothing of 30 Mbit/s of payload.
        assert metrics[f"goodput_{direction}_mbps"] == pytest.approx(30, rel=0.02)
        assert flows[direction, "", "1"] == pytest.approx(30, rel=0.05)
    assert "flow_jain" not in metrics


def test_page_takes_at_least_as_long_as_its_slowest_object(runs: Runs) -> None:
    result = runs(*WEB)
    exchanges = read_exchanges(runs.directory(result) / "exchanges.csv")
    pages = exchanges.by_page()
    assert list(pages.page) == [1, 2, 3, 4, 5, 6]
    for number, page_ms in zip(pages.page, pages.times_ms, strict=True):
        objects_ms = [
            ms
            for page, ms in zip(exchanges.page, exchanges.times_ms, strict=True)
            if page == number
        ]
        assert page_ms >= max(objects_ms)
    assert result.values["page_time_ms_mean"] == pytest.approx(pages.times_ms.mean())
    # Pages are loaded one after the other.
    assert all(
        end <= start for end, start in zip(pages.end_ns[:-1], pages.start_ns[1:], strict=True)
    )


@pytest.mark.parametrize(
    ("settings", "files"),
    [
        (RRUL, ("series.csv", "udp-ping-BE.csv", "udp-ping-BK.csv", "udp-ping-EF.csv")),
        (WEB, ("exchanges.csv", "pages.txt")),
    ],
    ids=["rrul", "web"],
)
def test_the_same_seed_gives_the_same_bytes(
    runs: Runs, measure: Measure, settings: tuple[str, ...], files: tuple[str, ...]
) -> None:
    def hashes(result: RunRecord) -> dict[str, str]:
        assert result.error is None
        return {name: result.artifacts[name].sha256 for name in (*files, "run.flent.gz")}

    first = runs(*settings)
    again, other = (measure(*settings, seed=seed) for seed in (1, 2))
    assert hashes(first) == hashes(again)
    assert first.metrics == again.metrics
    assert not set(hashes(first).values()) & set(hashes(other).values())


@pytest.mark.parametrize(
    ("settings", "plots"),
    [
        (UPLOAD, ("totals", "upload", "ping_cdf")),
        (DOWNLOAD, ("totals", "ping_cdf")),
        ((*DOWNLOAD, "baseline=2s"), ("totals",)),
        (RRUL, ("all", "totals", "ping_cdf")),
        (BOTH, ("all", "totals")),
        (UDP, ("totals", "ping")),
        (ASKED, ("http_delay", "http_delay_cdf")),
        (WEB, ("http_delay", "http_delay_cdf")),
    ],
    ids=["upload", "download", "idle", "rrul", "both", "udp", "request_response", "web"],
)
def test_flent_plots_the_run(
    runs: Runs, tmp_path: Path, settings: tuple[str, ...], plots: tuple[str, ...]
) -> None:
    path = runs.directory(runs(*settings)) / "run.flent.gz"
    for plot in plots:
        picture = tmp_path / f"{plot}.png"
        done = flent("-v", "-i", str(path), "-p", plot, "-o", str(picture), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        output = (done.stdout + done.stderr).lower()
        for sign in ("missing", "no raw data", "no data", "error", "not smoothing"):
            assert sign not in output, output
        assert picture.read_bytes().startswith(b"\x89PNG")


def flent(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["flent", *words], cwd=cwd, capture_output=True, text=True)


def test_flents_summary_has_the_measured_goodput(runs: Runs, tmp_path: Path) -> None:
    result = runs(*UPLOAD)
    path = runs.directory(result) / "run.flent.gz"
    done = flent("-i", str(path), "-f", "csv", "-o", "out.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out.csv").open(newline="") as file:
        sums = [float(row["TCP upload sum"]) for row in csv.DictReader(file)]
    assert sum(sums) / len(sums) == pytest.approx(result.values["goodput_mbps"], rel=0.02)
