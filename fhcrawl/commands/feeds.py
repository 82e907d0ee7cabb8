"""`fhcrawl feeds`: lists the feeds in the store with their verdicts."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections import defaultdict
from itertools import chain, islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from fhcrawl import __version__
from fhcrawl.commands import FAIL_ON, is_failure, print_lines, stored
from fhcrawl.core import command
from fhcrawl.exceptions import ArgumentError
from fhcrawl.logical_feed import FAILED, WORDS, shown_verdict
from fhcrawl.logical_feed.verdicts import BASES
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.clock import now
from fhcrawl.utils.text import escaped, json_escaped, numbered, printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

    from fhcrawl.store import Feed, Store
    from fhcrawl.store.feeds import Gap, StoredHead


FEEDS_AT_ONCE = 200
DAY = len("2003-12-13")
MOST_CITED = 3  # reasons
NO_FEEDS = "No feeds in {} yet; run fhcrawl crawl https://example.org/index.atom -o entries.jsonl"

SAME = "{kept} and {other} are the same feed; run fhcrawl unsubscribe --merge-into {kept} {other}"
NO_SUCH_FEED = "No feed has the verdict {}"


class Command(command.Command):
    usage = "[URL …] [--verdict NAME] [--json] [--missing] [--cite] [--wide] [--fail-on VERDICT]"
    description = (
        "List the feeds in the store, or the given ones, worst first: title, number of entries, dates of "
        "the oldest and newest entries, and verdict; then what is missing, and what to do about it."
    )
    examples = (
        "fhcrawl feeds",
        "fhcrawl feeds --verdict incomplete",
        "fhcrawl feeds --json | jq .",
        "fhcrawl feeds https://example.org/blog.rss --missing | wget -i -",
        "fhcrawl feeds https://example.org/blog.rss --cite",
        "fhcrawl feeds --fail-on unknown > /dev/null || echo something is missing",
    )
    operand = ("URL", "URL of a feed")
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "--verdict": {
            "metavar": "NAME",
            "choices": WORDS,
            "help": f"list only feeds with this verdict: {', '.join(WORDS)} (`unknown` includes not-read)",
        },
        "--json": {"action": "store_true", "help": "print JSON"},
        "--missing": {
            "action": "store_true",
            "help": "print only URLs in sitemaps that look like entries but are not in the store; with "
            "--json, add them as `missing`",
        },
        "--cite": {
            "action": "store_true",
            "help": "print a statement to quote for each feed: verdict, date and reasons; with --json, add "
            "it as `citation`",
        },
        "--wide": {
            "action": "store_true",
            "help": "show more columns, all reasons and full URLs, as in a pipe",
        },
        **FAIL_ON,
    }

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from fhcrawl.reporting.summary import MOST_REASONS, Look, Summary

        if opts.cite and opts.missing and not opts.json:
            raise ArgumentError("--cite and --missing together require --json")
        verdicts: set[str] = set()
        with self.opened_store() as store:
            wanted = [stored(store, url) for url in args]
            feeds = _filter_by_verdict(store.feeds.read(urls=wanted), opts.verdict, verdicts)
            place = printable(store.place)
            none = NO_SUCH_FEED.format(opts.verdict) if opts.verdict else NO_FEEDS.format(place)
            look = Look.of(sys.stdout, opts.wide)
            if opts.json:
                lines = as_json(feeds, store, opts.missing, has_citation=opts.cite)
            elif opts.cite:
                lines = (citation(feed, store, store.feeds.find_gap(feed)) for feed in feeds)
            elif opts.missing:
                lines = (url for feed in feeds for url in store.sitemaps.find_missing(feed.feed))
            else:
                summary = Summary(of_run=False, most_reasons=None if look.width is None else MOST_REASONS)
                for feed in feeds:
                    summary.add(feed, feed.verdict, feed.reasons, gap=store.feeds.find_gap(feed))
                table = summary.lines(look) if summary.verdicts else [none]
                lines = chain(table, _duplicate_lines(store, wanted))
            print_lines(lines, opts.json)
        # A store without feeds fails too: it is more likely the wrong store than a complete one.
        if opts.fail_on and (not verdicts or any(is_failure(word, opts.fail_on) for word in verdicts)):
            self.exitcode = 1


def _filter_by_verdict(feeds: Iterable[Feed], word: str | None, verdicts: set[str]) -> Iterator[Feed]:
    for feed in feeds:
        verdicts.update(feed.words if feed.crawled or feed.entries else (ReasonKind.NOT_READ.value, FAILED))
        if word is None or word in (feed.verdict.value, feed.verdict_in_words):
            yield feed


def _duplicate_lines(store: Store, wanted: list[str]) -> Iterator[str]:
    for kept, other in store.feeds.read_duplicates():
        if not wanted or {kept, other} & {*wanted}:
            yield printable(SAME.format(kept=kept, other=other))


def citation(feed: Feed, store: Store, gap: Gap | None) -> str:
    """Return a statement with the verdict on a feed, as of when, and why."""
    from fhcrawl.reporting.summary import unknown_entries

    name = f'"{printable(feed.title)}" ({escaped(feed.feed)})' if feed.title else escaped(feed.feed)
    as_of = feed.complete_as_of if feed.basis else feed.checked or feed.crawled
    why = [f"nothing is missing, because {BASES[feed.basis]}"] if feed.basis is not None else []
    for reason in feed.reasons[:MOST_CITED]:
        since = f", since {reason.since[:DAY]}" if reason.is_gap or reason.last_read else ""
        why.append(f"{escaped(reason.url)} {printable(reason.detail)}{since}")
        if gap is not None and reason.url == gap.url and (unknown := unknown_entries(feed, gap)):
            why.append(unknown)
    if (more := len(feed.reasons) - MOST_CITED) > 0:
        why.append(f"and {numbered(more, 'more reason', 'more reasons')}")
    documents, undated = store.entries.count_sources(feed.feed)
    dated = f", dated {feed.oldest[:DAY]} to {feed.newest[:DAY]}" if feed.oldest and feed.newest else ""
    dated += f" ({undated:,} without a date)" if undated else ""
    absent = f"; the publisher no longer has {feed.absent:,} of them" if feed.absent else ""
    return (
        f"According to fhcrawl {__version__} on {now()}, {name} has the verdict "
        f'"{shown_verdict(feed.verdict_in_words)}"{f" as of {as_of}" if as_of else ""}: {"; ".join(why)}. '
        f"Stored: {numbered(feed.entries, 'entry', 'entries')}{dated}, "
        f"from {numbered(documents, 'document', 'documents')}{absent}."
    )


def as_json(
    feeds: Iterable[Feed],
    store: Store,
    has_missing: bool = False,
    added: Mapping[str, Mapping[str, int | str | None]] = MappingProxyType({}),
    has_citation: bool = False,
) -> Iterator[str]:
    """Yield the lines of a JSON list with an object for each feed.

    :param has_missing: with the URLs of pages that are not kept
    :param added: keys and values to add, by the feed's URL
    :param has_citation: with the statement to quote
    """
    duplicates = defaultdict[str, list[str]](list)
    for kept, other in store.feeds.read_duplicates():
        duplicates[kept].append(other)
        duplicates[other].append(kept)
    statement = {"fhcrawl_version": __version__, "stated": now()}
    separator, remaining = "[", iter(feeds)
    while batch := list(islice(remaining, FEEDS_AT_ONCE)):
        heads = store.feeds.read_heads([feed.feed for feed in batch])
        for feed in batch:
            metadata = _metadata(heads.get(feed.feed))
            row = {**dataclasses.asdict(feed), "reasons": [reason.to_row() for reason in feed.reasons]}
            gap = store.feeds.find_gap(feed)
            row["gap"] = None if gap is None else gap._asdict()
            row |= {"duplicates": duplicates.get(feed.feed, []), **metadata, **statement}
            row |= added.get(feed.feed, {})
            if has_citation:
                row["citation"] = citation(feed, store, gap)
            if has_missing:
                row["missing"] = store.sitemaps.find_missing(feed.feed)
            yield separator + json_escaped(json.dumps(row, ensure_ascii=False))
            separator = ","
    yield "[]" if separator == "[" else "]"


def _metadata(head: StoredHead | None) -> dict[str, object]:
    from fhcrawl.documents import metadata

    feed = metadata.FeedMetadata() if head is None else metadata.read(head.original, head.document)
    owner = feed.owner and {"name": feed.owner.name, "email": feed.owner.email}
    return {
        "description": feed.description and feed.description.value,
        "link": feed.link,
        "language": feed.language,
        "image": feed.image,
        "authors": [person.name or person.email or person.uri for person in feed.authors],
        "owner": owner,
        "categories": feed.categories,
        "copyright": feed.copyright,
        "generator": feed.generator,
    }
