"""What crawls store of the time for which plain feeds are covered."""

from contextlib import closing
from typing import Any

import pytest

from fhcrawl.documents.dates import elapsed
from fhcrawl.logical_feed.coverage import Hole, Span
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import Feed, Store
from tests.engine import Engine
from tests.faketime import clock_at
from tests.feeds import E, atom

FEED = "http://example.org/index"
DAY = 86400
CUT = "</feed>"


def day(number: int) -> str:
    return f"2026-03-{number:02}T00:00:00Z"


def document(newest: int, shown: int = 4, **links: str) -> str:
    return atom([E(str(newest - place)) for place in range(shown)], links=links)


def crawl(url: str, number: int, body: str, **engine: int) -> Feed:
    with clock_at(day(number).rstrip("Z")):
        Engine(url, {FEED: body}, **engine).crawl(FEED)  # type: ignore[arg-type]
        with closing(Store.open(url)) as store:
            [feed] = store.feeds.read()
    return feed


def test_reads_that_have_an_entry_in_common_are_one_span(url: str) -> None:
    assert crawl(url, 1, document(4)).spans == [Span(day(1), day(1))]
    assert crawl(url, 2, document(7)).spans == [Span(day(1), day(2))]
    # The same document, as after a 304.
    feed = crawl(url, 9, document(7))
    assert (feed.spans, feed.holes) == ([Span(day(1), day(9))], [])
    assert [reason.kind for reason in feed.reasons] == [ReasonKind.NO_HISTORY]
    assert feed.reasons[0].detail.endswith("; nothing has been missed since 2026-03-01")


def test_reads_that_have_no_entry_in_common_have_a_hole_between_them(url: str) -> None:
    for number, newest in enumerate((4, 6, 8), 1):
        crawl(url, number, document(newest))
    feed = crawl(url, 13, document(40))
    assert feed.spans == [Span(day(1), day(3)), Span(day(13), day(13))]
    assert feed.holes == [Hole(day(3), day(13), 10 * DAY, 16, 1)]
    assert [reason.kind for reason in feed.reasons] == [ReasonKind.NO_HISTORY, ReasonKind.HOLES]
    assert feed.reasons[0].detail.endswith(
        "; nothing has been missed since 2026-03-13 00:00; entries before 2026-03-01 are unknown"
    )
    assert feed.reasons[1].detail.endswith(
        "; between 2026-03-03 00:00 and 2026-03-13 00:00 (about 16 at its usual rate)"
    )
    assert feed.verdict.value == "unknown"


def test_read_that_fails_or_is_killed_proves_nothing(url: str) -> None:
    crawl(url, 1, document(4))
    assert crawl(url, 2, document(6).replace(CUT, "")).spans == [Span(day(1), day(1))]
    assert crawl(url, 3, document(7), life=1).spans == [Span(day(1), day(1))]
    assert crawl(url, 4, document(9)).spans == [Span(day(1), day(1)), Span(day(4), day(4))]


@pytest.mark.parametrize("between", [{"shown": 0}, {"shown": 4, "prev-archive": FEED}])
def test_unchanged_document_that_was_not_compared_proves_nothing(url: str, between: dict[str, Any]) -> None:
    """Of a feed that was empty, or had archives, when entries came."""
    crawl(url, 1, document(4))
    for number in (2, 3):
        crawl(url, number, document(9, **between))
    assert crawl(url, 4, document(30)).spans == [Span(day(1), day(1)), Span(day(4), day(4))]


def test_unchanged_document_proves_nothing_if_entries_come_below_all_of_it(url: str) -> None:
    for number, shown in enumerate(("5 4 3", "5 4 3.5 3", "5 4", "5 4"), 1):
        feed = crawl(url, number, atom([E(entry) for entry in shown.split()]))
        assert feed.spans[-1].until == day(min(number, 3))


def test_verdict_reports_a_clock_that_has_gone_back(url: str) -> None:
    crawl(url, 9, document(4))
    for number in (5, 6):
        feed = crawl(url, number, document(9))
        assert feed.spans == [Span(day(5), day(5))]
        assert feed.reasons[0].detail.endswith(
            "; coverage unknown: the clock has gone back since the read at 2026-03-09 00:00"
        )


def test_feeds_that_promise_their_history_have_no_spans(url: str) -> None:
    feed = crawl(url, 1, atom([E("1")], head="<fh:complete/>"))
    assert (feed.spans, feed.holes) == ([], [])
    crawl(url, 2, document(4))
    crawl(url, 3, document(9))
    # The holes do not matter any more.
    feed = crawl(url, 4, atom([E("1")], head="<fh:complete/>"))
    assert (feed.spans, feed.holes, feed.reasons) == ([], [], [])


def test_feed_is_deleted_with_its_spans(url: str) -> None:
    crawl(url, 1, document(4))
    with closing(Store.open(url)) as store:
        store.subscriptions.delete([FEED])
    assert crawl(url, 5, document(4)).spans == [Span(day(5), day(5))]


def test_feed_is_due_before_half_of_its_entries_are_new(url: str) -> None:
    """Of 8 entries: 4 of them in 6 hours, at the rate of the second day."""
    crawl(url, 1, document(8, 8))
    crawl(url, 2, document(24, 8))
    for number in range(3, 9):
        feed = crawl(url, number, document(24, 8))
    assert feed.due is not None
    assert 0.9 < elapsed(day(8), feed.due) / (DAY / 4) < 1.2


def test_reason_mentions_a_cache_lifetime_that_is_too_long(url: str) -> None:
    crawl(url, 1, rss(4, 60))
    assert "asks not" not in crawl(url, 2, rss(12, 60)).reasons[1].detail
    feed = crawl(url, 3, rss(20, 24 * 60))
    assert feed.reasons[1].detail.endswith("; the feed or its server does not allow reads as often as needed")
    assert feed.due == day(4)


def rss(newest: int, ttl: int) -> str:
    items = "".join(f"<item><guid>{newest - place}</guid></item>" for place in range(4))
    return f"<rss version='2.0'><channel><title>-</title><ttl>{ttl}</ttl>{items}</channel></rss>"
