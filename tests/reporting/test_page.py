"""The page as it is written: markup that needs nothing else, and that no feed can write to."""

import base64
import hashlib
import re
from pathlib import Path

import pytest
from lxml import html
from scrapy.http import HtmlResponse

from fhcrawl.reasons import ReasonKind
from fhcrawl.reporting import page
from tests.feeds import E, atom
from tests.projects import Project
from tests.reporting.conftest import HOSTILE
from tests.server import FeedServer


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
    assert (done.returncode, done.stdout) == (0, "Report on 3 feeds written to report.html\n"), done.stderr
    written = (project.folder / "report.html").read_text()
    shown = HtmlResponse("http://x/", body=written, encoding="utf-8")
    assert shown.css("#table > tbody::attr(data-status)").getall() == ["incomplete", "unknown", "complete"]
    names = ["Gap", page.short(HOSTILE.replace("\u202e", "")), "Whole"]
    assert shown.css("#table > tbody th bdi::text").getall() == names
    assert shown.css(".to-do strong::text").getall() == [
        "The next run tries again; if it stays missing, contact its publisher or look in a web archive.",
        f"C{ReasonKind.NO_HISTORY.advice[1:]}.",
    ]
    assert shown.css(".missing li a bdi::text").getall() == ["Gap"]
    gap, plain, complete = shown.css("#table > tbody")
    assert gap.css("summary::text").get("") == "An archive is missing (404)."
    reported = " ".join(" ".join(shown.css("body").xpath("string()").getall()).split())
    assert reported.count("contact its publisher or look in a web archive") == 1
    known = "The feed does not link to older entries; nothing has been missed since "
    assert plain.css("summary::text").get("").startswith(known)
    assert (
        complete.css("summary::text").get("") == "Its chain of 2 documents was read to its oldest document."
    )
    assert gap.css(".gaps li a::text").getall() == [server.url("/gone")]
    assert "is missing (404), since 2" in gap.css(".gaps li").xpath("string()").get("")
    assert gap.css(".chain .broken a::text").getall() == [server.url("/gone")]
    assert complete.css(".chain a::text").getall() == [server.url("/whole"), server.url("/1")]
    assert complete.css(".broken") == []
    obtained = "//dt[text()='Obtained by']/following-sibling::dd/text()"
    assert [feed.xpath(f".{obtained}").getall() for feed in (gap, plain, complete)] == [[], [], ["links"]]
    assert complete.css(".numbers th[scope=row]::text").re(r"\S+") == ["2003-10", "2003-11", "2003-12"]
    assert complete.css("details.more::attr(open)").getall() == [""]
    # What was before the gap, and before what a feed without a history shows, is not known.
    texts = [feed.xpath("string()").get("") for feed in (gap, plain, complete)]
    assert ["Entries before 2003-12-13 are unknown." in text for text in texts] == [True, True, False]


def test_report_has_the_number_of_entries_that_are_kept_under_two_ids(
    server: FeedServer, project: Project
) -> None:
    for name in ("x", "y"):
        server.serve("/feed", atom([E(f"http://{name}.example/1")]))
        project.crawl(server.url("/feed"))
    done = project.scrapy("report", "-o", "-")
    assert (
        "<p>Entries that are stored under two ids because their publisher changed the id: 1." in done.stdout
    )


def test_report_says_why_a_feed_is_complete_and_what_its_publisher_removed(
    server: FeedServer, project: Project
) -> None:
    entries = [
        E(str(number), updated=f"2003-{1 + number // 3:02}-01T00:00:00Z") for number in range(7, 0, -1)
    ]
    server.serve("/feed", atom([*entries[:3]], prev="/old", title="Archived"))
    server.serve("/old", atom(entries[3:]))
    server.serve("/whole", atom(entries, head="<fh:complete/>", title="Whole"))
    server.serve("/paged", atom(entries[:4], links={"next": "/2"}, title="Paged"))
    server.serve("/2", atom(entries[4:]))
    server.serve("/gap", atom(entries, links={"prev-archive": "/gone"}, title="Gap"))
    feeds = [server.url(path) for path in ("/feed", "/whole", "/paged", "/gap", "/nowhere")]
    confirm = {"FHCRAWL_CONFIRM_PAGES": 9}
    project.crawl(*feeds, settings=confirm)
    # fh:complete: what the document lacks is deleted. An entry that the archive lacks is absent.
    server.serve("/whole", atom(entries[:5], head="<fh:complete/>", title="Whole"))
    server.serve("/old", atom(entries[3:6]))
    project.crawl(*feeds, settings=confirm, args=("-a", "deltafetch_reset=1"))
    project.crawl(feeds[0], args=("-a", "deltafetch_reset=1"))
    written = project.scrapy("report", "-o", "-").stdout
    shown = HtmlResponse("http://x/", body=written, encoding="utf-8")
    texts = {feed.css("th bdi::text").get(): feed for feed in shown.css("#table > tbody")}
    summaries = {name: feed.css("summary::text").get() for name, feed in texts.items()}
    assert summaries["Archived"] == "Its chain of 2 documents was read to its oldest document."
    assert summaries["Whole"] == "The feed says that its document has all of its entries."
    assert summaries["Paged"] == "Two readings of all of its pages agree."
    removed = {
        name: re.findall(r"(?:Deleted entries|no longer has).*", feed.xpath("string()").get(""))
        for name, feed in texts.items()
    }
    assert removed.pop("Whole") == ["Deleted entries, which are not counted: 2."]
    assert removed.pop("Archived") == ["no longer has: 1."]
    assert not any(removed.values())
    # A bar beside each number; the longest for the largest.
    bars = [
        (row.css("::text").getall()[1], row.css("td::attr(class)").get())
        for row in texts["Gap"].css(".numbers tbody tr")
    ]
    assert [(number.strip(), bar) for number, bar in bars] == [
        ("2", "bar b14"),
        ("3", "bar b20"),
        ("2", "bar b14"),
    ]
    assert all(f".b{number} " in written for number in range(1, 21))
    text = " ".join(shown.xpath("//body//text()").getall())
    assert re.findall(r"`|\*|\]\(|docs/", text) == []


def test_advice_has_no_markup_and_no_path_of_the_documentation() -> None:
    assert [kind for kind in ReasonKind if re.search(r"[`*]|\]\(|docs/", kind.advice)] == []


def test_report_on_an_empty_store_is_a_page_without_feeds(project: Project) -> None:
    done = project.scrapy("report", "-o", "-")
    assert "There are no feeds in the store yet" in done.stdout
    assert done.stdout.startswith("<!DOCTYPE html>")
    assert done.stdout.endswith("</html>")


def test_report_that_fails_leaves_the_old_one(server: FeedServer, project: Project) -> None:
    server.serve("/feed", atom([E("1")]))
    project.crawl(server.url("/feed"))
    views = ("live_entries", "feed_verdicts", "absent_entries", "renamed_entries")
    project.database.execute(*(f"DROP VIEW {view}" for view in views), "DROP TABLE entries")
    old = project.folder / "report.html"
    old.write_text("old")
    failed = project.scrapy("report", "-o", "report.html")
    assert failed.returncode == 1
    assert "Cannot write report.html: The store failed" in failed.stderr
    assert old.read_text() == "old"
    assert [path.name for path in project.folder.glob(".report*")] == []


def test_page_needs_nothing_but_its_own_style(many: Path, root: html.HtmlElement) -> None:
    assert [link.get("href") for link in root.iter("link")] == ["data:,"]
    assert not root.xpath("//@src | //img | //iframe | //object | //form/@action | //@style | //base")
    [style] = root.xpath("//style/text()")
    assert "url(" not in style
    assert "@import" not in style
    [policy] = root.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    source = many.read_text().partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}';" in policy
    assert "script" not in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_links_lead_to_the_web_or_into_the_page(root: html.HtmlElement) -> None:
    ids = {f"#{name}" for name in root.xpath("//@id")}
    for link in root.iter("a"):
        href = link.get("href", "")
        if not href.startswith("#"):
            assert href.startswith("https://feeds.example/")
            assert link.get("rel") == "noopener noreferrer nofollow"
        else:
            assert href in ids
    assert "javascript:alert(1)" in root.xpath("//span[@class='url']/text()")


@pytest.mark.parametrize(
    "address",
    [
        *("javascript:alert(1)", "JavaScript:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)"),
        *("javascript://x/%0aalert(1)", "ftp://x/", "vbscript:x", "file:///etc/passwd", "data:text/html,x"),
        *("//x/", "/x", "http:x", "http://[", "https://x/\u202e", "https://x/\x00", ""),
    ],
)
def test_only_addresses_of_the_web_are_links(address: str) -> None:
    assert not page.url(address).startswith("<a")
    assert page.link("title", address) == "<bdi>title</bdi>"


def test_link_s_address_cannot_leave_its_attribute() -> None:
    address = 'href="HTTPS://x/?a=1&amp;b=&#39;&#34;" rel="noopener noreferrer nofollow">'
    assert page.url("HTTPS://x/?a=1&b='\"").startswith(f"<a {address}HTTPS")
    assert page.link("<b>", "HTTPS://x/?a=1&b='\"") == f"<a {address}<bdi>&lt;b&gt;</bdi></a>"
    assert page.link("<b>", None) == "<bdi>&lt;b&gt;</bdi>"


def test_feeds_have_their_latest_entries_and_holes(root: html.HtmlElement) -> None:
    feed = root.xpath("//tbody[.//bdi = 'Feed 14 of weather reports']")[0]
    latest = feed.xpath(".//ul[@class='latest']/li")
    assert [" ".join(entry.text_content().split()) for entry in latest] == [
        *("2026-01-28 Report 0", "2026-01-21 Report 1", "2026-01-14 Report 2", "2026-01-07 Report 3"),
        "2025-12-28 Report 4",
    ]
    links = [entry.xpath("string(a/@href)") for entry in latest]
    assert links[:3] == [
        "https://feeds.example/14/reports/0.html",
        "",  # javascript:
        "https://feeds.example/14/reports/2.html",
    ]
    table = root.xpath("//table[caption = 'Holes between two reads']")[0]
    cells = table.xpath(".//tbody//*[self::th or self::td]")
    assert [cell.text_content().strip() for cell in cells] == [
        *("2026-01-20 00:00 UTC", "2026-02-01 00:00 UTC", "3"),
    ]
    assert "From 2026-02-01 to 2026-03-01, no entry was missed between two reads." in root.text_content()


def test_long_name_is_cut() -> None:
    assert page.short("x" * 100) == "x" * 59 + "…"
    assert page.short(f"https://x/{'y' * 100}.atom") == f"https://x/{'y' * 19}…{'y' * 25}.atom"
    assert page.short("short") == "short"


def test_text_of_a_feed_stays_text_and_kinds_have_words(many: Path, root: html.HtmlElement) -> None:
    assert (len(root.xpath("//script")), len(root.xpath("//style"))) == (0, 1)
    assert "onerror=alert(1)>" not in many.read_text()
    assert page.short(HOSTILE) in root.xpath("//tbody/tr/th/bdi/text()")
    assert page.text("a\x00\n\x1b[1m\u2028b") == "a\ufffd \ufffd[1m b"
    assert page.text("x" * 1000) == "x" * 300 + "…"
    shown = root.find("body").text_content()
    assert [kind.value for kind in ReasonKind if "-" in kind.value and kind.value in shown] == []


def test_page_on_many_feeds_has_a_reasonable_size(many: Path, root: html.HtmlElement) -> None:
    feeds = root.xpath("//table[@id='table']/tbody")
    assert len(feeds) == 500
    # Of a page on 1,000 feeds, at most 5 MB.
    assert many.stat().st_size / len(feeds) < 5_000
    # One has a chain of 2,001 documents.
    assert max(len(feed.xpath(".//ol[@class='chain']/li")) for feed in feeds) < 20
    assert root.xpath("count(//details[@open])") == 0
