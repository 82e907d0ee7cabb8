"""The logical feed does not depend on the order of arrival, interruptions, gaps or clocks."""

from itertools import combinations
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fhcrawl.documents import Tombstone
from fhcrawl.logical_feed import ChainPosition, Outcome, Winner
from fhcrawl.logical_feed import Version as LogicalVersion
from fhcrawl.logical_feed.results import CommitBatch, decide, deletion_order, latest_time
from fhcrawl.logical_feed.results import order as logical_order
from fhcrawl.store import Store
from tests.databases import NewDatabase, examples
from tests.engine import Engine
from tests.faketime import clock_at
from tests.feeds import E, atom, tombstone

INDEX = "http://example.org/index"
NOW = "2026-01-01T00:00:00Z"
FUTURE = "2999-01-01T00:00:00Z"
TIMES = [None, "2003-01-01T00:00:00Z", "2003-01-01T00:00:00.5Z", "2003-01-02T00:00:00Z", FUTURE]


class Document(NamedTuple):
    """A feed document; `deleted` maps ids of entries to the times of their deletion."""

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


def _distinct(document: Document) -> Document:
    """Each id once: of an entry with a time and again without one, or deleted too, the first counts."""
    entries = {entry.id: entry for entry in document.entries}
    deleted = {i: when for i, when in document.deleted if i not in entries}
    return document._replace(entries=list(entries.values()), deleted=list(deleted.items()))


distinct = documents.map(_distinct)
LINKS = [None, "http://example.org/1", "http://example.org/2"]
of_shared_ids = st.builds(E, st.sampled_from("gh"), st.sampled_from("xy"), times, link=st.sampled_from(LINKS))
# Limits of shared ids (docs/howto/odd-publishers.md): no document loses an entry between the runs, and no
# tombstone has one of these ids.
sharing = st.builds(
    lambda document, shared: document._replace(entries=[*document.entries, *shared]),
    distinct,
    st.lists(of_shared_ids, max_size=3),
)


class SharedIds:
    """What tells entries apart: names for the oracle, by all documents of a feed."""

    def __init__(self, documents: list[Document]) -> None:
        self.ids, self.links = set[str | None](), set[tuple[str | None, str | None]]()
        for one, other in (pair for each in documents for pair in combinations(each.entries, 2)):
            differ = (one.link, one.text) != (other.link, other.text)
            if (
                one.id == other.id
                and differ
                and (one.updated == other.updated or not one.updated or not other.updated)
            ):
                self.ids.add(one.id)
                if one.link == other.link:
                    self.links.add((one.id, one.link))

    def name(self, entry_id: str | None, link: str | None, text: str) -> str:
        if entry_id not in self.ids:
            return str(entry_id)
        return (
            f"{entry_id} {link}"
            if link and (entry_id, link) not in self.links
            else f"{entry_id} {link} {text}"
        )


def url(number: int) -> str:
    return f"http://example.org/a{number}" if number else INDEX


def body(document: Document, prev: int) -> str:
    head = "".join(tombstone(*deleted) for deleted in document.deleted)
    return atom(document.entries, prev=url(prev) if prev else None, updated=document.updated, head=head)


class Version(NamedTuple):
    """A version, for the oracle.

    :param order: time, whether it is a deletion, its document's time, places in the chain and the document
    :param text: None for a deletion
    """

    id: str
    order: tuple[str, int, tuple[int, int, int], int]
    text: str | None
    document: str


def versions(
    document: Document, source: str, place: tuple[int, int, int], shared: SharedIds
) -> list[Version]:
    def counts(time: str | None) -> str:
        return "" if time is None or time == FUTURE else time.rstrip("Z")

    # What the subscription document shows without a time of its own has none.
    own = "" if source == INDEX else document.updated
    found = [Version(i, (counts(when or own), 1, place, 0), None, source) for i, when in document.deleted]
    for position, entry in enumerate(document.entries):
        order = (counts(entry.updated or own), 0, place, -position)
        name = shared.name(entry.id, entry.link, entry.text)
        found.append(Version(name, order, entry.text, source))
    return found


def oracle(seen: list[Version]) -> dict[str, tuple[str, str]]:
    """Texts and documents by id: of all versions at once the greatest, where that is no deletion.

    If the subscription document has an entry without a time, its version is the greatest.
    """
    greatest: dict[str, Version] = {}
    for entry_id in {version.id for version in seen}:
        found = [version for version in seen if version.id == entry_id]
        shown = [version for version in found if version.document == INDEX]
        if any(not version.order[0] for version in shown):
            greatest[entry_id] = max(shown, key=lambda version: version.order[1:])
        else:
            greatest[entry_id] = max(found, key=lambda version: version.order)
    return {v.id: (v.text, v.document) for v in greatest.values() if v.text is not None}


LIVE = Document([E("a", "x", TIMES[1])], TIMES[1], [])
TWICE = Document([E("a", "x", TIMES[1]), E("a", "y", TIMES[3])], TIMES[1], [])
BURIED = Document([E("b", "x", TIMES[1])], TIMES[1], [("a", TIMES[3])])
NEWER = Document([E("a", "x", TIMES[3])], TIMES[1], [])
EMPTY, DELETING = Document([], None, []), Document([], None, [("a", None)])
DATED = Document([E("a", "x", None)], TIMES[2], [])
# Two entries with one id; one of this id alone, and a newer one.
SHARING = Document([E("g", "x", None), E("g", "y", None)], None, [])
ALONE, REPLACING = (
    Document([E("g", "x", time, link=link)], None, [])
    for time, link in zip(TIMES[1::2], LINKS[1:], strict=False)
)
# What machines say that the time is: a day later counts too. By the last one, all times but FUTURE count.
CLOCKS = ["2000-01-01T00:00:00", "2002-12-31T12:00:00", "2026-01-01T00:00:00"]


class Reading(NamedTuple):
    """A run with a clock.

    :param archives: how many there are, the oldest first
    :param life: how many entries the run handles before it is killed; None if it is not
    :param gaps: numbers of the documents that answer 404; 0 is the subscription document
    """

    clock: str
    archives: int
    life: int | None = None
    gaps: frozenset[int] = frozenset()

    def serve(self, archives: list[Document], subscription: Document) -> dict[str, str | int]:
        served: dict[str, str | int] = {
            url(n): body(document, n - 1) for n, document in enumerate(archives[: self.archives], 1)
        }
        served[INDEX] = body(subscription, self.archives)
        return served | dict.fromkeys(map(url, self.gaps), 404)


@st.composite
def readings(draw: st.DrawFn) -> tuple[list[Document], list[Reading]]:
    """Archives, and runs of which the last one meets no gap, and its clock is right."""
    archives = draw(st.lists(sharing, min_size=1, max_size=4))
    counts = sorted(draw(st.lists(st.integers(0, len(archives)), min_size=1, max_size=3)))
    lives = st.none() | st.integers(0, 12)
    gaps = st.frozensets(st.integers(0, len(archives)), max_size=2)
    before = [Reading(draw(st.sampled_from(CLOCKS)), count, draw(lives), draw(gaps)) for count in counts]
    return archives, [*before, Reading(CLOCKS[-1], len(archives))]


@pytest.mark.slow("hundreds of crawls in this process")
@pytest.mark.both_stores
@pytest.mark.timeout(900)
@settings(max_examples=examples(30))
@given(readings(), sharing)
@example(([NEWER], [Reading(CLOCKS[0], 1), Reading(CLOCKS[-1], 1)]), LIVE)
@example(([NEWER, LIVE], [Reading(CLOCKS[-1], 1), Reading(CLOCKS[0], 2), Reading(CLOCKS[-1], 2)]), LIVE)
@example(([DELETING, DATED, EMPTY], [Reading(CLOCKS[0], 3), Reading(CLOCKS[-1], 3)]), EMPTY)
@example(([TWICE, BURIED], [Reading(CLOCKS[1], 2, 1), Reading(CLOCKS[0], 2), Reading(CLOCKS[-1], 2)]), LIVE)
@example(([LIVE] * 3, [Reading(CLOCKS[-1], 3, gaps=frozenset({2})), Reading(CLOCKS[-1], 3)]), BURIED)
@example(([SHARING, REPLACING], [Reading(CLOCKS[-1], 2)]), ALONE)
@example(([ALONE, REPLACING, SHARING], [Reading(CLOCKS[-1], 2), Reading(CLOCKS[-1], 3)]), EMPTY)
def test_any_runs_leave_the_feed_as_one_right_run_does(
    new_database: NewDatabase, read: tuple[list[Document], list[Reading]], subscription: Document
) -> None:
    archives, runs = read
    shared = SharedIds([*archives, subscription])
    exported: dict[str, tuple[str, str]] = {}

    def crawl(run: Reading) -> list[str]:
        with clock_at(run.clock):
            engine = Engine(database.url, run.serve(archives, subscription), run.life)
            changes = engine.crawl(INDEX)
        for change in changes or ():
            assert (change["change"] == "new") == (change["id"] not in exported)
            if change["change"] == "deleted":
                del exported[change["id"]]
            else:
                content = change["summary"], change["link"]
                assert exported.get(change["id"]) != content, "exported twice"
                exported[change["id"]] = content
        return engine.requested

    with new_database() as database:
        for run in runs:
            crawl(run)
        before = dict(exported)
        # Archives with other entries of an id that this run has found to be shared.
        if crawl(runs[-1]) != [INDEX]:
            assert shared.ids
        else:
            assert before == exported
        assert crawl(runs[-1]) == [INDEX]
        opened = Store.open(database.url)
        entries = list(opened.entries.read(has_details=True))
        [feed] = opened.feeds.read()
        opened.close()
    assert not feed.reasons
    assert feed.entries == len(entries)
    assert exported == {e["id"]: (e["summary"], e["link"]) for e in entries}
    seen = [v for n, archive in enumerate(archives, 1) for v in versions(archive, url(n), (n, 0, 0), shared)]
    # The document is the first one that was read with this text.
    newest = oracle([*seen, *versions(subscription, INDEX, (len(archives), 1, 0), shared)])
    names = [shared.name(e["shared_id"] or e["id"], e["link"], e["summary"]) for e in entries]
    assert dict(zip(names, (e["summary"] for e in entries), strict=True)) == {
        name: text for name, (text, _) in newest.items()
    }
    assert len(set(names)) == len(names)


@settings(max_examples=200)
@given(
    st.data(),
    st.lists(distinct, max_size=3),
    st.lists(st.tuples(st.integers(1, 3), distinct), max_size=6),
)
def test_any_permutation_of_documents_gives_the_same_feed(
    data: st.DataObject, subscriptions: list[Document], archives: list[tuple[int, Document]]
) -> None:
    """Archives at any places, in any order of arrival, after the subscription document of their walk."""
    current = [(ChainPosition(walk, 0), document) for walk, document in enumerate(subscriptions, 1)]
    placed = [(ChainPosition(walk, -step), document) for step, (walk, document) in enumerate(archives, 1)]
    by_walk = data.draw(st.permutations(placed))
    lag = {place: data.draw(st.integers(place.walk, 3)) for place, _document in placed}
    by_walk.sort(key=lambda archive: lag[archive[0]])
    arrived = [*current, *by_walk]
    arrived.sort(key=lambda one: lag.get(one[0], one[0].walk))
    assert _without_overrides(fold([*current, *placed])) == _without_overrides(fold(arrived))


def _without_overrides(winners: dict[str, Winner]) -> dict[str, Winner]:
    return {i: winner._replace(order=winner.order._replace(overrides=0)) for i, winner in winners.items()}


def fold(placed: list[tuple[ChainPosition, Document]]) -> dict[str, Winner]:
    """The winners when documents arrive in an order."""
    latest = latest_time(NOW)
    winners: dict[str, Winner] = {}
    for place, (items, updated, deleted) in placed:
        deletions = [
            LogicalVersion.at(
                latest, i, deletion_order(Tombstone(i, when), updated, place, not place.step), ""
            )
            for i, when in deleted
        ]
        batch = CommitBatch()
        batch.compare(winners, deletions)
        winners = batch.winners
        for position, item in enumerate(items):
            assert item.id is not None
            order = logical_order(item.updated, updated, place, position, not place.step).counted(latest)
            version = LogicalVersion(item.id, order, item.text)
            winner = winners.get(item.id)
            outcome = decide(version, winner)
            if outcome in (Outcome.NEW, Outcome.UPDATED):
                winners[item.id] = Winner(version.with_overrides_of(winner).order, item.text)
            elif winner is not None and outcome is Outcome.DUPLICATE and order.is_newer(winner.order):
                winners[item.id] = winner._replace(order=order.with_overrides_of(winner.order))
    return winners
