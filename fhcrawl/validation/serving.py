"""Rules of HTTP about one document: its media type, its encoding, its caching, its size."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from fhcrawl.documents import detection
from fhcrawl.documents.xml import encoding
from fhcrawl.logical_feed import Role, polling
from fhcrawl.validation.model import advice, error, of_document, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fhcrawl.validation.model import CheckedDocument, Finding

# RFC 4287, 7; RFC 7303, 9; RSS has no registered type; JSON Feed 1.1, "Suggestions for Publishers";
# ActivityStreams 2.0, 3, and ActivityPub, 3.2.
TYPES = {
    "activitystreams": ("application/activity+json", "application/ld+json"),
    "atom": ("application/atom+xml",),
    "rss": ("application/rss+xml", "application/rdf+xml"),
    "json": ("application/feed+json", "application/json"),
}
XML = ("application/xml", "text/xml")
GZIP = ("application/gzip", "application/x-gzip")
HTTP = ("http:", "https:")
DAY = 24 * 60 * 60
LARGE, LARGE_ARCHIVE = 1024**2, 8 * 1024**2
MIB = 1024**2


def _media_type(document: CheckedDocument) -> tuple[str, str]:
    return detection.declared(document.response.headers.get("content-type"))


def _is_http(document: CheckedDocument) -> bool:
    return document.response.url.startswith(HTTP)


# RFC 9110, 8.3: it "indicates the media type of the associated representation"; RFC 4287, 7: Atom's is
# application/atom+xml.
@of_document("RFC 9110, 8.3")
def media_type(document: CheckedDocument) -> Iterator[Finding]:
    """The Content-Type is that of the format."""
    expected = TYPES.get(document.feed.format, ())
    found, _charset = _media_type(document)
    if not _is_http(document) or not expected or found in expected:
        return
    fix = f"Serve it as {expected[0]}{', with Content-Encoding: gzip' if found in GZIP else ''}."
    text = f"Its Content-Type is {found}." if found else "It has no Content-Type."
    if found in XML and document.feed.format != "json":
        yield advice(text, None, fix)
    elif found == "text/html":
        yield error(text, None, fix)
    else:
        yield warning(text, None, fix)


# RFC 7303, 3: the byte order mark has precedence over the charset parameter, and that over the declaration.
@of_document("RFC 7303, 3")
def one_encoding(document: CheckedDocument) -> Iterator[Finding]:
    """Content-Type, XML declaration and byte order mark name one encoding."""
    body, charset = document.response.body, _media_type(document)[1]
    written = encoding.DECLARATION.match(body, 0, encoding.LONGEST_DECLARATION)
    declared = encoding.resolve(written[1].decode("latin-1")) if written else None
    mark = encoding.UTF_8 if body.startswith(codecs.BOM_UTF8) else None
    names = {"its byte order mark": mark, "Content-Type": charset or None, "its XML declaration": declared}
    said = [(where, name) for where, name in names.items() if name]
    if document.feed.format != "json" and len({name for _where, name in said}) > 1:
        text = ", but ".join(f"{where} says {name}" for where, name in said)
        yield warning(f"{text[0].upper()}{text[1:]}.", 1, "Keep the correct one.")


# RFC 5005, 4: "the URI for a particular archive document SHOULD NOT change over time".
@of_document("RFC 5005, 4")
def archive_url(document: CheckedDocument) -> Iterator[Finding]:
    """The URL of an archive is its own, without a redirect."""
    redirects = document.response.redirects
    if not document.is_archive or not redirects:
        return
    text = f"The archive's URL redirects ({redirects[0]}) to {document.response.url}."
    if document.response.is_moved:
        yield warning(text, None, f"Link to {document.response.url}.")
    else:
        yield advice(text, None, f"Link to {document.response.url}, if that is its permanent URL.")


# RFC 9111, 5.2.2: how long a response is fresh. RFC 5005, 4.1: clients may "safely assume that if they have
# retrieved one in the past, it will not meaningfully change in the future".
@of_document("RFC 9111, 5.2.2")
def caching(document: CheckedDocument) -> Iterator[Finding]:
    """Archives may be cached for long."""
    headers = document.response.headers
    fresh = polling.freshness(
        headers.get("cache-control", ""), headers.get("expires"), headers.get("date"), headers.get("age")
    )
    if _is_http(document) and document.is_archive and (fresh is None or fresh < DAY):
        text = "The server does not say how long the archive can be cached."
        if fresh is not None:
            text = f"The archive can be cached for {fresh} seconds only."
        fix = "Archives do not change: send Cache-Control: max-age=31536000, immutable."
        yield advice(text, None, fix)


# RFC 5005, 1: feeds are split "to save bandwidth".
@of_document("RFC 5005, 1")
def size(document: CheckedDocument) -> Iterator[Finding]:
    """Documents are small, above all the one that is polled."""
    octets = len(document.response.body)
    is_polled = document.role is Role.SUBSCRIPTION and not document.feed.complete
    if octets > (LARGE if is_polled else LARGE_ARCHIVE):
        text = f"It has {octets / MIB:.1f} MiB."
        fix = "Move entries to archives." if is_polled else "Split it into several archives."
        yield advice(text, None, fix)
