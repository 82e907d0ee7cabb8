"""Chooses the format of a feed document by its root element, or by the brace that begins JSON."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from lxml.etree import XMLSyntaxError

from fhcrawl.documents import json_text, limits, link_header, lists
from fhcrawl.documents.formats import XML_FORMATS, jsonfeed, multipart
from fhcrawl.documents.head_links import HeadLinks
from fhcrawl.documents.limits import Bounds
from fhcrawl.documents.lists import DocumentList
from fhcrawl.documents.model import FeedDocument, Problem
from fhcrawl.documents.xml import elements, encoding, parsing
from fhcrawl.documents.xml.layout import layout_of
from fhcrawl.documents.xml.parsed import Parsed
from fhcrawl.exceptions import NotAFeedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lxml.etree import _Element

    from fhcrawl.documents.json_text import Json
    from fhcrawl.documents.model import Entry
    from fhcrawl.documents.xml.parsed import Collect

# RFC 6838, 4.2: type and subtype have no more than 127 characters each.
LONGEST_MEDIA_TYPE = 255
IS_LIST = "it is a list of documents"
READERS = {place.around[-1]: form.read for form in XML_FORMATS for place in form.places}
LAYOUT = layout_of(place for form in XML_FORMATS for place in form.places)


def declared(content_type: str | None) -> tuple[str, str]:
    """Media type and charset of a Content-Type header, each in one spelling, without white space and ';'.

    :return: '' for what it does not say; a charset that is not known counts as none
    """
    media_type = (content_type or "").partition(";")[0].lower()
    charset = encoding.resolve(multipart.parameter(content_type, "charset"))
    return "".join(media_type.split())[:LONGEST_MEDIA_TYPE], charset or ""


def boundary(content_type: str | None) -> str:
    """What separates the parts of a multipart document; '' for another one, or if it is not said."""
    return multipart.parameter(content_type, "boundary") if multipart.is_multipart(content_type) else ""


def read(
    body: bytes,
    url: str,
    content_type: str | None = None,
    links: Sequence[str] = (),
    last_modified: str | None = None,
    keep_originals: bool = False,
    most: Bounds = Bounds(),  # noqa: B008 - a plain, immutable value
    collect: Collect = list,
) -> FeedDocument:
    """Read a feed document; the parameters and errors are those of `read_any`.

    :raises NotAFeedError: also if it is a list of documents
    """
    found = read_any(body, url, content_type, links, last_modified, keep_originals, most, collect)
    if isinstance(found, DocumentList):
        raise NotAFeedError("not-a-feed", IS_LIST)
    return found


def read_any(
    body: bytes,
    url: str,
    content_type: str | None = None,
    links: Sequence[str] = (),
    last_modified: str | None = None,
    keep_originals: bool = False,
    most: Bounds = Bounds(),  # noqa: B008 - a plain, immutable value
    collect: Collect = list,
) -> FeedDocument | DocumentList:
    """Read a feed document, or a list of documents.

    :param body: the bytes of the response
    :param url: where they came from; relative references are resolved against it
    :param content_type: the Content-Type header, as it came; only its parameters are believed, and that it is
        multipart or, of a `file:` URL, a list
    :param links: the values of the Link headers; the document's own links come first
    :param last_modified: the Last-Modified header: the update time of a multipart page
    :param keep_originals: entries are to know their own XML or JSON; those of multipart have all in fields
    :param most: what the document may hold; what is beyond is left out, with a problem of `limits.KINDS`
    :param collect: keeps the entries while they are read
    :raises NotAFeedError: if the body is empty, HTML, neither XML nor JSON, or XML or JSON of another kind;
        if it has too many elements or values, or if it is a list of too many documents
    """
    if lists.is_folder(url, content_type):
        return lists.read_folder(body, most)
    if multipart.is_multipart(content_type):
        document = multipart.read(body, url, content_type, links, last_modified, most.entries)
        return _cut(document, len(body), most)
    found = _read(body, url, content_type, keep_originals, most, collect)
    if links and isinstance(found, FeedDocument):
        # RFC 8288, 1: links "allow[…] typed relations between resources", whatever the format.
        HeadLinks(found.links, found.other_links).update(link_header.read(links, url))
    return found


def _read(
    body: bytes, url: str, content_type: str | None, keep_originals: bool, most: Bounds, collect: Collect
) -> FeedDocument | DocumentList:
    asked = url, len(body), keep_originals, most, collect
    if jsonfeed.is_json(body):
        return _read_json(json_text.parse(body, most), *asked)
    charset = multipart.parameter(content_type, "charset") or None
    # A large document is read without its whole tree, if that can be done.
    if len(body) >= parsing.LARGE:
        with suppress(XMLSyntaxError):
            if (parsed := parsing.begin(body, charset, most, LAYOUT)) is not None:
                return _read_parsed(parsed, *asked)
    limits.check_markup(body, most)
    return _read_parsed(parsing.parse(body, charset, most, LAYOUT), *asked)


def _read_json(
    found: Json, url: str, octets: int, keep_originals: bool, most: Bounds, collect: Collect
) -> FeedDocument | DocumentList:
    if not jsonfeed.is_feed(found):
        listed = lists.read_index(found, url, most)
        if listed is None:
            raise NotAFeedError("not-a-feed", "it is JSON that has no version of JSON Feed")
        return listed
    cut: list[Problem] = []

    def collect_within(entries: Iterable[Entry]) -> Sequence[Entry]:
        return collect(limits.within(entries, octets, most, cut))

    document = jsonfeed.read(found, url, keep_originals, most, collect_within)
    document.problems += cut
    return document


def _cut(document: FeedDocument, octets: int, most: Bounds) -> FeedDocument:
    document.entries = list(limits.within(document.entries, octets, most, document.problems))
    return document


def _read_parsed(
    parsed: Parsed, url: str, octets: int, keep_originals: bool, most: Bounds, collect: Collect
) -> FeedDocument:
    originals: deque[bytes] = deque()
    beyond: list[Problem] = []
    cut: list[Problem] = []

    def collect_within(entries: Iterable[Entry]) -> Sequence[Entry]:
        whole = _with_originals(entries, originals) if keep_originals else entries
        return collect(limits.within(whole, octets, most, cut))

    kept = originals if keep_originals else None
    parsed = Parsed(*parsed[:4], kept, most, beyond, collect_within, parsed.is_crowded, LAYOUT)
    document = _reader_of(parsed.root)(parsed, url)
    document.problems[:0] = [*parsed.problems, *beyond]
    if document.fault and (kind := limits.kind_of_fault(document.fault, "")):
        document.problems.append(Problem(kind, "", document.fault))
    document.problems += cut
    return document


def _with_originals(entries: Iterable[Entry], originals: deque[bytes]) -> Iterator[Entry]:
    for entry in entries:
        entry.original = originals.popleft()
        yield entry


def _reader_of(root: _Element) -> Callable[[Parsed, str], FeedDocument]:
    try:
        return READERS[root.tag]
    except KeyError:
        name = elements.local_name(root)
        if name.lower() == "html":
            raise NotAFeedError("html", "it is an HTML page") from None
        raise NotAFeedError("not-a-feed", f"it is XML whose root element is <{name}>") from None
