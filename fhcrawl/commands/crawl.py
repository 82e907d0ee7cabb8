"""`scrapy crawl`: checks settings, arguments and the store before it begins a crawl."""

from __future__ import annotations

import asyncio
import gc
import logging
from argparse import RawDescriptionHelpFormatter
from contextlib import closing
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.commands import ScrapyHelpFormatter, crawl
from scrapy.exceptions import UsageError
from scrapy.settings import SETTINGS_PRIORITIES

from fhcrawl import settings as defaults
from fhcrawl.commands import check_options, typed
from fhcrawl.crawling.subscriptions import NOTHING_SUBSCRIBED, is_number
from fhcrawl.documents.limits import PARSER_DEPTH, PARSER_TEXT
from fhcrawl.exceptions import ArgumentError, FhcrawlError
from fhcrawl.logical_feed.polling import LONGEST
from fhcrawl.reporting.advice import failures
from fhcrawl.utils.text import printable
from fhcrawl.warc import naming

if TYPE_CHECKING:
    import argparse

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

# In the order of their dependencies.
DOWNLOADER = ("tls", "contextfactory", "handlers.http11")
SHORTEST_LEASE = 3
# Upper bounds of the settings that are numbers; None for no bound.
OUR_NUMBERS = {
    "FHCRAWL_MAX_ARCHIVES": None,
    "FHCRAWL_MAX_PAGES": None,
    "FHCRAWL_EXPORT_SECONDS": None,
    "FHCRAWL_MAX_SECONDS": None,
    "FHCRAWL_MAX_BYTES": None,
    "FHCRAWL_MIN_FREE_DISK": None,
    "FHCRAWL_MAX_ENTRIES": None,
    "FHCRAWL_MAX_ELEMENTS": None,
    "FHCRAWL_MAX_DEPTH": PARSER_DEPTH,
    "FHCRAWL_MAX_TEXT": PARSER_TEXT,
    "FHCRAWL_MAX_WAIT": None,
    "FHCRAWL_READER_TIMEOUT": None,
    "FHCRAWL_PREFETCH": None,
    "FHCRAWL_DUE_MIN_SECONDS": LONGEST,
    "FHCRAWL_DUE_MAX_SECONDS": LONGEST,
    "FHCRAWL_WARC_MAX_SIZE": None,
}
PREFIX = "FHCRAWL_"
OURS = [name for name in vars(defaults) if name.startswith(PREFIX)]
OUR_SWITCHES = [name for name, default in vars(defaults).items() if isinstance(default, bool)]

PAGE = """\
Crawl feeds, and say of each whether it is whole.

Arguments of the spider `history` (-a NAME=VALUE):
  feed=URL            a feed, or several, separated by spaces
  feeds=FILE          a list of feeds: a URL a line, OPML or TOML
  due=1               only feeds that are due; without feed and feeds, of those that are subscribed
  snapshot=URL        the index of the snapshot that the only feed goes on from
  warc=PATHS          old captures of the feeds: WARC files, or folders of them, separated by spaces
  deltafetch_reset=1  fetch every document again; the entries stay

Examples:
  scrapy crawl history -a feed=https://example.org/index.atom -o entries.jsonl
  scrapy crawl history -a feeds=subscriptions.opml -o entries.csv
  scrapy crawl history -a feed=https://example.org/index.atom -a warc=captures/
  scrapy crawl history -a feed=https://example.org/index.atom \\
      -s 'FHCRAWL_WARC=captures/%(time)s-%(serial)05d.warc.gz'

What -o, -O and -s are is below; README.md has the settings."""


class PageFormatter(RawDescriptionHelpFormatter, ScrapyHelpFormatter):
    """Scrapy's formatter; it keeps the line breaks of descriptions."""


class Command(crawl.Command):
    """Scrapy's command, with checks before the first request, and exit code 1 if the run has failed."""

    def long_desc(self) -> str:
        """Return the text for `scrapy crawl --help`."""
        return PAGE

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add Scrapy's options, and keep the line breaks of the help text."""
        super().add_options(parser)
        parser.formatter_class = PageFormatter

    # Scrapy, Twisted and SQLAlchemy have some hundred thousand objects that never become garbage. The
    # collector's scans of them, during imports and in each full collection, took a tenth of a crawl's time.
    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Process Scrapy's options, and disable garbage collection during imports, until `run`."""
        try:
            super().process_options(args, opts)
        except UsageError:
            check_formats([*(opts.output or ()), *(opts.overwrite_output or ())])
            raise
        gc.disable()
        # When these are imported, Scrapy inspects the stack and all loaded modules. Importing them one by
        # one, before all others, takes a third of the time.
        for name in DOWNLOADER:
            import_module(f"scrapy.core.downloader.{name}")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the arguments and the store, then crawl.

        :raises UsageError: if one of them cannot be used
        """
        gc.freeze()
        gc.enable()
        if len(args) > 1:
            check_options(args, "scrapy crawl")
            raise UsageError(_with_feeds(args[0], args[1:]), print_help=False)
        if len(args) == 1 and self.settings is not None:
            try:
                self._check(args[0], self.settings, opts.spargs)
            except FhcrawlError as error:
                # The log of a Scrapyd job does not contain what the command prints.
                if self.settings["LOG_FILE"]:
                    logger.error("%s", error)
                raise UsageError(str(error), print_help=False) from error
        if len(args) != 1 or self.crawler_process is None:
            super().run(args, opts)
            return
        crawl = self.crawler_process.crawl(self._create_crawler(args[0]), **opts.spargs)
        if isinstance(crawl, asyncio.Task):
            crawl.add_done_callback(log_error)
        self.crawler_process.start()
        if self.crawler_process.bootstrap_failed:
            self.exitcode = 1

    def _check(self, spider: str, settings: BaseSettings, arguments: dict[str, str]) -> None:
        from fhcrawl.spiders.history import HistorySpider

        there = self.crawler_process.spider_loader.list() if self.crawler_process else [spider]
        if "://" in spider:
            raise ArgumentError(_with_feeds(there[0], [spider]))
        if spider not in there:
            raise ArgumentError(f"There is no spider {printable(spider)}: write one of {', '.join(there)}")
        if spider == HistorySpider.name:
            check(settings, arguments)

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        crawler = super()._create_crawler(spidercls)
        crawler.signals.connect(self._note_failure, signal=signals.engine_stopped)
        return crawler

    def _note_failure(self, sender: Crawler) -> None:
        if failures(sender.stats.get_stats()):
            self.exitcode = 1


def _with_feeds(spider: str, urls: list[str]) -> str:
    feeds = " ".join(map(typed, urls))
    shown = f'"{feeds}"' if len(urls) > 1 else feeds
    return f"Feeds are arguments of a spider: write scrapy crawl {printable(f'{spider} -a feed={shown}')}"


def check_formats(outputs: list[str]) -> None:
    """Check that no output of a crawl has a format in which only whole feeds are exported.

    :param outputs: the values of -o and -O
    :raises UsageError: if one has
    """
    from fhcrawl.exporters.feeds import OTHER_FORMATS, XML_FORMATS

    for output in outputs:
        name = output.rpartition(":")[2].rpartition(".")[2]
        if name in {*XML_FORMATS, *OTHER_FORMATS}:
            raise UsageError(
                f"-o {printable(output)}: a crawl exports what has changed, and {name} is for whole feeds; "
                f"crawl without it, then write scrapy export -o {printable(output)}",
                print_help=False,
            )


def log_error(crawl: asyncio.Task[None]) -> None:
    """Log the error that ended a crawl before asyncio does; fhcrawl's own without a traceback."""
    error = None if crawl.cancelled() else crawl.exception()
    if isinstance(error, FhcrawlError):
        logger.error("The crawl cannot begin: %s", error)
    elif error is not None:
        logger.error("The crawl cannot begin", exc_info=error)


def check(settings: BaseSettings, arguments: dict[str, str]) -> None:
    """Check the settings, the spider's arguments and the store before a crawl.

    :raises FhcrawlError: if one of them cannot be used
    """
    from fhcrawl.extensions.store import store_url
    from fhcrawl.spiders.history import HistorySpider
    from fhcrawl.store import Store

    check_settings(settings)
    check_names(settings, arguments)
    feeds = HistorySpider.check(settings, **arguments)["feeds"]
    if settings["FHCRAWL_WARC"]:
        naming.check(settings["FHCRAWL_WARC"], naming.Parameters(HistorySpider, arguments))
    check_exports(settings, arguments)
    with closing(Store.open(store_url(settings))) as store:
        store.check_writable()
        if not feeds and not store.subscriptions.exist():
            raise ArgumentError(NOTHING_SUBSCRIBED)
    check_cluster(settings, arguments)


def check_names(settings: BaseSettings, arguments: dict[str, str]) -> None:
    """Check the names of the spider's arguments.

    :raises ArgumentError: if an argument does not exist and is no placeholder of FEEDS or FHCRAWL_WARC
    """
    from fhcrawl.spiders.history import HistorySpider

    known = signature(HistorySpider.check).parameters.keys() - {"settings", "others"}
    places = [*map(str, settings.getdict("FEEDS")), settings["FHCRAWL_WARC"] or ""]
    for name in arguments.keys() - known:
        # Arguments of Scrapyd begin with _.
        if not name.startswith("_") and not any(f"%({name})" in place for place in places):
            raise ArgumentError(
                f"There is no argument {printable(name)}: write one of {', '.join(sorted(known))}"
            )


def check_exports(settings: BaseSettings, arguments: dict[str, str]) -> None:
    """Check the placeholders of -o and FEEDS, and the files to append to.

    :raises FhcrawlError: if one of them cannot be used
    """
    from scrapy.extensions.feedexport import apply_uri_params
    from scrapy.utils.conf import feed_complete_default_values_from_settings

    from fhcrawl.exporters import places
    from fhcrawl.spiders.history import HistorySpider

    named = naming.Parameters(HistorySpider, {**arguments, "batch_id": 1, "batch_time": ""})
    for uri, given in settings.getdict("FEEDS").items():
        options = feed_complete_default_values_from_settings(given, settings, str(uri))
        if options["uri_params"]:  # a function of the user's provides the placeholders
            continue
        try:
            place = apply_uri_params(str(uri), named)
        except (KeyError, TypeError, ValueError) as error:
            raise ArgumentError(
                f"{places.shown(str(uri))} has a placeholder that there is not ({error}): write an export's "
                f"place with %(time)s, or with the name of an argument (-a)"
            ) from error
        if not options.get("overwrite") and not places.is_elsewhere(place):
            _check_file(place, options)


def _check_file(place: str, options: dict[str, Any]) -> None:
    from fhcrawl.exporters import appending

    try:
        appending.check(Path(place), options)
    except OSError as error:
        raise ArgumentError(f"{printable(place)} cannot be written ({error.strerror})") from error


def check_cluster(settings: BaseSettings, arguments: dict[str, str]) -> None:
    """Check the settings and arguments of a cluster's worker, if this is one.

    :raises FhcrawlError: if it cannot be used
    """
    if settings["SCHEDULER"].startswith("fhcrawl.cluster."):
        from fhcrawl.cluster.extension import check

        check(settings, arguments)


def check_settings(settings: BaseSettings) -> None:
    """Check the settings of fhcrawl.

    :raises ArgumentError: if one of them cannot be used
    """
    from fhcrawl.downloadermiddlewares.guard import allowed_hosts
    from fhcrawl.store.leases import LONGEST as LONGEST_LEASE

    check_mistyped(settings)
    for name, most in OUR_NUMBERS.items():
        if not is_number(given := str(settings.get(name))):
            raise ArgumentError(f"{name} is {printable(given)!r}: write a number, 0 to switch it off")
        if most is not None and settings.getint(name) > most:
            raise ArgumentError(f"{name} is {settings.get(name)}: write no more than {most}")
    lease = str(settings.get("FHCRAWL_LEASE_SECONDS"))
    if not is_number(lease) or not SHORTEST_LEASE <= int(lease) <= LONGEST_LEASE:
        allowed = f"{SHORTEST_LEASE} to {LONGEST_LEASE}"
        raise ArgumentError(
            f"FHCRAWL_LEASE_SECONDS is {printable(lease)!r}: write a number of seconds, {allowed}"
        )
    for name in OUR_SWITCHES:
        check_switch(settings, name)
    allowed_hosts(settings)
    has_password = settings.get("HTTPAUTH_USER") or settings.get("HTTPAUTH_PASS")
    if has_password and not settings.get("HTTPAUTH_DOMAIN"):
        raise ArgumentError("HTTPAUTH_DOMAIN is not set: write the host that may have the password")
    if settings.getint("FHCRAWL_DUE_MIN_SECONDS") > settings.getint("FHCRAWL_DUE_MAX_SECONDS"):
        raise ArgumentError(
            "FHCRAWL_DUE_MIN_SECONDS is more than FHCRAWL_DUE_MAX_SECONDS: write a smaller one"
        )


def check_mistyped(settings: BaseSettings) -> None:
    """Check the names of FHCRAWL_ settings on the command line; settings modules may have others.

    :raises ArgumentError: if fhcrawl has no such setting
    """
    for name in settings:
        if not name.startswith(PREFIX) or name in OURS:
            continue
        if settings.getpriority(name) == SETTINGS_PRIORITIES["cmdline"]:
            raise ArgumentError(f"There is no setting {printable(name)}: {_instead_of(name)}")


def _instead_of(name: str) -> str:
    from difflib import get_close_matches

    # The common prefix would make all names similar.
    near = get_close_matches(name.removeprefix(PREFIX), [ours.removeprefix(PREFIX) for ours in OURS], 1)
    return f"write {PREFIX}{near[0]}" if near else "README.md lists them"


def check_switch(settings: BaseSettings, name: str) -> None:
    """:raises ArgumentError: if the value of a setting is no Boolean"""
    try:
        settings.getbool(name)
    except ValueError:
        raise ArgumentError(f"{name} is {settings.get(name)!r}: write 1 or 0") from None
