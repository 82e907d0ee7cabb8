"""`scrapy export`: whole logical feeds, from the store."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.utils.misc import load_object

from fhcrawl.exceptions import FhcrawlError

if TYPE_CHECKING:
    import argparse

    from scrapy.exporters import BaseItemExporter

    from fhcrawl.store import Store

STDOUT = "-"


class Command(ScrapyCommand):
    """Writes the live entries of the store's feeds to a file."""

    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012

    def syntax(self) -> str:
        """For `scrapy export --help`."""
        return "-o FILE [--feed URL …]"

    def short_desc(self) -> str:
        """For `scrapy`."""
        return "Write whole logical feeds from the store to a file"

    def long_desc(self) -> str:
        """For `scrapy export --help`."""
        return (
            "Write every entry of the logical feeds in the store, its newest version, to a file, which is "
            "replaced when the new one is whole. Examples: 'scrapy export -o history.jsonl'; "
            "'scrapy export -o history.csv --feed https://example.org/index.atom'; "
            "'scrapy export -o -:jsonl | jq .title'."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """-o and --feed."""
        super().add_options(parser)
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE[:FORMAT]",
            help="where to; the format is the file's ending (jsonl, csv) unless it is given; - is stdout",
        )
        parser.add_argument(
            "--feed", metavar="URL", action="append", default=[], help="only this feed (repeatable)"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Write the file.

        :raises UsageError: if an argument, the store or the file cannot be used
        """
        from fhcrawl.extensions.store import store_url
        from fhcrawl.store import Store

        if args or not opts.output or self.settings is None:
            raise UsageError("write scrapy export -o history.jsonl", print_help=False)
        path, exporter = self._target(opts.output)
        try:
            store = Store.open_to_read(store_url(self.settings))
            self._check_feeds(store, opts.feed)
        except FhcrawlError as error:
            raise UsageError(str(error), print_help=False) from error
        try:
            count = _write(store, opts.feed, path, exporter, self._options(exporter))
        except OSError as error:
            raise UsageError(f"{path} cannot be written ({error.strerror})", print_help=False) from error
        except FhcrawlError as error:
            raise UsageError(f"{path} is not written: {error}", print_help=False) from error
        finally:
            store.close()
        if path != STDOUT:
            print(f"{count} entries in {path}")

    def _target(self, output: str) -> tuple[str, type[BaseItemExporter]]:
        path, colon, name = output.rpartition(":")
        if not colon or "/" in name:
            path, name = output, Path(output).suffix[1:]
        known = {} if self.settings is None else self.settings.getwithbase("FEED_EXPORTERS")
        if not known.get(name):
            raise UsageError(
                f"-o {output}: no format '{name}'; write -o FILE.jsonl, -o FILE.csv or -o FILE:FORMAT",
                print_help=False,
            )
        return path, load_object(known[name])

    def _options(self, exporter: type[BaseItemExporter]) -> dict[str, Any]:
        from fhcrawl.exporters import FORMULAS_ESCAPED, CsvItemExporter

        if self.settings is None:
            return {}
        options = {
            "encoding": self.settings.get("FEED_EXPORT_ENCODING"),
            "fields_to_export": self.settings.get("FEED_EXPORT_FIELDS"),
        }
        if issubclass(exporter, CsvItemExporter):
            options["formulas_escaped"] = self.settings.getbool(FORMULAS_ESCAPED)
        return options

    @staticmethod
    def _check_feeds(store: Store, urls: list[str]) -> None:
        known = {feed.feed for feed in store.feeds()} if urls else set()
        unknown = [url for url in urls if url not in known]
        if unknown:
            raise UsageError(
                f"--feed {unknown[0]}: not in the store; `scrapy feeds` lists what is",
                print_help=False,
            )


def _write(
    store: Store, feeds: list[str], path: str, exporter: type[BaseItemExporter], options: dict[str, Any]
) -> int:
    from fhcrawl import delivery

    if path == STDOUT:
        return _export(store, feeds, exporter, sys.stdout.buffer, options)
    target = Path(path).resolve()
    if target.exists() and not (target.is_file() or target.is_dir()):
        with target.open("wb") as special:
            return _export(store, feeds, exporter, special, options)
    with delivery.locked(target):
        file, beside = delivery.open_beside(target, "wb")
        try:
            count = _export(store, feeds, exporter, file, options)
            delivery.close_whole(file, beside, target)
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
    return count


def _export(
    store: Store,
    feeds: list[str],
    exporter_class: type[BaseItemExporter],
    file: IO[bytes],
    options: dict[str, Any],
) -> int:
    # Exporters take the file first; their common base class does not say so.
    exporter = exporter_class(file, **options)  # type: ignore[call-arg,arg-type]
    exporter.start_exporting()
    count = 0
    for count, entry in enumerate(store.entries(feeds), 1):  # noqa: B007
        exporter.export_item(entry)
    exporter.finish_exporting()
    file.flush()
    return count
