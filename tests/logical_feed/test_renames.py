"""Entries whose id has changed are found, and no two entries are taken for one that were published as two."""

from collections.abc import Iterable
from itertools import permutations
from typing import NamedTuple

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fhcrawl.logical_feed import ChainPosition
from fhcrawl.logical_feed.absences import (
    NamedEntry,
    confirmed,
    digest_of_id,
    renamings,
    with_other_scheme,
)

DAYS = [f"2003-12-{day:02}T18:30:02Z" for day in range(1, 31)]
OLD, NEW = ChainPosition(1, 0), ChainPosition(2, 0)


def entry(
    entry_id: str,
    title: str | None = "title",
    link: str | None = "http://a.example/1",
    published: str | None = DAYS[0],
    updated: str | None = None,
    place: ChainPosition = OLD,
) -> NamedEntry:
    return NamedEntry(entry_id, title, link, published, updated, place)


def renamed(
    before: Iterable[NamedEntry], new: Iterable[NamedEntry], documents: Iterable[Iterable[str]] | None = None
) -> dict[str, str]:
    """The former ids of new entries; without documents, the new entries are in the only one."""
    arrivals = [one._replace(place=NEW) for one in new]
    found = renamings(arrivals, (*before, *arrivals))
    held = [[one.id for one in arrivals]] if documents is None else documents
    digests = [{digest_of_id(entry_id) for entry_id in ids} for ids in held]
    return {one.new.id: one.old.id for one in confirmed(found, digests)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *(("http://a.example/?p=1", "https://a.example/?p=1"), ("https://a.example/1", "http://a.example/1")),
        ("http://a.example/?p=1", "https://b.example:8000/?p=1"),
        *(("http://a.example?p=1", "http://b.example?p=1"), ("tag:a.example,2003:1", "tag:b.example,2003:1")),
        # Another id, and the same link.
        ("1 at http://a.example", "urn:uuid:1"),
        ("http://a.example/1", "https://b.example/2"),
    ],
)
def test_entry_with_another_id_of_the_same_title_time_and_link_is_the_same_one(old: str, new: str) -> None:
    assert renamed([entry(old)], [entry(new)]) == {new: old}


HTTP, HTTPS, ELSEWHERE = "http://a.example/1", "https://a.example/1", "http://b.example/1"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
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
        (
            entry(HTTP, published=None, updated=DAYS[1]),
            entry(ELSEWHERE, published=None, updated=DAYS[1]),
            True,
        ),
        (entry(HTTP, published=None, updated=DAYS[1]), entry(ELSEWHERE, published=DAYS[1]), False),
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
    old = entry(HTTPS, place=ChainPosition(3, 0))
    assert renamed([old], [entry(HTTP)], [[HTTPS], [HTTP]]) == {}


def test_new_entry_may_have_been_another_new_one() -> None:
    """Both have come since the last look."""
    for new in (entry(HTTPS), entry(ELSEWHERE), entry("2")):
        found = renamings([entry(HTTP), new._replace(place=NEW)], [])
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
    # The scheme says that it is one, the link that it is another one.
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
def test_moved_site_is_recognised_whole(
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
def test_other_scheme_is_turned_back(text: str) -> None:
    for scheme in ("http://", "https://"):
        other = with_other_scheme(scheme + text)
        assert other is not None
        assert with_other_scheme(other) == scheme + text
    assert with_other_scheme(f"x{text}") is None
