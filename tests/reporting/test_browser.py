"""The report in a real browser, from its file: seen, filtered, followed and printed."""

import json
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.browser import Browser
from tests.projects import NewProject

pytestmark = [
    pytest.mark.browser,
    pytest.mark.any_store("what a browser makes of a report"),
    pytest.mark.nightly("starts a browser"),
]


@pytest.fixture(params=["few", "many"])
def page(request: pytest.FixtureRequest, new_project: NewProject) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


def shown(browser: Browser) -> list[str]:
    """The names of the feeds that are shown, in order."""
    names: list[str] = browser.run(
        "return [...document.querySelectorAll('#table > tbody')].filter(e => e.offsetHeight)"
        ".map(e => e.querySelector('th bdi').textContent)"
    )
    return names


def asked(browser: Browser) -> list[str]:
    """The URLs that the browser has asked for."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    # Not those of the page that Chromium begins with.
    return [p["request"]["url"] for p in sent if not p["documentURL"].startswith("chrome")]


@pytest.mark.full_lane("the smoke test of the report in a browser")
@pytest.mark.parametrize("dark", [False, True])
def test_page_opens_without_an_error_and_asks_for_nothing(browser: Browser, page: Path, dark: bool) -> None:
    asked(browser)
    browser.log("browser")
    browser.open(page, dark=dark)
    assert browser.driver.title.startswith("Feed histories, ")
    assert browser.log("browser") == []
    assert set(asked(browser)) <= {"about:blank", page.as_uri(), "data:,"}
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(20, 23, 27)" if dark else "rgb(247, 246, 243)")


@pytest.mark.parametrize("width", [320, 360, 768])
def test_nothing_has_to_be_scrolled_sideways(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width=width)
    browser.run("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    assert browser.run("return document.documentElement.scrollWidth") <= width
    too_wide = browser.run(
        "return [...document.querySelectorAll('body *:not(.unseen):not(.skip):not(col)')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 200))"
    )
    assert too_wide == []


def test_labels_of_the_time_axis_do_not_meet_on_a_phone(browser: Browser, few: Path) -> None:
    browser.open(few, width=360)
    meet = browser.run(
        "return [...document.querySelectorAll('svg.plot')].some(svg => {"
        " const boxes = [...svg.querySelectorAll('.x')].map(e => e.getBoundingClientRect());"
        " return boxes.some((box, i) => i && box.left < boxes[i - 1].right + 4); })"
    )
    assert meet is False


def test_filter_by_text(browser: Browser, many: Path) -> None:
    browser.open(many)
    assert len(shown(browser)) == 500
    find = browser.driver.find_element(By.ID, "find")
    find.send_keys("WEATHER example/12")
    numbers = (12, 121, 122, 123, 124, 126, 127, 128, 129)
    assert sorted(shown(browser)) == sorted(f"Feed {number} of weather reports" for number in numbers)
    assert browser.driver.find_element(By.ID, "shown").text == "9 of 500 feeds shown"
    find.send_keys(" nowhere")
    assert shown(browser) == []
    browser.driver.find_element(By.CSS_SELECTOR, "button[type=reset]").click()
    # The page looks at its fields when they have been reset: after the click.
    WebDriverWait(browser.driver, 60).until(lambda _driver: len(shown(browser)) == 500)
    find.send_keys("is missing")
    assert len(shown(browser)) == 143


def test_filter_by_verdict(browser: Browser, many: Path) -> None:
    browser.open(many)
    for verdict in ("complete", "lossy", "unknown", "not-read"):
        browser.driver.find_element(By.CSS_SELECTOR, f"input[value={verdict}]").send_keys(Keys.SPACE)
    assert len(shown(browser)) == 73
    browser.driver.find_element(By.CSS_SELECTOR, "a[data-only=lossy]").click()
    assert len(shown(browser)) == 71
    browser.driver.find_element(By.CSS_SELECTOR, "a[data-only=not-read]").click()
    assert len(shown(browser)) == 71


def sort(browser: Browser, heading: str) -> tuple[list[str], str]:
    """Click on a heading; return the names in their order, and how the column is sorted."""
    column = f"//table[@id='table']//th[contains(., '{heading}')]"
    browser.driver.find_element(By.XPATH, f"{column}/button").click()
    sorted_as = browser.driver.find_element(By.XPATH, column).get_attribute("aria-sort")
    assert len(browser.driver.find_elements(By.CSS_SELECTOR, "[aria-sort]")) == 1
    caption = browser.driver.find_element(By.CSS_SELECTOR, "#table > caption").text
    is_worst_first = (heading, sorted_as) == ("Verdict", "ascending")
    assert ("the worst first" if is_worst_first else f"sorted by “{heading}”") in caption
    return shown(browser), str(sorted_as)


def test_table_sorts_by_each_column(browser: Browser, few: Path) -> None:
    browser.open(few)
    assert shown(browser) == ["Gap", "<b>Plain</b>", "Whole"]
    assert sort(browser, "Entries") == (["Whole", "Gap", "<b>Plain</b>"], "descending")
    assert sort(browser, "Entries") == (["Gap", "<b>Plain</b>", "Whole"], "ascending")
    assert sort(browser, "Oldest")[0][-1] == "Whole"
    assert sort(browser, "Oldest") == (["Whole", "Gap", "<b>Plain</b>"], "ascending")
    assert sort(browser, "Feed") == (["<b>Plain</b>", "Gap", "Whole"], "ascending")
    assert sort(browser, "Feed") == (["Whole", "Gap", "<b>Plain</b>"], "descending")
    assert sort(browser, "Verdict") == (["Gap", "<b>Plain</b>", "Whole"], "ascending")


def test_sorted_table_has_numbers_in_order_and_missing_values_last(browser: Browser, many: Path) -> None:
    browser.open(many)
    first = shown(browser)
    names, _ = sort(browser, "Feed")
    numbered = [int(name.split()[1]) for name in names if name.startswith("Feed ")]
    assert numbered == sorted(numbered)
    for _ in range(2):
        names, _ = sort(browser, "Newest")
        assert set(names[-71:]) == set(first[:71])
    browser.driver.find_element(By.CSS_SELECTOR, "a[data-only=lossy]").click()
    assert sort(browser, "Verdict")[0] == [name for name in first if name in set(shown(browser))]


def test_page_without_scripts_has_all_and_the_worst_first(browser: Browser, many: Path) -> None:
    browser.cdp("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.open(many)
        rows = browser.driver.find_elements(By.CSS_SELECTOR, "#table > tbody")
        assert [row.get_attribute("data-status") for row in (rows[0], rows[-1])] == [
            "not-read",
            "complete",
        ]
        assert not browser.driver.find_element(By.ID, "filter").is_displayed()
        assert browser.driver.find_elements(By.CSS_SELECTOR, "thead button") == []
        rows[-1].find_element(By.TAG_NAME, "summary").click()
        assert rows[-1].find_element(By.CSS_SELECTOR, ".latest a").is_displayed()
    finally:
        browser.cdp("Emulation.setScriptExecutionDisabled", {"value": False})


def test_link_to_a_feed_shows_it_even_if_a_filter_hid_it(browser: Browser, many: Path) -> None:
    browser.open(many)
    browser.driver.find_element(By.CSS_SELECTOR, "a[data-only=lossy]").click()
    link = browser.driver.find_elements(By.CSS_SELECTOR, ".missing a")[3]
    fragment = str(link.get_attribute("href")).partition("#")[2]
    link.click()
    feed = browser.driver.find_element(By.ID, fragment)
    details = feed.find_element(By.CSS_SELECTOR, "details.more")
    WebDriverWait(browser.driver, 60).until(lambda _driver: details.get_attribute("open"))
    assert feed.is_displayed()
    assert details.find_element(By.CSS_SELECTOR, ".chain .broken").is_displayed()
    browser.open(many, fragment=f"#{fragment}")
    assert browser.run("return document.querySelectorAll('details.more[open]').length") == 1
    assert browser.run("return scrollY") > 500


def test_everything_can_be_done_from_the_keyboard(browser: Browser, few: Path) -> None:
    browser.open(few)
    keys = browser.driver.switch_to
    keys.active_element.send_keys(Keys.TAB)
    skip = keys.active_element
    assert (skip.text, skip.rect["height"] > 20) == ("Skip to the feeds", True)
    skip.send_keys(Keys.ENTER)
    assert keys.active_element.get_attribute("id") == "feeds"
    visited: list[Any] = []
    for _ in range(200):
        keys.active_element.send_keys(Keys.TAB)
        if browser.run("return document.activeElement === document.body"):
            break
        visited.append(browser.run("return document.activeElement.textContent.trim()"))
        outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", visited
    assert {"Show all", "Open all details", "Entries", "Numbers as a table"} <= set(visited)
    assert "An archive is missing (404). Details of Gap" in visited


def test_values_of_a_plot_can_be_read(browser: Browser, few: Path) -> None:
    browser.open(few)
    whole = browser.driver.find_elements(By.CSS_SELECTOR, "#table > tbody")[2]
    assert whole.find_element(By.TAG_NAME, "bdi").text == "Whole"
    columns = whole.find_elements(By.CSS_SELECTOR, "svg.plot svg rect")
    assert len(columns) == 12
    # The tooltip is shown wherever one points to, above a low bar too.
    at = browser.run(
        "const box = arguments[0].getBoundingClientRect(); scrollTo(0, box.top + scrollY - 100);"
        "const seen = arguments[0].getBoundingClientRect();"
        "return document.elementFromPoint(seen.left + seen.width / 2, seen.top + 2)"
        ".querySelector('title').textContent",
        columns[3],
    )
    assert at == "2003-04: 1"


def test_print_has_all_of_a_few_feeds_and_no_form(browser: Browser, few: Path) -> None:
    browser.open(few, dark=True)
    browser.run("document.querySelectorAll('details').forEach(details => { details.open = false; })")
    browser.cdp("Emulation.setEmulatedMedia", {"media": "print"})
    # As wide as A4 within its margins.
    paper = {"width": 688, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.cdp("Emulation.setDeviceMetricsOverride", paper)
    assert browser.run("return document.getElementById('filter').offsetHeight") == 0
    visible = browser.run("return [...document.querySelectorAll('.chain')].map(e => e.checkVisibility())")
    assert visible == [True] * 3
    # All columns, each with room for what it says.
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
