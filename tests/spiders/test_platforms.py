"""Crawls of feeds whose older entries are on pages that no link names, on models of the software."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from urllib.parse import parse_qs, urlsplit

import pytest

from fhcrawl.logical_feed import platforms
from tests.faketime import clock_at
from tests.feeds import E, atom
from tests.in_process import MemoryServer
from tests.projects import Project
from tests.server import Answer, FeedServer

pytestmark = pytest.mark.in_process
READ_ONCE = ("unknown", ["paged"])
UNKNOWN = ("unknown", ["no-history"])
ENTRIES = 25
SIZE = 10
# Days between two entries: some in each year, and none in 1999.
STEP = 100
NEWEST = datetime(2004, 3, 1, 12, tzinfo=timezone.utc)
Show = Callable[[list[E], str, dict[str, str]], "list[E] | int | str"]


def entries(number: int, new: int = 0, prefix: str = "", digits: int = 1) -> list[E]:
    """The newest first; the first `new` of them came last."""
    times = [NEWEST + timedelta(days=STEP * new) - timedelta(days=STEP * index) for index in range(number)]
    found = [
        E(f"{prefix}{number - index:0{digits}}", updated=f"{t:%Y-%m-%dT%H:%M:%SZ}")
        for index, t in enumerate(times)
    ]
    return [entry for entry in found if not str(entry.updated).startswith("1999")]


def numbered(parameter: str, first: int = 1, end: int | None = None) -> Show:
    return lambda of, _path, query: page_of(of, int(query.get(parameter, first)) - first + 1) or end or []


by_api = numbered("page")


def page_of(of: list[E], number: int) -> list[E]:
    return of[SIZE * (number - 1) : SIZE * number]


def last_of(of: list[E]) -> int:
    return -(-len(of) // SIZE)


def skipping(parameter: str) -> Show:
    return lambda of, _path, query: of[int(query.get(parameter, 0)) :][:SIZE]


def larger(parameter: str) -> Show:
    return lambda of, _path, query: of[: int(query.get(parameter, SIZE))]


def older_than(parameter: str, form: str, *, includes: bool = False, is_number: bool = False) -> Show:
    def show(of: list[E], _path: str, query: dict[str, str]) -> list[E]:
        until = query.get(parameter)
        if until is None:
            return of[:SIZE]
        found = []
        for entry in of:
            time = datetime.fromisoformat(str(entry.updated)[:19]).replace(tzinfo=timezone.utc)
            written = str(int(time.timestamp() * 1000)) if is_number else time.strftime(form)
            written, until = written.zfill(20), until.zfill(20)
            if written < until or (includes and written == until):
                found.append(entry)
        return found[:SIZE]

    return show


def yearly(end: int | None = None, most: int = SIZE) -> Show:
    def show(of: list[E], path: str, _query: dict[str, str]) -> list[E] | int:
        year = re.search(r"/([0-9]{4})/", path)
        if year is None:
            return of[:SIZE]
        return [entry for entry in of if str(entry.updated).startswith(year[1])][:most] or end or []

    return show


def in_path(of: list[E], path: str, _query: dict[str, str]) -> list[E] | str:
    last = path.rstrip("/").rpartition("/")[2]
    return page_of(of, int(last) if last.isdecimal() else 1) or f"/rss/{last_of(of)}/"


def after_tag(of: list[E], _path: str, query: dict[str, str]) -> list[E]:
    tags = [str(entry.id).rpartition("/")[2] for entry in of]
    begin = tags.index(query["after"]) + 1 if "after" in query else 0
    return of[begin : begin + SIZE]


def from_commit(of: list[E], _path: str, query: dict[str, str]) -> list[E]:
    commits = [str(entry.id)[-40:] for entry in of]
    begin = commits.index(query["h"]) if "h" in query else 0
    return of[begin : begin + SIZE]


@dataclass(frozen=True)
class Case:
    """A feed of a software, and how that answers."""

    path: str
    show: Show
    head: str = ""
    comment: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    host: str | None = None
    # Of the entries' ids, and the number of digits after it.
    prefix: str = ""
    digits: int = 1
    # Documents with entries, with the feed itself.
    documents: int = 3


CASES = {
    "WordPress": Case(
        "/feed/", numbered("paged", end=404), "<generator>https://wordpress.org/?v=6.1.9</generator>"
    ),
    "Redmine": Case(
        "/news.atom?key=a%2Fb",
        numbered("page"),
        '<generator uri="https://www.redmine.org/">\nRedmine\n</generator>',
    ),
    "Trac": Case(
        "/timeline?ticket=on&format=rss",
        older_than("from", "%Y-%m-%d", includes=True),
        "<generator>Trac 1.6</generator>",
    ),
    "Trac queries": Case("/query?format=rss", numbered("page", end=500), "<generator>Trac 1.6</generator>"),
    "MediaWiki": Case(
        "/index.php?title=Special:NewPages&feed=atom",
        older_than("offset", "%Y%m%d%H%M%S"),
        "<generator>MediaWiki 1.39.4</generator>",
    ),
    "MediaWiki contributions": Case(
        "/api.php?action=feedcontributions&user=A&feedformat=atom",
        older_than("offset", "%Y%m%d%H%M%S"),
        "<generator>MediaWiki 1.39.17</generator>",
    ),
    "DokuWiki": Case("/feed.php", larger("num"), comment='<!-- generator="FeedCreator 1.8" -->', documents=2),
    "Fossil": Case(
        "/timeline.rss?y=ci",
        larger("n"),
        "<generator>Fossil version [3c53b6364e] 2023-02-26 19:24:24</generator>",
        documents=2,
    ),
    "hgweb": Case("/site/atom-log", larger("revcount"), documents=2),
    "gitweb": Case(
        "/?p=site.git;a=atom",
        from_commit,
        "<generator version='2.39.5/2.39.5'>gitweb</generator>",
        prefix="http://example.org/?p=site.git;a=commitdiff;h=",
        digits=40,
        documents=4,
    ),
    "cgit": Case("/site/atom/", from_commit, prefix="urn:sha1:", digits=40, documents=4),
    "Tiny Tiny RSS": Case(
        "/public.php?op=rss&id=-2&key=a",
        skipping("offset"),
        '<generator uri="https://tt-rss.org/">Tiny Tiny RSS/21</generator>',
    ),
    "blosxom": Case("/blog/index.rss", yearly(), "<generator>blosxom/2.1.2</generator>", documents=6),
    "ABlog": Case(
        "/blog/atom.xml",
        yearly(404),
        '<generator uri="https://ablog.readthedocs.io/" version="0.11">ABlog</generator>',
        documents=6,
    ),
    "Ghost": Case("/rss/", by_api, documents=5),
    "Ghost before 3": Case("/rss/", in_path, "<generator>Ghost 2.38</generator>"),
    "Squarespace": Case(
        "/blog?format=rss",
        older_than("offset", "", is_number=True),
        "<generator>Site-Server v6.0.0-1 (http://www.squarespace.com)</generator>",
    ),
    "Joomla": Case(
        "/index.php/news?format=feed&type=rss",
        skipping("limitstart"),
        "<generator>Joomla! - Open Source Content Management</generator>",
    ),
    "Discourse": Case(
        "/latest.rss", numbered("page", first=0), headers=(("X-Discourse-Route", "list/latest_feed"),)
    ),
    "GitHub": Case(
        "/a/b/releases.atom", after_tag, host="github.com", prefix="tag:github.com,2008:Repository/12/v1."
    ),
    "arXiv": Case("/api/query?search_query=all:feeds", skipping("start"), host="export.arxiv.org"),
    "Forem": Case("/feed/ben", numbered("page"), host="dev.to"),
}


class Answers(dict[str, Answer]):
    """Answers that are made when they are requested."""

    def __init__(self, make: Callable[[str], Answer | None]) -> None:
        super().__init__()
        self.get = make  # type: ignore[assignment]


class Site:
    """Serves the feed of a case."""

    def __init__(self, server: FeedServer, case: Case) -> None:
        self.server, self.case = server, case
        self.of = entries(ENTRIES, prefix=case.prefix, digits=case.digits)
        if case.host is not None:
            assert isinstance(server, MemoryServer)
            server._netloc = case.host
            server.servers[case.host] = server
        server.answers = Answers(self.answer)
        self.feed = server.url(case.path)

    def answer(self, path: str) -> Answer | None:
        parts = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        shown = self.case.show(self.of, parts.path, query)
        if parts.path == "/robots.txt":
            return None
        if isinstance(shown, int):
            # As in Trac.
            stated = f"Seite {query.get('page')} liegt hinter der letzten" if shown == 500 else ""
            return Answer(f'<h1>Fehler</h1>\n<p class="message">{stated}</p>'.encode(), shown)
        if isinstance(shown, str):
            return Answer(b"", 302, headers={"Location": shown})
        declared, _, rest = atom(shown, head=self.case.head).partition("\n")
        body = f"{declared}\n{self.case.comment}{rest}"
        return Answer(body.encode(), headers=dict(self.case.headers))


class Ghost(Site):
    """Serves a feed, and an API that the home page names, as Ghost 5 does.

    :param api: what `data-api` states; None to name no API
    :param key: the key that the API accepts
    :param status: of the API
    """

    def __init__(self, server: FeedServer, case: Case = CASES["Ghost"]) -> None:
        super().__init__(server, case)
        self.api: str | None = server.url("/ghost/api/content/")
        self.key, self.status = "0a1b2c", 200
        self.edited: dict[str, str] = {}
        self.robots: Answer | None = None

    def answer(self, path: str) -> Answer | None:
        parts = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/robots.txt":
            return self.robots
        if parts.path == self.case.path or self.case.show is not by_api:
            return Answer(self.rss().encode())
        if parts.path == "/":
            named = f'data-key="{self.key}" data-api="{self.api}"' if self.api else ""
            script = f'<script defer src="https://cdn/p.js" data-ghost="http://x.test/" {named}></script>'
            return Answer(f"<!DOCTYPE html><html><head>{script}</head></html>".encode())
        if parts.path != "/ghost/api/content/posts/":
            return Answer(b"", 404)
        if query["key"] != self.key:
            return Answer(b'{"errors": []}', 401)
        return Answer(self.posts(query).encode(), self.status)

    def rss(self) -> str:
        items = (
            f"<item><title>{e.id}</title><description>Short</description><guid>{e.id}</guid>"
            f"<link>{self.server.url(f'/{e.id}/')}</link>"
            f"<dc:creator>A</dc:creator><content:encoded>&lt;p&gt;In RSS.{self.edited.get(str(e.id), '')}"
            "</content:encoded></item>"
            for e in self.of[:SIZE]
        )
        return (
            '<rss xmlns:dc="http://purl.org/dc/elements/1.1/"'
            ' xmlns:content="http://purl.org/rss/1.0/modules/content/" version="2.0"><channel>'
            f"<title><![CDATA[Site]]></title><link>{self.server.url('/')}</link>"
            f"<generator>Ghost 5.130</generator>{''.join(items)}</channel></rss>"
        )

    def posts(self, query: dict[str, str]) -> str:
        assert query["include"] == "authors,tags"
        number, pages = int(query["page"]), last_of(self.of)
        posts = [
            {
                "id": e.id,
                "url": self.server.url(f"/{e.id}/"),
                "title": e.id,
                "html": f"<p>In the API.{self.edited.get(str(e.id), '')}</p>",
                "published_at": f"{str(e.updated)[:19]}.000+00:00",
                "updated_at": self.edited.get(str(e.id), f"{str(e.updated)[:19]}.000+00:00"),
                "authors": [{"name": "A"}],
            }
            for e in page_of(self.of, number)
        ]
        following = number + 1 if number < pages else None
        counts = {"page": number, "limit": SIZE, "pages": pages, "total": len(self.of), "next": following}
        return json.dumps({"posts": posts, "meta": {"pagination": counts}})


def site_of(server: FeedServer, name: str) -> Site:
    return Ghost(server) if name == "Ghost" else Site(server, CASES[name])


def test_each_software_has_a_case() -> None:
    assert list(CASES) == [one.name for one in platforms.PLATFORMS]


@pytest.mark.parametrize("name", CASES)
def test_pages_of_each_software_are_read_to_their_end(
    server: FeedServer, project: Project, name: str
) -> None:
    site = site_of(server, name)
    project.crawl(site.feed, args=("--no-platforms",))
    assert len([path for path in server.requested() if "sitemap" not in path]) == 1
    [reason] = project.feeds()[0]["reasons"]
    assert reason["kind"] == "platform"
    assert reason["detail"].startswith(f"is made with {name}, which has older entries")
    project.crawl(site.feed)
    assert set(project.logical_feed()) == {entry.id for entry in site.of}
    assert len(server.requested()) <= site.case.documents + 2
    assert project.verdict() == READ_ONCE
    assert not project.crawl(site.feed).items
    assert len(server.requested()) == 1
    # The pages stay what they are, whatever their URLs would be now.
    site.of = [E(f"{site.case.prefix}99", updated="2004-06-09T12:00:00Z"), *site.of]
    assert list(project.crawl(site.feed).changes.values()) == ["new"]
    assert len(server.requested()) <= (2 if platforms.NAMED[name].moves else 3)
    assert project.verdict() == READ_ONCE


@pytest.mark.parametrize("name", CASES)
def test_each_software_is_complete_after_a_first_crawl(
    server: FeedServer, project: Project, name: str
) -> None:
    site, platform = site_of(server, name), platforms.NAMED[name]
    complete = ("complete", []) if not platform.caveat else READ_ONCE

    def crawl(day: int) -> dict[str, str]:
        with clock_at(f"2033-01-{day:02}T00:00:00"):
            return project.crawl(site.feed, settings=NEVER | {"FHCRAWL_CONFIRM_PAGES": 500}).changes

    crawl(1)
    assert len(server.requested()) <= 2 * site.case.documents + 6
    assert project.verdict() == complete
    assert not crawl(2)
    assert len(server.requested()) == 1
    site.of = [E(f"{site.case.prefix}99", updated="2004-06-09T12:00:00Z"), *site.of]
    assert list(crawl(3).values()) == ["new"]
    assert len(server.requested()) <= (2 if platform.moves else 3)
    assert project.verdict() == complete
    if not platform.caveat:
        assert project.feeds()[0]["complete_as_of"][:10] == "2033-01-03"


@pytest.mark.parametrize("name", CASES)
def test_later_runs_go_on_with_unlinked_pages(server: FeedServer, project: Project, name: str) -> None:
    site = site_of(server, name)
    project.crawl(site.feed, settings={"FHCRAWL_MAX_PAGES": 1})
    project.crawl(site.feed)
    assert project.verdict() == READ_ONCE
    assert set(project.logical_feed()) == {entry.id for entry in site.of}


@pytest.mark.parametrize("name", CASES)
def test_short_feed_of_each_software_has_no_pages(server: FeedServer, project: Project, name: str) -> None:
    site = site_of(server, name)
    site.of = site.of[:2]
    assert len(project.crawl(site.feed).changes) == 2
    assert len(server.requested()) <= 4
    assert project.verdict()[0] == "unknown"
    assert project.verdict()[1] in (["no-history"], ["paged"])


@pytest.mark.parametrize("name", CASES)
def test_server_that_ignores_parameters_has_no_pages(server: FeedServer, project: Project, name: str) -> None:
    site = site_of(server, name)
    site.case = replace(site.case, show=lambda of, _path, _query: of[:SIZE])
    project.crawl(site.feed)
    assert len(server.requested()) <= 3
    assert set(project.verdict()[1]) in (
        {"no-history"},
        {"cut-period", "paged"},
        {"not-a-feed", "no-history"},
    )


def test_years_end_where_they_ended_when_they_are_read_again(server: FeedServer, project: Project) -> None:
    site = Site(server, CASES["blosxom"])
    project.crawl(site.feed)
    requested = server.requested()
    reset: dict[str, object] = {"DELTAFETCH_RESET": 1}
    for year, settings in enumerate((reset, DAILY, reset), 2033):
        with clock_at(f"{year}-01-01T00:00:00"):
            project.crawl(site.feed, settings=settings)
        assert server.requested() == requested
        assert project.verdict() == READ_ONCE


def test_source_of_an_entry_does_not_identify_the_software() -> None:
    made = b"<generator>https://wordpress.org/?v=6</generator>"
    for body in (b"<feed>%s<entry></entry></feed>" % made, b"<feed><entry></entry>%s</feed>" % made):
        assert platforms.recognise("http://example.org/", (), body) is platforms.WORDPRESS
    source = b"<feed><entry><source>%s</source></entry></feed>" % made
    assert platforms.recognise("http://example.org/", (), source) is None


@pytest.mark.parametrize("is_longer", [False, True])
def test_year_as_long_as_the_feed_is_a_gap(server: FeedServer, project: Project, is_longer: bool) -> None:
    site = Site(server, replace(CASES["blosxom"], show=yearly(most=99)) if is_longer else CASES["ABlog"])
    dates = [f"2003-{month:02}-{day}T00:00:00Z" for month in range(12, 0, -1) for day in (20, 10)]
    site.of = [E(time, updated=time) for time in dates]
    for number in range(2):
        project.crawl(site.feed)
        assert project.verdict() == (READ_ONCE if is_longer else ("incomplete", ["cut-period", "paged"]))
        # Reading it again would not show more.
        assert (len(server.requested()) == 1) is bool(number)
    assert (set(project.logical_feed()) == set(dates)) is is_longer


# Trac's own faults are 500s too.
@pytest.mark.parametrize("body", [b"<html>", b'<h1>Error</h1><p class="message">Disk 1 is full'])
def test_fault_of_a_server_is_no_end(server: FeedServer, project: Project, body: bytes) -> None:
    site = Site(server, CASES["Trac queries"])
    # Scrapy's RETRY_TIMES: two times more.
    faults = iter((True,) * 3)

    def answer(path: str) -> Answer | None:
        is_fault = "page=2" in path and next(faults, False)
        return Answer(body, 500) if is_fault else site.answer(path)

    server.answers = Answers(answer)
    assert len(project.crawl(site.feed).changes) == SIZE
    assert len([path for path in server.requested() if "page=2" in path]) == 3
    assert project.verdict() != READ_ONCE
    assert len(project.crawl(site.feed).changes) == len(site.of) - SIZE
    assert project.verdict() == READ_ONCE


@pytest.mark.parametrize("name", ["gitweb", "cgit"])
def test_ancestors_of_a_commit_are_never_complete(server: FeedServer, project: Project, name: str) -> None:
    site = Site(server, CASES[name])
    for _ in range(3):
        project.crawl(site.feed, settings={"DELTAFETCH_RESET": 1})
        assert project.verdict() == READ_ONCE
        assert "; commits of merged branches may be missing" in project.feeds()[0]["reasons"][0]["detail"]


def test_feeds_without_older_documents_are_not_recognised() -> None:
    redmine = b"<feed><generator>Redmine</generator></feed>"
    for name in ("issues", "activity", "projects/a/boards/1"):
        assert platforms.recognise(f"http://example.org/{name}.atom?key=a", (), redmine) is None
    assert platforms.recognise("http://example.org/news.atom", (), redmine) is not None
    # The path of cgit's feeds is that of others too.
    entry = b"<feed><entry><id>%s</id></entry></feed>"
    assert platforms.recognise("http://example.org/a/atom/", (), entry % b"urn:uuid:1") is None
    assert platforms.recognise("http://example.org/a/atom/", (), entry % (b"urn:sha1:%040d" % 1)) is not None


def test_rest_of_a_url_stays_as_it_is() -> None:
    url = "http://example.org/index.php?title=Special:NewPages&x=a+b%2Fc&feed&offset=1#top"
    changed = url.replace("offset=1", "offset=20040101000000")
    assert platforms.with_parameter(url, "offset", "20040101000000") == changed
    assert platforms.with_parameter("http://example.org/a:b", "page", "2") == "http://example.org/a:b?page=2"
    branch = "http://example.org/?p=site.git;a=rss;h=refs/heads/a;opt=--no-merges"
    assert platforms.with_parameter(branch, "h", "1") == branch.replace("refs/heads/a", "1")


# -- numbered pages of unknown software ----------------------------------------------------------------------

PROBE = ("--probe",)
START = datetime(2030, 1, 1, tzinfo=timezone.utc)
NEVER: dict[str, object] = {"FHCRAWL_RECHECK": "0"}
DAILY: dict[str, object] = {"FHCRAWL_RECHECK": "1,100"}
FEED = "/news.xml"
PLAIN = Case(FEED, numbered("page", end=404))


def answering(page: Callable[[list[E], int], list[E] | int | str]) -> Case:
    """Return the case of a feed whose pages after the first one are answered by a function."""

    def show(of: list[E], _path: str, query: dict[str, str]) -> list[E] | int | str:
        number = int(query.get("page", 1))
        return of[:SIZE] if number == 1 else page(of, number)

    return Case(FEED, show)


def with_tokens(of: list[E], number: int) -> list[E]:
    """Return the first page with other contents, and without times."""
    return [E(entry.id, text=f"{number}", updated=None) for entry in of[:SIZE]]


def add(site: Site, name: str) -> None:
    site.of = [E(name, updated="2004-06-09T12:00:00Z"), *site.of]


def pages_requested(server: FeedServer) -> list[str]:
    return [path.rpartition("page=")[2] for path in server.requested() if "page=" in path]


# How the pages end, and how many requests come with them.
ENDS = {
    "404": (PLAIN, ["2", "3", "4"]),
    "no entries": (answering(page_of), ["2", "3", "4"]),
    "the last page for ever": (
        answering(lambda of, number: page_of(of, min(number, last_of(of)))),
        ["2", "3", "4"],
    ),
    "a redirect to the last page": (
        answering(lambda of, n: page_of(of, n) or f"{FEED}?page={last_of(of)}"),
        ["2", "3", "4", "3"],
    ),
    "a redirect to the feed": (answering(lambda of, n: page_of(of, n) or FEED), ["2", "3", "4"]),
}


@pytest.mark.parametrize("name", ENDS)
def test_numbered_pages_are_found_by_a_probe(server: FeedServer, project: Project, name: str) -> None:
    case, pages = ENDS[name]
    site = Site(server, case)
    project.crawl(site.feed)
    assert project.verdict() == UNKNOWN
    assert not pages_requested(server)
    # With the option, the same bytes are read anew.
    assert len(project.crawl(site.feed, args=PROBE).changes) == len(site.of) - SIZE
    assert pages_requested(server) == pages
    assert project.verdict() == READ_ONCE
    project.crawl(site.feed, args=PROBE)
    assert len(server.requested()) == 1
    add(site, "new")
    assert list(project.crawl(site.feed, args=PROBE).changes) == ["new"]
    assert pages_requested(server) == ["2"]
    assert project.verdict() == READ_ONCE
    assert set(project.logical_feed()) == {entry.id for entry in site.of}


# What a server without pages answers.
NO_PAGES = {
    "the feed": answering(lambda of, _: of[:SIZE]),
    "the feed with other contents": answering(with_tokens),
    "no entries": answering(lambda _of, _: []),
    "the feed by a redirect": answering(lambda _of, _: FEED),
    **{
        f"HTML ({status})": answering(lambda _of, _, status=status: status)  # type: ignore[misc]
        for status in (200, 400, 403, 404, 410, 451, 500)
    },
}


@pytest.mark.parametrize("name", NO_PAGES)
@pytest.mark.parametrize("changes", [False, True])
def test_probe_is_once_in_thirty_days(server: FeedServer, project: Project, name: str, changes: bool) -> None:
    site = Site(server, NO_PAGES[name])
    probed = []
    with clock_at(f"{START:%Y-%m-%dT%H:%M:%S}"):
        project.crawl(site.feed)
    plain = project.feeds()
    for day in (0, 1, 2, 29, 31, 32, 60, 62):
        if changes and day:
            add(site, f"new{day}")
            plain[0]["entries"] += 1
        with clock_at(f"{START + timedelta(days=day):%Y-%m-%dT%H:%M:%S}"):
            run = project.crawl(site.feed, args=PROBE, settings=DAILY)
        assert run.exit_code == 0
        requested = pages_requested(server)
        assert requested in ([], ["2"])
        probed += [day] if requested else []
        [found], [before] = project.feeds(), plain
        for key in ("verdict", "kind", "entries"):
            assert found[key] == before[key]
        assert [reason["kind"] for reason in found["reasons"]] == ["no-history"]
        assert "page" not in str(found["reasons"])
    assert probed == [0, 31, 62]


def test_html_and_json_are_no_pages(server: FeedServer, project: Project) -> None:
    site = Site(server, PLAIN)
    html = b"<!DOCTYPE html><title>Page 2</title><link rel=alternate href=/x.xml>"
    for body in (html, b'{"a": 1}', b"", b"<feed"):
        server.answers = Answers(lambda p, body=body: Answer(body) if "page=" in p else site.answer(p))  # type: ignore[misc]
        run = project.crawl(site.feed, args=PROBE, settings={"DELTAFETCH_RESET": 1})
        assert run.exit_code == 0
        assert project.verdict() == UNKNOWN
        assert "page" not in str(project.feeds()[0]["reasons"])


@pytest.mark.parametrize("status", [429, 502, 503])
def test_probe_without_an_answer_is_made_again(server: FeedServer, project: Project, status: int) -> None:
    site = Site(server, answering(lambda _of, _: status))
    for number in range(3):
        run = project.crawl(site.feed, args=PROBE, settings=NEVER)
        assert run.exit_code == 0
        assert pages_requested(server) == ["2"]
        assert project.verdict() == UNKNOWN
        assert "page" not in str(project.feeds()[0]["reasons"])
        if number:
            add(site, f"new{number}")
    project.crawl(site.feed, settings=NEVER)
    assert not pages_requested(server)
    site.case = PLAIN
    project.crawl(site.feed, args=PROBE, settings=NEVER)
    assert project.verdict() == READ_ONCE


def test_errors_of_pages_are_gaps_once_there_are_pages(server: FeedServer, project: Project) -> None:
    """Those of a walk; what a check cannot read is kept."""
    partly = answering(lambda of, number: page_of(of, number) if number == 2 else 500)
    site = Site(server, partly)
    for day, (case, kinds) in enumerate(
        (
            (partly, ["http-500", "paged"]),
            (partly, ["http-500", "paged"]),
            (answering(lambda _of, _: 503), ["http-503", "paged"]),
            (PLAIN, ["paged"]),
            (answering(lambda _of, _: 500), ["paged"]),
            (PLAIN, ["paged"]),
        )
    ):
        site.case = case
        if day == 2:
            add(site, "new")
        with clock_at(f"{START + timedelta(days=2 * day):%Y-%m-%dT%H:%M:%S}"):
            project.crawl(site.feed, args=PROBE, settings=DAILY if day > 3 else NEVER)
        assert project.verdict() == ("unknown" if kinds == ["paged"] else "incomplete", kinds)
    assert set(project.logical_feed()) == {entry.id for entry in site.of}


def test_pages_stay_known_when_there_are_none_for_a_time(server: FeedServer, project: Project) -> None:
    site = Site(server, PLAIN)
    every = site.of
    newest = [E(name, updated="2004-06-09T12:00:00Z") for name in ("new2", "new1")]
    for shown in (every[:15], [*newest[1:], *every[:8]], [*newest, *every]):
        site.of = shown
        project.crawl(site.feed, args=PROBE, settings=NEVER)
    assert project.verdict() == READ_ONCE
    assert set(project.logical_feed()) == {entry.id for entry in site.of}


def test_known_pages_are_named_without_the_option(server: FeedServer, project: Project) -> None:
    site = Site(server, PLAIN)
    without = ("--no-platforms", *PROBE)
    project.crawl(site.feed, args=without)
    assert len(server.requested()) == 1
    assert project.verdict() == UNKNOWN
    project.crawl(site.feed, args=PROBE)
    server.requested()
    for args in ((), without):
        project.crawl(site.feed, args=args)
        assert len(server.requested()) == 1
        [feed] = project.feeds()
        assert (feed["verdict"], feed["entries"]) == ("unknown", len(site.of))
        [reason] = feed["reasons"]
        assert reason["kind"] == "platform"
        assert reason["detail"].startswith("has older entries on unlinked numbered pages")
    project.crawl(site.feed, args=PROBE)
    assert project.verdict() == READ_ONCE


def test_some_feeds_are_never_probed(server: FeedServer, project: Project) -> None:
    complete = '<fh:complete xmlns:fh="http://purl.org/syndication/history/1.0"/>'
    archive = '<link rel="prev-archive" href="/none"/>'
    pages = '<link rel="next" href="/none"/>'
    made = "<generator>Joomla! - Open Source Content Management</generator>"
    cases = [Case(FEED, PLAIN.show, head=head) for head in (complete, archive, pages, made)]
    cases += [Case(f"{FEED}?{query}", PLAIN.show) for query in ("page=1", "a=b&page=2", "p%61ge=3")]
    for case in cases:
        site = Site(server, case)
        project.crawl(site.feed, args=PROBE, settings={"DELTAFETCH_RESET": 1})
        assert not [path for path in server.requested() if "page=" in path and path != case.path]


def test_one_feed_of_a_list_is_probed(server: FeedServer, project: Project) -> None:
    site = Site(server, PLAIN)
    listed = project.folder / "feeds.toml"
    listed.write_text(
        f'[[feed]]\nurl = "{site.feed}"\nprobe = true\n[[feed]]\nurl = "{server.url("/other.xml")}"\n'
    )
    project.crawl(args=("-a", f"feeds={listed}"))
    assert pages_requested(server) == ["2", "3", "4"]


def test_api_of_ghost_is_read_without_the_home_page_later(server: FeedServer, project: Project) -> None:
    site = Ghost(server)
    run = project.crawl(site.feed)
    assert len(run.items) == len(site.of)
    assert set(run.changes.values()) == {"new"}
    assert all("In the API." in item["content"] for item in run.items)
    assert "/" in server.requested()
    add(site, "new")
    [item] = project.crawl(site.feed).items
    assert "In the API." in item["content"]
    requested = server.requested()
    assert "/" not in requested
    assert len(requested) == 3
    # The newest posts are in the feed too: they do not change back and forth.
    for _ in range(2):
        assert not project.crawl(site.feed).items
        assert not project.crawl(site.feed, settings={"DELTAFETCH_RESET": 1}).items
    assert "/" not in server.requested()
    assert all("In the API." in one["content"] for one in project.logical_feed().values())


@pytest.mark.parametrize("number", ["25", "12", "1"])
def test_edits_and_deletions_of_ghost_are_found(server: FeedServer, project: Project, number: str) -> None:
    site = Ghost(server)
    project.crawl(site.feed)
    site.edited = {number: "2004-06-10T12:00:00.000+00:00"}
    for year in range(2033, 2038):
        with clock_at(f"{year}-01-01T00:00:00"):
            found = project.crawl(site.feed, settings=DAILY).changes
        assert found == ({number: "updated"} if year == 2033 else {})
        site.of = [entry for entry in site.of if entry.id != "13" or year == 2033]
    assert project.feeds()[0]["absent"] == 1


def test_small_site_of_ghost_is_no_page_that_comes_again(server: FeedServer, project: Project) -> None:
    site = Ghost(server)
    site.of = site.of[:3]
    for _ in range(3):
        project.crawl(site.feed)
        project.crawl(site.feed, settings={"DELTAFETCH_RESET": 1})
        assert len(project.database.rows("SELECT 1 FROM documents WHERE length(held) > 40")) == 2
        site.of = [E(f"{len(site.of)} new", updated=f"2004-06-{len(site.of):02}T12:00:00Z"), *site.of]
        assert project.verdict() == READ_ONCE
        assert project.feeds()[0]["absent"] == 0


@pytest.mark.parametrize("is_empty", [True, False])
def test_ghost_api_whose_next_never_ends_takes_no_more_requests_in_each_run(
    server: FeedServer, project: Project, is_empty: bool
) -> None:
    class Endless(Ghost):
        def posts(self, query: dict[str, str]) -> str:
            number, last = int(query["page"]), last_of(self.of)
            turned = number if number <= last or is_empty else 1 + number % last
            page = json.loads(super().posts({**query, "page": str(turned)}))
            page["meta"]["pagination"]["next"] = number + 1
            return json.dumps(page)

    site, counts = Endless(server), []
    for day in range(1, 6):
        server.requested()
        with clock_at(f"2030-01-{day:02}T00:00:00"):
            project.crawl(site.feed, settings=DAILY)
        counts.append(len(server.requested()))
    assert max(counts[1:]) <= (7 if is_empty else 32), counts


@pytest.mark.parametrize(
    ("api", "status", "kind"),
    [(None, 200, "html"), ("http://other.test/ghost/api/content/", 200, "html")]
    + [("/ghost/api/content/", status, f"http-{status}") for status in (401, 403, 404)],
)
def test_no_ghost_api(server: FeedServer, project: Project, api: str | None, status: int, kind: str) -> None:
    site = Ghost(server)
    site.api, site.status = api, status
    for _ in range(2):
        project.crawl(site.feed)
        assert project.verdict() == ("incomplete", [kind, "no-history"])
        reported = project.feeds()[0]["reasons"][0]["detail"]
        assert reported.endswith("; older entries need Ghost's API")
    assert len(project.logical_feed()) == SIZE


def test_robots_txt_of_ghost_is_obeyed(server: FeedServer, project: Project) -> None:
    site = Ghost(server)
    site.robots = Answer(b"User-agent: *\nDisallow: /ghost/\n")
    for _ in range(2):
        project.crawl(site.feed)
        assert project.verdict() == ("incomplete", ["robots-txt", "no-history"])
        assert not any(path.startswith("/ghost/") for path in server.requested())
    project.crawl(site.feed, settings={"ROBOTSTXT_OBEY": False})
    assert project.verdict() == READ_ONCE
    assert len(project.logical_feed()) == len(site.of)


def test_new_key_of_ghost_is_found_and_a_closed_api_is_a_gap(server: FeedServer, project: Project) -> None:
    site = Ghost(server)
    project.crawl(site.feed)
    site.key = "3d4e5f"
    add(site, "new")
    assert project.crawl(site.feed).changes == {"new": "new"}
    assert project.verdict() == READ_ONCE
    server.requested()
    project.crawl(site.feed, settings={"DELTAFETCH_RESET": 1})
    assert "/" not in server.requested()
    site.status = 403
    add(site, "newest")
    assert project.crawl(site.feed).changes == {"newest": "new"}
    assert project.verdict() == ("incomplete", ["http-403", "paged"])
    assert len(project.logical_feed()) == len(site.of)
    assert project.feeds()[0]["absent"] == 0


def test_feed_of_a_tag_of_ghost_has_no_api(server: FeedServer, project: Project) -> None:
    site = Ghost(server, Case("/tag/news/rss/", by_api))
    project.crawl(site.feed)
    assert project.verdict() == UNKNOWN
    assert "/" not in server.requested()


def test_api_is_on_the_host_of_the_page() -> None:
    def api(attributes: str) -> str | None:
        page = f"<script src=a></script><script {attributes}></script>"
        return platforms.api_of(page.encode(), "https://example.org/blog/")

    posts = "https://example.org/blog/ghost/api/content/posts/?key=k%26&limit=100"
    for attributes in (
        'data-key="k&amp;" data-api="https://example.org/blog/ghost/api/content/"',
        "data-api='https://Example.org/blog/ghost/api/content' data-key='k&amp;'",
        'data-ghost="https://example.org/blog/" data-key="k&amp;" data-api="https://example.ghost.io/api"',
        'data-sodo-search="https://example.org/blog/" data-key="k&amp;"',
    ):
        found = api(attributes)
        assert found is not None
        assert found.lower().startswith(posts)
    assert api('data-api="https://example.org/ghost/api/content/"') is None
    assert api('data-key="k" data-api="https://other.example/ghost/api/content/"') is None
    assert api('data-key="k" data-api="http://[/"') is None
