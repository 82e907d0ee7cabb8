"""`scrapy crawl`, which says in a sentence what is wrong with its arguments before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.commands import crawl
from scrapy.exceptions import UsageError

from fhcrawl.exceptions import ArgumentError, FhcrawlError
from fhcrawl.subscriptions import flag

if TYPE_CHECKING:
    import argparse

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


OUR_NUMBERS = ("FHCRAWL_MAX_ARCHIVES", "FHCRAWL_MAX_PAGES")
OUR_SWITCHES = ("DELTAFETCH_ENABLED", "DELTAFETCH_RESET")
FAILED_EXPORT = "feedexport/failed_count/"


class Command(crawl.Command):
    """Scrapy's command, with a check before the first request, and with 1 for an export that failed."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the arguments and the store, then crawl.

        :raises UsageError: if one of them cannot be used
        """
        from fhcrawl.extensions.store import store_url
        from fhcrawl.spiders.history import HistorySpider
        from fhcrawl.store import Store

        if args == [HistorySpider.name] and self.settings is not None:
            try:
                check_settings(self.settings)
                HistorySpider.check(**opts.spargs)
                Store.open(store_url(self.settings)).close()
            except FhcrawlError as error:
                raise UsageError(str(error), print_help=False) from error
        super().run(args, opts)

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        crawler = super()._create_crawler(spidercls)
        crawler.signals.connect(self._note_failed_export, signal=signals.engine_stopped)
        return crawler

    def _note_failed_export(self, sender: Crawler) -> None:
        if any(name.startswith(FAILED_EXPORT) for name in sender.stats.get_stats()):
            self.exitcode = 1


def check_settings(settings: BaseSettings) -> None:
    """Check the settings that are fhcrawl's own.

    :raises ArgumentError: if one of them cannot be used
    """
    for name in OUR_NUMBERS:
        if not str(settings.get(name)).isdecimal():
            raise ArgumentError(f"{name} is {settings.get(name)!r}: write a number, 0 for no limit")
    for name in OUR_SWITCHES:
        flag(str(settings.get(name)), name)
