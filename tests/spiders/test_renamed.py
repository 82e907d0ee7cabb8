"""A publisher moves, and names its entries anew: both are kept, or one of them if the user wants that."""

import logging
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from typing import Any
from unittest import mock

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from fhcrawl.store import Store
from tests.databases import Database, NewDatabase, examples
from tests.engine import Engine, Killed
from tests.feeds import E, atom, rss, tombstone

FEED, NEWER, OLDER = (f"http://example.org/{name}" for name in ("index", "2", "1"))
OLD, NEW, NEXT = "http://old.example", "https://new.example", "https://next.example"
MERGE: dict[str, Any] = {"FHCRAWL_MERGE_RENAMED": True}
YEARS = [f"{year}-01-01T00:00:00Z" for year in range(2000, 2100)]


def posts(site: str, *numbers: int) -> list[E]:
    return [E(f"{site}/{n}", "text", YEARS[n], f"Post {n}") for n in numbers]


def names(site: str, *numbers: int) -> set[str]:
    return {post.id or "" for post in posts(site, *numbers)}


class Reader:
    """Crawls a feed: the changes by id, and the stats."""

    def __init__(self, url: str, more: dict[str, Any] | None = None) -> None:
        self._url = url
        self._more = more or {}
        self.served: dict[str, str | int] = {}
        self.stats: dict[str, int] = {}

    def crawl(self, document: str | None = None, **more: Any) -> dict[str, str]:
        if document is not None:
            self.served[FEED] = document
        engine = Engine(self._url, self.served, more={**self._more, **more})
        changes = engine.crawl(FEED)
        self.stats = engine.stats
        return {change["id"]: change["change"] for change in changes or ()}

    def live(self) -> dict[str, list[str]]:
        with closing(Store.open_to_read(self._url)) as store:
            return {entry["id"]: entry["former_ids"] for entry in store.entries.read(has_details=True)}

    @property
    def renamed(self) -> int:
        with closing(Store.open_to_read(self._url)) as store:
            [feed] = store.feeds.read()
        assert feed.entries == len(self.live())
        return feed.renamed


@pytest.fixture
def reader(database: Database) -> Reader:
    return Reader(database.url)


def test_moved_feed_has_both(reader: Reader, database: Database, caplog: pytest.LogCaptureFixture) -> None:
    assert set(reader.crawl(atom(posts(OLD, 3, 2, 1)))) == names(OLD, 1, 2, 3)
    with caplog.at_level(logging.WARNING):
        assert reader.crawl(atom(posts(NEW, 4, 3, 2))) == dict.fromkeys(names(NEW, 2, 3, 4), "new")
    reported = [record.getMessage() for record in caplog.records if "whose id" in record.getMessage()]
    assert reported == [
        f"{FEED}: entries whose id has changed: 2, for example from {OLD}/2 to {NEW}/2; "
        "--merge-renamed keeps only the new id"
    ]
    assert reader.stats["fhcrawl/entry/renamed"] == 2
    assert (reader.renamed, len(reader.live())) == (2, 6)
    former = [reader.live()[entry_id] for entry_id in (f"{NEW}/2", f"{NEW}/4", f"{OLD}/2")]
    assert former == [[f"{OLD}/2"], [], []]
    found = database.rows("SELECT id, former_id, title FROM renamed_entries ORDER BY id")
    assert [tuple(row) for row in found] == [(f"{NEW}/{n}", f"{OLD}/{n}", f"Post {n}") for n in (2, 3)]
    assert reader.crawl(atom(posts(NEW, 5, 4, 3))) == {f"{NEW}/5": "new"}
    assert "fhcrawl/entry/renamed" not in reader.stats
    assert reader.renamed == 2
    assert database.rows("SELECT id FROM renames WHERE former_id IS NULL") == []


def test_nothing_is_renamed_in_the_first_walk_nor_where_nothing_is_new(reader: Reader) -> None:
    with mock.patch("fhcrawl.store.walk_ends._EndedWalk._read_new_entries") as look:
        reader.crawl(atom([*posts(OLD, 2), *posts(NEW, 2)]))
        reader.crawl(atom([*posts(OLD, 2), *posts(NEW, 2)]))
    look.assert_not_called()


def linked(*entries: E) -> str:
    return atom([*entries]).replace("<summary>", '<link href="http://old.example/"/><summary>')


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # The first post of each of two sites has the same title, as WordPress's has.
        (*(rss([E(f"{s}/?p=1", "Hi", YEARS[n], "Hello world!")]) for n, s in enumerate((OLD, NEW))), {}),
        # Without a time, by its id; at another time, by its link, unless others have that.
        (
            *(
                rss([E(f"{scheme}://a.example/1", updated=None)], updated=None)
                for scheme in ("http", "https")
            ),
            {"https://a.example/1": ["http://a.example/1"]},
        ),
        (linked(E("1")), linked(E("2")), {"2": ["1"]}),
        (linked(E("1"), E("0", updated=YEARS[0])), linked(E("2")), {}),
    ],
)
def test_former_id_of_an_entry(
    reader: Reader, first: str, second: str, expected: dict[str, list[str]]
) -> None:
    reader.crawl(first)
    reader.crawl(second)
    assert {new: former for new, former in reader.live().items() if former} == expected


def test_ids_that_get_another_time_stamp_in_each_build(reader: Reader) -> None:
    stamps = ("", "?1743438600617", "?1743438600999")
    for number, stamp in enumerate(stamps):
        body = atom([E(f"/blog/{n}{stamp}", "text", YEARS[n], f"Post {n}") for n in (5, 4, 3)])
        for n in (5, 4, 3):
            body = body.replace(
                f"<title>Post {n}</title>", f'<title>Post {n}</title><link href="http://x/{n}"/>'
            )
        reader.crawl(body, **MERGE)
        former = stamps[:number]
        assert reader.live() == {
            f"/blog/{n}{stamp}": [f"/blog/{n}{old}" for old in former] for n in (3, 4, 5)
        }


def test_archives_that_keep_the_former_ids(reader: Reader) -> None:
    """They are not to change; what they hold is not deleted."""
    reader.served = {OLDER: atom(posts(OLD, 3, 2, 1)), NEWER: 404}
    reader.crawl(atom(posts(OLD, 4, 3, 2), prev=OLDER), **MERGE)
    http = [E(f"{OLD.replace('http', 'https')}/{n}", "text", YEARS[n], f"Post {n}") for n in (5, 4, 3)]
    for _ in range(2):
        reader.crawl(atom(http, prev=OLDER), **MERGE)
    # Another host would be a guess while the old ids are there.
    assert reader.live() == {
        **{entry_id: [] for entry_id in names(OLD, 1, 2, 3)},
        f"{OLD.replace('http', 'https')}/5": [],
        **{f"{OLD.replace('http', 'https')}/{n}": [f"{OLD}/{n}"] for n in (3, 4)},
    }
    reader.crawl(atom(posts(NEW, 5, 4, 3), prev=OLDER))
    assert f"{NEW}/3" in reader.live()
    assert reader.live()[f"{NEW}/3"] == [f"{OLD}/3", f"{OLD.replace('http', 'https')}/3"]


@pytest.mark.both_stores
def test_chain_at_another_place_is_the_same_feed(reader: Reader) -> None:
    reader.served = {OLDER: atom(posts(OLD, 2, 1))}
    reader.crawl(atom(posts(OLD, 4, 3), prev=OLDER))
    reader.served = {NEWER: atom(posts(NEW, 2, 1))}
    reader.crawl(atom(posts(NEW, 5, 4, 3), prev=NEWER))
    assert reader.stats["fhcrawl/entry/renamed"] == 4
    reader.crawl(**MERGE)
    assert reader.crawl() == dict.fromkeys(names(OLD, 1, 2, 3, 4), "deleted")
    assert set(reader.live()) == names(NEW, 1, 2, 3, 4, 5)
    # A second look, at everything.
    assert reader.crawl(DELTAFETCH_RESET=True, **MERGE) == {}


def test_entry_is_not_deleted_while_a_document_that_may_hold_it_cannot_be_read(reader: Reader) -> None:
    reader.served = {OLDER: atom(posts(OLD, 1))}
    reader.crawl(atom(posts(OLD, 4, 3), prev=OLDER), **MERGE)
    reader.served[NEWER] = 404
    reader.crawl(atom(posts(NEW, 4, 3), prev=NEWER), **MERGE)
    assert reader.stats["fhcrawl/entry/renamed"] == 2
    assert reader.crawl(**MERGE) == {}
    reader.served[NEWER] = atom(posts(NEW, 1))
    reader.crawl(**MERGE)
    assert set(reader.live()) == names(NEW, 1, 3, 4)


def test_entry_that_a_complete_feed_has_under_another_id_is_renamed(reader: Reader) -> None:
    complete = "<fh:complete/>"
    reader.crawl(atom(posts(OLD, 2, 1), head=complete))
    changes = reader.crawl(atom(posts(NEW, 2, 1), head=complete))
    assert changes == {**dict.fromkeys(names(OLD, 1, 2), "deleted"), **dict.fromkeys(names(NEW, 1, 2), "new")}
    assert (reader.stats["fhcrawl/entry/renamed"], reader.renamed) == (2, 0)
    assert reader.live() == {f"{NEW}/{n}": [f"{OLD}/{n}"] for n in (1, 2)}


def test_entry_that_a_tombstone_has_deleted_is_not_what_is_new(reader: Reader) -> None:
    reader.crawl(atom(posts(OLD, 2, 1)))
    reader.crawl(atom(posts(OLD, 2), head=tombstone(f"{OLD}/1", YEARS[9])))
    reader.crawl(atom(posts(NEW, 2, 1)))
    assert reader.live()[f"{NEW}/1"] == []
    # And a deletion by the former id deletes no other entry.
    reader.crawl(atom(posts(NEW, 2, 1), head=tombstone(f"{OLD}/2", YEARS[9])))
    assert set(reader.live()) == names(NEW, 1, 2)


def test_former_id_that_comes_back_is_an_entry_again(reader: Reader) -> None:
    reader.crawl(atom(posts(OLD, 2, 1)))
    reader.crawl(atom(posts(NEW, 2, 1)), **MERGE)
    # The engine of these tests exports before the walk's end.
    assert reader.crawl(**MERGE) == dict.fromkeys(names(OLD, 1, 2), "deleted")
    assert reader.crawl(atom(posts(OLD, 2, 1)), **MERGE) == dict.fromkeys(names(OLD, 1, 2), "new")
    assert reader.crawl(**MERGE) == dict.fromkeys(names(NEW, 1, 2), "deleted")
    assert reader.live() == {f"{OLD}/{n}": [f"{NEW}/{n}"] for n in (1, 2)}


@pytest.mark.parametrize(("title", "left"), [("Post 1", set()), ("Another post", names(NEW, 1))])
def test_former_id_that_comes_back_while_both_are_kept(reader: Reader, title: str, left: set[str]) -> None:
    """Of one entry, the id that was read last is kept; another entry under a former id is none of the two."""
    reader.crawl(atom(posts(OLD, 1)))
    reader.crawl(atom(posts(NEW, 1)))
    reader.crawl(atom([E(f"{OLD}/1", "edited", YEARS[1], title)]))
    reader.crawl(atom(posts(OLD, 2)), **MERGE)
    assert set(reader.live()) == names(OLD, 1, 2) | left


def test_archive_with_an_older_version_is_no_return(reader: Reader) -> None:
    """It changes under the former id, and no document has the newer version any more."""
    secure = OLD.replace("http", "https")
    reader.served = {OLDER: atom(posts(OLD, 1))}
    reader.crawl(atom(posts(OLD, 1), prev=OLDER))
    reader.crawl(atom([E(f"{secure}/1", "edited", YEARS[2], "Post 1")], prev=OLDER))
    reader.served[OLDER] = atom([E(f"{OLD}/1", "mended", YEARS[1], "Post 1")])
    reader.crawl(atom(posts(secure, 3), prev=OLDER), DELTAFETCH_RESET=True, **MERGE)
    assert set(reader.live()) == names(OLD, 1) | names(secure, 1, 3)


def test_versions_stay_under_the_ids_that_they_had(reader: Reader, database: Database) -> None:
    keeping = {**MERGE, "FHCRAWL_KEEP_VERSIONS_ENABLED": True}
    reader.crawl(atom(posts(OLD, 1)), **keeping)
    reader.crawl(atom(posts(NEW, 1)), **keeping)
    with closing(Store.open_to_read(database.url)) as store:
        kept = {i: store.entries.read_kept_versions(FEED, i) for i in (f"{OLD}/1", f"{NEW}/1")}
    states = {i: [(one.state, one.fields["summary"]) for one in found] for i, found in kept.items()}
    assert states == {
        f"{OLD}/1": [("deleted", "text"), ("superseded", "text")],
        f"{NEW}/1": [("current", "text")],
    }


def test_more_entries_than_are_looked_for_together(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fhcrawl.store.walk_ends.ARRIVALS_AT_ONCE", 3)
    monkeypatch.setattr("fhcrawl.store.walk_ends.FEW", 2)
    numbers = range(20, 0, -1)
    reader.crawl(atom(posts(OLD, *numbers)))
    reader.crawl(atom(posts(NEW, *numbers)))
    assert reader.renamed == 20


def test_option_of_one_feed_is_for_it_alone(database: Database) -> None:
    """And what a crawl without the option has found is merged in the next one with it."""
    reader = Reader(database.url)
    reader.crawl(atom(posts(OLD, 2, 1)))
    reader.crawl(atom(posts(NEW, 2, 1)))
    assert reader.renamed == 2
    with closing(Store.open(database.url)) as store:
        store.subscriptions.add({FEED: {"merge_renamed": True}}, YEARS[10])
    engine = Engine(database.url, reader.served)
    engine.crawl_subscribed()
    assert reader.renamed == 0
    assert set(reader.live()) == names(NEW, 1, 2)


# What a publisher does: post, move to another site, post at an id of its own; and what becomes of the crawl.
actions = st.sampled_from(["post", "post", "move", "edit", "rest"])
ends = st.sampled_from(["", "", "in the entries", "before the look", "in the look"])
DEATHS = {"before the look": "WalkEnds.finish", "in the look": "_EndedWalk._read_new_entries"}
SITES = [OLD, "https://old.example", NEW, NEXT]


class Publisher:
    """Shows the last posts of a plain feed, or all of a chain, under ids of the site where it is."""

    def __init__(self, shown: int, is_archived: bool) -> None:
        self.texts: dict[int, str] = {}
        self.site = 0
        self._shown = shown
        self._is_archived = is_archived

    def do(self, action: str) -> None:
        if action == "post":
            self.texts[len(self.texts)] = "text"
        elif action == "move":
            self.site = (self.site + 1) % len(SITES)
        elif action == "edit" and self.texts:
            self.texts[len(self.texts) - 1] += "."

    def id_of(self, number: int) -> str:
        return f"{SITES[self.site]}/{number}"

    def published(self) -> list[int]:
        last = sorted(self.texts, reverse=True)
        return last if self._is_archived else last[: self._shown]

    def now(self) -> dict[str, str]:
        return {self.id_of(number): self.texts[number] for number in self.published()}

    def serve(self) -> dict[str, str | int]:
        entries = [E(self.id_of(n), self.texts[n], YEARS[n], f"Post {n}") for n in self.published()]
        if not self._is_archived:
            return {FEED: rss(entries)}
        older = f"http://example.org/{self.site}/{len(entries)}"
        first, rest = entries[: self._shown], entries[self._shown :]
        links = {"prev-archive": older} if rest else {}
        return {FEED: rss(first, links=links), older: rss(rest)}


@pytest.mark.slow("some 150 crawls")
@settings(max_examples=examples(20), deadline=None)
@given(
    st.lists(st.tuples(st.lists(actions, max_size=3), ends), max_size=6),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
)
def test_each_post_is_one_entry_whatever_becomes_of_crawls(
    new_database: NewDatabase,
    history: list[tuple[list[str], str]],
    shown: int,
    is_archived: bool,
    merges: bool,
) -> None:
    publisher, more = Publisher(shown, is_archived), MERGE if merges else {}
    is_left, is_all_seen = False, True
    with new_database() as database:
        reader = Reader(database.url, more)
        oracle = Oracle()
        # At last, crawls of a publisher at rest.
        for done, end in [(["post"] * 3, ""), *history, *[([], "")] * 3]:
            for action in done:
                publisher.do(action)
            # What is not looked at before the publisher moves again is not seen to be gone.
            is_all_seen = is_all_seen and not (is_left and done)
            is_left = "look" in end or (is_left and end != "")
            oracle.note(crawl(database.url, publisher, end, more), reader.live())
        live, renamed = reader.live(), reader.renamed
        with closing(Store.open_to_read(database.url)) as store:
            assert oracle.mirror == {entry["id"]: entry["summary"] for entry in store.entries.read()}
    assert publisher.now().items() <= oracle.mirror.items()
    event(f"all seen: {is_all_seen}, moved: {oracle.check(live)}")
    if not merges:
        assert set(live) == set().union(*oracle.read.values())
    if is_all_seen:
        oracle.check_all_seen(live, renamed, merges)


class Oracle:
    """The ids under which each post was read; and a mirror that is made of exports only."""

    def __init__(self) -> None:
        self.mirror: dict[str, str] = {}
        self.read: defaultdict[int, set[str]] = defaultdict(set)

    def note(self, changes: list[dict[str, Any]], live: Iterable[str]) -> None:
        for change in changes:
            if change["change"] == "deleted":
                assert self.mirror.pop(change["id"])
            else:
                self.mirror[change["id"]] = change["summary"]
        for entry_id in live:
            self.read[number_of(entry_id)].add(entry_id)

    def check(self, live: dict[str, list[str]]) -> bool:
        """No post is lost, or taken for another one; whether any has moved."""
        assert {number_of(entry_id) for entry_id in live} == self.read.keys()
        for entry_id, former in live.items():
            assert self.read[number_of(entry_id)].issuperset(former)
        return any(live.values())

    def check_all_seen(self, live: dict[str, list[str]], renamed: int, merges: bool) -> None:
        assert renamed == len(live) - len(self.read)
        if merges:
            assert renamed == 0
            assert {
                number_of(entry_id): {entry_id, *former} for entry_id, former in live.items()
            } == self.read


def number_of(entry_id: str) -> int:
    return int(entry_id.rpartition("/")[2])


def crawl(url: str, publisher: Publisher, end: str, more: dict[str, Any]) -> list[dict[str, Any]]:
    engine = Engine(url, publisher.serve(), life=1 if end == "in the entries" else None, more=more)
    method = DEATHS.get(end)
    if method is None:
        return engine.crawl(FEED) or []
    # One that dies at the end of the walk has exported nothing.
    with mock.patch(f"fhcrawl.store.walk_ends.{method}", side_effect=Killed):
        engine.crawl_only(FEED)
    return []
