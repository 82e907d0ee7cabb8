"""The table of feeds, and what is missing in them: at the end of a crawl, and of `feeds`."""

import io
import re
from dataclasses import replace
from typing import TextIO

import pytest
from rich.cells import cell_len

from fhcrawl.logical_feed import WORDS, Kind, Reason, Verdict
from fhcrawl.reasons import ReasonKind
from fhcrawl.reporting.summary import (
    FAILURES,
    MOST_FEEDS,
    MOST_NAMED,
    MOST_PLAIN,
    MOST_REASONS,
    MOST_ROWS,
    Counts,
    Look,
    Summary,
    failures,
    with_kind_of_advice,
)
from fhcrawl.store import Feed
from tests.reporting.test_progress import HOSTILE, UNFIT

WIDTHS = [40, 60, 80, 132]
LONG = f"http://example.org/{'long/' * 30}"
FOUND = Counts(5, 432, 1, 2)


def feed(number: int, title: str | None = None, **fields: object) -> Feed:
    known: dict[str, object] = {"kind": Kind.ARCHIVED, "verdict": Verdict.COMPLETE, "reasons": []}
    known |= {"entries": 3, "absent": 0, "renamed": 0, "documents": {"processed": 7, "missing": 1}}
    known |= dict.fromkeys(("crawled", "checked"), "2026-01-01T00:00:00Z")
    known |= {"oldest": "2003-12-13T18:30:02Z", "newest": "2024-05-01T00:00:00.5Z"}
    known |= dict.fromkeys(("subscribed", "due"))
    title = f"Title {number}" if title is None else title
    return Feed(f"http://example.org/{number}", title, **{**known, **fields})  # type: ignore[arg-type]


def reason(kind: str, url: str = "http://example.org/a", detail: str = "is not there") -> Reason:
    return Reason(ReasonKind(kind), url, detail, "2026-01-01T00:00:00Z")


def gap(number: int, *reasons: Reason) -> Feed:
    return feed(number, verdict=Verdict.INCOMPLETE, reasons=list(reasons))


def plain(number: int) -> Feed:
    url = f"http://example.org/{number}"
    reasons = [reason("no-history", url, f"says nothing; seamless since 20{number}")]
    reasons += [reason("holes", url, f"may have lost some; {number}")] * (number % 2)
    times = {"oldest": f"20{number:02}-01-01T00:00:00Z", "newest": f"20{number:02}-06-01T00:00:00Z"}
    return feed(number, kind=Kind.SINGLE, verdict=Verdict.UNKNOWN, reasons=reasons, **times)


def unreachable(number: int) -> Feed:
    url = f"http://example.org/{number}"
    reasons = [reason("not-read", url, "has never been read"), reason("http-404", url)]
    known = {"kind": None, "entries": 0, "documents": {"missing": 1}, "oldest": None, "newest": None}
    return feed(number, "", verdict=Verdict.UNKNOWN, reasons=reasons, **known)


def of_run(*feeds: Feed, counts: Counts | None = FOUND) -> Summary:
    summary = Summary()
    for each in feeds:
        summary.add(each, each.verdict, each.reasons, counts)
    return summary


def of_store(*feeds: Feed, most_reasons: int | None = MOST_REASONS) -> Summary:
    summary = Summary(of_run=False, most_reasons=most_reasons)
    for each in feeds:
        summary.add(each, each.verdict, each.reasons)
    return summary


def lines_of(summary: Summary, width: int | None = None) -> list[str]:
    return list(summary.lines(Look(width)))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("summary_of", [of_run, of_store])
def test_everything_fits_the_width_of_a_terminal(width: int, summary_of: object) -> None:
    gaps = [reason("http-404", f"{LONG}{n}", f"leads to {LONG} and on") for n in range(3)]
    gaps.append(reason("html", LONG, "素晴らしい " * 40))
    hostile = feed(3, HOSTILE, reasons=[reason("paged", HOSTILE, HOSTILE)], verdict=Verdict.LOSSY)
    nameless = replace(feed(4, ""), feed=LONG)
    feeds = [gap(1, *gaps), unreachable(2), hostile, nameless, *(feed(n) for n in range(5, MOST_ROWS + 1))]
    summary = summary_of(*feeds)  # type: ignore[operator]
    summary.failures = ["No feed could be read, and this sentence is so long that it does not fit."]
    lines = lines_of(summary, width)
    assert [line for line in lines if cell_len(line) > width] == []
    assert UNFIT.findall("\n".join(lines)) == []
    words = [line.replace("not read", "not-read").split()[-1] for line in lines[1 : MOST_ROWS + 1]]
    assert words == sorted(words, key=WORDS.index)
    assert words[:4] == ["not-read", "incomplete", "lossy", "complete"]


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (132, ["3", "+432", "~1", "-2", "2003-12-13", "to", "2024-05-01", "complete"]),
        (80, ["3", "+432", "~1", "-2", "2003-12", "to", "2024-05", "complete"]),
        (72, ["3", "+432", "~1", "-2", "2003", "to", "2024", "complete"]),
        (60, ["2003", "to", "2024", "complete"]),
        (40, ["complete"]),
    ],
)
def test_narrow_terminal_has_less_beside_the_title(width: int, expected: list[str]) -> None:
    lines = lines_of(of_run(feed(1, "A title of some length")), width)
    assert lines[1].split() == ["A", "title", "of", "some", "length", *expected]


@pytest.mark.parametrize("width", [None, *WIDTHS])
def test_summary_dates_the_completeness_of_pages(width: int | None) -> None:
    paged = feed(1, kind=Kind.PAGED, complete_as_of="2026-01-02T00:00:00Z")
    for summary in (of_run(paged), of_store(paged)):
        assert "complete as of 2026-01-02" in lines_of(summary, width)[1]


def test_without_a_width_there_is_more_and_urls_are_complete() -> None:
    url = f"{LONG * 5}index.atom"
    subscribed = replace(feed(1, "x" * 100), feed=url, subscribed="2026-01-01T00:00:00Z")
    subscribed = replace(subscribed, obtained=["links", "a list"])
    heading, row, *_ = lines_of(of_run(subscribed))
    columns = ["Feed", "Kind", "Fetched", "Skipped", "Entries", "Changed", "Dates", "Verdict", "URL"]
    assert heading.split() == columns
    assert row.split()[:5] == ["x" * 59 + "…", "archived", "5", "2", "3"]
    missing = gap(2, reason("http-404", f"{url}/gone"))
    heading, first, second, *rest = lines_of(of_store(subscribed, missing, most_reasons=None))
    assert heading.split() == ["Feed", "Kind", "Entries", "Dates", "Obtained", "Subscribed", "Verdict", "URL"]
    assert first.split()[-4:] == ["-", "-", "incomplete", "http://example.org/2"]
    assert second.split()[-6:] == ["links,", "a", "list", "yes", "complete", url]
    assert f"{url}/gone (Title 2) is not there, since 2026-01-01" in rest


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_feeds_with_one_title_or_none_are_told_apart(width: int) -> None:
    path = "of/somebody/who/writes/" * 8
    urls = [f"http://example.org/{path}{name}.atom" for name in ("news", "notes", "other")]
    titles = ["Same", "Same", ""]
    feeds = [replace(feed(1, title), feed=url) for url, title in zip(urls, titles, strict=True)]
    names = [line.split()[0] for line in lines_of(of_store(feed(3, "Another"), *feeds), width)[1:5]]
    assert names[0] == "Another"
    assert len(set(names)) == 4
    assert {name.partition("…")[2][-9:] for name in names[1:]} >= {"news.atom", "otes.atom", "ther.atom"}
    assert all(name.startswith("http://") for name in names[1:])


def test_many_plain_feeds_are_one_line_at_the_end_of_a_crawl() -> None:
    feeds = [plain(n) for n in range(10, 10 + MOST_PLAIN + 2)]
    odd = replace(plain(30), reasons=[reason("entries-lost"), *plain(30).reasons])
    lines = lines_of(of_run(feed(1), odd, *feeds), 132)
    number = MOST_PLAIN + 2
    [together] = [line.split() for line in lines if "plain feeds" in line]
    changed = [f"+{432 * number:,}", f"~{number}", f"-{2 * number}"]
    dates = ["2010-01-01", "to", f"20{9 + number}-06-01"]
    assert together == [str(number), "plain", "feeds", str(3 * number), *changed, *dates, "unknown"]
    assert [line.split()[1] for line in lines[1:4]] == ["plain", "30", "1"]
    place = lines.index(f"{number + 1} feeds says nothing")
    named = [odd, *feeds][:MOST_NAMED]
    assert lines[place + 1 : place + 2 + MOST_NAMED] == [*(f"  {one.feed}" for one in named), "  and 1 more"]
    assert lines[4].startswith(f"{number + 2} feeds: {number + 1} unknown, 1 complete; entries: ")
    assert f"{MOST_PLAIN + 1} plain feeds" in "".join(lines_of(of_run(*feeds[:-1]), 132))
    # A few are listed, and so are those of a store.
    assert "plain feeds" not in "".join(lines_of(of_run(*feeds[:MOST_PLAIN]), 132))
    assert len([line for line in lines_of(of_store(*feeds), 132) if line.startswith("Title ")]) == number
    # Where all reasons are listed, each has its own.
    seamless = [line for line in lines_of(of_store(*feeds, most_reasons=None)) if "seamless" in line]
    assert seamless == [f"{f.feed} says nothing; seamless since 20{f.feed[-2:]}" for f in feeds]


def test_reasons_are_followed_by_advice_and_each_advice_appears_once() -> None:
    reported = [("paged", "p"), ("html", "a"), ("http-404", "b"), ("not-xml", "c"), ("html", "d")]
    gaps = [reason(kind, f"http://example.org/{name}") for kind, name in reported]
    lines = lines_of(of_run(gap(1, *gaps), unreachable(2)))
    pages = [f"http://example.org/{name} (Title 1) is not there" for name in "acd"]
    assert lines[lines.index("") :] == [
        "",
        *pages,
        f"What to do: {ReasonKind.HTML.advice}",
        "",
        "http://example.org/b (Title 1) is not there",
        f"What to do: {ReasonKind.HTTP_404.advice}",
        "",
        "http://example.org/2 is not there",
        f"What to do: {ReasonKind.NOT_READ.advice}",
        "",
        "http://example.org/p is not there",
        f"What to do: {ReasonKind.PAGED.advice}",
    ]
    assert "fhcrawl unsubscribe" in ReasonKind.NOT_READ.advice
    # A feed that failed has one line, with the advice on its cause.
    host = reason("no-host", "http://example.org/2", "cannot be fetched: host name not found")
    failed = replace(unreachable(2), reasons=[unreachable(2).reasons[0], host])
    lines = lines_of(of_run(failed))
    sentence = "http://example.org/2 cannot be fetched: host name not found"
    assert lines[lines.index("") :] == ["", sentence, f"What to do: {ReasonKind.NO_HOST.advice}"]


def test_few_feeds_that_are_counted_are_all_named() -> None:
    feeds = [replace(plain(n), feed=f"{LONG}{n}") for n in (10, 12)]
    for width in (None, 40):
        summary = of_store(*(replace(f, reasons=[reason("paged", f.feed, "is paged")]) for f in feeds))
        lines = lines_of(summary, width)
        place = lines.index("2 feeds are paged")
        assert [line[-2:] for line in lines[place + 1 : place + 3]] == ["10", "12"]
        assert lines[place + 3].startswith("What to do:")


def test_reasons_and_feeds_beyond_a_bound_are_counted() -> None:
    feeds = gap(1, *(reason("http-404", f"{LONG}{n}") for n in range(MOST_REASONS + 5)))
    for summary in (of_run(feeds), of_store(feeds)):
        lines = lines_of(summary, 80)
        assert "and 5 more: `fhcrawl feeds --wide` lists them" in lines
        assert len([line for line in lines if " is not there" in line]) == MOST_REASONS
    assert (
        len([x for x in lines_of(of_store(feeds, most_reasons=None)) if "not there" in x]) == MOST_REASONS + 5
    )
    summary = of_run(*(feed(n) for n in range(MOST_FEEDS + 3)), counts=None)
    *_table, more, footer = lines_of(summary)
    assert more == f"and {MOST_FEEDS + 3 - MOST_ROWS:,} more feeds: `fhcrawl feeds` lists them"
    assert footer == f"{MOST_FEEDS + 3:,} feeds: {MOST_FEEDS + 3:,} complete"


def test_run_of_many_feeds_has_the_worst_ones_on_a_screen() -> None:
    feeds = [gap(n, reason("http-404", f"http://example.org/{n}")) for n in range(1, 2001, 10)]
    feeds += [feed(n) for n in range(2, 2000) if n % 10 != 1]
    lines = lines_of(of_run(*reversed(feeds), counts=None))
    worst = range(1, 10 * MOST_ROWS, 10)
    # Numbers are sorted as numbers.
    assert [line.split()[1] for line in lines[1 : MOST_ROWS + 1]] == [str(n) for n in worst]
    assert lines[MOST_ROWS + 2] == f"{len(feeds):,} feeds: 200 incomplete, {len(feeds) - 200:,} complete"
    assert len(lines) <= 40
    digits = of_store(feed(1, "9" * 5000), feed(2, "10"), feed(3, "9"), feed(4, "b2"), feed(5, "b10"))
    assert [line.split()[0][:3] for line in lines_of(digits)[1:6]] == ["9", "10", "999", "b2", "b10"]


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_url_of_a_sentence_is_cut_in_its_middle_and_never_wrapped(width: int) -> None:
    lines = lines_of(of_run(replace(gap(1, reason("http-404", f"{LONG}gone.atom")), title=None)), width)
    [line] = [line for line in lines if line.endswith("gone.atom is not there")]
    begin, _, end = line.removesuffix(" is not there").partition("…")
    assert f"{LONG}gone.atom".startswith(begin)
    assert f"{LONG}gone.atom".endswith(end)
    assert bool(end) == (width < 200)


def test_feed_that_is_not_in_the_store_has_a_line() -> None:
    summary = Summary()
    summary.add_unknown("http://example.org/2", ReasonKind.STORE_ERROR, "is not crawled")
    lines = lines_of(summary, 132)
    assert lines[1].split() == ["http://example.org/2", "0", "-", "-", "unknown"]
    assert "http://example.org/2 is not crawled" in lines


def test_run_without_changes_and_gaps_has_no_news() -> None:
    nothing = Counts(1)
    assert not of_run(feed(1), plain(2), counts=nothing).has_news
    assert not Summary().has_news
    assert of_run(feed(1)).has_news
    assert of_run(unreachable(1), counts=nothing).has_news
    for begun, is_new in ((reason("loop").since, True), ("2026-01-01T00:00:01Z", False)):
        for kind, is_news in (("http-404", is_new), ("moved", True)):
            summary = Summary(begun=begun)
            summary.add(incomplete := gap(1, reason(kind)), incomplete.verdict, incomplete.reasons, nothing)
            assert summary.has_news is is_news
            assert "http://example.org/a (Title 1) is not there" in lines_of(summary)
    failed = Summary()
    failed.failures = ["No feed could be read."]
    assert failed.has_news
    assert lines_of(failed) == ["No feeds", "", "No feed could be read."]


def test_colour_changes_nothing_but_the_colour() -> None:
    summary = of_store(feed(1), unreachable(2), gap(3, reason("http-404")), plain(4))
    summary.failures = ["It failed."]
    for width in (None, 80):
        coloured = list(summary.lines(Look(width, has_colour=True)))
        assert "\x1b[32mcomplete\x1b[0m" in "".join(coloured)
        assert "\x1b[1;31mnot read\x1b[0m" in "".join(coloured)
        assert "\x1b[1mWhat to do:\x1b[0m check" not in coloured
        assert [re.sub("\x1b\\[[0-9;]*m", "", line) for line in coloured] == lines_of(summary, width)


def test_width_and_colour_follow_the_output_file(tty_file: TextIO, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "76")
    assert Look.of(tty_file) == (76, True)
    assert Look.of(tty_file, is_wide=True) == (None, True)
    assert Look.of(io.StringIO()) == (None, False)
    for no_colour, terminal in (("1", "xterm"), ("", "dumb")):
        monkeypatch.setenv("NO_COLOR", no_colour)
        monkeypatch.setenv("TERM", terminal)
        assert Look.of(tty_file) == (76, False)


def test_each_cause_of_exit_code_1_is_reported() -> None:
    for begin, reported in FAILURES.items():
        stats = ["fhcrawl/feed/complete", f"{begin}Somewhere"]
        assert failures(stats) == [reported.format("")]
        assert failures(stats, {begin: "{} is full"}) == [reported.format(": {} is full")]
    assert failures(["fhcrawl/feed/complete"]) == []


@pytest.mark.parametrize(
    ("kinds", "advice"),
    [
        (["not-read", "http-404"], {"http-404": "not-read"}),
        # The cause is enough.
        *((["not-read", cause], {cause: cause}) for cause in ("http-401", "timeout", "private-address")),
        (["only-captures", "no-host"], {"only-captures": "only-captures", "no-host": "only-captures"}),
        (["not-read"], {"not-read": "not-read"}),
        *((["not-read", other], {"not-read": "not-read", other: other}) for other in ("limit", "holes")),
        (["http-404"], {"http-404": "http-404"}),
    ],
)
def test_advice_where_no_feed_was_found_is_that_on_unreachable_feeds(
    kinds: list[str], advice: dict[str, str]
) -> None:
    given = with_kind_of_advice([reason(kind) for kind in kinds])
    assert [(found.kind, kind) for found, kind in given] == [*advice.items()]


def test_absent_and_deleted_entries_have_columns_only_where_there_are_some() -> None:
    def columns(summary: Summary, width: int | None = None) -> list[str]:
        heading, *_ = summary.table_lines(Look(width))
        return [word for word in heading.split() if word in ("Absent", "Deleted")]

    usual, absent, deleted = feed(1), feed(2, absent=1234), feed(3, deleted_entries=5)
    for summary in (of_run(usual), of_store(usual)):
        assert columns(summary) == columns(summary, 120) == []
    assert columns(of_store(usual, absent)) == columns(of_run(usual, absent), 120) == ["Absent"]
    assert columns(of_store(deleted)) == columns(of_run(deleted), 120) == ["Deleted"]
    # On a terminal, `feeds` has them with --wide only; after a crawl, a narrow one has no room.
    assert columns(of_store(absent, deleted), 120) == columns(of_run(absent, deleted), 40) == []
    rows = [line.split() for line in of_run(usual, absent, deleted).table_lines(Look())]
    place = rows[0].index("Absent") + 1
    assert [row[place : place + 2] for row in rows[1:4]] == [["0", "0"], ["1,234", "0"], ["0", "5"]]
    merged = of_run(*(replace(plain(number), absent=2, deleted_entries=1) for number in range(10, 15)))
    [_, row, *_] = merged.table_lines(Look())
    assert row.split()[-9:-2].count("10") == row.split()[-9:-2].count("5") == 1
