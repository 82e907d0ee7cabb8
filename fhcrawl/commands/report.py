"""`fhcrawl report`: writes an HTML page on the feeds in the store."""

from __future__ import annotations

import io
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING

from scrapy.exceptions import UsageError

from fhcrawl.commands import end_with_reader, printing
from fhcrawl.core import command
from fhcrawl.exceptions import FhcrawlError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from fhcrawl.store import Details, Feed, Store


class Command(command.Command):
    """Writes a report on the feeds in the store."""

    usage = "-o FILE"
    summary = "Write a page of HTML on the feeds in the store"
    description = (
        "Write one page of HTML that needs nothing else, and can be mailed: a table of all feeds in the "
        "store, the worst first, and what to do; of each feed what is missing, its latest entries, its "
        "entries over time and its documents. The file is replaced when the new one is whole."
    )
    examples = (
        "fhcrawl report -o report.html",
        "fhcrawl report -o - | gzip > report.html.gz",
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add -o."""
        super().add_options(parser)
        parser.add_argument("-o", "--output", metavar="FILE", help="where to; - is stdout")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Write the report.

        :raises UsageError: if an argument, the store or the file cannot be used
        """
        from fhcrawl.exporters.storages import STDOUT
        from fhcrawl.extensions.store import store_url
        from fhcrawl.store import Store

        if not opts.output or self.settings is None:
            raise UsageError("write fhcrawl report -o report.html", print_help=False)
        end_with_reader()
        try:
            with closing(Store.open_to_read(store_url(self.settings))) as store:
                feeds = _write(store, opts.output)
        except OSError as error:
            raise UsageError(
                f"{opts.output} cannot be written ({error.strerror})", print_help=False
            ) from error
        except FhcrawlError as error:
            raise UsageError(f"{opts.output} is not written: {error}", print_help=False) from error
        if opts.output not in STDOUT:
            with printing():
                print(f"{feeds} feed{'' if feeds == 1 else 's'} in {opts.output}")


def _write(store: Store, output: str) -> int:
    from fhcrawl.exporters import delivery
    from fhcrawl.exporters.storages import STDOUT

    if output in STDOUT:
        with delivery.open_stdout() as file:
            return _report(store, file)
    with delivery.replacing(Path(output)) as file:
        return _report(store, file)


def _report(store: Store, file: IO[bytes]) -> int:
    from fhcrawl.reporting import page
    from fhcrawl.utils.clock import now

    text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
    several = store.feeds.count() > page.MOST_OPEN
    overview = page.write(_feeds(store), text, now(), several)
    text.flush()
    text.detach()
    return overview.feeds


def _feeds(store: Store) -> Iterator[tuple[Feed, Details]]:
    for feed in store.feeds.read():
        yield feed, store.feeds.read_details(feed.feed)
