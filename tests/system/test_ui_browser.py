# SPDX-License-Identifier: GPL-2.0-only
"""The pages of `airtcp ui` in Debian's Chromium: layout, both themes, keyboard."""

import shutil
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from fake_air import records, write_air
from playwright.sync_api import Browser, Page
from small_report import write_results

from airtcp.results import documents
from airtcp.sweep import session
from airtcp.ui.server import Server

RUN = "aad_0ms/seed-1"
LONG_NAME = 60 * "z"
PAGES = {
    "sweeps": "",
    "sweep": "sweep?sweep=one",
    "run": f"run?sweep=one&run={RUN}&at=0",
    "comparison": "compare?first=one&second=two",
    "long name": f"sweep?sweep={LONG_NAME}",
    "problem": "sweep?sweep=none",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("ui")
    for name in ("one", "two"):
        write_results(root / name, delays=("0ms", "50ms"))
        write_air(root / name / "runs" / RUN, records())
        session.write_tables(root / name, documents.read(root / name))
    shutil.copytree(root / "two", root / LONG_NAME)
    with Server(root) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """It must not fetch anything from elsewhere or report errors."""
    messages: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(server.url) else messages.append(request.url)
        ),
    )
    yield page
    context.close()
    assert messages == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_pages_are_accessible_and_fit_a_phone(
    page: Page, server: Server, name: str, scheme: Any
) -> None:
    page.emulate_media(color_scheme=scheme)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        page.goto(server.url + PAGES[name])
        assert Axe().run(page).response["violations"] == []
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_keyboard_leads_from_the_sweeps_to_a_later_part_of_a_run(
    page: Page, server: Server
) -> None:
    page.goto(server.url)
    page.get_by_role("link", name="one", exact=True).press("Enter")
    page.get_by_label("delay").focus()
    page.keyboard.press("ArrowDown")
    page.get_by_label("Condition (SQL)").focus()
    page.keyboard.type("seed = 1 AND ack_policy = 'aad'")
    page.keyboard.press("Enter")
    page.wait_for_url("**seed*")
    [row] = page.locator("tbody tr").all()
    assert RUN in (row.text_content() or "")
    page.get_by_role("link", name=RUN).press("Enter")
    start = page.get_by_label("Timeline from (ms)")
    before = int(start.input_value())
    page.locator("body").press("ArrowRight")
    page.wait_for_url(f"**at={before + 50}*")


def test_comparison_is_reached_from_a_sweep(page: Page, server: Server) -> None:
    page.goto(server.url + PAGES["sweep"])
    page.get_by_role("button", name="Compare").click()
    assert page.locator("tbody tr").count() == 4
    assert "two compared with one" in (page.locator("h1").text_content() or "")
