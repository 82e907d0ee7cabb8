"""`scrapy copystore`: copies the store to another database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from fhcrawl.commands import check_options, printing
from fhcrawl.exceptions import FhcrawlError

if TYPE_CHECKING:
    import argparse


class Command(ScrapyCommand):
    """Copies all rows of the store to an empty store."""

    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012

    def syntax(self) -> str:
        """Return the usage for `scrapy copystore --help`."""
        return "URL"

    def short_desc(self) -> str:
        """Return the line in the list of commands."""
        return "Copy the store to another database"

    def long_desc(self) -> str:
        """Return the text for `scrapy copystore --help`."""
        return (
            "Copy all that is in the store, FHCRAWL_STORE_URL, to an empty one, from SQLite to PostgreSQL or "
            "back, while no crawl is running. Examples: 'scrapy copystore postgresql:///fhcrawl'; "
            "'SCRAPY_PROJECT=postgres scrapy copystore sqlite:///copy.sqlite'."
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Copy the store.

        :raises UsageError: if the argument or one of the stores cannot be used
        """
        from contextlib import closing

        from fhcrawl.extensions.store import store_url
        from fhcrawl.store import Store

        check_options(args, "scrapy copystore")
        if len(args) != 1 or self.settings is None:
            raise UsageError("write scrapy copystore postgresql:///fhcrawl", print_help=False)
        try:
            with (
                closing(Store.open_to_read(store_url(self.settings))) as source,
                closing(Store.open(args[0])) as target,
            ):
                counts = source.copy_to(target)
        except FhcrawlError as error:
            raise UsageError(str(error), print_help=False) from error
        with printing():
            print(", ".join(f"{counts[name]} {name}" for name in ("feeds", "documents", "entries")), "copied")
