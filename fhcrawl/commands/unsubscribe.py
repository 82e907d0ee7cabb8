"""`fhcrawl unsubscribe`: removes feeds from those that are crawled without arguments."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from fhcrawl.commands import printing, typed
from fhcrawl.core import command
from fhcrawl.exceptions import FhcrawlError

if TYPE_CHECKING:
    import argparse

STAYS = "is no longer subscribed; its entries stay in the store"


class Command(command.Command):
    """Removes subscriptions from the store."""

    usage = "URL …"
    summary = "Unsubscribe from feeds; their entries stay in the store"
    description = (
        "Let 'fhcrawl crawl' without URLs leave feeds out. What is stored of them stays, and "
        "'fhcrawl export' writes it. A feed of which nothing was ever read is forgotten, also if "
        "it was not subscribed."
    )
    examples = ("fhcrawl unsubscribe https://example.org/index.atom",)
    operand = ("URL", "a feed")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Unsubscribe from the feeds; from none of them if one is not subscribed.

        :raises UsageError: if there are no arguments, one is not subscribed, or the store cannot be used
        """
        from fhcrawl.extensions.store import store_url
        from fhcrawl.store import Store
        from fhcrawl.utils.text import printable

        if not args or self.settings is None:
            raise UsageError("write fhcrawl unsubscribe https://example.org/index.atom", print_help=False)
        try:
            with closing(Store.open(store_url(self.settings))) as store:
                forgotten = store.subscriptions.remove([*map(typed, args)])
        except FhcrawlError as error:
            raise UsageError(str(error), print_help=False) from error
        with printing():
            for url, is_forgotten in forgotten.items():
                what = "is forgotten: nothing was ever read of it" if is_forgotten else STAYS
                print(f"{printable(url)} {what}")
