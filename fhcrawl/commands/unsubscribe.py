"""`fhcrawl unsubscribe`: removes feeds from those that are crawled without arguments, or from the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from fhcrawl.commands import named, print_lines
from fhcrawl.core import command
from fhcrawl.exceptions import ArgumentError
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    import argparse

STAYS = "is no longer subscribed; its entries stay in the store"
FORGOTTEN = "is removed from the store, because it was never read"
DELETED = "is deleted from the store, with {:,} {}"
MERGED = "is merged into {}; entries added: {:,}"


class Command(command.Command):
    usage = "[--delete | --merge-into URL] URL …"
    description = (
        "Exclude feeds from 'fhcrawl crawl' without URLs. Their entries stay in the store and in 'fhcrawl "
        "export'. Feeds that were never read are removed from the store, even if not subscribed."
    )
    examples = (
        "fhcrawl unsubscribe https://example.org/index.atom",
        "fhcrawl unsubscribe --delete https://example.org/index.atom",
        "fhcrawl unsubscribe --merge-into https://example.org/index.atom https://old.example/feed",
    )
    operand = ("URL", "URL of a feed")
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "--delete": {
            "action": "store_true",
            "help": "also delete everything stored for the feeds, subscribed or not, even unexported "
            "changes; WARC files are kept",
        },
        "--merge-into": {
            "metavar": "URL",
            "help": "merge the feeds into this one: it takes over their subscription, and the entries, "
            "versions and unexported changes that it lacks",
        },
    }

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args:
            raise ArgumentError("A feed is required: fhcrawl unsubscribe https://example.org/index.atom")
        if opts.delete and opts.merge_into is not None:
            raise ArgumentError("--delete and --merge-into cannot be used together")
        with self.opened_store(to_write=True) as store:
            urls = [*dict.fromkeys(named(store, url) for url in args)]
            if opts.merge_into is not None:
                kept = named(store, opts.merge_into)
                moved = store.feeds.merge(kept, urls)
                removed = {url: MERGED.format(printable(kept), count) for url, count in moved.items()}
            elif opts.delete:
                counts = store.subscriptions.delete(urls)
                removed = {
                    url: DELETED.format(count, "entry" if count == 1 else "entries")
                    for url, count in counts.items()
                }
            else:
                forgotten = store.subscriptions.remove(urls)
                removed = {url: FORGOTTEN if is_gone else STAYS for url, is_gone in forgotten.items()}
        print_lines(f"{printable(url)} {outcome}" for url, outcome in removed.items())
