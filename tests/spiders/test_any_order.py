"""The logical feed does not depend on the order of arrival: generated chains, runs and interruptions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from fhcrawl.documents import Tombstone
from fhcrawl.logical_feed import ChainPosition, Outcome, Verdict, Winner, decide, deletion
from fhcrawl.logical_feed import Version as LogicalVersion
from fhcrawl.logical_feed.results import CommitBatch
from fhcrawl.logical_feed.versions import latest_time
from fhcrawl.logical_feed.versions import order as logical_order
from fhcrawl.store import Store
from tests.databases import examples
from tests.engine import Engine
from tests.faketime import clock_at
from tests.feeds import E, atom, tombstone

if TYPE_CHECKING:
    from typing import Any

    from tests.databases import NewDatabase

INDEX = "http://example.org/index"
NOW = "2026-01-01T00:00:00Z"
FUTURE = "2999-01-01T00:00:00Z"
TIMES = [None, "2003-01-01T00:00:00Z", "2003-01-01T00:00:00.5Z", "2003-01-02T00:00:00Z", FUTURE]


class Document(NamedTuple):
    """What a feed document says.

    :param deleted: ids of entries that are no more, and when they were deleted
    """

    entries: list[E]
    updated: str | None
    deleted: list[tuple[str, str | None]]


ids, times = st.sampled_from("abcd"), st.sampled_from(TIMES)
documents = st.builds(
    Document,
    st.lists(st.builds(E, ids, st.sampled_from("xyz"), times), max_size=4),
    times,
    st.lists(st.tuples(ids, times), max_size=2),
)


@dataclass
class Publication:
    """What the publisher serves during a run: how many archives there are, and the subscription document.

    :param life: how many entries the run handles before it is killed; None if it is not
    :param gaps: numbers of the documents that answer 404; 0 is the subscription document
    """

    archives: int
    subscription: Document
    life: int | None
    gaps: frozenset[int] = frozenset()


@dataclass
class History:
    archives: list[Document]
    publications: list[Publication]


@st.composite
def histories(draw: st.DrawFn) -> History:
    archives = draw(st.lists(documents, max_size=5))
    counts = sorted(draw(st.lists(st.integers(0, len(archives)), min_size=1, max_size=3)))
    lives = st.none() | st.integers(0, 12)
    gaps = st.frozensets(st.integers(0, len(archives)), max_size=2)
    publications = [Publication(n, draw(documents), draw(lives), draw(gaps)) for n in counts]
    publications.append(Publication(len(archives), draw(documents), None))
    return History(archives, publications)


def url(number: int) -> str:
    return f"http://example.org/a{number}" if number else INDEX


def body(document: Document, prev: int) -> str:
    head = "".join(tombstone(*deleted) for deleted in document.deleted)
    return atom(document.entries, prev=url(prev) if prev else None, updated=document.updated, head=head)


def serve(history: History, publication: Publication) -> dict[str, str | int]:
    """The answers by URL: archive 1 is the oldest."""
    archives = history.archives[: publication.archives]
    served: dict[str, str | int] = {url(n): body(document, n - 1) for n, document in enumerate(archives, 1)}
    served[INDEX] = body(publication.subscription, publication.archives)
    return served | dict.fromkeys(map(url, publication.gaps), 404)


class Version(NamedTuple):
    """A version, for the oracle.

    :param order: time, whether it is a deletion, its document's time, places in the chain and the document
    :param text: None for a deletion
    """

    id: str
    order: tuple[str, int, str, tuple[int, int, int], int]
    text: str | None
    document: str


def versions(document: Document, source: str, place: tuple[int, int, int]) -> list[Version]:
    def counts(time: str | None) -> str:
        return "" if time is None or time == FUTURE else time.rstrip("Z")

    own = counts(document.updated)
    found = [
        Version(i, (counts(when) or own, 1, own, place, 0), None, source) for i, when in document.deleted
    ]
    for position, entry in enumerate(document.entries):
        assert entry.id is not None
        order = (counts(entry.updated) or own, 0, own, place, -position)
        found.append(Version(entry.id, order, entry.text, source))
    return found


def oracle(seen: list[Version]) -> dict[str, tuple[str, str]]:
    """Texts and documents by id: of all versions at once the greatest, where that is no deletion."""
    greatest: dict[str, Version] = {}
    for version in seen:
        if version.id not in greatest or version.order > greatest[version.id].order:
            greatest[version.id] = version
    return {v.id: (v.text, v.document) for v in greatest.values() if v.text is not None}


@dataclass
class Crawled:
    """What the runs have brought, for the oracle.

    :param archived: numbers of the archives that are processed
    :param walked: how many archives the last subscription document that was read has; None if it was lost
    :param exported: the exports of all runs, applied in their order: texts by id
    """

    history: History
    store: str
    seen: list[Version] = field(default_factory=list)
    archived: set[int] = field(default_factory=set)
    walked: int | None = None
    exported: dict[str, str] = field(default_factory=dict)

    def run(self, number: int, publication: Publication) -> None:
        engine = Engine(self.store, serve(self.history, publication), publication.life)
        changes = engine.crawl(INDEX)
        event(f"run {'killed' if changes is None else 'finished'}")
        # It stands in front of the newest archive of its time; archives of later times are newer.
        place = (publication.archives, 1, number)
        for result, _batch in engine.committed:
            if result.fetch.requested_url == INDEX:
                self.walked = publication.archives
                self.seen += versions(publication.subscription, INDEX, place)
            else:
                self._archive(int(result.fetch.requested_url.rpartition("a")[2]))
        if 0 in publication.gaps:
            self.walked = None
        for change in changes or ():
            self._apply(change)

    def _archive(self, number: int) -> None:
        assert number not in self.archived, "an archive that is processed was fetched again"
        self.archived.add(number)
        self.seen += versions(self.history.archives[number - 1], url(number), (number, 0, 0))

    def _apply(self, change: dict[str, Any]) -> None:
        entry_id, kind = change["id"], change["change"]
        event(f"change {kind}")
        assert (kind == "new") == (entry_id not in self.exported)
        if kind == "deleted":
            del self.exported[entry_id]
            return
        assert self.exported.get(entry_id) != change["summary"], "exported twice"
        self.exported[entry_id] = change["summary"]

    def is_whole(self) -> bool:
        """Whether the chain of the last subscription document has been read to its end."""
        return self.walked is not None and self.archived >= set(range(1, self.walked + 1))


LIVE = Document([E("a", "x", TIMES[1])], TIMES[1], [])
TWICE = Document([E("a", "x", TIMES[1]), E("a", "y", TIMES[3])], TIMES[1], [])
BURIED = Document([E("b", "x", TIMES[1])], TIMES[1], [("a", TIMES[3])])


@pytest.mark.full_lane("hundreds of crawls in this process")
@pytest.mark.timeout(900)
@settings(max_examples=examples(30))
@given(histories())
@example(
    History([LIVE], [Publication(1, LIVE, None), Publication(1, BURIED, None), Publication(1, LIVE, None)])
)
@example(
    History(
        [LIVE, LIVE, LIVE],
        [Publication(3, BURIED, None, gaps=frozenset({2})), Publication(3, BURIED, None)],
    )
)
@example(History([], [Publication(0, TWICE, 1), Publication(0, LIVE, None)]))
@example(History([TWICE], [Publication(1, LIVE, 2), Publication(1, BURIED, None)]))
def test_any_runs_interruptions_and_gaps_give_the_oracles_feed(
    new_database: NewDatabase, history: History
) -> None:
    with new_database() as database:
        crawled = Crawled(history, database.url)
        for number, publication in enumerate(history.publications):
            crawled.run(number, publication)
            opened = Store.open(crawled.store)
            whole = {e["id"]: (e["summary"], e["document"]) for e in opened.entries.read()}
            feeds = list(opened.feeds.read())
            opened.close()
            assert whole == oracle(crawled.seen)
            if not feeds:
                # It could never be read, and is not subscribed.
                assert crawled.walked is None
                continue
            [feed] = feeds
            assert feed.entries == len(whole)
            assert feed.verdict is not Verdict.COMPLETE or crawled.is_whole()
    assert crawled.archived == set(range(1, len(history.archives) + 1))
    assert crawled.exported == {entry_id: text for entry_id, (text, _) in whole.items()}
    assert feed.verdict is (Verdict.COMPLETE if history.archives else Verdict.UNKNOWN)


# What machines say that the time is: a day later counts too. By the last one, all times but FUTURE count.
CLOCKS = ["2000-01-01T00:00:00", "2002-12-31T12:00:00", "2026-01-01T00:00:00"]


class Reading(NamedTuple):
    """A run with a clock: how many archives there are, and when it is killed."""

    clock: str
    archives: int
    life: int | None = None


@st.composite
def readings(draw: st.DrawFn) -> tuple[list[Document], list[Reading]]:
    """Archives, and runs of which the last one's clock is right."""
    archives = draw(st.lists(documents, min_size=1, max_size=4))
    counts = sorted(draw(st.lists(st.integers(0, len(archives)), min_size=1, max_size=3)))
    lives = st.none() | st.integers(0, 12)
    wrong = [Reading(draw(st.sampled_from(CLOCKS)), count, draw(lives)) for count in counts]
    return archives, [*wrong, Reading(CLOCKS[-1], len(archives))]


NEWER = Document([E("a", "x", TIMES[3])], TIMES[1], [])
EMPTY, DELETING = Document([], None, []), Document([], None, [("a", None)])
DATED = Document([E("a", "x", None)], TIMES[2], [])


@pytest.mark.full_lane("hundreds of crawls in this process")
@pytest.mark.timeout(900)
@settings(max_examples=examples(30))
@given(readings(), documents)
@example(([NEWER], [Reading(CLOCKS[0], 1), Reading(CLOCKS[-1], 1)]), LIVE)
@example(([NEWER, LIVE], [Reading(CLOCKS[-1], 1), Reading(CLOCKS[0], 2), Reading(CLOCKS[-1], 2)]), LIVE)
@example(([DELETING, DATED, EMPTY], [Reading(CLOCKS[0], 3), Reading(CLOCKS[-1], 3)]), EMPTY)
@example(([TWICE, BURIED], [Reading(CLOCKS[1], 2, 1), Reading(CLOCKS[0], 2), Reading(CLOCKS[-1], 2)]), LIVE)
def test_clocks_that_were_wrong_leave_the_feed_as_it_is_by_the_right_one(
    new_database: NewDatabase, read: tuple[list[Document], list[Reading]], subscription: Document
) -> None:
    archives, runs = read
    exported: dict[str, str] = {}
    with new_database() as database:
        for run in runs:
            served = serve(History(archives, []), Publication(run.archives, subscription, None))
            with clock_at(run.clock):
                changes = Engine(database.url, served, run.life).crawl(INDEX)
            for change in changes or ():
                exported[change["id"]] = "" if change["change"] == "deleted" else change["summary"]
        with clock_at(runs[-1].clock):
            again = Engine(database.url, served)
            assert again.crawl(INDEX) == []
        opened = Store.open(database.url)
        whole = {e["id"]: (e["summary"], e["document"]) for e in opened.entries.read()}
        [feed] = opened.feeds.read()
        opened.close()
    assert again.asked == [INDEX]
    assert feed.verdict is Verdict.COMPLETE
    seen = [v for n, archive in enumerate(archives, 1) for v in versions(archive, url(n), (n, 0, 0))]
    assert whole == oracle([*seen, *versions(subscription, INDEX, (len(archives), 1, 0))])
    assert {i: text for i, text in exported.items() if text} == {i: text for i, (text, _) in whole.items()}


@settings(max_examples=200)
@given(st.data(), st.lists(st.tuples(st.integers(1, 3), documents), min_size=1, max_size=6))
def test_any_permutation_of_documents_gives_the_same_feed(
    data: st.DataObject, walks: list[tuple[int, Document]]
) -> None:
    """Documents at any places, in any order of arrival."""
    placed = [(ChainPosition(walk, -step), document) for step, (walk, document) in enumerate(walks)]
    feeds = [fold(placed), fold(data.draw(st.permutations(placed)))]
    assert feeds[0] == feeds[1]


def fold(placed: list[tuple[ChainPosition, Document]]) -> dict[str, Winner]:
    """The winners when documents arrive in an order."""
    latest = latest_time(NOW)
    winners: dict[str, Winner] = {}
    for place, (items, updated, deleted) in placed:
        deletions = [
            LogicalVersion.at(latest, i, deletion(Tombstone(i, when), updated, place), "")
            for i, when in deleted
        ]
        batch = CommitBatch()
        batch.compare(winners, deletions)
        winners = batch.winners
        for position, item in enumerate(items):
            assert item.id is not None
            order = logical_order(item.updated, updated, place, position).counted(latest)
            version = LogicalVersion(item.id, order, item.text)
            winner = winners.get(item.id)
            outcome = decide(version, winner)
            if outcome in (Outcome.NEW, Outcome.UPDATED):
                winners[item.id] = Winner(order, item.text)
            elif winner is not None and outcome is Outcome.DUPLICATE:
                winners[item.id] = winner._replace(order=max(order, winner.order))
    return winners
