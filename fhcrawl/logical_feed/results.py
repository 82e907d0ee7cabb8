"""What has become of a document: what was asked for and came, and what the document says."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.logical_feed import FIRST_WALK, Outcome, decide
from fhcrawl.logical_feed.ordering import latest_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

    from fhcrawl.documents.lists import ListedDocument
    from fhcrawl.logical_feed import ChainPosition, Link, Role, Version, Winner
    from fhcrawl.reasons import ReasonKind


class State(str, Enum):
    """What has become of a document."""

    KNOWN = "known"
    PROCESSED = "processed"
    MISSING = "missing"
    FAILED = "failed"
    REFUSED = "refused"
    INVALID = "invalid"


class DocumentFailure(NamedTuple):
    """Why a document is not processed: its state, and the reason's kind and detail."""

    state: State
    kind: ReasonKind
    detail: str


@dataclass(frozen=True, slots=True)
class Fetch:
    """What was asked for, and what came.

    :param feed: URL of the subscription document, as the user gave it
    :param key: what names the document in the store: its URL as asked for, or the deltafetch_key
    :param requested_url: URL that was asked for
    :param url: URL of the response, after redirects
    :param fetched: when, ISO 8601 in UTC; for a capture, when that was made
    :param latest: the latest time that counts, comparable; '': a day after `fetched`
    :param run: number of the crawl
    :param location: where it is from now on, after permanent redirects; None: where it was asked for
    :param special: whether the hosts that the user gave had special addresses: see `crawling.given_hosts`
    :param freshness_lifetime: for how many seconds the server calls a subscription document fresh
    :param retry_after: before which the server wants no request, ISO 8601 in UTC
    """

    feed: str
    key: str
    requested_url: str
    url: str
    role: Role
    position: ChainPosition
    fetched: str
    latest: str = ""
    run: int = 0
    location: str | None = None
    special: int | None = None
    freshness_lifetime: int | None = None
    retry_after: str | None = None

    def __post_init__(self) -> None:
        """Judge times by when the document is read, where no other clock is given."""
        object.__setattr__(self, "latest", self.latest or latest_time(self.fetched))


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """What a document says of its feed, its entries and the way on; or why that is not known.

    :param moved_to: where a redirect has led from an archive, if another one may be there
    :param older_document: the link to the next older document of the chain, None at its end
    :param older_key: what names that one in the store; None: its URL
    :param is_left_over: a page that an earlier walk has left unread, or one behind it
    :param failure: why the document does not count as processed, if it does not
    :param validators: ETag, Last-Modified and body digest of a subscription document
    :param update_schedule: when a subscription document says that it changes, as plain values
    :param versions: what it holds, in document order; without originals if it comes in pieces
    :param deletions: what its tombstones say
    :param uncounted: the earliest time in it that does not count yet, comparable; None if all count
    :param parts: the documents that a list names, in the order in which they are read; None for no list
    :param replaces: if all parts are processed with this one, the snapshot that is the state from now on:
        what the ids of its entities begin with
    :param present: the ids in a complete feed's document; None for other documents
    :param counts: what the crawl's stats get beside the entries' outcomes, when the document is committed
    """

    fetch: Fetch
    title: str | None = None
    kind: str | None = None
    updated: str | None = None
    moved_to: str | None = None
    older_document: Link | None = None
    older_key: str | None = None
    is_left_over: bool = False
    failure: DocumentFailure | None = None
    validators: tuple[str | None, str | None, str] | None = None
    update_schedule: dict[str, object] | None = None
    lost_entries: int = 0
    versions: list[Version] = field(default_factory=list)
    deletions: list[Version] = field(default_factory=list)
    uncounted: str | None = None
    parts: list[ListedDocument] | None = None
    replaces: str | None = None
    present: frozenset[str] | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def failed(self, failure: DocumentFailure) -> Self:
        """Return the same, not processed: the next run asks for the document without conditions."""
        return replace(self, failure=failure, validators=None)


def has_changes(result: DocumentResult, stored: Mapping[str, Winner]) -> bool:
    """Whether a document holds any version that would change what walks have stored of the logical feed.

    :param stored: the newest versions in the store of the entries that it holds, by id
    """
    # That a web archive has an entry says nothing of what is behind it.
    of_walks = {i: winner for i, winner in stored.items() if winner.order.walk >= FIRST_WALK}
    return any(
        decide(version, of_walks.get(version.id)) in (Outcome.NEW, Outcome.UPDATED)
        for version in result.versions
    ) or any(
        version.id in of_walks and of_walks[version.id].digest and version.order > of_walks[version.id].order
        for version in result.deletions
    )


# While pages are read, entries move on to later ones. A page of nothing but what the walk has just stored
# from the pages before it shows that, and says nothing of what is behind it.
def must_follow(result: DocumentResult, stored: Mapping[str, Winner]) -> bool:
    """Whether what is behind a page is to be read, even if an earlier walk has read all of it.

    :param stored: see `has_changes`
    """
    walks = [stored[v.id].order.walk for v in result.versions if v.id in stored]
    joins_earlier_walk = any(FIRST_WALK <= walk < result.fetch.position.walk for walk in walks)
    return has_changes(result, stored) or (bool(walks) and not joins_earlier_walk)
