# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures: kernels, runs and a report; the tests that AIRTCP_TEST_DEBUG selects."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from guests import Measure, Say, assert_silent, thesis_case

from airtcp import cli
from airtcp.backends import guesttools
from airtcp.backends.guesttools import GuestTools
from airtcp.cache import locked
from airtcp.kernel import image
from airtcp.kernel.image import Kernel
from airtcp.results.record import RunRecord
from airtcp.sweep.request import RunRequest
from airtcp.sweep.run import run_one

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DEBUG = bool(os.environ.get("AIRTCP_TEST_DEBUG"))

# Files and tests that use lab_kernel but not with AIRTCP_TEST_DEBUG, each with the reason.
_COMMAND_LINE = "runs the command line, which builds the ordinary kernel"
NOT_ON_DEBUG = {
    **dict.fromkeys(
        (
            *("test_cluster.py", "test_docs.py", "test_interrupt.py", "test_interrupt_instants.py"),
            *("test_new.py", "test_resume.py", "test_shell.py"),
            "test_rules_are_removed_however_the_run_ends",
        ),
        _COMMAND_LINE,
    ),
    **dict.fromkeys(("test_chroots.py", "test_wheel.py"), "the wheel has the ordinary kernel"),
    "test_own_policy.py": "builds another kernel with a user's policy",
    "test_default_is_linux_to_the_packet": "compares with a kernel of plain Linux, without debug",
    "test_kernel_panic_is_reported": "makes the kernel panic",
    "test_saturated_stations_match_bianchis_model": "24 minutes of virtual time",
}

# A shell makes its background processes ignore SIGINT, which the tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def say(pytestconfig: pytest.Config) -> Say:
    """Print at once, bypassing pytest's capture, because building a kernel takes minutes."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")

    def print_at_once(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(text, flush=True)

    return print_at_once


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With AIRTCP_TEST_DEBUG, select only the tests whose guests can run the debug kernel."""
    if DEBUG:
        deselected = [item for item in items if not on_debug_kernel(item)]
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if item not in deselected]


def on_debug_kernel(item: pytest.Item) -> bool:
    """Whether the guests of a test can run the debug kernel, because it uses lab_kernel."""
    names = (item.path.name, getattr(item, "originalname", ""))
    return "fragments" in getattr(item, "fixturenames", ()) and NOT_ON_DEBUG.keys().isdisjoint(
        names
    )


@pytest.fixture(scope="session")
def fragments() -> tuple[str, ...]:
    """The fragments in kernel/configs that the User Mode Linux kernel is built with."""
    return (*image.FRAGMENTS, *(["debug"] if DEBUG else []))


@pytest.fixture(scope="session")
def lab_kernel(fragments: tuple[str, ...], say: Say) -> Kernel:
    return image.build(fragments=fragments, say=say)


@pytest.fixture(autouse=DEBUG)
def silent_consoles(tmp_path: Path) -> Iterator[None]:
    """With AIRTCP_TEST_DEBUG, the kernel of a guest must not report any problem."""
    yield
    for console in tmp_path.rglob("console.log"):
        assert_silent(console)


@pytest.fixture(scope="session", autouse=DEBUG)
def silent_consoles_of_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The same for guests that several tests share, after the last test."""
    yield
    for console in tmp_path_factory.getbasetemp().rglob("console.log"):
        assert_silent(console)


@pytest.fixture(scope="session")
def tools(say: Say) -> GuestTools:
    return guesttools.build_tools(say)


@pytest.fixture
def measure(lab_kernel: Kernel, tools: GuestTools, tmp_path: Path) -> Measure:
    def measure_one(*settings: str, seed: int = 1) -> RunRecord:
        return run_one(RunRequest.of(lab_kernel, tools, thesis_case(*settings), seed), tmp_path)

    return measure_one


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("AIRTCP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Debian's Chromium, without windows."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium's sandbox does not work for root in containers; the pages are trusted.
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two experiments with reports that contain every kind of mark, an index, and a tournament.

    `alone` has the report of the second in a single file, with its own title. `long` has long names
    of conditions and a failed run.

    The first also has figures for print.

    Shared by all tests that check what was drawn, also in other processes of pytest-xdist, because
    drawing takes several seconds.
    """
    base = tmp_path_factory.getbasetemp()
    site = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    with locked(site.with_suffix(".lock"), lambda _: None):
        if not site.exists():
            _write_site(tmp_path_factory.mktemp("site")).rename(site)
    return site


def _write_site(site: Path) -> Path:
    # Imported here because Matplotlib and others take a while to load.
    from fake_air import records, write_air
    from small_report import AGAINST, write_long_names, write_results, write_station_capture
    from small_tournament import write_page

    window = {"title": "Window", "over_time": "cwnd", "lines": "ack_policy", "panels": "delay"}
    out_dir = write_results(site / "one", figures=[AGAINST, window])
    write_air(out_dir / "runs" / "aad_0ms" / "seed-1", records())
    write_station_capture(out_dir / "runs" / "aad_0ms" / "seed-1")
    shutil.copytree(out_dir, site / "two")
    assert cli.main(["report", str(out_dir), "--timeline", "0", "--figures"]) == 0
    title = "A title of one's <own>"
    assert cli.main(["report", str(site / "two"), "--single-file", "--title", title]) == 0
    assert not (site / "two" / "figures").exists()
    (site / "alone").mkdir()
    (site / "two" / "report.html").rename(site / "alone" / "report.html")
    assert cli.main(["report", str(site / "two")]) == 0
    assert cli.main(["report", "--index", str(site)]) == 0
    write_page(site / "tournament")
    write_long_names(site / "long")
    assert cli.main(["report", str(site / "long")]) == 0
    return site
