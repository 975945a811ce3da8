# SPDX-License-Identifier: GPL-2.0-only
"""The report and the index in a real browser, Debian's Chromium: what people do with them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Locator, Page, sync_playwright

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
Open = Callable[..., Page]
CONTRAST = ["color-contrast"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Containers let root have no sandbox; the pages are our own.
        launched = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def visit(browser: Browser, site: Path) -> Iterator[Open]:
    """Opens a page; none may fetch anything from elsewhere or complain."""
    complaints: list[str] = []
    contexts: list[BrowserContext] = []

    def one(path: str, viewport: Any = DESK, **options: Any) -> Page:
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(site.as_uri()) else complaints.append(request.url)
            ),
        )
        page.goto((site / path).as_uri())
        return page

    yield one
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def report(visit: Open) -> Page:
    """Of tests that leave the page as it was: to load it takes a second."""
    return visit("one/report.html", color_scheme="light")


def plot(page: Page, title: str) -> Locator:
    """A figure, once Plotly has drawn it in place of its SVG."""
    figure = page.locator("figure.plot").filter(has=page.get_by_role("heading", name=title)).first
    figure.scroll_into_view_if_needed()
    figure.locator(".js-plotly-plot .main-svg").first.wait_for()
    return figure


def x_range(figure: Locator) -> list[float]:
    found: list[float] = figure.locator(".js-plotly-plot").evaluate("one => one.layout.xaxis.range")
    return found


def shown(figure: Locator) -> int:
    visible = "one => one.data.filter((trace) => trace.visible).length"
    return int(figure.locator(".js-plotly-plot").evaluate(visible))


def test_hovering_tells_the_values_of_a_bar(report: Page) -> None:
    figure = plot(report, "Goodput relative to default")
    told = ""
    for _ in range(50):  # plots above that are drawn meanwhile move this one
        box = figure.locator(".points path.point").first.bounding_box()
        assert box
        report.mouse.move(box["x"] + 20, box["y"] + 20)
        report.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
        report.wait_for_timeout(200)
        told = figure.locator(".hoverlayer").text_content() or ""
        if told:
            break
    # Paired by seed the ratio is 1.1 both times.
    assert "aad" in told and ": 1.1" in told and "delay 0 ms" in told


def test_a_legends_button_hides_and_shows_its_series(report: Page) -> None:
    figure = plot(report, "ACKs per data segment")
    button = figure.get_by_role("button", name="aad")
    before = shown(figure)
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    assert shown(figure) < before
    button.press("Space")
    assert button.get_attribute("aria-pressed") == "true"
    assert shown(figure) == before


def test_buttons_and_keys_zoom_move_and_show_all(report: Page) -> None:
    figure = plot(report, "Latency during the transfer")
    whole = x_range(figure)
    figure.get_by_role("button", name="Zoom in").press("Enter")
    nearer = x_range(figure)
    assert whole[0] < nearer[0] < nearer[1] < whole[1]
    area = figure.locator(".live")
    area.press("ArrowRight")
    assert x_range(figure)[0] > nearer[0]
    area.press("-")
    assert x_range(figure)[1] - x_range(figure)[0] == pytest.approx(whole[1] - whole[0])
    area.press("0")
    assert x_range(figure) == whole
    area.press("+")
    figure.get_by_role("button", name="Reset").click()
    assert x_range(figure) == whole


def test_wheel_scrolls_the_page_until_a_plot_is_selected(
    report: Page,
) -> None:
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
    figure.locator(".live").evaluate("""(one) => {
      const box = one.getBoundingClientRect();
      const touch = (identifier, x) => new Touch({
        identifier, target: one, clientX: box.left + x, clientY: box.top + 60 });
      for (const [kind, apart] of [["touchstart", 40], ["touchmove", 120]]) {
        const touches = [touch(1, 150 - apart / 2), touch(2, 150 + apart / 2)];
        one.dispatchEvent(new TouchEvent(kind, { touches, cancelable: true, bubbles: true }));
      }
    }""")
    assert x_range(figure)[1] - x_range(figure)[0] == pytest.approx((whole[1] - whole[0]) / 3)


def test_the_timeline_zooms_and_tells_what_a_box_is(report: Page) -> None:
    picture = report.locator(".picture").first
    box_of_svg = "one => one.querySelector('svg').getAttribute('viewBox')"
    whole = picture.evaluate(box_of_svg)
    picture.locator('[data-tip*="3 MPDUs"]').first.hover(force=True)
    assert "3 MPDUs, 4000 octets" in report.locator(".tip:visible").inner_text()
    picture.press("+")
    assert picture.evaluate(box_of_svg) != whole
    picture.press("0")
    assert [float(one) for one in picture.evaluate(box_of_svg).split()] == pytest.approx(
        [float(one) for one in whole.split()], abs=0.01
    )


@pytest.mark.parametrize("system", ["light", "dark"])
def test_theme_button_overrides_the_system_and_persists(visit: Open, system: str) -> None:
    page = visit("one/report.html", color_scheme=system)
    other = {"light": "dark", "dark": "light"}[system]
    figure = plot(page, "Latency during the transfer")
    line = figure.locator(".js-line").first

    def look() -> tuple[str, str]:
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return ground, line.evaluate("one => getComputedStyle(one).stroke")

    before = look()
    button = page.get_by_role("button", name="Dark theme")
    assert button.get_attribute("aria-pressed") == str(system == "dark").lower()
    button.click()
    page.wait_for_function(f"document.documentElement.dataset.theme === '{other}'")
    after = look()
    assert after[0] != before[0] and after[1] != before[1]
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == after[0]
    page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate("localStorage.getItem('theme')") is None


def test_plots_follow_the_system_while_the_page_is_open(report: Page) -> None:
    line = plot(report, "Latency during the transfer").locator(".js-line").first
    before = line.evaluate("one => getComputedStyle(one).stroke")
    report.emulate_media(color_scheme="dark")
    report.wait_for_timeout(300)
    assert line.evaluate("one => getComputedStyle(one).stroke") != before
    report.emulate_media(color_scheme="light")


def test_paper_has_the_svgs_in_its_own_colours(report: Page) -> None:
    figure = plot(report, "Latency during the transfer")
    report.emulate_media(media="print", color_scheme="dark")
    assert figure.locator(".still svg").is_visible()
    assert not figure.locator(".live").is_visible()
    ground = report.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    report.emulate_media(media="screen", color_scheme="light")


def test_pages_without_scripts_have_the_svgs(visit: Open) -> None:
    page = visit("one/report.html", java_script_enabled=False)
    assert page.locator("#figures ~ .plots .still svg").first.is_visible()
    assert not page.locator(".needs-script").is_visible()


# Only contrasts differ between the themes.
@pytest.mark.parametrize(("scheme", "rules"), [("light", {}), ("dark", {"runOnly": CONTRAST})])
@pytest.mark.parametrize("path", ["one/report.html", "index.html"])
def test_pages_are_accessible(
    visit: Open, path: str, scheme: str, rules: dict[str, list[str]]
) -> None:
    """axe-core finds no serious violation, and no page is wider than a phone's screen."""
    page = visit(path, PHONE, color_scheme=scheme)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    if path == "one/report.html":
        for title in ("Ping <and> goodput", "Latency during the transfer"):
            plot(page, title)
    options = {"resultTypes": ["violations"], **rules}
    found = Axe().run(page, options=options).response["violations"]
    bad = [
        (one["id"], one["nodes"][0]["html"][:200])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert bad == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_index_leads_to_the_reports(visit: Open) -> None:
    page = visit("index.html")
    assert page.locator(".cards > li").count() == 2
    assert "4" in page.locator(".cards .facts").first.inner_text()
    page.get_by_role("link", name="A <small> experiment").first.click()
    page.wait_for_url("**/one/report.html")
