"""`fhcrawl download`: downloads the enclosures of a feed in the store."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fhcrawl.commands import print_lines, typed
from fhcrawl.core import command
from fhcrawl.exceptions import ArgumentError

if TYPE_CHECKING:
    import argparse
    from typing import TextIO


class Command(command.Command):
    requires_crawler_process = True
    usage = "-d FOLDER URL"
    description = (
        "Download the enclosures of a feed that `fhcrawl crawl` has read, oldest first, into a folder. Files "
        "are named by date and title. A file that is there is not downloaded again. The exit code is 1 if a "
        "file could not be downloaded."
    )
    examples = ("fhcrawl download https://example.org/podcast.rss -d episodes",)
    operand = ("URL", "a feed in the store")
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "-d --folder": {"metavar": "FOLDER", "help": "where to; it is created if it does not exist"},
    }

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from fhcrawl.core.checks import check_settings
        from fhcrawl.spiders.enclosures import EnclosuresSpider, files_of

        if len(args) != 1 or not opts.folder:
            raise ArgumentError(
                "A URL and a folder are required: fhcrawl download https://example.org/podcast.rss -d FOLDER"
            )
        check_settings(self.settings)
        with self.opened_store() as store:
            feed = store.feeds.find(url := typed(args[0]))
            if feed is None:
                raise ArgumentError(f"{url} is not in the store; run fhcrawl crawl {url} first")
            files = files_of(store.entries.read([feed]))
        folder = Path(opts.folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArgumentError(f"-d {folder} cannot be created ({error.strerror})") from error
        missing = [file for file in files if not (folder / file.name).exists()]
        if missing:
            callbacks = {
                "done": lambda name: _print_line(name, sys.stdout),
                "failed": lambda sentence: _print_line(sentence, sys.stderr),
            }
            self.run_crawl(EnclosuresSpider, feed=feed, files=missing, folder=folder, **callbacks)
        not_downloaded = sum(not (folder / file.name).exists() for file in missing)
        status = "left for the next run" if self.signals.number else "missing"
        downloaded, present = len(missing) - not_downloaded, len(files) - len(missing)
        print_lines([f"{downloaded:,} downloaded, {present:,} already there, {not_downloaded:,} {status}"])
        if not_downloaded:
            self.exitcode = self.exitcode or 1


# If the reader of the pipe has closed it, the files are still downloaded.
def _print_line(line: str, file: TextIO | None) -> None:
    if file is not None:
        with contextlib.suppress(OSError, UnicodeError):
            print(line, file=file, flush=True)
