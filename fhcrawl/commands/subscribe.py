"""`fhcrawl subscribe`: adds feeds that `scrapy crawl history` crawls without arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from fhcrawl.commands import print_lines, print_refused
from fhcrawl.core import command
from fhcrawl.exceptions import ArgumentError

if TYPE_CHECKING:
    import argparse


class Command(command.Command):
    usage = "URL|FILE …"
    description = (
        "Save feeds in the store: 'fhcrawl crawl' without URLs crawls them, and 'fhcrawl crawl --due' "
        "those that are due. A file is a list of feeds: one URL per line, OPML or TOML. "
        "Options in the list are saved too."
    )
    examples = (
        "fhcrawl subscribe https://example.org/index.atom",
        "fhcrawl subscribe subscriptions.opml",
    )
    operand = ("URL|FILE", "URL of a feed, or file with a list of feeds")
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "--merge-renamed": {
            "action": "store_true",
            "help": "in crawls of these feeds, delete entries under their former ids",
        },
    }

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from fhcrawl.core.checks import check_switch
        from fhcrawl.crawling import subscriptions
        from fhcrawl.utils.clock import now

        if not args:
            raise ArgumentError("A feed is required: fhcrawl subscribe https://example.org/index.atom")
        check_switch(self.settings, subscriptions.LISTED_FILES)
        listed = subscriptions.from_words(args, self.settings.getbool(subscriptions.LISTED_FILES))
        added_options = {"merge_renamed": True} if opts.merge_renamed else {}
        plain = {url: options.plain() | added_options for url, options in listed.items()}
        with self.opened_store(to_write=True) as store:
            new = store.subscriptions.add(plain, now(), listed.titles)
        self.exitcode = print_refused(listed.refused)
        refused = f"; invalid: {len(listed.refused)}" if listed.refused else ""
        print_lines([f"Newly subscribed: {new}; already subscribed: {len(listed) - new}{refused}"])
