"""`scrapy crawl`: checks settings, arguments and the store before it begins a crawl."""

from __future__ import annotations

import gc
import logging
import sys
from argparse import BooleanOptionalAction
from contextlib import closing
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from scrapy import signals
from scrapy.addons import AddonManager
from scrapy.commands import crawl
from scrapy.exceptions import UsageError

from fhcrawl import settings as ours
from fhcrawl.commands import (
    CSV,
    FAIL_ON,
    NOT_CSV,
    OF_COLUMNS,
    SWITCH,
    is_failure,
    no_format,
    print_lines,
    print_refused,
    stored,
)
from fhcrawl.core import command
from fhcrawl.core.addons import add_settings, has_addon
from fhcrawl.core.checks import check_settings
from fhcrawl.core.components import add_components, check_components
from fhcrawl.crawling import subscriptions
from fhcrawl.crawling.subscriptions import NOTHING_SUBSCRIBED, NOTHING_TO_SEND
from fhcrawl.exceptions import ArgumentError, ExportError, FhcrawlError
from fhcrawl.logical_feed import FAILED, WORDS
from fhcrawl.reporting.summary import failures
from fhcrawl.utils.clock import now
from fhcrawl.utils.text import LONGEST_SENTENCE, how_to_install, printable
from fhcrawl.warc import Placeholders, check_template

if TYPE_CHECKING:
    import argparse

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from fhcrawl.reporting.summary import Counts
    from fhcrawl.spiders.history import HistorySpider
    from fhcrawl.store import Feed

logger = logging.getLogger(__name__)

# In the order of their dependencies.
DOWNLOADER = ("tls", "contextfactory", "handlers.http11")
SPIDER = "history"
# Options for the arguments of this spider: `dest` is the argument's name after the prefix.
OF_SPIDER = "spider_"
SPIDER_OPTIONS: dict[str, dict[str, Any]] = {
    "--feeds": {
        "dest": "spider_feeds",
        "metavar": "FILE",
        "help": "list of feeds: one URL per line, OPML or TOML",
    },
    "--due": {
        "dest": "spider_due",
        "action": "store_const",
        "const": "1",
        "help": "crawl only feeds that are due",
    },
    "--warc": {
        "dest": "spider_warc",
        "metavar": "PATH",
        "help": "also read captures of the feeds from a WARC file or a folder of WARC files",
    },
    "--snapshot": {
        "dest": "spider_snapshot",
        "metavar": "URL",
        "help": "index of the snapshot that the feed continues",
    },
    "--archive": {
        "dest": "spider_archive",
        "metavar": "URL",
        "help": "also read this unlinked older document of the feed, and those behind it",
    },
    "--ids": {
        "dest": "spider_ids",
        "metavar": "WHAT",
        "help": "what identifies the feed's entries: id (guid), link or digest (of title, date and text)",
    },
    "--reset": {
        "dest": "spider_deltafetch_reset",
        "action": "store_const",
        "const": "1",
        "help": "fetch every document again; stored entries are kept",
    },
    "--from-store": {
        "dest": "spider_from_store",
        "action": "store_const",
        "const": "1",
        "help": "send stored entries of the feeds through your item pipelines; request and export nothing",
    },
}

NO_ADDON = (
    "ADDONS does not contain fhcrawl.Addon, which a crawl requires; add it in the project's settings.py: "
    "ADDONS = {'fhcrawl.Addon': 500}"
)

NO_POSTS = f"--from-sitemap requires trafilatura: {how_to_install('posts', 'trafilatura lxml_html_clean')}"


class Command(command.Command, crawl.Command):
    requires_crawler_process = True
    default_settings: ClassVar[dict[str, object]] = {}
    usage = "[URL …] [--feeds FILE] [--due] [-o FILE] [options]"
    description = (
        "Crawl feeds back to their first entry. -o appends what has changed since the last export: one "
        "line for each new, updated or deleted entry. Without URLs and --feeds, it crawls the "
        "subscribed feeds. The next crawl fetches only what is new."
    )
    examples = (
        "fhcrawl crawl https://example.org/index.atom -o entries.jsonl",
        "fhcrawl crawl https://example.org/podcast.rss -o episodes.csv",
        "fhcrawl crawl --feeds subscriptions.opml -o entries.jsonl",
        "fhcrawl crawl --due -o entries.jsonl",
        "fhcrawl crawl https://example.org/index.atom --warc captures/",
        "fhcrawl crawl https://example.org/index.atom --web-archive wayback",
        "fhcrawl crawl https://example.org/index.atom \\\n"
        "      -s 'FHCRAWL_WARC=captures/%(time)s-%(serial)05d.warc.gz'",
    )
    operand = ("URL", "URL of a feed")
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "-o --output": {
            "action": "append",
            "metavar": "FILE",
            "help": "append the changes since the last export to FILE, FILE:FORMAT or stdout (-)",
        },
        "-O --overwrite-output": {
            "action": "append",
            "metavar": "FILE",
            "help": "like -o, but replace FILE, if there are changes; for all entries, use `fhcrawl export`",
        },
        **SPIDER_OPTIONS,
        "--no-platforms": {
            "action": "store_false",
            "default": None,
            "dest": "FHCRAWL_PLATFORMS_ENABLED",
            "help": "do not request unlinked older pages of WordPress and other known software",
        },
        "--probe": {
            **SWITCH,
            "dest": "FHCRAWL_PROBE",
            "help": "look for numbered pages (?page=2) of feeds without links to older pages",
        },
        "--from-sitemap": {
            "action": "store_const",
            "const": "1000",
            "dest": "FHCRAWL_SITEMAP_POSTS",
            "help": "also read posts that only the site's sitemap names, up to 1,000 per feed",
        },
        "--merge-renamed": {
            **SWITCH,
            "dest": "FHCRAWL_MERGE_RENAMED",
            "help": "delete entries under their former ids if the publisher has changed ids",
        },
        "--keep-versions": {
            "action": BooleanOptionalAction,
            "default": None,
            "dest": "FHCRAWL_KEEP_VERSIONS_ENABLED",
            "help": "from now on, keep earlier versions of entries in this store, or no longer",
        },
        "--web-archive": {
            "dest": "FHCRAWL_WEB_ARCHIVE",
            "metavar": "URL",
            "help": "also read captures of the feeds from a web archive: its URL, or wayback",
        },
        **OF_COLUMNS,
        **FAIL_ON,
        "--json": {
            "action": "store_true",
            "help": "print the feeds of this run like fhcrawl feeds --json, with numbers of `new`, "
            "`updated` and `deleted` entries, and why a feed was `skipped`",
        },
        "--dry-run": {
            "action": "store_true",
            "help": "print which feeds would be crawled, and when they are due; request and change nothing",
        },
        "-q --quiet": {
            "action": "store_true",
            "help": "print only errors and feeds that could not be read",
        },
    }

    _fail_on: str | None = None

    def __init__(self) -> None:
        super().__init__()
        self._reported_feeds: dict[str, tuple[Feed, Counts]] = {}

    def syntax(self) -> str:
        return f"{SPIDER} {self.usage}"

    # Scrapy, Twisted and SQLAlchemy have some hundred thousand objects that never become garbage. The
    # collector's scans of them, during imports and in each full collection, took a tenth of a crawl's time.
    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        # The crawler's process does that too, but later: add-ons may add formats of -o.
        AddonManager.load_pre_crawler_settings(self.settings)
        names = check_formats([*(opts.output or ()), *(opts.overwrite_output or ())], self.settings)
        if opts.FHCRAWL_CSV_EXCEL_ENABLED and names and CSV not in names:
            raise UsageError(NOT_CSV, print_help=False)
        super().process_options(args, opts)
        from fhcrawl.exporters.storages import STDOUT

        is_taken = STDOUT.intersection(map(str, self.settings.getdict("FEEDS")))
        option = "--dry-run" if opts.dry_run else "-o -" if is_taken else ""
        if opts.json and option:
            raise UsageError(
                f"--json and {option} both write to stdout; use only one of them", print_help=False
            )
        if opts.json or opts.quiet:
            for name in ("FHCRAWL_PROGRESS_ENABLED", "FHCRAWL_SUMMARY_ENABLED"):
                self.settings.set(name, False, "cmdline")
        self._fail_on = opts.fail_on
        opts.spargs |= _spider_arguments(args[1:], opts)
        gc.disable()
        # When these are imported, Scrapy inspects the stack and all loaded modules. Importing them one by
        # one, before all option, takes a third of the time.
        for name in DOWNLOADER:
            import_module(f"scrapy.core.downloader.{name}")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        gc.freeze()
        gc.enable()
        if not args:
            raise ArgumentError("A spider is required: scrapy crawl history https://example.org/index.atom")
        try:
            crawler = self._create_checked_crawler(args[0], opts)
        except FhcrawlError as error:
            # The log of a Scrapyd job does not contain what the command prints.
            if self.settings["LOG_FILE"]:
                logger.error("%s", error)
            raise
        if opts.dry_run:
            self._print_feeds(crawler, opts.spargs)
            return
        if opts.json:
            crawler.signals.connect(self._collect_feeds, signal=signals.engine_started)
        if opts.quiet:
            crawler.signals.connect(self._set_quiet, signal=signals.engine_started)
        self.run_crawl(crawler, **opts.spargs)
        if opts.json:
            self._print_json(crawler)

    def _collect_feeds(self, sender: Crawler) -> None:
        from fhcrawl.extensions.verdicts import VerdictsExtension

        VerdictsExtension.of(sender).reported = self._reported_feeds

    def _set_quiet(self, sender: Crawler) -> None:
        from fhcrawl.extensions.verdicts import VerdictsExtension

        # Other spiders do not have it.
        if (verdicts := sender.get_extension(VerdictsExtension)) is not None:
            verdicts.has_read_errors = True

    def _print_json(self, crawler: Crawler) -> None:
        from fhcrawl.commands.feeds import as_json
        from fhcrawl.extensions.store import StoreExtension
        from fhcrawl.reporting.summary import Counts

        with self.opened_store(settings=crawler.settings) as store:
            leased = StoreExtension.of(crawler).leased_feeds
            counts = dict.fromkeys(leased, Counts())
            counts |= {url: counts_of_run for url, (_feed, counts_of_run) in self._reported_feeds.items()}
            # Feeds that could never be read may have been removed from the store.
            feeds = {url: feed for url, (feed, _counts) in self._reported_feeds.items()}
            feeds |= {feed.feed: feed for feed in (store.feeds.read(urls=[*counts]) if counts else ())}
            added = {url: {**each.changes, "skipped": leased.get(url)} for url, each in counts.items()}
            print_lines(as_json(feeds.values(), store, added=added), as_json=True)

    def _print_feeds(self, crawler: Crawler, arguments: dict[str, str]) -> None:
        spider = cast("type[HistorySpider]", crawler.spidercls)
        if not spider.crawls_subscribed:
            raise ArgumentError("--dry-run is not for workers, which get their feeds from fhcrawl enqueue")
        parsed = spider.check(crawler.settings, **arguments)
        feeds, only_due, time = parsed["feeds"], parsed["due"], now()
        settings = crawler.settings.copy()
        add_settings(settings)
        with self.opened_store(settings=settings) as store:
            chosen = subscriptions.choose(store.subscriptions, feeds, time if only_due else None)
            due = store.subscriptions.find_due(chosen)
            whens = {url: _when(due[url], time) if url in due else "not crawled yet" for url in chosen}
            print_lines(f"{printable(url, LONGEST_SENTENCE)}  {when}" for url, when in whens.items())
            if not chosen:
                print(subscriptions.why_none(store.subscriptions, feeds, only_due), file=sys.stderr)
        self.exitcode = print_refused(feeds.refused)

    def _create_checked_crawler(self, spider: str, opts: argparse.Namespace) -> Crawler:
        from fhcrawl.spiders.history import HistorySpider

        spiders = self.crawler_process.spider_loader.list()
        if "://" in spider:
            raise ArgumentError(f"The spider must come before the URL: scrapy crawl {spiders[0]} {spider}")
        if spider not in spiders:
            raise ArgumentError(f"There is no spider {spider}; available spiders: {', '.join(spiders)}")
        crawler = self.crawler_process.create_crawler(spider)
        crawler.signals.connect(self._note_failure, signal=signals.engine_stopped)
        if issubclass(crawler.spidercls, HistorySpider):
            if not has_addon(crawler.settings):
                raise ArgumentError(NO_ADDON)
            # Includes the spider's custom_settings; the crawl adds the same settings.
            settings = crawler.settings.copy()
            add_settings(settings)
            add_components(settings)
            check(settings, opts.spargs, crawler.spidercls, opts.dry_run)
        elif opts.dry_run or opts.json or opts.FHCRAWL_PROFILES:
            # Scrapy's option --profile has the same name.
            names = "--dry-run, --json and --profile"
            raise ArgumentError(f"{names} are for the spider {SPIDER}, not for {spider}")
        return crawler

    def _note_failure(self, sender: Crawler) -> None:
        from fhcrawl.extensions.store import LEASED
        from fhcrawl.extensions.verdicts import UNREAD, VerdictsExtension

        verdicts = sender.get_extension(VerdictsExtension)
        words = () if verdicts is None else verdicts.verdict_words
        failing = [word for word in (*WORDS, FAILED) if word in words and is_failure(word, self._fail_on)]
        if failing:
            verb = "have" if self._fail_on == FAILED else "are"
            logger.error("--fail-on %s: some feeds %s %s", self._fail_on, verb, " or ".join(failing))
        if self._fail_on and sender.stats.get_value(LEASED):
            failing.append(LEASED)
            logger.error("--fail-on %s: some feeds were skipped, which another crawl reads", self._fail_on)
        # With --fail-on, the verdicts decide: an outage does not change them.
        if failing or failures(sender.stats.get_stats().keys() - ({UNREAD} if self._fail_on else set())):
            self.exitcode = 1


def _spider_arguments(urls: list[str], opts: argparse.Namespace) -> dict[str, str]:
    names = [words["dest"] for words in SPIDER_OPTIONS.values() if getattr(opts, words["dest"]) is not None]
    arguments = {name.removeprefix(OF_SPIDER): getattr(opts, name) for name in names}
    if urls:
        arguments["feed"] = " ".join([*urls, *([opts.spargs["feed"]] if "feed" in opts.spargs else [])])
    return arguments


def check_formats(outputs: list[str], settings: BaseSettings) -> set[str]:
    from fhcrawl.exporters.documents import XML_FORMATS
    from fhcrawl.exporters.feeds import LIST_FORMATS
    from fhcrawl.exporters.rows import NEEDS

    exporters = {name: path for name, path in settings.getwithbase("FEED_EXPORTERS").items() if path}
    names = set()
    for output in outputs:
        tail = output.rpartition(":")[2]
        is_named = ":" in output and (tail in exporters or tail.isalnum())
        name = tail if is_named else Path(output).suffix[1:]
        if name in {*XML_FORMATS, *LIST_FORMATS}:
            raise UsageError(
                f"-o {printable(output)}: a crawl exports only changes, but {name} requires complete feeds; "
                f"crawl without -o, then run fhcrawl export -o {printable(output)}",
                print_help=False,
            )
        if name not in exporters:
            raise UsageError(no_format(output, name, exporters), print_help=False)
        if exporters[name] == ours.FEED_EXPORTERS["parquet"] and find_spec("pyarrow") is None:
            raise UsageError(NEEDS, print_help=False)
        names.add(name)
    return names


def _when(due: str | None, time: str) -> str:
    if due is None:
        return "due now"
    return f"due since {due}" if due <= time else f"due at {due}"


def check(
    settings: BaseSettings,
    arguments: dict[str, str],
    spider: type[HistorySpider] | None = None,
    is_dry: bool = False,
) -> None:
    """Check the settings, the spider's arguments and the store before a crawl.

    :raises FhcrawlError: if one of them cannot be used
    """
    from fhcrawl.extensions.store import store_url
    from fhcrawl.spiders.history import HistorySpider
    from fhcrawl.store import Store

    spider = spider or HistorySpider
    check_settings(settings)
    check_components(settings)
    if settings.getint("FHCRAWL_SITEMAP_POSTS") and find_spec("trafilatura") is None:
        raise ArgumentError(NO_POSTS)
    spider.check_names(settings, arguments)
    parsed = spider.check(settings, **arguments)
    feeds = parsed["feeds"]
    if settings["FHCRAWL_WARC"]:
        check_template(settings["FHCRAWL_WARC"], Placeholders(spider, arguments))
    check_exports(settings, arguments, spider)
    with closing((Store.open_to_read if is_dry else Store.open)(store_url(settings))) as store:
        if not is_dry:
            store.check_writable()
        if spider.crawls_subscribed and not feeds and not store.subscriptions.exist():
            raise ArgumentError(NOTHING_TO_SEND if parsed["from_store"] else NOTHING_SUBSCRIBED)
        if parsed["from_store"] and feeds and not any(map(store.feeds.find, feeds)):
            stored(store, next(iter(feeds)))  # raises the error


def check_exports(settings: BaseSettings, arguments: dict[str, str], spider: type[HistorySpider]) -> None:
    from scrapy.extensions.feedexport import apply_uri_params
    from scrapy.utils.conf import feed_complete_default_values_from_settings

    from fhcrawl.exporters import storages
    from fhcrawl.extensions.store import store_url

    placeholders = Placeholders(spider, {**arguments, "batch_id": 1, "batch_time": ""})
    for uri, values in settings.getdict("FEEDS").items():
        formatted = {"format": Path(str(uri)).suffix.removeprefix("."), **values}
        options = feed_complete_default_values_from_settings(formatted, settings)
        if options["uri_params"]:  # a function of the user's provides the placeholders
            continue
        try:
            place = apply_uri_params(str(uri), placeholders)
        except (KeyError, TypeError, ValueError) as error:
            raise ArgumentError(
                f"{storages.shown(str(uri))} has an invalid placeholder ({error}); use %(time)s, or the "
                "name of an argument (-a)"
            ) from error
        storages.refuse_store(place, store_url(settings))
        is_appended = not options.get("overwrite") and not storages.is_elsewhere(place)
        if is_appended and storages.takes_entries(options):
            try:
                storages.check_appending(Path(place), options)
            except OSError as error:
                raise ExportError(f"Cannot write to {place} ({error.strerror})") from error
