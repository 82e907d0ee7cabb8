"""Pages that were read before a run died, or that could not be had, hide nothing behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fhcrawl.store import Store
from tests.databases import examples
from tests.engine import Engine
from tests.feeds import E, atom

if TYPE_CHECKING:
    from tests.databases import Database, NewDatabase

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


some = st.frozensets(st.integers(0, 4), max_size=1)
runs = st.lists(
    st.builds(
        Run,
        st.integers(0, 5),
        st.none() | st.integers(0, 6),
        some,
        some,
        st.booleans(),
        st.sampled_from(("", "&b")),
    ),
    max_size=5,
)


def pages(
    count: int,
    gaps: frozenset[int] = frozenset(),
    cuts: frozenset[int] = frozenset(),
    alone: int | None = None,
    way: str = "",
) -> dict[str, str | int]:
    """The pages of a feed with so many entries, the newest first."""
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
    """The ids of the entries in the store, and the kinds of the feed's reasons."""
    store = Store.open(database.url)
    found = {entry["id"] for entry in store.entries.read()}
    [feed] = store.feeds.read()
    store.close()
    return found, [reason.kind.value for reason in feed.reasons]


@pytest.mark.full_lane("hundreds of crawls in this process")
@settings(max_examples=examples(20))
@given(runs)
@example([Run(6), Run(4, life=2)])
@example([Run(6), Run(4, gaps=frozenset({1})), Run(2)])
@example([Run(6), Run(4, gaps=frozenset({1})), Run(2, life=4)])
@example([Run(6), Run(4, cuts=frozenset({0}))])
@example([Run(6), Run(4, cuts=frozenset({1}))])
@example([Run(6), Run(6, life=2), Run(4, life=4), Run(2, life=4)])
@example([Run(6), Run(6, alone=True)])
@example([Run(6), Run(4, gaps=frozenset({1}), way="&b")])
@example([Run(6), Run(0, way="&b"), Run(4, gaps=frozenset({1}), way="&b")])
@example([Run(6), Run(6, alone=True), Run(1)])
@example([Run(5, cuts=frozenset({0})), Run(2), Run(3, gaps=frozenset({1})), Run(4)])
def test_pages_behind_an_interrupted_walk_are_read_by_a_later_one(
    new_database: NewDatabase, history: list[Run]
) -> None:
    count = 0
    with new_database() as database:
        for run in history:
            count += run.added
            Engine(
                database.url, pages(count, run.gaps, run.cuts, 0 if run.alone else None, run.way), run.life
            ).crawl(INDEX)
        Engine(database.url, pages(count)).crawl(INDEX)
        found, kinds = stored(database)
    assert found == {str(number) for number in range(1, count + 1)}
    assert kinds == ["paged"]


def test_page_that_is_the_last_one_for_a_while_is_read_again(database: Database) -> None:
    reasons = []
    for count, alone in (8, None), (18, 2), (19, None):
        Engine(database.url, pages(count, alone=alone)).crawl(INDEX)
        found, kinds = stored(database)
        reasons.append(kinds)
    assert found == {str(number) for number in range(1, 20)}
    assert reasons == [["paged"], ["known", "paged"], ["paged"]]


def test_page_without_news_that_is_the_last_one_for_a_while_hides_no_gap(database: Database) -> None:
    gap: frozenset[int] = frozenset({2})
    reasons = []
    for count, gaps, alone in (8, gap, None), (10, frozenset(), 1), (10, frozenset(), None):
        Engine(database.url, pages(count, gaps, alone=alone)).crawl(INDEX)
        found, kinds = stored(database)
        reasons.append(kinds)
    assert found == {str(number) for number in range(1, 11)}
    assert reasons == [["http-500", "paged"], ["known", "paged"], ["paged"]]


def test_page_that_stays_the_last_one_is_the_end(database: Database) -> None:
    reasons = []
    for count, gaps, alone in (8, {2}, None), (10, set(), 1), (10, set(), 1), (10, set(), 1):
        Engine(database.url, pages(count, frozenset(gaps), alone=alone)).crawl(INDEX)
        reasons.append(stored(database)[1])
    assert reasons == [["http-500", "paged"], ["known", "paged"], ["paged"], ["paged"]]


def test_walk_of_pages_that_nothing_interrupts_ends_where_nothing_is_new(database: Database) -> None:
    asked = []
    for count in (10, 10, 12, 12):
        engine = Engine(database.url, pages(count))
        engine.crawl(INDEX)
        asked.append(len(engine.asked))
    assert asked == [5, 1, 2, 1]


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


def test_page_without_entries_hides_no_news_behind_it(database: Database) -> None:
    for newest, last in (["2", "1"], ["b", "a"]), (["5", "4"], ["3", "2"]):
        documents: dict[str, str | int] = {
            INDEX: atom([E(name) for name in newest], links={"next": url(1)}),
            url(1): atom([], links={"next": url(2)}),
            url(2): atom([E(name) for name in last]),
        }
        Engine(database.url, documents).crawl(INDEX)
    assert stored(database)[0] == {"1", "2", "3", "4", "5", "a", "b"}


def test_entries_that_move_to_the_front_unchanged_hide_no_news_behind_them(database: Database) -> None:
    for ids in ["a", "b", "c", "d"], ["d", "c", "new", "a", "b"]:
        documents: dict[str, str | int] = {
            INDEX: atom([E(name) for name in ids[:SIZE]], links={"next": url(1)}),
            url(1): atom([E(name) for name in ids[SIZE:]]),
        }
        Engine(database.url, documents).crawl(INDEX)
    assert stored(database)[0] == {"a", "b", "c", "d", "new"}


def test_page_behind_an_archive_that_is_skipped_stays_a_page(database: Database) -> None:
    archive, page = f"{INDEX}/archive", f"{INDEX}/page"
    reasons = []
    for number, gap in (1, True), (2, False), (3, False):
        documents: dict[str, str | int] = {
            INDEX: atom([E(str(number))], prev=archive),
            archive: atom([E("a")], links={"next": page}),
            page: 500 if gap else atom([E("p")]),
        }
        Engine(database.url, documents).crawl(INDEX)
        found, kinds = stored(database)
        reasons.append(kinds)
    assert found == {"1", "2", "3", "a", "p"}
    assert reasons == [["http-500", "paged"], ["paged"], ["paged"]]


def test_older_page_of_an_unchanged_feed_does_not_win_over_its_newest_one(database: Database) -> None:
    """None of the entries has a time: which version is the newest, only the order of the pages says."""
    documents: dict[str, str | int] = {
        INDEX: atom([E("e", "new", None)], links={"next": f"{INDEX}/2"}, updated=None),
        f"{INDEX}/2": 500,
    }
    Engine(database.url, documents).crawl(INDEX)
    documents[f"{INDEX}/2"] = atom([E("e", "old", None), E("a", "a", None)], updated=None)
    changes = Engine(database.url, documents).crawl(INDEX)
    assert [change["id"] for change in changes or ()] == ["a"]
