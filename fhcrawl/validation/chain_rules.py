"""Rules of RFC 5005 about the documents of a chain: their links, and contradictions between neighbours."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from fhcrawl.documents.dates import elapsed
from fhcrawl.logical_feed import Kind, Role
from fhcrawl.logical_feed.results import comparable
from fhcrawl.validation.chain import MOST_ENTRIES, OTHER
from fhcrawl.validation.model import Needs, advice, error, good, of_chain, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fhcrawl.logical_feed import Link
    from fhcrawl.validation.chain import Chain
    from fhcrawl.validation.model import Document, Finding, Report

OLDER = {Role.ARCHIVE: "prev-archive", Role.PAGE: "next"}
NOT_MODIFIED = 304
AGAIN = "Check it again, with a higher limit if one was reached."
TURNED = (
    "If prev-archive leads to newer archives, reverse the links: the subscription document links to "
    "the newest archive, prev-archive to the one before, next-archive to the one after."
)
SHOWN = 100  # characters of an id
DAY = 24 * 60 * 60
# A gap that is this many times as long as the longest gap within the documents is unusual.
UNUSUAL = 3
FEWEST = 5  # entries that show what is usual


# RFC 5005, 4.2: "This process should be repeated recursively until the client encounters […] (the end of the
# archive is indicated by a missing prev-archive link relation) or an error is encountered."
@of_chain("RFC 5005, 4.2", Needs.ALL)
def walk_ends(chain: Chain) -> Iterator[Finding]:
    """The links lead from document to document, up to the oldest one."""
    documents = chain.documents
    if chain.missing is not None:
        yield _cut(chain, *chain.missing)
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
    elif chain.kind is Kind.ARCHIVED and documents[-1].is_whole:
        yield good(f"The chain leads to its oldest document, {documents[-1].requested_url}.")


def _cut(chain: Chain, missing: Link, detail: str, is_limit: bool) -> Finding:
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


def _misled(
    report: Report, chain: Chain, document: Document, relation: str, to: int, expected: str, fix: str
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
def archive_marks(chain: Chain) -> Iterator[Finding]:
    """Every archive has fh:archive."""
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
def next_archive(chain: Chain) -> Iterator[Finding]:
    """The next-archive link of an archive leads back to the archive that names it."""
    archives = chain.archives
    is_good = len(archives) > 1
    for newer, document in zip([None, *archives], archives, strict=False):
        wrong = list(_of_newest(chain, document) if newer is None else _following(chain, document, newer))
        url = document.links.get("next-archive")
        is_good &= not wrong and (newer is None if url is None else chain.find(url) is not None)
        yield from wrong
    if is_good:
        yield good("Every next-archive link leads back to the archive that links to its document.")


# RFC 5005, 4: "although another archive […] may be under construction, it would be an error to link to it
# before completion".
def _of_newest(chain: Chain, document: Document) -> Iterator[Finding]:
    first, url = chain.documents[0], document.links.get("next-archive")
    at, target = document.markup.link_lines.get("next-archive"), chain.find(url)
    fix = "Remove the link: there is no newer archive."
    if chain.begins_with_archive:
        # Without a link to another, it may be the subscription document with a wrong mark.
        if first.links.get("current") not in (None, *first.own):
            yield from _following(chain, document, first)
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
        yield from _misled(error, chain, document, "next-archive", 0, expected, fix)


def _following(chain: Chain, document: Document, newer: Document) -> Iterator[Finding]:
    url, is_turned = document.links.get("next-archive"), _is_turned(newer, document)
    if url is not None:
        fix = TURNED if is_turned else f"Link to {newer.link_url}."
        if chain.find(url) == OTHER:
            fix = (
                f"If that is an archive older than {newer.requested_url}, let prev-archive links lead from "
                f"there to it, and from it to {document.link_url}; else link to {newer.link_url}."
            )
        yield from _misled(error, chain, document, "next-archive", newer.number, newer.requested_url, fix)
    elif document.is_whole:
        fix = TURNED if is_turned else f"Add a next-archive link to {newer.link_url}."
        yield warning("The archive has no next-archive link.", document.markup.head_line, fix, document)


# RFC 5005, 4: "Archive documents SHOULD indicate their associated subscription documents using the "current"
# link relation"; it "returns a feed document containing the most recent entries in the feed".
@of_chain("RFC 5005, 4", Needs.ALL)
def current(chain: Chain) -> Iterator[Finding]:
    """The current link of an archive leads to the subscription document."""
    if chain.begins_with_archive:
        return
    for document in chain.archives:
        there = chain.documents[0].link_url
        if "current" not in document.links and document.is_whole:
            fix = f"Add a current link to {there}."
            yield warning("The archive has no current link.", document.markup.head_line, fix, document)
        expected = "the subscription document"
        yield from _misled(error, chain, document, "current", 0, expected, f"Link to {there}.")
    if chain.archives and all(chain.find(document.links.get("current")) == 0 for document in chain.archives):
        yield good("Every archive links to the subscription document.")


# RFC 4287, 4.2.7.2: "self" is "a resource equivalent to the containing element".
@of_chain("RFC 4287, 4.2.7.2")
def self_link(chain: Chain) -> Iterator[Finding]:
    """A self link leads to its own document."""
    for document in chain.documents:
        fix = f"Write {document.link_url}."
        yield from _misled(warning, chain, document, "self", document.number, document.fetch.url, fix)


# RFC 5005, 3: "previous" is "the immediately preceding document in a series of documents", "first" "the
# furthest preceding document".
@of_chain("RFC 5005, 3")
def pages(chain: Chain) -> Iterator[Finding]:
    """The previous and first links of pages lead back."""
    for document in chain.documents:
        if document.fetch.role is not Role.PAGE:
            continue
        back = {"previous": document.number - 1, "prev": document.number - 1, "first": 0}
        if not back.keys().isdisjoint(chain.documents[0].links.keys() - {"first"}):
            del back["first"]  # the check started at a page that is not the first
        for relation, number in back.items():
            there = chain.documents[number].link_url
            yield from _misled(error, chain, document, relation, number, there, f"Link to {there}.")


# RFC 9110, 8.8 and 13.1: with validators, a client can check whether a document has changed.
@of_chain("RFC 9110, 13.1")
def conditional_requests(chain: Chain) -> Iterator[Finding]:
    """The server responds with 304 if a document has not changed."""
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
def one_newest_version(chain: Chain) -> Iterator[Finding]:
    """Of an entry in several documents, it is clear which version is the newest."""
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
def ids_stay(chain: Chain) -> Iterator[Finding]:
    """An entry has the same id in all documents."""
    for link, document, at in chain.entries.changed_ids:
        text = f"Entries with the link {link[:SHOWN]} have different ids: are they one entry?"
        yield advice(text, at, "Never change the id of an entry.", document)


# RFC 4287, 4.2.6: atom:id is "a permanent, universally unique identifier for an entry or feed".
@of_chain("RFC 4287, 4.2.6", Needs.MARKUP)
def one_feed(chain: Chain) -> Iterator[Finding]:
    """All documents of Atom have one feed's atom:id."""
    for document in chain.documents[1:]:
        first, own = chain.documents[0].markup.feed_id, document.markup.feed_id
        if None not in (first, own) and own != first:
            text = f"Its atom:id is {own}, and that of the subscription document {first}."
            fix = "Give all documents of the feed the same atom:id."
            yield warning(text, document.markup.head_line, fix, document)


# RFC 5005, 4: "Archive documents are feed documents that contain less recent entries in the feed."
@of_chain("RFC 5005, 4")
def order_of_dates(chain: Chain) -> Iterator[Finding]:
    """A document that prev-archive names has older entries."""
    for newer, older in pairwise(chain.documents):
        if _is_turned(newer, older):
            text = (
                f"All its entries are newer than those of {newer.requested_url}, which links to it as older."
            )
            yield warning(text, None, TURNED, older)


def _is_turned(newer: Document, older: Document) -> bool:
    return comparable(older.oldest) > comparable(newer.newest) != ""


# RFC 5005, 4.2: of entries with one update time, "the entry sourced from the most recently updated feed
# document SHOULD replace all other duplicates".
@of_chain("RFC 5005, 4.2")
def order_of_documents(chain: Chain) -> Iterator[Finding]:
    """No archive is updated later than the document that names it."""
    for newer, older in pairwise(chain.documents):
        if (
            chain.kind is Kind.ARCHIVED
            and comparable(older.feed.updated) > comparable(newer.feed.updated) != ""
        ):
            text = f"Its update time, {older.feed.updated}, is later than that of {newer.requested_url}."
            fix = (
                "Give an archive the time of its last change: of equal versions, the later document's counts."
            )
            yield advice(text, older.markup.head_line, fix, older)


# RFC 5005, 4: archived feeds "enable clients to do this without losing entries". It is certain only if
# two documents share an entry that none was lost between them.
@of_chain("RFC 5005, 4")
def no_hole(chain: Chain) -> Iterator[Finding]:
    """The newest archive begins where the subscription document ends."""
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
