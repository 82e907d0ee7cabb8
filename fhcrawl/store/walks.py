"""The beginning of walks: claims feeds and reads their state, for many feeds in a few statements."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from fhcrawl.exceptions import LeaseError, UnsettledError
from fhcrawl.logical_feed import Kind, Verdict
from fhcrawl.logical_feed.listings import Listing, SitemapReport, is_sitemap_due
from fhcrawl.logical_feed.results import State, latest_time
from fhcrawl.store import chains, subscriptions
from fhcrawl.store.database import Repository
from fhcrawl.store.leases import EXPORTED, IS_DELIVERED_BY_ITS_RUN
from fhcrawl.store.schema import feeds, heads
from fhcrawl.store.statements import MOVED, UNREAD, Subscription, execute, execute_all, is_of, is_one_of
from fhcrawl.store.subscriptions import ADD_FEED, NO_RUN
from fhcrawl.utils.clock import now as time_now

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from sqlalchemy import Connection, Row

    from fhcrawl.store.leases import Leases

# Kinds of feeds whose documents need not name all entries.
HAVE_SITEMAPS = (Kind.SINGLE.value, Kind.PAGED.value)
NO_IDS: Mapping[str, str] = MappingProxyType({})
UNREAD_ALL = """
UPDATE documents SET state = :state, reason = :reason, detail = :detail, since = :since
WHERE feed_id = :feed_id
"""
CUT_OFF = "its last crawl was interrupted during an export, which cannot be repaired yet"
# Documents compared by times that are judged differently now: the clock was wrong then, or a future time has
# passed since.
COUNTS_OTHERWISE = """documents.state = 'processed'
    AND (documents.uncounted <= :latest OR documents.fetched > :latest)"""
IN_DOUBT = f"""
SELECT DISTINCT documents.feed_id FROM documents JOIN feeds ON feeds.id = documents.feed_id
WHERE documents.feed_id = ANY(:feeds) AND ({MOVED} OR {COUNTS_OTHERWISE})
"""
# What a clock that was ahead has read may have replaced versions of any document, by times that are in the
# future by a correct clock.
HAVE_REPLACED = """
SELECT DISTINCT feed_id FROM documents
WHERE feed_id = ANY(:feeds) AND state = 'processed' AND fetched > :latest AND EXISTS (
    SELECT 1 FROM entries WHERE entries.feed_id = documents.feed_id
        AND entries.order_time > :latest)
"""
# A redirect may have been temporary; reading the subscription document alone does not show that. The entries
# of a document are compared as those of a document that was never read.
ASK_AGAIN = f"""
UPDATE documents SET state = :state, reason = :reason, detail = :detail, since = :since, uncounted = NULL,
    held = NULL
WHERE feed_id = ANY(:feeds) AND (
    moved_to IS NOT NULL AND moved_walk = (SELECT walk FROM feeds WHERE feeds.id = documents.feed_id)
    OR {COUNTS_OTHERWISE}
    OR feed_id = ANY(:replaced) AND state = 'processed' AND role <> 'index')
"""


class Walks(Repository):
    """The beginning of walks: `store.walks`."""

    def begin(
        self,
        urls: list[str],
        run: int,
        now: str,
        merging: Container[str] = (),
        ids: Mapping[str, str] = NO_IDS,
    ) -> dict[str, Subscription | LeaseError]:
        """Claim feeds for a run, and return the stored state of each; in one transaction.

        :param urls: URLs of subscription documents, as the user gave them; `FEEDS_AT_ONCE` at most
        :param now: ISO 8601 in UTC
        :param merging: feeds whose entries are deleted under ids that have changed (`Renames`)
        :param ids: what identifies the entries of a feed, where the user says so. If it was something else
            until now, all documents of the feed count as unread
        :return: by URL; a `LeaseError` if another crawl has the feed, or its changes are being exported
        """
        # Sorted, so that two crawls that begin with the same feeds do not deadlock.
        new = [{"url": url, "since": now} for url in sorted(urls)]
        leases = self._session.require_leases()
        digest = select(heads.c.digest).where(heads.c.feed_id == feeds.c.id).scalar_subquery()
        given = select(feeds, digest.label("head_digest")).where(is_one_of(urls))
        with self._database.transaction() as connection:
            execute_all(connection, ADD_FEED, new)
            rows = connection.execute(given.order_by(feeds.c.id).with_for_update()).all()
            refusals = _refusals(connection, leases, rows)
            refusals |= _unsettled(connection, [row for row in rows if refusals[row.id] is None], run)
            ours = [row for row in rows if refusals[row.id] is None]
            changed = {row.id: ids[row.url] for row in ours if ids.get(row.url, row.ids) != row.ids}
            for feed_id, named in changed.items():
                connection.execute(feeds.update().where(feeds.c.id == feed_id).values(ids=named))
                execute(connection, UNREAD_ALL, {**UNREAD, "since": now, "feed_id": feed_id})
                # The next read cannot be compared with what was shown under other ids.
                execute(connection, "DELETE FROM coverage WHERE feed_id = :feed_id", {"feed_id": feed_id})
            known = _begin(connection, ours, run, now)
            for row in ours:
                former = row.ids if row.id in changed and row.crawled else None
                known[row.id] = replace(known[row.id], ids=changed.get(row.id, row.ids), former_ids=former)
            if merged := [row.id for row in ours if row.url in merging]:
                execute(
                    connection, "UPDATE feeds SET merge_renamed = 1 WHERE id = ANY(:feeds)", {"feeds": merged}
                )
        self._session.remember_ids({row.url: row.id for row in rows})
        self._session.remember_heads({row.id: row.head_digest for row in ours if row.head_digest})
        return {row.url: refusals[row.id] or known[row.id] for row in rows}

    def read(self, feed: str) -> Subscription:
        """Return the stored state of a feed whose walk has begun."""
        with self._database.snapshot() as connection:
            row = connection.execute(select(feeds).where(is_of(feed))).one()
            in_doubt = _in_doubt(connection, [row], latest_time(time_now()))
            return _subscriptions(connection, [row], row.run, in_doubt)[row.id]

    def rename(self, feed: str, name: str, now: str, special: int | None) -> bool:
        """Let a new feed be the feed of another URL, in one transaction; its own name is free then.

        What the store has of it moves there, with its subscription.

        :param feed: a feed of this run
        :param now: ISO 8601 in UTC
        :param special: what the run knows of the other URL's host, if no feed has that URL: `feeds.special`
        :return: whether this run has the other feed already
        :raises LeaseError: if another crawl has one of them; it may have the other one if nothing is to move
        """
        session = self._session
        leases = session.require_leases()
        with self._database.transaction() as connection:
            added = execute(connection, ADD_FEED, {"url": name, "since": now}).rowcount
            rows = subscriptions.lock(connection, feed, name)
            leases.check(connection, rows[feed].id)
            if not subscriptions.is_empty(connection, rows[feed].id):
                _check_free(connection, leases, rows[name])
            if added:
                connection.execute(feeds.update().where(feeds.c.id == rows[name].id).values(special=special))
            subscriptions.merge(connection, rows[feed], rows[name])
        session.forget_id(feed)
        return bool(rows[name].run == leases.run)

    def forget(self, feed: str, now: str) -> None:
        """Mark every document of a feed as not processed; its entries stay.

        :raises LeaseError: if another crawl has the feed
        """
        with self._database.transaction() as connection:
            for row in subscriptions.lock(connection, feed).values():
                _check_free(connection, self._session.require_leases(), row)
                listing = Listing.from_json(row.listing)
                values = {"feed_id": row.id, "listing": listing and listing.anew().to_json()}
                for statement in (
                    UNREAD_ALL,
                    "UPDATE feeds SET not_modified_ignored = NULL, listing = :listing WHERE id = :feed_id",
                    "UPDATE timemaps SET read = NULL WHERE feed_id = :feed_id",
                ):
                    execute(connection, statement, {**UNREAD, **values, "since": now})


def _begin(connection: Connection, rows: list[Row[Any]], run: int, since: str) -> dict[int, Subscription]:
    execute(
        connection,
        """UPDATE feeds SET verdict = NULL, reasons = NULL, retry_after = NULL, due = NULL, released = NULL,
            merge_renamed = NULL, run = :run
        WHERE id = ANY(:feeds)""",
        {"feeds": [row.id for row in rows], "run": run},
    )
    latest = latest_time(since)
    in_doubt = _in_doubt(connection, rows, latest)
    if in_doubt:
        parameters = {"feeds": list(in_doubt), "latest": latest}
        replaced = list(execute(connection, HAVE_REPLACED, parameters).scalars())
        execute(connection, ASK_AGAIN, {**UNREAD, **parameters, "replaced": replaced, "since": since})
    return _subscriptions(connection, rows, run, in_doubt)


def _refusals(
    connection: Connection, leases: Leases, rows: Sequence[Row[Any]]
) -> dict[int, LeaseError | None]:
    """Return the reasons why feeds cannot be claimed, by feed id; None for those that can."""
    released = leases.released(connection, rows)
    holders = {row.run for row in rows if row.id not in released}
    of_holders = {holder: _refusal(connection, leases, holder) for holder in holders}
    refusals = {row.id: None if row.id in released else of_holders[row.run] for row in rows}
    for row in rows:
        if row.run == leases.run and row.released is not None and row.id not in released:
            refusals[row.id] = LeaseError(EXPORTED)
    return refusals


def _check_free(connection: Connection, leases: Leases, row: Row[Any]) -> None:
    refusal = _refusals(connection, leases, [row])[row.id]
    if refusal is not None:
        raise refusal


# A file may already have a change that is not marked as exported: if it changed again, no export would tell.
def _unsettled(connection: Connection, rows: Sequence[Row[Any]], run: int) -> dict[int, UnsettledError]:
    numbers = [row.id for row in rows if row.run not in (run, NO_RUN)]
    delivered = select(feeds.c.id).where(feeds.c.id.in_(numbers), IS_DELIVERED_BY_ITS_RUN)
    found = connection.scalars(delivered) if numbers else ()
    return {number: UnsettledError(CUT_OFF) for number in found}


def _refusal(connection: Connection, leases: Leases, run: int) -> LeaseError | None:
    try:
        leases.claim(connection, run)
    except LeaseError as error:
        return error
    return None


def _in_doubt(connection: Connection, rows: list[Row[Any]], latest: str) -> set[int]:
    parameters = {"feeds": [row.id for row in rows], "latest": latest}
    return set(execute(connection, IN_DOUBT, parameters).scalars())


def _subscriptions(
    connection: Connection, rows: list[Row[Any]], run: int, in_doubt: set[int]
) -> dict[int, Subscription]:
    of_feeds = "SELECT * FROM documents WHERE feed_id = ANY(:feeds) AND role = 'index'"
    found = execute(connection, of_feeds, {"feeds": [row.id for row in rows]})
    snapshots = {index.feed_id: chains.snapshot(connection, index) for index in found}
    read = _numbered(connection, (row.subscription_id for row in rows))
    read = {number: row for number, row in read.items() if row.state == State.PROCESSED.value}
    older = _numbered(connection, (row.behind_id for row in read.values()))
    states = {}
    for row in rows:
        state = Subscription(
            row.url,
            row.location,
            row.walk + 1,
            run,
            crawled=row.crawled,
            snapshot=snapshots.get(row.id),
            special=row.special,
        )
        if (document := read.get(row.subscription_id)) is not None:
            sitemap = SitemapReport.from_json(row.sitemap)
            was_read = None if sitemap is None else sitemap.read
            # Its documents may not name all entries.
            may_have_more = row.kind in HAVE_SITEMAPS and row.verdict != Verdict.COMPLETE.value
            state = replace(
                state,
                older_document=chains.first_unread(connection, older.get(document.behind_id)),
                etag=row.etag,
                last_modified=row.last_modified,
                # Without the URL, the validators are not sent.
                validated_url=row.validated_url if row.not_modified_ignored is None else None,
                body_digest=row.body_digest,
                received=document.received,
                is_listed=row.listing is not None,
                has_due_sitemap=may_have_more and is_sitemap_due(was_read, time_now()),
            )
            # Even if it is unchanged, its archives may have moved: it is read without conditions.
            if row.id in in_doubt:
                state = state.anew()
        states[row.id] = state
    return states


def _numbered(connection: Connection, numbers: Iterable[int | None]) -> dict[int, Row[Any]]:
    wanted = [number for number in numbers if number is not None]
    found = execute(connection, "SELECT * FROM documents WHERE id = ANY(:numbers)", {"numbers": wanted})
    return {row.id: row for row in found}
