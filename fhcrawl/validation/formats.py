"""Rules of RFC 4287, RSS, JSON Feed and XML about one document, as far as they matter for the history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl import logical_feed
from fhcrawl.documents import TOO_MANY
from fhcrawl.documents.identifiers import IRI
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, RSS_NAMESPACES
from fhcrawl.logical_feed.versions import comparable, latest_time
from fhcrawl.reasons import ReasonKind
from fhcrawl.validation.markup import line
from fhcrawl.validation.model import (
    CHAIN_RULES,
    DOCUMENT_RULES,
    Needs,
    advice,
    error,
    of_document,
    warning,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.etree import _Element

    from fhcrawl.validation.model import CheckedDocument, Finding

GUIDS = tuple(f"{namespace}guid" for namespace in RSS_NAMESPACES)
ITEMS = tuple(f"{namespace}item" for namespace in RSS_NAMESPACES)
ID, ENTRY, UPDATED = f"{ATOM}id", f"{ATOM}entry", f"{ATOM}updated"
LOST = frozenset({"entry-lost", "no-ref", ReasonKind.UNRESOLVED_ENTITIES, TOO_MANY})
SHOWN = 100  # characters of an id


def _problems(document: CheckedDocument, kinds: Iterable[str]) -> Iterator[tuple[str, int | None]]:
    """Yield the problems of some kinds as sentences, with the lines of their entries."""
    wanted = frozenset(kinds)
    for problem in document.feed.problems:
        if problem.kind in wanted:
            at = document.markup.line_of(problem.entry) if problem.entry else None
            name = f"{problem.entry[:SHOWN]}: " if problem.entry else ""
            yield f"{name}{problem.detail}.", at


def _elements(document: CheckedDocument, *tags: str) -> list[_Element]:
    """Return the elements of the entries with some tags."""
    return [entry for entry in document.markup.entries if entry.tag in tags]


# XML 1.0, 2.1: a document that is not well-formed is no XML document.
@of_document("XML 1.0, 2.1")
def well_formed(document: CheckedDocument) -> Iterator[Finding]:
    """The document is well-formed and complete."""
    fix = "Fix it: most readers stop at the first error."
    if document.feed.fault is not None:
        yield error(f"It is not well-formed: {document.feed.fault}.", document.fault_line, fix)
    for text, at in _problems(document, ["repaired"]):
        yield error(text[0].upper() + text[1:], at or document.fault_line, fix)
    if document.response.is_cut:
        yield error("It is shorter than its server announces.", None, "Fix the server.")
    skipped = [rule.name for rule in (*DOCUMENT_RULES, *CHAIN_RULES) if not document.has(rule.needs)]
    if skipped:
        end = "" if document.is_whole else ", up to the error"
        text = (
            f"Its links and entries were checked as readers recover them{end}. "
            f"Not checked, or only in part: {', '.join(skipped)}."
        )
        yield warning(text, None, "Fix it, and check it again.")


# RFC 4287, 4.1.2; JSON Feed 1.1, id; RSS 2.0, item.
@of_document("RFC 4287, 4.1.1; RSS 2.0, item")
def entries_are_read(document: CheckedDocument) -> Iterator[Finding]:
    """Every entry can be read."""
    for text, at in _problems(document, LOST):
        yield error(f"Readers cannot use it: {text}", at, "Fix the entry.")


# RFC 4287, 4.1.2: "atom:entry elements MUST contain exactly one atom:id element". RFC 5005, B: "In RSS
# 2.0-formatted feeds, two entries are duplicates if they have the same guid element."
@of_document("RFC 4287, 4.1.2; RFC 5005, B")
def entry_id(document: CheckedDocument) -> Iterator[Finding]:
    """Every entry has an id."""
    for text, at in _problems(document, ["no-id"]):
        yield error(
            f"An entry cannot be distinguished from others: {text}", at, "Give it an id that never changes."
        )


# RFC 5005, B: "In RSS 2.0-formatted feeds, two entries are duplicates if they have the same guid element."
@of_document("RFC 5005, B", Needs.MARKUP)
def item_guid(document: CheckedDocument) -> Iterator[Finding]:
    """Every item of RSS has a guid."""
    for item in _elements(document, *ITEMS):
        if not any(child.tag in GUIDS for child in item):
            fix = "Give it a guid that never changes: a link can change, and be shared."
            yield warning("An item has no guid.", line(item), fix)


# RFC 4287, 4.1.2: "atom:entry elements MUST contain exactly one atom:title element".
@of_document("RFC 4287, 4.1.2")
def entry_title(document: CheckedDocument) -> Iterator[Finding]:
    """Every entry of Atom has a title."""
    for text, at in _problems(document, ["no-title"]):
        yield error(text, at, "Add one; it may be empty.")


# RFC 4287, 4.2.6: the content of atom:id "MUST be an IRI"; RSS 2.0, guid: with isPermaLink true, the default,
# "it is a permalink to the item, that is, a url".
@of_document("RFC 4287, 4.2.6; RSS 2.0, guid", Needs.MARKUP)
def id_is_a_uri(document: CheckedDocument) -> Iterator[Finding]:
    """An atom:id is an absolute IRI, and a guid that is a permalink is a URL."""
    for entry in _elements(document, ENTRY):
        text = elements.identifier(found) if (found := elements.first(entry, ID)) is not None else None
        if text and not IRI.fullmatch(text):
            fix = "Write an absolute IRI, such as tag:example.org,2003:1."
            yield error(f"The atom:id {text[:SHOWN]!r} is not an absolute IRI.", line(found), fix)
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
def unique_ids(document: CheckedDocument) -> Iterator[Finding]:
    """An id that is twice in a document has two update times."""
    seen: set[tuple[str, str]] = set()
    number = 0
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
def update_times(document: CheckedDocument) -> Iterator[Finding]:
    """Feed and entries of Atom have atom:updated."""
    feed, found = document.feed, document.markup
    fix = "Add it: it decides which of two versions of an entry is newer."
    if feed.format == "atom" and next(found.in_head("{*}updated", "{*}modified"), None) is None:
        yield error("The feed has no atom:updated.", line(found.head), fix)
    for entry in _elements(document, ENTRY):
        if elements.first(entry, UPDATED) is None:
            yield error("An entry has no atom:updated.", line(entry), fix)


# RFC 5005, B: "the feed-level update time can be determined by the lastBuildDate element, if present".
@of_document("RFC 5005, B", Needs.ALL)
def archive_time(document: CheckedDocument) -> Iterator[Finding]:
    """An archive of RSS has lastBuildDate."""
    feed = document.feed
    if feed.format == "rss" and feed.updated is None and document.is_archive:
        text = "The archive has no lastBuildDate."
        yield advice(
            text,
            line(document.markup.head),
            "Add it: without it, nothing shows which version of an entry is newer.",
        )


# RFC 4287, 3.3: a Date construct "MUST conform to the "date-time" production in [RFC3339]"; RSS 2.0: "All
# date-times in RSS conform to the Date and Time Specification of RFC 822".
@of_document("RFC 4287, 3.3; RSS 2.0, pubDate")
def dates(document: CheckedDocument) -> Iterator[Finding]:
    """Every date is written as its format says."""
    for text, at in _problems(document, ["unreadable-date", "interpreted-date"]):
        yield error(text, at, "Write 2003-12-13T18:30:02Z in Atom, Sat, 13 Dec 2003 18:30:02 GMT in RSS.")


# RFC 4287, 4.2.15: atom:updated is "the most recent instant in time when an entry or feed was modified".
@of_document("RFC 4287, 4.2.15")
def times_are_past(document: CheckedDocument) -> Iterator[Finding]:
    """No update time is in the future."""
    if not document.response.fetched:
        return
    latest = latest_time(document.response.fetched)
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
def feed_head(document: CheckedDocument) -> Iterator[Finding]:
    """A feed of Atom has atom:id and a self link."""
    found = document.markup
    if found.root.tag != f"{ATOM}feed":
        return
    if found.feed_id() is None:
        yield error("The feed has no atom:id.", line(found.head), "Give it one that never changes.")
    if "self" not in document.feed.links:
        text = "The feed has no self link."
        yield warning(text, line(found.head), 'Add <link rel="self" href="…"/> with its own URL.')


# RFC 4287, 1.2, RSS 2.0, JSON Feed 1.1: what is written otherwise, each reader understands as it likes.
@of_document("RFC 4287; RSS 2.0; JSON Feed 1.1")
def standard_form(document: CheckedDocument) -> Iterator[Finding]:
    """Nothing is written as another format has it."""
    for text, at in _problems(document, ["nonstandard"]):
        yield warning(text, at, "Write it as the format requires.")
