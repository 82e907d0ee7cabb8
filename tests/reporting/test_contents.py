"""Contents of the report on a feed, from its rows in the store."""

from dataclasses import replace
from typing import Any

import pytest

from fhcrawl.logical_feed import Kind, Reason, Verdict
from fhcrawl.logical_feed.verdicts import BASES
from fhcrawl.reasons import ReasonKind
from fhcrawl.reporting import page
from fhcrawl.store import ChainNode, Details, Feed
from fhcrawl.store.feeds import Gap

NOW = "2026-03-01T04:05:06Z"


def document(number: int, state: str = "processed", lost: int = 0, reason: str | None = None) -> ChainNode:
    return ChainNode(
        *(number, number + 1, f"http://x/{number}", "archive", state, None, lost, reason, reason, NOW, NOW),
        walk=1,
        step=-number,
    )


DECEMBER, FEBRUARY = "2003-12-13T00:00:00Z", "2004-02-01T00:00:00Z"


def details(**known: Any) -> Details:
    empty: dict[str, Any] = {"since": NOW, "months": {}, "first": None, "last": None, "gap": None}
    empty |= {"latest": [], "chain": [], "snapshot": [], "beside": 0}
    return Details(**{**empty, **known})


def stored(url: str, verdict: Verdict, reasons: list[Reason]) -> Feed:
    times = dict.fromkeys(("subscribed", "due", "oldest", "newest"))
    counts = {"entries": 5, "absent": 0, "renamed": 0, "documents": {"processed": 2}}
    known = {"title": None, "kind": Kind.ARCHIVED, "crawled": NOW, "checked": NOW, **times, **counts}
    return Feed(feed=url, verdict=verdict, reasons=reasons, **known)  # type: ignore[arg-type]


def shown(chain: list[ChainNode]) -> list[tuple[int, int, int]]:
    return [(s.first.id, s.last.id, s.count) for s in page.stretches(chain)]


def test_documents_are_summed_up_unless_one_is_a_gap() -> None:
    assert shown([document(n) for n in range(2000)]) == [(0, 0, 1), (1, 1998, 1998), (1999, 1999, 1)]
    assert [count for _, _, count in shown([document(n) for n in range(3)])] == [1] * 3
    chain = [document(n) for n in range(20)]
    chain[10] = document(10, lost=2)
    chain[19] = document(19, "missing", reason="http-404")
    gaps = [stretch for stretch in page.stretches(chain) if stretch.is_gap]
    assert [(gap.count, gap.first.id) for gap in gaps] == [(1, 10), (1, 19)]


def test_long_alternating_chain_is_summarised_in_few_stretches() -> None:
    chain = [document(n, "missing" if n % 2 else "processed") for n in range(2001)]
    stretches = page.stretches(chain)
    assert len(stretches) == page.MOST_STRETCHES
    assert sum(stretch.count for stretch in stretches) == 2001
    assert stretches[-2].states == {"processed": 981, "missing": 981}
    assert stretches[-2].is_gap


def test_entries_of_many_months_are_counted_by_year() -> None:
    months = {"2003-12": 3, "2004-02": 1, "": 9, "2004-13": 9}
    assert page.over_time(months) == [("2003-12", 3, 3), ("2004-01", 0, 3), ("2004-02", 1, 4)]
    months |= {f"{year}-{month:02}": 1 for year in (2010, 2009) for month in range(1, 13)}
    counts = {
        "2003": 3,
        "2004": 1,
        **dict.fromkeys(("2005", "2006", "2007", "2008"), 0),
        "2009": 12,
        "2010": 12,
    }
    assert [(year, number) for year, number, _ in page.over_time(months)] == [*counts.items()]
    assert [year for year, *_ in page.over_time({**months, "1001-01": 1})] == [
        "1001",
        "2003",
        "2004",
        "2009",
        "2010",
    ]
    assert page.over_time({"": 1}) == []


def test_overview_counts_each_feed() -> None:
    gap = Reason(ReasonKind.HTTP_404, "http://x/1", "is missing (404)", NOW)
    paged = Reason(ReasonKind.PAGED, "http://x/2", "is paged", NOW)
    overview = page.Overview()
    for number, (verdict, reasons) in enumerate(
        [(Verdict.COMPLETE, []), (Verdict.INCOMPLETE, [gap, gap]), (Verdict.LOSSY, [paged])]
    ):
        feed = stored(f"http://x/{number}", verdict, reasons)
        overview.add(page.Section(feed, details(months={"": 2, "2004-01": 3})))
    assert overview.feeds == 3
    assert (overview.entries, overview.documents) == (15, 6)
    assert overview.months == {"": 6, "2004-01": 9}
    assert overview.statuses == {"complete": 1, "incomplete": 1, "lossy": 1}
    to_do = [(one.advice, [(p.name, p.reason) for p in one.problems]) for one in overview.to_do]
    assert to_do == [
        (ReasonKind.HTTP_404.advice, [("http://x/1", gap)] * 2),
        (ReasonKind.PAGED.advice, [("http://x/2", paged)]),
    ]


def reason(kind: ReasonKind, number: int = 1) -> Reason:
    return Reason(kind, f"http://x/{number}", f"is {kind}", NOW)


def test_each_advice_appears_once_with_its_first_problems(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page, "MOST_REASONS", 2)
    overview = page.Overview()
    for name, kind in zip("abcde", ("paged", "html", "http-404", "not-xml", "html"), strict=True):
        feed = stored(f"http://x/{name}", Verdict.INCOMPLETE, [reason(ReasonKind(kind))])
        overview.add(page.Section(feed, details()))
    to_do = [(one.advice, one.is_gap, [p.name[-1] for p in one.problems], one.more) for one in overview.to_do]
    assert to_do == [
        (ReasonKind.HTML.advice, True, ["b", "d"], 1),
        (ReasonKind.HTTP_404.advice, True, ["c"], 0),
        # What cannot be fixed comes last.
        (ReasonKind.PAGED.advice, False, ["a"], 0),
    ]


def test_feed_that_could_never_be_read_is_not_read() -> None:
    reasons = [reason(ReasonKind.NOT_READ), reason(ReasonKind.HTTP_404)]
    never_read = replace(stored("http://x/", Verdict.UNKNOWN, reasons), kind=None, crawled=None)
    section = page.Section(never_read, details())
    assert (section.status, section.gaps) == ("not-read", reasons[1:])
    # It stays the same.
    assert section.anchor == "feed-37844e1d35c3"


def test_worst_feeds_come_first() -> None:
    gap = [reason(ReasonKind.HTTP_404)]
    feeds = [
        stored("http://x/0", Verdict.UNKNOWN, [reason(ReasonKind.NOT_READ), *gap]),
        stored("http://x/1", Verdict.INCOMPLETE, gap),
        stored("http://x/4", Verdict.LOSSY, [reason(ReasonKind.PAGED)]),
        stored("http://x/3", Verdict.UNKNOWN, gap),
        stored("http://x/2", Verdict.UNKNOWN, [reason(ReasonKind.NO_HISTORY)]),
        replace(stored("http://x/6", Verdict.COMPLETE, []), title="a title"),
        replace(stored("http://x/5", Verdict.COMPLETE, []), title="B title"),
    ]
    sections = [page.Section(feed, details()) for feed in reversed(feeds)]
    ordered = sorted(sections, key=lambda section: section.order)
    assert [section.feed for section in ordered] == feeds


@pytest.mark.parametrize(
    ("reasons", "summary"),
    [
        ([reason(ReasonKind.HTTP_404)], "An archive is http-404"),
        ([reason(ReasonKind.HTTP_404, 7)] * 2, "The feed is http-404; and 1 more gap"),
        ([reason(ReasonKind.HTTP_404)] * 1001, "An archive is http-404; and 1,000 more gaps"),
        ([reason(ReasonKind.PAGED)], "The feed is paged"),
        ([], "Its chain of 2 documents was read to its oldest document"),
    ],
)
def test_summary_of_a_feed_is_a_sentence(reasons: list[Reason], summary: str) -> None:
    chain = [document(0)._replace(role="subscription"), document(1)]
    feed = stored("http://x/0", Verdict.INCOMPLETE if reasons else Verdict.COMPLETE, reasons)
    assert page.Section(feed, details(chain=chain)).summary == summary
    if not reasons:
        only = page.Section(feed, details(chain=chain[1:]))
        assert only.summary == "Its only document was read; there are no older ones"
        words = {
            basis: page.Section(replace(feed, basis=basis), details(chain=chain)).summary for basis in BASES
        }
        assert words.pop("chain") == summary
        assert words == {basis: BASES[basis] for basis in words}


@pytest.mark.parametrize(
    ("kind", "gap", "obtained", "unknown"),
    [
        (ReasonKind.HTTP_404, (FEBRUARY, None), [], "entries before 2004-02-01 are unknown"),
        (
            ReasonKind.HTTP_404,
            (FEBRUARY, DECEMBER),
            [],
            "entries between 2003-12-13 and 2004-02-01 may be missing",
        ),
        (ReasonKind.HTTP_404, (FEBRUARY, DECEMBER), ["WARC"], "entries before 2004-02-01 may be missing"),
        # Each document was read, and nobody knows what is behind them.
        (ReasonKind.LOOP, None, [], "entries before 2003-12-13 are unknown"),
        (ReasonKind.NO_HISTORY, None, [], "entries before 2003-12-13 are unknown"),
        (ReasonKind.PAGED, None, [], ""),
        (ReasonKind.ENTRIES_LOST, None, [], ""),
    ],
)
def test_times_of_a_gap(
    kind: ReasonKind, gap: tuple[str, str | None] | None, obtained: list[str], unknown: str
) -> None:
    feed = replace(stored("http://x/0", Verdict.INCOMPLETE, [reason(kind)]), obtained=obtained)
    place = None if gap is None else Gap("http://x/1", *gap)
    known = details(months={"2003-12": 1, "2004-02": 1}, first=DECEMBER, gap=place)
    assert page.Section(feed, known).unknown == unknown
