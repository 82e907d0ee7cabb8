"""The spider, which requests the documents of feeds, from the subscription document to older ones."""

from __future__ import annotations

import asyncio
import logging
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from inspect import Parameter, signature
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals

from fhcrawl.crawling import requests, subscriptions
from fhcrawl.crawling.compat import is_closing, process_item
from fhcrawl.crawling.reading import numbered_pages
from fhcrawl.crawling.subscriptions import LISTED_FILES
from fhcrawl.exceptions import ArgumentError, StoreError
from fhcrawl.exporters.storages import takes_entries
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.items import stored_item
from fhcrawl.logical_feed.platforms import PROBE
from fhcrawl.pipelines import LOST
from fhcrawl.spiders.stages import Stages
from fhcrawl.store import FEEDS_AT_ONCE
from fhcrawl.utils.clock import now
from fhcrawl.utils.datadir import base_of
from fhcrawl.warc import warc_files

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure
    from typing_extensions import Self

    from fhcrawl.crawling.subscriptions import FeedList, FeedOptions, Listed
    from fhcrawl.pipelines import EntryVersion
    from fhcrawl.store import WalkStart
    from fhcrawl.store.subscriptions import Subscriptions

logger = logging.getLogger(__name__)

REFUSED = "fhcrawl/feed/refused"


class HistorySpider(Spider):
    """Crawls the whole history of feeds.

    Arguments: `feed`, URLs separated by spaces; `feeds`, path of a list (a URL a line, OPML or TOML); without
    both, the subscribed feeds; `due`, 1 for only those feeds that are due; `snapshot`, URL of the index of a
    snapshot that the feed continues; `ids`, what identifies the feed's entries: id, link or digest;
    `archive`, URL of an older document of the feed to which no link leads; `warc`, paths of WARC files, or
    folders of them, with old captures of the feeds; `deltafetch_reset`, 1 to fetch every document again;
    `from_store`, 1 to send the stored entries of the feeds through the item pipelines again, without any
    request.
    """

    name = "history"
    # Without a feed or a list in its arguments. If nothing is subscribed, such a crawl is refused.
    crawls_subscribed = True

    def __init__(
        self,
        feeds: FeedList,
        due: bool = False,
        deltafetch_reset: bool = False,
        warc: Sequence[str] = (),
        from_store: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.requested = feeds
        self.only_due = due
        self.deltafetch_reset = deltafetch_reset
        self.warc = warc
        self.from_store = from_store
        self.idle_reason = ""  # why a crawl has no feeds

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        cls.check_names(crawler.settings, kwargs)
        return super().from_crawler(crawler, *args, **cls.check(crawler.settings, **kwargs))

    @classmethod
    def check_names(cls, settings: BaseSettings, arguments: Iterable[str]) -> None:
        """:raises ArgumentError: if neither the spider nor a placeholder has an argument of that name"""
        # The arguments of `check`, and those of a subclass's `__init__`.
        subclasses = [vars(base) for base in cls.__mro__[: cls.__mro__.index(HistorySpider)]]
        functions = [
            cls.check,
            *(attributes["__init__"] for attributes in subclasses if "__init__" in attributes),
        ]
        parameters = chain.from_iterable(signature(function).parameters.values() for function in functions)
        kinds = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        valid = {parameter.name for parameter in parameters if parameter.kind in kinds} - {"self", "settings"}
        storages = [*map(str, settings.getdict("FEEDS")), settings["FHCRAWL_WARC"] or ""]
        for name in set(arguments) - valid:
            # Arguments of Scrapyd begin with _.
            if not name.startswith("_") and not any(f"%({name})" in place for place in storages):
                valid_names = ", ".join(sorted(valid))
                raise ArgumentError(f"There is no argument {name}; valid arguments: {valid_names}")

    @staticmethod
    def check(
        settings: BaseSettings,
        feed: str | Sequence[str] | None = None,
        feeds: str | None = None,
        snapshot: str | None = None,
        ids: str | None = None,
        due: str | bool = False,
        deltafetch_reset: str | bool = False,
        warc: str | None = None,
        archive: str | None = None,
        from_store: str | bool = False,
        **arguments: Any,
    ) -> dict[str, Any]:
        """Return the parsed arguments; raise ArgumentError if one is invalid."""
        base = base_of(settings, arguments)
        urls = feed if isinstance(feed, str | None) else " ".join(feed)
        requested = subscriptions.from_arguments(
            urls, feeds, snapshot, ids, base, settings.getbool(LISTED_FILES)
        )
        resets = subscriptions.flag(str(deltafetch_reset), "-a deltafetch_reset")
        only_due = subscriptions.flag(str(due), "-a due")
        files = warc_files(warc, base) if warc is not None else []
        sends_stored = subscriptions.flag(str(from_store), "-a from_store")
        if sends_stored:
            others = {"snapshot": snapshot, "ids": ids, "due": only_due, "archive": archive, "warc": warc}
            others["deltafetch_reset"] = resets
            _check_from_store(settings, [name for name, value in others.items() if value])
        arguments |= {"due": only_due, "deltafetch_reset": resets, "warc": files, "from_store": sends_stored}
        return {**arguments, "feeds": requested, "archive": subscriptions.archive_url(archive, requested)}

    @cached_property
    def feeds(self) -> Listed:
        """The feeds of the arguments, or the subscribed feeds; only those that are due with `due`."""
        due_at = now() if self.only_due else None
        stored = StoreExtension.of(self.crawler).store.subscriptions
        feeds = subscriptions.choose(stored, self.requested, due_at)
        return subscriptions.with_web_archive(feeds, self.settings)

    @cached_property
    def stages(self) -> Stages:
        return Stages(self.crawler, self._begin_elsewhere)

    async def start(self) -> AsyncIterator[Request]:
        for sentence in self.requested.refused:
            logger.error("%s", sentence)
            self.crawler.stats.inc_value(REFUSED)
        if self.from_store:
            await self._send_stored()
            return
        async for request in self._begin():
            yield request

    async def _begin(self) -> AsyncIterator[Request]:
        extension = StoreExtension.of(self.crawler)
        try:
            feeds, stored = self.feeds, extension.store.subscriptions
            has_feeds, requested = feeds or extension.resumed_feeds, self.requested
            self.idle_reason = "" if has_feeds else subscriptions.why_none(stored, requested, self.only_due)
        except StoreError as error:
            extension.fail(error)
            return
        if self.idle_reason:
            logger.info("%s", self.idle_reason)
        await self.stages.open()
        urls = [feed for feed in feeds if feed not in extension.resumed_feeds]
        options_by_url = (
            (feed, feeds[feed].plain()) for feed in urls if feed not in self.stages.names.renamed
        )
        while batch := dict(islice(options_by_url, FEEDS_AT_ONCE)):
            starts = list(extension.begin_walks(batch))
            try:
                self._add_titles(stored, starts)
            except StoreError as error:
                extension.fail(error)
                return
            for start in starts:
                with extension.under_way.begun(start.feed):
                    for request in self.first(start, feeds[start.feed]):
                        yield request
            # Let requests in progress continue; otherwise, they would wait until all feeds have begun.
            await asyncio.sleep(0)

    async def _send_stored(self) -> None:
        extension, engine, number = StoreExtension.of(self.crawler), self.crawler.engine, 0
        most = max(1, self.settings.getint("CONCURRENT_ITEMS"))
        turns, tasks = asyncio.Semaphore(most), set[asyncio.Future[None]]()
        self.crawler.signals.connect(self._note_lost, signal=signals.item_error)
        try:
            for feed in self.feeds:
                with closing(extension.store.entries.read([feed], has_details=True)) as stored:
                    for fields in stored:
                        await turns.acquire()
                        if is_closing(engine):
                            return
                        number += 1
                        task = asyncio.ensure_future(process_item(engine, stored_item(fields)))
                        tasks.add(task)
                        task.add_done_callback(tasks.discard)
                        task.add_done_callback(lambda _: turns.release())
            for _ in range(most):
                await turns.acquire()
        except StoreError as error:
            extension.fail(error)
        finally:
            self.idle_reason = f"Stored entries that were sent through the item pipelines: {number:,}"

    def _note_lost(self) -> None:
        self.crawler.stats.inc_value(LOST)

    def _add_titles(self, stored: Subscriptions, starts: list[WalkStart]) -> None:
        titles = self.requested.titles
        stored.add_titles({start.feed: titles[start.feed] for start in starts if start.feed in titles})

    def first(self, start: WalkStart, options: FeedOptions) -> Iterator[Request]:
        if not self.settings.getbool("FHCRAWL_PLATFORMS_ENABLED"):
            options = replace(options, platforms=False)
        if not self.settings.getbool("FHCRAWL_SITEMAPS_ENABLED"):
            start = replace(start, has_due_sitemap=False)
        if self.settings.getbool("FHCRAWL_PROBE"):
            options = replace(options, probe=True)
        options = replace(options, ids=start.ids)
        # Probe even if the feed is unchanged.
        find_probe = StoreExtension.of(self.crawler).store.documents.find_probe
        if options.probe and numbered_pages(find_probe(start.feed), options.platforms) == (PROBE, True):
            start = start.without_validators()
        return self._with_callbacks(requests.first(start, options))

    def _begin_elsewhere(self, feed: str, options: FeedOptions, is_under_way: bool) -> Iterator[Request]:
        if is_under_way:
            return
        extension = StoreExtension.of(self.crawler)
        if self.deltafetch_reset:
            extension.forget([feed])
        for start in extension.begin_walks({feed: options.plain()}):
            with extension.under_way.begun(feed):
                yield from self.first(start, options)

    def follow(self, request: Request) -> Iterator[Request]:
        """Yield the requests that follow the last request of a feed."""
        try:
            yield from self._with_callbacks(self.stages.follow(request))
        except StoreError as error:
            StoreExtension.of(self.crawler).fail(error)

    # Scrapy passes the request's cb_kwargs to the callbacks; `context_of` reads them.
    def parse(self, response: Response, **cb_kwargs: Any) -> Iterator[Request | EntryVersion]:
        return self._with_callbacks(self.stages.step(response))

    def lose(self, failure: Failure) -> list[Request]:
        return list(self._with_callbacks(self.stages.fail(failure)))

    def _with_callbacks(self, outputs: Iterator[Any]) -> Iterator[Any]:
        return (self.prepare(output) if isinstance(output, Request) else output for output in outputs)

    def prepare(self, request: Request) -> Request:
        """Return a request with its callbacks; a subclass may add to its meta (`deltafetch_key`)."""
        request.callback, request.errback = self.parse, self.lose
        return request

    def closed(self, reason: str) -> None:
        self.stages.close()


def _check_from_store(settings: BaseSettings, others: list[str]) -> None:
    others += ["-o or FEEDS"] if any(map(takes_entries, settings.getdict("FEEDS").values())) else []
    others += ["JOBDIR"] if settings["JOBDIR"] else []
    if others:
        raise ArgumentError(
            "from_store requests and exports nothing: it sends stored entries through the item pipelines; "
            f"remove {', '.join(others)}"
        )
