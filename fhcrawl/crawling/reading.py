"""Makes the result of a document: its feed, its entries, the link to the older document, and its problems."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from w3lib.url import url_query_parameter

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import LastReading, Recheck, context_of, request_of
from fhcrawl.crawling.failures import CHALLENGE, is_challenge
from fhcrawl.documents import TOO_MANY, FeedDocument, Problem, lists
from fhcrawl.documents.dates import elapsed
from fhcrawl.exceptions import TimeIsOverError
from fhcrawl.logical_feed import (
    FIRST_WALK,
    ChainPosition,
    Kind,
    Link,
    Role,
    Version,
    absences,
    chain,
    coverage,
    results,
)
from fhcrawl.logical_feed.chain import (
    EARLIEST_WALK,
    begins_after,
    contradiction,
    disagreements,
    is_before,
    last_page,
    may_be_another,
    older_contradiction,
    reaches_snapshot,
    subscription_link,
    subscription_relation,
)
from fhcrawl.logical_feed.coverage import COVERED_KINDS
from fhcrawl.logical_feed.listings import SitemapPost, comparable_url
from fhcrawl.logical_feed.platforms import NUMBERED, PROBE, PROBED_AGAIN, Shown, api_of, recognise
from fhcrawl.logical_feed.results import CUT, DocumentFailure, DocumentResult, State, Validators, order
from fhcrawl.logical_feed.verdicts import DECLARED
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import DocumentRef
from fhcrawl.utils.addresses import normalised
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.http import Response

    from fhcrawl.crawling.context import RequestContext
    from fhcrawl.crawling.subscriptions import FeedOptions
    from fhcrawl.documents import DocumentList, Entry
    from fhcrawl.exceptions import NotAFeedError
    from fhcrawl.logical_feed.absences import EarlierReading
    from fhcrawl.logical_feed.chain import Contradiction
    from fhcrawl.logical_feed.platforms import Platform
    from fhcrawl.logical_feed.results import Fetch, Order

    Lost = Mapping[bytes, bytes | None] | None

logger = logging.getLogger(__name__)

REFERRALS = 3
REPEATS = DocumentFailure(
    State.INVALID,
    ReasonKind.REPEATS,
    "has no entries that the previous page does not have, so the crawl ends here",
)
NOT_REACHED = DocumentFailure(
    State.INVALID,
    ReasonKind.CONTRADICTORY_LINKS,
    "is the last page according to a `last` link, but has entries that no page has that `next` links lead to",
)
LOST_KINDS = ("no-id", "entry-lost")
SHARED = (
    "entries with different content share this id; from now on, those of this feed are told apart by their "
    "link, else by title, date and text"
)
# The roles of documents that each walk reads as they are at that time.
OBSERVED = (Role.SUBSCRIPTION, Role.PAGE, Role.LISTED)


class StoredState(NamedTuple):
    """What is known of a document, and of its feed, before it is read.

    :param shared_ids: ids that several entries of the feed are known to have
    :param posts: the ids of entries from web pages, by `comparable_url` of their links
    :param software: for a document of the chain: forms the URL of its older page if no link names it
    :param size: number of entries of the subscription document; 0 if unknown
    """

    shared_ids: frozenset[str]
    posts: Mapping[str, str]
    earlier: EarlierReading | None = None
    software: Platform | None = None
    size: int = 0


def parse_failure(response: Response, error: NotAFeedError) -> DocumentFailure:
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
    if error.kind is ReasonKind.NOT_WELL_FORMED:
        return _fault_failure(str(error))
    return DocumentFailure(State.INVALID, error.kind, f"is not a feed: {error}")


def _fault_failure(fault: str) -> DocumentFailure:
    detail = f"is truncated or not well-formed: {fault}"
    return DocumentFailure(State.INVALID, ReasonKind.NOT_WELL_FORMED, detail)


def is_unreadable(document: FeedDocument) -> bool:
    """Return whether a malformed document shows no entry, no deletion, and no link to another document."""
    links = chain.REVERSED.keys() & document.links.keys()
    return document.fault is not None and not (document.entries or document.tombstones or links)


def unchanged_result(fetch: Fetch, response: Response) -> DocumentResult:
    last = context_of(response).last_reading or LastReading()
    link = last.older_document and Link(last.older_document.role, last.older_document.url)
    etag, last_modified = requests.validators(response)
    if response.status == requests.NOT_MODIFIED:
        # RFC 9111, 4.3.4: the header fields of a 304 replace the stored ones; those that it lacks stay.
        validators = Validators(etag or last.etag, last_modified or last.last_modified)
    else:
        received = Validators(received=fetch.fetched)
        validators = received if last.is_empty else received._replace(etag=etag, last_modified=last_modified)
    return DocumentResult(fetch, older_document=link, validators=validators)


def has_label(entry: Entry, label: tuple[str | None, ...] | None) -> bool:
    """Return whether an entry is the stored one with its id, though its content may differ."""
    return bool(entry.published or entry.updated) and label == (entry.title, entry.published, entry.updated)


def is_snapshot(fetch: Fetch, response: Response) -> bool:
    return fetch.requested_url == context_of(response).walk.options.snapshot


def list_result(
    fetch: Fetch, response: Response, document_list: DocumentList, first_unprocessed: int
) -> tuple[DocumentResult, DocumentRef | None]:
    """Return the result of a list of documents, and its first document that is not processed."""
    if fetch.role is Role.INDEX and document_list.created_at is None:
        url = fetch.requested_url
        logger.warning("%s does not say when it was created: all documents of the feed are read", url)
    body_digest = requests.body_digest(response, context_of(response).walk)
    result = DocumentResult(
        fetch,
        # The index of a snapshot lists the whole state at `createdAt`; the list of a folder does not.
        kind=(Kind.SINGLE if document_list.prefix is None else Kind.COMPLETE).value,
        metadata=results.Metadata(updated=document_list.created_at),
        parts=document_list,
        validators=Validators(*requests.validators(response), body_digest),
    )
    if first_unprocessed == len(document_list.documents):
        return result, None
    key, url = document_list.documents[first_unprocessed]
    return result, DocumentRef(
        key, url, Role.PART, ChainPosition(fetch.position.walk, fetch.position.step - first_unprocessed - 1)
    )


def snapshot_page(fetch: Fetch, document: FeedDocument) -> FeedDocument:
    if lists.snapshot_prefix(fetch.key) is not None:
        return lists.snapshot_page(document, fetch.key)
    return replace(document, links={}, other_links={})


def find_subscription(
    fetch: Fetch, response: Response, document: FeedDocument, limit: int
) -> tuple[str, DocumentFailure | None] | None:
    """Return where the subscription document is, if this is an archive document or a page after the first.

    :param limit: maximum number of links to follow to the newest page of a multipart feed; 0 is no limit
    :return: its URL, and what was wrong with this document, or with documents before it
    """
    context = context_of(response)
    own_urls, quirks = (fetch.requested_url, fetch.url), requests.quirks_of(context.walk.options)
    target = subscription_link(document, quirks)
    # The target of a permanent redirect may have become an archive: request the user's URL instead.
    if target is None and not document.complete and chain.is_archive(document, own_urls, quirks):
        target = fetch.feed
    is_last = context.fallback is not None and context.fallback.is_last
    if fetch.role is not Role.SUBSCRIPTION or target is None or target in own_urls or is_last:
        return None
    # Each page of a multipart feed links to the next newer one; these links may form a loop.
    most = limit if target == document.links.get("next-archive") else REFERRALS
    count, mark = (0, None) if context.referral is None else (context.referral.number, context.referral.mark)
    is_far = bool(most) and count >= most
    if is_far or target == mark or not requests.is_fetchable(target):
        return None
    links = contradiction(document, subscription_relation(document, quirks), quirks)
    return target, _contradiction(links) if links else _referral_failure(context)


def next_location(fetch: Fetch, response: Response, document: FeedDocument) -> str | None:
    """Return the URL to which a subscription document says that the feed has moved."""
    if document.new_url is None or fetch.role is not Role.SUBSCRIPTION:
        return None
    url = requests.secured(document.new_url.partition("#")[0], response)
    own_urls = map(normalised, (fetch.requested_url, fetch.url, fetch.location or fetch.url))
    is_downgrade = url.startswith("http:") and fetch.url.startswith("https:")
    is_other = normalised(url) not in own_urls and not is_downgrade
    return url if is_other and requests.is_fetchable(url) else None


def _referral_failure(context: RequestContext) -> DocumentFailure | None:
    return None if context.referral is None else context.referral.loss


def read_document(
    fetch: Fetch, response: Response, document: FeedDocument, stored: StoredState
) -> tuple[DocumentResult, list[Version | None]]:
    """Return the result of a document, and the version of each entry; None for entries that are skipped."""
    read = _Reading(fetch, response, document, stored)
    return read.result(), read.versions


class _Reading:
    def __init__(self, fetch: Fetch, response: Response, document: FeedDocument, stored: StoredState) -> None:
        self.context = context_of(response)
        self.walk = self.context.walk
        self.fetch, self.response, self.document = fetch, response, document
        self.shared_ids, self.posts, self.earlier, self.software, self.size = stored
        self.new_shared_ids: dict[str, str] = {}  # each with the id that the publisher gave
        self.own_urls = (fetch.requested_url, fetch.url)
        self.quirks = requests.quirks_of(self.walk.options)
        self.kind = chain.kind(document, self.quirks).value
        self.is_repaired = any(problem.kind == "repaired" for problem in document.problems)
        self.invalid_entries = sum(problem.kind in LOST_KINDS for problem in document.problems)
        self.versions: list[Version | None] = []
        self.marks: list[str] = []  # `coverage.mark` of entries of a subscription document or a capture
        self.oldest: str | None = None  # when the last of these that has a time was published or updated
        self.since = self.walk.since or "" if fetch.role is not Role.PART else ""
        self.failure = self._failure()
        self.older = self._older_link(self.since)

    def result(self) -> DocumentResult:
        fetch, document = self.fetch, self.document
        counts = self._compare_with_newer()
        if _referral_failure(self.context):
            # The next run requests the user's URL again.
            fetch = replace(fetch, location=fetch.feed)
        self._read_entries(self.since)
        versions = [version for version in self.versions if version is not None]
        if self.invalid_entries:
            counts["fhcrawl/entry/invalid"] = self.invalid_entries
        if number := sum(version.shared_id is not None for version in versions):
            counts["fhcrawl/entry/shared"] = number
        document.problems.extend(
            Problem("shared-id", entry_id, SHARED)
            for entry_id, publisher_id in self.new_shared_ids.items()
            if entry_id == publisher_id
        )
        held, lost, validators = self._chain_fields(versions)
        if fetch.role is Role.SUBSCRIPTION:
            validators = self._subscription_validators()
        older, software, is_cut = self._unlinked_page()
        return DocumentResult(
            fetch,
            kind=self.kind,
            moved_to=self._moved_to(),
            # The walk does not go on behind a page of a publisher's list.
            older_document=None if fetch.role is Role.LISTED else older,
            failure=self.failure,
            validators=validators,
            held=held,
            lost=lost,
            metadata=self._metadata(versions, software),
            lost_entries=self.invalid_entries or (CUT if is_cut else 0),
            new_shared_ids=frozenset(self.new_shared_ids),
            versions=versions,
            deletions=self._deletions(),
            counts=counts,
        )

    def _failure(self) -> DocumentFailure | None:
        document = self.document
        too_many = [problem.detail for problem in document.problems if problem.kind == TOO_MANY]
        if too_many:
            return DocumentFailure(State.REFUSED, ReasonKind.TOO_LARGE, too_many[0])
        if document.fault is not None:
            return _fault_failure(document.fault)
        failure = self._link_failure()
        if failure is not None:
            return failure
        kind = ReasonKind.UNRESOLVED_ENTITIES
        detail = " and ".join(problem.detail for problem in document.problems if problem.kind == kind)
        if detail:
            return DocumentFailure(State.INVALID, kind, detail)
        # A body that is cut off may still be well-formed: comments may be at its end.
        if "dataloss" in self.response.flags:
            return DocumentFailure(State.FAILED, ReasonKind.CUT_OFF, "arrives incomplete")
        return _referral_failure(self.context) or self._declared_failure()

    def _declared_failure(self) -> DocumentFailure | None:
        declared = self.document.declared
        if declared is None or self.fetch.role not in chain.CHAIN:
            return None
        kind = DECLARED.get(declared.verdict, ReasonKind.NO_HISTORY)
        words = "are missing" if kind.is_gap else "may be missing"
        return DocumentFailure(State.INVALID, kind, f"says that entries {words}; {declared.reasons}")

    def _link_failure(self) -> DocumentFailure | None:
        document = self.document
        if self.fetch.role is Role.SUBSCRIPTION and not document.complete:
            target = subscription_link(document, self.quirks)
            is_archive = chain.is_archive(document, self.own_urls, self.quirks)
            if target not in self.own_urls if target else is_archive:
                detail = "is an archive document or a page that does not lead to the newest document"
                return DocumentFailure(State.INVALID, ReasonKind.NO_CURRENT, detail)
        # The links of a capture do not belong to the feed's chain today.
        links = None if self.fetch.role is Role.CAPTURE else older_contradiction(document, self.quirks)
        return _contradiction(links) if links else None

    def _older_link(self, snapshot_time: str) -> Link | None:
        document = self.document
        if snapshot_time and reaches_snapshot(document, snapshot_time):
            return None
        older = chain.older_document(document, self.own_urls, self.quirks)
        is_oldest = snapshot_time and older is None and self.failure is None
        if is_oldest and begins_after(document, snapshot_time):
            detail = f"is the oldest document, but begins after the snapshot of {snapshot_time}"
            self.failure = DocumentFailure(State.INVALID, ReasonKind.BEGINS_LATER, detail)
        return older

    def _moved_to(self) -> str | None:
        redirected = request_of(self.response).meta.get("redirect_urls")
        if self.fetch.role is not Role.ARCHIVE or not redirected:
            return None
        url = self.fetch.url
        return url if may_be_another(self.document, redirected[0], url) else None

    def _compare_with_newer(self) -> Counter[str]:
        newer = self.context.newer
        if newer is None or self.document.format != "multipart":
            return Counter()
        problems = list(disagreements(self.document, self.own_urls, newer))
        self.document.problems.extend(problems)
        return Counter(f"fhcrawl/neighbour/{problem.kind}" for problem in problems)

    def _chain_fields(self, versions: list[Version]) -> tuple[bytes | None, Lost, Validators]:
        document, older, earlier = self.document, self.older, self.earlier
        # Feed of multipart pages: "A page with a `next` link is immutable".
        is_immutable = document.format == "multipart" and "next-archive" in document.links
        if isinstance(post := self.context.task, SitemapPost):
            return None, {}, Validators(*requests.validators(self.response), lastmod=post.lastmod)
        if self.fetch.role not in chain.CHAIN or is_immutable:
            return None, {}, Validators()
        unsettled = earlier.unsettled if earlier is not None else ()
        # A page that does not link to the last page may not be the end.
        older_url = older.url if older else last_page(document, self.own_urls, self.quirks)
        held = absences.encode(versions, older_url, unsettled)
        # These entries must be compared again even if the document does not change.
        is_conditional = document.entries and not unsettled
        validators = Validators(*requests.validators(self.response)) if is_conditional else Validators()
        lost = {} if earlier is None or self.failure is not None else self._lost_ids(earlier, held)
        is_missing_page = self.context.is_probe and not versions
        return None if is_missing_page else held, lost, validators

    def _lost_ids(self, earlier: EarlierReading, held: bytes) -> Lost:
        if self.fetch.role is not Role.SUBSCRIPTION or self.older is not None:
            return dict.fromkeys(earlier.lost(held))
        # A feed without older documents contains only its latest entries.
        is_of_events = self.document.format == "multipart" or self.walk.since is not None
        if self.kind != Kind.SINGLE.value or is_of_events:
            return {}
        return None if self.invalid_entries or self.is_repaired else earlier.removed(held)

    def _subscription_validators(self) -> Validators:
        document, older = self.document, self.older
        # The same bytes, if they only link to the first page, do not prove that the pages are unchanged.
        has_pages = older is not None and older.role is Role.PAGE
        is_index = has_pages and not (document.entries or document.updated)
        body_digest = None if is_index else requests.body_digest(self.response, self.walk)
        # A server may have sent a document without entries with the ETag of one that has some.
        validators = requests.validators(self.response) if document.entries else (None, None)
        return Validators(*validators, body_digest)

    def _metadata(self, versions: list[Version], software: str | None) -> results.Metadata:
        document = self.document
        metadata = results.Metadata(document.title, document.updated)
        if self.fetch.role is Role.CAPTURE:
            return metadata._replace(shown=self.marks, oldest=self.oldest)
        if self.fetch.role is not Role.SUBSCRIPTION:
            return metadata
        # RFC 5005, 2; an incomplete or invalid document deletes no entries.
        is_complete = document.complete and not (self.failure or self.invalid_entries or self.is_repaired)
        return metadata._replace(
            shown=self.marks if self.kind in COVERED_KINDS and self.failure is None else None,
            present=frozenset(version.id for version in versions) if is_complete else None,
            total=document.total,
            software=software,
            update_schedule=document.update_schedule,
            head=document.head,
        )

    # -- entries ------------------------------------------------------------------------------------------

    def _read_entries(self, snapshot_time: str) -> None:
        fetch, document, earlier, ids = self.fetch, self.document, self.earlier, self.walk.options.ids
        is_observed, is_shown = fetch.role in OBSERVED, fetch.role in (Role.SUBSCRIPTION, Role.CAPTURE)
        # Versions with an update time, of whatever walk, are newer than those without one.
        is_dated_by_api = self._is_dated_by_api()
        publisher_ids = [
            None
            if snapshot_time and is_before(entry.updated, snapshot_time)
            else results.identity(entry, document, ids)
            for entry in document.entries
        ]
        self._find_new_shared_ids(publisher_ids)
        for position, (publisher_id, entry) in enumerate(zip(publisher_ids, document.entries, strict=True)):
            if publisher_id is None:
                self.versions.append(None)
                continue
            entry_id = results.tell_apart(publisher_id, entry, self.shared_ids)
            digest = _digest(entry)
            claimed = (
                order(entry.updated, document.updated, fetch.position, position, is_observed)
                if earlier is None
                else earlier.order(publisher_id, digest, entry.updated, document.updated, position)
            )
            if is_dated_by_api and not claimed.time:
                claimed = claimed._replace(overrides=EARLIEST_WALK)
            if claimed.time > fetch.latest and fetch.role is Role.PAGE:
                claimed = claimed.with_overrides_of_earlier_walks()
            version = _version(fetch, entry_id, claimed, digest, entry.original)
            self.versions.append(
                version if entry_id == publisher_id else version._replace(shared_id=publisher_id)
            )
            if is_shown and position < coverage.WINDOW:
                self.marks.append(coverage.mark(entry_id, entry.published, entry.updated, digest))
                self.oldest = entry.published or entry.updated or self.oldest

    # RFC 4287, 4.1.1: "If multiple atom:entry elements with the same atom:id value appear in an Atom Feed
    # Document, they represent the same entry." Publishers give different entries the same id.
    def _find_new_shared_ids(self, publisher_ids: list[str | None]) -> None:
        # An event's id is its entity's, which can have more events.
        if self.document.format == "multipart":
            return
        entries = [(i, e) for i, e in zip(publisher_ids, self.document.entries, strict=True) if i is not None]
        # First ids are shared, then ids with links.
        for _ in range(2):
            ids = [
                results.tell_apart(publisher_id, entry, self.shared_ids) for publisher_id, entry in entries
            ]
            found = self.shared_ids | results.find_shared_ids(
                (entry_id, (_digest(entry), entry.published), entry.updated)
                for entry_id, (_publisher_id, entry) in zip(ids, entries, strict=True)
            )
            if found == self.shared_ids:
                return
            self.shared_ids = frozenset(found)
            for entry_id, (publisher_id, entry) in zip(ids, entries, strict=True):
                if results.tell_apart(publisher_id, entry, found) != entry_id:
                    self.new_shared_ids.setdefault(entry_id, publisher_id)

    # RFC 6721
    def _deletions(self) -> list[Version]:
        fetch, document = self.fetch, self.document
        is_observed, deletions = fetch.role in OBSERVED, []
        for tombstone in document.tombstones:
            claimed = results.deletion_order(tombstone, document.updated, fetch.position, is_observed)
            deletions.append(_version(fetch, tombstone.ref, claimed, ""))
        # Entries from web pages, which have other ids here.
        ids = {version.id for version in self.versions if version is not None}
        links = [comparable_url(entry.link) for entry in document.entries if entry.link] if self.posts else ()
        replaced = {self.posts[link] for link in links if link in self.posts} - ids
        return [*deletions, *(results.absence(entry_id, fetch.position) for entry_id in sorted(replaced))]

    # -- older pages that no link names -------------------------------------------------------------------

    # The feed has no update times. A post that was edited in it comes with its time from the API, which is
    # read after each change of the feed.
    def _is_dated_by_api(self) -> bool:
        software = self.software if self.walk.options.platforms else None
        if software is None or not software.has_api or self.fetch.role is not Role.SUBSCRIPTION:
            return False
        return self._form_older(software)[0] is not None

    # The link to the older page; if these pages are disabled, the name of the software; whether this is cut.
    def _unlinked_page(self) -> tuple[Link | None, str | None, bool]:
        options, software = self.walk.options, self.software
        if software is None or self.kind != Kind.SINGLE.value or self.older or self.failure:
            return self.older, None, False
        url, is_cut = self._form_older(software)
        if url is None or url == self.fetch.feed:
            return None, None, is_cut
        if not options.platforms or (software is NUMBERED and not options.probe):
            return None, software.name, is_cut
        return Link(Role.PAGE, url, software.name, url if software.has_api else None), None, is_cut

    # The URL of the next older page, and whether this page may lack entries of its period.
    def _form_older(self, software: Platform) -> tuple[str | None, bool]:
        document, fetch = self.document, self.fetch
        times = [time for entry in document.entries if (time := entry.published or entry.updated)]
        shown = Shown(
            len(document.entries),
            min(times, default=None),
            document.entries[-1].id if document.entries else None,
            fetch.role is Role.PAGE,
            self.context.empty,
            self.size,
            document.site and requests.secured(document.site, self.response),
        )
        # The next run requests the target of a permanent redirect.
        return software.older(fetch.location or fetch.requested_url, shown)


def find_software(fetch: Fetch, response: Response) -> Platform | None:
    """Return the software of a document if it forms the URLs of older pages."""
    context = context_of(response)
    if fetch.role is not Role.SUBSCRIPTION:
        platform = context.software if fetch.role is Role.PAGE and context.walk.options.platforms else None
        return NUMBERED if platform is PROBE else platform
    headers = (
        f"{name.decode('latin-1')}: {b', '.join(values).decode('latin-1')}"
        for name, values in response.headers.items()
    )
    return recognise(fetch.location or fetch.requested_url, headers, response.body)


def may_be_numbered(fetch: Fetch, response: Response, document: FeedDocument) -> bool:
    """Return whether a feed of unknown software may have numbered pages (`numbered_pages`)."""
    options = context_of(response).walk.options
    is_due = fetch.role is Role.SUBSCRIPTION and (options.probe or fetch.walk > FIRST_WALK)
    return is_due and chain.kind(document, requests.quirks_of(options)) is Kind.SINGLE


def may_be_probed(fetch: Fetch, options: FeedOptions) -> bool:
    url = fetch.location or fetch.requested_url
    has_number = url_query_parameter(url, "page", keep_blank_values=True) is not None
    return options.platforms and options.probe and url.startswith("http") and not has_number


def numbered_pages(probe: tuple[bool, str | None], may_be_probed: bool) -> tuple[Platform | None, bool]:
    """Return NUMBERED or PROBE if a feed has numbered pages or is probed, and whether it ever was."""
    has_pages, probed_at = probe  # `Documents.find_probe`
    if has_pages:
        return NUMBERED, True
    # A time in the future was recorded by a wrong clock.
    is_due = probed_at is None or not 0 <= elapsed(probed_at, now()) < PROBED_AGAIN
    return PROBE if is_due and may_be_probed else None, probed_at is not None


def is_missing(response: Response) -> bool:
    """Return whether a page with a constructed URL does not exist."""
    context = context_of(response)
    platform = context.software
    # A redirect leads to the last page, or to the first one.
    pages = {url_query_parameter(url, "page") for url in (context.requested_url, response.url)}
    is_redirected = platform in (NUMBERED, PROBE) and len(pages) > 1
    return is_redirected or (platform is not None and response.status in platform.ends)


def empty_document() -> FeedDocument:
    return FeedDocument(
        "rss", None, None, {}, archive=False, complete=False, entries=[], problems=[], fault=None
    )


# A server may ignore a parameter that was added to a URL. A linked page with the first page's entries is an
# error of the publisher, as is a numbered page: its entries may have moved to the next page.
def is_end(response: Response, result: DocumentResult, newer_role: Role) -> bool | None:
    """Return whether a page that repeats the newer one is the end; None if that proves nothing."""
    platform = context_of(response).software
    if platform is PROBE:
        return True
    if platform is not None and platform.has_api:
        return None
    if platform is None or result.kind != Kind.SINGLE.value:
        return False
    return None if platform.is_by_time else platform.repeats or newer_role is Role.SUBSCRIPTION


def api_url(response: Response) -> str | None:
    """Return the URL of the first page of the API that a home page leads to; None if it leads to none."""
    context = context_of(response)
    if not context.is_of_api or context.referral is not None or isinstance(context.task, Recheck):
        return None
    url = api_of(response.body, response.url)
    return url if url is not None and requests.is_fetchable(url) else None


def has_grown(result: DocumentResult, earlier: EarlierReading | None) -> bool:
    """Return whether a document that was the oldest links to an older one now."""
    link = result.older_document
    is_linked = link is not None and link.platform is None
    return is_linked and result.failure is None and earlier is not None and earlier.was_last


def other_last_page(response: Response, document: FeedDocument, result: DocumentResult) -> str | None:
    """Return the URL that a page without an older one calls the last page, unless it is its own."""
    fetch = result.fetch
    if fetch.role is Role.LISTED or result.older_document is not None or result.failure is not None:
        return None
    quirks = requests.quirks_of(context_of(response).walk.options)
    return last_page(document, (fetch.requested_url, fetch.url), quirks)


# Weak validators may stay the same if insignificant text differs (RFC 9110, 8.8.1), and an entry may have
# been edited meanwhile: only new entries prove that a 304 would have been wrong.
def has_hidden_news(response: Response, result: DocumentResult, earlier: EarlierReading | None) -> bool:
    """Return whether an unconditional request returned entries that 304 responses may have hidden."""
    last = context_of(response).last_reading
    if last is None or last.received is None or last.validated_url is None or result.failure is not None:
        return False
    return earlier is not None and result.held is not None and earlier.has_new_ids(result.held)


def _contradiction(links: Contradiction) -> DocumentFailure:
    other_urls = [url for url in links.others if url]
    if not other_urls:
        detail = f"has an empty {links.relation} link"
        return DocumentFailure(State.INVALID, ReasonKind.EMPTY_LINK, detail)
    to = f"to {links.followed or ''}, which is followed, and to {', '.join(other_urls)}, which is not"
    return DocumentFailure(State.INVALID, ReasonKind.CONTRADICTORY_LINKS, f"has {links.relation} links {to}")


def log_problems(result: DocumentResult, document: FeedDocument) -> None:
    """Log the problems of a document and its entries, one line for each kind."""
    url = result.fetch.requested_url
    if result.failure is not None:
        logger.warning("%s %s", url, result.failure.detail)
    if document.complete and {"prev-archive", "next"} & document.links.keys():
        logger.warning("%s has fh:complete but links to other documents; these links are not followed", url)
    stored_kind = result.failure and result.failure.kind
    unstored = (problem for problem in document.problems if problem.kind != stored_kind)
    by_kind = sorted(unstored, key=lambda problem: problem.kind)
    for _kind, group in groupby(by_kind, key=lambda problem: problem.kind):
        problems = list(group)
        logger.warning(
            "%s: %s%s%s",
            url,
            f"{problems[0].entry}: " if problems[0].entry else "",
            problems[0].detail,
            f" (and {len(problems) - 1} more)" if len(problems) > 1 else "",
        )


def inherited_octets(document: FeedDocument, url: str) -> int:
    """Return the octets of what the entries of a document at `url` inherit or resolve."""
    return sum(_inherited(entry, url) for entry in document.entries)


# A short link may be resolved against a base of 2,000 octets, and each entry may inherit the feed's authors.
def _inherited(entry: Entry, url: str) -> int:
    enclosures = sum(len(enclosure["url"]) for enclosure in entry.enclosures) if entry.enclosures else 0
    base = 0 if entry.base is None or entry.base == url else len(entry.base)
    return base + len(entry.link or "") + sum(map(len, entry.authors)) + enclosures


def _digest(entry: Entry) -> str:
    entry.digest = entry.digest or results.digest(entry)
    return entry.digest


# Times after the date of a capture are never used. A walk compares times with the machine's clock, which may
# be corrected later.
def _version(
    fetch: Fetch, entry_id: str, claimed: Order, digest: str, original: bytes | None = None
) -> Version:
    if fetch.role is Role.CAPTURE:
        claimed = claimed.counted(results.latest_time(fetch.fetched))
    return Version.at(fetch.latest, entry_id, claimed, digest, original)
