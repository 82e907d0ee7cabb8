"""The page as it is written, which needs nothing else and no feed can write to; what it says of feeds."""

import base64
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lxml import html
from scrapy.http import HtmlResponse

from fhcrawl.logical_feed import Kind, Reason, Verdict
from fhcrawl.reasons import ReasonKind
from fhcrawl.reporting import page
from fhcrawl.store import Details, Document, Feed
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
        "Crawl it often: all entries that are seen are kept; --web-archive adds what web "
        "archives have of it.",
    ]
    assert shown.css(".missing li a bdi::text").getall() == ["Gap"]
    gap, plain, whole = shown.css("#table > tbody")
    assert gap.css("summary::text").get("") == "An archive is missing (404)."
    said = " ".join(" ".join(shown.css("body").xpath("string()").getall()).split())
    assert said.count("contact its publisher or look in a web archive") == 1
    known = "The feed does not link to older entries; nothing missed since "
    assert plain.css("summary::text").get("").startswith(known)
    assert whole.css("summary::text").get("") == "Its chain of 2 documents was read to its oldest document."
    assert gap.css(".gaps li a::text").getall() == [server.url("/gone")]
    assert "is missing (404), since 2" in gap.css(".gaps li").xpath("string()").get("")
    assert gap.css(".chain .broken a::text").getall() == [server.url("/gone")]
    assert whole.css(".chain a::text").getall() == [server.url("/whole"), server.url("/1")]
    assert whole.css(".broken") == []
    obtained = "//dt[text()='Obtained by']/following-sibling::dd/text()"
    assert [feed.xpath(f".{obtained}").getall() for feed in (gap, plain, whole)] == [[], [], ["links"]]
    assert whole.css(".numbers th[scope=row]::text").re(r"\S+") == ["2003-10", "2003-11", "2003-12"]
    assert whole.css("details.more::attr(open)").getall() == [""]
    # What was before the gap, and before what a feed without a history shows, is not known.
    texts = [feed.xpath("string()").get("") for feed in (gap, plain, whole)]
    assert ["Entries before 2003-12-13 are unknown." in text for text in texts] == [True, True, False]


def test_report_has_the_number_of_entries_under_two_ids(server: FeedServer, project: Project) -> None:
    for name in ("x", "y"):
        server.serve("/feed", atom([E(f"http://{name}.example/1")]))
        project.crawl(server.url("/feed"))
    done = project.scrapy("report", "-o", "-")
    assert (
        "<p>Entries that are stored under two ids because their publisher changed the id: 1." in done.stdout
    )


def test_report_on_an_empty_store_says_so_and_is_nothing_but_the_page(project: Project) -> None:
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
    assert failed.returncode == 2
    assert "Cannot write report.html: The store failed" in failed.stderr
    assert old.read_text() == "old"
    assert [path.name for path in project.folder.glob(".report*")] == []


def test_page_needs_nothing_else(root: html.HtmlElement) -> None:
    assert [link.get("href") for link in root.iter("link")] == ["data:,"]
    assert not root.xpath("//@src | //img | //iframe | //object | //form/@action | //@style | //base")
    [style] = root.xpath("//style/text()")
    assert "url(" not in style
    assert "@import" not in style


def test_links_lead_to_the_web_or_into_the_page(root: html.HtmlElement) -> None:
    ids = {f"#{name}" for name in root.xpath("//@id")}
    for link in root.iter("a"):
        href = link.get("href", "")
        if not href.startswith("#"):
            assert href.startswith("https://feeds.example/")
            assert link.get("rel") == "noopener noreferrer nofollow"
        else:
            assert href in ids


def test_url_that_a_browser_must_not_be_sent_to_is_text(root: html.HtmlElement) -> None:
    assert "javascript:alert(1)" in root.xpath("//span[@class='url']/text()")
    assert not root.xpath("//a[starts-with(@href, 'javascript')]")


@pytest.mark.parametrize(
    "address",
    [
        *("javascript:alert(1)", "JavaScript:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)"),
        *("javascript://x/%0aalert(1)", "ftp://x/", "vbscript:x", "file:///etc/passwd", "data:text/html,x"),
        *("//x/", "/x"),
        *("http:x", "http://[", "https://x/\u202e", "https://x/\x00", ""),
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


def test_latest_entries_have_their_titles_with_links(root: html.HtmlElement) -> None:
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


def test_plain_feed_has_its_holes_as_a_table(root: html.HtmlElement) -> None:
    table = root.xpath("//table[caption = 'Holes between two reads']")[0]
    cells = table.xpath(".//tbody//*[self::th or self::td]")
    assert [cell.text_content().strip() for cell in cells] == [
        *("2026-01-20 00:00 UTC", "2026-02-01 00:00 UTC", "3"),
    ]
    assert "Read from 2026-02-01 to 2026-03-01, without holes." in root.text_content()


def test_page_has_words_and_no_names_of_kinds(root: html.HtmlElement) -> None:
    shown = root.find("body").text_content()
    assert [kind.value for kind in ReasonKind if "-" in kind.value and kind.value in shown] == []


def test_long_name_is_cut() -> None:
    assert page.short("x" * 100) == "x" * 59 + "…"
    assert page.short(f"https://x/{'y' * 100}.atom") == f"https://x/{'y' * 19}…{'y' * 25}.atom"
    assert page.short("short") == "short"


def test_text_of_a_feed_stays_text(many: Path, root: html.HtmlElement) -> None:
    assert (len(root.xpath("//script")), len(root.xpath("//style"))) == (0, 1)
    assert "onerror=alert(1)>" not in many.read_text()
    assert page.short(HOSTILE) in root.xpath("//tbody/tr/th/bdi/text()")
    assert page.text("a\x00\n\x1b[1m\u2028b") == "a\ufffd \ufffd[1m b"
    assert page.text("x" * 1000) == "x" * 300 + "…"


def test_policy_allows_only_the_page_s_own_style(many: Path, root: html.HtmlElement) -> None:
    [policy] = root.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    source = many.read_text().partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}';" in policy
    assert "script" not in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_page_on_many_feeds_has_a_reasonable_size(many: Path, root: html.HtmlElement) -> None:
    feeds = root.xpath("//table[@id='table']/tbody")
    assert len(feeds) == 500
    # Of a page on 1,000 feeds, at most 5 MB.
    assert many.stat().st_size / len(feeds) < 5_000
    # One has a chain of 2,001 documents.
    assert max(len(feed.xpath(".//ol[@class='chain']/li")) for feed in feeds) < 20
    assert root.xpath("count(//details[@open])") == 0


NOW = "2026-03-01T04:05:06Z"


def document(number: int, state: str = "processed", lost: int = 0, reason: str | None = None) -> Document:
    return Document(
        *(number, number + 1, f"http://x/{number}", "archive", state, None, lost, reason, reason, NOW, NOW),
        walk=1,
        step=-number,
    )


def details(**known: Any) -> Details:
    empty: dict[str, Any] = {"since": NOW, "months": {}, "first": None, "last": None, "gap_before": None}
    empty |= {"recent": [], "latest": [], "chain": [], "snapshot": [], "beside": 0}
    return Details(**{**empty, **known})


def stored(url: str, verdict: Verdict, reasons: list[Reason]) -> Feed:
    times = dict.fromkeys(("subscribed", "due", "oldest", "newest"))
    counts = {"entries": 5, "absent": 0, "renamed": 0, "documents": {"processed": 2}}
    known = {"title": None, "kind": Kind.ARCHIVED, "crawled": NOW, "checked": NOW, **times, **counts}
    return Feed(feed=url, verdict=verdict, reasons=reasons, **known)  # type: ignore[arg-type]


def shown(chain: list[Document]) -> list[tuple[int, int, int]]:
    return [(s.first.id, s.last.id, s.count) for s in page.stretches(chain)]


def test_documents_of_which_the_same_is_said_are_summed_up() -> None:
    assert shown([document(n) for n in range(2000)]) == [(0, 0, 1), (1, 1998, 1998), (1999, 1999, 1)]
    assert [count for _, _, count in shown([document(n) for n in range(3)])] == [1] * 3


def test_gap_is_never_summed_up_with_what_was_read() -> None:
    chain = [document(n) for n in range(20)]
    chain[10] = document(10, lost=2)
    chain[19] = document(19, "missing", reason="http-404")
    gaps = [stretch for stretch in page.stretches(chain) if stretch.is_gap]
    assert [(gap.count, gap.first.id) for gap in gaps] == [(1, 10), (1, 19)]


def test_chain_of_which_something_else_is_said_everywhere_is_cut_short() -> None:
    chain = [document(n, "missing" if n % 2 else "processed") for n in range(2001)]
    stretches = page.stretches(chain)
    assert len(stretches) == page.MOST_STRETCHES
    assert sum(stretch.count for stretch in stretches) == 2001
    assert stretches[-2].states == {"processed": 981, "missing": 981}
    assert stretches[-2].is_gap


def test_entries_of_many_months_are_counted_by_year() -> None:
    months = {"2003-12": 3, "2004-02": 1, "": 9, "2004-13": 9}
    assert page.over_time(months) == [("2003-12", 3, 3), ("2004-02", 1, 4)]
    months |= {f"{year}-{month:02}": 1 for year in (2010, 2009) for month in range(1, 13)}
    assert page.over_time(months) == [("2003", 3, 3), ("2004", 1, 4), ("2009", 12, 16), ("2010", 12, 28)]


def test_overview_counts_each_feed() -> None:
    gap = Reason(ReasonKind.HTTP_404, "http://x/1", "is missing (404)", NOW)
    paged = Reason(ReasonKind.PAGED, "http://x/2", "is paged", NOW)
    overview = page.Overview()
    for number, (verdict, reasons) in enumerate(
        [(Verdict.COMPLETE, []), (Verdict.INCOMPLETE, [gap, gap]), (Verdict.LOSSY, [paged])]
    ):
        feed = stored(f"http://x/{number}", verdict, reasons)
        overview.add(page.Section(feed, details(months={"": 2, "2004-01": 3})))
    assert overview.feeds == 3
    assert (overview.entries, overview.documents) == (15, 6)
    assert overview.months == {"": 6, "2004-01": 9}
    assert overview.statuses == {"complete": 1, "incomplete": 1, "lossy": 1}
    to_do = [(one.advice, [(p.name, p.reason) for p in one.problems]) for one in overview.to_do]
    assert to_do == [
        (ReasonKind.HTTP_404.advice, [("http://x/1", gap)] * 2),
        (ReasonKind.PAGED.advice, [("http://x/2", paged)]),
    ]


def of(verdict: Verdict, *reasons: Reason) -> Feed:
    return stored("http://x/0", verdict, list(reasons))


def reason(kind: ReasonKind, number: int = 1) -> Reason:
    return Reason(kind, f"http://x/{number}", f"is {kind}", NOW)


def test_feed_that_could_never_be_read_is_not_read() -> None:
    reasons = [reason(ReasonKind.NOT_READ), reason(ReasonKind.HTTP_404)]
    never_read = replace(stored("http://x/", Verdict.UNKNOWN, reasons), kind=None, crawled=None)
    section = page.Section(never_read, details())
    assert (section.status, section.gaps) == ("not-read", reasons[1:])


def test_worst_feeds_come_first() -> None:
    gap = [reason(ReasonKind.HTTP_404)]
    feeds = [
        stored("http://x/0", Verdict.UNKNOWN, [reason(ReasonKind.NOT_READ), *gap]),
        stored("http://x/1", Verdict.INCOMPLETE, gap),
        stored("http://x/4", Verdict.LOSSY, [reason(ReasonKind.PAGED)]),
        stored("http://x/3", Verdict.UNKNOWN, gap),
        stored("http://x/2", Verdict.UNKNOWN, [reason(ReasonKind.NO_HISTORY)]),
        replace(stored("http://x/6", Verdict.COMPLETE, []), title="a title"),
        replace(stored("http://x/5", Verdict.COMPLETE, []), title="B title"),
    ]
    sections = [page.Section(feed, details()) for feed in reversed(feeds)]
    ordered = sorted(sections, key=lambda section: section.order)
    assert [section.feed for section in ordered] == feeds


CHAIN = [document(0)._replace(role="subscription"), document(1)]


@pytest.mark.parametrize(
    ("feed", "chain", "summary"),
    [
        (of(Verdict.INCOMPLETE, reason(ReasonKind.HTTP_404)), CHAIN, "An archive is http-404"),
        (
            of(Verdict.INCOMPLETE, *[reason(ReasonKind.HTTP_404, 7)] * 2),
            *(CHAIN, "The feed is http-404; and 1 more gap"),
        ),
        (
            of(Verdict.INCOMPLETE, *[reason(ReasonKind.HTTP_404)] * 1001),
            *(CHAIN, "An archive is http-404; and 1,000 more gaps"),
        ),
        (of(Verdict.LOSSY, reason(ReasonKind.PAGED)), CHAIN, "The feed is paged"),
        (of(Verdict.COMPLETE), CHAIN, "Its chain of 2 documents was read to its oldest document"),
        (of(Verdict.COMPLETE), CHAIN[:1], "Its only document was read; there are no older ones"),
        (
            replace(of(Verdict.COMPLETE), kind=Kind.COMPLETE),
            *(CHAIN, "The feed says that its document has all of its entries"),
        ),
    ],
)
def test_summary_of_a_feed_is_a_sentence(feed: Feed, chain: list[Document], summary: str) -> None:
    assert page.Section(feed, details(chain=chain)).summary == summary


@pytest.mark.parametrize(
    ("kind", "gap_before", "unknown_before"),
    [
        (ReasonKind.HTTP_404, "2004-02-01T00:00:00Z", "2004-02-01T00:00:00Z"),
        # Each document was read, and nobody knows what is behind them.
        (ReasonKind.LOOP, None, "2003-12-13T00:00:00Z"),
        (ReasonKind.NO_HISTORY, None, "2003-12-13T00:00:00Z"),
        (ReasonKind.PAGED, None, None),
        (ReasonKind.ENTRIES_LOST, None, None),
    ],
)
def test_time_before_gap_unknown(
    kind: ReasonKind, gap_before: str | None, unknown_before: str | None
) -> None:
    feed = stored("http://x/0", Verdict.INCOMPLETE, [reason(kind)])
    known = details(months={"2003-12": 1, "2004-02": 1}, first="2003-12-13T00:00:00Z", gap_before=gap_before)
    section = page.Section(feed, known)
    assert section.gap_before == unknown_before


def test_anchor_of_a_feed_stays() -> None:
    feed = stored("http://x/", Verdict.UNKNOWN, [])
    section = page.Section(feed, details())
    assert section.anchor == "feed-37844e1d35c3"


def test_each_advice_is_said_once_with_its_first_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MOST_REASONS", 2)
    overview, problems = page.Overview(), {}
    for kind, name in [("paged", "a"), ("html", "b"), ("http-404", "c"), ("not-xml", "d"), ("html", "e")]:
        problems[name] = page.Problem("feed-1", name, reason(ReasonKind(kind)))
        overview.advise(ReasonKind(kind), problems[name])
    assert overview.to_do == [
        page.Advised(ReasonKind.HTML.advice, True, [problems["b"], problems["d"]], 1),
        page.Advised(ReasonKind.HTTP_404.advice, True, [problems["c"]], 0),
        # What cannot be helped comes last.
        page.Advised(ReasonKind.PAGED.advice, False, [problems["a"]], 0),
    ]
