"""The verdicts on feeds: many at a time, in a few statements."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, func, select

from fhcrawl.logical_feed import HAS_MOVED, Evidence, Kind, Reason, Role, verdict
from fhcrawl.logical_feed.coverage import COVERED_KINDS
from fhcrawl.logical_feed.listings import Listing
from fhcrawl.logical_feed.results import State
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import coverage, renames, subscriptions
from fhcrawl.store.rows import NOT_FETCHED, Feed
from fhcrawl.store.schema import Keyed, absences, documents, entries, feeds
from fhcrawl.store.statements import MOVED, chain, chain_ends

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection, Row, Select

    ByFeed = defaultdict[int, list[Row[Any]]]

_of_feeds = documents.c.feed_id.in_(bindparam("feeds", expanding=True))
_starts = documents.c.id.in_(bindparam("starts", expanding=True))

# Of feeds whose subscription document has never been read.
STARTS = select(documents).where(_of_feeds, documents.c.role == Role.SUBSCRIPTION.value)
ENDS = chain_ends(_starts)
_is_part = documents.c.role == Role.PART.value
# Parts that have not been requested: a list may name a great many of these.
_is_left = (documents.c.state == State.KNOWN.value) & (documents.c.detail == NOT_FETCHED)
# The parts that were requested without success, in the order of reading.
LOST_PARTS = (
    select(documents)
    .where(_of_feeds, _is_part, documents.c.state != State.PROCESSED.value, ~_is_left)
    .order_by(documents.c.walk.desc(), documents.c.step.desc())
)
_index = documents.alias("snapshot_index")
_index_of_feed = (_index.c.feed_id == documents.c.feed_id) & (_index.c.role == Role.INDEX.value)
LEFT_PARTS = (
    select(
        documents.c.feed_id,
        func.count().label("number"),
        func.min(documents.c.since).label("since"),
        select(func.max(_index.c.url)).where(_index_of_feed).scalar_subquery().label("url"),
    )
    .where(_of_feeds, _is_part, _is_left)
    .group_by(documents.c.feed_id)
)
STATES = (
    select(documents.c.feed_id, documents.c.state, func.count().label("number"))
    .where(_of_feeds)
    .group_by(documents.c.feed_id, documents.c.state)
    .order_by(documents.c.feed_id, documents.c.state)
)
_time = func.coalesce(entries.c.published, entries.c.updated)
LIVE_ENTRIES = (
    select(entries.c.feed_id, func.count(), func.min(_time), func.max(_time))
    .where(entries.c.feed_id.in_(bindparam("feeds", expanding=True)), entries.c.digest != "")
    .group_by(entries.c.feed_id)
)


ABSENT = (
    select(absences.c.feed_id, func.count())
    .join(entries, (entries.c.feed_id == absences.c.feed_id) & (Keyed(entries.c.id) == Keyed(absences.c.id)))
    .where(
        absences.c.feed_id.in_(bindparam("feeds", expanding=True)),
        absences.c.gone.is_not(None),
        entries.c.digest != "",
    )
    .group_by(absences.c.feed_id)
)


def _losing_entries() -> Select[Any]:
    """Return the statement for documents of chains and lists with entries that could not be kept."""
    links = chain(_starts)
    is_listed = documents.c.id.in_(select(links.c.id)) | (documents.c.role == Role.PART.value)
    losing = select(documents).where(_of_feeds, documents.c.lost_entries > 0, is_listed)
    return losing.order_by(documents.c.id)


def _of_chains() -> Select[Any]:
    """Return the statement for the documents of chains.

    By feed: how many are pages, how many pages have an older one, and the oldest time of a check.
    """
    links = chain(_starts)
    is_page = documents.c.role == Role.PAGE.value
    return (
        select(
            documents.c.feed_id,
            func.count(case((is_page, 1))).label("pages"),
            func.count(case((is_page, documents.c.behind_id))).label("leading"),
            func.min(documents.c.checked).label("checked"),
        )
        .where(documents.c.id.in_(select(links.c.id)))
        .group_by(documents.c.feed_id)
    )


def _moved_archives() -> Select[Any]:
    """Return the statement for archives that have moved since the subscription document was read."""
    links = chain(_starts)
    joined = select(documents).join(feeds, feeds.c.id == documents.c.feed_id)
    return joined.where(documents.c.id.in_(select(links.c.id)), MOVED).order_by(documents.c.id)


LOSING_ENTRIES = _losing_entries()
MOVED_ARCHIVES = _moved_archives()
OF_CHAINS = _of_chains()


def read(connection: Connection, rows: Sequence[Row[Any]]) -> Iterator[Feed]:
    """Yield feeds with their verdicts.

    :param rows: the feeds' rows; not more than a statement can have parameters
    """
    some = {"feeds": [row.id for row in rows]}
    starts = {"starts": _start_numbers(connection, rows)}
    ends = _by_feed(connection.execute(ENDS, starts))
    lost = _by_feed(connection.execute(LOST_PARTS, some))
    left = {row.feed_id: row for row in connection.execute(LEFT_PARTS, some)}
    moved = _by_feed(connection.execute(MOVED_ARCHIVES, starts))
    losing = _by_feed(connection.execute(LOSING_ENTRIES, some | starts))
    of_chains = {row.feed_id: row for row in connection.execute(OF_CHAINS, starts)}
    states = _by_feed(connection.execute(STATES, some))
    live = {row[0]: tuple(row[1:]) for row in connection.execute(LIVE_ENTRIES, some)}
    absent = {row[0]: row[1] for row in connection.execute(ABSENT, some)}
    renamed = {row[0]: row[1] for row in connection.execute(renames.COUNTS, some)}
    own = coverage.read(connection, some["feeds"])
    covered = coverage.with_captures(connection, some["feeds"], own)
    for row in rows:
        gaps = [
            *_gaps(row, ends[row.id], lost[row.id], moved[row.id], losing[row.id]),
            *_left(row, left.get(row.id)),
        ]
        of_chain = of_chains.get(row.id)
        kind = _kind(row, of_chain)
        count, oldest, newest = live.get(row.id, (0, None, None))
        known = covered.get(row.id) if kind is None or kind in COVERED_KINDS else None
        reached, reasons = verdict(
            row.url,
            kind,
            row.crawled or row.since,
            gaps,
            _evidence(row, count),
            covered=known,
            is_held_back=row.id in own and subscriptions.is_held_back(row, own[row.id]),
        )
        yield Feed(
            row.url,
            row.title,
            kind,
            reached,
            reasons,
            count,
            absent.get(row.id, 0),
            renamed.get(row.id, 0),
            {found.state: found.number for found in states[row.id]},
            row.crawled,
            (of_chain and of_chain.checked) or row.crawled,
            row.subscribed,
            subscriptions.due(row),
            oldest,
            newest,
            known.spans if known else [],
            known.holes if known else [],
        )


def _evidence(feed: Row[Any], entries: int) -> Evidence:
    """Return what is known of a feed besides its documents."""
    listing = Listing.of_walk(feed.listing, feed.walk)
    return Evidence(entries, feed.total, bool(feed.guessable), listing)


def _start_numbers(connection: Connection, rows: Sequence[Row[Any]]) -> list[int]:
    """Return the ids of the documents where the feeds' chains begin."""
    never_read = [row.id for row in rows if row.subscription_id is None]
    found = connection.execute(STARTS, {"feeds": never_read}) if never_read else ()
    return [*(row.subscription_id for row in rows if row.subscription_id is not None), *(r.id for r in found)]


def _by_feed(found: Iterable[Row[Any]]) -> ByFeed:
    of_feed: ByFeed = defaultdict(list)
    for row in found:
        of_feed[row.feed_id].append(row)
    return of_feed


def _kind(feed: Row[Any], of_chain: Row[Any] | None) -> Kind | None:
    """Return the kind of a feed, by its subscription document and the pages of its chain.

    :param of_chain: the row of `OF_CHAINS`
    """
    kind = None if feed.kind is None else Kind(feed.kind)
    if of_chain is None or not of_chain.pages:
        return kind
    # An archived feed's chain may continue with pages, and then with archives again. The pages of a feed that
    # links to none are guessed until a guess fails: the last one does not exist.
    is_paged = kind is Kind.ARCHIVED or (kind is Kind.SINGLE and of_chain.leading)
    return Kind.PAGED if is_paged else kind


def _gaps(
    feed: Row[Any],
    ends: list[Row[Any]],
    lost_parts: list[Row[Any]],
    moved: list[Row[Any]],
    losing: list[Row[Any]],
) -> Iterator[Reason]:
    """Yield the gaps of a feed: the document at which its chain breaks off, lost parts, and lost entries."""
    for row in (*(end for end in ends if end.role != Role.PART.value), *lost_parts):
        if row.state != State.PROCESSED.value:
            yield Reason(ReasonKind(row.reason), row.url, row.detail, row.since)
    if not ends and feed.subscription_id is None:
        yield Reason(ReasonKind.KNOWN, feed.url, NOT_FETCHED, feed.since)
    elif not ends:
        yield Reason(ReasonKind.LOOP, feed.url, "has a chain that is a loop", feed.since)
    for row in moved[:1]:
        yield Reason(ReasonKind.MOVED, row.url, HAS_MOVED, row.fetched)
    for row in losing:
        detail = f"has entries that cannot be kept: {row.lost_entries}"
        yield Reason(ReasonKind.ENTRIES_LOST, row.url, detail, row.fetched)


def _left(feed: Row[Any], found: Row[Any] | None) -> Iterator[Reason]:
    """Yield one reason for all documents of a list that have not been requested."""
    if found is not None:
        documents_are = "document more that has" if found.number == 1 else "documents more that have"
        detail = f"names {found.number:,} {documents_are} not been fetched yet"
        yield Reason(ReasonKind.KNOWN, found.url or feed.url, detail, found.since)
