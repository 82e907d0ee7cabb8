"""Reads a document, in the format that its media type, root element or first character indicates."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from fhcrawl.documents import head, lists
from fhcrawl.documents.discovery import OPDS, catalogue_feeds
from fhcrawl.documents.formats import activitystreams, atom, jsonfeed, multipart, rss
from fhcrawl.documents.links import Links, header_links
from fhcrawl.documents.model import FeedDocument, Problem
from fhcrawl.documents.xml import elements, encoding, parsing
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.addresses import without_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fhcrawl.documents.lists import DocumentList
    from fhcrawl.documents.model import Entry
    from fhcrawl.documents.xml.parsing import Parsed

# By the tag of the root.
XML_FORMATS = {
    atom.ROOT: atom.read,
    atom.OLD_ROOT: atom.read,
    **{f"{namespace}rss": rss.read for namespace in elements.RSS_NAMESPACES},
    elements.RDF_ROOT: rss.read,
}
NO_FEEDS = {
    "html": (ReasonKind.HTML, "it is an HTML page"),
    "opml": (ReasonKind.OPML, "it is a list in OPML"),
}
JSON_FORMATS = (jsonfeed.read, activitystreams.read, jsonfeed.read_ghost)
# RFC 6838, 4.2: type and subtype have no more than 127 characters each.
LONGEST_MEDIA_TYPE = 255
TOO_MANY = "too-many"  # the kind of problem
MOST_PROBLEMS = 100_000  # of one document
MOST_NAMED = 5  # feeds of a catalogue
NEWEST = "~"  # later than every time
LONGEST_TEXT = 10_000_000  # characters, as in libxml2


def declared(content_type: str | None) -> tuple[str, str]:
    """Return the media type and the charset of a Content-Type header, in lower case; '' if unknown."""
    media_type = (content_type or "").partition(";")[0].lower()
    charset = encoding.resolve(multipart.parameter(content_type, "charset"))
    return "".join(media_type.split())[:LONGEST_MEDIA_TYPE], charset or ""


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

    :param content_type: the Content-Type header; its media type is used only for multipart and, with a
        `file:` URL, for a list of files
    :param links: the values of the Link headers; the document's own links take precedence
    :param last_modified: the Last-Modified header, which is the update time of a multipart page
    :param keep_originals: keep the XML or JSON of each entry; entities of multipart have it in their fields
    :param max_entries: maximum number of entries, of deletions, and of documents of a list; 0 means no limit.
        The oldest ones are dropped, with a problem of the kind TOO_MANY
    :raises NotAFeedError: if the body is in no feed format, or is a list of too many documents
    :raises MemoryError: if the document does not fit into memory
    """
    document: FeedDocument | DocumentList
    if lists.is_folder(url, content_type):
        return lists.read_folder(body, max_entries)
    if multipart.is_multipart(content_type):
        document = multipart.read(body, url, content_type, links, last_modified)
        _limit_entries(document, len(body), max_entries)
        return document
    if jsonfeed.is_json(body):
        document = _read_json(body, url, keep_originals, max_entries, keep_head)
    else:
        charset = multipart.parameter(content_type, "charset") or None
        document = _read_xml(parsing.parse(body, charset), url, keep_originals, keep_head)
    if isinstance(document, FeedDocument):
        _refuse_catalogue(document, body, url)
        if links:
            merged, from_headers = Links(document.links, document.other_links), header_links(links, url)
            for relation in (*from_headers.first, *from_headers.others):
                for target in from_headers.of(relation):
                    merged.add(relation, target)
        _limit_entries(document, len(body), max_entries)
    return document


def _refuse_catalogue(document: FeedDocument, body: bytes, url: str) -> None:
    if OPDS not in body or any(entry.enclosures for entry in document.entries):
        return
    if feeds := catalogue_feeds(body, url):
        fetchable = (feed for feed in feeds if len(feed) <= elements.LONGEST_URL)
        named = [without_credentials(feed) for feed in islice(fetchable, MOST_NAMED)]
        more = f" and {len(feeds) - len(named):,} more" if len(feeds) > len(named) else ""
        detail = f"it is an OPDS navigation catalogue, with the feeds {', '.join(named)}{more}"
        raise NotAFeedError(ReasonKind.NOT_A_FEED, detail)


def _limit_entries(document: FeedDocument, octets: int, max_entries: int) -> None:
    if octets > LONGEST_TEXT:
        entries = [entry for entry in document.entries if not _has_long_text(entry)]
        lost = len(document.entries) - len(entries)
        detail = f"it has a text of more than {LONGEST_TEXT} characters and is skipped"
        document.problems += [Problem("entry-lost", "", detail)] * lost
        document.entries = entries
    del document.problems[MOST_PROBLEMS:]
    if not max_entries:
        return
    document.entries, left_out = _newest(
        document.entries, max_entries, lambda entry: entry.published or entry.updated
    )
    document.tombstones, ignored = _newest(document.tombstones, max_entries, lambda tombstone: tombstone.when)
    counts = ((left_out, "entries"), (ignored, "deletions"))
    if numbers := " and ".join(f"{count + max_entries} {name}" for count, name in counts if count):
        detail = f"has {numbers}: only the newest {max_entries} are read (FHCRAWL_MAX_ENTRIES)"
        document.problems.append(Problem(TOO_MANY, "", f"{detail} (without times, the first)"))


# Some documents list the oldest entries first. An entry without a time has that of the entry before
# it; of those with the same time, the first are kept.
def _newest(values: list[Any], limit: int, time_of: Callable[[Any], str | None]) -> tuple[list[Any], int]:
    if len(values) <= limit:
        return values, 0
    times: list[str] = []
    for value in values:
        times.append(time_of(value) or (times[-1] if times else NEWEST))
    kept = sorted(range(len(values)), key=times.__getitem__, reverse=True)[:limit]
    return [values[position] for position in sorted(kept)], len(values) - limit


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
    root, name = parsed.root, elements.local_name(parsed.root)
    if root.tag not in XML_FORMATS:
        other = ReasonKind.NOT_A_FEED, f"it is XML whose root element is <{name}>"
        raise NotAFeedError(*NO_FEEDS.get(name.lower(), other))
    originals: list[bytes] | None = [] if keep_originals else None
    document = XML_FORMATS[root.tag](parsed._replace(originals=originals, keeps_head=keep_head), url)
    document.problems[:0] = parsed.problems
    for entry, original in zip(document.entries, originals or (), strict=keep_originals):
        entry.original = original
    return document
