"""The page as it is written: markup that needs nothing else, and that no feed can write to."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from typing import TYPE_CHECKING

import pytest
from lxml import html
from scrapy.http import HtmlResponse

from fhcrawl.reporting import page
from tests.feeds import E, atom
from tests.reporting.stores import HOSTILE, many_feeds

if TYPE_CHECKING:
    from pathlib import Path

    from tests.projects import NewProject, Project
    from tests.server import FeedServer

STYLE = page._read("style.css")
LIGHT, DARK = re.findall(r":root \{([^}]*)\}", STYLE)[:2]
TEXT_COLOURS = ("ink", "quiet", "link", "complete", "incomplete", "lossy", "unknown")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, new_project: NewProject) -> Path:
    """The report on 500 feeds."""
    with new_project(tmp_path_factory.mktemp("many")) as project:
        many_feeds(project, 500)
        done = project.scrapy("report", "-o", "report.html")
    assert done.stdout == "500 feeds in report.html\n", done.stderr
    return project.folder / "report.html"


@pytest.fixture(scope="module")
def root(many: Path) -> html.HtmlElement:
    return html.document_fromstring(many.read_text())


def test_report_on_a_crawl(server: FeedServer, project: Project) -> None:
    server.serve("/whole", atom([E("2"), E("1", updated="2003-11-01T00:00:00Z")], title="Whole", prev="/1"))
    server.serve("/1", atom([E("0", updated="2003-10-01T00:00:00Z")]))
    server.serve("/gap", atom([E("1")], title="Gap", prev="/gone"))
    server.serve("/plain", atom([E("1")], title=HOSTILE.replace("\u202e", "")))
    project.crawl(*(server.url(path) for path in ("/whole", "/gap", "/plain")))
    done = project.scrapy("report", "-o", "report.html")
    assert (done.returncode, done.stdout) == (0, "3 feeds in report.html\n"), done.stderr
    written = (project.folder / "report.html").read_text()
    shown = HtmlResponse("http://x/", body=written, encoding="utf-8")
    assert shown.css("article::attr(data-verdict)").getall() == ["incomplete", "unknown", "complete"]
    assert shown.css("h3 bdi::text").getall() == [
        "Gap",
        " ".join(HOSTILE.replace("\u202e", "").split()),
        "Whole",
    ]
    assert shown.css(".attention a::text, .attention bdi::text").getall()[:1] == ["Gap"]
    gap, _, whole = shown.css("article")
    assert gap.css(".gaps li a::text").getall() == [server.url("/gone")]
    assert "is not there (404), since 2" in gap.css(".gaps li").xpath("string()").get("")
    assert gap.css(".chain .broken a::text").getall() == [server.url("/gone")]
    assert whole.css(".chain a::text").getall() == [server.url("/whole"), server.url("/1")]
    assert whole.css(".broken") == []
    assert whole.css(".numbers th[scope=row]::text").re(r"\S+") == ["2003-10", "2003-11", "2003-12"]
    assert whole.css("details.more::attr(open)").getall() == [""]


def test_report_on_an_empty_store_says_so(project: Project) -> None:
    done = project.scrapy("report", "-o", "report.html")
    assert done.stdout == "0 feeds in report.html\n"
    assert "There are no feeds in the store yet" in (project.folder / "report.html").read_text()


def test_report_to_stdout_is_nothing_but_the_page(project: Project) -> None:
    done = project.scrapy("report", "-o", "-")
    assert done.stdout.startswith("<!DOCTYPE html>")
    assert done.stdout.endswith("</html>")


def test_report_that_fails_leaves_the_old_one(server: FeedServer, project: Project) -> None:
    server.serve("/feed", atom([E("1")]))
    project.crawl(server.url("/feed"))
    project.database.execute("DROP VIEW live_entries", "DROP VIEW feed_verdicts", "DROP TABLE entries")
    old = project.folder / "report.html"
    old.write_text("old")
    failed = project.scrapy("report", "-o", "report.html")
    assert failed.returncode == 2
    assert "report.html is not written: The store failed" in failed.stderr
    assert old.read_text() == "old"
    assert [path.name for path in project.folder.glob(".report*")] == []


def test_page_needs_nothing_else(root: html.HtmlElement) -> None:
    assert [link.get("href") for link in root.iter("link")] == ["data:,"]
    assert not root.xpath("//@src | //img | //iframe | //object | //form/@action | //@style | //base")
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_links_lead_to_the_web_or_into_the_page(root: html.HtmlElement) -> None:
    ids = {f"#{name}" for name in root.xpath("//@id")}
    for link in root.iter("a"):
        href = link.get("href", "")
        if not href.startswith("#"):
            assert href.startswith("https://feeds.example/")
            assert link.get("rel") == "noreferrer noopener"
        else:
            assert href in ids


def test_url_that_a_browser_must_not_be_sent_to_is_text(root: html.HtmlElement) -> None:
    assert "javascript:alert(1)" in root.xpath("//span[@class='url']/text()")
    assert not root.xpath("//a[starts-with(@href, 'javascript')]")


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "http://[", "https://x/\u202e"],
)
def test_only_addresses_of_the_web_are_links(address: str) -> None:
    assert not page.url(address).startswith("<a")
    assert page.url("HTTPS://x/?a=1&b='\"").startswith(
        '<a class="url" href="HTTPS://x/?a=1&amp;b=&#39;&#34;"'
    )


def test_text_of_a_feed_stays_text(many: Path, root: html.HtmlElement) -> None:
    assert len(root.xpath("//script")) == len(root.xpath("//style")) == 1
    assert "onerror=alert(1)>" not in many.read_text()
    assert page.text(HOSTILE) in root.xpath("//h3/bdi/text()")
    assert page.text("a\x00\n\x1b[1m\u2028b") == "a\ufffd \ufffd[1m b"
    assert page.text("x" * 1000) == "x" * 300 + "…"


def test_policy_lets_only_the_page_s_own_script_and_style_run(many: Path, root: html.HtmlElement) -> None:
    [policy] = root.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    written = many.read_text()
    for element, directive in (("script", "script-src"), ("style", "style-src")):
        source = written.partition(f"<{element}>")[2].partition(f"</{element}>")[0]
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_page_on_500_feeds_has_a_reasonable_size(many: Path, root: html.HtmlElement) -> None:
    assert many.stat().st_size < 4_000_000
    assert len(root.xpath("//article")) == 500
    # The first one has a chain of 2,001 documents.
    assert len(root.xpath("(//article)[1]//ol[@class='chain']/li")) < 20
    assert root.xpath("count(//details[@class='more'][@open])") == 0


def test_page_has_landmarks_and_headings_in_order(root: html.HtmlElement) -> None:
    body = root.find("body")
    assert [child.tag for child in body] == ["a", "header", "main", "footer", "script"]
    levels = [int(heading.tag[1]) for heading in root.xpath("//h1 | //h2 | //h3 | //h4")]
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    ids = root.xpath("//@id")
    assert len(ids) == len(set(ids))
    assert set(root.xpath("//@aria-labelledby")) <= set(ids)
    assert all(svg.get("aria-label") for svg in root.iter("svg"))
    assert len(root.xpath("//table/caption")) == len(root.xpath("//table"))


def luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


# WCAG 2.2, 1.4.3: text has a contrast of at least 4.5:1; 1.4.11: parts of graphics have 3:1.
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_can_be_told_apart(theme: str) -> None:
    colours = dict(re.findall(r"--([\w-]+): (#\w{6});", theme))

    def contrast(one: str, other: str) -> float:
        bright, dim = sorted((luminance(colours[one]), luminance(colours[other])), reverse=True)
        return (bright + 0.05) / (dim + 0.05)

    for ground in ("paper", "card"):
        assert all(contrast(name, ground) >= 4.5 for name in TEXT_COLOURS)
        assert all(contrast(name, ground) >= 3 for name in ("bar", "edge"))
    assert all(contrast(name, "gap") >= 4.5 for name in ("ink", "quiet", "link", "incomplete"))
