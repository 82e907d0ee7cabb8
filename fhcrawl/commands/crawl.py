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


OUR_NUMBERS = {
    "FHCRAWL_MAX_ARCHIVES": "0 for no limit",
    "FHCRAWL_MAX_PAGES": "0 for no limit",
    "FHCRAWL_PREFETCH": "0 for none",
}
SHORTEST_LEASE = 3
OUR_SWITCHES = ("DELTAFETCH_ENABLED", "DELTAFETCH_RESET")
FAILURES = ("feedexport/failed_count/", "fhcrawl/store/failed")


class Command(crawl.Command):
    """Scrapy's command, with a check before the first request, and 1 if an export or the store failed."""

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
                store = Store.open(store_url(self.settings))
                store.check_writable()
                store.close()
            except FhcrawlError as error:
                raise UsageError(str(error), print_help=False) from error
        super().run(args, opts)

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        crawler = super()._create_crawler(spidercls)
        crawler.signals.connect(self._note_failure, signal=signals.engine_stopped)
        return crawler

    def _note_failure(self, sender: Crawler) -> None:
        if any(name.startswith(FAILURES) for name in sender.stats.get_stats()):
            self.exitcode = 1


def check_settings(settings: BaseSettings) -> None:
    """Check the settings that are fhcrawl's own.

    :raises ArgumentError: if one of them cannot be used
    """
    for name, zero in OUR_NUMBERS.items():
        if not str(settings.get(name)).isdecimal():
            raise ArgumentError(f"{name} is {settings.get(name)!r}: write a number, {zero}")
    lease = str(settings.get("FHCRAWL_LEASE_SECONDS"))
    if not lease.isdecimal() or int(lease) < SHORTEST_LEASE:
        raise ArgumentError(f"FHCRAWL_LEASE_SECONDS is {lease!r}: write a number of seconds, 300 or so")
    for name in OUR_SWITCHES:
        flag(str(settings.get(name)), name)
