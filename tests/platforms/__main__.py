"""`python -m tests.platforms [NAME …]`: the census of publishing programs, as a table.

It publishes posts with each program, crawls its feeds, and counts what was found.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from fhcrawl.settings import FHCRAWL_CONFIRM_PAGES
from tests.faketime import clock
from tests.platforms import publishers
from tests.platforms.publisher import Change, Feed, Post, Publisher
from tests.ports import NoServerError
from tests.projects import Project, Run

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "reach.md"
BEGIN, END = "<!-- census -->\n", "<!-- end of the census -->\n"
# Posts, some days apart; the last one is of yesterday.
POSTS, DAYS_APART = 120, 9
EDITED, DELETED = (118, 60, 5), (100, 40)
ADDED = 3
# A post whose date is between those of two others.
BACKDATED_BEFORE = 30
# FHCRAWL_RECHECK: each document once in 30 days. The crawls after the changes, in days from the first one.
LATER = (2, 9, 16, 23, 30, 37)
TITLE = re.compile(r"\bPost ([0-9]+)\b")
ENTRY = re.compile(rb"<(?:item|entry)[\s>]")
MARK = "Edited."
CONFIRMS = {"FHCRAWL_CONFIRM_PAGES": FHCRAWL_CONFIRM_PAGES}
# What a second crawl may cost, and the first one, in requests: it reads all documents twice.
MOST_AGAIN, MOST_TIMES, BESIDES = 4, 2, 6


@dataclass
class Row:
    """What was found of a feed.

    :param true: number of posts
    :param got: how many of them the first crawl exported
    :param pages: how many documents have all of them; None if the server does not have them
    :param requests: of the first and of the second crawl, with robots.txt
    :param with_sitemap: how many posts a first crawl with `--from-sitemap` exports; None if it was not made
    :param verdict, reasons: after the second crawl
    :param found: after how many days from the change, by post; of those that were found
    :param changed: number of posts for each kind of change; none that the feed does not show
    :param later: the verdict at the end
    """

    program: str
    version: str
    feed: Feed
    true: int
    got: int = 0
    size: int = 0
    requests: tuple[int, ...] = ()
    with_sitemap: int | None = None
    verdict: str = ""
    reasons: list[str] = field(default_factory=list)
    found: dict[Change, dict[int, int]] = field(default_factory=dict)
    changed: dict[Change, int] = field(default_factory=dict)
    absent: int = 0
    later: str = ""
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"{self.program}, {self.feed.label}" if self.feed.label else self.program

    @property
    def pages(self) -> int | None:
        if not self.feed.answers:
            return None
        return self.feed.pages or math.ceil(self.true / max(self.size, 1))

    def faults(self) -> Iterator[str]:
        if self.pages is not None:
            if self.got < self.true:
                yield f"got {self.got} of {self.true}"
            if self.requests[0] > MOST_TIMES * (self.pages + self.feed.ends) + BESIDES:
                yield f"{self.requests[0]} requests for {self.pages} documents"
        if self.requests[1] > MOST_AGAIN:
            yield f"{self.requests[1]} requests for a second crawl"
        if self.verdict == "complete" and self.got < self.true:
            yield "a false `complete`"
        for change, number in self.changed.items():
            found = len(self.found.get(change, {}))
            if change in self.found and self.pages is not None and found < number:
                yield f"{change.value}: found {found} of {number}"


def take(kind: type[Publisher], posts: int = POSTS, later: tuple[int, ...] = LATER) -> Iterator[Row]:
    """Yield what is found of each feed of a program.

    :param later: days of the crawls after the changes; () for no changes
    :raises NoServerError: if the program is not here
    """
    folder = Path(tempfile.mkdtemp(prefix="census-"))
    try:
        program = kind(_new(folder / "program"))
        program.check_installed()
        with program.serving():
            yield from _Census(program, folder, posts, later).rows()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


class _Census:
    def __init__(self, program: Publisher, folder: Path, posts: int, later: tuple[int, ...]) -> None:
        self._program, self._folder, self._posts, self._later = program, folder, posts, later
        self._begin = datetime.now(timezone.utc).replace(microsecond=0)
        self._projects: dict[Feed, Project] = {}

    def _post(self, number: int, text: str = "The text.") -> Post:
        days = DAYS_APART * (self._posts - number) + 1
        return Post(number, self._begin - timedelta(days=days), text)

    def rows(self) -> Iterator[Row]:
        program = self._program
        program.write([self._post(number) for number in range(1, self._posts + 1)])
        program.publish()
        rows = [self._first(feed) for feed in program.feeds]
        if self._later:
            made = self._change()
            program.publish()
            for row in rows:
                self._look_for(row, made)
        yield from rows

    def _first(self, feed: Feed) -> Row:
        name = re.sub(r"\W+", "-", feed.label) or "feed"
        project = self._projects[feed] = Project(_new(self._folder / f"project-{name}"))
        row = Row(self._program.name, self._program.version, feed, self._posts)
        first = self._crawl(feed, 0)
        second = self._crawl(feed, 1)
        row.got = len(_posts_of(first))
        row.size = self._size(feed)
        row.requests = (_requests(first), _requests(second))
        [row.report] = project.feeds()
        row.verdict = row.report["verdict"]
        row.reasons = [reason["detail"] for reason in row.report["reasons"]]
        if ((row.report["sitemap"] or {}).get("listed") or 0) > row.got:
            self._projects[feed] = Project(_new(self._folder / f"project-{name}-with-sitemap"))
            row.with_sitemap = len(_posts_of(self._crawl(feed, 0, "--from-sitemap")))
            self._projects[feed] = project
        return row

    def _size(self, feed: Feed) -> int:
        with urllib.request.urlopen(self._program.root + feed.path, timeout=60) as response:  # noqa: S310
            return len(ENTRY.findall(response.read()))

    def _crawl(self, feed: Feed, day: int, *options: str) -> Run:
        time = self._begin + timedelta(days=day, hours=1)
        url = self._program.root + feed.path
        environment = clock(f"{time:%Y-%m-%d %H:%M:%S}")
        args = (*feed.options, *options)
        return self._projects[feed].crawl(url, settings=CONFIRMS, args=args, **environment)

    def _change(self) -> dict[Change, set[int]]:
        program, last = self._program, self._posts
        before = self._post(BACKDATED_BEFORE)
        backdated = Post(last + ADDED + 1, before.published - timedelta(days=DAYS_APART // 2))
        now = self._begin - timedelta(minutes=10)
        added = [Post(last + n, now + timedelta(minutes=n)) for n in range(1, ADDED + 1)]
        for number in DELETED:
            program.remove(number)
        program.write([self._post(number, MARK) for number in sorted(EDITED)])
        program.write([backdated])
        program.write(added)
        return {
            Change.EDIT: set(EDITED),
            Change.DELETE: set(DELETED),
            Change.ADD: {post.number for post in added},
            Change.BACKDATE: {backdated.number},
        }

    def _look_for(self, row: Row, made: dict[Change, set[int]]) -> None:
        row.changed = {change: len(made[change]) for change in Change if change in row.feed.shows}
        row.found = {change: {} for change in row.changed if change is not Change.DELETE}
        for day in self._later:
            run = self._crawl(row.feed, day)
            for change, numbers in made.items():
                mark = MARK if change is Change.EDIT else ""
                for number in numbers & _posts_of(run, mark) if change in row.found else ():
                    row.found[change].setdefault(number, day - 1)
        [feed] = self._projects[row.feed].feeds()
        row.absent, row.later = feed["absent"], feed["verdict"]


def _posts_of(run: Run, mark: str = "") -> set[int]:
    return {
        int(found[1])
        for item in run.items
        if item["change"] != "deleted"
        and mark in json.dumps(item)
        and (found := TITLE.search(item["title"] or ""))
    }


def _requests(run: Run) -> int:
    return int(run.all_stats["downloader/request_count"])


# -- the table -------------------------------------------------------------------------------------------

NONE = "-"


def table(rows: list[Row]) -> str:
    cells = [list(map(str, _cells(row).values())) for row in rows]
    head = list(_cells(rows[0])) if rows else []
    lines = [head, ["---" for _ in head], *cells]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _merged(old: str, rows: list[Row]) -> str:
    """The table, with the lines of other programs as they were."""
    head, rule, *new = table(rows).splitlines()
    taken = tuple(f"| {row.program} " for row in rows)
    kept = [line for line in old.splitlines()[3:] if line and not line.startswith(taken)]
    lines = sorted([*kept, *new], key=lambda line: line.split()[1].lower())
    return "\n".join([head, rule, *lines, ""])


def _cells(row: Row) -> dict[str, object]:
    name = f"{row.program} {row.version}".strip()
    return {
        "Software": f"{name}, {row.feed.label}" if row.feed.label else name,
        "Read": row.got,
        "From its sitemap": NONE if row.with_sitemap is None else row.with_sitemap,
        "By": ", ".join(row.report.get("obtained", ())) or NONE,
        "Changes": _found(row, {*row.changed} - {Change.DELETE}),
        "Deletions": _found(row, {*row.changed} & {Change.DELETE}),
        "Verdict": row.later or row.verdict,
    }


def _found(row: Row, changes: set[Change]) -> str:
    if not changes:
        return NONE
    found = row.absent if changes == {Change.DELETE} else sum(len(row.found.get(c, {})) for c in changes)
    return f"{found}/{sum(row.changed[change] for change in changes)}"


def main() -> int:
    """Take the census; return 1 if something does not hold that should."""
    parser = argparse.ArgumentParser(prog="python -m tests.platforms", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these programs")
    parser.add_argument("--posts", type=int, default=POSTS)
    parser.add_argument("--no-changes", action="store_true", help="only the first two crawls")
    parser.add_argument("--write", action="store_true", help=f"write the rows to {PAGE.name}")
    parser.add_argument("--reasons", action="store_true", help="print the reasons of the verdicts too")
    args = parser.parse_args()
    wanted = {name.lower() for name in args.names}
    rows, faults = [], []
    for kind in publishers.every():
        if wanted and kind.name.lower() not in wanted:
            continue
        try:
            for row in take(kind, args.posts, () if args.no_changes else LATER):
                rows.append(row)
                print(table([row]).splitlines()[-1], flush=True)
                faults += [f"{row.label}: {fault}" for fault in row.faults()]
                if args.reasons:
                    print(*(f"    {reason}" for reason in row.reasons), sep="\n", flush=True)
        except NoServerError as error:
            faults.append(f"{kind.name}: {error}")
    print(f"\n{table(rows)}")
    print(*faults, sep="\n", file=sys.stderr)
    if args.write and rows:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        old, _, rest = rest.partition(END)
        PAGE.write_text(f"{before}{BEGIN}\n{_merged(old, rows)}\n{END}{rest}", encoding="utf-8")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
