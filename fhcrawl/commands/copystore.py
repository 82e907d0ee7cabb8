"""`fhcrawl copystore`: copies the store to another database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.commands import print_lines
from fhcrawl.core import command
from fhcrawl.exceptions import ArgumentError
from fhcrawl.utils.text import numbered

if TYPE_CHECKING:
    import argparse

COUNTED = {
    "feeds": ("feed", "feeds"),
    "documents": ("document", "documents"),
    "entries": ("entry", "entries"),
}


class Command(command.Command):
    usage = "URL"
    description = (
        "Copy the entire store (FHCRAWL_STORE_URL) to an empty database, from SQLite to PostgreSQL or "
        "back. Crawls may run meanwhile: the copy has the state when copying began. The next "
        "crawl that uses the copy also exports what was not exported then."
    )
    examples = (
        "fhcrawl copystore postgresql:///fhcrawl",
        "FHCRAWL_STORE_URL=postgresql:///fhcrawl fhcrawl copystore sqlite:///copy.sqlite",
    )
    operand = ("URL", "SQLAlchemy URL of the empty database")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from contextlib import closing

        from fhcrawl.store import Store, opening

        if len(args) != 1:
            raise ArgumentError(
                "The URL of one database is required: fhcrawl copystore postgresql:///fhcrawl"
            )
        url = opening.lasting(args[0], "The argument")
        with self.opened_store() as source:
            is_new = opening.make_file(url)
            try:
                with closing(Store.open(url)) as target:
                    counts = source.copy_to(target)
            except BaseException:
                # It has all tables, but no rows: it could be mistaken for a copy.
                if is_new:
                    opening.remove_file(url)
                raise
        numbers = (numbered(counts[table], *words) for table, words in COUNTED.items())
        print_lines([f"{', '.join(numbers)} copied"])
