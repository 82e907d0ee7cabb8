"""Feeds of multipart pages: where they begin, and whether neighbouring pages agree."""

import pytest

from fhcrawl.documents import Entry, FeedDocument
from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.chain import (
    NewerPage,
    as_newer_page,
    begins_after,
    disagreements,
    is_before,
    reaches_snapshot,
)
from tests.logical_feed.test_logical_feed import document


def page(*days: int, updated: int | None = None, links: dict[str, str] | None = None) -> FeedDocument:
    """A page of a multipart feed, whose entities are of days of 2003, the newest first."""
    entries = [Entry(updated=f"2003-01-{day:02}T12:00:00Z") for day in days]
    time = None if updated is None else f"2003-01-{updated:02}T12:00:00Z"
    return FeedDocument("multipart", None, time, links or {}, False, False, entries, [], None)


SINCE = "2003-01-10T12:00:00.500Z"


class TestFeedBehindASnapshot:
    def test_time_within_the_second_of_the_snapshot_is_not_before_it(self) -> None:
        times = ("2003-01-10T12:00:00Z", "2003-01-10T11:59:59Z", None)
        assert [is_before(time, SINCE) for time in times] == [False, True, False]

    @pytest.mark.parametrize(
        ("last", "is_last"),
        [
            (page(12, 9), True),
            (page(12, 10), False),
            # Times that go backwards within a page do not end the walk early.
            (page(12, 9, 11), False),
            # A page that is older itself.
            (page(updated=9), True),
            (page(updated=10), False),
            (page(), False),
            # A page that claims to be older than its entities.
            (page(12, 11, updated=1), False),
            (page(12, 9, updated=1), True),
        ],
    )
    def test_page_that_begins_before_it_is_the_last_one(self, last: FeedDocument, is_last: bool) -> None:
        assert reaches_snapshot(last, SINCE) is is_last

    def test_documents_of_other_formats_say_nothing_by_their_entries(self) -> None:
        other = document()
        other.entries = [Entry(updated="2003-01-09T12:00:00Z")]
        assert not reaches_snapshot(other, SINCE)

    def test_feed_may_begin_after_it(self) -> None:
        pages = (page(12, 11), page(updated=11), page(12, 10), page())
        assert [begins_after(one, SINCE) for one in pages] == [True, True, False, False]


class TestNeighbours:
    OWN = ("http://example.org/1",)
    BACK = {"next-archive": "http://example.org/2"}  # noqa: RUF012
    NEWER = NewerPage(["http://example.org/2"], "2003-01-04T12:00:00Z", "2003-01-03T12:00:00Z")

    def reported(self, older: FeedDocument, newer: NewerPage = NEWER) -> list[str]:
        return [problem.kind for problem in disagreements(older, self.OWN, newer)]

    @pytest.mark.parametrize(
        ("older", "kinds"),
        [
            (page(3, 1, updated=3, links={**BACK, "self": OWN[0]}), []),
            # Its next page is another one, or missing, or it has another self link.
            (page(links={"next-archive": "http://example.org/3"}), ["disagrees"]),
            (page(), ["disagrees"]),
            (page(links={**BACK, "self": "/x"}), ["disagrees"]),
            (page(4, 1, updated=4, links=BACK), ["backwards"]),
            (page(3, 1, updated=5, links=BACK), ["backwards"]),
        ],
    )
    def test_disagreements_of_neighbouring_pages(self, older: FeedDocument, kinds: list[str]) -> None:
        assert self.reported(older) == kinds
        # Times of a newer page without any do not go backwards.
        timeless = NewerPage(self.NEWER.urls, None, None)
        assert self.reported(older, timeless) == [kind for kind in kinds if kind != "backwards"]

    def test_newest_page_without_self_has_no_url_for_good(self) -> None:
        newest = as_newer_page(page(2, 1), self.OWN, Role.SUBSCRIPTION)
        assert newest == NewerPage([], None, "2003-01-01T12:00:00Z")
        assert self.reported(page(links={"next-archive": "/x"}), newest) == []

    def test_other_pages_are_known_by_all_their_urls(self) -> None:
        itself = as_newer_page(page(links={"self": "/self"}), self.OWN, Role.SUBSCRIPTION)
        assert itself == NewerPage([*self.OWN, "/self"], None, None)
        assert as_newer_page(page(), self.OWN, Role.ARCHIVE) == NewerPage([*self.OWN], None, None)
        # Other formats have no such neighbours.
        assert as_newer_page(document(), self.OWN, Role.ARCHIVE) is None
