"""Publishers who always link to one more document: the walk ends, and nothing that exists is lost."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from fhcrawl.downloadermiddlewares.limits import MOST_BARREN
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import Answer, FeedServer

pytestmark = pytest.mark.in_process

FEED = "/0"
LIMITS = {"FHCRAWL_MAX_ARCHIVES": 150, "FHCRAWL_MAX_PAGES": 150}
Shown = Callable[[int], list[E]]
_tokens = count()


class Endless(dict[str, Answer]):
    """Documents `/0`, `/1`, …, each of which links to the next one, with other content in each response.

    :param shown: the entries of a document
    :param last: number of the last document, which links to none
    """

    def __init__(self, relation: str, shown: Shown, last: int | None = None) -> None:
        super().__init__()
        self.relation = relation
        self.shown = shown
        self.last = last

    def get(self, path: str, default: Answer | None = None) -> Answer | None:  # type: ignore[override]
        number = path.removeprefix("/")
        if not number.isdecimal():
            return default
        older = {} if int(number) == self.last else {self.relation: f"/{int(number) + 1}"}
        # Without entries, the subscription document stays the same.
        title = str(next(_tokens)) if int(number) else "Feed"
        return Answer(atom(self.shown(int(number)), links=older, title=title).encode(), etag=False)


def dated(number: int, text: str = "text") -> E:
    return E(f"e{number}", text, updated=f"2003-01-{28 - number:02}T00:00:00Z")


def crawl(server: FeedServer, project: Project) -> int:
    server.requested()
    run = project.crawl(server.url(FEED), settings=LIMITS)
    assert "Traceback" not in run.log
    return len(server.requested())


def page(number: int) -> list[E]:
    return [dated(2 * number), dated(2 * number + 1)]


def tokens(entries: list[E]) -> list[E]:
    return [dated(int(str(e.id)[1:]), f"https://cdn.example.org/?token={next(_tokens)}") for e in entries]


@pytest.mark.parametrize(
    ("last", "beyond"),
    [
        (2, lambda _number: page(2)),
        (2, lambda number: page(2)[:: 1 if number % 2 else -1]),
        (2, lambda _number: page(2)[:1]),
        (2, lambda _number: tokens(page(2))),
        (0, lambda _number: page(0)),
    ],
    ids=["same", "in another order", "fewer", "with other tokens", "the first page"],
)
def test_pages_beyond_the_last_repeat(server: FeedServer, project: Project, last: int, beyond: Shown) -> None:
    server.answers = Endless("next", lambda number: page(number) if number <= last else beyond(number))
    for _run in range(3):
        assert crawl(server, project) == last + 2
        assert project.verdict() == ("incomplete", ["repeats", "paged"])
    assert len(project.logical_feed()) == 2 * (last + 1)


def test_next_page_that_redirects_to_the_first(server: FeedServer, project: Project) -> None:
    server.serve("/0", atom(page(0), links={"next": "/0?paged=2"}), etag=False)
    server.serve("/0?paged=2", "", status=301, headers={"Location": "/0"})
    for _run in range(3):
        assert crawl(server, project) == 3
        assert project.verdict() == ("incomplete", ["repeats", "paged"])


@pytest.mark.parametrize(
    "entry",
    [
        lambda n: E("same", f"text {n}", updated=None, title=None),
        lambda n: E("same", f"text {n}", updated=f"2003-01-{n + 1:02}T00:00:00Z"),
        lambda n: E("same", f"text {n}", title=f"title {n}"),
    ],
    ids=["without times", "with times", "with titles"],
)
def test_shared_id_is_no_repetition(server: FeedServer, project: Project, entry: Callable[[int], E]) -> None:
    server.answers = Endless("next", lambda number: [entry(2 * number), entry(2 * number + 1)], last=9)
    assert crawl(server, project) == 10
    assert set(project.verdict()[1]) <= {"shared-id", "paged"}


@pytest.mark.parametrize("relation", ["next", "prev-archive"])
@pytest.mark.parametrize("with_tokens", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_cycle_of_entries_at_new_urls_ends(
    server: FeedServer, project: Project, relation: str, with_tokens: bool, first: int
) -> None:
    def shown(number: int) -> list[E]:
        found = page(number if number < first else first + (number - first) % 3)
        return tokens(found) if with_tokens else found

    server.answers = Endless(relation, shown)
    for run in range(1, 4):
        # If every page has changed, all are read again.
        pieces = run if with_tokens and relation == "next" else 1
        assert crawl(server, project) <= pieces * MOST_BARREN + 6
        assert "empty-archives" in project.verdict()[1]


@pytest.mark.parametrize("relation", ["next", "prev-archive"])
def test_empty_documents_are_read_a_few_in_a_run(server: FeedServer, project: Project, relation: str) -> None:
    server.answers = Endless(relation, lambda number: page(number) if number < 3 else [])
    assert crawl(server, project) == 3 + MOST_BARREN
    for _run in range(3):
        assert crawl(server, project) == 1 + MOST_BARREN
        assert "empty-archives" in project.verdict()[1]


@pytest.mark.parametrize(("relation", "first"), [("next", 1), ("next", 2), ("prev-archive", 2)])
def test_walk_goes_on_beside_news(server: FeedServer, project: Project, relation: str, first: int) -> None:
    """Documents without entries that an earlier walk has read are none of the run."""
    new = E("new")

    def shown(number: int) -> list[E]:
        return [new, *page(0)] if number == 0 else page(number) if number < first else []

    server.answers = Endless(relation, shown)
    crawl(server, project)
    for run in range(1, 4):
        new = E(f"new{run}")
        server.requested()
        project.crawl(server.url(FEED), settings=LIMITS)
        assert server.requested()[-1] == f"/{first - 1 + (run + 1) * MOST_BARREN}"


@pytest.mark.parametrize(("relation", "verdict"), [("next", "unknown"), ("prev-archive", "complete")])
@pytest.mark.parametrize(("empty", "runs"), [(12, 1), (MOST_BARREN - 1, 1), (25, 2), (45, 3)])
def test_what_is_behind_documents_without_entries_is_reached(
    server: FeedServer, project: Project, relation: str, verdict: str, empty: int, runs: int
) -> None:
    last = empty + 3
    server.answers = Endless(
        relation, lambda n: page(n) if n < 2 else [dated(20 + n - last)] if n >= last - 1 else [], last
    )
    for run in range(1, runs + 1):
        crawl(server, project)
        assert ("empty-archives" in project.verdict()[1]) == (run < runs)
    assert project.verdict()[0] == verdict
    assert len(project.logical_feed()) == 6


def test_archives_of_what_the_newest_document_has_take_one_run(server: FeedServer, project: Project) -> None:
    every = [E(f"e{number}", updated=f"20{number:02}-01-01T00:00:00Z") for number in range(30, 0, -1)]
    server.answers = Endless("prev-archive", lambda n: every[n - 1 : n] if n else every[:28], last=30)
    crawl(server, project)
    assert project.verdict() == ("complete", [])
    assert len(project.logical_feed()) == 30


def test_archives_that_show_the_subscription_document_again_end(server: FeedServer, project: Project) -> None:
    server.answers = Endless("prev-archive", lambda _number: page(0))
    assert crawl(server, project) == 1 + len(page(0)) + MOST_BARREN
    assert project.verdict() == ("incomplete", ["empty-archives"])
