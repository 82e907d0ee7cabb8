"""Writes the feeds of the store as a subscription list in OPML 2.0, with their verdicts."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from lxml import etree

from fhcrawl.documents.identifiers import EXPORT
from fhcrawl.exporters.documents import xml_file
from fhcrawl.exporters.entries import cleaned

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fhcrawl.exporters.selection import Wanted
    from fhcrawl.store import Feed, Store


NSMAP: dict[str, str] = {"fx": EXPORT[1:-1]}


# OPML 2.0, 'Subscription lists': outlines with type, text and xmlUrl; other attributes need a namespace
# ('Extending OPML').
def write(file: IO[bytes], store: Store, feeds: Iterable[Feed], wanted: Wanted) -> int:
    """Write an outline for each feed; return their number."""
    count = 0
    with xml_file(file) as output:
        output.write_declaration()
        with output.element("opml", {"version": "2.0"}, nsmap=NSMAP):
            output.write(etree.fromstring("<head><title>Feeds of fhcrawl</title></head>"))
            with output.element("body"):
                for count, feed in enumerate(feeds, 1):  # noqa: B007
                    output.write("\n")
                    output.write(etree.Element("outline", _attributes(feed), nsmap=NSMAP))
                output.write("\n")
    return count


def _attributes(feed: Feed) -> dict[str, str]:
    said = {
        "type": "rss",
        "text": feed.title or feed.feed,
        "title": feed.title,
        "xmlUrl": feed.feed,
        f"{EXPORT}verdict": feed.verdict.value,
        f"{EXPORT}kind": feed.kind and feed.kind.value,
        f"{EXPORT}reasons": "; ".join(f"{reason.url} {reason.detail}" for reason in feed.reasons),
        f"{EXPORT}entries": str(feed.entries),
        f"{EXPORT}crawled": feed.crawled,
    }
    return {name: cleaned(value) for name, value in said.items() if value}
