"""What a request of a walk carries, from the spider to the middlewares and back to a callback.

A request has it in its cb_kwargs under one key, as plain values: JSON (in a cluster) and pickle (JOBDIR) take
it to another process. It is replaced, never changed in place, since copies of a request share it. Requests
that belong to no walk (robots.txt, those of a user's own components) have none.

The keys of meta that are not Scrapy's stand here too.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from fhcrawl.crawling.subscriptions import FeedOptions
from fhcrawl.exceptions import ContextError
from fhcrawl.logical_feed import ChainPosition, NewerPage, Role
from fhcrawl.logical_feed.results import DocumentFailure, State
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response

T = TypeVar("T")

# The key of cb_kwargs.
CONTEXT = "fhcrawl_context"

# The keys of meta that are scrapy-deltafetch's: what names the document in the store instead of its URL, and
# whether a document that is processed is not fetched again.
DELTAFETCH_KEY = "deltafetch_key"
DELTAFETCH_ENABLED = "deltafetch_enabled"
# Those that are fhcrawl's. One of these is set for a host that the user gave or allowed: it may have any
# address; its first addresses decide; it may have no special ones, since it had none before.
ANY_ADDRESS = "fhcrawl_any_address"
FIRST_USE = "fhcrawl_first_use"
WAS_PUBLIC = "fhcrawl_was_public"
# How many octets a response had as it came, before it was decompressed.
RECEIVED = "fhcrawl_received"
# Set in a request that is made ahead: the `prefetch.PrefetchedRequest` that it belongs to.
AHEAD = "fhcrawl_prefetch"


@dataclass(frozen=True, slots=True)
class WalkContext:
    """What the requests of a walk hand on, each to the next one.

    :param feed: URL of the subscription document, as the user gave it
    :param run: number of the crawl
    :param options: what the user says of the feed; `snapshot` is the one that the feed goes on from
    :param since: when that snapshot was made, ISO 8601 in UTC: what is older is in it
    :param guesses_pages: pages of WordPress that no link names are asked for (FHCRAWL_WORDPRESS_ENABLED)
    :param begun: when the feed's first request was made, in seconds since 1970 (FHCRAWL_MAX_SECONDS)
    :param octets: how many the feed has brought in this run (FHCRAWL_MAX_BYTES)
    :param special_hosts: of the hosts that the user gave, whether they had special addresses; a host that is
        not in it is not known yet
    """

    feed: str
    run: int
    options: FeedOptions = field(default_factory=FeedOptions)
    since: str | None = None
    guesses_pages: bool = False
    begun: float | None = None
    octets: int = 0
    special_hosts: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OlderDocument:
    """The first unread document that a subscription document led to when it was last read.

    :param key: what names it in the store
    """

    key: str
    url: str
    role: Role
    position: ChainPosition


@dataclass(frozen=True, slots=True)
class LastReading:
    """What the store has of a subscription document since it was last read.

    :param is_new: the feed has never been read
    :param body_digest: `responses.body_digest` of what it was; None if it is to be read again anyway
    :param validated_url: URL whose response brought etag and last_modified; None if the request is not
        conditional
    :param older_document: what is left to be read behind it
    """

    is_new: bool = False
    body_digest: str | None = None
    validated_url: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    older_document: OlderDocument | None = None


@dataclass(frozen=True, slots=True)
class Referral:
    """How a subscription document was found from other documents.

    :param number: how many documents have named another one as the subscription document
    :param mark: the URL that shows a circle when it is named again
    :param loss: what was wrong with one of them
    """

    number: int
    mark: str
    loss: DocumentFailure | None = None


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What a request of a walk carries.

    :param requested_url: URL of the document, before redirects
    :param role: what the document is to the feed
    :param position: the document's place in the chain
    :param via: URL of the document that has led to it
    :param documents: how many archives, pages or parts the walk has asked for in this run, with this one
    :param last_reading: only in the request for a subscription document where the store has it
    :param referral: only in the request for a subscription document that another document has named
    :param is_given: it looks for a subscription document where the user said that it is, after another place
    :param archive: URL of the archive that is read if the document of such a request is lost
    :param is_last: it is the request for that archive, which is read as what it is
    :param left_over: a page that an earlier walk has left unread, or one behind it
    :param page_digest: `responses.digest` of the page that has led to this page
    :param guessed_from: of a page that may not be there, `wordpress.shown` of the page before it; '' if that
        is not known, None if a link names the page
    :param newer: what the multipart page that has led here says to the one before it
    :param fetched: when a capture was made, ISO 8601 in UTC
    """

    walk: WalkContext
    requested_url: str
    role: Role
    position: ChainPosition
    via: str | None = None
    documents: int = 0
    last_reading: LastReading | None = None
    referral: Referral | None = None
    is_given: bool = False
    archive: str | None = None
    is_last: bool = False
    left_over: bool = False
    page_digest: str | None = None
    guessed_from: str | None = None
    newer: NewerPage | None = None
    fetched: str | None = None

    @property
    def body_digest(self) -> str | None:
        """That of the last reading, if there is one."""
        return None if self.last_reading is None else self.last_reading.body_digest


def cb_kwargs_of(context: RequestContext) -> dict[str, Any]:
    """The cb_kwargs of a request: plain values, without those that are the defaults."""
    return {CONTEXT: _plain(context)}


def find_context(request: Request | Response) -> RequestContext | None:
    """The context of a request, or of a response's request; None if it belongs to no walk.

    :raises ContextError: if a key is missing, or unknown
    """
    plain = request.cb_kwargs.get(CONTEXT)
    return None if plain is None else _typed(RequestContext, plain)


def context_of(request: Request | Response) -> RequestContext:
    """The context of a request of a walk, or of a response to one.

    :raises ContextError: if it has none, or if a key is missing, or unknown
    """
    context = find_context(request)
    if context is None:
        raise ContextError(f"The request for {request.url} has no {CONTEXT} in its cb_kwargs")
    return context


def feed_of(request: Request | Response) -> str | None:
    """The URL of the feed that a request is made for; None if it belongs to no walk."""
    # Asked for far more often than the rest.
    plain = request.cb_kwargs.get(CONTEXT)
    return None if plain is None else plain["walk"]["feed"]


def set_walk(request: Request | Response, walk: WalkContext) -> None:
    """Let a request, and those that follow from it, hand on something else."""
    request.cb_kwargs.update(cb_kwargs_of(replace(context_of(request), walk=walk)))


def with_context(request: Request, context: RequestContext, **changes: Any) -> Request:
    """A copy of a request with another context.

    :param changes: other attributes of the request
    """
    copy: Request = request.replace(cb_kwargs={**request.cb_kwargs, **cb_kwargs_of(context)}, **changes)
    return copy


# -- plain values -----------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    if type(value) in DEFAULTS:
        given = ((name, getattr(value, name), default) for name, default in DEFAULTS[type(value)].items())
        return {name: _plain(one) for name, one, default in given if one != default}
    if isinstance(value, Enum):
        return value.value
    return list(map(_plain, value)) if isinstance(value, tuple) else value


def _typed(cls: type[T], plain: dict[str, Any]) -> T:
    values = {name: TYPED[name](value) if name in TYPED else value for name, value in plain.items()}
    try:
        return cls(**values)
    except TypeError as error:
        raise ContextError(_fault(cls, plain)) from error


def _fault(cls: type[Any], plain: dict[str, Any]) -> str:
    defaults = DEFAULTS[cls]
    unknown = [f"{name} is unknown" for name in plain if name not in defaults]
    missing = [f"{n} is missing" for n, default in defaults.items() if default is MISSING and n not in plain]
    return f"The {cls.__name__} of a request cannot be read: {', '.join(missing + unknown)}"


def _defaults(cls: type[Any]) -> dict[str, Any]:
    """The fields of a dataclass, each with its default; MISSING for none."""
    return {f.name: f.default if f.default_factory is MISSING else f.default_factory() for f in fields(cls)}


def _position(plain: list[int]) -> ChainPosition:
    return ChainPosition(*plain)


def _newer(plain: list[Any]) -> NewerPage:
    return NewerPage(*plain)


def _loss(plain: list[str]) -> DocumentFailure:
    state, kind, detail = plain
    return DocumentFailure(State(state), ReasonKind(kind), detail)


DEFAULTS = {
    cls: _defaults(cls)
    for cls in (RequestContext, WalkContext, FeedOptions, LastReading, OlderDocument, Referral)
}
# What makes a field's value of plain ones, where they differ.
TYPED: dict[str, Callable[[Any], Any]] = {
    "walk": partial(_typed, WalkContext),
    "options": partial(_typed, FeedOptions),
    "last_reading": partial(_typed, LastReading),
    "older_document": partial(_typed, OlderDocument),
    "referral": partial(_typed, Referral),
    "role": Role,
    "position": _position,
    "newer": _newer,
    "loss": _loss,
}
