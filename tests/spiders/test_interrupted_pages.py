"""Pages that were read before a run died, or that could not be had, hide nothing behind them."""

from typing import NamedTuple

import pytest

from fhcrawl.store import Store
from tests.databases import Database
from tests.engine import Engine
from tests.feeds import E, atom

SIZE = 2
INDEX = "http://example.org/index"


class Run(NamedTuple):
    """A run of the crawl.

    :param added: how many entries are published before it
    :param life: how many entries it handles before it is killed; None if it is not
    :param gaps: numbers of the pages that answer 500
    :param cuts: numbers of the pages that are cut off behind their last entry
    :param alone: whether the newest page leads to no other one
    :param way: by which URLs the pages lead to each other; that of the newest one is the same in all of them
    """

    added: int
    life: int | None = None
    gaps: frozenset[int] = frozenset()
    cuts: frozenset[int] = frozenset()
    alone: bool = False
    way: str = ""


def pages(
    count: int,
    gaps: frozenset[int] = frozenset(),
    cuts: frozenset[int] = frozenset(),
    alone: int | None = None,
    way: str = "",
) -> dict[str, str | int]:
    ids = [str(number) for number in range(count, 0, -1)]
    parts = [ids[begin : begin + SIZE] for begin in range(0, max(count, 1), SIZE)]
    served: dict[str, str | int] = {}
    for number, part in enumerate(parts):
        is_last = number + 1 == len(parts) or number == alone
        links = {} if is_last else {"next": url(number + 1, way)}
        page = atom([E(name) for name in part], links={"first": INDEX, **links})
        served[url(number, way)] = page.removesuffix("</feed>\n") if number in cuts else page
    return served | {url(number, way): 500 for number in gaps if number < len(parts)}


def url(number: int, way: str = "") -> str:
    return f"{INDEX}?page={number}{way}" if number else INDEX


def stored(database: Database) -> tuple[set[str], list[str]]:
    store = Store.open(database.url)
    found = {entry["id"] for entry in store.entries.read()}
    [feed] = store.feeds.read()
    store.close()
    return found, [reason.kind.value for reason in feed.reasons]


@pytest.mark.parametrize(
    "history",
    [
        [Run(6), Run(4, life=2)],
        [Run(6), Run(4, gaps=frozenset({1})), Run(2)],
        [Run(6), Run(4, gaps=frozenset({1})), Run(2, life=4)],
        [Run(6), Run(4, cuts=frozenset({0}))],
        [Run(6), Run(4, cuts=frozenset({1}))],
        [Run(6), Run(6, life=2), Run(4, life=4), Run(2, life=4)],
        [Run(6), Run(6, alone=True)],
        [Run(6), Run(4, gaps=frozenset({1}), way="&b")],
        [Run(6), Run(0, way="&b"), Run(4, gaps=frozenset({1}), way="&b")],
        [Run(6), Run(6, alone=True), Run(1)],
        [Run(5, cuts=frozenset({0})), Run(2), Run(3, gaps=frozenset({1})), Run(4)],
    ],
)
def test_pages_behind_an_interrupted_walk_are_read_later(database: Database, history: list[Run]) -> None:
    count = 0
    for run in history:
        count += run.added
        served = pages(count, run.gaps, run.cuts, 0 if run.alone else None, run.way)
        Engine(database.url, served, run.life).crawl(INDEX)
    Engine(database.url, pages(count)).crawl(INDEX)
    assert stored(database) == ({str(number) for number in range(1, count + 1)}, ["paged"])


@pytest.mark.parametrize(
    ("runs", "oldest", "expected"),
    [
        # How many entries there are, which page cannot be had, and which is the last one.
        ([(8, None, None), (18, None, 2), (19, None, None)], 1, [["paged"], ["known", "paged"], ["paged"]]),
        (
            [(8, 2, None), (10, None, 1), (10, None, None)],
            *(1, [["http-500", "paged"], ["known", "paged"], ["paged"]]),
        ),
        pytest.param(
            [(8, 2, None), (10, None, 1), (10, None, 1), (10, None, 1)],
            *(5, [["http-500", "paged"], ["known", "paged"], ["paged"], ["paged"]]),
            marks=pytest.mark.both_stores,
        ),
    ],
    ids=["with news", "without news, before a gap", "and stays the last one"],
)
def test_page_that_is_the_last_one_for_a_while_is_read_once_more(
    database: Database, runs: list[tuple[int, int | None, int | None]], oldest: int, expected: list[list[str]]
) -> None:
    reasons = []
    for count, gap, alone in runs:
        gaps = frozenset() if gap is None else frozenset({gap})
        Engine(database.url, pages(count, gaps, alone=alone)).crawl(INDEX)
        found, kinds = stored(database)
        reasons.append(kinds)
    assert found == {str(number) for number in range(oldest, runs[-1][0] + 1)}
    assert reasons == expected


def test_walk_of_pages_that_nothing_interrupts_ends_where_nothing_is_new(database: Database) -> None:
    requested = []
    for count in (10, 10, 12, 12):
        engine = Engine(database.url, pages(count))
        engine.crawl(INDEX)
        requested.append(len(engine.requested))
    assert requested == [5, 1, 2, 1]


def test_page_that_another_page_begins_to_link_to_is_read_after_a_kill(database: Database) -> None:
    def served(*documents: tuple[list[str], int | None]) -> dict[str, str | int]:
        return {
            url(number): atom([E(name) for name in ids], links={} if older is None else {"next": url(older)})
            for number, (ids, older) in enumerate(documents)
        }

    Engine(database.url, served((["a"], 1), (["b"], 2), (["c"], 3), (["d"], None))).crawl(INDEX)
    # Killed when page 1, with a new entry, is stored; page 2 is skipped now.
    moved = served((["f", "a"], 1), (["e", "b"], 3), (["c"], 3), (["new", "c", "d"], None))
    Engine(database.url, moved, life=4).crawl(INDEX)
    Engine(database.url, moved).crawl(INDEX)
    assert "new" in stored(database)[0]
