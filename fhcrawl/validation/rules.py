"""The rules: about one document (of its format, of RFC 5005 and of HTTP), and about the chain."""

from __future__ import annotations

import codecs
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from fhcrawl.documents import TOO_MANY, detection
from fhcrawl.documents.dates import elapsed
from fhcrawl.documents.head import FLAGS, PREV
from fhcrawl.documents.links import HISTORY
from fhcrawl.documents.model import IRI, VERDICT
from fhcrawl.documents.xml import elements, encoding
from fhcrawl.documents.xml.elements import ATOM, FH, OLD_ATOM, RSS_NAMESPACES
from fhcrawl.logical_feed import Kind, Role, Verdict, polling, results
from fhcrawl.logical_feed.chain import is_archive, kind
from fhcrawl.logical_feed.results import comparable
from fhcrawl.reasons import ReasonKind
from fhcrawl.validation.model import (
    CHAIN_RULES,
    DOCUMENT_RULES,
    MOST_ENTRIES,
    OTHER,
    Needs,
    advice,
    error,
    good,
    line,
    of_chain,
    of_document,
    relations,
    warning,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from fhcrawl.logical_feed import Link
    from fhcrawl.validation.model import Document, Finding, History, Report

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
OLDER = {Role.ARCHIVE: "prev-archive", Role.PAGE: "next"}
NOT_MODIFIED = 304
AGAIN = "Check it again, with a higher limit if one was reached."
TURNED = (
    "If prev-archive leads to newer archives, reverse the links: the subscription document links to "
    "the newest archive, prev-archive to the one before, next-archive to the one after."
)
# A gap that is this many times as long as the longest gap within the documents is unusual.
UNUSUAL = 3
FEWEST = 5  # entries that show what is usual


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
    """Documents are well-formed and complete."""
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
    """RSS items have a guid."""
    for item in _elements(document, *ITEMS):
        if not any(child.tag in GUIDS for child in item):
            fix = "Give it a guid that never changes: a link can change, and be shared."
            yield warning("An item has no guid.", line(item), fix)


# RFC 4287, 4.1.2: "atom:entry elements MUST contain exactly one atom:title element".
@of_document("RFC 4287, 4.1.2")
def entry_title(document: Document) -> Iterator[Finding]:
    """Atom entries have a title."""
    for text, at in _problems(document, "no-title"):
        yield error(text, at, "Add one; it may be empty.")


# RSS 2.0, enclosure: "It has three required attributes"; RFC 4287, 4.2.7.1: "atom:link elements MUST have an
# href attribute"; JSON Feed 1.1, attachments: "url (required, string)".
@of_document("RSS 2.0, enclosure; RFC 4287, 4.2.7.1")
def enclosures(document: Document) -> Iterator[Finding]:
    """Enclosures have a URL."""
    for text, at in _problems(document, "empty-enclosure"):
        yield error(text, at, "Add the URL of the file, or remove the element.")


# RFC 4287, 4.2.6: the content of atom:id "MUST be an IRI"; RSS 2.0, guid: with isPermaLink true, the default,
# "it is a permalink to the item, that is, a url".
@of_document("RFC 4287, 4.2.6; RSS 2.0, guid", Needs.MARKUP)
def id_is_a_uri(document: Document) -> Iterator[Finding]:
    """An atom:id is an absolute IRI; a permalink guid is a URL."""
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
    """Entries with the same id have different update times."""
    seen: set[tuple[str, str]] = set()
    for number, entry in enumerate(document.feed.entries, 1):
        identity = results.identity(entry, document.feed)
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
    """Atom feeds and entries have atom:updated."""
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
    """RSS archives have lastBuildDate."""
    feed = document.feed
    if feed.format == "rss" and feed.updated is None and document.is_archive:
        fix = "Add it: without it, nothing shows which version of an entry is newer."
        yield advice("The archive has no lastBuildDate.", document.markup.head_line, fix)


# RFC 4287, 3.3: a Date construct "MUST conform to the "date-time" production in [RFC3339]"; RSS 2.0: "All
# date-times in RSS conform to the Date and Time Specification of RFC 822".
@of_document("RFC 4287, 3.3; RSS 2.0, pubDate")
def dates(document: Document) -> Iterator[Finding]:
    """Dates are in the format's syntax."""
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
    """Atom feeds have atom:id and a self link."""
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
    """No element is from another format."""
    for text, at in _problems(document, "nonstandard"):
        yield warning(text, at, "Write it as the format requires.")


# -- RFC 5005


# RFC 5005, 4: "Archive documents SHOULD also contain an fh:archive element in their head sections to indicate
# that they are archives."
@of_document("RFC 5005, 4")
def subscription_mark(document: Document) -> Iterator[Finding]:
    """The subscription document is not an archive."""
    feed, own = document.feed, document.own
    if document.fetch.role is not Role.SUBSCRIPTION or not is_archive(feed, own):
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
    """A feed is complete, archived or paged, not two of them."""
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
    """A link relation has one target."""
    for relation, urls in document.feed.other_links.items():
        urls_given = [url for url in urls if url]
        first = document.feed.links.get(relation)
        if first is not None and urls_given:
            fix = "Keep only one: readers cannot know which of them is meant."
            text = f"It has {relation} links to {first} and to {urls_given[0]}."
            yield error(text, document.markup.link_lines.get(relation), fix)


# RFC 4287, 4.2.7.1: "atom:link elements MUST have an href attribute, whose value MUST be a IRI reference".
@of_document("RFC 4287, 4.2.7.1")
def link_target(document: Document) -> Iterator[Finding]:
    """History links have a URL."""
    for relation, urls in document.feed.other_links.items():
        if "" in urls:
            fix = "Write the URL of the document, or remove the link."
            yield error(f"Its {relation} link has no URL.", document.markup.link_lines.get(relation), fix)


@of_document("RFC 5005, 5", Needs.MARKUP)
def relation_name(document: Document) -> Iterator[Finding]:
    """Link relations have their registered names."""
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
    """History elements and links are in the head section."""
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
    """History links are in Atom's namespace."""
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
    """fh:archive and fh:complete are empty; RFC 5005 has no others."""
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
    """RSS links are absolute."""
    for link in document.markup.in_head(*LINKS) if document.feed.format == "rss" else ():
        href = (link.get("href") or "").strip()
        if href and not _split(href).scheme and not HISTORY.isdisjoint(relations(link)):
            fix = "Write the full URL: RSS does not define what a relative one is relative to."
            yield advice(f"The link {link.get('rel')!r} is relative.", line(link), fix)


# RFC 5005, 6: it "does not define what it means when a logical feed's component feed documents have different
# security mechanisms applied".
@of_document("RFC 5005, 6")
def secure_links(document: Document) -> Iterator[Finding]:
    """Documents served with https: use https: links to their host."""
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
    """The feed says where older entries are, or that there are none."""
    if document.fetch.role is not Role.SUBSCRIPTION:
        return
    feed_kind = kind(document.feed)
    if feed_kind is Kind.SINGLE:
        fix = "Link to archives with prev-archive, or write fh:complete if these are all entries."
        yield advice("It does not say where its older entries are.", document.markup.head_line, fix)
    # RFC 5005, 3: "Paged feeds are lossy".
    elif feed_kind is Kind.PAGED:
        fix = "Publish archives that do not change, with prev-archive links."
        yield advice("It is paged: entries can be lost while its pages change.", None, fix)


# RFC 5005, 4.2: "Clients SHOULD warn users when they are not able to reconstruct the entire logical feed".
@of_document("RFC 5005, 4.2")
def nothing_missing(document: Document) -> Iterator[Finding]:
    """No document declares that entries are or may be missing."""
    if (declared := document.feed.declared) is not None:
        report = error if declared.verdict == Verdict.INCOMPLETE.value else warning
        text = f"It is an export of a feed that is not complete ({declared.verdict}): {declared.reasons}."
        fix = "Export it again once the feed is complete."
        yield report(text, _line_in_head(document, VERDICT), fix)


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
    """Content-Type, XML declaration and byte order mark agree on the encoding."""
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
    """Archives do not redirect."""
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
    """Documents are small, above all the subscription document."""
    octets = len(document.body)
    is_polled = document.fetch.role is Role.SUBSCRIPTION and not document.feed.complete
    if octets > (LARGE if is_polled else LARGE_ARCHIVE):
        fix = "Move entries to archives." if is_polled else "Split it into several archives."
        yield advice(f"It has {octets / MIB:.1f} MiB.", None, fix)


# -- the chain: its links, and contradictions between neighbours


# RFC 5005, 4.2: "This process should be repeated recursively until the client encounters […] (the end of the
# archive is indicated by a missing prev-archive link relation) or an error is encountered."
@of_chain("RFC 5005, 4.2", Needs.ALL)
def walk_ends(chain: History) -> Iterator[Finding]:
    """The links lead to the oldest document."""
    documents = chain.documents
    if chain.missing is not None:
        yield _broken_chain(chain, *chain.missing)
    elif chain.loop is not None:
        number, url = chain.loop
        last, first = documents[-1], documents[number]
        relation = "prev-archive" if url == last.links.get("prev-archive") else "next"
        to = url if url in first.own else f"{url}, which redirects to {first.fetch.url}"
        text = f"Its {relation} link leads to {to}, which has been read already: the chain forms a loop."
        fix = "Link to the older document, or remove the link if there is none."
        if first is not last and first.digest == last.digest:
            text = f"It is the same as {first.requested_url}, which links to it."
            fix = f"Serve older entries there; if there are none, remove the link in {first.requested_url}."
        yield error(text, last.markup.link_lines.get(relation), fix, last)
    elif chain.limit is not None:
        text = f"The check stopped after {chain.limit:,} documents: older documents were not checked."
        yield warning(text, None, "Check it with a higher --max-documents.")
    elif (
        chain.kind is Kind.ARCHIVED and documents[-1].is_whole and not any(d.feed.declared for d in documents)
    ):
        yield good(f"The chain leads to its oldest document, {documents[-1].requested_url}.")


def _broken_chain(chain: History, missing: Link, detail: str, is_limit: bool) -> Finding:
    if not chain.documents:
        fix = "Give the URL of a feed, and make sure that its server responds with the feed."
        return error(f"It {detail}.", None, AGAIN if is_limit else fix)._replace(document=missing.url)
    via, relation = chain.documents[-1], OLDER[missing.role]
    at = via.markup.link_lines.get(relation)
    if is_limit:
        text = f"{missing.url}, to which it links, {detail}: older documents were not checked."
        return warning(text, at, AGAIN, via)
    # RFC 5005, 4.1: publishers "may refuse to serve […] or be unable to serve […] an archive document".
    fix = "Correct the link, or serve that document: older entries cannot be found."
    text = f"The chain is broken: its {relation} link leads to {missing.url}, which {detail}."
    return error(text, at, fix, via)


def _wrong_target(
    report: Report, chain: History, document: Document, relation: str, to: int, expected: str, fix: str
) -> Iterator[Finding]:
    """Yield a finding if the target of a link is known, and is not the document with the number `to`."""
    url = document.links.get(relation)
    target = chain.find(url)
    if target not in (to, None):
        end = f"which {target}" if target and isinstance(target, str) else f"not to {expected}"
        text = f"Its {relation} link leads to {url}, {end}."
        yield report(text, document.markup.link_lines.get(relation), fix, document)


# RFC 5005, 4: "Archive documents SHOULD also contain an fh:archive element in their head sections".
@of_chain("RFC 5005, 4", Needs.ALL)
def archive_marks(chain: History) -> Iterator[Finding]:
    """Archives have fh:archive."""
    unmarked = [document for document in chain.archives if not document.feed.archive]
    fix = (
        "Add <fh:archive/> to its head section, so that readers that find it first recognise it as an "
        "archive."
    )
    for document in unmarked:
        if document.is_whole:
            yield warning("The archive has no fh:archive.", document.markup.head_line, fix, document)
    if chain.archives and not unmarked:
        yield good("Every archive is marked with fh:archive.")


# RFC 5005, 4: "next-archive" is "the immediately following archive document"; archive documents "SHOULD also
# have a "next-archive" link relation, unless there are no following archives available".
@of_chain("RFC 5005, 4", Needs.ALL)
def next_archive(chain: History) -> Iterator[Finding]:
    """next-archive leads back to the newer archive."""
    archives = chain.archives
    is_good = len(archives) > 1
    for newer, document in zip([None, *archives], archives, strict=False):
        wrong = list(
            _check_newest(chain, document) if newer is None else _check_following(chain, document, newer)
        )
        url = document.links.get("next-archive")
        is_good &= not wrong and (newer is None if url is None else chain.find(url) is not None)
        yield from wrong
    if is_good:
        yield good("Every next-archive link leads back to the archive that links to its document.")


# RFC 5005, 4: "although another archive […] may be under construction, it would be an error to link to it
# before completion".
def _check_newest(chain: History, document: Document) -> Iterator[Finding]:
    first, url = chain.documents[0], document.links.get("next-archive")
    at, target = document.markup.link_lines.get("next-archive"), chain.find(url)
    fix = "Remove the link: there is no newer archive."
    if chain.begins_with_archive:
        # Without a link to another, it may be the subscription document with a wrong mark.
        if first.links.get("current") not in (None, *first.own):
            yield from _check_following(chain, document, first)
    elif target == 0:
        fix = "Remove it: the current link leads to the document after the newest archive."
        yield warning("Its next-archive link leads to the subscription document.", at, fix, document)
    elif isinstance(target, int):
        yield error(f"Its next-archive link leads to {url}, which is not a newer archive.", at, fix, document)
    else:
        if target == OTHER:
            fix = (
                f"If that is a newer archive, and finished, let prev-archive links lead from "
                f"{first.requested_url} to it, and from it to {document.link_url}; else remove the link."
            )
        expected = "an archive that a prev-archive link leads to"
        yield from _wrong_target(error, chain, document, "next-archive", 0, expected, fix)


def _check_following(chain: History, document: Document, newer: Document) -> Iterator[Finding]:
    url, is_turned = document.links.get("next-archive"), _is_turned(newer, document)
    if url is not None:
        fix = TURNED if is_turned else f"Link to {newer.link_url}."
        if chain.find(url) == OTHER:
            fix = (
                f"If that is an archive older than {newer.requested_url}, let prev-archive links lead from "
                f"there to it, and from it to {document.link_url}; else link to {newer.link_url}."
            )
        yield from _wrong_target(
            error, chain, document, "next-archive", newer.number, newer.requested_url, fix
        )
    elif document.is_whole:
        fix = TURNED if is_turned else f"Add a next-archive link to {newer.link_url}."
        yield warning("The archive has no next-archive link.", document.markup.head_line, fix, document)


# RFC 5005, 4: "Archive documents SHOULD indicate their associated subscription documents using the "current"
# link relation"; it "returns a feed document containing the most recent entries in the feed".
@of_chain("RFC 5005, 4", Needs.ALL)
def current(chain: History) -> Iterator[Finding]:
    """current leads to the subscription document."""
    if chain.begins_with_archive:
        return
    for document in chain.archives:
        there = chain.documents[0].link_url
        if "current" not in document.links and document.is_whole:
            fix = f"Add a current link to {there}."
            yield warning("The archive has no current link.", document.markup.head_line, fix, document)
        expected = "the subscription document"
        yield from _wrong_target(error, chain, document, "current", 0, expected, f"Link to {there}.")
    if chain.archives and all(chain.find(document.links.get("current")) == 0 for document in chain.archives):
        yield good("Every archive links to the subscription document.")


# RFC 4287, 4.2.7.2: "self" is "a resource equivalent to the containing element".
@of_chain("RFC 4287, 4.2.7.2")
def self_link(chain: History) -> Iterator[Finding]:
    """self leads to its own document."""
    for document in chain.documents:
        fix = f"Write {document.link_url}."
        yield from _wrong_target(warning, chain, document, "self", document.number, document.fetch.url, fix)


# RFC 5005, 3: "previous" is "the immediately preceding document in a series of documents", "first" "the
# furthest preceding document".
@of_chain("RFC 5005, 3")
def pages(chain: History) -> Iterator[Finding]:
    """previous and first of pages lead back."""
    for document in chain.documents:
        if document.fetch.role is not Role.PAGE:
            continue
        back = {"previous": document.number - 1, "prev": document.number - 1, "first": 0}
        if not back.keys().isdisjoint(chain.documents[0].links.keys() - {"first"}):
            del back["first"]  # the check started at a page that is not the first
        for relation, number in back.items():
            there = chain.documents[number].link_url
            yield from _wrong_target(error, chain, document, relation, number, there, f"Link to {there}.")


# RFC 9110, 8.8 and 13.1: with validators, a client can check whether a document has changed.
@of_chain("RFC 9110, 13.1")
def conditional_requests(chain: History) -> Iterator[Finding]:
    """The server responds with 304 to unchanged documents."""
    requested = [document for document in chain.documents[:2] if document.is_http]
    for document in requested:
        if not document.conditions:
            fix = "Send ETag or Last-Modified: readers then fetch it only when it has changed."
            yield advice("The response has neither ETag nor Last-Modified.", None, fix, document)
        elif document.conditional is not None and document.conditional != NOT_MODIFIED:
            fix = "Respond with 304 while it has not changed."
            text = f"The response to a conditional request was {document.conditional}."
            yield advice(text, None, fix, document)
    if requested and all(document.conditional == NOT_MODIFIED for document in requested):
        yield good("The server responds with 304 if the document has not changed.")


# RFC 5005, 4.1: "Publishers SHOULD construct their feed documents in such a way as to make duplicate removal
# unambiguous"; 4.2: the entry's update time decides, else the document's. Between two archives, which do not
# change, a version that differs has another update time (RFC 4287, 4.2.15).
@of_chain("RFC 5005, 4.1 and 4.2", Needs.ALL)
def one_newest_version(chain: History) -> Iterator[Finding]:
    """Of several versions of an entry, the newest is clear."""
    for entry_id, newer, older, at, is_timed in chain.entries.clashes:
        text = f"The entry {entry_id[:SHOWN]} differs from that in {newer.requested_url}"
        fix = "Give the newer version, or its document, a later update time."
        if comparable(newer.feed.updated) <= comparable(older.feed.updated):
            yield error(f"{text}, and no time shows which of them is newer.", at, fix, older)
        elif is_timed:
            report = error if newer.is_archive else warning
            yield report(f"{text}, with the same atom:updated.", at, fix, older)
        else:
            yield advice(f"{text}; only the times of the documents show which is newer.", at, fix, older)
    is_all = all(document.is_whole for document in chain.documents) and not chain.entries.is_full
    if chain.entries.repeated and not chain.entries.clashes and is_all:
        yield good("Of each entry in several documents, it is clear which version is the newest.")
    if chain.entries.is_full:
        yield warning(f"Only {MOST_ENTRIES:,} entries were compared with those of other documents.")


# RFC 4287, 4.2.6: an atom:id "MUST NOT change over time"; RSS 2.0, guid: it "uniquely identifies the item".
@of_chain("RFC 4287, 4.2.6; RSS 2.0, guid")
def ids_stay(chain: History) -> Iterator[Finding]:
    """An entry has the same id in all documents."""
    for link, document, at in chain.entries.changed_ids:
        text = f"Entries with the link {link[:SHOWN]} have different ids: are they one entry?"
        yield advice(text, at, "Never change the id of an entry.", document)


# RFC 4287, 4.2.6: atom:id is "a permanent, universally unique identifier for an entry or feed".
@of_chain("RFC 4287, 4.2.6", Needs.MARKUP)
def one_feed(chain: History) -> Iterator[Finding]:
    """All Atom documents have the same atom:id."""
    for document in chain.documents[1:]:
        first, own = chain.documents[0].markup.feed_id, document.markup.feed_id
        if None not in (first, own) and own != first:
            text = f"Its atom:id is {own}, and that of the subscription document {first}."
            fix = "Give all documents of the feed the same atom:id."
            yield warning(text, document.markup.head_line, fix, document)


# RFC 5005, 4: "Archive documents are feed documents that contain less recent entries in the feed."
@of_chain("RFC 5005, 4")
def order_of_dates(chain: History) -> Iterator[Finding]:
    """prev-archive leads to older entries."""
    for newer, older in pairwise(chain.documents):
        if _is_turned(newer, older):
            text = (
                f"All its entries are newer than those of {newer.requested_url}, which links to it as older."
            )
            yield warning(text, None, TURNED, older)


# Whether the dates are in the reverse order of the chain.
def _is_turned(newer: Document, older: Document) -> bool:
    return comparable(older.oldest) > comparable(newer.newest) != ""


# RFC 5005, 4.2: of entries with one update time, "the entry sourced from the most recently updated feed
# document SHOULD replace all other duplicates".
@of_chain("RFC 5005, 4.2")
def order_of_documents(chain: History) -> Iterator[Finding]:
    """No archive is newer than the document that links to it."""
    for newer, older in pairwise(chain.documents):
        if (
            chain.kind is Kind.ARCHIVED
            and comparable(older.feed.updated) > comparable(newer.feed.updated) != ""
        ):
            text = f"Its update time, {older.feed.updated}, is later than that of {newer.requested_url}."
            fix = "Give an archive the time of its last change: of two equal versions, the later one counts."
            yield advice(text, older.markup.head_line, fix, older)


# RFC 5005, 4: archived feeds "enable clients to do this without losing entries". It is certain only if
# two documents share an entry that none was lost between them.
@of_chain("RFC 5005, 4")
def no_hole(chain: History) -> Iterator[Finding]:
    """There is no gap between the newest archive and the subscription document."""
    if chain.kind is not Kind.ARCHIVED or chain.begins_with_archive or not chain.documents[1:]:
        return
    newer, older = chain.documents[:2]
    if older.shared:
        yield good(
            "The newest archive and the subscription document overlap, so that no entry is lost in between."
        )
    elif newer.oldest is not None and older.newest is not None and newer.entries + older.entries >= FEWEST:
        seconds = elapsed(older.newest, newer.oldest)
        if seconds > max(UNUSUAL * max(newer.widest, older.widest), DAY):
            text = (
                f"Its newest entry is {seconds // DAY} days older than the oldest one of the subscription "
                "document, a longer gap than any within them: make sure that no entry is lost in between."
            )
            fix = "Keep entries in the subscription document until an archive has them."
            yield advice(text, None, fix, older)
