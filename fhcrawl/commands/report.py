"""`fhcrawl report`: writes an HTML page on the feeds in the store."""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from fhcrawl.commands import end_with_reader, print_lines, stored
from fhcrawl.core import command
from fhcrawl.exceptions import ArgumentError, ExportError, FhcrawlError

if TYPE_CHECKING:
    import argparse

    from fhcrawl.store import Store


class Command(command.Command):
    usage = "-o FILE [URL …]"
    description = (
        "Write a self-contained HTML page, suitable for e-mail: the feeds, worst first, with advice, and for "
        "each feed what is missing, its latest entries, entries over time and documents. An existing file is "
        "replaced once the new one is complete."
    )
    examples = (
        "fhcrawl report -o report.html",
        "fhcrawl report -o blog.html https://example.org/blog.rss",
        "fhcrawl report -o - | gzip > report.html.gz",
    )
    operand = ("URL", "URL of a feed (default: all feeds in the store)")
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "-o --output": {"metavar": "FILE", "help": "output file; - for stdout"}
    }

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from fhcrawl.exporters.storages import STDOUT, open_stdout, refuse_store, replacing
        from fhcrawl.extensions.store import store_url

        if not opts.output:
            raise ArgumentError("-o is required: fhcrawl report -o report.html")
        refuse_store(opts.output, store_url(self.settings))
        end_with_reader()
        is_stdout = opts.output in STDOUT
        try:
            with (
                self.opened_store() as store,
                open_stdout() if is_stdout else replacing(Path(opts.output)) as file,
            ):
                feeds = _report(store, [stored(store, url) for url in args], file)
        except OSError as error:
            raise ExportError(f"Cannot write to {opts.output} ({error.strerror})") from error
        except FhcrawlError as error:
            raise ExportError(f"Cannot write {opts.output}: {error}") from error
        if not is_stdout:
            print_lines([f"Report on {feeds} feed{'' if feeds == 1 else 's'} written to {opts.output}"])


def _report(store: Store, urls: list[str], file: IO[bytes]) -> int:
    from fhcrawl.reporting import page
    from fhcrawl.utils.clock import now

    text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
    several = (len(urls) or store.feeds.count()) > page.MOST_OPEN
    feeds = ((feed, store.feeds.read_details(feed.feed)) for feed in store.feeds.read(urls=urls))
    overview = page.write(feeds, text, now(), several)
    text.flush()
    text.detach()
    return overview.feeds
