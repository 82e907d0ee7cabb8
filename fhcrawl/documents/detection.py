"""Reads a document, in the format that its media type, root element or first character indicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fhcrawl.documents import head, lists
from fhcrawl.documents.formats import JSON_FORMATS, XML_FORMATS, jsonfeed, multipart
from fhcrawl.documents.links import Links, header_links
from fhcrawl.documents.model import FeedDocument, Problem
from fhcrawl.documents.xml import elements, encoding, parsing
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lxml.etree import _Element

    from fhcrawl.documents.lists import DocumentList
    from fhcrawl.documents.model import Entry
    from fhcrawl.documents.xml.parsing import Parsed

# RFC 6838, 4.2: type and subtype have no more than 127 characters each.
LONGEST_MEDIA_TYPE = 255
# The kind of problem of a document with too many entries or deletions.
TOO_MANY = "too-many"
# Of one document: nobody reads more.
MOST_PROBLEMS = 100_000
# Later than every time.
NEWEST = "~"
# Characters, as libxml2 has it for XML.
LONGEST_TEXT = 10_000_000


def declared(content_type: str | None) -> tuple[str, str]:
    """Return the media type and the charset of a Content-Type header, in lower case without white space.

    :return: '' for a missing one; an unknown charset counts as missing
    """
    media_type = (content_type or "").partition(";")[0].lower()
    charset = encoding.resolve(multipart.parameter(content_type, "charset"))
    return "".join(media_type.split())[:LONGEST_MEDIA_TYPE], charset or ""


def is_multipart(content_type: str | None) -> bool:
    """Return whether a document with this Content-Type header is multipart."""
    return multipart.is_multipart(content_type)


def boundary(content_type: str | None) -> str:
    """Return the boundary of a multipart document; '' if it has none, or is not multipart."""
    return multipart.parameter(content_type, "boundary") if multipart.is_multipart(content_type) else ""


def read(
    body: bytes,
    url: str,
    content_type: str | None = None,
    links: Sequence[str] = (),
    last_modified: str | None = None,
    keep_originals: bool = False,
    max_entries: int = 0,
    keep_head: bool = False,
) -> FeedDocument | DocumentList:
    """Read a feed document, or a list of documents.

    :param body: the bytes of the response
    :param url: its URL; relative references are resolved against it
    :param content_type: the Content-Type header; its media type is used only for multipart and, with a
        `file:` URL, for a list of files
    :param links: the values of the Link headers; the document's own links take precedence
    :param last_modified: the Last-Modified header: the update time of a multipart page
    :param keep_originals: keep the XML or JSON of each entry; entities of multipart have it in their fields
    :param max_entries: maximum number of entries, of deletions, and of documents of a list; 0 is no limit.
        The oldest ones are left out, with a problem of the kind TOO_MANY; of a list, all.
    :param keep_head: keep the head section as it came; multipart has none
    :raises NotAFeedError: if the body is empty, HTML, neither XML nor JSON, or of no feed format;
        if it is a list of too many documents
    :raises MemoryError: if there is not enough memory
    """
    if lists.is_folder(url, content_type):
        return lists.read_folder(body, max_entries)
    if multipart.is_multipart(content_type):
        document = multipart.read(body, url, content_type, links, last_modified)
        _limit(document, len(body), max_entries)
        return document
    found: FeedDocument | DocumentList
    if jsonfeed.is_json(body):
        found = _read_json(body, url, keep_originals, max_entries, keep_head)
    else:
        charset = multipart.parameter(content_type, "charset") or None
        found = _read_xml(parsing.parse(body, charset), url, keep_originals, keep_head)
    if isinstance(found, FeedDocument):
        if links:
            # RFC 8288, 1: links "allow[…] typed relations between resources", whatever the format.
            Links(found.links, found.other_links).update(header_links(links, url))
        _limit(found, len(body), max_entries)
    return found


def _limit(document: FeedDocument, octets: int, max_entries: int) -> None:
    """Remove entries with a text that is too long, and entries, deletions and problems that are too many.

    :param octets: size of the document
    """
    if octets > LONGEST_TEXT:
        entries = [entry for entry in document.entries if not _has_long_text(entry)]
        lost = len(document.entries) - len(entries)
        detail = f"it has a text of more than {LONGEST_TEXT} characters and is skipped"
        document.problems += [Problem("entry-lost", "", detail)] * lost
        document.entries = entries
    del document.problems[MOST_PROBLEMS:]
    if not max_entries:
        return
    document.entries, left_out = _newest(document.entries, max_entries, _time_of_entry)
    document.tombstones, ignored = _newest(document.tombstones, max_entries, lambda found: found.when)
    counts = ((left_out, "entries"), (ignored, "deletions"))
    if said := " and ".join(f"{count + max_entries} {name}" for count, name in counts if count):
        detail = f"has {said}: only the newest {max_entries} are read (FHCRAWL_MAX_ENTRIES)"
        document.problems.append(Problem(TOO_MANY, "", f"{detail} (without times, the first)"))


# Some documents list the oldest entries first.
def _newest(found: list[Any], limit: int, time_of: Callable[[Any], str | None]) -> tuple[list[Any], int]:
    """Return the newest of the entries or deletions in their order, and how many are left out.

    One without a time has that of the one before it; of those with the same time, the first ones are kept.
    """
    if len(found) <= limit:
        return found, 0
    times: list[str] = []
    for each in found:
        times.append(time_of(each) or (times[-1] if times else NEWEST))
    kept = sorted(range(len(found)), key=times.__getitem__, reverse=True)[:limit]
    return [found[position] for position in sorted(kept)], len(found) - limit


def _time_of_entry(entry: Entry) -> str | None:
    return entry.published or entry.updated


def _has_long_text(entry: Entry) -> bool:
    texts = (entry.content, entry.summary, entry.title, entry.id, entry.link)
    return any(len(text or "") > LONGEST_TEXT for text in (*texts, *entry.authors, *entry.categories))


def _read_json(
    body: bytes, url: str, keep_originals: bool, max_entries: int, keep_head: bool
) -> FeedDocument | DocumentList:
    parsed = jsonfeed.parse(body)
    for read_format in JSON_FORMATS:
        document = read_format(parsed, url, keep_originals)
        if document is not None:
            if keep_head:
                document.head = head.source_of_json(parsed.members, document.problems)
            return document
    listed = lists.read_snapshot(parsed.members, url, max_entries)
    if listed is None:
        raise NotAFeedError(
            ReasonKind.NOT_A_FEED,
            "it is JSON, but not a JSON Feed, an ActivityStreams collection or a page of Ghost posts",
        )
    return listed


def _read_xml(parsed: Parsed, url: str, keep_originals: bool, keep_head: bool) -> FeedDocument:
    originals: list[bytes] | None = [] if keep_originals else None
    parsed = parsed._replace(originals=originals, keeps_head=keep_head)
    document = _reader_of(parsed.root)(parsed, url)
    document.problems[:0] = parsed.problems
    for entry, original in zip(document.entries, originals or (), strict=keep_originals):
        entry.original = original
    return document


def _reader_of(root: _Element) -> Callable[[Parsed, str], FeedDocument]:
    if root.tag in XML_FORMATS:
        return XML_FORMATS[root.tag]
    name = elements.local_name(root)
    if name.lower() == "html":
        raise NotAFeedError(ReasonKind.HTML, "it is an HTML page")
    if name.lower() == "opml":
        raise NotAFeedError(ReasonKind.OPML, "it is a list in OPML")
    raise NotAFeedError(ReasonKind.NOT_A_FEED, f"it is XML whose root element is <{name}>")
