"""`fhcrawl export`: exports logical feeds from the store."""

from __future__ import annotations

import contextlib
import io
import sys
from collections import Counter
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import build_from_crawler, load_object

from fhcrawl.commands import (
    CSV,
    NOT_CSV,
    OF_COLUMNS,
    end_with_reader,
    is_failure,
    named,
    no_format,
    parse_time,
    print_lines,
)
from fhcrawl.core import command
from fhcrawl.exceptions import ArgumentError, ExportError
from fhcrawl.logical_feed import Verdict, shown_verdict
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable
    from typing import IO

    from scrapy.settings import Settings

    from fhcrawl.exporters.documents import DocumentFormat
    from fhcrawl.exporters.feeds import Selection
    from fhcrawl.store import Feed, Store

ARCHIVE_SIZE = 100
MOST_NAMED = 3
CHANGE = "change"
MAY_LACK = "entries may be missing from the export; `fhcrawl feeds` shows which"


class Output(NamedTuple):
    place: str
    name: str
    is_folder: bool
    xml: DocumentFormat | None
    write_list: Callable[[IO[bytes], Iterable[Feed]], int] | None


class Command(command.Command):
    usage = "-o PLACE [--feed URL … | --subscribed] [options]"
    description = (
        "Write the newest version of every entry in the store to a file. An existing file is replaced once "
        "the new one is complete."
    )
    examples = (
        "fhcrawl export -o history.jsonl",
        "fhcrawl export -o history.csv --feed https://example.org/index.atom",
        "fhcrawl export -o episodes.csv --profile podcast --excel --feed https://example.org/podcast.rss",
        "fhcrawl export -o titles.csv --fields feed,title,link",
        "fhcrawl export -o -:jsonl | jq .title",
        "fhcrawl export -o 2003.parquet --since 2003 --until 2004",
        "fhcrawl export -o whole.atom --feed https://example.org/index.rss --gaps",
        "fhcrawl export -o mirror/ --base https://mirror.example/ --feed https://example.org/index.rss",
        "fhcrawl export -o versions.jsonl --versions",
        "fhcrawl export -o subscriptions.opml --subscribed",
        "fhcrawl export -o s3://bucket/history.jsonl",
    )

    options: ClassVar[dict[str, dict[str, Any]]] = {
        "-o --output": {
            "metavar": "PLACE[:FORMAT]",
            "help": "a file, a folder ending in / (an archive set), -:jsonl (stdout), s3://… or ftp://…",
        },
        "--format": {
            "metavar": "FORMAT",
            "help": "jsonl, csv, parquet, atom, rss or opml (default: the file name extension)",
        },
        "--feed": {
            "metavar": "URL",
            "action": "append",
            "default": [],
            "help": "only this feed (may be repeated)",
        },
        "--subscribed": {"action": "store_true", "help": "only the subscribed feeds"},
        "--since": {
            "metavar": "DATE",
            "help": "only entries updated (else published) on or after this date",
        },
        "--until": {"metavar": "DATE", "help": "only entries from before this date"},
        "--category": {
            "metavar": "NAME",
            "action": "append",
            "default": [],
            "help": "only entries in this category (may be repeated to allow several)",
        },
        "--versions": {
            "action": "store_true",
            "help": "every stored version and deletion of each entry, oldest first",
        },
        "--deleted": {
            "action": "store_true",
            "help": "only entries that publishers have deleted, or no longer have",
        },
        "--gaps": {
            "action": "store_true",
            "help": "add an entry for each reason why a feed is not complete",
        },
        "--tombstones": {
            "action": "store_true",
            "help": "add tombstones for deleted entries (RFC 6721) to atom and rss",
        },
        **OF_COLUMNS,
        "--drop-empty": {
            "action": "store_true",
            "help": "leave out columns that are empty in every row",
        },
        "--base": {"metavar": "URL", "help": "URL where the archive set will be published"},
        "--archive-size": {
            "metavar": "N",
            "type": int,
            "default": ARCHIVE_SIZE,
            "help": f"entries per archive (default: {ARCHIVE_SIZE})",
        },
    }

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from fhcrawl.exporters import rows, storages
        from fhcrawl.extensions.store import store_url

        if not opts.output:
            raise ArgumentError("-o is required: fhcrawl export -o history.jsonl")
        output = _parse_output(self.settings, opts)
        rows.check(self.settings)
        fields = _without_change(self.settings, opts.FHCRAWL_FIELDS)
        if opts.versions or opts.deleted:
            fields = _with_stored(self.settings, fields)
        self.settings.set("FEED_EXPORT_FIELDS", fields, "cmdline")
        _check_history(output, opts)
        wanted = _parse_selection(output, opts)
        storages.refuse_store(output.place, store_url(self.settings))
        if output.place in storages.STDOUT:
            end_with_reader()
        try:
            with self.opened_store() as store:
                opts.feed = _chosen_urls(store, opts)
                feeds = _read_feeds(store, output, opts.feed, opts.gaps)
                summary = self._write(output, opts, store, feeds, wanted)
                if output.write_list is None:
                    warn_of_gaps(feeds or store.feeds.read())
        except NotConfigured as error:
            raise ArgumentError(str(error)) from error
        except OSError as error:
            reason = error.strerror or error
            raise ExportError(f"Cannot write to {storages.shown(output.place)} ({reason})") from error
        if summary:
            print_lines([summary])

    def _write(
        self, output: Output, opts: argparse.Namespace, store: Store, feeds: list[Feed], wanted: Selection
    ) -> str:
        from fhcrawl.exporters import storages
        from fhcrawl.exporters.feeds import write_archives, write_document
        from fhcrawl.exporters.rows import shown

        if output.is_folder and output.xml is not None:
            folder, base = Path(output.place), f"{opts.base.rstrip('/')}/"
            number = write_archives(folder, base, opts.archive_size, store, feeds[0], output.xml, wanted)
            return (
                f"{folder / 'index'}.{output.name} and {number} archive{'' if number == 1 else 's'} written"
            )
        with storages.opened(output.place, self.settings) as file:
            if output.xml is not None:
                count = write_document(shown(file), store, feeds[0], output.xml, wanted)
            elif output.write_list is not None:
                count = output.write_list(shown(file), feeds)
            else:
                count = self._write_rows(file, output.name, opts, store, feeds, wanted)
        if output.place in storages.STDOUT:
            return ""
        one, many = ("feed", "feeds") if output.write_list else ("entry", "entries")
        return f"{count} {one if count == 1 else many} written to {storages.shown(output.place)}"

    def _write_rows(
        self,
        file: IO[bytes],
        name: str,
        opts: argparse.Namespace,
        store: Store,
        feeds: list[Feed],
        wanted: Selection,
    ) -> int:
        from fhcrawl.exporters.feeds import gap_entries
        from fhcrawl.exporters.rows import CHOSEN_PROFILES, Rows, only, spooled
        from fhcrawl.store.entries import DELETED_ENTRIES, LIVE, VERSIONS

        settings = self.settings
        fields = settings.getdictorlist("FEED_EXPORT_FIELDS")
        completion = Rows(fields, settings.getlist(CHOSEN_PROFILES))
        urls = [feed.feed for feed in feeds] if opts.feed else ()
        source = VERSIONS if opts.versions else DELETED_ENTRIES if opts.deleted else LIVE
        entries = filter(wanted.has, store.entries.read(urls, completion.need_details, source))
        missing = chain.from_iterable(map(gap_entries, feeds if wanted.gaps else ()))
        rows = completion.complete(chain(entries, missing))
        count = 0
        with spooled(rows) if opts.drop_empty else nullcontext((fields, rows)) as (filled, rows):
            fields = only(fields, filled) or fields
            exporter_class = load_object(settings.getwithbase("FEED_EXPORTERS")[name])
            options = {"encoding": settings.get("FEED_EXPORT_ENCODING"), "fields_to_export": fields}
            exporter = build_from_crawler(exporter_class, Crawler(Spider, settings), file, **options)
            exporter.start_exporting()
            for count, row in enumerate(rows, 1):  # noqa: B007
                del row[CHANGE]
                exporter.export_item(row)
            exporter.finish_exporting()
        file.flush()
        return count


def warn_of_gaps(feeds: Iterable[Feed]) -> None:
    warnings: list[str] = []
    words: Counter[str] = Counter()
    for feed in feeds:
        words[feed.verdict_in_words] += 1
        is_incomplete = is_failure(feed.verdict_in_words, Verdict.INCOMPLETE.value)
        if is_incomplete and len(warnings) <= MOST_NAMED:
            warnings.append(f"{printable(feed.feed)} is {shown_verdict(feed.verdict_in_words)}: {MAY_LACK}")
    if len(warnings) > MOST_NAMED:
        number = words[Verdict.INCOMPLETE.value] + words[ReasonKind.NOT_READ.value]
        warnings = [f"{number:,} of {words.total():,} feeds are incomplete: {MAY_LACK}"]
    with contextlib.suppress(OSError):  # stderr is closed
        print(*warnings, sep="\n", end="\n" if warnings else "", file=sys.stderr or io.StringIO())


def _chosen_urls(store: Store, opts: argparse.Namespace) -> list[str]:
    if not opts.subscribed:
        return [named(store, url) for url in opts.feed]
    urls = list(store.subscriptions.read())
    if not urls:
        raise ArgumentError("No feed is subscribed; remove --subscribed, or use fhcrawl subscribe")
    return urls


def _parse_output(settings: Settings, opts: argparse.Namespace) -> Output:
    from fhcrawl.exporters import storages
    from fhcrawl.exporters.documents import XML_FORMATS
    from fhcrawl.exporters.feeds import LIST_FORMATS

    place, colon, name = opts.output.rpartition(":")
    if not colon or "/" in name or not name:
        place, name = opts.output, ""
    is_folder = not storages.is_elsewhere(place) and (place.endswith("/") or Path(place).is_dir())
    name = opts.format or name or ("atom" if is_folder else Path(place).suffix[1:])
    exporters = [name for name, exporter in settings.getwithbase("FEED_EXPORTERS").items() if exporter]
    formats = [*exporters, *XML_FORMATS, *LIST_FORMATS]
    if name not in formats:
        raise ArgumentError(no_format(opts.output, name, formats))
    xml = XML_FORMATS.get(name)
    return Output(place, name, is_folder and xml is not None, xml, LIST_FORMATS.get(name))


# The store has the current entries; only exports of crawls have the changes since the last export.
def _without_change(settings: Settings, columns: str | None) -> list[str] | dict[str, str]:
    from fhcrawl.exporters.rows import only

    fields = settings.getdictorlist("FEED_EXPORT_FIELDS")
    names = [name.strip() for name in (columns or "").split(",")]
    remaining = only(fields, set(fields) - {CHANGE})
    if {CHANGE, f"+{CHANGE}"} & set(names) or not remaining:
        raise ArgumentError(f"only the exports of crawls have the field {CHANGE}: leave it out")
    return remaining


# Rows of deletions have the fields of the last version.
def _with_stored(settings: Settings, fields: list[str] | dict[str, str]) -> list[str] | dict[str, str]:
    from fhcrawl.exporters.rows import FIELDS, PLUS
    from fhcrawl.items import STORED_FIELDS

    if not all(name.startswith(PLUS) for name in settings.getlist(FIELDS)):
        return fields
    missing = {name: name for name in STORED_FIELDS if name not in fields}
    return {**fields, **missing} if isinstance(fields, dict) else [*fields, *missing]


def _check_history(output: Output, opts: argparse.Namespace) -> None:
    if opts.subscribed and opts.feed:
        raise ArgumentError("--subscribed exports all subscribed feeds; remove --subscribed or --feed")
    history = [f"--{name}" for name in ("versions", "deleted") if getattr(opts, name)]
    if history and (output.xml or output.write_list):
        raise ArgumentError(f"{history[0]} requires rows; use -o FILE.jsonl, FILE.csv or FILE.parquet")
    if len(history) > 1:
        raise ArgumentError("--versions includes deletions; remove --deleted")
    if opts.deleted and opts.gaps:
        raise ArgumentError("--gaps: gaps are not deleted entries; remove --gaps or --deleted")


def _parse_selection(output: Output, opts: argparse.Namespace) -> Selection:
    from fhcrawl.exporters.feeds import Selection

    column_options = [option for option, words in OF_COLUMNS.items() if getattr(opts, words["dest"])]
    column_options += ["--drop-empty"] if opts.drop_empty else []
    if column_options and (output.xml or output.write_list):
        raise ArgumentError(
            f"{' and '.join(column_options)}: {output.name} has no columns; use -o FILE.csv or FILE.jsonl"
        )
    if opts.FHCRAWL_CSV_EXCEL_ENABLED and output.name != CSV:
        raise ArgumentError(NOT_CSV)
    if output.is_folder and not (opts.base or "").startswith(("http://", "https://")):
        raise ArgumentError(
            f"-o {opts.output} is an archive set, whose documents link to each other; add the URL at which "
            f"the folder will be published, such as --base https://example.org/feed/"
        )
    if output.is_folder and opts.archive_size < 1:
        raise ArgumentError(f"--archive-size must be 1 or more, not {opts.archive_size}")
    if opts.base and not output.is_folder:
        raise ArgumentError("--base requires an archive set; use -o FOLDER/")
    if opts.tombstones and output.xml is None:
        raise ArgumentError("--tombstones requires a feed; use -o FILE.atom, FILE.rss or FOLDER/")
    if output.write_list and (opts.since or opts.until or opts.category or opts.gaps):
        raise ArgumentError(
            f"{output.name.upper()} has no entries; remove --since, --until, --category and --gaps"
        )
    since, until = parse_time("--since", opts.since), parse_time("--until", opts.until)
    return Selection(since, until, frozenset(opts.category), opts.gaps, opts.tombstones)


# Feeds are read only if needed, because computing a verdict reads the complete chain. An empty list means all
# feeds.
def _read_feeds(store: Store, output: Output, urls: list[str], gaps: bool) -> list[Feed]:
    is_needed = gaps or output.xml or output.write_list
    feeds = list(store.feeds.read(urls=urls)) if urls or is_needed else []
    unknown = set(urls) - {feed.feed for feed in feeds}
    if unknown:
        raise ArgumentError(
            f"--feed {min(unknown)} is not in the store; `fhcrawl feeds` lists the feeds in it"
        )
    if output.xml and len(feeds) != 1:
        raise ArgumentError(
            f"{output.name} requires exactly one feed, not {len(feeds)}; choose one with --feed URL "
            f"(`fhcrawl feeds` lists them)"
        )
    return feeds
