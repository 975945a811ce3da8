# SPDX-License-Identifier: GPL-2.0-only
"""The report and the index in Debian's Chromium, used like a reader would."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Locator, Page

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
Open = Callable[..., Page]
CONTRAST = ["color-contrast"]


@pytest.fixture(scope="module")
def visit(browser: Browser, site: Path) -> Iterator[Open]:
    """Opens a page, which must not fetch anything from elsewhere or log messages."""
    messages: list[str] = []
    contexts: list[BrowserContext] = []

    def open_page(path: str, viewport: Any = DESK, **options: Any) -> Page:
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(site.as_uri()) else messages.append(request.url)
            ),
        )
        page.goto((site / path).as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert messages == []


@pytest.fixture(scope="module")
def report(visit: Open) -> Page:
    """Shared by tests that leave the page unchanged, because loading it takes a second."""
    return visit("one/report.html", color_scheme="light")


def plot(page: Page, title: str) -> Locator:
    """Scrolls to a figure and waits until Plotly has replaced its SVG."""
    figure = page.locator("figure.plot").filter(has=page.get_by_role("heading", name=title)).first
    figure.scroll_into_view_if_needed()
    figure.locator(".js-plotly-plot .main-svg").first.wait_for()
    return figure


def x_range(figure: Locator) -> list[float]:
    limits: list[float] = figure.locator(".js-plotly-plot").evaluate(
        "plot => plot.layout.xaxis.range"
    )
    return limits


def count_visible(figure: Locator) -> int:
    visible = "plot => plot.data.filter((trace) => trace.visible).length"
    return int(figure.locator(".js-plotly-plot").evaluate(visible))


def test_hovering_shows_the_values_of_a_bar(report: Page) -> None:
    figure = plot(report, "Goodput relative to default")
    tooltip = ""
    for _ in range(50):  # plots above it are still being drawn, which moves it
        box = figure.locator(".points path.point").first.bounding_box()
        assert box
        report.mouse.move(box["x"] + 20, box["y"] + 20)
        report.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
        report.wait_for_timeout(200)
        tooltip = figure.locator(".hoverlayer").text_content() or ""
        if tooltip:
            break
    # The ratio is 1.1 for both seeds.
    assert "aad" in tooltip and ": 1.1" in tooltip and "delay 0 ms" in tooltip


def test_a_legend_button_hides_and_shows_its_series(report: Page) -> None:
    figure = plot(report, "ACKs per data segment")
    button = figure.get_by_role("button", name="aad")
    before = count_visible(figure)
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    assert count_visible(figure) < before
    button.press("Space")
    assert button.get_attribute("aria-pressed") == "true"
    assert count_visible(figure) == before


def test_buttons_and_keys_zoom_pan_and_reset(report: Page) -> None:
    figure = plot(report, "Latency during the transfer")
    whole = x_range(figure)
    figure.get_by_role("button", name="Zoom in").press("Enter")
    zoomed = x_range(figure)
    assert whole[0] < zoomed[0] < zoomed[1] < whole[1]
    area = figure.locator(".live")
    area.press("ArrowRight")
    assert x_range(figure)[0] > zoomed[0]
    area.press("-")
    assert x_range(figure)[1] - x_range(figure)[0] == pytest.approx(whole[1] - whole[0])
    area.press("0")
    assert x_range(figure) == whole
    area.press("+")
    figure.get_by_role("button", name="Reset").click()
    assert x_range(figure) == whole


def test_wheel_scrolls_the_page_until_a_plot_is_selected(report: Page) -> None:
    figure = plot(report, "Latency during the transfer")
    whole = x_range(figure)
    report.evaluate("document.activeElement.blur()")
    box = figure.locator(".nsewdrag").bounding_box()
    assert box
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    report.mouse.move(*middle)
    report.mouse.wheel(0, 10)
    assert x_range(figure) == whole
    report.mouse.down()
    report.mouse.move(middle[0] + 80, middle[1] + 60, steps=4)
    report.mouse.up()
    dragged = x_range(figure)
    assert dragged[1] - dragged[0] < (whole[1] - whole[0]) / 2
    report.mouse.wheel(0, -100)
    assert x_range(figure)[1] - x_range(figure)[0] < dragged[1] - dragged[0]
    figure.get_by_role("button", name="Reset").click()


def test_two_fingers_zoom(visit: Open) -> None:
    page = visit("one/report.html", PHONE, has_touch=True, is_mobile=True)
    figure = plot(page, "Latency during the transfer")
    whole = x_range(figure)
    figure.locator(".live").evaluate("""(plot) => {
      const box = plot.getBoundingClientRect();
      const touch = (identifier, x) => new Touch({
        identifier, target: plot, clientX: box.left + x, clientY: box.top + 60 });
      for (const [kind, apart] of [["touchstart", 40], ["touchmove", 120]]) {
        const touches = [touch(1, 150 - apart / 2), touch(2, 150 + apart / 2)];
        plot.dispatchEvent(new TouchEvent(kind, { touches, cancelable: true, bubbles: true }));
      }
    }""")
    assert x_range(figure)[1] - x_range(figure)[0] == pytest.approx((whole[1] - whole[0]) / 3)


def test_the_timeline_zooms_and_has_tooltips(report: Page) -> None:
    picture = report.locator(".picture").first
    view_box = "picture => picture.querySelector('svg').getAttribute('viewBox')"
    whole = picture.evaluate(view_box)
    picture.locator('[data-tip*="3 MPDUs"]').first.hover(force=True)
    assert "3 MPDUs, 4000 octets" in report.locator(".tip:visible").inner_text()
    picture.press("+")
    assert picture.evaluate(view_box) != whole
    picture.press("0")
    assert [float(text) for text in picture.evaluate(view_box).split()] == pytest.approx(
        [float(text) for text in whole.split()], abs=0.01
    )


@pytest.mark.parametrize("system", ["light", "dark"])
def test_theme_button_overrides_the_system_and_persists(visit: Open, system: str) -> None:
    page = visit("one/report.html", color_scheme=system)
    state = page.get_by_role("button", name="Dark theme").inner_text()
    assert state == f"Dark theme: {'on' if system == 'dark' else 'off'}"
    other = {"light": "dark", "dark": "light"}[system]
    figure = plot(page, "Latency during the transfer")
    line = figure.locator(".js-line").first

    def colours() -> tuple[str, str]:
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return background, line.evaluate("line => getComputedStyle(line).stroke")

    before = colours()
    button = page.get_by_role("button", name="Dark theme")
    assert button.get_attribute("aria-pressed") == str(system == "dark").lower()
    button.click()
    page.wait_for_function(f"document.documentElement.dataset.theme === '{other}'")
    after = colours()
    assert after[0] != before[0] and after[1] != before[1]
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == after[0]
    page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate("localStorage.getItem('theme')") is None


def test_plots_follow_the_system_while_the_page_is_open(report: Page) -> None:
    line = plot(report, "Latency during the transfer").locator(".js-line").first
    before = line.evaluate("line => getComputedStyle(line).stroke")
    report.emulate_media(color_scheme="dark")
    report.wait_for_timeout(300)
    assert line.evaluate("line => getComputedStyle(line).stroke") != before
    report.emulate_media(color_scheme="light")


def test_print_has_the_svgs_on_a_white_background(report: Page) -> None:
    figure = plot(report, "Latency during the transfer")
    report.emulate_media(media="print", color_scheme="dark")
    assert figure.locator(".still svg").is_visible()
    assert not figure.locator(".live").is_visible()
    background = report.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    report.emulate_media(media="screen", color_scheme="light")


def test_pages_show_the_svgs_without_javascript(visit: Open) -> None:
    page = visit("one/report.html", java_script_enabled=False)
    assert page.locator("#figures ~ .plots .still svg").first.is_visible()
    assert not page.locator(".needs-script").is_visible()


# Only contrasts differ between the themes.
@pytest.mark.parametrize(("scheme", "rules"), [("light", {}), ("dark", {"runOnly": CONTRAST})])
@pytest.mark.parametrize("path", ["one/report.html", "index.html", "tournament/index.html"])
def test_pages_are_accessible(
    visit: Open, path: str, scheme: str, rules: dict[str, list[str]]
) -> None:
    """axe-core finds no serious violation, and pages are not wider than a phone's screen."""
    page = visit(path, PHONE, color_scheme=scheme)
    page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
    if path == "one/report.html":
        for title in ("Ping <and> goodput", "Latency during the transfer"):
            plot(page, title)
    options = {"resultTypes": ["violations"], **rules}
    found = Axe().run(page, options=options).response["violations"]
    bad = [
        (violation["id"], violation["nodes"][0]["html"][:200])
        for violation in found
        if violation["impact"] in ("serious", "critical")
    ]
    assert bad == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("viewport", [PHONE, DESK], ids=["phone", "desk"])
def test_long_names_of_conditions_are_wrapped(visit: Open, viewport: dict[str, int]) -> None:
    """Their labels do not overlap, and tables and messages are not wider than the page."""
    page = visit("long/report.html", viewport)
    for title in ("Goodput", "ACKs per data segment"):
        labels = plot(page, title).locator(".ytick text")
        first, second = sorted(
            labels.evaluate_all(
                "texts => texts.map((text) => text.getBoundingClientRect())"
                ".map((box) => [box.top, box.bottom])"
            )
        )
        assert first[0] < first[1] <= second[0]
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    if viewport == DESK:
        overflows = "tables => tables.some((table) => table.scrollWidth > table.clientWidth)"
        assert not page.locator("#results ~ .scroll").evaluate_all(overflows)


def test_a_page_in_a_single_file_draws_its_plots(visit: Open) -> None:
    page = visit("alone/report.html")
    figure = plot(page, "Latency during the transfer")
    whole = x_range(figure)
    figure.get_by_role("button", name="Zoom in").press("Enter")
    assert x_range(figure) != whole
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0


def test_the_page_starts_with_the_finding_and_its_figure(visit: Open) -> None:
    page = visit("one/report.html", PHONE)
    finding = page.locator("h1 + *, main > :first-child").last
    assert finding.inner_text().startswith("With aad, goodput is 10.0% higher than with default")
    hero = page.locator("figure.plot").first.bounding_box()
    navigation = page.get_by_role("navigation").bounding_box()
    assert hero and navigation
    assert hero["y"] < PHONE["height"] and hero["y"] < navigation["y"]


def test_the_index_links_to_the_reports(visit: Open) -> None:
    page = visit("index.html")
    assert page.locator(".cards > li").count() == 2
    assert "4" in page.locator(".cards .facts").first.inner_text()
    page.get_by_role("link", name="one").first.click()
    page.wait_for_url("**/one/report.html")
