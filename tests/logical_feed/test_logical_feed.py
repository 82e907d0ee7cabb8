"""The rules, one by one."""

from dataclasses import fields, replace
from itertools import count

import pytest

from fhcrawl.documents import Entry, FeedDocument, Tombstone
from fhcrawl.logical_feed import (
    FIRST_WALK,
    ChainPosition,
    Kind,
    Link,
    Outcome,
    Reason,
    Role,
    Verdict,
    Version,
    Winner,
    in_words,
)
from fhcrawl.logical_feed.chain import (
    PLAIN,
    kind,
    may_be_another,
    older_contradiction,
    older_document,
    subscription_link,
)
from fhcrawl.logical_feed.listings import Listing
from fhcrawl.logical_feed.results import (
    DocumentResult,
    Fetch,
    absence,
    decide,
    deletion_order,
    digest,
    has_changes,
    have_same_files,
    identity,
    latest_time,
    must_follow,
    order,
)
from fhcrawl.logical_feed.verdicts import Evidence, verdict
from fhcrawl.reasons import OURSELVES, ReasonKind

LATEST = latest_time("2006-01-01T00:00:00Z")
OLD, NEW = "2003-01-01T00:00:00Z", "2004-01-01T00:00:00Z"
WALK = ChainPosition(1, 0)


def document(
    *,
    links: dict[str, str] | None = None,
    archive: bool = False,
    complete: bool = False,
    format: str = "atom",  # noqa: A002
) -> FeedDocument:
    return FeedDocument(format, None, None, links or {}, archive, complete, [], [], None)


@pytest.mark.parametrize(
    ("entry", "format_name", "expected"),
    [
        # An id is compared as it is.
        *((Entry(id=i), "atom", i) for i in ("http://EXAMPLE.org/", "http://example.org:80/%7ea")),
        (Entry(link="http://example.org/", title="t"), "atom", None),
        (Entry(link="http://example.org/1", title="t"), "rss", "http://example.org/1"),
        (Entry(published=OLD), "rss", None),
    ],
)
def test_identity(entry: Entry, format_name: str, expected: str | None) -> None:
    assert identity(entry, document(format=format_name)) == expected


def test_identity_of_an_rss_item_without_link_is_a_digest() -> None:
    items = [
        Entry(title="t", summary="s", published=OLD),
        Entry(title="t", summary="s", published=NEW),
        Entry(title="t", summary="other", published=OLD),
        Entry(title="other", summary="s", published=OLD),
        *(Entry(title="t"), Entry(summary="t")),
    ]
    ids = [identity(item, document(format="rss")) for item in items]
    assert len(set(ids)) == len(items)
    assert ids == [identity(item, document(format="rss")) for item in items]
    assert all(i is not None and i.startswith("urn:sha256:") for i in ids)


def file(url: str, media_type: str | None = None, length: int | None = 1) -> Entry:
    return Entry(enclosures=[{"url": url, "type": media_type, "length": length}])


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (Entry(id="1", title="t", updated=OLD, published=OLD), Entry(id="1", title="t", updated=NEW), True),
        # Everything but times is content,
        *((one, Entry(), False) for one in (Entry(title="x"), Entry(link="x"), Entry(summary="x"))),
        *((one, Entry(), False) for one in (Entry(content="x"), Entry(content_type="x"))),
        *((one, Entry(), False) for one in (Entry(authors=["x"]), Entry(categories=["x"]))),
        (Entry(operation="x"), Entry(), False),
        (file("x"), Entry(), False),
        (Entry(title="x"), Entry(title="y"), False),
        # and the same text elsewhere is other content.
        (Entry(authors=["ab"]), Entry(authors=["a", "b"]), False),
        (Entry(categories=["ab"]), Entry(categories=["a", "b"]), False),
        (Entry(categories=["ab", "c"]), Entry(categories=["a", "bc"]), False),
        (Entry(authors=["x"]), Entry(categories=["x"]), False),
        (Entry(authors=["x", "y"]), Entry(authors=["x"], categories=["y"]), False),
        (Entry(title="x"), Entry(summary="x"), False),
        (Entry(title="ab", link="c"), Entry(title="a", link="bc"), False),
        (Entry(operation="x"), Entry(authors=["x"]), False),
        # No XML can hold the separator, but JSON can.
        (Entry(title="a\x1fb"), Entry(title="a", link="b"), False),
        (Entry(title="a\x1fb", link=""), Entry(title="a", link="\x1fb"), False),
        # Of a file, its name and domain, length and type count.
        (file("https://cdn.example.org/1.mp3?a=1"), file("https://cdn.example.org/1.mp3?a=2&b"), True),
        (file("https://cdn1.example.org/x/1.mp3"), file("http://cdn2.example.org/y/z/1.mp3#t=1"), True),
        (file("https://example.org/play?id=1"), file("https://example.org/play?id=2"), True),
        (file("https://cdn.example.org/1.mp3"), file("https://cdn.example.org/1-corrected.mp3"), False),
        (file("https://cdn.example.org/1.mp3"), file("https://cdn.example.com/1.mp3"), False),
        (file("https://example.org/1/"), file("https://example.org/2/"), False),
        (file("magnet:?xt=1"), file("magnet:?xt=2"), False),
        (file("https://example.org?1"), file("https://example.org?2"), False),
        *(
            (file("https://x.org/1", None, 1), file("https://x.org/1", None, size), False)
            for size in (None, 2)
        ),
        (file("https://x.org/1"), file("https://x.org/1", "audio/mpeg"), False),
    ],
    ids=count(),
)
def test_what_counts_as_content(one: Entry, other: Entry, is_same: bool) -> None:
    assert (digest(one) == digest(other)) == is_same


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ('<img src="a.png?1">', '<img src="a.png?2">', True),
        ("<IMG alt='' SRC = 'a.png?1'/> x", "<IMG alt='' SRC = 'a.png'/> x", True),
        ('<img srcset="a?1 1x, b?1 2x">', '<img srcset="a?2 1x, b?2 2x">', True),
        ('<img src="a.png?1">', '<img src="b.png?1">', False),
        ('<img src="a.png?1">', '<img src="a.png?1"> more', False),
        ('<a href="?p=1">', '<a href="?p=2">', False),
        ("src? 1", "src? 2", False),
        ('<img src="/play?><p>one</p>', '<img src="/play?><p>two</p>', False),
    ],
)
def test_of_images_in_texts_the_query_does_not_count(one: str, other: str, is_same: bool) -> None:
    assert (digest(Entry(content=one)) == digest(Entry(content=other))) == is_same
    assert (digest(Entry(summary=one)) == digest(Entry(summary=other))) == is_same


@pytest.mark.parametrize(
    ("stored", "is_same"),
    [
        ('[{"url": "https://a.example.org/1.mp3?old", "type": null, "length": 1}]', True),
        # By a pipeline.
        ('[{"url": "https://a.example.org/1.mp3", "type": null, "length": 1, "path": "1"}]', False),
        *(('["1.mp3"]', False), ("[{}]", False), (None, False)),
    ],
)
def test_stored_enclosures_that_a_pipeline_has_changed_stay(stored: str | None, is_same: bool) -> None:
    winner = Winner(order(None, None, ChainPosition(1, 0), 0), "x", enclosures=stored)
    assert have_same_files(winner, file("https://b.example.org/1.mp3?new").enclosures) == is_same


def version(text: str, time: str = OLD) -> Version:
    return Version("1", order(time, None, WALK, 0).counted(LATEST), text)


UNTIMED_TOMBSTONE = deletion_order(Tombstone("1", None), None, ChainPosition(9, 0))
CAPTURED = version("b")._replace(order=version("b").order._replace(walk=FIRST_WALK - 1))


class TestDecide:
    @pytest.mark.parametrize(
        ("new", "winner", "outcome"),
        [
            (version("a"), None, Outcome.NEW),
            (version("a"), Winner(version("a").order, "a"), Outcome.DUPLICATE),
            (version("a", NEW), Winner(version("a").order, "a"), Outcome.DUPLICATE),
            (version("a"), Winner(version("a", NEW).order, "a"), Outcome.DUPLICATE),
            (version("b", NEW), Winner(version("a").order, "a"), Outcome.UPDATED),
            (version("b"), Winner(version("a", NEW).order, "a"), Outcome.STALE),
            (version("b", NEW), Winner(version("a").order, ""), Outcome.NEW),
            (version("b"), Winner(version("a", NEW).order, ""), Outcome.STALE),
            # Read after a later walk has missed it, in a document with an old place and without a time.
            (version("b", ""), Winner(absence("1", ChainPosition(9, 0)).order, ""), Outcome.NEW),
            (version("b", ""), Winner(UNTIMED_TOMBSTONE, ""), Outcome.STALE),
            (CAPTURED, Winner(absence("1", ChainPosition(9, 0)).order, ""), Outcome.STALE),
        ],
    )
    def test_decision_on_a_version(self, new: Version, winner: Winner | None, outcome: Outcome) -> None:
        assert decide(new, winner) is outcome

    def test_document_of_duplicates_and_stale_versions_brings_no_news(self) -> None:
        result = DocumentResult(Fetch("f", "k", "k", "k", Role.PAGE, WALK, OLD), versions=[version("a")])
        assert not has_changes(result, {"1": Winner(version("a", NEW).order, "a")})
        assert has_changes(result, {})
        # One that only a web archive has shown so far does.
        captured = version("a").order._replace(walk=FIRST_WALK - 1)
        assert has_changes(result, {"1": Winner(captured, "a")})
        assert not has_changes(result, {"1": Winner(captured._replace(walk=FIRST_WALK), "a")})

    def test_deletion_wins_over_the_version_of_its_time_from_wherever(self) -> None:
        when = deletion_order(Tombstone("1", OLD), None, ChainPosition(1, -9))
        assert when.is_newer(order(OLD, NEW, ChainPosition(2, 0), 0))
        assert order(NEW, None, ChainPosition(1, -10), 0).is_newer(when)

    @pytest.mark.parametrize(
        ("walk", "step", "leads_on"),
        # What its own walk has stored; what was on older pages, or on this one and newer ones.
        [(2, -2, True), (1, -4, True), (1, -3, False), (1, -2, False), (1, 0, False)],
    )
    def test_page_leads_on(self, walk: int, step: int, leads_on: bool) -> None:
        fetch = Fetch("f", "k", "k", "k", Role.PAGE, ChainPosition(2, -3), OLD)
        result = DocumentResult(fetch, versions=[version("a")])
        stored = Winner(version("a").order._replace(walk=walk, step=step), "a")
        assert must_follow(result, {"1": stored}) is leads_on
        # So does a page without entries.
        assert must_follow(DocumentResult(fetch), {})

    def test_earliest_time_in_the_future_is_that_of_an_entry_or_a_deletion_but_not_of_a_capture(self) -> None:
        future = [
            Version.at(LATEST, str(year), order(f"{year}-01-01T00:00:00Z", None, WALK, 0), "a")
            for year in (2003, 2009, 2008)
        ]
        fetch = Fetch("f", "k", "k", "k", Role.PAGE, WALK, OLD)
        for versions, deletions in ((future, []), (future[:2], future[2:])):
            result = DocumentResult(fetch, versions=versions, deletions=deletions)
            assert str(result.uncounted).startswith("2008")
            assert replace(result, fetch=replace(fetch, role=Role.CAPTURE)).uncounted is None
        assert DocumentResult(fetch, versions=future[:1]).uncounted is None

    def test_result_has_few_fields(self) -> None:
        assert len(fields(DocumentResult)) <= 15


LINKS = {"prev-archive": "/a", "next": "/p", "current": "/c", "first": "/f"}


class TestLinks:
    @pytest.mark.parametrize(
        ("stated", "older"),
        [
            (document(links=LINKS), Link(Role.ARCHIVE, "/a")),
            (document(links={"next": "/p"}), Link(Role.PAGE, "/p")),
            # `next` of the oldest archive is not followed.
            (document(links={"next": "/p"}, archive=True), None),
            (document(links=LINKS, complete=True), None),
        ],
    )
    def test_older_document(self, stated: FeedDocument, older: Link | None) -> None:
        assert older_document(stated) == older

    def test_links_beside_next_contradict_nothing_where_prev_archive_is_followed(self) -> None:
        paged = replace(document(links={"next": "/p"}), other_links={"next": ["/q"]})
        assert older_contradiction(paged, PLAIN) == ("next", "/p", ["/q"])
        archived = replace(paged, links={"next": "/p", "prev-archive": "/a"})
        assert older_contradiction(archived, PLAIN) is None

    @pytest.mark.parametrize(
        ("stated", "url"),
        [
            # Only archives refer to `current`, and pages with one before them to `first`.
            (document(links=LINKS, archive=True), "/c"),
            (document(links=LINKS), None),
            *((document(links={"first": "/f", name: "/p"}), "/f") for name in ("previous", "prev")),
            *((document(links={**LINKS, name: "/p"}), None) for name in ("previous", "prev")),
            (document(links={"first": "/f", "next": "/p"}), None),
            # A sealed page of a multipart feed leads to the next one.
            (document(links={"next-archive": "/2"}, archive=True, format="multipart"), "/2"),
            (document(links={"next-archive": "/2"}, archive=True), None),
            (document(links={"next-archive": "/2", "current": "/n"}, archive=True, format="multipart"), "/n"),
        ],
    )
    def test_subscription_document(self, stated: FeedDocument, url: str | None) -> None:
        assert subscription_link(stated) == url


@pytest.mark.parametrize(
    ("reached", "is_other"),
    [
        ("https://example.org/2003/11", False),
        ("http://archive.example.org/2003/11", False),
        ("http://example.org/2003/11/", False),
        ("http://example.org/2003/12", True),
        ("http://example.org/2003/11?part=2", True),
    ],
)
def test_redirect_to_another_path_is_unsure_without_a_self_link(reached: str, is_other: bool) -> None:
    requested = "http://example.org/2003/11"
    assert may_be_another(document(), requested, reached) is is_other
    assert may_be_another(document(links={"self": reached}), requested, reached) is is_other
    assert not may_be_another(document(links={"self": requested}), requested, reached)


class TestVerdict:
    GAP = Reason(ReasonKind.HTTP_404, "/a", "is missing (404)", OLD)

    @pytest.mark.parametrize(
        ("stated", "expected"),
        [
            (document(complete=True, links={"prev-archive": "/a"}), Kind.COMPLETE),
            (document(links={"prev-archive": "/a", "next": "/p"}), Kind.ARCHIVED),
            (document(archive=True), Kind.ARCHIVED),
            (document(links={"next": "/p"}), Kind.PAGED),
            (document(), Kind.SINGLE),
        ],
    )
    def test_kind_follows_from_the_document(self, stated: FeedDocument, expected: Kind) -> None:
        assert kind(stated) is expected

    @pytest.mark.parametrize("of", [Kind.COMPLETE, Kind.ARCHIVED])
    def test_complete_without_gaps_only(self, of: Kind) -> None:
        assert verdict("f", of, OLD, []) == (Verdict.COMPLETE, [])
        assert verdict("f", of, OLD, [self.GAP]) == (Verdict.INCOMPLETE, [self.GAP])

    @pytest.mark.parametrize(
        ("of", "expected", "reasons"),
        [
            (Kind.PAGED, Verdict.INCOMPLETE, ["http-404", "paged"]),
            (Kind.SINGLE, Verdict.INCOMPLETE, ["http-404", "no-history"]),
            (None, Verdict.UNKNOWN, ["not-read", "http-404"]),
        ],
    )
    def test_everything_else_has_reasons(
        self, of: Kind | None, expected: Verdict, reasons: list[str]
    ) -> None:
        reached, why = verdict("f", of, OLD, [self.GAP])
        assert reached is expected
        assert [reason.kind for reason in why] == reasons
        assert in_words(reached, why) == ("not-read" if of is None else expected.value)

    @pytest.mark.parametrize("of", [Kind.PAGED, Kind.SINGLE])
    def test_publishers_list_is_evidence_if_all_of_it_is_held(self, of: Kind) -> None:
        full = Listing(1, "a", 10, total=3, held=3, known=3, unlisted=1, foreign=0, newest="", highest=9)
        assert verdict("f", of, OLD, [], Evidence(4, listing=full)) == (Verdict.COMPLETE, [])
        for other in (replace(full, held=2), replace(full, foreign=1)):
            reached, [reason] = verdict("f", of, OLD, [], Evidence(4, listing=other))
            assert reached in (Verdict.LOSSY, Verdict.UNKNOWN)
            assert reason.detail.endswith(f"; {other.in_words}")
        reached, why = verdict("f", of, OLD, [self.GAP], Evidence(4, listing=full))
        assert (reached, len(why)) == (Verdict.INCOMPLETE, 2)

    def test_total_of_the_publisher_does_not_prove_completeness(self) -> None:
        for of in (Kind.PAGED, Kind.SINGLE):
            reached, [reason] = verdict("f", of, OLD, [], Evidence(1200, total=1200))
            assert reached is Verdict.UNKNOWN
            assert reason.detail.endswith("; its publisher counts 1,200 entries; the store has 1,200")
        # Software whose pages were not requested has advice of its own.
        reached, [reason] = verdict("f", Kind.SINGLE, OLD, [], Evidence(10, software="Trac"))
        assert (reached, reason.kind) == (Verdict.UNKNOWN, "platform")
        assert reason.detail.startswith("is made with Trac, which has older entries")

    @pytest.mark.parametrize("kind", sorted(OURSELVES))
    def test_feed_is_not_unreachable_if_the_cause_is_here(self, kind: ReasonKind) -> None:
        ours = replace(self.GAP, kind=kind)
        assert verdict("f", None, OLD, [ours]) == (Verdict.UNKNOWN, [ours])
        _, [first, *_] = verdict("f", None, OLD, [ours, self.GAP])
        assert (first.kind, first.url, first.since) == ("not-read", "f", OLD)
