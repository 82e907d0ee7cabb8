"""The context that a request of a walk carries from the spider to the middlewares and to its callback.

It is stored in cb_kwargs under one key, by whoever makes the request, and never changed afterwards: copies of
a request share it. Requests that belong to no walk (robots.txt, those of a user's own spiders and components)
have no context.

The keys of meta that are not Scrapy's are defined here too: those that a request is made with, and those in
which the downloader returns what it has learned.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from datetime import timezone
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.http.request import NO_CALLBACK

from fhcrawl.crawling.subscriptions import FeedOptions
from fhcrawl.exceptions import ContextError, FhcrawlError
from fhcrawl.logical_feed import ChainPosition, Role
from fhcrawl.logical_feed.platforms import NAMED, PROBE
from fhcrawl.utils.addresses import literal, origin, special_name

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from fhcrawl.logical_feed.chain import NewerPage
    from fhcrawl.logical_feed.platforms import Platform
    from fhcrawl.logical_feed.results import DocumentFailure, Fetch
    from fhcrawl.store import DocumentRef, WalkStart

# The key of cb_kwargs.
CONTEXT = "fhcrawl_context"

# The keys of meta that are scrapy-deltafetch's: the document's key in the store if it is not its URL, and
# whether a processed document is skipped.
DELTAFETCH_KEY = "deltafetch_key"
DELTAFETCH_ENABLED = "deltafetch_enabled"
# fhcrawl's own keys, which mark a host of the user's: it may have any address; it is looked up for the first
# time, and its addresses are stored; it had no special address before.
ANY_ADDRESS = "fhcrawl_any_address"
FIRST_USE = "fhcrawl_first_use"
WAS_PUBLIC = "fhcrawl_was_public"
# Suffix of the download slot for the index of a web archive; its captures use the slot of the host.
INDEX_SLOT = "/index"
# The response to an earlier request of the crawl for the same document.
RESPONSE = "fhcrawl_response"
# What the downloader learns: the size of a response in octets before it was decompressed; when the feed's
# first request was sent, in seconds since 1970; the octets of the feed so far; whether hosts of the user's
# have special addresses; when a capture was made, if the archive served another one.
RECEIVED = "fhcrawl_received"
BEGUN = "fhcrawl_begun"
OCTETS = "fhcrawl_octets"
SPECIAL_HOSTS = "fhcrawl_special_hosts"
CAPTURED = "fhcrawl_captured"


class LastDocument(NamedTuple):
    """The document at which a walk has ended: a subscription document or a page.

    :param documents: as in `RequestContext`
    :param api: URL of WordPress's API, if the response names it
    :param is_unchanged: it was requested and has not changed
    :param is_listed: the publisher is known to have a list of the feed's entries
    :param is_complete: the feed consists of this document
    """

    fetch: Fetch
    documents: int
    api: str | None
    is_unchanged: bool
    is_listed: bool
    is_complete: bool


@dataclass(frozen=True)
class WalkContext:
    """The part of the context that each request of a walk passes on to the next one.

    :param feed: URL of the subscription document, as the user gave it
    :param run: number of the crawl
    :param options: the user's options of the feed; `snapshot` is the snapshot that the feed continues
    :param since: when that snapshot was made, ISO 8601 in UTC; it contains all older entries
    :param page_size: number of entries of the subscription document; 0 if it was not read in this run
    :param begun: when the feed's first request was made, in seconds since 1970 (FHCRAWL_MAX_SECONDS)
    :param octets: size of what was downloaded for the feed in this run (FHCRAWL_MAX_BYTES)
    :param special_hosts: for each host that the user gave, whether it had special addresses; hosts that have
        not been looked up yet are missing
    :param number: number of the walk
    :param sitemaps: the site's sitemaps are read after the walk
    :param is_confirmable: before the walk, the subscription document linked to an older one, or counted the
        entries of the feed
    :param move: URL of the subscription document, and the one to which it says that the feed has moved
    :param last: the last document of the walk, when the walk has ended
    """

    feed: str
    run: int
    options: FeedOptions = field(default_factory=FeedOptions)
    since: str | None = None
    page_size: int = 0
    begun: float | None = None
    octets: int = 0
    special_hosts: dict[str, bool] = field(default_factory=dict)
    number: int = 0
    sitemaps: bool = False
    is_confirmable: bool = True
    move: tuple[str, str] | None = None
    last: LastDocument | None = None


@dataclass(frozen=True)
class LastReading:
    """The stored state of a document that was read before.

    :param is_new: the feed has never been read
    :param body_digest: `requests.body_digest` of the last response; None to read the document again anyway
    :param validated_url: URL whose response had etag and last_modified; None if the request is not
        conditional
    :param older_document: the next older document that is unread
    :param received: when the document was last received, if that is too long ago: the request is made without
        conditions
    :param is_listed: the publisher has a list of the feed's entries
    :param is_empty: it had no entries
    """

    is_new: bool = False
    body_digest: str | None = None
    validated_url: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    older_document: DocumentRef | None = None
    received: str | None = None
    is_listed: bool = False
    is_empty: bool = False


@dataclass(frozen=True)
class Referral:
    """How links of other documents led to a subscription document.

    :param number: how many documents have named another one as the subscription document
    :param mark: a URL that was named before; the links form a loop if it is named again
    :param loss: what was wrong with one of these documents
    :param is_new: the feed has never been read
    :param is_page: the first of them is a web page
    """

    number: int
    mark: str
    loss: DocumentFailure | None = None
    is_new: bool = False
    is_page: bool = False


@dataclass(frozen=True)
class Fallback:
    """Why another URL of a subscription document is requested: the one before it failed.

    :param archive: URL of the archive document that led here, which is read if this request fails too
    :param is_last: this is the request for that archive document
    """

    archive: str | None = None
    is_last: bool = False


@dataclass(frozen=True)
class Recheck:
    """A request for a document that was read before; `following`: ids of the documents to check after it."""

    following: list[int]


@dataclass(frozen=True)
class Confirm(Recheck):
    """A request that confirms a page.

    :param agrees: whether the pages before it agree with their earlier reading; None if one was not read
    :param left: id of the document with which the next crawl continues
    :param pushed: digests of the ids that the pages before it have lost since their earlier readings, and
        that none has shown since
    """

    agrees: bool | None = True
    left: int | None = None
    pushed: frozenset[bytes] = frozenset()


@dataclass(frozen=True)
class Doubt:
    """A conditional request for a document that was just found to have changed: a 304 would be wrong.

    :param since: when the document was received before
    """

    since: str


@dataclass(frozen=True)
class CaptureRequest:
    """A request for an old copy of a document.

    :param time: when it was made, ISO 8601 in UTC
    :param id: its id in the store
    :param is_in_warc: it is in a WARC file, not in a web archive
    """

    time: str
    id: int
    is_in_warc: bool


class Purpose(Enum):
    """What a request without a task is for."""

    WALK = "walk"
    PART = "part"
    TIMEMAP = "timemap"


OF_ROLE = {Role.PART: Purpose.PART, Role.TIMEMAP: Purpose.TIMEMAP}


@dataclass(frozen=True)
class RequestContext:
    """The context of a request of a walk.

    :param requested_url: URL of the document, before redirects
    :param role: the document's role in the feed
    :param position: the document's place in the chain
    :param via: URL of the document that links to it
    :param documents: number of archives, pages or parts requested by the walk in this run, with this one
    :param last_reading: only in a request for the subscription document at the URL in the store, or for a
        document that was read before
    :param referral: only in a request for a subscription document that another document named
    :param fallback: only in a request for a subscription document after another URL of it has failed
    :param platform: as in `Link`, of the link that led here
    :param has_joined: the subscription document of the walk reaches back to stored entries: `results.joins`
    :param newer_joins: so does the document that links to this one
    :param left_over: an earlier walk left this page, or a newer page of the chain, unread
    :param barren: how many documents in a row before this one were read without news (`results.has_news`)
    :param empty: how many documents in a row before this one had no entries
    :param newer: the multipart page that links here, for the comparison of the two
    :param task: what a request is part of that does not continue the walk; each stage has its own classes
    """

    walk: WalkContext
    requested_url: str
    role: Role
    position: ChainPosition
    via: str | None = None
    documents: int = 0
    last_reading: LastReading | None = None
    referral: Referral | None = None
    fallback: Fallback | None = None
    platform: str | None = None
    has_joined: bool = False
    newer_joins: bool = True
    left_over: bool = False
    barren: int = 0
    empty: int = 0
    newer: NewerPage | None = None
    task: object | None = None

    @property
    def purpose(self) -> Purpose | type[object]:
        """What the request is for, which selects the row of a stage: the class of its task, if it has one."""
        return OF_ROLE.get(self.role, Purpose.WALK) if self.task is None else type(self.task)

    @property
    def is_of_capture(self) -> bool:
        """Whether the request is for an old copy, or for a list of them."""
        return self.purpose in (Purpose.TIMEMAP, CaptureRequest)

    @property
    def is_new(self) -> bool:
        """Whether the request is for a subscription document of a feed that has never been read."""
        source = self.referral if self.last_reading is None else self.last_reading
        return source is not None and source.is_new

    @property
    def software(self) -> Platform | None:
        return NAMED.get(self.platform or "")

    @property
    def is_probe(self) -> bool:
        """Whether the request checks if a feed has numbered pages."""
        return self.platform == PROBE.name

    @property
    def is_of_api(self) -> bool:
        """Whether the request is for a home page that leads to an API, or for the API's first page."""
        return self.software is not None and self.software.has_api

    @property
    def body_digest(self) -> str | None:
        return None if self.last_reading is None else self.last_reading.body_digest


# Scrapy passes cb_kwargs to the callback, copies them when a request is retried or redirected, and stores
# them in a JOBDIR as a pickle.
def cb_kwargs_of(context: RequestContext) -> dict[str, RequestContext]:
    return {CONTEXT: context}


def find_context(request: Request | Response) -> RequestContext | None:
    """Return the context of a request, or of a response's request; None if it belongs to no walk."""
    return request.cb_kwargs.get(CONTEXT)


def context_of(request: Request | Response) -> RequestContext:
    """Return the context of a request of a walk, or of a response to one; raise ContextError without one."""
    context = find_context(request)
    if context is None:
        raise ContextError(
            f"The request for {request.url} has no {CONTEXT} in its cb_kwargs: give your own requests "
            "their own callback"
        )
    return context


def request_of(response: Response) -> Request:
    """Return the request of a response; after a redirect, with the cb_kwargs and meta of the first one."""
    if response.request is None:
        raise FhcrawlError(f"A response without a request: {response.url}")
    return response.request


def header(response: Response, name: str) -> str | None:
    value = response.headers.get(name)
    return header_text(value) if value else None


# RFC 9110, 5.5: "a recipient of CR, LF, or NUL within a field value MUST either reject the message or replace
# each of those characters with SP". Twisted does not replace NUL.
def header_text(value: bytes) -> str:
    return value.replace(b"\0", b" ").decode("latin-1")


def is_of_user(request: Request) -> bool:
    """Return whether a request belongs to no walk, and is not RobotsTxtMiddleware's for one that does."""
    is_robotstxt = request.callback is NO_CALLBACK and request.meta.get("dont_obey_robotstxt")
    return CONTEXT not in request.cb_kwargs and not is_robotstxt


def feed_of(request: Request | Response) -> str | None:
    """Return the URL of the feed that a request belongs to; None if it belongs to no walk."""
    context = find_context(request)
    return None if context is None else context.walk.feed


def with_learned(walk: WalkContext, request: Request | Response) -> WalkContext:
    """Return the walk context for the requests that follow, with what the downloader has learned."""
    meta = request.meta
    return replace(
        walk,
        begun=walk.begun or meta.get(BEGUN),
        octets=max(walk.octets, meta.get(OCTETS, 0)),
        special_hosts={**walk.special_hosts, **meta.get(SPECIAL_HOSTS, {})},
    )


def is_of_web_archive(context: RequestContext | None) -> bool:
    if context is None:
        return False
    if isinstance(context.task, CaptureRequest):
        return not context.task.is_in_warc
    return context.role is Role.TIMEMAP


def with_context(request: Request, context: RequestContext, **changes: Any) -> Request:
    copy: Request = request.replace(cb_kwargs={**request.cb_kwargs, **cb_kwargs_of(context)}, **changes)
    return copy


# The bits of `feeds.special`, which is NULL until the feed's host has been looked up.
FEED_IS_SPECIAL, SNAPSHOT_IS_SPECIAL = 1, 2


def user_urls(walk: WalkContext) -> list[str]:
    return [walk.feed, *filter(None, [walk.options.snapshot])]


def has_fixed_address(host: str) -> bool:
    """Return whether a host always has the same address: it is an IP address, or a name of this machine."""
    return special_name(host) or literal(host) is not None


def special_hosts_from_store(start: WalkStart, index: str | None) -> dict[str, bool]:
    """Return `WalkContext.special_hosts` as stored; `index` is the URL of the snapshot's index."""
    if start.special is None:
        return {}
    hosts = {}
    snapshot = start.snapshot
    if snapshot is not None and snapshot.is_read and snapshot.url == index:
        hosts[origin(snapshot.url).host] = bool(start.special & SNAPSHOT_IS_SPECIAL)
    return {**hosts, origin(start.feed).host: bool(start.special & FEED_IS_SPECIAL)}


def special_hosts_to_store(walk: WalkContext) -> int | None:
    """Return the value of `feeds.special`; None if there is nothing to store."""
    special = walk.special_hosts
    if not special:
        return None
    feed, *snapshot = (origin(url).host for url in user_urls(walk))
    if feed not in special:
        return None
    return FEED_IS_SPECIAL * special[feed] + SNAPSHOT_IS_SPECIAL * any(special.get(host) for host in snapshot)


def timestamp_of(http_date: str) -> float | None:
    with contextlib.suppress(ValueError, TypeError, IndexError, OverflowError):
        date = parsedate_to_datetime(http_date)
        return (date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp()
    return None
