# SPDX-License-Identifier: GPL-2.0-only
"""The pages of the workload web, against the model that they are sampled from."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from fake_run import DATA_PORT, tcp_row, write_exchanges, write_pages, write_run, write_tcp

from airtcp.backends import uml
from airtcp.backends.base import GuestResult
from airtcp.backends.guesttools import GuestTools
from airtcp.experiment.reader import load
from airtcp.kernel.image import Kernel
from airtcp.parameters import Parameters
from airtcp.results import metrics
from airtcp.steps.workloads import WORKLOADS, web
from airtcp.sweep import run
from airtcp.sweep.request import requests
from airtcp.testbed.default import testbed

MANY = Parameters().replace({"workload": "web", "pages": 10000, "reading_time": "500ms"})


def test_pages_depend_on_the_seed() -> None:
    first = list(islice(web.pages(MANY, 1), 20))
    assert first == list(islice(web.pages(MANY, 1), 20))
    assert first != list(islice(web.pages(MANY, 2), 20))
    assert first != list(islice(web.pages(MANY, 1, flow=1), 20))
    # The number of pages does not change the first pages.
    assert first == list(web.pages(MANY.replace({"pages": 20}), 1))


def test_pages_match_the_model() -> None:
    pages = list(web.pages(MANY, 1))
    main = [page.sizes_bytes[0] for page in pages]
    embedded = [size for page in pages for size in page.sizes_bytes[1:]]
    counts = [len(page.sizes_bytes) - 1 for page in pages]
    assert min(main) >= 100 and max(main) <= 2_000_000
    assert min(embedded) >= 50 and max(embedded) <= 2_000_000
    assert (min(counts), max(counts)) == (0, 53)
    # IEEE 802.16m evaluation methodology, table of web browsing.
    assert sum(main) / len(pages) == pytest.approx(10_710, rel=0.1)
    assert sum(embedded) / len(embedded) == pytest.approx(7_758, rel=0.1)
    assert sum(counts) / len(pages) == pytest.approx(5.64, rel=0.05)
    assert sum(page.parse_us for page in pages) / len(pages) == pytest.approx(130_000, rel=0.05)
    assert sum(page.reading_us for page in pages) / len(pages) == pytest.approx(500_000, rel=0.05)


def test_objects_of_a_file_are_counted(tmp_path: Path) -> None:
    few = MANY.replace({"pages": 7})
    [flow] = testbed(few).flows
    [(name, text)] = WORKLOADS["web"].files(flow, 1, 3).items()
    (tmp_path / name).write_text(text)
    pages = list(web.pages(few, 3, 1))
    assert web.object_count(tmp_path / name) == sum(len(page.sizes_bytes) for page in pages)
    assert len(text.splitlines()) == 7


TWO_STATIONS = """
name: two-stations
title: Two stations that load pages
source: made up
description: made up
topology:
  servers: {server: {}}
  access_points: {ap: {}}
  stations: {laptop: {access_point: ap}, phone: {access_point: ap}}
flows:
  - {from: server, to: laptop, workload: web, pages: 3}
  - {from: server, to: phone, workload: web, pages: 3}
design:
  - ack_policy: [default]
"""


def test_stations_load_different_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(Path("linux"), "6.12.0", "0123456789abcdef")
    (tmp_path / "two.yaml").write_text(TWO_STATIONS)
    [case] = load(tmp_path / "two.yaml").cases()
    [job] = requests(kernel, GuestTools(Path("tools")), [case], [3])
    texts: list[str] = []

    def read(kernel: Kernel, tools: GuestTools, run_dir: Path, **_options: object) -> GuestResult:
        texts.extend(path.read_text() for path in sorted(run_dir.glob("pages*.txt")))
        (run_dir / "console.log").touch()
        return GuestResult("timeout", None, 1.0, 1.0, run_dir / "console.log", "")

    monkeypatch.setattr(uml, "boot", read)
    run.run_one(job, tmp_path)
    assert len(texts) == len(set(texts)) == 2


def test_files_and_pages_have_one_distribution_of_completion_times(tmp_path: Path) -> None:
    run = write_pages(write_run(tmp_path / "run"))
    rows = [line.split(",") for line in (run / "exchanges.csv").read_text().splitlines()[1:]]
    files = [f"{port},{start_ns},{int(start_ns) + 50_000_000}" for port, start_ns, *_ in rows]
    (run / "exchanges-2.csv").write_text("\n".join(["port,start_ns,end_ns", *files, ""]))
    pages = testbed(Parameters().replace({"workload": "web", "pages": 2}))
    [transfer] = testbed(
        Parameters().replace({"workload": "transfer", "transfer_size": "1000B", "transfers": 4})
    ).flows
    for order in (1, -1):
        flows = (*pages.flows, replace(transfer, suffix="-2"))[::order]
        measured = metrics.compute(run, replace(pages, flows=flows))
        assert measured["page_time_ms_mean"] == pytest.approx(70)
        # Of 10, 25, 30, 100 and four times 50.
        assert measured["completion_time_ms_mean"] == pytest.approx(365 / 8)
        assert measured["completion_time_ms_p50"] == pytest.approx(50)


def test_transfers_from_one_port_are_different_connections(tmp_path: Path) -> None:
    """A client uses a port again after some 1,000 connections."""
    run = write_run(tmp_path / "run")
    write_exchanges(run, [10.0, 20.0, 60.0], [DATA_PORT, DATA_PORT + 1, DATA_PORT])
    ports = (DATA_PORT, DATA_PORT + 1, DATA_PORT)
    for node, ends, closed in (
        ("server", ("10.0.0.1:5201", "10.0.0.2:{}"), {"data_segs_out": 7, "retrans": 1}),
        ("station", ("10.0.0.2:{}", "10.0.0.1:5201"), {"segs_out": 9, "data_segs_in": 7}),
    ):
        rows = [
            tcp_row("close", 1, *(end.format(port) for end in ends), **closed) for port in ports
        ]
        write_tcp(run / f"tcp-{node}.csv", rows)
    files = testbed(
        Parameters().replace({"workload": "transfer", "transfer_size": "1000B", "transfers": 3})
    )
    counted = [
        metrics.compute(run, files)[name] for name in ("retransmits", "data_segments", "acks_sent")
    ]
    assert counted == [3, 21, 27]
