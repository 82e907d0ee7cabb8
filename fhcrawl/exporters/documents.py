"""Writes feed documents: a head section, then the entries of an iterable."""

from __future__ import annotations

import contextlib
from typing import IO, TYPE_CHECKING, NamedTuple

from lxml import etree

from fhcrawl.documents.identifiers import EXPORT, OWN_ID
from fhcrawl.documents.tombstones import DELETED_ENTRY
from fhcrawl.documents.xml.elements import ATOM, FH
from fhcrawl.exporters.entries import cleaned, leaf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lxml.etree import _Element

    from fhcrawl.exporters.entries import EntryFormat
    from fhcrawl.exporters.heads import FeedHead

TOMBSTONES = DELETED_ENTRY[1:].partition("}")[0]
PREFIXES: dict[str, str] = {
    # Otherwise, lxml's incremental writer gives this namespace another prefix.
    "xml": "http://www.w3.org/XML/1998/namespace",
    "fh": FH[1:-1],
    "at": TOMBSTONES,
    "fx": EXPORT[1:-1],
}
# The element that contains `Head.feed`.
FEED = f"{EXPORT}feed"


class Head(NamedTuple):
    """A head section.

    :param feed: URL of the entries' feed, which also identifies this document's feed
    :param updated: the document's update time, ISO 8601 in UTC
    :param links: pairs of relation and URL
    :param marks: names of empty elements of RFC 5005: `archive`, `complete`
    :param source: the head section of the feed, whose metadata the document has; None if it is not known
    """

    feed: str
    title: str | None
    updated: str
    links: tuple[tuple[str, str], ...] = ()
    marks: tuple[str, ...] = ()
    source: FeedHead | None = None

    @property
    def name(self) -> str:
        """The title, or the URL of a feed without one."""
        return str(cleaned(self.title or self.feed))


class DocumentFormat(NamedTuple):
    """A format of feed documents.

    :param suffix: suffix of files, and name of the format in `fhcrawl export`
    :param around: the elements that enclose entries, outermost first: tags and attributes
    :param head: returns the elements of a head section
    :param root: returns the attributes of the root, besides those of `around`
    :param named: tag of the element that contains `Head.feed` in documents without `FEED`
    """

    suffix: str
    entry: EntryFormat
    around: tuple[tuple[str, dict[str, str]], ...]
    nsmap: dict[str, str]
    head: Callable[[Head], list[_Element]]
    root: Callable[[Head], dict[str, str]]
    named: str


def write(file: IO[bytes], form: DocumentFormat, head: Head, entries: Iterable[_Element]) -> int:
    """Write a document incrementally; return the number of its entries."""
    count = 0
    with xml_file(file) as output:
        output.write_declaration()
        (root, attributes), *inner = form.around
        with output.element(root, {**attributes, **form.root(head)}, nsmap=form.nsmap):
            if inner:
                with output.element(inner[0][0]):
                    count = _write_inside(output, form.head(head), entries)
            else:
                count = _write_inside(output, form.head(head), entries)
    return count


class _Noting:
    """A file that records errors: lxml ignores an error of its last write."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.error: BaseException | None = None

    def write(self, octets: bytes) -> int:
        """Write, and record an error."""
        try:
            return self._file.write(octets)
        except BaseException as error:
            self.error = error
            raise


@contextlib.contextmanager
def xml_file(file: IO[bytes]) -> Iterator[etree._IncrementalFileWriter]:
    """Open an XML document that is written incrementally.

    :raises OSError: if any of it cannot be written
    """
    noting = _Noting(file)
    with etree.xmlfile(noting, encoding="utf-8") as output:
        yield output
    if noting.error is not None:
        raise noting.error


def _write_inside(
    output: etree._IncrementalFileWriter, head: Iterable[_Element], entries: Iterable[_Element]
) -> int:
    for each in head:
        _write_line(output, each)
    count = 0
    for count, entry in enumerate(entries, 1):  # noqa: B007
        _write_line(output, entry)
    output.write("\n")
    return count


def _write_line(output: etree._IncrementalFileWriter, each: _Element) -> None:
    output.write("\n")
    output.write(each, with_tail=False)


# RFC 6721, 3: at:deleted-entry has the id of the deleted entry and the time of its deletion.
def tombstone(entry_id: str, when: str, form: DocumentFormat) -> _Element:
    """Return the at:deleted-entry of an entry.

    :param when: ISO 8601 in UTC
    """
    deleted = etree.Element(DELETED_ENTRY, nsmap={"at": TOMBSTONES, "fx": EXPORT[1:-1]})
    own = cleaned(entry_id)
    ref = form.entry.identifier(own)
    deleted.set("ref", ref)
    if ref != own:
        deleted.set(OWN_ID, own)
    deleted.set("when", when)
    return deleted


def link(rel: str, href: str) -> _Element:
    """Return an atom:link of a head section, for Atom and for RSS (which declares Atom's namespace)."""
    return leaf(f"{ATOM}link", rel=rel, href=href)


def extensions(head: Head) -> list[_Element]:
    """Return the links and RFC 5005's elements of a head section, and the URL of the feed."""
    named = etree.Element(FEED, nsmap={"fx": EXPORT[1:-1]})
    named.text = cleaned(head.feed)
    marks = [etree.Element(f"{FH}{name}", nsmap={"fh": FH[1:-1]}) for name in head.marks]
    return [named, *(link(rel, href) for rel, href in head.links), *marks]
