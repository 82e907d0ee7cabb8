"""`scrapy subscribe`: adds feeds that `scrapy crawl history` crawls without arguments."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from fhcrawl.commands import check_options, printing
from fhcrawl.exceptions import FhcrawlError

if TYPE_CHECKING:
    import argparse


class Command(ScrapyCommand):
    """Adds subscriptions to the store."""

    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012

    def syntax(self) -> str:
        """Return the usage for `scrapy subscribe --help`."""
        return "URL|FILE …"

    def short_desc(self) -> str:
        """Return the line in the list of commands."""
        return "Subscribe to feeds: they are crawled without arguments"

    def long_desc(self) -> str:
        """Return the text for `scrapy subscribe --help`."""
        return (
            "Note feeds in the store, so that 'scrapy crawl history' without arguments crawls them, and with "
            "'-a due=1' those that are due. A file is a list of feeds: a URL a line, OPML or TOML, whose "
            "options are kept too. Examples: 'scrapy subscribe https://example.org/index.atom'; "
            "'scrapy subscribe subscriptions.opml'."
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Subscribe to the feeds.

        :raises UsageError: if an argument, a list or the store cannot be used
        """
        from fhcrawl.commands.crawl import check_switch
        from fhcrawl.crawling import subscriptions
        from fhcrawl.extensions.store import store_url
        from fhcrawl.store import Store
        from fhcrawl.utils.clock import now

        check_options(args, "scrapy subscribe")
        if not args or self.settings is None:
            raise UsageError("write scrapy subscribe https://example.org/index.atom", print_help=False)
        try:
            check_switch(self.settings, subscriptions.LISTED_FILES)
            may_list_files = self.settings.getbool(subscriptions.LISTED_FILES)
            listed = subscriptions.from_words(args, may_list_files)
            with closing(Store.open(store_url(self.settings))) as store:
                plain = {url: options.plain() for url, options in listed.items()}
                new = store.subscriptions.add(plain, now())
        except FhcrawlError as error:
            raise UsageError(str(error), print_help=False) from error
        with printing():
            print(f"Newly subscribed: {new}; already subscribed: {len(listed) - new}")
