"""`scrapy unsubscribe`: removes feeds from those that are crawled without arguments."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from fhcrawl.commands import check_options, printing, typed
from fhcrawl.exceptions import FhcrawlError

if TYPE_CHECKING:
    import argparse

STAYS = "is no longer subscribed; its entries stay in the store"


class Command(ScrapyCommand):
    """Removes subscriptions from the store."""

    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012

    def syntax(self) -> str:
        """Return the usage for `scrapy unsubscribe --help`."""
        return "URL …"

    def short_desc(self) -> str:
        """Return the line in the list of commands."""
        return "Unsubscribe from feeds; their entries stay in the store"

    def long_desc(self) -> str:
        """Return the text for `scrapy unsubscribe --help`."""
        return (
            "Let 'scrapy crawl history' without arguments leave feeds out. What is stored of them stays, and "
            "'scrapy export' writes it. A feed of which nothing was ever read is forgotten, also if it was "
            "not subscribed. Example: 'scrapy unsubscribe https://example.org/index.atom'."
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Unsubscribe from the feeds; from none of them if one is not subscribed.

        :raises UsageError: if there are no arguments, one is not subscribed, or the store cannot be used
        """
        from fhcrawl.extensions.store import store_url
        from fhcrawl.store import Store
        from fhcrawl.utils.text import printable

        check_options(args, "scrapy unsubscribe")
        if not args or self.settings is None:
            raise UsageError("write scrapy unsubscribe https://example.org/index.atom", print_help=False)
        try:
            with closing(Store.open(store_url(self.settings))) as store:
                forgotten = store.subscriptions.remove([*map(typed, args)])
        except FhcrawlError as error:
            raise UsageError(str(error), print_help=False) from error
        with printing():
            for url, is_forgotten in forgotten.items():
                what = "is forgotten: nothing was ever read of it" if is_forgotten else STAYS
                print(f"{printable(url)} {what}")
