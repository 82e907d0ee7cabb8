"""From a document to a visit: what it says of its feed, its entries and the way on, and what is wrong."""

from __future__ import annotations

import logging
from dataclasses import asdict, replace
from itertools import groupby
from typing import TYPE_CHECKING

from fhcrawl import logical_feed
from fhcrawl.crawling import parser, responses
from fhcrawl.crawling.context import Referral, context_of
from fhcrawl.documents import Bounds, limits, snapshot
from fhcrawl.documents.entry_batches import EntryBatches, batches_of
from fhcrawl.documents.xml import entities
from fhcrawl.items import EntryVersion
from fhcrawl.logical_feed import Place, Role, Version
from fhcrawl.logical_feed.ordering import latest_time, order
from fhcrawl.logical_feed.relations import contradiction, contradiction_behind
from fhcrawl.logical_feed.visit import Loss, State, Visit
from fhcrawl.store import Step
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.http import Response

    from fhcrawl.documents import DocumentList, Entry, FeedDocument
    from fhcrawl.exceptions import NotAFeedError
    from fhcrawl.logical_feed.ordering import Order
    from fhcrawl.logical_feed.relations import Contradiction, Oddities

logger = logging.getLogger(__name__)

REFERRALS = 3
REPEATS = Loss(State.INVALID, "repeats", "is the same as the page before it: the walk ends here")
LOST_KINDS = ("no-id", "entry-lost")
BEYOND = {
    limits.TOO_MANY: "has more than {0.entries} entries: the rest is left out, as FHCRAWL_MAX_ENTRIES asks",
    limits.TOO_MANY_DOCUMENTS: "names more than {0.entries} documents: none of them is read, as "
    "FHCRAWL_MAX_ENTRIES asks",
    limits.TOO_MANY_ELEMENTS: "has more than {0.elements} elements, or values of JSON: it is left out, as "
    "FHCRAWL_MAX_ELEMENTS asks",
    limits.TOO_DEEP: "has more than {0.depth} levels of elements: what has them is left out, as "
    "FHCRAWL_MAX_DEPTH asks",
    limits.TOO_LONG: "has a text of more than {0.text} characters: what has it is left out, as "
    "FHCRAWL_MAX_TEXT asks",
}


def beyond(kind: str, most: Bounds) -> Loss:
    """Why a document is lost, or a part of it, that is beyond a bound (`limits.KINDS`)."""
    return Loss(State.REFUSED, "limit", BEYOND[kind].format(most))


def unread(response: Response, error: NotAFeedError, most: Bounds) -> Loss:
    """Why a document is lost that could not be read, or is none."""
    if error.kind in limits.KINDS:
        return beyond(error.kind, most)
    if error.kind == parser.LATE:
        return Loss(State.KNOWN, "limit", f"was left for a later run: {error}")
    if error.kind == parser.DIED:
        return Loss(State.FAILED, error.kind, f"could not be read: {error}")
    if "dataloss" in response.flags:
        return Loss(State.FAILED, "cut-off", f"comes incomplete, and is not a feed: {error}")
    return Loss(State.INVALID, error.kind, f"is not a feed: {error}")


def is_snapshot(visit: Visit, response: Response) -> bool:
    """Whether the index of a snapshot that the feed goes on from was asked for."""
    return visit.asked == context_of(response).walk.options.snapshot


def fill_list(visit: Visit, response: Response, listed: DocumentList, unread: int) -> Step | None:
    """Note in a visit what a list of documents says; the first of them that is to be read.

    :param unread: position of the first that is not processed
    """
    visit.kind = logical_feed.kind_of_list(listed).value
    visit.updated = listed.created_at
    visit.parts = listed.documents
    visit.validators = _validators(response)
    if visit.role is Role.INDEX and listed.created_at is None:
        logger.warning("%s does not say when it was made: the feed is read whole", printable(visit.asked))
    if unread == len(listed.documents):
        visit.replaces = listed.prefix
        return None
    key, url = listed.documents[unread]
    return Step(key, url, Role.PART, Place(visit.place.walk, visit.place.step - unread - 1))


def as_part(visit: Visit, document: FeedDocument) -> FeedDocument:
    """A document that a list names; its own links say nothing."""
    if snapshot.prefix_of(visit.key) is not None:
        return snapshot.page(document, visit.key)
    return replace(document, links={}, other_links={})


def elsewhere(visit: Visit, response: Response, document: FeedDocument, limit: int) -> str | None:
    """Where the subscription document is, if this is an archive document or a later page.

    A link that contradicts the one to it is noted in the visit.

    :param limit: how many pages of a multipart feed are followed to the newest one; 0 is no limit
    """
    context = context_of(response)
    own, says = (visit.asked, visit.url), responses.oddities(context.walk.options)
    current = logical_feed.subscription_link(document, says)
    # Where a feed has moved for good may be an archive by now, and the feed have moved on from where it was.
    if current is None and not document.complete and logical_feed.is_archive(document, own, says):
        current = visit.feed
    if visit.role is not Role.SUBSCRIPTION or current is None or current in own or context.is_last:
        return None
    # The pages of a multipart feed lead to the newest one after the other, and may do so in a circle.
    most = limit if current == document.links.get("next-archive") else REFERRALS
    number, mark = (0, None) if context.referral is None else (context.referral.number, context.referral.mark)
    is_far = bool(most) and number >= most
    if is_far or current == mark or not responses.is_fetchable(current):
        return None
    others = contradiction(document, logical_feed.subscription_relation(document, says), says)
    visit.loss = _contradictory(others) if others else _loss_on_the_way(response)
    return current


def referral(visit: Visit, response: Response, url: str) -> Referral:
    """What the request for a subscription document that is elsewhere carries."""
    before = context_of(response).referral
    number = 1 if before is None else before.number + 1
    # Brent's algorithm: whatever the circle, one of the marks is in it.
    is_marked = number & (number - 1) == 0
    return Referral(number, url if before is None or is_marked else before.mark, visit.loss)


def _loss_of(response: Response) -> Loss | None:
    # What is cut off may still be well-formed: comments, or checksums, stand at the end.
    if "dataloss" in response.flags:
        return Loss(State.FAILED, "cut-off", "comes incomplete, or with a wrong checksum")
    return _loss_on_the_way(response)


def _loss_on_the_way(response: Response) -> Loss | None:
    """What was wrong with the documents that have led to a subscription document."""
    before = context_of(response).referral
    return None if before is None else before.loss


def fill(visit: Visit, response: Response, document: FeedDocument, most: Bounds) -> Iterator[EntryVersion]:
    """Note in a visit what its document says; the document's entries."""
    walk = context_of(response).walk
    says = responses.oddities(walk.options)
    visit.title = document.title
    visit.kind = logical_feed.kind(document, says).value
    visit.updated = document.updated
    visit.behind = logical_feed.behind(document, (visit.asked, visit.url), says)
    visit.moved_to = _moved_to(visit, response, document)
    visit.loss = _beyond(document, most) or _loss(visit, document, says) or _loss_of(response)
    if _loss_on_the_way(response):
        # The next run looks again at what has led here.
        visit.location = visit.feed
    _compare(visit, response, document)
    since = walk.since or "" if visit.role is not Role.PART else ""
    if since:
        _bound(visit, document, since)
    versions = list(_versions(visit, document, since))
    responses.note_growth(response, visit.inherited)
    visit.versions = [version for version in versions if version is not None]
    visit.deletions = _deletions(visit, document)
    visit.uncounted = _uncounted(visit)
    visit.lost_entries = sum(problem.kind in LOST_KINDS for problem in document.problems)
    left_out = sum(problem.kind in limits.KINDS and bool(problem.entry) for problem in document.problems)
    if visit.lost_entries + left_out:
        visit.counts["fhcrawl/entry/invalid"] = visit.lost_entries + left_out
    if visit.role is Role.SUBSCRIPTION:
        _fill_subscription(visit, response, document)
    return _items(visit, document, versions)


def _moved_to(visit: Visit, response: Response, document: FeedDocument) -> str | None:
    redirected = responses.asked(response).meta.get("redirect_urls")
    if visit.role is not Role.ARCHIVE or not redirected:
        return None
    return visit.url if logical_feed.may_be_another(document, redirected[0], visit.url) else None


def _compare(visit: Visit, response: Response, document: FeedDocument) -> None:
    """Compare a page with the newer one that has led to it."""
    newer = context_of(response).newer
    if newer is None or document.format != "multipart":
        return
    found = list(logical_feed.disagreements(document, (visit.asked, visit.url), newer))
    document.problems.extend(found)
    for problem in found:
        visit.counts[f"fhcrawl/neighbour/{problem.kind}"] += 1


def _bound(visit: Visit, document: FeedDocument, since: str) -> None:
    """End the walk of a feed that goes on from a snapshot where that was made."""
    if logical_feed.reaches(document, since):
        visit.behind = None
    elif visit.behind is None and visit.loss is None and logical_feed.begins_after(document, since):
        detail = f"has nothing before it, and begins after the snapshot of {since}"
        visit.loss = Loss(State.INVALID, "begins-later", detail)


def _fill_subscription(visit: Visit, response: Response, document: FeedDocument) -> None:
    visit.rhythm = None if document.update_schedule is None else asdict(document.update_schedule)
    if visit.loss is None:
        visit.validators = _validators(response)
    # RFC 5005, 2; a document that is not whole and valid deletes nothing.
    mended = any(problem.kind == "repaired" for problem in document.problems)
    if document.complete and not visit.lost_entries and not mended and visit.loss is None:
        visit.present = frozenset(version.id for version in visit.versions)


def _validators(response: Response) -> tuple[str | None, str | None, str]:
    etag, last_modified = responses.header(response, "ETag"), responses.header(response, "Last-Modified")
    return etag, last_modified, responses.body_digest(response, context_of(response).walk)


def _beyond(document: FeedDocument, most: Bounds) -> Loss | None:
    return next((beyond(p.kind, most) for p in document.problems if p.kind in limits.KINDS), None)


def _unresolved(document: FeedDocument) -> Loss | None:
    details = [printable(p.detail) for p in document.problems if p.kind == entities.UNRESOLVED]
    return Loss(State.INVALID, "unresolved-entities", " and ".join(details)) if details else None


def _loss(visit: Visit, document: FeedDocument, says: Oddities) -> Loss | None:
    if document.fault is not None:
        detail = f"is cut off or not well-formed: {printable(document.fault)}"
        return Loss(State.INVALID, "not-well-formed", detail)
    if visit.role is Role.SUBSCRIPTION and not document.complete:
        own = (visit.asked, visit.url)
        current = logical_feed.subscription_link(document, says)
        is_older = current not in own if current else logical_feed.is_archive(document, own, says)
        if is_older:
            detail = "is an archive document or a page, and the newest document could not be found from it"
            return Loss(State.INVALID, "no-current", detail)
    # The chain of a capture is not the feed's.
    others = None if visit.role is Role.CAPTURE else contradiction_behind(document, says)
    return _contradictory(others) if others else _unresolved(document)


def _contradictory(links: Contradiction) -> Loss:
    named = [printable(url) for url in links.others if url]
    if not named:
        detail = f"has a {links.relation} link that names no document"
        return Loss(State.INVALID, "empty-link", detail)
    to = f"to {printable(links.followed or '')}, which is followed, and to {', '.join(named)}, which is not"
    return Loss(State.INVALID, "contradictory-links", f"has {links.relation} links {to}")


def _versions(visit: Visit, document: FeedDocument, since: str) -> Iterator[Version | None]:
    """The version that each entry is; None if it has no id, or is from before a snapshot.

    What comes in pieces is too much to be kept: it has no original.
    """
    is_whole = not isinstance(document.entries, EntryBatches)
    for position, entry in enumerate(document.entries):
        visit.inherited += _inherited(entry)
        entry_id = logical_feed.identity(entry, document)
        if entry_id is None or (since and logical_feed.is_before(entry.updated, since)):
            yield None
            continue
        claimed = order(entry.updated, document.updated, visit.place, position)
        digest = entry.digest or logical_feed.digest(entry)
        yield _version(visit, entry_id, claimed, digest, entry.original if is_whole else None)


# Each link in some octets of a document may have a base of 2,000, and each entry the feed's authors.
def _inherited(entry: Entry) -> int:
    """How many characters an entry has in what can come from elsewhere in its document."""
    enclosures = sum(len(enclosure["url"]) for enclosure in entry.enclosures) if entry.enclosures else 0
    return len(entry.link or "") + sum(map(len, entry.authors)) + enclosures


def _deletions(visit: Visit, document: FeedDocument) -> list[Version]:
    return [
        _version(visit, tombstone.ref, logical_feed.deletion(tombstone, document.updated, visit.place), "")
        for tombstone in document.tombstones
    ]


# When a document was captured is known: what it says of later times never counts. A walk knows only what the
# machine's clock says, which may be corrected.
def _version(
    visit: Visit, entry_id: str, claimed: Order, digest: str, original: bytes | None = None
) -> Version:
    if visit.role is Role.CAPTURE:
        claimed = claimed.counted(latest_time(visit.fetched))
    return Version.at(visit.latest, entry_id, claimed, digest, original)


def _uncounted(visit: Visit) -> str | None:
    """The earliest time in a document that does not count yet; None for a capture, which no walk reads."""
    if visit.role is Role.CAPTURE:
        return None
    claimed = (v.claimed for v in (*visit.versions, *visit.deletions) if v.claimed is not None)
    return min(filter(None, (order.uncounted(visit.latest) for order in claimed)), default=None)


def _items(
    visit: Visit, document: FeedDocument, versions: Iterable[Version | None]
) -> Iterator[EntryVersion]:
    numbered = iter(versions)
    for piece in batches_of(document.entries):
        visit.pieces += 1
        # Where a piece ends, no version may be taken: they come second.
        for entry, version in zip(piece, numbered, strict=False):
            if version is not None:
                yield _item(visit, version, entry)


def _item(visit: Visit, version: Version, entry: Entry) -> EntryVersion:
    item = EntryVersion(
        visit.feed,
        version.id,
        entry.title,
        entry.link,
        entry.published,
        entry.updated,
        entry.authors,
        entry.categories,
        entry.summary,
        entry.content,
        entry.content_type,
        entry.enclosures,
        entry.operation,
        visit.url,
        visit.updated,
    )
    is_whole = version.original is entry.original
    item.version = version if is_whole else version._replace(original=entry.original)
    item.visit = visit
    return item


def report(visit: Visit, document: FeedDocument) -> None:
    """Say what is wrong with a document and its entries: a sentence for each kind of fault."""
    url = printable(visit.asked)
    if visit.loss is not None:
        logger.warning("%s %s", url, visit.loss.detail)
    if document.complete and {"prev-archive", "next"} & document.links.keys():
        logger.warning("%s has fh:complete and links to other documents; they are not followed", url)
    said = visit.loss and visit.loss.kind
    others = (problem for problem in document.problems if problem.kind != said)
    by_kind = sorted(others, key=lambda problem: problem.kind)
    for _kind, group in groupby(by_kind, key=lambda problem: problem.kind):
        problems = list(group)
        logger.warning(
            "%s: %s%s%s",
            url,
            f"{printable(problems[0].entry)}: " if problems[0].entry else "",
            printable(problems[0].detail),
            f" (and {len(problems) - 1} more)" if len(problems) > 1 else "",
        )
