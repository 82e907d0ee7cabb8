"""The order of verdicts, failed reads, and what verdicts say of the time for which a feed is covered."""

from dataclasses import replace

import pytest

from fhcrawl.logical_feed import WORDS, Kind, Reason, Verdict, in_words
from fhcrawl.logical_feed.coverage import Covered, Hole, Span
from fhcrawl.logical_feed.listings import Listing
from fhcrawl.logical_feed.verdicts import ASKS_FOR_LESS, NO_ORDER, SAYS_NOTHING, Evidence, verdict
from fhcrawl.reasons import ReasonKind

OLD = "2003-01-01T00:00:00Z"
DAY_1, DAY_2, DAY_3 = (f"2026-03-{day:02}T00:00:00Z" for day in (1, 2, 3))
HOLE = Hole(DAY_1, DAY_2, 86400, 4, 1)
OUTAGE = Reason(ReasonKind.HTTP_5XX, "f", "cannot be fetched: HTTP status 503", DAY_3, last_read=DAY_2)
GONE = Reason(ReasonKind.HTTP_404, "f", "is gone", OLD)


@pytest.mark.parametrize(
    ("covered", "reported"),
    [
        (
            Covered([Span(DAY_1, DAY_3)], [], DAY_1, True),
            "nothing has been missed since 2026-03-01",
        ),
        (
            Covered([Span(DAY_1, DAY_3)], [], DAY_2, True),
            "nothing has been missed since 2026-03-01; anything before 2026-03-02 is from captures",
        ),
        (
            Covered([Span(DAY_1, DAY_1), Span(DAY_2, DAY_3)], [HOLE], DAY_3, True),
            "nothing has been missed since 2026-03-02 00:00; entries before 2026-03-01 are unknown; "
            "anything before 2026-03-03 is from captures",
        ),
        (Covered([Span(DAY_1, DAY_3)], [], DAY_1, False), NO_ORDER),
    ],
)
def test_captures_do_not_make_a_feed_complete_but_their_span_is_reported(
    covered: Covered, reported: str
) -> None:
    reached, reasons = verdict("f", Kind.SINGLE, OLD, [], Evidence(9), covered)
    assert reached is Verdict.UNKNOWN
    assert reasons[0].detail == f"{SAYS_NOTHING}; {reported}"
    assert [reason.kind for reason in reasons[1:]] == ["holes"] * len(covered.holes)


def test_feed_of_captures_alone_is_covered_between_them() -> None:
    complete = Covered([Span(DAY_1, DAY_3)], [], None, True)
    reached, [reason, _] = verdict("f", None, OLD, [GONE], Evidence(9), complete)
    assert (reached, reason.kind) == (Verdict.UNKNOWN, "only-captures")
    assert reason.detail.endswith("; nothing has been missed between 2026-03-01 and 2026-03-03")
    holed = complete._replace(spans=[Span(DAY_1, DAY_1), Span(DAY_2, DAY_3)], holes=[HOLE])
    reached, [reason, _, hole] = verdict("f", None, OLD, [GONE], Evidence(9), holed)
    assert reason.detail.endswith("; entries may have been missed between 2026-03-01 and 2026-03-03")
    assert (reached, hole.kind) == (Verdict.UNKNOWN, "holes")


def test_only_a_hole_between_reads_of_the_feed_mentions_the_publishers_poll_limits() -> None:
    """It has made no requests to web archives."""
    for read, is_requested in ((DAY_1, True), (DAY_2, False), (DAY_3, False)):
        covered = Covered([Span(DAY_1, DAY_1), Span(DAY_2, DAY_3)], [HOLE], read, True)
        _, [_, hole] = verdict("f", Kind.SINGLE, OLD, [], Evidence(9), covered, is_held_back=True)
        assert hole.detail.endswith(ASKS_FOR_LESS) == is_requested


# What each verdict comes from, besides the kind of the feed.
@pytest.mark.parametrize(
    ("kind", "gaps", "expected"),
    [
        (None, [GONE], "not-read"),
        *((kind, [GONE], "incomplete") for kind in Kind),
        *((kind, [OUTAGE, GONE], "incomplete") for kind in Kind),
        (Kind.PAGED, [], "unknown"),
        (Kind.PAGED, [OUTAGE], "unknown"),
        (Kind.SINGLE, [], "unknown"),
        (Kind.SINGLE, [OUTAGE], "unknown"),
        (Kind.ARCHIVED, [], "complete"),
        (Kind.ARCHIVED, [OUTAGE], "complete"),
        (Kind.COMPLETE, [OUTAGE], "complete"),
    ],
)
def test_worst_verdict_counts_and_an_outage_changes_none(
    kind: Kind | None, gaps: list[Reason], expected: str
) -> None:
    reached, reasons = verdict("f", kind, OLD, gaps)
    assert in_words(reached, reasons) == expected
    assert WORDS == ("not-read", "incomplete", "lossy", "unknown", "complete")
    # Gaps are first.
    assert kind is None or [reason.is_gap for reason in reasons] == sorted(
        (reason.is_gap for reason in reasons), reverse=True
    )
    assert {*gaps} <= {*reasons}


@pytest.mark.parametrize("kind", [Kind.PAGED, Kind.SINGLE])
def test_publishers_list_stays_evidence_in_an_outage(kind: Kind) -> None:
    complete = Listing(1, "a", 10, total=3, held=3, known=3, unlisted=1, foreign=0, newest="", highest=9)
    evidence = Evidence(4, listing=complete)
    assert verdict("f", kind, OLD, [OUTAGE], evidence) == (Verdict.COMPLETE, [OUTAGE])


def test_pages_that_may_lack_entries_are_never_complete() -> None:
    agreed = Evidence(9, agreed=OLD)
    assert verdict("f", Kind.PAGED, OLD, [], agreed) == (Verdict.COMPLETE, [])
    reached, [reason] = verdict("f", Kind.PAGED, OLD, [], replace(agreed, caveat="some may be missing"))
    assert (reached, reason.kind) == (Verdict.UNKNOWN, "paged")
    assert reason.detail.endswith("; some may be missing")


def test_feed_of_captures_alone_is_not_unread() -> None:
    reached, reasons = verdict("f", None, OLD, [GONE], Evidence(9))
    assert (in_words(reached, reasons), reasons[0].kind) == ("unknown", "only-captures")
    never_requested = Reason(ReasonKind.NOT_CRAWLED, "f", "is not crawled yet", OLD)
    _, reasons = verdict("f", None, OLD, [never_requested], Evidence(9))
    assert [reason.kind for reason in reasons] == ["only-captures", "not-crawled"]
