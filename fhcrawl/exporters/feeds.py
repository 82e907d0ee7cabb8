"""Writes feeds of the store as documents: the formats, a complete document, an archive set."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, NamedTuple

from fhcrawl.exporters import archives, atom, documents, entries, gaps, opml, rss
from fhcrawl.exporters.documents import Head
from fhcrawl.exporters.heads import FeedHead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from lxml.etree import _Element

    from fhcrawl.exporters.documents import DocumentFormat
    from fhcrawl.exporters.selection import Wanted
    from fhcrawl.store import Feed, Store


class OtherFormat(NamedTuple):
    """A format that is not a feed in XML.

    :param write: writes a document of feeds of the store; returns the number of its entries, or feeds
    :param has_entries: the document has the entries of one feed; otherwise, it is a list of feeds
    """

    write: Callable[[IO[bytes], Store, Sequence[Feed], Wanted], int]
    has_entries: bool


# A line for each format, by its name in `fhcrawl export`.
XML_FORMATS = {
    "atom": atom.FORMAT,
    "rss": rss.FORMAT,
}
OTHER_FORMATS = {
    "opml": OtherFormat(opml.write, has_entries=False),
}


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
    return [entries.element(fields, None, form.entry) for fields in gaps.entries(feed)]


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
            yield entries.element(version.fields, version.original, form.entry)
