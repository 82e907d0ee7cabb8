"""Rules of RFC 5005 about one document."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from fhcrawl import logical_feed
from fhcrawl.documents.head import FLAGS, PREV
from fhcrawl.documents.links import HISTORY
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, FH, OLD_ATOM
from fhcrawl.logical_feed import Kind, Role
from fhcrawl.validation.markup import line, relations
from fhcrawl.validation.model import Needs, advice, error, of_document, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fhcrawl.validation.model import CheckedDocument, Finding

PAGING = ("first", "last", "previous", "next")
ELEMENTS = ("archive", "complete")
DRAFTS = frozenset({*FLAGS, PREV})
LINKS = (f"{ATOM}link", f"{OLD_ATOM}link")
# What publishers write for the registered names, without hyphens and underscores.
MISSPELT = {
    "prevarchive": "prev-archive",
    "previousarchive": "prev-archive",
    "archiveprev": "prev-archive",
    "nextarchive": "next-archive",
    "archivenext": "next-archive",
}


def _head_line(document: CheckedDocument, *tags: str) -> int | None:
    """Return the line of the first of some elements of the head section, else of the head section."""
    found = next(document.markup.in_head(*tags), None) if tags else None
    return line(document.markup.head if found is None else found)


def _link_line(document: CheckedDocument, relation: str) -> int | None:
    return document.markup.link_lines().get(relation)


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url[: elements.LONGEST_URL])
    except ValueError:
        return urlsplit("")


# RFC 5005, 4: "Archive documents SHOULD also contain an fh:archive element in their head sections to indicate
# that they are archives."
@of_document("RFC 5005, 4")
def subscription_mark(document: CheckedDocument) -> Iterator[Finding]:
    """The document that is polled is no archive."""
    own = (document.requested_url, document.response.url)
    if document.role is not Role.SUBSCRIPTION or not logical_feed.is_archive(document.feed, own):
        return
    mark = f"{FH}archive" if document.feed.archive else LINKS[0]
    current = document.feed.links.get("current")
    fix = "Remove fh:archive and next-archive, if this is the document that readers poll."
    if current is not None and current not in own:
        fix = f"Check {current}, which it links to as the subscription document."
    said = "is marked with fh:archive" if document.feed.archive else "has a next-archive link"
    yield error(f"The requested document {said}: it is an archive.", _head_line(document, mark), fix)


# RFC 5005, 1: "The semantics of a feed that combines these types is undefined by this specification."
@of_document("RFC 5005, 1")
def one_type(document: CheckedDocument) -> Iterator[Finding]:
    """A feed is complete, or archived, or paged: not two of them."""
    feed = document.feed
    older = [name for name in ("prev-archive", "next-archive", *PAGING) if name in feed.links]
    if feed.complete and feed.archive:
        fix = "Remove fh:complete: a document of an archived feed is not the complete feed."
        yield error("It has fh:complete and fh:archive.", _head_line(document, f"{FH}archive"), fix)
    if feed.complete and older:
        fix = "Remove fh:complete, or the links: readers do not follow the links of a complete feed."
        text = f"It has fh:complete and a {older[0]} link to another document."
        yield error(text, _link_line(document, older[0]), fix)
    paging = [name for name in PAGING if name in feed.links]
    if not feed.complete and paging and (document.is_archive or "prev-archive" in feed.links):
        fix = "Use only prev-archive and next-archive in archived feeds, not the links of paged feeds."
        text = f"It belongs to an archived feed, but has a {paging[0]} link, which is for paged feeds."
        yield warning(text, _link_line(document, paging[0]), fix)


# RFC 5005, 4: "prev-archive" is "the immediately preceding archive document": there is one.
@of_document("RFC 5005, 3 and 4")
def one_link(document: CheckedDocument) -> Iterator[Finding]:
    """A relation leads to one document."""
    for relation, others in document.feed.other_links.items():
        named = [url for url in others if url]
        first = document.feed.links.get(relation)
        if first is not None and named:
            fix = "Keep only one: readers cannot know which of them is meant."
            text = f"It has {relation} links to {first} and to {named[0]}."
            yield error(text, _link_line(document, relation), fix)


# RFC 4287, 4.2.7.1: "atom:link elements MUST have an href attribute, whose value MUST be a IRI reference".
@of_document("RFC 4287, 4.2.7.1")
def link_target(document: CheckedDocument) -> Iterator[Finding]:
    """A link of the history has a URL."""
    for relation, others in document.feed.other_links.items():
        if "" in others:
            fix = "Write the URL of the document, or remove the link."
            yield error(f"Its {relation} link has no URL.", _link_line(document, relation), fix)


# RFC 5005, 5: the names that are registered.
@of_document("RFC 5005, 5", Needs.MARKUP)
def relation_name(document: CheckedDocument) -> Iterator[Finding]:
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
def in_head_section(document: CheckedDocument) -> Iterator[Finding]:
    """The elements and links of the history are in the head section."""
    found = document.markup
    for element in found.everywhere(f"{FH}*", *LINKS):
        names = {"prev-archive", "next-archive", "current"}
        is_link = element.tag in LINKS
        if element.getparent() is found.head or (is_link and names.isdisjoint(relations(element))):
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
def link_namespace(document: CheckedDocument) -> Iterator[Finding]:
    """The links of the history are in Atom's namespace."""
    for link in document.markup.everywhere("{*}link"):
        relation = (link.get("rel") or "").strip().lower()
        if relation in HISTORY and link.tag not in LINKS:
            fix = f'Write <atom:link …/>, with xmlns:atom="{ATOM[1:-1]}".'
            yield error(f"The link {relation!r} is not in Atom's namespace.", line(link), fix)


# RFC 5005, 1.1: the namespace of its elements.
@of_document("RFC 5005, 1.1", Needs.MARKUP)
def history_namespace(document: CheckedDocument) -> Iterator[Finding]:
    """fh:archive and fh:complete are in RFC 5005's namespace."""
    for element in document.markup.in_head(*(f"{{*}}{name}" for name in ELEMENTS)):
        namespace = element.tag.rpartition("}")[0][1:]
        is_meant = "history" in namespace or namespace in ("", ATOM[1:-1])
        if is_meant and not element.tag.startswith(FH):
            fix = f'Write xmlns:fh="{FH[1:-1]}".'
            where = f"the namespace {namespace}" if namespace else "no namespace"
            yield error(f"The element {elements.local_name(element)} is in {where}.", line(element), fix)


# RFC 5005, 2 and 4: "fh:archive is an empty element"; fh:stateful, fh:incremental and fh:prev are of its
# drafts.
@of_document("RFC 5005, 2 and 4", Needs.MARKUP)
def history_elements(document: CheckedDocument) -> Iterator[Finding]:
    """The elements of RFC 5005 are fh:archive and fh:complete, and they are empty."""
    for element in document.markup.in_head(f"{FH}*"):
        name = f"fh:{elements.local_name(element)}"
        if element.tag in DRAFTS:
            fix = "Write prev-archive links, with fh:archive in archives, or fh:complete."
            yield warning(
                f"{name} is from a draft of RFC 5005, which few readers support.", line(element), fix
            )
        elif elements.local_name(element) not in ELEMENTS:
            fix = "Write fh:archive or fh:complete."
            yield error(f"{name} is not an element of RFC 5005.", line(element), fix)
        elif len(element) or elements.text(element):
            yield warning(f"{name} is not empty.", line(element), f"Write <{name}/>.")


# RFC 5005, 1.2: "URI references in link relation values may be relative". RSS has no rule for their base.
@of_document("RFC 5005, 1.2", Needs.MARKUP)
def relative_links(document: CheckedDocument) -> Iterator[Finding]:
    """The links of RSS are absolute."""
    for link in document.markup.in_head(*LINKS) if document.feed.format == "rss" else ():
        href = (link.get("href") or "").strip()
        if href and not _split(href).scheme and not HISTORY.isdisjoint(relations(link)):
            fix = "Write the full URL: RSS does not define what a relative one is relative to."
            yield advice(f"The link {link.get('rel')!r} is relative.", line(link), fix)


# RFC 5005, 6: it "does not define what it means when a logical feed's component feed documents have different
# security mechanisms applied".
@of_document("RFC 5005, 6")
def secure_links(document: CheckedDocument) -> Iterator[Finding]:
    """A document that is served with https: leads to documents that are too, on its host."""
    here = _split(document.response.url)
    for relation in ("prev-archive", "next"):
        there = _split(document.feed.links.get(relation, ""))
        if here.scheme == "https" and there.scheme == "http":
            fix = "Use https:, if the server supports it: careful readers do not follow such a link."
            text = f"Its {relation} link leads from https: to http:."
            yield warning(text, _link_line(document, relation), fix)
        elif there.netloc and there.netloc != here.netloc and there.scheme in ("http", "https"):
            fix = "Keep that host running as long as this one: without it, the history is lost."
            text = f"Its {relation} link leads to another host, {there.netloc}."
            yield advice(text, _link_line(document, relation), fix)


# RFC 5005, 1: a document that is neither complete nor linked "may or may not be a complete representation of
# the logical feed" (1.2).
@of_document("RFC 5005, 1", Needs.ALL)
def says_its_history(document: CheckedDocument) -> Iterator[Finding]:
    """The subscription document says where older entries are, or that there are none."""
    if document.role is not Role.SUBSCRIPTION:
        return
    kind = logical_feed.kind(document.feed)
    if kind is Kind.SINGLE:
        fix = "Link to archives with prev-archive, or write fh:complete if these are all entries."
        yield advice("It does not say where its older entries are.", _head_line(document), fix)
    # RFC 5005, 3: "Paged feeds are lossy".
    elif kind is Kind.PAGED:
        fix = "Publish archives that do not change, with prev-archive links."
        yield advice("It is paged: entries can be lost while its pages change.", None, fix)
