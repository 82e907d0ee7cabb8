"""How far a crawl has come, from what its signals say."""

import io
import re
from collections import Counter
from dataclasses import replace
from typing import Any, TextIO

import pytest
from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions

from fhcrawl.documents.lists import DocumentList, ListedDocument
from fhcrawl.extensions import progress as shown_progress
from fhcrawl.extensions.progress import WINDOW_SECONDS, Progress, Rate, console_of, line
from fhcrawl.logical_feed import ChainPosition, Role, Version
from fhcrawl.logical_feed.results import (
    CommitBatch,
    DocumentFailure,
    DocumentResult,
    Fetch,
    Metadata,
    Order,
    State,
)
from fhcrawl.reasons import ReasonKind
from fhcrawl.reporting.summary import MOST_FEEDS, Counts

MISSING = DocumentFailure(State.MISSING, ReasonKind.HTTP_404, "is missing (404)")


def result(feed: str, url: str, role: Role = Role.ARCHIVE, **known: Any) -> DocumentResult:
    fetch = Fetch(feed, url, url, url, role, ChainPosition(1, 0), "2026-01-01T00:00:00Z")
    return DocumentResult(fetch, **known)


def ask(progress: Progress, feed: str, url: str, role: Role = Role.ARCHIVE) -> None:
    progress.note_request(feed, url, role.value)
    progress.note_download(feed)


def test_feed_is_done_when_nothing_is_requested_any_more() -> None:
    progress = Progress(2)
    ask(progress, "a", "a", Role.SUBSCRIPTION)
    # The requests of a document come before it is done, and once more if it is retried.
    ask(progress, "a", "a1")
    ask(progress, "a", "a1")
    progress.commit(result("a", "a", Role.SUBSCRIPTION), CommitBatch(), 0)
    assert (progress.done, [walk.name for walk in progress.under_way]) == (0, ["a"])
    progress.lose(result("a", "a1", failure=MISSING))
    assert (progress.done, progress.under_way) == (1, [])
    assert progress.problems == 1


def test_feed_whose_subscription_document_is_elsewhere_or_unchanged_ends_too() -> None:
    progress = Progress(2)
    ask(progress, "a", "page.html", Role.SUBSCRIPTION)
    ask(progress, "a", "feed.xml", Role.SUBSCRIPTION)
    progress.commit(result("a", "feed.xml", Role.SUBSCRIPTION), CommitBatch(), 0)
    assert progress.done == 1
    # One that waits for its turn has not begun.
    progress.note_request("b", "b", "subscription")
    assert (progress.done, len(progress.under_way)) == (1, 0)
    progress.note_download("b")
    progress.note_download(None)
    assert (progress.done, len(progress.under_way)) == (1, 1)
    progress.confirm(result("b", "b", Role.SUBSCRIPTION))
    assert (progress.done, progress.counts_of("b")) == (2, Counts(documents=1))


def test_entries_are_counted_of_each_feed_and_all() -> None:
    progress = Progress(2)
    for feed, new, deleted in (("a", 2, 1), ("b", 3, 0)):
        ask(progress, feed, feed, Role.SUBSCRIPTION)
        batch = CommitBatch(counts=Counter({"fhcrawl/entry/new": new, "fhcrawl/entry/updated": 1}))
        progress.commit(result(feed, feed, Role.SUBSCRIPTION), batch, deleted)
    assert progress.counts_of("a") == Counts(1, 2, 1, 1)
    assert progress.total == Counts(2, 5, 2, 1)
    assert progress.counts_of("c") is None
    reported = line(progress, Rate(2, 1))
    assert reported == (
        "Feeds: 2 of 2 done, 0 in progress; documents: 2 (120/min); "
        "entries: 5 new, 2 updated, 1 deleted (60/min)"
    )
    progress.problems = 2
    assert line(progress, Rate(2, 1)) == f"{reported}; problems: 2"


@pytest.mark.parametrize(
    ("kind", "new", "documents"), [(ReasonKind.LOOP, 0, 0), (ReasonKind.NOT_WELL_FORMED, 3, 1)]
)
def test_broken_document_is_a_problem_and_read_if_it_has_entries(
    kind: ReasonKind, new: int, documents: int
) -> None:
    progress = Progress(1)
    ask(progress, "a", "a", Role.SUBSCRIPTION)
    failure = DocumentFailure(State.INVALID, kind, "is cut off")
    broken = result("a", "a", Role.SUBSCRIPTION, failure=failure)
    progress.commit(broken, CommitBatch(counts=Counter(["fhcrawl/entry/new"] * new)), 0)
    assert (progress.problems, progress.counts_of("a")) == (1, Counts(documents, new))
    # A limit is no problem.
    ask(progress, "a", "a1")
    progress.lose(result("a", "a1", failure=DocumentFailure(State.KNOWN, ReasonKind.LIMIT, "was left")))
    assert progress.problems == 1


def with_entries(found: DocumentResult, *times: str) -> DocumentResult:
    orders = [Order(0, time, 0, 1, 0, -number) for number, time in enumerate(times)]
    versions = [Version(str(number), order, "digest") for number, order in enumerate(orders)]
    return replace(found, versions=versions)


def test_walk_has_come_back_to_the_last_entry_with_a_time_or_else_to_the_oldest_document() -> None:
    progress = Progress(1)
    ask(progress, "a", "end")
    # A document that is made when it is requested has the time of its response.
    for url, updated in (("a1", None), ("a2", "2026-01-01T00:00:00Z")):
        ask(progress, "a", url)
        read = with_entries(
            result("a", url, metadata=Metadata(updated=updated)),
            "2004-02-01T00:00:00Z",
            f"2003-0{url[1]}",
            "",
        )
        progress.commit(read, CommitBatch(), 0)
    assert progress.under_way[0].back_to == "2003-01"
    for month, back_to in (("2002-03", "2002-03"), ("2001-12", "2001-12"), ("2002-01", "2001-12")):
        ask(progress, "a", month)
        progress.commit(
            result("a", month, metadata=Metadata(updated=f"{month}-01T00:00:00Z")), CommitBatch(), 0
        )
        assert str(progress.under_way[0].back_to).startswith(back_to)


def test_share_of_a_known_number_of_entries_is_shown_with_the_time_left() -> None:
    now = 0.0
    progress = Progress(1, lambda: now)
    ask(progress, "a", "a", Role.SUBSCRIPTION)
    ask(progress, "a", "a1", Role.PAGE)
    walk = progress.under_way[0]
    assert walk.done(0) == ""
    first = replace(
        with_entries(result("a", "a", Role.SUBSCRIPTION), "2004", "2003"), metadata=Metadata(total=200)
    )
    progress.commit(first, CommitBatch(), 0)
    assert walk.done(30) == "1%, 0:49:30 left"
    ask(progress, "a", "a2", Role.PAGE)
    progress.commit(with_entries(result("a", "a1", Role.PAGE), *["2002"] * 48), CommitBatch(), 0)
    now = 60.0
    assert walk.done(now) == "25%, 0:03:00 left"
    assert line(progress, Rate(2, 1)).endswith("/min); 25%, 0:03:00 left")
    assert "25%, 0:03:00 left ━━━" in "\n".join(printed(progress, Rate(2, 1), now, 100))
    # The number is useless once so many have been read.
    progress.expect("a", 200, 200)
    assert walk.done(now) == ""
    progress.feeds = 2
    progress.expect("a", 100, 200)
    assert line(progress, Rate(2, 1)).endswith("/min)")


def test_share_of_the_documents_of_a_list_counts_those_that_are_lost() -> None:
    progress = Progress(1, lambda: 0.0)
    ask(progress, "a", "a", Role.SUBSCRIPTION)
    for part in range(4):
        ask(progress, "a", str(part), Role.PART)
    walk = progress.under_way[0]
    parts = [ListedDocument(str(part), str(part)) for part in range(4)]
    progress.commit(replace(result("a", "a", Role.SUBSCRIPTION), parts=DocumentList(parts)), CommitBatch(), 0)
    progress.commit(with_entries(result("a", "0", Role.PART), *["2002"] * 48), CommitBatch(), 0)
    assert walk.done(10) == "25%, 0:00:30 left"
    progress.lose(result("a", "1", Role.PART, failure=MISSING))
    assert walk.done(10) == "50%, 0:00:10 left"


def test_feeds_that_are_remembered_have_a_bound() -> None:
    progress = Progress(MOST_FEEDS + 5)
    for number in range(MOST_FEEDS + 2):
        ask(progress, str(number), str(number))
        progress.commit(result(str(number), str(number)), CommitBatch(), 0)
    assert progress.done == progress.total.documents == MOST_FEEDS + 2
    assert progress.counts_of(str(MOST_FEEDS - 1)) is not None
    assert progress.counts_of(str(MOST_FEEDS)) is None
    # Feeds that are left are done once.
    ask(progress, "left", "left")
    for _ in range(3):
        progress.leave({"left", "other"})
    assert (progress.done, len(progress.under_way)) == (MOST_FEEDS + 4, 0)


def test_rate_is_that_of_the_last_seconds() -> None:
    progress = Progress(1)
    assert progress.rate(0) == Rate(0, 0)
    for second in range(1, 101):
        progress.total.documents += 1 if second <= 50 else 4
        rate = progress.rate(second)
        if second == 50:
            assert rate.documents == 1
    assert rate.documents == 4
    assert progress.rate(100 + WINDOW_SECONDS * 6).documents < 1


HOSTILE = "[bold]素晴らしい[/bold]\x1b[31m\r\n\u202e:smile:" + "x" * 300
UNFIT = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def test_line_for_the_log() -> None:
    progress = Progress(3)
    ask(progress, "a", "a")
    progress.total = Counts(1200, 3, 2, 1)
    reported = line(progress, Rate(2, 1))
    assert reported == (
        "Feeds: 0 of 3 done, 1 in progress; documents: 1,200 (120/min); "
        "entries: 3 new, 2 updated, 1 deleted (60/min)"
    )
    progress.problems = 2
    assert line(progress, Rate(2, 1)) == f"{reported}; problems: 2"


def printed(progress: Progress, rate: Rate, now: float, width: int, height: int = 24) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, markup=False, highlight=False, emoji=False)
    console.print(shown_progress.running(progress, rate, now, ConsoleDimensions(width, height)))
    return file.getvalue().splitlines()


def running(width: int, feeds: int, height: int = 24) -> list[str]:
    progress = Progress(feeds)
    for number in range(feeds - 1):
        url = f"http://example.org/{number}" if number else HOSTILE
        progress.note_request(url, url, "subscription")
        progress.note_download(url)
    progress.problems = 3
    return printed(progress, Rate(1.5, 20), 3723, width, height)


@pytest.mark.parametrize("width", [60, 80, 132, 200])
@pytest.mark.parametrize("feeds", [1, 30, 2000])
def test_running_display_is_small_and_fits(width: int, feeds: int) -> None:
    lines = running(width, feeds)
    assert len(lines) <= 16
    # What the terminal shows for Ctrl-C has its place behind the last line.
    assert all(cell_len(line) <= width - 4 for line in lines)
    assert UNFIT.findall("\n".join(lines)) == []
    assert lines[0].startswith(f"Feeds      0 of {feeds:,} done, {feeds - 1:,} in progress, 1 waiting")
    assert "1:02:03" in lines[3]
    if feeds == 2000:
        assert lines[-1].strip() == "and 1,991 more"
        assert len(running(width, feeds, height=10)) == 9
    if feeds > 1:
        assert any(line.startswith("[bold]") for line in lines)


def test_only_a_real_terminal_has_a_display(tty_file: TextIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert console_of(tty_file) is not None
    assert console_of(io.StringIO()) is None
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert console_of(io.StringIO()) is None
    monkeypatch.setenv("TERM", "dumb")
    assert console_of(tty_file) is None
