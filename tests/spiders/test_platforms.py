"""Crawls of feeds whose older entries are on pages that no link names, on models of the software."""

import re
from collections.abc import Callable
from dataclasses import dataclass
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
LOSSY = ("lossy", ["paged"])
UNKNOWN = ("unknown", ["no-history"])
ENTRIES = 25
SIZE = 10
# Days between two entries: some in each year, and none in 1999.
STEP = 100
NEWEST = datetime(2004, 3, 1, 12, tzinfo=timezone.utc)
Show = Callable[[list[E], str, dict[str, str]], "list[E] | int | str"]


def entries(number: int, new: int = 0, prefix: str = "") -> list[E]:
    """The newest first; the first `new` of them came last."""
    times = [NEWEST + timedelta(days=STEP * new) - timedelta(days=STEP * index) for index in range(number)]
    found = [
        E(f"{prefix}{number - index}", updated=f"{t:%Y-%m-%dT%H:%M:%SZ}") for index, t in enumerate(times)
    ]
    return [entry for entry in found if not str(entry.updated).startswith("1999")]


def numbered(parameter: str, first: int = 1, end: int | None = None) -> Show:
    def show(of: list[E], _path: str, query: dict[str, str]) -> list[E] | int:
        begin = SIZE * (int(query.get(parameter, first)) - first)
        return of[begin : begin + SIZE] or end or []

    return show


def skipping(of: list[E], _path: str, query: dict[str, str]) -> list[E]:
    begin = int(query.get("limitstart", 0))
    return of[begin : begin + SIZE]


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


def larger(of: list[E], _path: str, query: dict[str, str]) -> list[E]:
    return of[: int(query.get("num", SIZE))]


def yearly(end: int | None = None) -> Show:
    def show(of: list[E], path: str, _query: dict[str, str]) -> list[E] | int:
        year = re.search(r"/([0-9]{4})/", path)
        if year is None:
            return of[:SIZE]
        return [entry for entry in of if str(entry.updated).startswith(year[1])][:SIZE] or end or []

    return show


def in_path(of: list[E], path: str, _query: dict[str, str]) -> list[E] | str:
    last = path.rstrip("/").rpartition("/")[2]
    begin = SIZE * (int(last) - 1) if last.isdecimal() else 0
    return of[begin : begin + SIZE] or f"/rss/{-(-len(of) // SIZE)}/"


def after_tag(of: list[E], _path: str, query: dict[str, str]) -> list[E]:
    tags = [str(entry.id).rpartition("/")[2] for entry in of]
    begin = tags.index(query["after"]) + 1 if "after" in query else 0
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
    prefix: str = ""
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
    "DokuWiki": Case("/feed.php", larger, comment='<!-- generator="FeedCreator 1.8" -->', documents=2),
    "blosxom": Case("/blog/index.rss", yearly(), "<generator>blosxom/2.1.2</generator>", documents=6),
    "ABlog": Case(
        "/blog/atom.xml",
        yearly(404),
        '<generator uri="https://ablog.readthedocs.io/" version="0.11">ABlog</generator>',
        documents=6,
    ),
    "Ghost": Case("/rss/", in_path, "<generator>Ghost 2.38</generator>"),
    "Squarespace": Case(
        "/blog?format=rss",
        older_than("offset", "", is_number=True),
        "<generator>Site-Server v6.0.0-1 (http://www.squarespace.com)</generator>",
    ),
    "Joomla": Case(
        "/index.php/news?format=feed&type=rss",
        skipping,
        "<generator>Joomla! - Open Source Content Management</generator>",
    ),
    "Discourse": Case(
        "/latest.rss", numbered("page", first=0), headers=(("X-Discourse-Route", "list/latest_feed"),)
    ),
    "GitHub": Case(
        "/a/b/releases.atom", after_tag, host="github.com", prefix="tag:github.com,2008:Repository/12/v1."
    ),
    "Forem": Case("/feed/ben", numbered("page"), host="dev.to"),
}


class Answers(dict[str, Answer]):
    """Answers that are made when they are requested."""

    def __init__(self, make: Callable[[str], Answer | None]) -> None:
        super().__init__()
        self._make = make

    def get(self, path: str, default: object = None) -> Answer | None:  # type: ignore[override]
        return self._make(path)


class Site:
    """Serves the feed of a case."""

    def __init__(self, server: FeedServer, case: Case) -> None:
        self.server, self.case = server, case
        self.of = entries(ENTRIES, prefix=case.prefix)
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
            # As Trac says it.
            says = f"Seite {query.get('page')} liegt hinter der letzten" if shown == 500 else ""
            return Answer(f'<h1>Fehler</h1>\n<p class="message">{says}</p>'.encode(), shown)
        if isinstance(shown, str):
            return Answer(b"", 302, headers={"Location": shown})
        declared, _, rest = atom(shown, head=self.case.head).partition("\n")
        body = f"{declared}\n{self.case.comment}{rest}"
        return Answer(body.encode(), headers=dict(self.case.headers))


def test_each_software_has_a_case() -> None:
    assert CASES.keys() == platforms.NAMED.keys()


@pytest.mark.parametrize("name", CASES)
def test_pages_of_each_software_are_read_to_their_end(
    server: FeedServer, project: Project, name: str
) -> None:
    site = Site(server, CASES[name])
    run = project.crawl(site.feed)
    asked = server.asked()
    assert set(run.changes) == {entry.id for entry in site.of}
    assert len(asked) <= site.case.documents + 2
    assert project.verdict() == LOSSY
    assert not project.crawl(site.feed).items
    assert len(server.asked()) == 1
    # The pages stay what they are, whatever their URLs would be now.
    site.of = [E(f"{site.case.prefix}99", updated="2004-06-09T12:00:00Z"), *site.of]
    assert list(project.crawl(site.feed).changes.values()) == ["new"]
    assert len(server.asked()) <= (2 if platforms.NAMED[name].moves else 3)
    assert project.verdict() == LOSSY


@pytest.mark.parametrize("name", CASES)
def test_later_runs_go_on_with_pages_that_no_link_names(
    server: FeedServer, project: Project, name: str
) -> None:
    site = Site(server, CASES[name])
    project.crawl(site.feed, settings={"FHCRAWL_MAX_PAGES": 1})
    project.crawl(site.feed)
    assert project.verdict() == LOSSY
    assert set(project.logical_feed()) == {entry.id for entry in site.of}


@pytest.mark.parametrize("name", CASES)
def test_short_feed_of_each_software_has_no_pages(server: FeedServer, project: Project, name: str) -> None:
    site = Site(server, CASES[name])
    site.of = site.of[:2]
    assert len(project.crawl(site.feed).changes) == 2
    assert len(server.asked()) <= 4
    assert project.verdict()[0] in ("unknown", "lossy")
    assert project.verdict()[1] in (["no-history"], ["paged"])


@pytest.mark.parametrize("name", CASES)
def test_server_that_ignores_what_is_added_has_no_pages(
    server: FeedServer, project: Project, name: str
) -> None:
    site = Site(server, CASES[name])
    site.case = Case(**{**vars(site.case), "show": lambda of, _path, _query: of[:SIZE]})
    project.crawl(site.feed)
    assert len(server.asked()) <= 3
    assert project.verdict()[1] in (["no-history"], ["cut-period", "paged"])


@pytest.mark.parametrize("name", CASES)
def test_software_is_named_when_its_pages_are_not_wanted(
    server: FeedServer, project: Project, name: str
) -> None:
    site = Site(server, CASES[name])
    project.crawl(site.feed, args=("--no-platforms",))
    assert len(server.asked()) == 1
    [reason] = project.feeds()[0]["reasons"]
    assert reason["kind"] == "platform"
    assert reason["detail"].startswith(f"is made with {name}, which has older entries")


def test_years_end_where_they_ended_when_they_are_read_again(server: FeedServer, project: Project) -> None:
    site = Site(server, CASES["blosxom"])
    project.crawl(site.feed)
    asked = server.asked()
    reset: dict[str, object] = {"DELTAFETCH_RESET": 1}
    checks: dict[str, object] = {"FHCRAWL_RECHECK": "1,100"}
    for year, settings in enumerate((reset, checks, reset), 2033):
        with clock_at(f"{year}-01-01T00:00:00"):
            project.crawl(site.feed, settings=settings)
        assert server.asked() == asked
        assert project.verdict() == LOSSY


def test_source_of_an_entry_says_nothing_of_the_feed() -> None:
    made = b"<generator>https://wordpress.org/?v=6</generator>"
    for body in (b"<feed>%s<entry></entry></feed>" % made, b"<feed><entry></entry>%s</feed>" % made):
        assert platforms.recognise("http://example.org/", (), body) is platforms.WORDPRESS
    source = b"<feed><entry><source>%s</source></entry></feed>" % made
    assert platforms.recognise("http://example.org/", (), source) is None


DAYS_OF_2003 = [f"2003-{month:02}-{day:02}T00:00:00Z" for month in range(12, 0, -1) for day in (20, 10)]


def test_year_as_long_as_the_feed_is_a_gap(server: FeedServer, project: Project) -> None:
    site = Site(server, CASES["ABlog"])
    site.of = [E(time, updated=time) for time in DAYS_OF_2003]
    for _ in range(2):
        project.crawl(site.feed)
        assert project.verdict() == ("lossy", ["cut-period", "paged"])


def test_year_longer_than_the_feed_has_all_its_entries(server: FeedServer, project: Project) -> None:
    def show(of: list[E], path: str, _query: dict[str, str]) -> list[E]:
        year = re.search(r"/([0-9]{4})/", path)
        return [entry for entry in of if str(entry.updated).startswith(year[1])] if year else of[:SIZE]

    site = Site(server, CASES["blosxom"])
    site.case = Case(**{**vars(site.case), "show": show})
    site.of = [E(time, updated=time) for time in DAYS_OF_2003]
    project.crawl(site.feed)
    assert project.verdict() == LOSSY
    assert set(project.logical_feed()) == {entry.id for entry in site.of}


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
    assert len([path for path in server.asked() if "page=2" in path]) == 3
    assert project.verdict() != LOSSY
    assert len(project.crawl(site.feed).changes) == len(site.of) - SIZE
    assert project.verdict() == LOSSY


def test_rest_of_a_url_stays_as_it_is() -> None:
    url = "http://example.org/index.php?title=Special:NewPages&x=a+b%2Fc&feed&offset=1#top"
    changed = url.replace("offset=1", "offset=20040101000000")
    assert platforms.with_parameter(url, "offset", "20040101000000") == changed
    assert platforms.with_parameter("http://example.org/a:b", "page", "2") == "http://example.org/a:b?page=2"
