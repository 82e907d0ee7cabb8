"""FHCRAWL_MAX_BYTES: how many octets a feed may bring in one run."""

import gzip
import json
import pickle
from collections.abc import Callable

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.utils.request import request_from_dict
from scrapy.utils.test import get_crawler

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import WalkContext, with_learned
from fhcrawl.crawling.failures import LimitReached
from fhcrawl.crawling.subscriptions import FeedList
from fhcrawl.downloadermiddlewares.limits import OctetsMiddleware
from fhcrawl.logical_feed import ChainPosition, Role
from fhcrawl.spiders.history import HistorySpider
from fhcrawl.store import DocumentRef
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import Answer, FeedServer
from tests.warc.test_captures import Archive

pytestmark = pytest.mark.any_store("what reading a document may cost")

TEXT = "x" * 100_000
PATHS = [f"/a?n={number}" for number in range(9, 0, -1)]


def serve_chain(server: FeedServer, relation: str = "prev-archive", compressed: bool = False) -> str:
    """A subscription document of some octets, and nine documents of 100 KB behind it."""
    server.serve("/index", atom([E("index")], links={relation: PATHS[0]}))
    for path, behind in zip(PATHS, [*PATHS[1:], None], strict=True):
        body = atom([E(path, TEXT)], links={relation: behind} if behind else None).encode()
        headers = {"Content-Encoding": "gzip"} if compressed else {}
        server.serve(path, gzip.compress(body) if compressed else body, headers=headers)
    return server.url("/index")


def left(project: Project) -> list[tuple[str, ...]]:
    """The kind and the sentence of each document that a limit has left for a later run."""
    return project.database.rows("SELECT reason, detail FROM documents WHERE state = 'known'")


def read_in_runs(project: Project, feed: str, most: int, runs: int) -> list[int]:
    """How many entries each run has brought, until one has left nothing."""
    found = []
    for _ in range(runs):
        run = project.crawl(feed, settings={"FHCRAWL_MAX_BYTES": most})
        assert run.exit_code == 0, run.log
        found.append(len(run.items))
        if not left(project):
            break
        sentence = f"was left for a later run: FHCRAWL_MAX_BYTES limits a crawl to {most} bytes"
        assert ("limit", sentence) in left(project)
        assert "fhcrawl/feed/complete" not in run.stats
    return found


@pytest.mark.parametrize(
    ("compressed", "relation", "most", "entries", "verdict"),
    [
        (False, "prev-archive", 350_000, [5, 4, 1], ("complete", [])),
        (True, "prev-archive", 350_000, [5, 4, 1], ("complete", [])),
        (False, "next", 350_000, [5], ("incomplete", ["limit", "paged"])),
        # Each run reads a document more, whatever the limit.
        (False, "prev-archive", 1, [2, 1, 1], ("incomplete", ["limit"])),
    ],
)
def test_walk_ends_at_the_limit_and_later_runs_go_on(
    server: FeedServer,
    project: Project,
    compressed: bool,
    relation: str,
    most: int,
    entries: list[int],
    verdict: tuple[str, list[str]],
) -> None:
    feed = serve_chain(server, relation, compressed)
    assert read_in_runs(project, feed, most, len(entries)) == entries
    assert project.verdict() == verdict
    assert len(project.crawl(feed).items) == 10 - sum(entries)
    assert project.verdict() == (("unknown", ["paged"]) if relation == "next" else ("complete", []))
    assert set(project.logical_feed()) == {"index", *PATHS}


def test_documents_of_a_list_count(project: Project) -> None:
    folder = project.folder / "pages"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.atom").write_text(atom([E(str(number), TEXT)]))
    assert read_in_runs(project, folder.as_uri(), 150_000, 9) == [2, 2]
    assert set(project.logical_feed()) == set("0123")


def test_each_octet_counts_once(server: FeedServer, project: Project) -> None:
    # The chain is not compressed.
    feed = serve_chain(server)
    assert read_in_runs(
        project, feed, sum(len(answer.body) for answer in server.answers.values()) + 1, 1
    ) == [10]
    assert project.verdict() == ("complete", [])


def test_feed_beside_one_that_never_ends_is_complete(server: FeedServer, project: Project) -> None:
    class Endless(dict[str, Answer]):
        def get(self, path: str, default: object = None) -> Answer | None:  # type: ignore[override]
            if not path.startswith("/endless/"):
                return super().get(path)
            number = int(path.rpartition("/")[2])
            return Answer(atom([E(str(number), TEXT)], prev=f"/endless/{number + 1}").encode())

    server.serve("/index", atom([E("good 2")], prev="/good"))
    server.serve("/good", atom([E("good 1")]))
    server.answers = Endless(server.answers)
    feeds = server.url("/endless/0"), server.url("/index")
    run = project.crawl(*feeds, settings={"FHCRAWL_MAX_BYTES": 10 * len(TEXT)})
    assert run.exit_code == 0
    assert {"good 1", "good 2"} < set(run.changes)
    assert len([path for path in server.requested() if path.startswith("/endless/")]) <= 15
    assert {feed["feed"]: feed["verdict"] for feed in project.feeds()} == {
        feeds[0]: "incomplete",
        feeds[1]: "complete",
    }


def redirect(number: int) -> Answer:
    return Answer(TEXT.encode(), 302, headers={"Location": f"/r/{number + 1}"})


def failure(_number: int) -> Answer:
    return Answer(TEXT.encode(), 503)


@pytest.mark.parametrize("answer", [redirect, failure])
def test_what_comes_before_a_document_counts(
    server: FeedServer, project: Project, answer: Callable[[int], Answer]
) -> None:
    server.serve("/index", atom([E("2")], prev="/a1"))
    server.serve("/a1", atom([E("1")], prev="/r/0"))
    server.answers.update({f"/r/{number}": answer(number) for number in range(9)})
    project.crawl(server.url("/index"), settings={"FHCRAWL_MAX_BYTES": 150_000, "RETRY_TIMES": 8})
    assert len([path for path in server.requested() if path.startswith("/r/")]) == 2
    assert project.verdict() == ("incomplete", ["limit"])


@pytest.mark.parametrize(
    ("grows", "limit"),
    [
        # An entry has the base URL, and a link with it.
        (f'xml:base="http://example.org/{"x" * 1900}/"|', 450_000),
        (f"|<author><name>{'x' * 1900}</name></author>", 300_000),
    ],
    ids=["base", "author"],
)
def test_what_entries_inherit_counts(server: FeedServer, project: Project, grows: str, limit: int) -> None:
    attribute, head = grows.split("|")
    entries = "".join(f'<entry><id>{n}</id><link href="a"/></entry>' for n in range(100))
    for number in range(9, 0, -1):
        document = atom([], links={"prev-archive": server.url(f"/{number - 1}")}, head=head)
        document = document.replace("<feed", f"<feed {attribute}", 1).replace("</feed>", f"{entries}</feed>")
        assert len(document) < 10_000
        server.serve(f"/{number}", document)
    few = {"FHCRAWL_MAX_BYTES": limit}
    project.crawl(server.url("/9"), settings=few)
    assert server.requested() == ["/9", "/8"]
    assert project.verdict() == ("incomplete", ["limit"])
    index = {"id": "s", "createdAt": "2003-01-01T00:00:00Z", "pages": [f"/{n}" for n in range(9, 0, -1)]}
    server.serve("/index", json.dumps(index))
    project.crawl(server.url("/index"), settings=few)
    assert server.requested() == ["/index", "/9", "/8"]


def test_captures_are_read_whatever_the_limit(server: FeedServer, project: Project) -> None:
    feed = server.url("/feed")
    server.serve("/feed", atom([E("now", TEXT)]))
    archive = Archive(project.folder / "old.warc.gz")
    for year in (2001, 2002):
        archive.add(feed, f"{year}-01-01T00:00:00Z", atom([E(str(year), TEXT)]))
    run = project.crawl(feed, settings={"FHCRAWL_MAX_BYTES": 1}, args=("-a", "warc=old.warc.gz"))
    assert set(run.changes) == {"now", "2001", "2002"}


def test_what_was_read_goes_with_the_walk_to_another_process() -> None:
    crawler = get_crawler(HistorySpider, {"FHCRAWL_MAX_BYTES": 150})
    spider = HistorySpider(FeedList())
    one, other = OctetsMiddleware.from_crawler(crawler), OctetsMiddleware.from_crawler(crawler)
    walk = WalkContext("https://example.org/", 1)

    def ask(middleware: OctetsMiddleware, number: int, size: int) -> None:
        nonlocal walk
        url = f"https://example.org/{number}"
        requested = requests.unlinked(
            DocumentRef(url, url, Role.PART, ChainPosition(1, -number)), walk, number
        )
        stored = pickle.dumps(requested.replace(callback=spider.parse).to_dict(spider=spider))
        request: Request = request_from_dict(pickle.loads(stored), spider=spider)  # noqa: S301 - what it has just made
        middleware.process_request(request)
        response = Response(url, body=b"x" * size)
        middleware.response_downloaded(response, request)
        middleware.process_response(request, response)
        walk = with_learned(walk, request)

    ask(one, 1, 100)
    ask(other, 2, 49)
    ask(one, 3, 1)
    with pytest.raises(LimitReached):
        ask(other, 4, 1)
