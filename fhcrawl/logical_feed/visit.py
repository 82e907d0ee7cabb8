"""One reading of one document, on its way from the spider to the store."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.logical_feed import FIRST_WALK, Outcome, Winner, decide
from fhcrawl.logical_feed.ordering import latest_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from fhcrawl.documents.lists import ListedDocument
    from fhcrawl.logical_feed import Link, Place, Role, Version


DROPPED = object()


class State(str, Enum):
    """What has become of a document."""

    KNOWN = "known"
    PROCESSED = "processed"
    MISSING = "missing"
    FAILED = "failed"
    REFUSED = "refused"
    INVALID = "invalid"


class Loss(NamedTuple):
    """Why a document is not processed: its state, and the reason's kind and detail."""

    state: State
    kind: str
    detail: str


@dataclass(slots=True)
class Visit:
    """One reading of one document, on its way from the spider to the store.

    :param feed: URL of the subscription document, as the user gave it
    :param key: what names the document in the store: its URL as asked for, or the deltafetch_key
    :param asked: URL that was asked for
    :param url: URL of the response, after redirects
    :param fetched: when, ISO 8601 in UTC; for a capture, when that was made
    :param latest: the latest time that counts, comparable; '': a day after `fetched`
    :param run: number of the crawl
    :param location: where it is from now on, after permanent redirects; None: where it was asked for
    :param special: whether the hosts that the user gave had special addresses: see `crawling.given_hosts`
    :param moved_to: where a redirect has led from an archive, if another one may be there
    :param behind: the document behind it in the chain, None at its end
    :param behind_key: what names that one in the store
    :param left_over: a page that an earlier walk has left unread, or one behind it
    :param loss: why the document does not count as processed, if it does not
    :param validators: ETag, Last-Modified and body digest of a subscription document
    :param fresh: for how many seconds the server calls a subscription document fresh
    :param retry_after: before which the server wants no request, ISO 8601 in UTC
    :param rhythm: the `documents.UpdateSchedule` of a subscription document, as plain values
    :param versions: what it holds, in document order; without originals if it comes in pieces
    :param deletions: what its tombstones say
    :param uncounted: the earliest time in it that does not count yet, comparable; None if all count
    :param stored: the newest versions in the store of the entries that it holds, by id
    :param winners: the same, with those of this document that have won since
    :param pieces: how many pieces of its document have begun to be yielded; a document in memory is one
    :param accepted: entries to be stored, by id: their fields and the version
    :param written: what was accepted of earlier pieces and is stored, by id, without originals
    :param superseded: older versions, for a store that keeps them, by id and digest: version and fields
    :param confirmed: versions that hold nothing new but are newer than the stored ones, by id
    :param parts: the documents that a list names, in the order in which they are read; None for no list
    :param replaces: if all parts are processed with this one, the snapshot that is the state from now on:
        what the ids of its entities begin with
    :param present: the ids in a complete feed's document; None for other documents
    :param settle: to be called when an entry is through the pipelines: with its version, and the item that
        came out (DROPPED if it was dropped), or the error that it was lost to
    :param inherited: characters of the entries' URLs and authors, which may come from the document's head
    :param counts: what the crawl's stats are to have more of, when the document is committed, or pieces of it
    :param counted: what of that they have
    """

    feed: str
    key: str
    asked: str
    url: str
    role: Role
    place: Place
    fetched: str
    latest: str = ""
    run: int = 0
    location: str | None = None
    special: int | None = None
    title: str | None = None
    kind: str | None = None
    updated: str | None = None
    moved_to: str | None = None
    behind: Link | None = None
    behind_key: str | None = None
    left_over: bool = False
    loss: Loss | None = None
    validators: tuple[str | None, str | None, str] | None = None
    fresh: int | None = None
    retry_after: str | None = None
    rhythm: dict[str, object] | None = None
    lost_entries: int = 0
    versions: list[Version] = field(default_factory=list)
    deletions: list[Version] = field(default_factory=list)
    uncounted: str | None = None
    stored: dict[str, Winner] = field(default_factory=dict)
    winners: dict[str, Winner] = field(default_factory=dict)
    pieces: int = 0
    accepted: dict[str, tuple[Version, dict[str, object]]] = field(default_factory=dict)
    written: dict[str, Version] = field(default_factory=dict)
    superseded: dict[tuple[str, str], tuple[Version, dict[str, object]]] = field(default_factory=dict)
    confirmed: dict[str, tuple[Version, dict[str, object]]] = field(default_factory=dict)
    parts: list[ListedDocument] | None = None
    replaces: str | None = None
    present: frozenset[str] | None = None
    settle: Callable[[Version, object, Exception | None], None] = lambda *args: None
    inherited: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    counted: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Judge times by when the document is read, where no other clock is given."""
        self.latest = self.latest or latest_time(self.fetched)


def bury(visit: Visit) -> None:
    """Let a document's deletions win over what is stored, before its entries are compared with that."""
    for version in visit.deletions:
        winner = visit.winners.get(version.id)
        if winner is None or version.order > winner.order:
            visit.winners[version.id] = Winner(version.order, "")


def note_written(visit: Visit) -> None:
    """Forget the texts of what is stored."""
    for entry_id, (version, _fields) in visit.accepted.items():
        visit.written[entry_id] = version._replace(original=None)
    for stored in (visit.accepted, visit.superseded, visit.confirmed):
        stored.clear()


def brings_news(visit: Visit) -> bool:
    """Whether a document holds any version that would change what walks have stored of the logical feed."""
    # That a web archive has an entry says nothing of what is behind it.
    stored = {i: winner for i, winner in visit.stored.items() if winner.order.walk >= FIRST_WALK}
    return any(
        decide(version, stored.get(version.id)) in (Outcome.NEW, Outcome.UPDATED)
        for version in visit.versions
    ) or any(
        version.id in stored and stored[version.id].digest and version.order > stored[version.id].order
        for version in visit.deletions
    )


# While pages are read, entries move on to later ones. A page of nothing but what the walk has just stored
# from the pages before it shows that, and says nothing of what is behind it.
def leads_on(visit: Visit) -> bool:
    """Whether what is behind a page is to be read, even if an earlier walk has read all of it."""
    walks = [visit.stored[v.id].order.walk for v in visit.versions if v.id in visit.stored]
    joins_earlier_walk = any(FIRST_WALK <= walk < visit.place.walk for walk in walks)
    return brings_news(visit) or (bool(walks) and not joins_earlier_walk)
