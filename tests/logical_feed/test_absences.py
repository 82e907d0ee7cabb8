"""What is claimed of all documents was true at one moment, whatever a publisher does while they are read.
Entries whose id has changed are found, and no two entries that were published as two become one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count, permutations, takewhile
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from fhcrawl.documents.dates import shift
from fhcrawl.logical_feed import ChainPosition, Version, absences
from fhcrawl.logical_feed.absences import (
    SECONDS_A_DAY,
    Budget,
    EarlierReading,
    NamedEntry,
    Seen,
    agreed_walk,
    confirmed,
    digest_of_id,
    due_rechecks,
    missed_since,
    renamings,
    unconfirmed,
    with_other_scheme,
)
from fhcrawl.logical_feed.chain import EARLIEST_WALK
from fhcrawl.logical_feed.results import order

ON_A_PAGE = 2
ACTIONS = ("post", "delete", "move", "return")


class Publisher:
    """Pages that are divided anew with each change, the newest entry first; document 0 is polled."""

    def __init__(self) -> None:
        self.entries = list(range(8))
        self._last = 7
        # What each page shows, whether there is an older one, and how often it has changed.
        self.pages: dict[int, tuple[list[int], bool, int]] = {}
        self.do("", 0)

    def do(self, action: str, number: int) -> None:
        index = number % len(self.entries) if self.entries else 0
        if action == "post":
            self._last += 1
            self.entries.insert(0, self._last)
        elif action == "delete" and self.entries:
            del self.entries[index]
        elif action == "move" and self.entries:
            self.entries.insert(0, self.entries.pop(index))
        elif action == "return":
            missing = [entry for entry in range(self._last) if entry not in self.entries]
            self.entries[index:index] = missing[:1]
        for page in range(10):
            end = (page + 1) * ON_A_PAGE
            now = self.entries[end - ON_A_PAGE : end], len(self.entries) > end
            *before, version = self.pages.get(page, ([], False, 0))
            self.pages[page] = (*now, version + ([*now] != before))


@dataclass
class Crawler:
    """What the store does, for one feed; `published` has what was published when each walk began."""

    known: dict[int, tuple[list[int], bool, int]] = field(default_factory=dict)
    seen: dict[int, Seen] = field(default_factory=dict)
    entries: set[int] = field(default_factory=set)
    missed: dict[int, tuple[int, int]] = field(default_factory=dict)
    published: dict[int, set[int]] = field(default_factory=dict)
    walk: int = 0

    def read(self, publisher: Publisher, document: int) -> None:
        content = publisher.pages[document]
        if not content[0] and document:
            return
        is_same = self.known.get(document) == content
        changed = self.seen[document].changed if is_same else self.walk
        self.known[document], self.seen[document] = content, Seen(changed, self.walk)
        self.entries.update(content[0])

    def end(self) -> tuple[bool, bool]:
        """At the end of a walk: whether all documents are known to have been the feed, and any entry gone."""
        chain = list(takewhile(self.known.__contains__, count()))
        last = next((number for number in chain if not self.known[number][1]), None)
        chain = [*self.known] if last is None else chain[: last + 1]
        held = {entry for number in chain for entry in self.known[number][0]}
        self.missed = {
            entry: (
                missed_since(*self.missed.get(entry, (self.walk,) * 2), self.seen[0].changed, self.walk),
                self.walk,
            )
            for entry in self.entries - held
        }
        if last is None:
            return False, False
        agreed = agreed_walk([self.seen[number] for number in chain])
        assert agreed is None or self.published[agreed] == held
        # The subscription document may have changed since.
        snapshot = agreed_walk([self.seen[0]._replace(changed=0), *(self.seen[n] for n in chain[1:])]) or 0
        gone = {entry for entry, (since, _) in self.missed.items() if chain[1:] and since <= snapshot}
        assert not gone or not gone & self.published[snapshot]
        return agreed is not None, bool(gone)


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=True), st.sampled_from([12, 60]))
def test_what_two_walks_conclude_is_true_of_the_publisher(random: Random, quiet: int) -> None:
    actions = (*[""] * quiet, *ACTIONS)
    agreed = gone = 0
    for _ in range(200):
        publisher, crawler = Publisher(), Crawler()
        for _ in range(random.randint(2, 8)):
            publisher.do(random.choice(actions), random.randrange(20))
            crawler.walk += 1
            crawler.published[crawler.walk] = set(publisher.entries)
            for document in (0, *random.sample(range(1, 6), random.randint(3, 5))):
                if document:
                    publisher.do(random.choice(actions), random.randrange(20))
                crawler.read(publisher, document)
            # Else it was killed.
            if random.random() < 0.8:
                agrees, has_gone = crawler.end()
                agreed, gone = agreed + agrees, gone + has_gone
    event(f"walks that agree with an earlier one: {min(agreed, 3)} or more")
    event(f"walks after which something is gone: {min(gone, 3)} or more")


@pytest.mark.parametrize(
    ("seen", "agreed"),
    [
        ([Seen(1, 2)], 2),
        ([Seen(1, 3), Seen(2, 4)], 3),
        # The first one is unchanged, and was not seen again after the second one had changed.
        ([Seen(1, 3), Seen(3, 4)], None),
        *(([seen], None) for seen in (Seen(2, 2), Seen(None, 2), Seen(1, None))),
        ([], None),
    ],
)
def test_pages_are_known_to_be_the_feed_when_two_walks_agree(seen: list[Seen], agreed: int | None) -> None:
    assert agreed_walk(seen) == agreed


def test_documents_are_seen_again_that_were_last_seen_before_the_last_change() -> None:
    assert unconfirmed([Seen(1, 4), Seen(3, 3), Seen(1, 3)], missed=3) == [1, 2]
    assert unconfirmed([Seen(1, 4), Seen(3, 4), Seen(1, 4)], missed=3) == []
    assert unconfirmed([Seen(1, 4), Seen(None, None)], missed=5) == [0, 1]


def test_walk_that_was_killed_is_not_counted_on() -> None:
    """The subscription document that it has read may have had the entry."""
    assert [missed_since(3, looked=5, changed=changed, walk=7) for changed in (6, 7, None)] == [3, 7, 7]


NOW = "2010-01-31T00:00:00Z"


def ago(*seconds: float) -> list[str]:
    return [shift(NOW, -one) for one in seconds]


@pytest.mark.parametrize(
    ("days", "budget", "due"),
    [
        # Three that were read at once, in thirty days: the newest each time, and the two others in turn.
        ([9, 9, 9], Budget(30, 20), []),
        ([10, 10, 10], Budget(30, 20), [0]),
        ([10, 20, 20], Budget(30, 20), [0, 1]),
        # No more than are allowed; one check in a run comes to all documents.
        ([40] * 9, Budget(30, 4), [0, 1, 2, 3]),
        ([40] * 9, Budget(0, 4), []),
        ([], Budget(30, 4), []),
        ([0, 40, 50], Budget(30, 1), [2]),
        # A time in the future delays no check.
        ([-1], Budget(30, 4), [0]),
    ],
)
def test_documents_are_checked_one_by_one(days: list[int], budget: Budget, due: list[int]) -> None:
    assert due_rechecks(ago(*(SECONDS_A_DAY * day for day in days)), NOW, budget) == due


@given(st.lists(st.integers(0, 60 * SECONDS_A_DAY), min_size=1, max_size=50), st.integers(1, 60))
def test_document_that_was_not_requested_for_so_long_is_always_checked(ages: list[int], days: int) -> None:
    found = due_rechecks(ago(*ages), NOW, Budget(days, 1000))
    assert len(set(found)) == len(found)
    assert {index for index, age in enumerate(ages) if age >= days * SECONDS_A_DAY} <= set(found)
    # Those that were unchecked for the longest time come first.
    chosen = [ages[index] for index in found[1:]]
    assert chosen == sorted(chosen, reverse=True)


@pytest.mark.parametrize(
    ("documents", "every_hours", "most", "a_day"),
    [(3, 1, 2, (0, 0.3)), (3, 24, 2, (0, 2)), (120, 24, 5, (4, 5.1)), (120, 1, 2, (6, 8.1))],
)
def test_requests_are_spread_over_the_runs(
    documents: int, every_hours: int, most: int, a_day: tuple[float, float]
) -> None:
    """By default: the newest with each, else one in 30 / n days."""
    requested, counts = [NOW] * documents, []
    for hour in range(every_hours, 90 * 24, every_hours):
        now = shift(NOW, hour * 3600)
        chosen = due_rechecks(requested, now, Budget(30, 20))
        counts.append(len(chosen))
        for index in chosen:
            requested[index] = now
    assert max(counts) == most
    assert a_day[0] < sum(counts) / 90 < a_day[1]


OLD, NEW = "0a" * 16, "0b" * 16
FIRST = ChainPosition(1, -2)
PLACE, NOW_READ = (FIRST, EARLIEST_WALK), (ChainPosition(7, -2), 6)


def version(entry_id: str, digest: str) -> Version:
    return Version(entry_id, order(None, None, FIRST, 0), digest)


def places(found: EarlierReading, *entries: tuple[str, str]) -> list[tuple[ChainPosition, int]]:
    """The place that counts for each entry without a time, and the last walk that it overrides."""
    orders = [found.order(*entry, None, NOW, 0) for entry in entries]
    return [(ChainPosition(order.walk, order.step), order.overrides) for order in orders]


def test_only_what_has_changed_in_the_document_counts_as_read_now() -> None:
    held, current = ([version(i, OLD) for i in ids] for ids in ("ab", "de"))
    shown_before = absences.encode(held, None), absences.encode(current, None)
    found = EarlierReading(*shown_before, FIRST, FIRST._replace(walk=7))
    shown = [("a", OLD), ("b", NEW), ("c", NEW), ("d", OLD), ("e", NEW)]
    assert places(found, *shown) == [PLACE, NOW_READ, NOW_READ, PLACE, PLACE]
    assert found.unsettled == {"e"}


def test_unsettled_entry_counts_as_changed_when_it_is_read_next() -> None:
    held = absences.encode([version("a", OLD)], None, {"a"})
    assert places(EarlierReading(held, b"", FIRST, FIRST._replace(walk=7)), ("a", OLD)) == [NOW_READ]


def test_document_with_another_link_holds_something_else() -> None:
    assert absences.encode([], "http://example.org/1") != absences.encode([], None)


def removed(earlier: str, shown: str) -> dict[str, str] | None:
    """What a document has lost between two entries, each a character, and what stood below it."""
    found = absences.removed([one.encode() for one in earlier], [one.encode() for one in shown])
    return None if found is None else {key.decode(): below.decode() for key, below in found.items()}


@pytest.mark.parametrize(
    ("before", "shown", "lost"),
    [
        # What is missing between two entries was removed.
        *(("54321", shown, {"3": "2"}) for shown in ("5421", "65421", "54210", "76542")),
        *(("54321", "521", {"4": "2", "3": "2"}), ("54321", "531", {"4": "3", "2": "1"})),
        ("54321", "5642", {"3": "2"}),  # pinned
        # What is missing at an end may have been dropped.
        *(("54321", shown, {}) for shown in ("54321", "65432", "76543", "5432", "4321", "98765", "9876")),
        *(("54321", shown, {}) for shown in ("", "65", "6", "5", "64321")),
        # Any order proves nothing: another one; edited, and moved to the top; a new one between two others;
        # one id twice; a new one in its place, or a random choice.
        *(("54321", shown, None) for shown in ("4521", "2541", "54281", "55421")),
        ("54321", "54821", {}),
        # An entry that stays at the end whatever comes.
        *(("432P", "543P", {}), ("432P", "654P", {}), ("432P", "43P", {"2": "P"})),
    ],
)
def test_what_was_removed(before: str, shown: str, lost: dict[str, str] | None) -> None:
    assert removed(before, shown) == lost


@given(st.integers(1, 12), st.integers(1, 30), st.sets(st.integers(1, 12)), st.integers(0, 12))
def test_nothing_that_a_document_has_dropped_counts_as_removed(
    size: int, entries: int, deleted: set[int], new: int
) -> None:
    """A publisher shows the newest entries, deletes some and adds others."""
    before = list(range(entries, 0, -1))
    after = [*range(entries + new, entries, -1), *(one for one in before if one not in deleted)]
    earlier, shown = ([b"%d" % one for one in some[:size]] for some in (before, after))
    found = absences.removed(earlier, shown)
    assert found is not None
    assert {int(one) for one in found} <= deleted
    event(f"removed: {bool(found)}")


DAYS = [f"2003-12-{day:02}T18:30:02Z" for day in range(1, 31)]
# The positions of the documents.
BEFORE, LATER = ChainPosition(1, 0), ChainPosition(2, 0)


def entry(
    entry_id: str,
    title: str | None = "title",
    link: str | None = "http://a.example/1",
    published: str | None = DAYS[0],
    updated: str | None = None,
    place: ChainPosition = BEFORE,
) -> NamedEntry:
    return NamedEntry(entry_id, title, link, published, updated, place)


def renamed(
    before: Iterable[NamedEntry], new: Iterable[NamedEntry], documents: Iterable[Iterable[str]] | None = None
) -> dict[str, str]:
    """The former ids of new entries; without documents, the new entries are in the only one."""
    arrivals = [one._replace(place=LATER) for one in new]
    found = renamings(arrivals, (*before, *arrivals))
    held = [[one.id for one in arrivals]] if documents is None else documents
    digests = [{digest_of_id(entry_id) for entry_id in ids} for ids in held]
    return {one.new.id: one.old.id for one in confirmed(found, digests)}


HTTP, HTTPS, ELSEWHERE = "http://a.example/1", "https://a.example/1", "http://b.example/1"
UPDATED = entry(HTTP, published=None, updated=DAYS[1])
# Ids of entries of the same title, time and link.
RENAMED = {
    "http://a.example/?p=1": "https://a.example/?p=1",
    HTTPS: HTTP,
    "http://a.example/?p=2": "https://b.example:8000/?p=2",
    "http://a.example?p=1": "http://b.example?p=1",
    "tag:a.example,2003:1": "tag:b.example,2003:1",
    "1 at http://a.example": "urn:uuid:1",
    HTTP: "https://b.example/2",
}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        *((entry(old), entry(new), True) for old, new in RENAMED.items()),
        # Only the scheme differs.
        (entry(HTTP), entry(HTTPS, title="revised", link="https://a.example/1", updated=DAYS[3]), True),
        (entry(HTTP), entry(HTTPS, published=DAYS[1]), False),
        (entry(HTTP), entry(HTTPS, published=None), False),
        (entry(HTTP, None, None, None), entry(HTTPS, None, None, None, DAYS[1]), True),
        (entry(HTTP, published=None), entry(HTTPS, "other", published=None), False),
        # The host differs.
        (entry(HTTP, link=None), entry(ELSEWHERE, link=None), True),
        (entry(HTTP), entry(ELSEWHERE, title="other"), False),
        (entry(HTTP), entry(ELSEWHERE, published=DAYS[1]), False),
        (entry(HTTP, title=None), entry(ELSEWHERE, title=None), False),
        (entry(HTTP, published=None), entry(ELSEWHERE, published=None), False),
        (UPDATED, UPDATED._replace(id=ELSEWHERE), True),
        (UPDATED, entry(ELSEWHERE, published=DAYS[1]), False),
        (entry("http://a.example/", link=None), entry("http://b.example/", link=None), False),
        (entry("tag:a.example", link=None), entry("tag:b.example", link=None), False),
        # Another id.
        (entry("1"), entry("2"), True),
        (entry("1"), entry("2", link="http://a.example/2"), False),
        (entry("1", link=None), entry("2", link=None), False),
        (entry("1"), entry("2", title="other"), False),
        (entry("1"), entry("2", published=DAYS[1]), False),
    ],
)
def test_what_has_to_be_the_same(old: NamedEntry, new: NamedEntry, expected: bool) -> None:
    assert renamed([old], [new]) == ({new.id: old.id} if expected else {})


@pytest.mark.parametrize(
    ("new", "documents", "expected"),
    [
        # An entry that has rolled out of the feed, too.
        (HTTPS, [["x"]], False),
        (HTTPS, [[HTTPS, HTTP]], False),
        (HTTPS, [[HTTPS], ["x", HTTP]], True),
        (HTTPS, [[HTTPS, HTTP], [HTTP]], False),
        (ELSEWHERE, [[ELSEWHERE], [HTTP]], False),
        (ELSEWHERE, [["x"], [ELSEWHERE]], True),
        ("2", [["2"], [HTTP]], False),
        ("2", [["x"], ["2"]], True),
    ],
)
def test_what_documents_have_to_hold(new: str, documents: list[list[str]], expected: bool) -> None:
    assert renamed([entry(HTTP)], [entry(new)], documents) == ({new: HTTP} if expected else {})


def test_id_that_an_older_document_still_has_is_the_former_one() -> None:
    """And not the other way round: an archive that is read later has the former ids."""
    assert renamed([entry(HTTPS, place=ChainPosition(3, 0))], [entry(HTTP)], [[HTTPS], [HTTP]]) == {}


def test_new_entry_may_have_been_another_new_one() -> None:
    """Both have come since the last look."""
    for new in (entry(HTTPS), entry(ELSEWHERE), entry("2")):
        found = renamings([entry(HTTP), new._replace(place=LATER)], [])
        assert [(one.new.id, one.old.id) for one in found] == [(new.id, HTTP)]
        assert renamings([entry(HTTP), new], []) == []


def test_link_that_a_third_entry_shares_names_none() -> None:
    """Of two status messages of one day, say."""
    third = entry("3", title="other", published=None)
    assert renamed([entry("1"), third], [entry("2")]) == {}
    assert renamed([entry("1")], [entry("2"), third]) == {}


def test_one_of_several_is_not_guessed() -> None:
    home = [f"http://{host}.example/1" for host in "abc"]
    assert renamed(map(entry, home[:2]), [entry(home[2], link=None)]) == {}
    assert renamed([entry(home[0], link=None)], [entry(one, link=None) for one in home[1:]]) == {}
    assert renamed([entry(HTTP)], [entry(HTTPS, link="x"), entry("z")]) == {}
    # The scheme and the link contradict each other.
    both = [entry("https://a.example/1", link=None, title="x"), entry("z", link="l")]
    assert renamed(both, [entry("http://a.example/1", link="l")]) == {HTTP: HTTPS}


class Post(NamedTuple):
    """A post of a site: what a reader sees of it is made of these."""

    number: int
    title: str
    day: int


posts = st.lists(
    st.builds(Post, st.integers(0, 9), st.sampled_from("AB"), st.integers(0, 2)),
    unique_by=lambda post: post.number,
    max_size=8,
)
SITES = ["http://a.example", "https://a.example", "http://b.example", "https://www.b.example"]


def seen(post: Post, site: str, own_link: bool) -> NamedEntry:
    link = f"{site}/{post.number}" if own_link else f"{site}/"
    return entry(f"{site}/?p={post.number}", post.title, link, DAYS[post.day])


@given(posts, st.permutations(SITES), st.booleans(), st.integers(0, 8))
def test_all_entries_of_a_moved_site_are_matched(
    published: list[Post], sites: list[str], own_link: bool, shown: int
) -> None:
    before = [seen(post, sites[0], own_link) for post in published]
    after = [seen(post, sites[1], own_link) for post in published[:shown]]
    expected = {new.id: old.id for old, new in zip(before, after, strict=False)}
    assert renamed(before, after) == expected


@given(posts, posts, st.permutations(SITES), st.booleans())
def test_posts_of_two_sites_are_taken_for_one_only_if_they_look_the_same(
    first: list[Post], second: list[Post], sites: list[str], own_link: bool
) -> None:
    """A feed that brings together two sites: those of the first have rolled out of it."""
    before = [seen(post, sites[0], own_link) for post in first]
    after = [seen(post, sites[1], own_link) for post in second]
    found = renamed(before, after)
    event(f"found: {bool(found)}")
    by_id = {one.id: one for one in (*before, *after)}
    for new, old in found.items():
        assert by_id[new].published == by_id[old].published
        if with_other_scheme(new) != old:
            assert by_id[new].title == by_id[old].title
            assert new.partition("?")[2] == old.partition("?")[2]
    assert len(set(found.values())) == len(found)


anything = st.builds(
    entry,
    st.sampled_from([f"{site}/{path}" for site in SITES for path in ("1", "2", "")] + ["1", "2", "3"]),
    st.sampled_from(["A", "B", None]),
    st.sampled_from(["http://a.example/1", "http://a.example/2", None]),
    st.sampled_from([DAYS[0], DAYS[1], None]),
    st.sampled_from([DAYS[0], None]),
)


@given(st.lists(anything, max_size=5, unique_by=lambda one: one.id), st.data())
def test_order_in_which_entries_are_offered_does_not_matter(
    found: list[NamedEntry], data: st.DataObject
) -> None:
    arrivals = set(data.draw(st.sets(st.sampled_from([one.id for one in found]))) if found else ())
    before = [one for one in found if one.id not in arrivals]
    new = [one for one in found if one.id in arrivals]
    results = {tuple(sorted(renamed(some, new).items())) for some in permutations(before)}
    assert len(results) == 1


@given(st.text(max_size=20))
def test_other_scheme_is_its_own_inverse(text: str) -> None:
    for scheme in ("http://", "https://"):
        other = with_other_scheme(scheme + text)
        assert other is not None
        assert with_other_scheme(other) == scheme + text
    assert with_other_scheme(f"x{text}") is None
