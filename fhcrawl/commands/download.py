"""`fhcrawl download`: downloads the enclosures of feeds in the store."""

from __future__ import annotations

import contextlib
import sys
from functools import partial
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from fhcrawl.commands import parse_time, print_lines, stored
from fhcrawl.core import command
from fhcrawl.exceptions import ArgumentError
from fhcrawl.utils.locks import locked

if TYPE_CHECKING:
    import argparse
    from typing import TextIO

    from fhcrawl.spiders.enclosures import EnclosureFile
    from fhcrawl.store import Store

REFRESH_SECONDS = 0.5


class Command(command.Command):
    requires_crawler_process = True
    usage = "-d FOLDER [URL …]"
    description = (
        "Download the enclosures of feeds that `fhcrawl crawl` has read, or of all subscribed feeds, newest "
        "first, into a folder. Files are named by date and title. Downloaded files that "
        "still exist are not requested again. The exit code is 1 if a download failed."
    )
    examples = (
        "fhcrawl download https://example.org/podcast.rss -d episodes",
        "fhcrawl download https://example.org/podcast.rss -d episodes --limit 10",
        "fhcrawl download -d episodes --since 2003-12",
    )
    operand = ("URL", "URL of a feed in the store")
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "-d --folder": {"metavar": "FOLDER", "help": "where to; created if it does not exist"},
        "--limit": {"metavar": "N", "type": int, "help": "only the newest N files of each feed"},
        "--since": {
            "metavar": "DATE",
            "help": "only files of entries published (else updated) on or after this date",
        },
    }

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from fhcrawl.core.checks import check_settings

        if not opts.folder:
            raise ArgumentError(
                "A folder is required: fhcrawl download https://example.org/podcast.rss -d FOLDER"
            )
        if opts.limit is not None and opts.limit < 1:
            raise ArgumentError(f"--limit must be 1 or more, not {opts.limit}")
        since, folder = parse_time("--since", opts.since), Path(opts.folder)
        check_settings(self.settings)
        with self.opened_store(to_write=True) as store:
            newest = (_newest(store, feed, since)[: opts.limit] for feed in _feeds(store, args))
            files = sorted(chain.from_iterable(newest), key=lambda file: file.time, reverse=True)
            try:
                folder.mkdir(parents=True, exist_ok=True)
                # Two downloads to one folder would write to the same files.
                with locked(folder.resolve() / "download"):
                    self._download(store, files, folder)
            except OSError as error:
                raise ArgumentError(f"-d {folder} cannot be written to ({error.strerror})") from error

    def _download(self, store: Store, files: list[EnclosureFile], folder: Path) -> None:
        from fhcrawl.spiders.enclosures import EnclosuresSpider

        missing = [file for file in files if not file.is_in(folder)]
        done: list[str] = []

        def note(name: str) -> None:
            done.append(name)
            _print_line(name, sys.stdout)

        if missing:
            self.run_crawl(
                EnclosuresSpider,
                files=missing,
                folder=folder,
                store=store,
                done=note,
                report=partial(_print_line, file=sys.stderr),
                progress=_Progress().show,
            )
        not_downloaded, present = len(missing) - len(done), len(files) - len(missing)
        status = "left for the next run" if self.signals.number else "missing"
        print_lines([f"{len(done):,} downloaded, {present:,} already there, {not_downloaded:,} {status}"])
        if not_downloaded:
            self.exitcode = self.exitcode or 1


def _feeds(store: Store, args: list[str]) -> list[str]:
    feeds = list(dict.fromkeys(stored(store, arg) for arg in args)) or list(store.subscriptions.read())
    if not feeds:
        raise ArgumentError(
            "No feed is subscribed; name one: fhcrawl download https://example.org/podcast.rss -d FOLDER"
        )
    return feeds


def _newest(store: Store, feed: str, since: str) -> list[EnclosureFile]:
    from fhcrawl.spiders.enclosures import files_of

    files = files_of(feed, store.entries.read([feed]), store.downloads.read(feed))
    return [file for file in files if file.time >= since]


class _Progress:
    """A line on a terminal that shows how many bytes of a file have come."""

    _shown = 0.0

    def show(self, line: str) -> None:
        if sys.stderr is not None and sys.stderr.isatty() and monotonic() - self._shown > REFRESH_SECONDS:
            self._shown = monotonic()
            _print_line(f"\r{line}\x1b[K\r", sys.stderr, end="")


# If the reader of the pipe has closed it, the files are still downloaded.
def _print_line(line: str, file: TextIO | None, end: str = "\n") -> None:
    if file is not None:
        with contextlib.suppress(OSError, UnicodeError):
            print(line, file=file, end=end, flush=True)
