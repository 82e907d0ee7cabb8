"""What the report says of a feed, from what the store says."""

from __future__ import annotations

import pytest

from fhcrawl.logical_feed import Kind, Reason, Verdict
from fhcrawl.reasons import ReasonKind
from fhcrawl.reporting import contents
from fhcrawl.store import Details, Document, Feed

NOW = "2026-03-01T04:05:06Z"


def document(number: int, state: str = "processed", lost: int = 0, reason: str | None = None) -> Document:
    return Document(
        number, number + 1, f"http://x/{number}", "archive", state, None, lost, reason, reason, NOW, NOW
    )


def stored(url: str, verdict: Verdict, reasons: list[Reason]) -> Feed:
    return Feed(
        feed=url,
        title=None,
        kind=Kind.ARCHIVED,
        verdict=verdict,
        reasons=reasons,
        entries=5,
        documents={"processed": 2},
        crawled=NOW,
        subscribed=None,
        due=None,
        oldest=None,
        newest=None,
    )


def shown(chain: list[Document]) -> list[tuple[int, int, int]]:
    return [(s.first.id, s.last.id, s.count) for s in contents.stretches(chain)]


def test_documents_of_which_the_same_is_said_are_summed_up() -> None:
    assert shown([document(n) for n in range(2000)]) == [
        (0, 0, 1),
        (1, 1, 1),
        (2, 1998, 1997),
        (1999, 1999, 1),
    ]
    assert [count for _, _, count in shown([document(n) for n in range(4)])] == [1] * 4


def test_gap_is_never_summed_up_with_what_was_read() -> None:
    chain = [document(n) for n in range(20)]
    chain[10] = document(10, lost=2)
    chain[19] = document(19, "missing", reason="http-404")
    gaps = [stretch for stretch in contents.stretches(chain) if stretch.is_gap]
    assert [(gap.count, gap.first.id) for gap in gaps] == [(1, 10), (1, 19)]


def test_chain_of_which_something_else_is_said_everywhere_is_cut_short() -> None:
    chain = [document(n, "missing" if n % 2 else "processed") for n in range(2001)]
    stretches = contents.stretches(chain)
    assert len(stretches) == contents.MOST_STRETCHES
    assert sum(stretch.count for stretch in stretches) == 2001
    assert stretches[-2].states == {"processed": 981, "missing": 981}
    assert stretches[-2].is_gap


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (
            ["2004-01-04T00:00:00Z", "2004-01-03T00:00:00Z", "2004-01-02T00:00:00Z", "2003-01-01T00:00:00Z"],
            "every day",
        ),
        (
            [
                "2004-03-01T00:00:00",
                "2004-02-21T00:00:00.25Z",
                "2004-02-11T00:00:00Z",
                "2004-02-01T00:00:00Z",
            ],
            "every week",
        ),
        (
            ["2004-04-01T00:00:00Z", "2004-03-01T00:00:00Z", "2004-02-01T00:00:00Z", "2004-01-01T00:00:00Z"],
            "every month",
        ),
        (
            ["2004-01-01T06:00:00Z", "2004-01-01T04:00:00Z", "2004-01-01T02:00:00Z", "2004-01-01T00:00:00Z"],
            "every 2 hours",
        ),
        (["2004-01-01T06:00:00Z"] * 3, None),
        ([], None),
    ],
)
def test_how_often_a_feed_changes(times: list[str], words: str | None) -> None:
    assert contents.interval(times) == words


def test_overview_counts_each_feed() -> None:
    gap = Reason(ReasonKind.HTTP_404, "http://x/1", "is not there (404)", NOW)
    paged = Reason(ReasonKind.PAGED, "http://x/2", "is paged", NOW)
    overview = contents.Overview()
    for number, (verdict, reasons) in enumerate(
        [(Verdict.COMPLETE, []), (Verdict.INCOMPLETE, [gap, gap]), (Verdict.LOSSY, [paged])]
    ):
        feed = stored(f"http://x/{number}", verdict, reasons)
        details = Details(NOW, {"": 2, "2004-01": 3}, None, None, [], [], [], 0)
        overview.add(contents.section(feed, details))
    assert overview.feeds == 3
    assert (overview.entries, overview.documents) == (15, 6)
    assert overview.months == {"": 6, "2004-01": 9}
    assert overview.gap_kinds == {"http-404": 1}
    assert [(name, reason) for _, name, reason in overview.attention] == [("http://x/1", gap)]
    assert overview.with_gaps == 1


def test_anchor_of_a_feed_stays() -> None:
    feed = stored("http://x/", Verdict.UNKNOWN, [])
    section = contents.section(feed, Details(NOW, {}, None, None, [], [], [], 0))
    assert section.anchor == "feed-37844e1d35c3"
