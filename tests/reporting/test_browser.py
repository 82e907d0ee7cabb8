"""The report in a real browser, from its file: seen, filtered, followed and printed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.feeds import E, atom
from tests.reporting.stores import many_feeds
from tests.server import FeedServer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser import Browser
    from tests.projects import NewProject, Project

pytestmark = pytest.mark.browser


def report(project: Project) -> Path:
    done = project.scrapy("report", "-o", "report.html")
    assert done.returncode == 0, done.stderr
    return project.folder / "report.html"


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory, new_project: NewProject) -> Path:
    """Of three feeds that were crawled."""
    with FeedServer() as server, new_project(tmp_path_factory.mktemp("few")) as project:
        months = [f"2003-{month:02}-01T00:00:00Z" for month in range(1, 13)]
        for number, month in enumerate(months):
            prev = f"/{number - 1}" if number else None
            server.serve(f"/{number}", atom([E(month, updated=month)], prev=prev, title="Whole"))
        server.serve("/11", atom([E("12"), E("13")], prev="/10", title="Whole"))
        server.serve("/gap", atom([E("1")], prev="/gone", title="Gap"))
        server.serve("/plain", atom([E("1")], title="<b>Plain</b>"))
        project.crawl(*(server.url(path) for path in ("/11", "/gap", "/plain")))
        return report(project)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, new_project: NewProject) -> Path:
    """Of 500 feeds, one of which would like to write the page itself."""
    with new_project(tmp_path_factory.mktemp("many")) as project:
        many_feeds(project, 500)
        return report(project)


@pytest.fixture(params=["few", "many"])
def page(request: pytest.FixtureRequest, new_project: NewProject) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


def shown(browser: Browser) -> list[str]:
    """The titles of the feeds that are shown."""
    titles: list[str] = browser.run(
        "return [...document.querySelectorAll('article.feed')].filter(e => e.offsetHeight)"
        ".map(e => e.querySelector('h3 bdi').textContent)"
    )
    return titles


def asked(browser: Browser) -> list[str]:
    """The URLs that the browser has asked for."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in sent]


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
        "return [...document.querySelectorAll('body *:not(.unseen):not(.skip)')]"
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
    find.send_keys("http-404")
    assert len(shown(browser)) == 143


def test_filter_by_verdict_and_gaps(browser: Browser, many: Path) -> None:
    browser.open(many)
    for verdict in ("complete", "lossy", "unknown"):
        browser.driver.find_element(By.CSS_SELECTOR, f"input[value={verdict}]").send_keys(Keys.SPACE)
    assert len(shown(browser)) == 73
    browser.driver.find_element(By.CSS_SELECTOR, "a[data-only=lossy]").click()
    assert len(shown(browser)) == 71
    browser.driver.find_element(By.CSS_SELECTOR, "a[data-gaps]").click()
    assert len(shown(browser)) == 144
    browser.driver.find_element(By.CSS_SELECTOR, "a[data-find=entries-lost]").click()
    assert len(shown(browser)) == 1


def test_link_to_a_feed_shows_it_even_if_a_filter_hid_it(browser: Browser, many: Path) -> None:
    browser.open(many)
    browser.driver.find_element(By.CSS_SELECTOR, "a[data-only=lossy]").click()
    link = browser.driver.find_elements(By.CSS_SELECTOR, ".attention a")[3]
    fragment = str(link.get_attribute("href")).partition("#")[2]
    link.click()
    feed = browser.driver.find_element(By.ID, fragment)
    details = feed.find_element(By.CSS_SELECTOR, "details.more")
    assert feed.is_displayed()
    assert details.get_attribute("open")
    assert details.find_element(By.CSS_SELECTOR, ".chain .broken").is_displayed()
    browser.open(many, fragment=f"#{fragment}")
    assert browser.run("return document.querySelectorAll('details.more[open]').length") == 1
    assert browser.run("return scrollY") > 800


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
    assert {"Show all", "Open all details", "Details of Gap", "The numbers as a table"} <= set(visited)


def heard(browser: Browser) -> set[tuple[str, str]]:
    """Role and name of all that a screen reader is told of."""
    nodes = browser.cdp("Accessibility.getFullAXTree", {})["nodes"]
    told = [node for node in nodes if not node["ignored"]]
    return {(node["role"]["value"], node.get("name", {}).get("value", "").strip()) for node in told}


def test_screen_reader_hears_plots_badges_and_links(browser: Browser, few: Path) -> None:
    browser.open(few)
    told = heard(browser)
    assert {"banner", "main", "contentinfo", "search", "article", "region"} <= {role for role, _ in told}
    assert {
        ("heading", "Gap incomplete"),
        ("checkbox", "complete 1"),
        ("searchbox", "Title, URL or reason"),
        ("DisclosureTriangle", "Details of Gap"),
        ("image", "Entries over time, from 2003-01 to 2003-12. The numbers are in the table below."),
    } <= told
    browser.run("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    assert ("rowheader", "2003-07") in heard(browser)


def test_values_of_a_plot_can_be_read(browser: Browser, few: Path) -> None:
    browser.open(few)
    whole = browser.driver.find_elements(By.CSS_SELECTOR, "article.feed")[0]
    assert whole.find_element(By.TAG_NAME, "bdi").text == "Whole"
    bars = whole.find_elements(By.CSS_SELECTOR, "svg.plot g")
    assert len(bars) == 12
    # The tooltip is shown wherever one points to, above a low bar too.
    at = browser.run(
        "const box = arguments[0].getBoundingClientRect(); scrollTo(0, box.top + scrollY - 100);"
        "const seen = arguments[0].getBoundingClientRect();"
        "return document.elementFromPoint(seen.left + seen.width / 2, seen.top + 2).closest('g')"
        ".querySelector('title').textContent",
        bars[3],
    )
    assert at == "2003-04: 1"


def test_print_has_all_of_a_few_feeds_and_no_form(browser: Browser, few: Path) -> None:
    browser.open(few, dark=True)
    browser.run("document.querySelectorAll('details').forEach(details => { details.open = false; })")
    browser.cdp("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.run("return document.getElementById('filter').offsetHeight") == 0
    visible = browser.run("return [...document.querySelectorAll('.chain')].map(e => e.checkVisibility())")
    assert visible == [True] * 3
    colour = browser.run("return getComputedStyle(document.body).color")
    assert colour == "rgb(0, 0, 0)"


def test_many_feeds_are_printed_briefly(browser: Browser, many: Path) -> None:
    browser.open(many)
    pages = len(re.findall(rb"/Type\s*/Page\b", browser.pdf()))
    assert 20 < pages < 200
