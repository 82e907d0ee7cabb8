"""The report in a real browser, from its file: seen, followed, printed, and checked by axe-core.

axe-core looks for what makes a page hard to use with assistive technology. It comes from npm: `.ci/servers`
installs it into the folder that the variable AXE_CORE names, or into `~/.cache/fhcrawl-axe-core`.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Browser
from tests.servers import leave_out

# As selenium's By and Keys have them.
BY_CSS, BY_ID = "css selector", "id"
TAB, ENTER = "\ue004", "\ue007"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.any_store("what a browser makes of a report"),
]
nightly = pytest.mark.nightly("starts a browser")


FOLDER = Path(os.environ.get("AXE_CORE") or Path.home() / ".cache" / "fhcrawl-axe-core")
SCRIPT = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
MISSING = f"axe-core is not in {FOLDER}: npm install --prefix {FOLDER} axe-core"
RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(found => done({
  passes: found.passes.map(rule => rule.id),
  violations: found.violations.map(rule => [rule.id, rule.nodes.map(node => node.html.slice(0, 200))]),
}));
"""
OPEN = "document.querySelectorAll('details').forEach(details => { details.open = true; })"


@pytest.fixture(params=["few", "many"])
def page(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


def requested(browser: Browser) -> list[str]:
    messages = [json.loads(entry["message"])["message"] for entry in browser.log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    # Not those of the page that Chromium begins with.
    return [p["request"]["url"] for p in sent if not p["documentURL"].startswith("chrome")]


@pytest.mark.slow("the smoke test of the report in a browser")
@pytest.mark.parametrize("dark", [False, True])
def test_page_opens_without_an_error_and_requests_nothing(browser: Browser, page: Path, dark: bool) -> None:
    requested(browser)
    browser.log("browser")
    browser.open(page, dark=dark)
    assert browser.driver.title.startswith("Feed histories, ")
    assert browser.log("browser") == []
    assert set(requested(browser)) <= {"about:blank", page.as_uri(), "data:,"}
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(20, 23, 27)" if dark else "rgb(247, 246, 243)")


@nightly
@pytest.mark.parametrize("width", [320, 360, 768])
def test_nothing_has_to_be_scrolled_sideways(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width=width)
    browser.run(OPEN)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    too_wide = browser.run(
        "return [...document.querySelectorAll('body *:not(.unseen):not(.skip):not(col)')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 200))"
    )
    assert too_wide == []


@nightly
def test_link_leads_to_a_feed_whose_details_can_be_opened(browser: Browser, many: Path) -> None:
    browser.open(many)
    link = browser.driver.find_elements(BY_CSS, ".missing a")[3]
    fragment = str(link.get_attribute("href")).partition("#")[2]
    link.click()
    feed = browser.driver.find_element(BY_ID, fragment)
    assert browser.run("return scrollY") > 500
    feed.find_element(BY_CSS, "summary").click()
    assert feed.find_element(BY_CSS, ".chain .broken").is_displayed()


@nightly
def test_everything_can_be_done_from_the_keyboard(browser: Browser, few: Path) -> None:
    browser.open(few)
    keys = browser.driver.switch_to
    keys.active_element.send_keys(TAB)
    skip = keys.active_element
    assert (skip.text, skip.rect["height"] > 20) == ("Skip to the feeds", True)
    skip.send_keys(ENTER)
    assert keys.active_element.get_attribute("id") == "feeds"
    visited: list[Any] = []
    for _ in range(200):
        keys.active_element.send_keys(TAB)
        if browser.run("return document.activeElement === document.body"):
            break
        visited.append(browser.run("return document.activeElement.textContent.trim()"))
        outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", visited
    assert "An archive is missing (404). Details of Gap" in visited


@nightly
def test_print_has_all_of_a_few_feeds(browser: Browser, few: Path) -> None:
    browser.open(few, dark=True)
    browser.run(OPEN.replace("true", "false"))
    browser.cdp("Emulation.setEmulatedMedia", {"media": "print"})
    # As wide as A4 within its margins.
    paper = {"width": 688, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.cdp("Emulation.setDeviceMetricsOverride", paper)
    visible = browser.run("return [...document.querySelectorAll('.chain')].map(e => e.checkVisibility())")
    assert visible == [True] * 3
    # All columns, each wide enough for its text.
    columns = browser.run("return [...document.querySelectorAll('#table .d')].map(e => e.offsetWidth)")
    assert min(columns) > 50
    cut = browser.run(
        "const over = (e) => { const range = document.createRange(); range.selectNodeContents(e);"
        " const text = range.getBoundingClientRect(), cell = e.getBoundingClientRect();"
        " return text.left < cell.left || text.right > cell.right - 4; };"
        "return [...document.querySelectorAll('td.d')].filter(over).map(e => e.textContent)"
    )
    assert cut == []
    colour = browser.run("return getComputedStyle(document.body).color")
    assert colour == "rgb(0, 0, 0)"


@nightly
@pytest.mark.parametrize("name", ["few", "several"])
@pytest.mark.parametrize(("width", "dark"), [(1100, False), (1100, True), (360, False)])
def test_axe(browser: Browser, request: pytest.FixtureRequest, name: str, width: int, dark: bool) -> None:
    if not SCRIPT.exists():
        leave_out(MISSING)
    browser.open(request.getfixturevalue(name), width=width, dark=dark)
    browser.driver.set_script_timeout(240)
    for script in ("", OPEN):
        browser.run(script)
        browser.run(SCRIPT.read_text(encoding="utf-8"))
        found = browser.driver.execute_async_script(RUN)
        assert found["violations"] == []
        assert {"color-contrast", "region"} <= set(found["passes"])
