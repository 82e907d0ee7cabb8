"""Makes the result of a document: its feed, its entries, the link to the older document, and its problems."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import asdict, replace
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl import logical_feed
from fhcrawl.crawling import responses
from fhcrawl.crawling.context import Referral, context_of
from fhcrawl.crawling.failures import CHALLENGE, is_challenge
from fhcrawl.documents import TOO_MANY, Problem, lists
from fhcrawl.exceptions import TimeIsOverError
from fhcrawl.logical_feed import ChainPosition, Kind, Role, Version, absences, coverage
from fhcrawl.logical_feed.chain import EARLIEST_WALK, contradiction, last_page, older_contradiction
from fhcrawl.logical_feed.coverage import COVERED_KINDS
from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult, State
from fhcrawl.logical_feed.versions import latest_time, order
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import DocumentRef

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy.http import Response

    from fhcrawl.crawling.context import RequestContext
    from fhcrawl.documents import DocumentList, Entry, FeedDocument
    from fhcrawl.exceptions import NotAFeedError
    from fhcrawl.logical_feed import Link
    from fhcrawl.logical_feed.absences import EarlierReading
    from fhcrawl.logical_feed.chain import Contradiction
    from fhcrawl.logical_feed.results import Fetch
    from fhcrawl.logical_feed.versions import Order
    from fhcrawl.store.entries import Label


logger = logging.getLogger(__name__)

REFERRALS = 3
REPEATS = DocumentFailure(
    State.INVALID,
    ReasonKind.REPEATS,
    "has no entries that the previous page does not have, so the crawl ends here",
)
LOST_KINDS = ("no-id", "entry-lost")
SHARED = "another entry of the document has this id but different content; only one of them can be kept"


def unread(response: Response, error: NotAFeedError) -> DocumentFailure:
    """Return the failure of a response that could not be parsed, or is not a feed."""
    if isinstance(error, TimeIsOverError):
        return DocumentFailure(State.KNOWN, error.kind, f"was left for a later run: {error}")
    if error.kind is ReasonKind.TOO_LARGE:
        return DocumentFailure(State.FAILED, error.kind, f"could not be read: {error}")
    if "dataloss" in response.flags:
        return DocumentFailure(
            State.FAILED, ReasonKind.CUT_OFF, f"arrives incomplete, and is not a feed: {error}"
        )
    if is_challenge(response):
        return DocumentFailure(State.INVALID, ReasonKind.CHALLENGE, CHALLENGE)
    return DocumentFailure(State.INVALID, error.kind, f"is not a feed: {error}")


def unchanged(fetch: Fetch, response: Response) -> DocumentResult:
    """Return the result of a document that is as it was when it was last read."""
    last = context_of(response).last_reading
    validators = responses.validators(response) if last is None else responses.validators_now(response, last)
    is_received = response.status != responses.NOT_MODIFIED
    received = fetch.fetched if is_received else None
    return DocumentResult(fetch, validators=(*validators, None), received=received)


def has_label(entry: Entry, label: Label | None) -> bool:
    """Return whether an entry is the stored one with its id, though its content may differ.

    Publishers put tokens into the URLs of enclosures, and some give all entries the same id.
    """
    return bool(entry.published or entry.updated) and label == (entry.title, entry.published, entry.updated)


def is_snapshot(fetch: Fetch, response: Response) -> bool:
    """Return whether the request was for the index of the snapshot that the feed continues."""
    return fetch.requested_url == context_of(response).walk.options.snapshot


def list_result(
    fetch: Fetch, response: Response, listed: DocumentList, unread: int
) -> tuple[DocumentResult, DocumentRef | None]:
    """Return the result of a list of documents, and the first document to request; None if all are processed.

    :param unread: position of the first document that is not processed
    """
    if fetch.role is Role.INDEX and listed.created_at is None:
        url = fetch.requested_url
        logger.warning("%s does not say when it was created: all documents of the feed are read", url)
    is_read = unread == len(listed.documents)
    body_digest = responses.body_digest(response, context_of(response).walk)
    result = DocumentResult(
        fetch,
        # Snapshot: the index lists the whole state at `createdAt`; the list of a folder does not.
        kind=(Kind.SINGLE if listed.prefix is None else Kind.COMPLETE).value,
        updated=listed.created_at,
        parts=listed.documents,
        validators=(*responses.validators(response), body_digest),
        replaces=listed.prefix if is_read else None,
    )
    if is_read:
        return result, None
    key, url = listed.documents[unread]
    return result, DocumentRef(
        key, url, Role.PART, ChainPosition(fetch.position.walk, fetch.position.step - unread - 1)
    )


def snapshot_page(fetch: Fetch, document: FeedDocument) -> FeedDocument:
    """Return a document that a list names without its own links, which are not followed."""
    if lists.snapshot_prefix(fetch.key) is not None:
        return lists.snapshot_page(document, fetch.key)
    return replace(document, links={}, other_links={})


def elsewhere(
    fetch: Fetch, response: Response, document: FeedDocument, limit: int
) -> tuple[str, DocumentFailure | None] | None:
    """Return where the subscription document is, if this is an archive document or a page after the first.

    :param limit: how many pages of a multipart feed are followed to the newest one; 0 is no limit
    :return: its URL, and what was wrong with this document, or with documents before it
    """
    context = context_of(response)
    own, quirks = (fetch.requested_url, fetch.url), responses.quirks_of(context.walk.options)
    current = logical_feed.subscription_link(document, quirks)
    # The target of a permanent redirect may be an archive by now; the user's URL is requested then.
    if current is None and not document.complete and logical_feed.is_archive(document, own, quirks):
        current = fetch.feed
    if fetch.role is not Role.SUBSCRIPTION or current is None or current in own or context.is_last:
        return None
    # Each page of a multipart feed links to the next newer one; these links may form a loop.
    allowed = limit if current == document.links.get("next-archive") else REFERRALS
    number, mark = (0, None) if context.referral is None else (context.referral.number, context.referral.mark)
    is_far = bool(allowed) and number >= allowed
    if is_far or current == mark or not responses.is_fetchable(current):
        return None
    others = contradiction(document, logical_feed.subscription_relation(document, quirks), quirks)
    return current, _contradictory(others) if others else _loss_on_the_way(context)


def referral(
    response: Response, url: str, failure: DocumentFailure | None, is_page: bool = False
) -> Referral:
    """Return the referral for the request for a subscription document that another document names.

    :param is_page: that document is a web page
    """
    context = context_of(response)
    before = context.referral
    number = 1 if before is None else before.number + 1
    # Brent's algorithm: for a loop of any length, one of the marks lies in the loop.
    is_marked = number & (number - 1) == 0
    mark = url if before is None or is_marked else before.mark
    is_page = is_page or (before is not None and before.is_page)
    return Referral(number, mark, failure, context.is_new, is_page)


def _loss_on_the_way(context: RequestContext) -> DocumentFailure | None:
    """Return what was wrong with the documents that led to a subscription document."""
    return None if context.referral is None else context.referral.loss


def read_document(
    fetch: Fetch,
    response: Response,
    document: FeedDocument,
    earlier: EarlierReading | None = None,
    is_dated_by_api: bool = False,
) -> tuple[DocumentResult, list[Version | None]]:
    """Return the result of a document: the feed, its entries, and the link to the older document.

    :param earlier: what is known of the document from before; None if nothing is
    :param is_dated_by_api: as in `read_entries`
    :return: also the version of each entry, in document order; None for entries that are left out
    """
    return _Reading(fetch, response, document, earlier).read(is_dated_by_api)


class _Reading:
    def __init__(
        self, fetch: Fetch, response: Response, document: FeedDocument, earlier: EarlierReading | None
    ) -> None:
        self.context = context_of(response)
        self.walk = self.context.walk
        self.fetch = fetch
        self.response = response
        self.document = document
        self.earlier = earlier
        self.own = (fetch.requested_url, fetch.url)
        self.quirks = responses.quirks_of(self.walk.options)
        self.is_repaired = any(problem.kind == "repaired" for problem in document.problems)

    def read(self, is_dated_by_api: bool) -> tuple[DocumentResult, list[Version | None]]:
        fetch, document = self.fetch, self.document
        failure = self._failure()
        since = self.walk.since or "" if fetch.role is not Role.PART else ""
        older, failure = self._older(since, failure)
        counts = self._compare()
        if _loss_on_the_way(self.context):
            # The next run requests the user's URL again.
            fetch = replace(fetch, location=fetch.feed)
        entries = read_entries(fetch, document, since, self.earlier, self.walk.options.ids, is_dated_by_api)
        responses.note_growth(self.response, entries.size)
        versions = [version for version in entries.versions if version is not None]
        deletions = deletions_of(fetch, document)
        invalid = sum(problem.kind in LOST_KINDS for problem in document.problems)
        if invalid:
            counts["fhcrawl/entry/invalid"] = invalid
        if entries.shared:
            counts["fhcrawl/entry/shared"] = len(entries.shared)
            document.problems.extend(
                Problem(ReasonKind.SHARED_ID, version.id, SHARED) for version in entries.shared
            )
        result = DocumentResult(
            fetch,
            title=document.title,
            kind=logical_feed.kind(document, self.quirks).value,
            updated=document.updated,
            moved_to=self._moved_to(),
            older_document=older,
            failure=failure,
            lost_entries=invalid + len(entries.shared),
            shared_id=entries.shared[0].id if entries.shared else None,
            versions=versions,
            deletions=deletions,
            uncounted=first_uncounted(fetch, (*versions, *deletions)),
            counts=counts,
        )
        # Feed of multipart pages: "A page with a `next` link is immutable".
        is_immutable = document.format == "multipart" and "next-archive" in document.links
        if fetch.role in logical_feed.CHAIN and not is_immutable:
            result = self._of_chain(result)
        if fetch.role is Role.SUBSCRIPTION:
            result = self._of_subscription(result, entries, invalid)
        elif fetch.role is Role.CAPTURE:
            result = replace(result, shown=entries.shown, oldest=entries.oldest)
        return result, entries.versions

    def _failure(self) -> DocumentFailure | None:
        document = self.document
        too_many = [problem.detail for problem in document.problems if problem.kind == TOO_MANY]
        if too_many:
            return DocumentFailure(State.REFUSED, ReasonKind.TOO_LARGE, too_many[0])
        if document.fault is not None:
            detail = f"is truncated or not well-formed: {document.fault}"
            return DocumentFailure(State.INVALID, ReasonKind.NOT_WELL_FORMED, detail)
        failure = self._link_failure()
        if failure is not None:
            return failure
        kind = ReasonKind.UNRESOLVED_ENTITIES
        detail = " and ".join(problem.detail for problem in document.problems if problem.kind == kind)
        if detail:
            return DocumentFailure(State.INVALID, kind, detail)
        # A body that is cut off may still be well-formed: comments or checksums may be at its end.
        if "dataloss" in self.response.flags:
            detail = "arrives incomplete or with a wrong checksum"
            return DocumentFailure(State.FAILED, ReasonKind.CUT_OFF, detail)
        return _loss_on_the_way(self.context)

    def _link_failure(self) -> DocumentFailure | None:
        document = self.document
        if self.fetch.role is Role.SUBSCRIPTION and not document.complete:
            current = logical_feed.subscription_link(document, self.quirks)
            is_archive = logical_feed.is_archive(document, self.own, self.quirks)
            if current not in self.own if current else is_archive:
                detail = "is an archive document or a page that does not lead to the newest document"
                return DocumentFailure(State.INVALID, ReasonKind.NO_CURRENT, detail)
        # The links of a capture do not belong to the feed's chain today.
        others = None if self.fetch.role is Role.CAPTURE else older_contradiction(document, self.quirks)
        return _contradictory(others) if others else None

    def _older(
        self, since: str, failure: DocumentFailure | None
    ) -> tuple[Link | None, DocumentFailure | None]:
        """Return the link to the next older document, and the failure; the walk ends at the snapshot's time.

        :param since: when the snapshot was made that the feed continues; '' for none
        """
        document = self.document
        older = logical_feed.older_document(document, self.own, self.quirks)
        if since and logical_feed.reaches(document, since):
            return None, failure
        if since and older is None and failure is None and logical_feed.begins_after(document, since):
            detail = f"is the oldest document, but begins after the snapshot of {since}"
            return None, DocumentFailure(State.INVALID, ReasonKind.BEGINS_LATER, detail)
        return older, failure

    def _moved_to(self) -> str | None:
        redirected = responses.request_of(self.response).meta.get("redirect_urls")
        if self.fetch.role is not Role.ARCHIVE or not redirected:
            return None
        url = self.fetch.url
        return url if logical_feed.may_be_another(self.document, redirected[0], url) else None

    def _compare(self) -> Counter[str]:
        """Compare a page with the newer page that links to it; return stats of the contradictions."""
        newer = self.context.newer
        if newer is None or self.document.format != "multipart":
            return Counter()
        found = list(logical_feed.disagreements(self.document, self.own, newer))
        self.document.problems.extend(found)
        return Counter(f"fhcrawl/neighbour/{problem.kind}" for problem in found)

    def _of_chain(self, result: DocumentResult) -> DocumentResult:
        """Return the result of a document of the chain, with what is needed to read it again."""
        older, earlier = result.older_document, self.earlier
        unsettled = earlier.unsettled if earlier is not None else ()
        # A page from which no link leads to the last one is not known to be the end.
        named = older.url if older else last_page(self.document, self.own, self.quirks)
        held = absences.encode(result.versions, named, unsettled)
        is_known = earlier is not None and result.failure is None
        # Entries that have to be looked at again, even if the document stays the same.
        validators = None if unsettled else (*responses.validators(self.response), None)
        lost = self._lost(result, earlier, held) if is_known and earlier is not None else {}
        return replace(result, held=held, lost=lost, validators=validators)

    def _lost(
        self, result: DocumentResult, earlier: EarlierReading, held: bytes
    ) -> Mapping[bytes, bytes | None] | None:
        """Return `DocumentResult.lost` of a document that was read without a failure."""
        if self.fetch.role is not Role.SUBSCRIPTION or result.older_document is not None:
            return dict.fromkeys(earlier.lost(held))
        # A feed without older documents only shows its last entries.
        is_of_events = self.document.format == "multipart" or self.walk.since is not None
        if result.kind != Kind.SINGLE.value or is_of_events:
            return {}
        return None if result.lost_entries or self.is_repaired else earlier.removed(held)

    def _of_subscription(self, result: DocumentResult, entries: ReadEntries, invalid: int) -> DocumentResult:
        document, earlier, older = self.document, self.earlier, result.older_document
        # RFC 5005, 2; an incomplete or invalid document deletes no entries.
        is_state = document.complete and result.failure is None and not invalid and not self.is_repaired
        # The same bytes, if they only link to the first page, do not prove that the pages are unchanged.
        has_pages = older is not None and older.role is Role.PAGE
        is_index = has_pages and not (document.entries or document.updated)
        body_digest = responses.body_digest(self.response, self.walk)
        shared = {version.id for version in entries.shared}
        return replace(
            result,
            update_schedule=None if document.update_schedule is None else asdict(document.update_schedule),
            validators=None if is_index else (*responses.validators(self.response), body_digest),
            present=frozenset(version.id for version in result.versions) if is_state else None,
            shown=entries.shown if result.kind in COVERED_KINDS and result.failure is None else None,
            total=document.total,
            head=document.head,
            breaks_span=bool(invalid)
            or any(
                earlier is None or not earlier.has_held(version)
                for version in result.versions
                if version.id in shared
            ),
        )


# Texts that differ in each response leave validators as they are (RFC 9110, 8.8.1: weak ones), and a
# publisher may have edited an entry since: only what a server must not answer with 304 is looked into.
def has_hidden_news(response: Response, result: DocumentResult, earlier: EarlierReading | None) -> bool:
    """Return whether a request without conditions has brought entries that 304 responses may have hidden.

    :param earlier: as in `read_document`
    """
    last = context_of(response).last_reading
    if last is None or last.received is None or last.validated_url is None or result.failure is not None:
        return False
    return earlier is not None and result.held is not None and earlier.has_gained(result.held)


def _contradictory(links: Contradiction) -> DocumentFailure:
    named = [url for url in links.others if url]
    if not named:
        detail = f"has an empty {links.relation} link"
        return DocumentFailure(State.INVALID, ReasonKind.EMPTY_LINK, detail)
    to = f"to {links.followed or ''}, which is followed, and to {', '.join(named)}, which is not"
    return DocumentFailure(State.INVALID, ReasonKind.CONTRADICTORY_LINKS, f"has {links.relation} links {to}")


def log_problems(result: DocumentResult, document: FeedDocument) -> None:
    """Log the problems of a document and its entries, one line for each kind."""
    url = result.fetch.requested_url
    if result.failure is not None:
        logger.warning("%s %s", url, result.failure.detail)
    if document.complete and {"prev-archive", "next"} & document.links.keys():
        logger.warning("%s has fh:complete but links to other documents; these links are not followed", url)
    said = result.failure and result.failure.kind
    others = (problem for problem in document.problems if problem.kind != said)
    by_kind = sorted(others, key=lambda problem: problem.kind)
    for _kind, group in groupby(by_kind, key=lambda problem: problem.kind):
        problems = list(group)
        logger.warning(
            "%s: %s%s%s",
            url,
            f"{problems[0].entry}: " if problems[0].entry else "",
            problems[0].detail,
            f" (and {len(problems) - 1} more)" if len(problems) > 1 else "",
        )


# The roles of documents that each walk reads as they are at that time.
OBSERVED = (Role.SUBSCRIPTION, Role.PAGE, Role.LISTED)


class ReadEntries(NamedTuple):
    """What was read of the entries of a document.

    :param versions: the version of each entry; None without an id or before a snapshot
    :param shown: their marks (`coverage.mark`), if it is a subscription document or a capture
    :param oldest: when the last of these that has a time was published, or else updated
    :param size: the sum of `_inherited`
    :param shared: entries that cannot be kept, since other entries of the document have their ids
    """

    versions: list[Version | None]
    shown: list[str]
    oldest: str | None
    size: int
    shared: list[Version]


def read_entries(
    fetch: Fetch,
    document: FeedDocument,
    since: str,
    earlier: EarlierReading | None = None,
    ids: str | None = None,
    is_dated_by_api: bool = False,
) -> ReadEntries:
    """Read the entries of a document.

    :param ids: as in `versions.identity`
    :param earlier: what is known of the document from before; None if nothing is
    :param is_dated_by_api: versions with an update time, of whatever walk, are newer than those without one
    """
    versions: list[Version | None] = []
    shown: list[str] = []
    oldest, inherited = None, 0
    is_observed = fetch.role in OBSERVED
    shared = SharedIds()
    for position, entry in enumerate(document.entries):
        inherited += _inherited(entry, fetch.url)
        entry_id = logical_feed.identity(entry, document, ids)
        if entry_id is None or (since and logical_feed.is_before(entry.updated, since)):
            versions.append(None)
            continue
        digest = entry.digest or logical_feed.digest(entry)
        claimed = (
            order(entry.updated, document.updated, fetch.position, position, is_observed)
            if earlier is None
            else earlier.order(entry_id, digest, entry.updated, document.updated, position)
        )
        if is_dated_by_api and not claimed.time:
            claimed = claimed._replace(overrides=EARLIEST_WALK)
        if claimed.time > fetch.latest and fetch.role is Role.PAGE:
            claimed = claimed.over_earlier_walks()
        version = _version(fetch, entry_id, claimed, digest, entry.original)
        versions.append(version)
        shared.add(version, entry)
        if fetch.role in (Role.SUBSCRIPTION, Role.CAPTURE) and position < coverage.WINDOW:
            shown.append(coverage.mark(entry_id, entry.published, entry.updated, digest))
            oldest = entry.published or entry.updated or oldest
    # An event's id is its entity's, which can have more events.
    found = [] if document.format == "multipart" else shared.found
    return ReadEntries(versions, shown, oldest, inherited, found)


class SharedIds:
    """Finds the entries of a document that share their id with another entry, which is not the same.

    RFC 4287, 4.1.1: "If multiple atom:entry elements with the same atom:id value appear in an Atom Feed
    Document, they represent the same entry. Their atom:updated timestamps SHOULD be different."

    :param found: of the entries with one id and the same `updated`, or none, all contents but one
    """

    def __init__(self) -> None:
        self.found: list[Version] = []
        self._first: dict[str, tuple[Version, Entry]] = {}
        self._contents: dict[str, dict[tuple[str, str | None], set[str | None]]] = {}

    def add(self, version: Version, entry: Entry) -> None:
        """Compare an entry with those before it."""
        first = self._first.setdefault(version.id, (version, entry))
        if first[0] is version:
            return
        known, of_known = first
        contents = self._contents.setdefault(
            version.id, {(known.digest, of_known.published): {of_known.updated}}
        )
        content = version.digest, entry.published
        if content not in contents:
            times = set().union(*contents.values())
            if entry.updated is None or None in times or entry.updated in times:
                self.found.append(version)
        contents.setdefault(content, set()).add(entry.updated)


# A link of a few octets may be resolved against a base of 2,000, and each entry may take the feed's authors.
def _inherited(entry: Entry, url: str) -> int:
    """Return how many characters are in fields that an entry can take from other parts of its document.

    :param url: URL of the document
    """
    enclosures = sum(len(enclosure["url"]) for enclosure in entry.enclosures) if entry.enclosures else 0
    base = 0 if entry.base is None or entry.base == url else len(entry.base)
    return base + len(entry.link or "") + sum(map(len, entry.authors)) + enclosures


def deletions_of(fetch: Fetch, document: FeedDocument) -> list[Version]:
    """Return the deletions that a document's tombstones say (RFC 6721)."""
    is_observed = fetch.role in OBSERVED
    return [
        _version(
            fetch,
            tombstone.ref,
            logical_feed.deletion(tombstone, document.updated, fetch.position, is_observed),
            "",
        )
        for tombstone in document.tombstones
    ]


# The date of a capture is known: times in it that are later never count. A walk compares with the machine's
# clock, which may be corrected.
def _version(
    fetch: Fetch, entry_id: str, claimed: Order, digest: str, original: bytes | None = None
) -> Version:
    if fetch.role is Role.CAPTURE:
        claimed = claimed.counted(latest_time(fetch.fetched))
    return Version.at(fetch.latest, entry_id, claimed, digest, original)


def first_uncounted(fetch: Fetch, versions: Iterable[Version]) -> str | None:
    """Return the earliest time in a document that is too far in the future to count; None for a capture."""
    if fetch.role is Role.CAPTURE:
        return None
    claimed = (version.claimed for version in versions if version.claimed is not None)
    return min((order.time for order in claimed), default=None)
