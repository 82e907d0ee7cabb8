"""`fhcrawl enqueue`: puts feeds into the Redis list from which the workers of a cluster take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from fhcrawl.commands import print_lines, print_refused
from fhcrawl.core import command
from fhcrawl.exceptions import ArgumentError
from fhcrawl.utils.text import how_to_install, numbered

if TYPE_CHECKING:
    import argparse


class Command(command.Command):
    usage = "[URL|FILE …] [--due]"
    description = (
        "Add the subscribed feeds, or the given ones, to the Redis list of a cluster, grouped by host, "
        "except hosts that are already in the list. Workers ('scrapy crawl history') take hosts "
        "from the list."
    )
    examples = ("SCRAPY_SETTINGS_MODULE=pipelines_config.cluster fhcrawl enqueue --due",)
    operand = ("URL|FILE", "URL of a feed, or file with a list of feeds")
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "--due": {"action": "store_true", "help": "enqueue only feeds that are due"}
    }

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from fhcrawl.crawling import subscriptions
        from fhcrawl.utils.clock import now

        try:
            from scrapy_redis.defaults import START_URLS_KEY

            from fhcrawl import cluster
        except ModuleNotFoundError as error:
            install = how_to_install("cluster", "scrapy-redis 'psycopg[binary]'")
            raise ArgumentError(f"The command requires scrapy-redis: {install}") from error
        server = cluster.connect(self.settings)
        requested = subscriptions.from_words(args, self.settings.getbool(subscriptions.LISTED_FILES))
        self.exitcode = print_refused(requested.refused)
        with self.opened_store(to_write=True) as store:
            stored = store.subscriptions
            chosen = subscriptions.choose(stored, requested, now() if opts.due else None)
            why_none = subscriptions.why_none(stored, requested, opts.due)
        # Workers read the options of subscriptions, headers among them, from the store.
        feeds = {url: requested[url].plain() if url in requested else {} for url in chosen}
        key = self.settings.get("REDIS_START_URLS_KEY", START_URLS_KEY) % {"name": "history"}
        hosts, queued = cluster.enqueue(server, key, feeds, opts.due)
        done = f"Queued {numbered(queued, 'feed', 'feeds')} on {numbered(hosts, 'host', 'hosts')}"
        print_lines([done if feeds else why_none])
