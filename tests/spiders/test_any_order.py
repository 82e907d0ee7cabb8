"""The logical feed does not depend on the order of arrival: generated chains, runs and interruptions."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from fhcrawl.logical_feed import Outcome, Place, Verdict, Winner, decide, latest_time
from fhcrawl.logical_feed import Version as LogicalVersion
from fhcrawl.logical_feed import order as logical_order
from fhcrawl.store import Store
from tests.engine import Engine
from tests.feeds import E, atom

INDEX = "http://example.org/index"
FUTURE = "2999-01-01T00:00:00Z"
TIMES = [None, "2003-01-01T00:00:00Z", "2003-01-01T00:00:00.5Z", "2003-01-02T00:00:00Z", FUTURE]

entries = st.lists(
    st.builds(E, st.sampled_from("abcd"), st.sampled_from("xyz"), st.sampled_from(TIMES)), max_size=4
)
documents = st.tuples(entries, st.sampled_from(TIMES))


@dataclass
class Publication:
    """What the publisher serves during a run: how many archives there are, and the subscription document.

    :param life: how many entries the run handles before it is killed; None if it is not
    """

    archives: int
    subscription: tuple[list[E], str | None]
    life: int | None
    plain: bool = True


@dataclass
class History:
    archives: list[tuple[list[E], str | None]]
    publications: list[Publication]


@st.composite
def histories(draw: st.DrawFn) -> History:
    archives = draw(st.lists(documents, max_size=5))
    counts = sorted(draw(st.lists(st.integers(0, len(archives)), min_size=1, max_size=3)))
    lives = st.none() | st.integers(0, 12)
    publications = [Publication(n, draw(documents), draw(lives), draw(st.booleans())) for n in counts]
    publications.append(Publication(len(archives), draw(documents), None))
    return History(archives, publications)


def url(number: int) -> str:
    return f"http://example.org/a{number}"


def serve(history: History, publication: Publication) -> dict[str, str]:
    """The bodies by URL: archive 1 is the oldest."""
    served = {}
    for number, (items, updated) in enumerate(history.archives[: publication.archives], 1):
        prev = url(number - 1) if number > 1 else None
        served[url(number)] = atom(items, prev=prev, updated=updated)
    items, updated = publication.subscription
    prev = url(publication.archives) if publication.archives else None
    served[INDEX] = atom(items, prev=prev, updated=updated)
    return served


Version = tuple[E, str | None, str, tuple[int, int, int]]


def oracle(versions: list[Version]) -> dict[str, tuple[E, str]]:
    """All versions at once: the greatest of (time, document's time, place in the chain, position)."""

    def counts(time: str | None) -> str:
        return "" if time is None or time == FUTURE else time.rstrip("Z")

    best: dict[str, tuple[Any, E, str]] = {}
    for position, (entry, updated, document, place) in enumerate(versions):
        order = (counts(entry.updated) or counts(updated), counts(updated), place, -position)
        if entry.id is not None and (entry.id not in best or order > best[entry.id][0]):
            best[entry.id] = (order, entry, document)
    return {entry_id: (entry, document) for entry_id, (_, entry, document) in best.items()}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_any_runs_and_interruptions_give_the_oracles_feed(history: History) -> None:
    versions: list[Version] = []
    exported: dict[str, str] = {}
    archived: set[int] = set()
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{Path(folder) / 'store.sqlite'}"
        for run, publication in enumerate(history.publications):
            engine = Engine(store, serve(history, publication), publication.life, publication.plain)
            changes = engine.crawl(INDEX)
            event(f"run {'killed' if changes is None else 'finished'}")
            for visit in engine.committed:
                if visit.asked == INDEX:
                    items, updated = publication.subscription
                    # It stands in front of the newest archive of its time; archives of later times are newer.
                    place = (publication.archives, 1, run)
                    versions += [(e, updated, INDEX, place) for e in items]
                else:
                    number = int(visit.asked.rpartition("a")[2])
                    assert number not in archived, "an archive that is processed was fetched again"
                    archived.add(number)
                    items, updated = history.archives[number - 1]
                    versions += [(e, updated, visit.asked, (number, 0, 0)) for e in items]
            for change in changes or ():
                assert exported.get(change["id"]) != change["summary"], "exported twice"
                assert (change["change"] == "new") == (change["id"] not in exported)
                exported[change["id"]] = change["summary"]
        opened = Store.open(store)
        whole = {e["id"]: (e["summary"], e["document"]) for e in opened.entries()}
        [feed] = opened.feeds()
        opened.close()
    expected = {i: (entry.text, document) for i, (entry, document) in oracle(versions).items()}
    assert archived == set(range(1, len(history.archives) + 1))
    assert whole == expected
    assert exported == {entry_id: text for entry_id, (text, _) in expected.items()}
    assert feed.verdict is (Verdict.COMPLETE if history.archives else Verdict.UNKNOWN)


@settings(max_examples=200, deadline=None)
@given(st.data(), st.lists(st.tuples(st.integers(1, 3), documents), min_size=1, max_size=6))
def test_any_permutation_of_documents_gives_the_same_feed(
    data: st.DataObject, walks: list[tuple[int, tuple[list[E], str | None]]]
) -> None:
    """Documents at any places, in any order of arrival."""
    placed = [(Place(walk, -step), items, updated) for step, (walk, (items, updated)) in enumerate(walks)]
    feeds = [fold(placed), fold(data.draw(st.permutations(placed)))]
    assert feeds[0] == feeds[1]


def fold(placed: list[tuple[Place, list[E], str | None]]) -> dict[str, Winner]:
    """The winners when documents arrive in an order."""
    latest = latest_time("2026-01-01T00:00:00Z")
    winners: dict[str, Winner] = {}
    for place, items, updated in placed:
        for position, item in enumerate(items):
            assert item.id is not None
            order = logical_order(item.updated, updated, place, position, latest)
            version = LogicalVersion(item.id, order, item.text)
            winner = winners.get(item.id)
            outcome = decide(version, winner)
            if outcome in (Outcome.NEW, Outcome.UPDATED):
                winners[item.id] = Winner(order, item.text)
            elif winner is not None and outcome is Outcome.DUPLICATE:
                winners[item.id] = winner._replace(order=max(order, winner.order))
    return winners
