"""Chooses the format of a feed document by its root element, or by the brace that begins JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml.etree import XMLSyntaxError

from fhcrawl.documents import atom, atom03, bounds, jsonfeed, linkheader, multipart, parsing, rss, xml
from fhcrawl.documents.bounds import Bounds
from fhcrawl.documents.model import Problem
from fhcrawl.exceptions import NotAFeedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fhcrawl.documents.model import FeedDocument

FORMATS = {
    atom.ROOT: atom.read,
    atom03.ROOT: atom03.read,
    rss.RDF_ROOT: rss.read_rdf,
    **dict.fromkeys(rss.ROOTS, rss.read),
}


def read(
    body: bytes,
    url: str,
    content_type: str | None = None,
    links: Sequence[str] = (),
    last_modified: str | None = None,
    keep_originals: bool = False,
    most: Bounds = Bounds(),  # noqa: B008 - a plain, immutable value
) -> FeedDocument:
    """Read a feed document.

    :param body: the bytes of the response
    :param url: where they came from; relative references are resolved against it
    :param content_type: the Content-Type header, as it came; only its parameters are believed, and that it is
        multipart
    :param links: the values of the Link headers; the document's own links come first
    :param last_modified: the Last-Modified header: the update time of a multipart page
    :param keep_originals: entries are to know their own XML or JSON; those of multipart have all in fields
    :param most: what the document may hold; what is beyond is left out, with a problem of `bounds.KINDS`
    :raises NotAFeedError: if the body is empty, HTML, neither XML nor JSON, or XML or JSON of another kind;
        or if it has too many elements
    """
    if multipart.is_multipart(content_type):
        document = multipart.read(body, url, content_type, links, last_modified, most.entries)
        bounds.cut(document, len(body), most)
        return document
    document = _read(body, url, content_type, keep_originals, most)
    bounds.cut(document, len(body), most)
    if not links:
        return document
    # RFC 8288, 1: links "allow[…] typed relations between resources", whatever the format.
    for relation, target in linkheader.read(links, url).items():
        document.links.setdefault(relation, target)
    return document


def _read(
    body: bytes, url: str, content_type: str | None, keep_originals: bool, most: Bounds
) -> FeedDocument:
    if jsonfeed.is_json(body):
        return jsonfeed.read(body, url, keep_originals, most.entries)
    charset = multipart.parameter(content_type, "charset") or None
    document = _read_in_pieces(body, url, charset, keep_originals, most)
    if document is not None:
        return document
    bounds.check_markup(body, most)
    return _read_parsed(parsing.parse(body, charset), url, keep_originals, most)


def _read_in_pieces(
    body: bytes, url: str, charset: str | None, keep_originals: bool, most: Bounds
) -> FeedDocument | None:
    """Read a large document without its whole tree; None if it is none, or cannot be read so."""
    try:
        parsed = parsing.begin(body, charset, most)
        return None if parsed is None else _read_parsed(parsed, url, keep_originals, most)
    except XMLSyntaxError:
        return None


def _read_parsed(parsed: parsing.Parsed, url: str, keep_originals: bool, most: Bounds) -> FeedDocument:
    originals: list[str] = []
    beyond: list[Problem] = []
    parsed = parsing.Parsed(*parsed[:4], originals if keep_originals else None, most, beyond)
    try:
        reader = FORMATS[parsed.root.tag]
    except KeyError:
        name = xml.local_name(parsed.root)
        if name.lower() == "html":
            raise NotAFeedError("html", "it is an HTML page, not a feed") from None
        raise NotAFeedError(
            "not-a-feed", f"it is XML, but not a feed: its root element is <{name}>"
        ) from None
    document = reader(parsed, url)
    document.problems[:0] = [*parsed.problems, *beyond]
    if document.fault and (kind := bounds.kind_of_fault(document.fault, "")):
        document.problems.append(Problem(kind, "", document.fault))
    if keep_originals:
        for entry, original in zip(document.entries, originals, strict=True):
            entry.original = original
    return document
