"""The rules, one by one."""

from dataclasses import replace

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


class TestIdentity:
    def test_id_is_compared_as_it_is(self) -> None:
        for entry_id in ("http://EXAMPLE.org/", "http://example.org:80/", "http://example.org/%7ea"):
            assert identity(Entry(id=entry_id), document()) == entry_id

    def test_atom_entry_without_id_has_none(self) -> None:
        assert identity(Entry(link="http://example.org/", title="t"), document()) is None

    def test_rss_item_without_guid_is_its_link(self) -> None:
        item = Entry(link="http://example.org/1", title="t")
        assert identity(item, document(format="rss")) == "http://example.org/1"

    def test_rss_item_without_link_is_a_digest(self) -> None:
        items = [
            Entry(title="t", summary="s", published=OLD),
            Entry(title="t", summary="s", published=NEW),
            Entry(title="t", summary="other", published=OLD),
            Entry(title="other", summary="s", published=OLD),
            Entry(title="t"),
            Entry(summary="t"),
        ]
        ids = [identity(item, document(format="rss")) for item in items]
        assert len(set(ids)) == len(items)
        assert ids == [identity(item, document(format="rss")) for item in items]
        assert all(i is not None and i.startswith("urn:sha256:") for i in ids)

    def test_rss_item_without_anything_has_none(self) -> None:
        assert identity(Entry(published=OLD), document(format="rss")) is None


class TestDigest:
    def test_times_are_no_content(self) -> None:
        assert digest(Entry(id="1", title="t", updated=OLD, published=OLD)) == digest(
            Entry(id="1", title="t", updated=NEW)
        )

    @pytest.mark.parametrize(
        "entry",
        [
            Entry(title="x"),
            Entry(link="x"),
            Entry(summary="x"),
            Entry(content="x"),
            Entry(content_type="x"),
            Entry(authors=["x"]),
            Entry(categories=["x"]),
            Entry(enclosures=[{"url": "x", "type": None, "length": None}]),
            Entry(operation="x"),
        ],
    )
    def test_everything_else_is(self, entry: Entry) -> None:
        assert digest(entry) != digest(Entry())
        assert digest(entry) != digest(Entry(title="y"))

    @pytest.mark.parametrize(
        "entries",
        [
            (Entry(authors=["ab"]), Entry(authors=["a", "b"])),
            (Entry(categories=["ab"]), Entry(categories=["a", "b"])),
            (Entry(categories=["ab", "c"]), Entry(categories=["a", "bc"])),
            (Entry(authors=["x"]), Entry(categories=["x"])),
            (Entry(authors=["x", "y"]), Entry(authors=["x"], categories=["y"])),
            (Entry(title="x"), Entry(summary="x")),
            (Entry(title="ab", link="c"), Entry(title="a", link="bc")),
            (Entry(operation="x"), Entry(authors=["x"])),
            # No XML can hold the separator, but JSON can.
            (Entry(title="a\x1fb"), Entry(title="a", link="b")),
            (Entry(title="a\x1fb", link=""), Entry(title="a", link="\x1fb")),
        ],
    )
    def test_same_text_elsewhere_is_other_content(self, entries: tuple[Entry, Entry]) -> None:
        assert digest(entries[0]) != digest(entries[1])

    @pytest.mark.parametrize(
        ("one", "other", "is_same"),
        [
            ("https://cdn.example.org/1.mp3?a=1", "https://cdn.example.org/1.mp3?a=2&b", True),
            ("https://cdn1.example.org/x/1.mp3", "http://cdn2.example.org/y/z/1.mp3#t=1", True),
            ("https://example.org/play?id=1", "https://example.org/play?id=2", True),
            ("https://cdn.example.org/1.mp3", "https://cdn.example.org/1-corrected.mp3", False),
            ("https://cdn.example.org/1.mp3", "https://cdn.example.com/1.mp3", False),
            ("https://example.org/1/", "https://example.org/2/", False),
            ("magnet:?xt=1", "magnet:?xt=2", False),
            ("https://example.org?1", "https://example.org?2", False),
        ],
    )
    def test_of_a_file_name_and_domain_count(self, one: str, other: str, is_same: bool) -> None:
        of_one, of_other = (
            digest(Entry(enclosures=[{"url": url, "type": None, "length": 1}])) for url in (one, other)
        )
        assert (of_one == of_other) == is_same

    @pytest.mark.parametrize(
        ("stored", "is_same"),
        [
            ('[{"url": "https://a.example.org/1.mp3?old", "type": null, "length": 1}]', True),
            # By a pipeline.
            ('[{"url": "https://a.example.org/1.mp3", "type": null, "length": 1, "path": "1"}]', False),
            ('["1.mp3"]', False),
            ("[{}]", False),
            (None, False),
        ],
    )
    def test_stored_enclosures_that_a_pipeline_has_changed_stay(
        self, stored: str | None, is_same: bool
    ) -> None:
        winner = Winner(order(None, None, ChainPosition(1, 0), 0), "x", enclosures=stored)
        url = "https://b.example.org/1.mp3?new"
        assert have_same_files(winner, [{"url": url, "type": None, "length": 1}]) == is_same

    def test_of_a_file_length_and_type_count(self) -> None:
        found = {
            digest(Entry(enclosures=[{"url": "https://example.org/1", "type": media, "length": length}]))
            for media in (None, "audio/mpeg")
            for length in (None, 1, 2)
        }
        assert len(found) == 6

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
    def test_of_images_in_texts_the_query_does_not_count(self, one: str, other: str, is_same: bool) -> None:
        assert (digest(Entry(content=one)) == digest(Entry(content=other))) == is_same
        assert (digest(Entry(summary=one)) == digest(Entry(summary=other))) == is_same


def version(text: str, time: str = OLD) -> Version:
    return Version("1", order(time, None, WALK, 0).counted(LATEST), text)


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
        ],
    )
    def test_outcomes(self, new: Version, winner: Winner | None, outcome: Outcome) -> None:
        assert decide(new, winner) is outcome

    def test_document_of_duplicates_and_stale_versions_brings_no_news(self) -> None:
        fetch = Fetch("f", "k", "k", "k", Role.PAGE, WALK, OLD)
        result = DocumentResult(fetch, versions=[version("a"), version("b")])
        assert not has_changes(result, {"1": Winner(version("a", NEW).order, "a")})
        assert has_changes(result, {})

    def test_document_of_what_only_a_web_archive_has_brings_news(self) -> None:
        result = DocumentResult(Fetch("f", "k", "k", "k", Role.PAGE, WALK, OLD), versions=[version("a")])
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


class TestLinks:
    LINKS = {"prev-archive": "/a", "next": "/p", "current": "/c", "first": "/f"}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("says", "older"),
        [
            (document(links=LINKS), Link(Role.ARCHIVE, "/a")),
            (document(links={"next": "/p"}), Link(Role.PAGE, "/p")),
            # `next` of the oldest archive is not followed.
            (document(links={"next": "/p"}, archive=True), None),
            (document(links=LINKS, complete=True), None),
        ],
    )
    def test_older_document(self, says: FeedDocument, older: Link | None) -> None:
        assert older_document(says) == older

    def test_links_beside_next_contradict_nothing_where_prev_archive_is_followed(self) -> None:
        paged = replace(document(links={"next": "/p"}), other_links={"next": ["/q"]})
        assert older_contradiction(paged, PLAIN) == ("next", "/p", ["/q"])
        archived = replace(paged, links={"next": "/p", "prev-archive": "/a"})
        assert older_contradiction(archived, PLAIN) is None

    def test_only_archives_refer_to_current(self) -> None:
        assert subscription_link(document(links=self.LINKS, archive=True)) == "/c"
        assert subscription_link(document(links=self.LINKS)) is None

    @pytest.mark.parametrize("relation", ["previous", "prev"])
    def test_only_pages_with_one_before_them_refer_to_first(self, relation: str) -> None:
        assert subscription_link(document(links={"first": "/f", relation: "/p"})) == "/f"
        assert subscription_link(document(links={**self.LINKS, relation: "/p"})) is None
        assert subscription_link(document(links={"first": "/f", "next": "/p"})) is None


class TestRedirects:
    ASKED = "http://example.org/2003/11"

    @pytest.mark.parametrize(
        "reached",
        ["https://example.org/2003/11", "http://archive.example.org/2003/11", "http://example.org/2003/11/"],
    )
    def test_same_path_is_the_same_document(self, reached: str) -> None:
        assert not may_be_another(document(), self.ASKED, reached)

    @pytest.mark.parametrize("reached", ["http://example.org/2003/12", "http://example.org/2003/11?part=2"])
    def test_another_path_or_query_may_be_another_document_unless_it_says_what_it_is(
        self, reached: str
    ) -> None:
        assert may_be_another(document(), self.ASKED, reached)
        assert may_be_another(document(links={"self": reached}), self.ASKED, reached)
        assert not may_be_another(document(links={"self": self.ASKED}), self.ASKED, reached)


class TestVerdict:
    GAP = Reason(ReasonKind.HTTP_404, "/a", "is missing (404)", OLD)

    @pytest.mark.parametrize(
        ("says", "expected"),
        [
            (document(complete=True, links={"prev-archive": "/a"}), Kind.COMPLETE),
            (document(links={"prev-archive": "/a", "next": "/p"}), Kind.ARCHIVED),
            (document(archive=True), Kind.ARCHIVED),
            (document(links={"next": "/p"}), Kind.PAGED),
            (document(), Kind.SINGLE),
        ],
    )
    def test_kind_is_what_the_document_says(self, says: FeedDocument, expected: Kind) -> None:
        assert kind(says) is expected

    @pytest.mark.parametrize("of", [Kind.COMPLETE, Kind.ARCHIVED])
    def test_complete_without_gaps_only(self, of: Kind) -> None:
        assert verdict("f", of, OLD, []) == (Verdict.COMPLETE, [])
        assert verdict("f", of, OLD, [self.GAP]) == (Verdict.INCOMPLETE, [self.GAP])

    @pytest.mark.parametrize(
        ("of", "expected", "reasons"),
        [
            (Kind.PAGED, Verdict.LOSSY, ["http-404", "paged"]),
            (Kind.SINGLE, Verdict.UNKNOWN, ["http-404", "no-history"]),
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
        whole = Listing(1, "a", 10, total=3, held=3, known=3, unlisted=1, foreign=0, newest="", highest=9)
        assert verdict("f", of, OLD, [], Evidence(4, listing=whole)) == (Verdict.COMPLETE, [])
        for other in (replace(whole, held=2), replace(whole, foreign=1)):
            reached, [reason] = verdict("f", of, OLD, [], Evidence(4, listing=other))
            assert reached in (Verdict.LOSSY, Verdict.UNKNOWN)
            assert reason.detail.endswith(f"; {other.in_words}")
        reached, _ = verdict("f", of, OLD, [self.GAP], Evidence(4, listing=whole))
        assert reached in (Verdict.LOSSY, Verdict.UNKNOWN)

    @pytest.mark.parametrize("of", [Kind.PAGED, Kind.SINGLE])
    def test_number_of_entries_is_said_and_is_no_evidence(self, of: Kind) -> None:
        reached, [reason] = verdict("f", of, OLD, [], Evidence(1200, total=1200))
        assert reached in (Verdict.LOSSY, Verdict.UNKNOWN)
        assert reason.detail.endswith("; its publisher counts 1,200 entries; the store has 1,200")

    def test_software_whose_pages_were_not_requested_has_advice_of_its_own(self) -> None:
        reached, [reason] = verdict("f", Kind.SINGLE, OLD, [], Evidence(10, software="Trac"))
        assert (reached, reason.kind) == (Verdict.UNKNOWN, "platform")
        assert reason.detail.startswith("is made with Trac, which has older entries")

    @pytest.mark.parametrize("kind", sorted(OURSELVES))
    def test_feed_is_not_unreachable_if_the_cause_is_here(self, kind: ReasonKind) -> None:
        ours = replace(self.GAP, kind=kind)
        assert verdict("f", None, OLD, [ours]) == (Verdict.UNKNOWN, [ours])
        _, [first, *_] = verdict("f", None, OLD, [ours, self.GAP])
        assert (first.kind, first.url, first.since) == ("not-read", "f", OLD)


def test_sealed_page_of_a_multipart_feed_leads_to_the_next() -> None:
    links = {"next-archive": "/2"}
    assert subscription_link(document(links=links, archive=True, format="multipart")) == "/2"
    assert subscription_link(document(links=links, archive=True)) is None
    current = {**links, "current": "/new"}
    assert subscription_link(document(links=current, archive=True, format="multipart")) == "/new"
