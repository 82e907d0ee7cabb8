"""`scrapy crawl`, which says in a sentence what is wrong with its arguments before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import crawl
from scrapy.exceptions import UsageError

from fhcrawl.exceptions import FhcrawlError

if TYPE_CHECKING:
    import argparse


class Command(crawl.Command):
    """Scrapy's command, with a check before the first request."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the arguments and the store, then crawl.

        :raises UsageError: if one of them cannot be used
        """
        from fhcrawl.extensions.store import store_url
        from fhcrawl.spiders.history import HistorySpider
        from fhcrawl.store import Store

        if args == [HistorySpider.name] and self.settings is not None:
            try:
                HistorySpider.check(**opts.spargs)
                Store.open(store_url(self.settings)).close()
            except FhcrawlError as error:
                raise UsageError(str(error), print_help=False) from error
        super().run(args, opts)
