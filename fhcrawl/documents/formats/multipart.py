"""Reads pages of multipart event feeds and snapshots (datareplication.io), and of the draft of 2015.

The standard library's email parser ends headers at the first malformed line, and takes 12 times the memory.
"""

from __future__ import annotations

import codecs
import re
from base64 import b64encode
from typing import TYPE_CHECKING

from w3lib.encoding import html_body_declared_encoding, read_bom, resolve_encoding

from fhcrawl.documents.dates import utc
from fhcrawl.documents.links import QUOTED_PAIR, Links, header_links, header_targets
from fhcrawl.documents.model import WHITE_SPACE, Entry, FeedDocument, Problem, identifier
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Octets; the same limit as for the headers of a response.
LONGEST_HEADERS = 128 * 1024
LINE_FEED = b"\n"
ID = "content-id"
START = (b"", codecs.BOM_UTF8)
MULTIPART = re.compile(r"\s*multipart\s*(?:[/;]|$)", re.IGNORECASE)
# RFC 2045, 5.1: parameter := attribute "=" value; value := token / quoted-string. Some producers omit
# required quotes.
PARAMETER = re.compile(r';\s*([^\s=;]+)\s*=\s*(?:"([^"\\]*(?:\\.[^"\\]*)*)"|([^;]*))', re.DOTALL)
BLANK_LINE = re.compile(rb"(?:\A|\n)\r?\n")
FOLD = re.compile(rb"\r?\n(?=[ \t])")  # RFC 5322, 2.2.3
# RFC 5322, 3.6.4: msg-id = [CFWS] "<" id-left "@" id-right ">" [CFWS]
MESSAGE_ID = re.compile(r"\A<([^<>]*)>\Z")
OPERATION = re.compile(r'(?:http-equiv\s*=\s*)?"?(PUT|DELETE|PATCH|POST)"?', re.IGNORECASE)
MARKUP = re.compile(r"[^;]*\b(?:xml|html)\s*(?:;|$)", re.IGNORECASE)
# Codecs of Python that are not charsets.
NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
TO_THE_SECOND = len("2003-12-13T18:30:02")
HISTORY = {"prev-archive": ("prev-archive", "prev", "previous"), "next-archive": ("next-archive", "next")}
OPERATION_HEADERS = ("operation-type", "event-type")
CUT_OFF = "it is truncated: its closing boundary is missing"

Headers = dict[str, list[str]]  # by name in lower case
Entity = tuple[Headers, Entry]


def read(
    body: bytes,
    url: str,
    content_type: str | None,
    links: Sequence[str],
    last_modified: str | None = None,
) -> FeedDocument:
    """Read a page of a feed or of a snapshot.

    A page lists its entities from oldest to newest; `entries` has the reverse order, `problems` the page's.

    :raises NotAFeedError: if it has no boundary or no body, or if an entity's headers are too long
    """
    if not body.strip():
        raise NotAFeedError(ReasonKind.EMPTY, "it is empty")
    boundary = parameter(content_type, "boundary").rstrip()
    if not boundary:
        raise NotAFeedError(ReasonKind.NO_BOUNDARY, "it is multipart, but its Content-Type has no boundary")
    spans, is_closed = _spans(body, boundary)
    entities = [entity for begin, end in spans if (entity := _entity(body[begin:end], url))]
    history = _history_links(header_links(links, url))
    # Snapshot: "Its pages' entities have no Content-ID and no operation".
    is_feed = not HISTORY.keys().isdisjoint(history.first) or any(
        _first_value(headers, ID, *OPERATION_HEADERS) for headers, _entry in entities
    )
    return FeedDocument(
        format="multipart",
        updated=utc(last_modified or ""),
        links=history.first,
        other_links=history.others,
        # Feed: "A page with a `next` link is immutable."
        archive="next-archive" in history.first,
        entries=[entry for _headers, entry in reversed(entities)],
        problems=list(_problems(entities, is_feed)),
        fault=None if is_closed else CUT_OFF,
        # Feed: "no `prev` on the oldest page, no `next` on the newest": a lone page is both.
        incremental=is_feed,
    )


# Page: "the subtype should be `mixed`, and a consumer must accept every other subtype".
def is_multipart(content_type: str | None) -> bool:
    return MULTIPART.match(content_type or "") is not None


def parameter(header: str | None, name: str) -> str:
    """Return a parameter of a header like Content-Type, without its quotes; '' if there is none."""
    for match in PARAMETER.finditer(header or ""):
        attribute, quoted, plain = match.groups()
        if attribute.lower() == name:
            return plain.strip().lstrip('"') if quoted is None else QUOTED_PAIR.sub(r"\1", quoted)
    return ""


# RFC 2046, 5.1.1: delimiter := CRLF "--" boundary, then transport-padding and a line end. The complete line
# must match, as in Python's and Go's readers, since a body may be multipart itself (`Part_1`, `Part_10`).
def _spans(body: bytes, boundary: str) -> tuple[list[tuple[int, int]], bool]:
    try:
        octets = boundary.encode("latin-1")
    except UnicodeEncodeError:
        octets = boundary.encode("utf-8", "surrogatepass")
    delimiter = re.compile(rb"--" + re.escape(octets) + rb"(?:(--)[ \t]*\r?(?:\n|\Z)|[ \t]*\r?\n)")
    spans: list[tuple[int, int]] = []
    begin: int | None = None
    for match in delimiter.finditer(body):
        # RFC 2046, 5.1.1: "The boundary delimiter MUST occur at the beginning of a line".
        before = body[max(match.start() - 4, 0) : match.start()]
        if not before.endswith(LINE_FEED) and before not in START:
            continue
        if begin is not None:
            spans.append((begin, match.start()))
        if match[1]:
            return spans, True
        begin = match.end()
    if begin is None:
        raise NotAFeedError(ReasonKind.NO_PARTS, "it is multipart, but does not contain its boundary")
    return spans, False


def _entity(region: bytes, url: str) -> Entity | None:
    # RFC 2046, 5.1.1: body-part := MIME-part-headers [CRLF *OCTET]
    blank_line = BLANK_LINE.search(region)
    begin, end = blank_line.span() if blank_line else (len(region), len(region))
    if begin > LONGEST_HEADERS:
        raise NotAFeedError(ReasonKind.TOO_LARGE, "one of its parts has headers of more than 128 KiB")
    headers = _headers(region[:begin])
    # RFC 2046, 5.1.1: the line end before the delimiter belongs to the boundary.
    body = region[end:]
    body = body.removesuffix(b"\r\n") if body.endswith(b"\r\n") else body.removesuffix(LINE_FEED)
    if not headers and not body:
        return None
    content, content_type = _content(body, _first_value(headers, "content-type"))
    # Page: `Operation-Type: http-equiv=PUT`; the 2015 draft calls it Event-Type, and allows POST too.
    operation = OPERATION.fullmatch(_first_value(headers, *OPERATION_HEADERS))
    # 2015 draft: the event target is named by a Link header of the relation "about".
    links = header_targets(headers.get("link", []), url)
    # RFC 5322, 3.6.4: "Semantically, the angle bracket characters are not part of the msg-id".
    entry = Entry(
        id=identifier(MESSAGE_ID.sub(r"\1", _first_value(headers, ID))),
        link=next((target for relation, target in links if relation == "about" and target), None),
        updated=utc(_first_value(headers, "last-modified")),
        content=content,
        content_type=content_type,
        operation=operation[1].upper() if operation else None,
    )
    return headers, entry


def _headers(block: bytes) -> Headers:
    headers: Headers = {}
    for line in FOLD.sub(b"", block).split(LINE_FEED):
        name, colon, value = line.partition(b":")
        key = _decoded(name).strip().lower()
        if colon:
            # Different octets of ids must stay different; other headers may be decoded leniently.
            text = value.decode("utf-8", "surrogateescape") if key == ID else _decoded(value).strip()
            headers.setdefault(key, []).append(text.strip(WHITE_SPACE))
    return headers


def _decoded(line: bytes) -> str:
    # RFC 9110, 5.5: CR and NUL within a field value MUST be replaced by SP.
    line = line.replace(b"\0", b" ").replace(b"\r", b" ")
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _first_value(headers: Headers, *names: str) -> str:
    return next((value for name in names for value in headers.get(name, []) if value), "")


def _content(body: bytes, media_type: str) -> tuple[str | None, str | None]:
    if not body:
        return None, None
    charset = parameter(media_type, "charset")
    # RFC 7303, 3: without the parameter, XML declares its encoding in band; HTML does likewise.
    if not charset and MARKUP.match(media_type):
        charset = read_bom(body)[0] or html_body_declared_encoding(body) or ""
    # RFC 8259, 8.1: JSON is UTF-8, and today most text without a charset is.
    codec = resolve_encoding(charset)
    try:
        text = body.decode("utf-8" if codec is None or codec in NO_CHARSETS else codec)
    except (LookupError, ValueError):
        text = "\0"
    # RFC 2045, 2.7 and 2.8: neither 7bit nor 8bit data, that is, no text, contains a NUL; but UTF-16 does.
    if "\0" in text:
        # RFC 9110, 8.3: without Content-Type, a recipient may assume "application/octet-stream".
        return b64encode(body).decode(), f"{media_type or 'application/octet-stream'};base64"
    # RFC 2045, 5.2: without Content-Type, a part is "text/plain".
    return text, media_type or "text/plain"


# Feed: `prev` leads to older pages, `next` to newer ones; neither is RFC 5005's paging (3). The 2015 draft
# uses the names of RFC 5005, 4. IANA: `previous` is a synonym for `prev`.
def _history_links(links: Links) -> Links:
    names = {synonym for synonyms in HISTORY.values() for synonym in synonyms}
    links_by_name = Links({relation: url for relation, url in links.first.items() if relation not in names})
    for name, synonyms in HISTORY.items():
        for url in (url for synonym in synonyms for url in links.of(synonym)):
            links_by_name.add(name, url)
    return links_by_name


def _problems(entities: list[Entity], is_feed: bool) -> Iterator[Problem]:
    latest = ""
    for number, (headers, entry) in enumerate(entities, 1):
        name = entry.id or f"entity {number}"
        # Page: Content-ID and Operation-Type are required of a feed's entities, not of a snapshot's.
        if is_feed and entry.id is None:
            yield Problem("no-id", name, "it has no Content-ID")
        if is_feed and entry.operation is None:
            value = _first_value(headers, *OPERATION_HEADERS)
            detail = f"its Operation-Type is unknown: {value!r}" if value else "it has no Operation-Type"
            yield Problem("no-operation", name, detail)
        modified = _first_value(headers, "last-modified")
        if modified and entry.updated is None:
            yield Problem("unreadable-date", name, f"its Last-Modified is not a date: {modified!r}")
        # Feed: "Last-Modified never decreases along the way"; RFC 9110, 5.6.7: it is a whole second.
        elif modified and (entry.updated or "")[:TO_THE_SECOND] < latest[:TO_THE_SECOND]:
            detail = f"its Last-Modified goes backwards: {entry.updated} after {latest}"
            yield Problem("backwards", name, detail)
        latest = entry.updated or latest
