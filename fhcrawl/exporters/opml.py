"""Writes the feeds of the store as a subscription list in OPML 2.0, with their verdicts."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from lxml import etree

from fhcrawl.exporters.documents import xml_file
from fhcrawl.exporters.entries import cleaned

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fhcrawl.exporters.selection import Wanted
    from fhcrawl.store import Feed, Store


# OPML 2.0, 'Subscription lists': outlines with type, text and xmlUrl; the others are fhcrawl's own.
def write(file: IO[bytes], store: Store, feeds: Iterable[Feed], wanted: Wanted) -> int:
    """Write an outline for each feed; return their number."""
    count = 0
    with xml_file(file) as output:
        output.write_declaration()
        with output.element("opml", {"version": "2.0"}):
            output.write(etree.fromstring("<head><title>Feeds of fhcrawl</title></head>"))
            with output.element("body"):
                for count, feed in enumerate(feeds, 1):  # noqa: B007
                    output.write("\n")
                    output.write(etree.Element("outline", _attributes(feed)))
                output.write("\n")
    return count


def _attributes(feed: Feed) -> dict[str, str]:
    said = {
        "type": "rss",
        "text": feed.title or feed.feed,
        "title": feed.title,
        "xmlUrl": feed.feed,
        "fhVerdict": feed.verdict.value,
        "fhKind": feed.kind and feed.kind.value,
        "fhReasons": "; ".join(f"{reason.url} {reason.detail}" for reason in feed.reasons),
        "fhEntries": str(feed.entries),
        "fhCrawled": feed.crawled,
    }
    return {name: cleaned(value) for name, value in said.items() if value}
