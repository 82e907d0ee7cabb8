"""`fhcrawl unsubscribe`: removes feeds from those that are crawled without arguments, or from the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from fhcrawl.commands import printing, typed
from fhcrawl.core import command
from fhcrawl.exceptions import ArgumentError

if TYPE_CHECKING:
    import argparse

STAYS = "is no longer subscribed; its entries stay in the store"
FORGOTTEN = "is forgotten: nothing was ever read of it"
DELETED = "is deleted from the store: {:,} {}"


class Command(command.Command):
    """Removes subscriptions from the store; with --delete, also all that is stored of the feeds."""

    usage = "[--delete] URL …"
    summary = "Unsubscribe from feeds; their entries stay in the store"
    description = (
        "Let 'fhcrawl crawl' without URLs leave feeds out. What is stored of them stays, and "
        "'fhcrawl export' writes it. A feed of which nothing was ever read is forgotten, also if "
        "it was not subscribed."
    )
    examples = (
        "fhcrawl unsubscribe https://example.org/index.atom",
        "fhcrawl unsubscribe --delete https://example.org/index.atom",
    )
    operand = ("URL", "a feed")
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "--delete": {
            "action": "store_true",
            "help": "delete all that is stored of the feeds too, subscribed or not: entries, documents, and "
            "changes that were not exported yet. WARC files stay",
        }
    }

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        """Unsubscribe from the feeds; from none of them if one cannot be removed."""
        from fhcrawl.utils.text import printable

        if not args:
            raise ArgumentError("write fhcrawl unsubscribe https://example.org/index.atom")
        urls = [*dict.fromkeys(map(typed, args))]
        with self.opened_store(to_write=True) as store:
            if opts.delete:
                counts = store.subscriptions.delete(urls)
                removed = {
                    url: DELETED.format(count, "entry" if count == 1 else "entries")
                    for url, count in counts.items()
                }
            else:
                forgotten = store.subscriptions.remove(urls)
                removed = {url: FORGOTTEN if is_gone else STAYS for url, is_gone in forgotten.items()}
        with printing():
            for url, what in removed.items():
                print(f"{printable(url)} {what}")
