"""Rules about one document: of its format, of RFC 5005, and of HTTP."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from fhcrawl import logical_feed
from fhcrawl.documents import TOO_MANY, detection
from fhcrawl.documents.head import FLAGS, PREV
from fhcrawl.documents.links import HISTORY
from fhcrawl.documents.model import IRI
from fhcrawl.documents.xml import elements, encoding
from fhcrawl.documents.xml.elements import ATOM, FH, OLD_ATOM, RSS_NAMESPACES
from fhcrawl.logical_feed import Kind, Role, polling
from fhcrawl.logical_feed.results import comparable
from fhcrawl.reasons import ReasonKind
from fhcrawl.validation.model import (
    CHAIN_RULES,
    DOCUMENT_RULES,
    Needs,
    advice,
    error,
    line,
    of_document,
    relations,
    warning,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from fhcrawl.validation.model import Document, Finding

GUIDS = tuple(f"{namespace}guid" for namespace in RSS_NAMESPACES)
ITEMS = tuple(f"{namespace}item" for namespace in RSS_NAMESPACES)
ID, ENTRY, UPDATED = f"{ATOM}id", f"{ATOM}entry", f"{ATOM}updated"
LINKS = (f"{ATOM}link", f"{OLD_ATOM}link")
LOST = ("entry-lost", "no-ref", ReasonKind.UNRESOLVED_ENTITIES, TOO_MANY)
SHOWN = 100  # characters of an id
PAGING = ("first", "last", "previous", "next")
HISTORY_ELEMENTS = ("archive", "complete")
DRAFTS = frozenset({*FLAGS, PREV})
# Wrong names that publishers use, without hyphens and underscores, and the registered names.
MISSPELT = {
    "prevarchive": "prev-archive",
    "previousarchive": "prev-archive",
    "archiveprev": "prev-archive",
    "nextarchive": "next-archive",
    "archivenext": "next-archive",
}
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
DAY = 24 * 60 * 60
MIB = 1024**2
LARGE, LARGE_ARCHIVE = MIB, 8 * MIB


def _problems(document: Document, *kinds: str) -> Iterator[tuple[str, int | None]]:
    for problem in document.feed.problems:
        if problem.kind in kinds:
            at = document.markup.line_of(problem.entry) if problem.entry else None
            name = f"{problem.entry[:SHOWN]}: " if problem.entry else ""
            yield f"{name}{problem.detail}.", at


def _elements(document: Document, *tags: str) -> list[_Element]:
    return [entry for entry in document.markup.entries if entry.tag in tags]


def _line_in_head(document: Document, tag: str) -> int | None:
    return line(next(document.markup.in_head(tag), document.markup.head))


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url[: elements.LONGEST_URL])
    except ValueError:
        return urlsplit("")


def _media_type(document: Document) -> tuple[str, str]:
    return detection.declared(document.headers.get("content-type"))


# -- RFC 4287, RSS, JSON Feed and XML


# XML 1.0, 2.1: a document that is not well-formed is not an XML document.
@of_document("XML 1.0, 2.1")
def well_formed(document: Document) -> Iterator[Finding]:
    """The document is well-formed and complete."""
    fix = "Fix it: most readers stop at the first error."
    if document.feed.fault is not None:
        yield error(f"It is not well-formed: {document.feed.fault}.", document.markup.fault_line, fix)
    for text, at in _problems(document, "repaired"):
        yield error(text[0].upper() + text[1:], at or document.markup.fault_line, fix)
    if document.is_cut:
        yield error("It is shorter than its server announces.", None, "Fix the server.")
    skipped = [rule.name for rule in (*DOCUMENT_RULES, *CHAIN_RULES) if not document.has(rule.needs)]
    if skipped:
        end = "" if document.is_whole else ", up to the error"
        text = (
            f"Its links and entries were checked as readers recover them{end}. "
            f"Not checked, or only in part: {', '.join(skipped)}."
        )
        yield warning(text, None, "Fix it, and check it again.")


@of_document("RFC 4287, 4.1.1; RSS 2.0, item")
def entries_are_read(document: Document) -> Iterator[Finding]:
    """Every entry can be read."""
    for text, at in _problems(document, *LOST):
        yield error(f"Readers cannot use it: {text}", at, "Fix the entry.")


# RFC 4287, 4.1.2: "atom:entry elements MUST contain exactly one atom:id element".
@of_document("RFC 4287, 4.1.2; RFC 5005, B")
def entry_id(document: Document) -> Iterator[Finding]:
    """Every entry has an id."""
    fix = "Give it an id that never changes."
    for text, at in _problems(document, "no-id"):
        yield error(f"An entry cannot be distinguished from others: {text}", at, fix)


# RFC 5005, B: "In RSS 2.0-formatted feeds, two entries are duplicates if they have the same guid element."
@of_document("RFC 5005, B", Needs.MARKUP)
def item_guid(document: Document) -> Iterator[Finding]:
    """Every item of RSS has a guid."""
    for item in _elements(document, *ITEMS):
        if not any(child.tag in GUIDS for child in item):
            fix = "Give it a guid that never changes: a link can change, and be shared."
            yield warning("An item has no guid.", line(item), fix)


# RFC 4287, 4.1.2: "atom:entry elements MUST contain exactly one atom:title element".
@of_document("RFC 4287, 4.1.2")
def entry_title(document: Document) -> Iterator[Finding]:
    """Every entry of Atom has a title."""
    for text, at in _problems(document, "no-title"):
        yield error(text, at, "Add one; it may be empty.")


# RFC 4287, 4.2.6: the content of atom:id "MUST be an IRI"; RSS 2.0, guid: with isPermaLink true, the default,
# "it is a permalink to the item, that is, a url".
@of_document("RFC 4287, 4.2.6; RSS 2.0, guid", Needs.MARKUP)
def id_is_a_uri(document: Document) -> Iterator[Finding]:
    """An atom:id is an absolute IRI, and a guid that is a permalink is a URL."""
    for entry in _elements(document, ENTRY):
        atom_id = elements.first(entry, ID)
        text = None if atom_id is None else elements.identifier(atom_id)
        if text and not IRI.fullmatch(text):
            fix = "Write an absolute IRI, such as tag:example.org,2003:1."
            yield error(f"The atom:id {text[:SHOWN]!r} is not an absolute IRI.", line(atom_id), fix)
    for item in _elements(document, *ITEMS):
        guid = next((child for child in item if child.tag in GUIDS), None)
        text = None if guid is None else elements.identifier(guid)
        is_permalink = guid is not None and (guid.get("isPermaLink") or "true").strip().lower() == "true"
        if text and is_permalink and not text.startswith(elements.ABSOLUTE):
            fix = 'Write isPermaLink="false".'
            yield error(f"The guid {text[:SHOWN]!r} is a permalink, but not a URL.", line(guid), fix)


# RFC 4287, 4.1.1: "If multiple atom:entry elements with the same atom:id value appear in an Atom Feed
# Document, they represent the same entry. Their atom:updated timestamps SHOULD be different."
@of_document("RFC 4287, 4.1.1")
def unique_ids(document: Document) -> Iterator[Finding]:
    """An id that is twice in a document has two update times."""
    seen: set[tuple[str, str]] = set()
    for number, entry in enumerate(document.feed.entries, 1):
        identity = logical_feed.identity(entry, document.feed)
        key = identity or "", comparable(entry.updated)
        if identity is not None and key in seen:
            at = document.markup.line_of(f"entry {number}")
            fix = "Remove one of them, or give the newer one a later atom:updated."
            text = f"The id {identity[:SHOWN]} appears twice in the document with the same update time."
            yield warning(text, at, fix)
        seen.add(key)


# RFC 4287, 4.1.1 and 4.1.2: feeds and entries "MUST contain exactly one atom:updated element"; RFC 5005, 4.2:
# it decides which version of an entry is the newest.
@of_document("RFC 4287, 4.1.1 and 4.1.2", Needs.MARKUP)
def update_times(document: Document) -> Iterator[Finding]:
    """Feed and entries of Atom have atom:updated."""
    fix = "Add it: it decides which of two versions of an entry is newer."
    times = document.markup.in_head("{*}updated", "{*}modified")
    if document.feed.format == "atom" and next(times, None) is None:
        yield error("The feed has no atom:updated.", document.markup.head_line, fix)
    for entry in _elements(document, ENTRY):
        if elements.first(entry, UPDATED) is None:
            yield error("An entry has no atom:updated.", line(entry), fix)


# RFC 5005, B: "the feed-level update time can be determined by the lastBuildDate element, if present".
@of_document("RFC 5005, B", Needs.ALL)
def archive_time(document: Document) -> Iterator[Finding]:
    """An archive of RSS has lastBuildDate."""
    feed = document.feed
    if feed.format == "rss" and feed.updated is None and document.is_archive:
        fix = "Add it: without it, nothing shows which version of an entry is newer."
        yield advice("The archive has no lastBuildDate.", document.markup.head_line, fix)


# RFC 4287, 3.3: a Date construct "MUST conform to the "date-time" production in [RFC3339]"; RSS 2.0: "All
# date-times in RSS conform to the Date and Time Specification of RFC 822".
@of_document("RFC 4287, 3.3; RSS 2.0, pubDate")
def dates(document: Document) -> Iterator[Finding]:
    """Every date is written as its format says."""
    for text, at in _problems(document, "unreadable-date", "interpreted-date"):
        yield error(text, at, "Write 2003-12-13T18:30:02Z in Atom, Sat, 13 Dec 2003 18:30:02 GMT in RSS.")


# RFC 4287, 4.2.15: atom:updated is "the most recent instant in time when an entry or feed was modified".
@of_document("RFC 4287, 4.2.15")
def times_are_past(document: Document) -> Iterator[Finding]:
    """No update time is in the future."""
    latest = document.fetch.latest
    fix = "Correct the clock: until then, that version counts as the newest."
    if comparable(document.feed.updated) > latest:
        yield warning(f"The feed's update time is in the future: {document.feed.updated}.", None, fix)
    for number, entry in enumerate(document.feed.entries, 1):
        if comparable(entry.updated) > latest:
            at = document.markup.line_of(f"entry {number}")
            yield warning(f"An entry's update time is in the future: {entry.updated}.", at, fix)


# RFC 4287, 4.1.1: feeds "MUST contain exactly one atom:id element" and "SHOULD contain one atom:link element
# with a rel attribute value of "self"".
@of_document("RFC 4287, 4.1.1", Needs.MARKUP)
def feed_head(document: Document) -> Iterator[Finding]:
    """A feed of Atom has atom:id and a self link."""
    if document.markup.root.tag != f"{ATOM}feed":
        return
    at = document.markup.head_line
    if document.markup.feed_id is None:
        yield error("The feed has no atom:id.", at, "Give it one that never changes.")
    if "self" not in document.feed.links:
        fix = 'Add <link rel="self" href="…"/> with its own URL.'
        yield warning("The feed has no self link.", at, fix)


# RFC 4287, 1.2, RSS 2.0, JSON Feed 1.1: readers interpret any other form differently.
@of_document("RFC 4287; RSS 2.0; JSON Feed 1.1")
def standard_form(document: Document) -> Iterator[Finding]:
    """Nothing is written as another format has it."""
    for text, at in _problems(document, "nonstandard"):
        yield warning(text, at, "Write it as the format requires.")


# -- RFC 5005


# RFC 5005, 4: "Archive documents SHOULD also contain an fh:archive element in their head sections to indicate
# that they are archives."
@of_document("RFC 5005, 4")
def subscription_mark(document: Document) -> Iterator[Finding]:
    """The document that is polled is no archive."""
    feed, own = document.feed, document.own
    if document.fetch.role is not Role.SUBSCRIPTION or not logical_feed.is_archive(feed, own):
        return
    current = feed.links.get("current")
    fix = "Remove fh:archive and next-archive, if this is the document that readers poll."
    if current is not None and current not in own:
        fix = f"Check {current}, which it links to as the subscription document."
    mark = "is marked with fh:archive" if feed.archive else "has a next-archive link"
    at = _line_in_head(document, f"{FH}archive" if feed.archive else LINKS[0])
    yield error(f"The requested document {mark}: it is an archive.", at, fix)


# RFC 5005, 1: "The semantics of a feed that combines these types is undefined by this specification."
@of_document("RFC 5005, 1")
def one_type(document: Document) -> Iterator[Finding]:
    """A feed is complete, or archived, or paged: not two of them."""
    feed = document.feed
    older = [name for name in ("prev-archive", "next-archive", *PAGING) if name in feed.links]
    if feed.complete and feed.archive:
        fix = "Remove fh:complete: a document of an archived feed is not the complete feed."
        yield error("It has fh:complete and fh:archive.", _line_in_head(document, f"{FH}archive"), fix)
    if feed.complete and older:
        fix = "Remove fh:complete, or the links: readers do not follow the links of a complete feed."
        text = f"It has fh:complete and a {older[0]} link to another document."
        yield error(text, document.markup.link_lines.get(older[0]), fix)
    paging = [name for name in PAGING if name in feed.links]
    if not feed.complete and paging and (document.is_archive or "prev-archive" in feed.links):
        fix = "Use only prev-archive and next-archive in archived feeds, not the links of paged feeds."
        text = f"It belongs to an archived feed, but has a {paging[0]} link, which is for paged feeds."
        yield warning(text, document.markup.link_lines.get(paging[0]), fix)


# RFC 5005, 4: "prev-archive" is "the immediately preceding archive document": there is one.
@of_document("RFC 5005, 3 and 4")
def one_link(document: Document) -> Iterator[Finding]:
    """A relation leads to one document."""
    for relation, urls in document.feed.other_links.items():
        named = [url for url in urls if url]
        first = document.feed.links.get(relation)
        if first is not None and named:
            fix = "Keep only one: readers cannot know which of them is meant."
            text = f"It has {relation} links to {first} and to {named[0]}."
            yield error(text, document.markup.link_lines.get(relation), fix)


# RFC 4287, 4.2.7.1: "atom:link elements MUST have an href attribute, whose value MUST be a IRI reference".
@of_document("RFC 4287, 4.2.7.1")
def link_target(document: Document) -> Iterator[Finding]:
    """A link of the history has a URL."""
    for relation, urls in document.feed.other_links.items():
        if "" in urls:
            fix = "Write the URL of the document, or remove the link."
            yield error(f"Its {relation} link has no URL.", document.markup.link_lines.get(relation), fix)


@of_document("RFC 5005, 5", Needs.MARKUP)
def relation_name(document: Document) -> Iterator[Finding]:
    """The relations have their registered names."""
    for link in document.markup.in_head(*LINKS):
        for name in relations(link):
            meant = MISSPELT.get(name.replace("-", "").replace("_", ""))
            if meant is not None and meant != name:
                fix = f'Write rel="{meant}".'
                yield error(f"The relation of a link is {name!r}, which is unknown.", line(link), fix)


# RFC 5005, 1.2: the head section is "a document's feed-wide metadata container"; 2 and 4 put the elements
# there.
@of_document("RFC 5005, 1.2", Needs.MARKUP)
def in_head_section(document: Document) -> Iterator[Finding]:
    """The elements and links of the history are in the head section."""
    names = {"prev-archive", "next-archive", "current"}
    for element in document.markup.everywhere(f"{FH}*", *LINKS):
        is_link = element.tag in LINKS
        if element.getparent() is document.markup.head or (is_link and names.isdisjoint(relations(element))):
            continue
        # RFC 4287, 4.2.11: it has the head section of another feed.
        if next(element.iterancestors(f"{ATOM}source"), None) is not None:
            continue
        name = f"The link {element.get('rel')!r}" if is_link else f"fh:{elements.local_name(element)}"
        place = "channel" if document.feed.format == "rss" else "feed"
        fix = f"Make it a child of {place}, outside of all entries."
        yield error(f"{name} is not in the head section, so readers ignore it.", line(element), fix)


# RFC 5005, B: the links of RSS are atom:link, which has Atom's namespace.
@of_document("RFC 5005, B", Needs.MARKUP)
def link_namespace(document: Document) -> Iterator[Finding]:
    """The links of the history are in Atom's namespace."""
    for link in document.markup.everywhere("{*}link"):
        relation = (link.get("rel") or "").strip().lower()
        if relation in HISTORY and link.tag not in LINKS:
            fix = f'Write <atom:link …/>, with xmlns:atom="{ATOM[1:-1]}".'
            yield error(f"The link {relation!r} is not in Atom's namespace.", line(link), fix)


# RFC 5005, 1.1: the namespace of its elements.
@of_document("RFC 5005, 1.1", Needs.MARKUP)
def history_namespace(document: Document) -> Iterator[Finding]:
    """fh:archive and fh:complete are in RFC 5005's namespace."""
    for element in document.markup.in_head(*(f"{{*}}{name}" for name in HISTORY_ELEMENTS)):
        namespace = element.tag.rpartition("}")[0][1:]
        is_meant = "history" in namespace or namespace in ("", ATOM[1:-1])
        if is_meant and not element.tag.startswith(FH):
            fix = f'Write xmlns:fh="{FH[1:-1]}".'
            where = f"the namespace {namespace}" if namespace else "no namespace"
            yield error(f"The element {elements.local_name(element)} is in {where}.", line(element), fix)


# RFC 5005, 2 and 4: "fh:archive is an empty element"; fh:stateful, fh:incremental and fh:prev are of its
# drafts.
@of_document("RFC 5005, 2 and 4", Needs.MARKUP)
def history_elements(document: Document) -> Iterator[Finding]:
    """The elements of RFC 5005 are fh:archive and fh:complete, and they are empty."""
    for element in document.markup.in_head(f"{FH}*"):
        name = f"fh:{elements.local_name(element)}"
        if element.tag in DRAFTS:
            fix = "Write prev-archive links, with fh:archive in archives, or fh:complete."
            text = f"{name} is from a draft of RFC 5005, which few readers support."
            yield warning(text, line(element), fix)
        elif elements.local_name(element) not in HISTORY_ELEMENTS:
            fix = "Write fh:archive or fh:complete."
            yield error(f"{name} is not an element of RFC 5005.", line(element), fix)
        elif len(element) or elements.text(element):
            yield warning(f"{name} is not empty.", line(element), f"Write <{name}/>.")


# RFC 5005, 1.2: "URI references in link relation values may be relative". RSS has no rule for their base.
@of_document("RFC 5005, 1.2", Needs.MARKUP)
def relative_links(document: Document) -> Iterator[Finding]:
    """The links of RSS are absolute."""
    for link in document.markup.in_head(*LINKS) if document.feed.format == "rss" else ():
        href = (link.get("href") or "").strip()
        if href and not _split(href).scheme and not HISTORY.isdisjoint(relations(link)):
            fix = "Write the full URL: RSS does not define what a relative one is relative to."
            yield advice(f"The link {link.get('rel')!r} is relative.", line(link), fix)


# RFC 5005, 6: it "does not define what it means when a logical feed's component feed documents have different
# security mechanisms applied".
@of_document("RFC 5005, 6")
def secure_links(document: Document) -> Iterator[Finding]:
    """A document that is served with https: leads to documents that are too, on its host."""
    here = _split(document.fetch.url)
    for relation in ("prev-archive", "next"):
        there = _split(document.feed.links.get(relation, ""))
        if here.scheme == "https" and there.scheme == "http":
            fix = "Use https:, if the server supports it: careful readers do not follow such a link."
            text = f"Its {relation} link leads from https: to http:."
            yield warning(text, document.markup.link_lines.get(relation), fix)
        elif there.netloc and there.netloc != here.netloc and there.scheme in ("http", "https"):
            fix = "Keep that host running as long as this one: without it, the history is lost."
            text = f"Its {relation} link leads to another host, {there.netloc}."
            yield advice(text, document.markup.link_lines.get(relation), fix)


# RFC 5005, 1: a document that is neither complete nor linked "may or may not be a complete representation of
# the logical feed" (1.2).
@of_document("RFC 5005, 1", Needs.ALL)
def says_its_history(document: Document) -> Iterator[Finding]:
    """The subscription document says where older entries are, or that there are none."""
    if document.fetch.role is not Role.SUBSCRIPTION:
        return
    kind = logical_feed.kind(document.feed)
    if kind is Kind.SINGLE:
        fix = "Link to archives with prev-archive, or write fh:complete if these are all entries."
        yield advice("It does not say where its older entries are.", document.markup.head_line, fix)
    # RFC 5005, 3: "Paged feeds are lossy".
    elif kind is Kind.PAGED:
        fix = "Publish archives that do not change, with prev-archive links."
        yield advice("It is paged: entries can be lost while its pages change.", None, fix)


# -- HTTP


# RFC 9110, 8.3: it "indicates the media type of the associated representation"; RFC 4287, 7: Atom's is
# application/atom+xml.
@of_document("RFC 9110, 8.3")
def media_type(document: Document) -> Iterator[Finding]:
    """The Content-Type is that of the format."""
    expected = TYPES.get(document.feed.format, ())
    declared, _charset = _media_type(document)
    if not document.is_http or not expected or declared in expected:
        return
    fix = f"Serve it as {expected[0]}{', with Content-Encoding: gzip' if declared in GZIP else ''}."
    text = f"Its Content-Type is {declared}." if declared else "It has no Content-Type."
    report = error if declared == "text/html" else warning
    if declared in XML and document.feed.format != "json":
        report = advice
    yield report(text, None, fix)


# RFC 7303, 3: the byte order mark has precedence over the charset parameter, and that over the declaration.
@of_document("RFC 7303, 3")
def one_encoding(document: Document) -> Iterator[Finding]:
    """Content-Type, XML declaration and byte order mark name one encoding."""
    body, charset = document.body, _media_type(document)[1]
    written = encoding.DECLARATION.match(body, 0, encoding.LONGEST_DECLARATION)
    declared = encoding.resolve(written[1].decode("latin-1")) if written else None
    mark = encoding.UTF_8 if body.startswith(codecs.BOM_UTF8) else None
    names = {"its byte order mark": mark, "Content-Type": charset or None, "its XML declaration": declared}
    encodings = {where: name for where, name in names.items() if name}
    if document.feed.format != "json" and len({*encodings.values()}) > 1:
        text = ", but ".join(f"{where} says {name}" for where, name in encodings.items())
        yield warning(f"{text[0].upper()}{text[1:]}.", 1, "Keep the correct one.")


# RFC 5005, 4: "the URI for a particular archive document SHOULD NOT change over time".
@of_document("RFC 5005, 4")
def archive_url(document: Document) -> Iterator[Finding]:
    """The URL of an archive is its own, without a redirect."""
    url = document.fetch.url
    if not document.is_archive or not document.redirects:
        return
    text = f"The archive's URL redirects ({document.redirects[0]}) to {url}."
    if document.is_moved:
        yield warning(text, None, f"Link to {url}.")
    else:
        yield advice(text, None, f"Link to {url}, if that is its permanent URL.")


# RFC 9111, 5.2.2: how long a response is fresh. RFC 5005, 4.1: clients may "safely assume that if they have
# retrieved one in the past, it will not meaningfully change in the future".
@of_document("RFC 9111, 5.2.2")
def caching(document: Document) -> Iterator[Finding]:
    """Archives may be cached for long."""
    headers = document.headers
    dates = (headers.get(name) for name in ("expires", "date", "age"))
    fresh = polling.freshness(headers.get("cache-control", ""), *dates)
    if document.is_http and document.is_archive and (fresh is None or fresh < DAY):
        text = "The server does not say how long the archive can be cached."
        if fresh is not None:
            text = f"The archive can be cached for {fresh} seconds only."
        fix = "Archives do not change: send Cache-Control: max-age=31536000, immutable."
        yield advice(text, None, fix)


# RFC 5005, 1: feeds are split "to save bandwidth".
@of_document("RFC 5005, 1")
def size(document: Document) -> Iterator[Finding]:
    """Documents are small, above all the one that is polled."""
    octets = len(document.body)
    is_polled = document.fetch.role is Role.SUBSCRIPTION and not document.feed.complete
    if octets > (LARGE if is_polled else LARGE_ARCHIVE):
        fix = "Move entries to archives." if is_polled else "Split it into several archives."
        yield advice(f"It has {octets / MIB:.1f} MiB.", None, fix)
