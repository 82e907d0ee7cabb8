"""Writes feeds of the store as documents: the formats, a complete document, an archive set."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from lxml import etree

from fhcrawl.documents.identifiers import EXPORT
from fhcrawl.exporters import archives, atom, documents, rss
from fhcrawl.exporters.documents import FeedHead, Head, cleaned, xml_file
from fhcrawl.exporters.selection import gap_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from lxml.etree import _Element

    from fhcrawl.exporters.documents import DocumentFormat
    from fhcrawl.exporters.selection import Wanted
    from fhcrawl.store import Feed, Store


def write_document(file: IO[bytes], store: Store, feed: Feed, form: DocumentFormat, wanted: Wanted) -> int:
    """Write a complete feed (RFC 5005, 2), newest entry first; return the number of entry elements."""
    since, latest = store.feeds.read_times(feed.feed)
    head = Head(feed.feed, feed.title, latest or since, marks=("complete",), source=_source(store, feed))
    return documents.write(file, form, head, _elements(store, feed, form, wanted, latest or since))


def write_archives(
    folder: Path, base: str, size: int, store: Store, feed: Feed, form: DocumentFormat, wanted: Wanted
) -> int:
    """Write a feed's archive set (RFC 5005, 4); return the number of archives.

    :param base: URL of the folder, ending in a slash
    :param size: number of entries in an archive
    :raises ExportError: if there are other documents in the folder
    """
    since, _latest = store.feeds.read_times(feed.feed)
    target = archives.Target(folder, base, form, feed.feed, feed.title, since, size, _source(store, feed))
    return archives.write(
        target,
        lambda: store.entries.read_versions(feed.feed),
        wanted.chosen,
        _gaps(feed, form) if wanted.gaps else [],
        wanted.tombstones,
    )


def _source(store: Store, feed: Feed) -> FeedHead | None:
    found = store.feeds.read_heads([feed.feed]).get(feed.feed)
    return None if found is None else FeedHead(found.original, found.document)


def _gaps(feed: Feed, form: DocumentFormat) -> list[_Element]:
    return [documents.entry_element(fields, None, form.entry) for fields in gap_entries(feed)]


def _elements(
    store: Store, feed: Feed, form: DocumentFormat, wanted: Wanted, otherwise: str
) -> Iterator[_Element]:
    if wanted.gaps:
        yield from _gaps(feed, form)
    for version in store.entries.read_versions(feed.feed, newest_first=True):
        if version.is_deleted:
            if wanted.tombstones:
                when = f"{version.time}Z" if version.time else otherwise
                yield documents.tombstone(version.fields["id"], when, form)
        elif wanted.chosen(version.fields):
            yield documents.entry_element(version.fields, version.original, form.entry)


NSMAP: dict[str, str] = {"fx": EXPORT[1:-1]}


# OPML 2.0, 'Subscription lists': outlines with type, text and xmlUrl; other attributes need a namespace
# ('Extending OPML').
def write_opml(file: IO[bytes], feeds: Iterable[Feed]) -> int:
    """Write an outline for each feed; return their number."""
    count = 0
    with xml_file(file) as output:
        output.write_declaration()
        with output.element("opml", {"version": "2.0"}, nsmap=NSMAP):
            output.write(etree.fromstring("<head><title>Feeds of fhcrawl</title></head>"))
            with output.element("body"):
                for count, feed in enumerate(feeds, 1):  # noqa: B007
                    output.write("\n")
                    output.write(etree.Element("outline", _outline(feed), nsmap=NSMAP))
                output.write("\n")
    return count


def _outline(feed: Feed) -> dict[str, str]:
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


# By their names in `fhcrawl export`: the formats of feeds, and the function that writes a list of feeds.
XML_FORMATS = {"atom": atom.FORMAT, "rss": rss.FORMAT}
LIST_FORMATS = {"opml": write_opml}
