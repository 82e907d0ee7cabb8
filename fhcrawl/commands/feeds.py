"""`fhcrawl feeds`: lists the feeds in the store with their verdicts."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
import textwrap
from contextlib import closing
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from fhcrawl.commands import UTF_8, printing
from fhcrawl.core import command
from fhcrawl.exceptions import FhcrawlError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from fhcrawl.logical_feed import Verdict
    from fhcrawl.store import Feed

COLUMNS = "{:<12} {:<10} {:>8}  {:<10}  "
REASON = " " * 4
# Lines are not wrapped if fewer columns than this remain beside the indent.
NARROWEST = 24


class Command(command.Command):
    """Lists the feeds in the store."""

    usage = "[--json] [--check]"
    summary = "List the feeds in the store, with what can be claimed of each"
    description = (
        "List every feed in the store with its verdict (complete, incomplete, lossy or unknown) "
        "and whether it is subscribed, and below it each reason."
    )
    examples = (
        "fhcrawl feeds",
        "fhcrawl feeds --json | jq .",
        "fhcrawl feeds --check > /dev/null || echo something is missing",
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add --json and --check."""
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print JSON, for programs")
        parser.add_argument(
            "--check", action="store_true", help="exit with 1 unless there are feeds and all are complete"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Print the list.

        :raises UsageError: if there are arguments, or if the store cannot be read
        """
        from fhcrawl.extensions.store import store_url
        from fhcrawl.logical_feed import Verdict
        from fhcrawl.store import Store

        if self.settings is None:
            raise UsageError("no settings")
        verdicts: set[Verdict] = set()
        try:
            with (
                printing(UTF_8 if opts.json else None),
                closing(Store.open_to_read(store_url(self.settings))) as store,
            ):
                feeds = _noting(store.feeds.read(), verdicts)
                width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
                for line in as_json(feeds) if opts.json else as_table(feeds, store.place, width):
                    print(line)
        except FhcrawlError as error:
            raise UsageError(str(error), print_help=False) from error
        # A store without feeds fails the check too: it is more likely the wrong store than a complete one.
        if opts.check and verdicts != {Verdict.COMPLETE}:
            self.exitcode = 1


def _noting(feeds: Iterable[Feed], verdicts: set[Verdict]) -> Iterator[Feed]:
    for feed in feeds:
        verdicts.add(feed.verdict)
        yield feed


def as_json(feeds: Iterable[Feed]) -> Iterator[str]:
    """Yield the lines of a JSON list with an object for each feed."""
    from fhcrawl.utils.text import json_escaped

    separator = "["
    for feed in feeds:
        yield separator + json_escaped(json.dumps(dataclasses.asdict(feed), ensure_ascii=False))
        separator = ","
    yield "[]" if separator == "[" else "]"


def as_table(feeds: Iterable[Feed], place: str, width: int | None = None) -> Iterator[str]:
    """Yield the lines of a table.

    :param place: the store, for display
    :param width: columns to wrap lines to; None: lines are not wrapped
    """
    from fhcrawl.utils.text import printable

    empty = True
    for feed in feeds:
        if empty:
            yield f"{COLUMNS.format('VERDICT', 'KIND', 'ENTRIES', 'SUBSCRIBED')}FEED"
        empty = False
        kind: Any = "-" if feed.kind is None else feed.kind.value
        title = f"  ({printable(feed.title)})" if feed.title else ""
        subscribed = "yes" if feed.subscribed else "-"
        named = f"{printable(feed.feed)}{title}"
        yield from _wrapped(COLUMNS.format(feed.verdict.value, kind, feed.entries, subscribed), named, width)
        for reason in feed.reasons:
            said = f"{printable(reason.url)} {printable(reason.detail)} (since {reason.since})"
            yield from _wrapped(REASON, said, width)
    if empty:
        yield (
            f"No feeds yet in {printable(place)}: "
            "fhcrawl crawl https://example.org/index.atom -o entries.jsonl"
        )


def _wrapped(begin: str, text: str, width: int | None) -> list[str]:
    """Wrap a line with a hanging indent; words that are too long, such as URLs, are not broken."""
    if width is None or width < len(begin) + NARROWEST:
        return [begin + text]
    return textwrap.wrap(
        text,
        width,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_long_words=False,
        break_on_hyphens=False,
    )
