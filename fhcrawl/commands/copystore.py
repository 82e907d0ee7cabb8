"""`fhcrawl copystore`: copies the store to another database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from fhcrawl.commands import printing
from fhcrawl.core import command
from fhcrawl.exceptions import FhcrawlError

if TYPE_CHECKING:
    import argparse


class Command(command.Command):
    """Copies all rows of the store to an empty store."""

    usage = "URL"
    summary = "Copy the store to another database"
    description = (
        "Copy all that is in the store (FHCRAWL_STORE_URL) to an empty one, from SQLite to "
        "PostgreSQL or back, while no crawl is running."
    )
    examples = (
        "fhcrawl copystore postgresql:///fhcrawl",
        "FHCRAWL_STORE_URL=postgresql:///fhcrawl fhcrawl copystore sqlite:///copy.sqlite",
    )
    operand = ("URL", "the other database, a URL of SQLAlchemy's")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Copy the store.

        :raises UsageError: if the argument or one of the stores cannot be used
        """
        from contextlib import closing

        from fhcrawl.extensions.store import store_url
        from fhcrawl.store import Store

        if len(args) != 1 or self.settings is None:
            raise UsageError("write fhcrawl copystore postgresql:///fhcrawl", print_help=False)
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
