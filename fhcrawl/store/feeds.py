"""Feeds in the store, with their verdicts and contents, and what the sitemaps of their sites list."""

from __future__ import annotations

import dataclasses
import json
import zlib
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from fhcrawl.exceptions import StoreError
from fhcrawl.logical_feed import Kind, Role, Verdict
from fhcrawl.logical_feed.chain import EARLIEST_WALK
from fhcrawl.logical_feed.confirmation import Confirmation
from fhcrawl.logical_feed.listings import (
    Listing,
    Pages,
    SitemapPost,
    SitemapReport,
    StoredEntries,
    compare,
    is_sitemap_due,
    like_entries,
)
from fhcrawl.logical_feed.results import State, latest_time
from fhcrawl.logical_feed.verdicts import is_not_read
from fhcrawl.store import leases, subscriptions, verdicts
from fhcrawl.store.database import Repository
from fhcrawl.store.statements import (
    UNKEPT,
    assigned,
    counted_time,
    execute,
    execute_all,
    from_json,
    insertion,
    overwritten,
    read_coverage,
    stream,
)
from fhcrawl.utils.addresses import encoded, normalised
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Row

    from fhcrawl.logical_feed import Reason
    from fhcrawl.logical_feed.coverage import Coverage
    from fhcrawl.logical_feed.polling import Limits
    from fhcrawl.store.verdicts import Feed

TO_THE_MONTH = len("2003-12")
LATEST_ENTRIES = 5
FEEDS_AT_ONCE = 200
NOTED = ("verdict", "reasons", "complete_as_of", "changed", "change_seconds", "due", "released")
NOTE = f"UPDATE feeds SET {assigned(NOTED)} WHERE id = :id"


# When an entry was published, else its or its document's update time.
TIME = f"coalesce(entries.published, entries.updated, {counted_time('entries')})"
OF_LIVE = "FROM entries WHERE feed_id = :feed_id AND digest <> ''"
MONTHS = f"""
SELECT substr({TIME}, 1, {TO_THE_MONTH}) AS month, count(*) AS number,
    min({TIME}) AS first, max({TIME}) AS last {OF_LIVE} GROUP BY month
"""
LATEST = f"SELECT title, id, link, {TIME} AS time {OF_LIVE} ORDER BY time DESC, id LIMIT {LATEST_ENTRIES}"
DOCUMENTS = """
SELECT id, behind_id, url, role, state, updated, lost_entries, reason, detail, since, fetched, walk, step
FROM documents WHERE feed_id = :feed_id
"""
OF_SITE = "KEY(site) = KEY(:site)"
OF_SITEMAP = f"{OF_SITE} AND url = :url"
NOTE_POST = f"""
{insertion("sitemap_posts", ("feed_id", "url", "lastmod"))}
ON CONFLICT (feed_id, KEY(url)) DO UPDATE SET lastmod = excluded.lastmod
"""
VALIDATORS = ("etag", "last_modified", "validated_url")
POSTS_READ = f"SELECT url, lastmod, {', '.join(VALIDATORS)} FROM sitemap_posts WHERE feed_id = :feed_id"
SITE = ("site", "read", "is_part", "retry_after")
ON_SITE = f"{insertion('sites', SITE)} ON CONFLICT (KEY(site)) DO UPDATE SET"
WRITE_SITE = f"{ON_SITE} {overwritten(SITE)}"
POSTPONE_SITE = f"{ON_SITE} retry_after = excluded.retry_after"


class StoredHead(NamedTuple):
    """The head section of a feed in XML or JSON, and the URL of its document."""

    original: str
    document: str


class VerdictRecord(NamedTuple):
    feed: str
    verdict: Verdict
    reasons: list[Reason]
    complete_as_of: str | None = None


class ChainNode(NamedTuple):
    """A document of a feed.

    :param older_id: id of the older document, which its link names
    :param reason, detail, since: why and since when it is not processed
    :param fetched: when it was last requested; None if it never was
    """

    id: int
    older_id: int | None
    url: str
    role: str
    state: str
    updated: str | None
    lost_entries: int
    reason: str | None
    detail: str | None
    since: str | None
    fetched: str | None
    walk: int
    step: int


class Gap(NamedTuple):
    """Where a feed's chain breaks off.

    :param url: of the document that was not read
    :param before: time of the oldest entry that was read before the gap, ISO 8601 in UTC; None if unknown
    :param after: time of the newest stored entry that is older than this; None if there is none
    """

    url: str
    before: str | None
    after: str | None


class LatestEntry(NamedTuple):
    name: str  # title or id
    link: str | None
    time: str | None


@dataclass(frozen=True, slots=True)
class Details:
    """A summary of a feed's documents and entries. Times are ISO 8601 in UTC.

    :param since: when the feed was first crawled
    :param months: number of live entries by month (`2003-12`), in order; '' for those without a time
    :param first, last: the first and the last of their times
    :param chain: the documents from the subscription document back
    :param snapshot: the index and the pages of the snapshot that precedes the feed
    :param beside: number of documents in neither of these, which no document links to any more
    :param gap: None if the chain does not break off
    :param missing: URLs of pages in sitemaps that look like entries, and are not kept
    """

    since: str
    months: dict[str, int]
    first: str | None
    last: str | None
    latest: list[LatestEntry]
    chain: list[ChainNode]
    snapshot: list[ChainNode]
    beside: int
    gap: Gap | None
    missing: list[str] = dataclasses.field(default_factory=list)


class Feeds(Repository):
    """The feeds with their verdicts: `store.feeds`."""

    def read(self, run: int | None = None, urls: Iterable[str] = ()) -> Iterator[Feed]:
        """Yield feeds with verdicts, by URL: those that a run has not released, those at `urls`, or all."""
        where = "true" if run is None else "run = :run AND released IS NULL"
        with self._database.snapshot() as connection:
            values: dict[str, object] = {"run": run, "urls": list(urls)}
            if values["urls"]:
                where += " AND KEY(url) = ANY(KEYS(:urls))"
            statement = f"SELECT * FROM feeds WHERE {where} ORDER BY url"
            with stream(connection, statement, values, FEEDS_AT_ONCE) as rows:
                for batch in rows.partitions(FEEDS_AT_ONCE):
                    with self._database.snapshot() as of_batch:
                        feeds = list(verdicts.read(of_batch, batch))
                    # The caller may be slow; no transaction of `other` stays open meanwhile.
                    yield from feeds

    def count(self) -> int:
        return int(self._scalar("SELECT count(*) FROM feeds"))

    def find(self, url: str) -> str | None:
        """Return the URL of the feed that has a URL, has moved there, or was reached from there."""
        query = """SELECT url FROM feeds JOIN aliases ON aliases.feed_id = feeds.id
            WHERE KEY(aliases.address) = KEY(:address)"""
        return self.find_at(url) or self._scalar(query, address=normalised(url))

    def find_at(self, url: str, other_than: str = "") -> str | None:
        """Return the URL of the feed that has a URL, or has moved there, besides another feed."""
        query = """SELECT url FROM feeds
            WHERE (KEY(address) = KEY(:address) OR KEY(location) = ANY(KEYS(:urls))) AND url <> :besides
            ORDER BY CASE WHEN address = :address THEN 0 ELSE 1 END, id LIMIT 1"""
        values = {"address": normalised(url), "urls": [url, normalised(url)], "besides": other_than}
        return cast("str | None", self._scalar(query, **values))

    def read_duplicates(self) -> list[tuple[str, str]]:
        """Return the feeds that have several names in the store: the one to keep, with each other one."""
        with self._database.snapshot() as connection:
            return subscriptions.duplicates(connection)

    def merge(self, kept: str, duplicates: Iterable[str]) -> dict[str, int]:
        """Merge feeds into another one, whose own entries stay as they are; their names leave the store.

        :return: for each, the number of live entries that the kept feed did not have
        :raises StoreError: if a crawl has one of them, or it is not in the store; then nothing changes
        """
        with self._database.transaction() as connection:
            return {url: _merge(connection, kept, url) for url in duplicates}

    def read_kind(self, feed: str) -> Kind | None:
        kind = self._scalar("SELECT kind FROM feeds WHERE KEY(url) = KEY(:url)", url=feed)
        return None if kind is None else Kind(kind)

    def read_stored_entries(self, feed: str, walk: int) -> StoredEntries:
        """Return how many entries a feed has, and the result of the last check of its publisher's list."""
        counts = """SELECT feeds.listing, count(entries.id) AS live,
                coalesce(sum(CASE WHEN entries.order_walk = :walk THEN 1 ELSE 0 END), 0) AS read
            FROM feeds LEFT JOIN entries ON entries.feed_id = feeds.id AND entries.digest <> ''
            WHERE feeds.id = :feed_id GROUP BY feeds.id, feeds.listing"""
        [row] = self._select(counts, feed, walk=walk)
        return StoredEntries(walk, row.live, row.read, from_json(row.listing, Listing.from_json))

    def has_other_count(self, feed: str, total: int | None = None) -> bool:
        """Return whether a feed counts entries that are not kept, and did not when its last page was read.

        A count that changed without any news is no reason to read all pages again after a walk that has.

        :param total: how many entries its subscription document counts; None if that is stored
        """
        query = f"""SELECT {UNKEPT} <> 0 AND NOT {UNKEPT} IS NOT DISTINCT FROM unkept
                AND (counted IS NULL OR coalesce(news >= counted, FALSE))
            FROM feeds WHERE id = :feed_id"""
        [[is_changed]] = self._select(query, feed, total=total)
        return bool(is_changed)

    def postpone(self, feed: str, until: str) -> None:
        """Store until when a feed's server accepts no requests; `LeaseError` if the feed is taken over."""
        with self._database.transaction() as connection:
            values = {"until": until, "id": self._leased_feed_id(connection, feed)}
            execute(connection, "UPDATE feeds SET retry_after = :until WHERE id = :id", values)

    def note_listing(self, feed: str, listing: Listing) -> None:
        """Store the result of a check of the publisher's list; `LeaseError` if the feed is taken over."""
        with self._database.transaction() as connection:
            feed_id = self._leased_feed_id(connection, feed)
            values = {"listing": listing.to_json(), "id": feed_id}
            execute(connection, "UPDATE feeds SET listing = :listing WHERE id = :id", values)

    def read_confirmation(self, feed: str) -> Confirmation | None:
        [[text]] = self._select("SELECT confirmation FROM feeds WHERE id = :feed_id", feed)
        return cast("Confirmation | None", from_json(text, Confirmation.from_json))

    def note_confirmation(self, feed: str, confirmation: Confirmation) -> None:
        """Store what is known of a feed's pages; `LeaseError` if the feed is taken over."""
        with self._database.transaction() as connection:
            values = {"confirmation": confirmation.to_json(), "id": self._leased_feed_id(connection, feed)}
            execute(connection, "UPDATE feeds SET confirmation = :confirmation WHERE id = :id", values)

    def note_move(self, feed: str, location: str | None) -> None:
        """Store where a feed's subscription document is; without a location, that it is read again even if
        it has not changed. `LeaseError` if the feed is taken over.
        """
        columns = (
            dict.fromkeys(("validated_url", "body_digest")) if location is None else {"location": location}
        )
        with self._database.transaction() as connection:
            row = {**columns, "id": self._leased_feed_id(connection, feed)}
            execute(connection, f"UPDATE feeds SET {assigned(columns)} WHERE id = :id", row)

    def read_heads(self, urls: list[str]) -> dict[str, StoredHead]:
        """Return the heads of some feeds, by URL; feeds that have none are missing."""
        query = """SELECT url, original, document FROM feeds JOIN heads ON heads.feed_id = feeds.id
            WHERE KEY(url) = ANY(KEYS(:urls))"""
        rows = self._select(query, urls=urls)
        for row in rows:
            if not row.original.startswith("<"):
                from_json(row.original)
        return {url: StoredHead(*head) for url, *head in rows}

    def read_times(self, feed: str) -> tuple[str, str]:
        """Return when a feed was first crawled, and the newest time of its entries; '' for none."""
        statement = f"""SELECT since, (SELECT max({counted_time("entries")}) FROM entries
            WHERE entries.feed_id = feeds.id) FROM feeds WHERE KEY(url) = KEY(:url)"""
        [(since, newest)] = self._select(statement, url=feed, latest=latest_time(now()))
        return since, f"{newest}Z" if newest else ""

    def read_details(self, feed: str) -> Details:
        with self._database.snapshot() as connection:
            feed_id = self._database.find_id(connection, feed)
            values = {"feed_id": feed_id, "latest": latest_time(now())}
            row = execute(connection, "SELECT * FROM feeds WHERE id = :feed_id", values).one()
            months = sorted(execute(connection, MONTHS, values), key=lambda row: str(row.month))
            with_time = [row for row in months if row.month]
            latest = [
                LatestEntry((entry.title or "").strip() or entry.id, entry.link, entry.time or None)
                for entry in execute(connection, LATEST, values)
            ]
            by_id, first_ids, chain = _read_chain(connection, values, row.subscription_id)
            gap = _find_gap(connection, values, chain)
            missing = _missing_pages(connection, feed_id)
        snapshot = _chain(by_id, first_ids.get(Role.INDEX.value))
        linked_ids = {document.id for document in (*chain, *snapshot)}
        return Details(
            row.since,
            {row.month: row.number for row in months},
            with_time[0].first if with_time else None,
            with_time[-1].last if with_time else None,
            latest,
            chain,
            snapshot,
            sum(d.id not in linked_ids and d.role != Role.LISTED.value for d in by_id.values()),
            gap,
            missing,
        )

    def find_gap(self, feed: Feed) -> Gap | None:
        """Return where the chain of a feed breaks off; None if it does not."""
        if feed.verdict is not Verdict.INCOMPLETE:
            return None
        with self._database.snapshot() as connection:
            values = {"feed_id": self._database.find_id(connection, feed.feed), "latest": latest_time(now())}
            subscription = "SELECT subscription_id FROM feeds WHERE id = :feed_id"
            start = execute(connection, subscription, values).scalar()
            *_, chain = _read_chain(connection, values, start)
            return _find_gap(connection, values, chain)

    def note_verdicts(
        self,
        run: int,
        records: list[VerdictRecord],
        limits: Limits,
        released: bool = False,
        forgets_unread: bool = False,
    ) -> None:
        """Store the verdicts of a run, for readers of the database, and when the feeds are due again.

        :param records: of `FEEDS_AT_ONCE` feeds at most; feeds that another run has taken over are skipped
        :param released: let other crawls claim the feeds from now on
        :param forgets_unread: delete feeds that could never be read, unless they are subscribed
        """
        by_url = {record.feed: record for record in records}
        with self._database.transaction() as connection:
            of_run = """SELECT * FROM feeds WHERE KEY(url) = ANY(KEYS(:urls)) AND run = :run
                ORDER BY id FOR UPDATE"""
            rows = execute(connection, of_run, {"urls": list(by_url), "run": run}).all()
            if rows:
                is_released = {"released": int(released) or None}
                covered = read_coverage(connection, [row.id for row in rows])
                noted = [
                    _verdict_row(row, covered.get(row.id), by_url[row.url], limits) | is_released
                    for row in rows
                ]
                execute_all(connection, NOTE, noted)
            unread = [
                row
                for row in rows
                if forgets_unread and row.subscribed is None and is_not_read(by_url[row.url].reasons)
                if subscriptions.is_empty(connection, row.id)
            ]
            if unread:
                subscriptions.delete_rows(connection, [row.id for row in unread])
            for row in unread:
                self._database.feed_ids.pop(row.url, None)


def _verdict_row(
    row: Row[Any], coverage: Coverage | None, record: VerdictRecord, limits: Limits
) -> dict[str, object]:
    reasons = json.dumps([reason.to_row() for reason in record.reasons], ensure_ascii=False)
    stored = {"changed": row.changed, "change_seconds": row.change_seconds, "due": row.due}
    plan = subscriptions.plan_row(row, coverage, record.reasons, limits)
    stored |= {"complete_as_of": record.complete_as_of}
    return {"id": row.id, "verdict": record.verdict.value, "reasons": reasons, **stored, **plan}


def _merge(connection: Connection, kept: str, other: str) -> int:
    if kept == other:
        raise StoreError(f"{kept} is the feed to keep: add the URL of another feed")
    rows = subscriptions.lock(connection, kept, other)
    for url in (kept, other):
        if url not in rows:
            raise StoreError(f"{url} is not in the store; `fhcrawl feeds` lists the feeds")
        if leases.holders(connection, [rows[url]]):
            raise StoreError(f"A crawl is reading {url}: merge it after the crawl")
    return subscriptions.merge(connection, rows[other], rows[kept])


# The time of the oldest entry in the document before the gap; if no entry has a version from it, in the next
# newer document with entries.
def _find_gap(connection: Connection, values: dict[str, object], chain: Sequence[ChainNode]) -> Gap | None:
    gap = next((index for index, document in enumerate(chain) if document.state != State.PROCESSED.value), 0)
    if not gap:
        return None
    oldest = f"""SELECT order_walk, order_step, min({TIME}) AS time
        {OF_LIVE} AND {TIME} <> '' GROUP BY order_walk, order_step"""
    rows = execute(connection, oldest, values).all()
    oldest_times = {(row.order_walk, row.order_step): row.time for row in rows}
    # An entry that did not change keeps the walk in which the subscription document first had it.
    subscription_times = [row.time for row in rows if row.order_step == chain[0].step]
    times = (oldest_times.get((document.walk, document.step)) for document in reversed(chain[1 : gap + 1]))
    before = next(filter(None, times), min(subscription_times, default=None))
    newest = f"SELECT max({TIME}) {OF_LIVE} AND {TIME} <> '' AND {TIME} < :before"
    after = before and execute(connection, newest, {**values, "before": before}).scalar()
    return Gap(chain[gap].url, before, after)


# The documents by id, the first id of each role, and the chain from the subscription document back.
def _read_chain(
    connection: Connection, values: dict[str, object], start: int | None
) -> tuple[dict[int, ChainNode], dict[str, int], list[ChainNode]]:
    by_id = {document[0]: ChainNode(*document) for document in execute(connection, DOCUMENTS, values)}
    first_ids = {document.role: document.id for document in reversed(by_id.values())}
    return by_id, first_ids, _chain(by_id, start or first_ids.get(Role.SUBSCRIPTION.value))


def _chain(by_id: dict[int, ChainNode], start: int | None) -> list[ChainNode]:
    chain: dict[int, ChainNode] = {}  # a chain can be a loop
    while start in by_id and start not in chain:
        chain[start] = by_id[start]
        start = by_id[start].older_id
    return list(chain.values())


class StoredSitemaps(Repository):
    """What the sitemaps of feeds' sites list, and which of it is kept: `store.sitemaps`."""

    def read_links(self, feed: str) -> list[str]:
        with self._database.lookup() as connection:
            return _entry_links(connection, self._database.find_id(connection, feed))

    def is_due(self, site: str, time: str) -> bool:
        """Return whether the sitemaps of a site are to be read again."""
        return is_sitemap_due(self._scalar(f"SELECT read FROM sites WHERE {OF_SITE}", site=site), time)

    def is_postponed(self, site: str, time: str) -> bool:
        """Return whether the server of a site accepts no requests for lists and sitemaps yet."""
        postponed = f"SELECT 1 FROM sites WHERE {OF_SITE} AND retry_after > :time"
        return self._scalar(postponed, site=site, time=time) is not None

    def find_validators(self, site: str, url: str) -> dict[str, Any]:
        """Return the validators of a sitemap, as the attributes of a `LastReading`; {} for none."""
        row = self._first(
            f"SELECT {', '.join(VALIDATORS)} FROM sitemaps WHERE {OF_SITEMAP}", **_at(site, url)
        )
        return {} if row is None else dict(row._mapping)

    def read_listed(self, site: str, url: str) -> tuple[dict[str, str], bool]:
        """Return the URLs that a sitemap listed, with their `lastmod`, and whether these are sitemaps."""
        [row] = self._select(f"SELECT * FROM sitemaps WHERE {OF_SITEMAP}", **_at(site, url))
        return _listed(row), bool(row.is_index)

    def note(
        self, site: str, url: str, urls: Mapping[str, str], is_index: bool = False, **validators: str | None
    ) -> None:
        """Store what a sitemap lists: URLs, each with its `lastmod`."""
        listed = zlib.compress("\n".join(map("\t".join, urls.items())).encode())
        row = {**_at(site, url), "is_index": int(is_index), "listed": listed}
        row |= dict.fromkeys(VALIDATORS) | validators
        with self._database.transaction() as connection:
            execute(connection, f"DELETE FROM sitemaps WHERE {OF_SITEMAP}", row)
            execute(connection, insertion("sitemaps", row), row)

    def note_read(self, site: str, time: str, is_part: bool, urls: Iterable[str]) -> None:
        """Store that the sitemaps at `urls` were read, and forget the site's other ones."""
        row = {"site": site, "read": time, "is_part": int(is_part), "retry_after": None}
        others = f"DELETE FROM sitemaps WHERE {OF_SITE} AND NOT url = ANY(:urls)"
        with self._database.transaction() as connection:
            execute(connection, WRITE_SITE, row)
            execute(connection, others, {"site": site, "urls": list(urls)})

    def postpone(self, site: str, until: str) -> None:
        """Store that the server of a site accepts no requests for lists and sitemaps for some time."""
        with self._database.transaction() as connection:
            row = {"site": site, "read": None, "is_part": 0, "retry_after": until}
            execute(connection, POSTPONE_SITE, row)

    def finish(self, feed: str, site: str) -> SitemapReport | None:
        """Compare a feed with its site's sitemaps; store and return the result; None if they were never read.

        :raises LeaseError: if the feed is taken over
        """
        with self._database.transaction() as connection:
            feed_id = self._leased_feed_id(connection, feed)
            read = f"SELECT * FROM sites WHERE {OF_SITE} AND read IS NOT NULL"
            row = execute(connection, read, {"site": site}).first()
            if row is None:
                return None
            pages = _compare_sitemaps(connection, feed_id, site)
            report = SitemapReport(row.read, len(pages.listed), len(pages.kept), bool(row.is_part))
            values = {"site": site, "sitemap": report.to_json(), "id": feed_id}
            execute(connection, "UPDATE feeds SET site = :site, sitemap = :sitemap WHERE id = :id", values)
        return report

    def note_none(self, feed: str, time: str) -> None:
        """Store that there is no site to compare a feed with; `LeaseError` if the feed is taken over."""
        with self._database.transaction() as connection:
            values = {"sitemap": SitemapReport(time).to_json(), "id": self._leased_feed_id(connection, feed)}
            execute(connection, "UPDATE feeds SET site = NULL, sitemap = :sitemap WHERE id = :id", values)

    def find_missing(self, feed: str) -> list[str]:
        """Return the URLs, in ASCII, of pages that look like entries of a feed, and no entry links to."""
        with self._database.snapshot() as connection:
            feed_ids = self._database.find_ids(connection, [feed])
            missing = [url for feed_id in feed_ids for url in _missing_pages(connection, feed_id)]
        return [encoded(url) for url in missing]

    def find_posts(self, feed: str, limit: int) -> list[SitemapPost]:
        """Return pages that look like entries of a feed and are to be read, those that changed last first.

        No entry of a document links to them, and they were not read since their `lastmod` has changed.
        """
        with self._database.snapshot() as connection:
            feed_id = self._database.find_id(connection, feed)
            rows = _sitemap_rows(connection, feed_id)
            missing = _compare_sitemaps(connection, feed_id).missing if rows else []
            read = {row.url: row for row in execute(connection, POSTS_READ, {"feed_id": feed_id})}
        listed = {url: lastmod for row in rows for url, lastmod in _listed(row).items()}
        posts = [SitemapPost(url, listed[url], *(read[url][2:] if url in read else ())) for url in missing]
        left = [post for post in posts if post.url not in read or read[post.url].lastmod != post.lastmod]
        return sorted(left, key=attrgetter("lastmod"), reverse=True)[:limit]

    def note_post(self, feed: str, post: SitemapPost) -> None:
        """Store that a page is unchanged, or, if it was not read before, that it is no post.

        :raises LeaseError: if the feed is taken over
        """
        with self._database.transaction() as connection:
            feed_id = self._leased_feed_id(connection, feed)
            execute(connection, NOTE_POST, {"feed_id": feed_id, "url": post.url, "lastmod": post.lastmod})


def _missing_pages(connection: Connection, feed_id: int) -> list[str]:
    read = {row.url for row in execute(connection, POSTS_READ, {"feed_id": feed_id})}
    return [url for url in _compare_sitemaps(connection, feed_id).missing if url not in read]


def _at(site: str, url: str) -> dict[str, Any]:
    return {"site": site, "url": url}


def _listed(row: Row[Any]) -> dict[str, str]:
    lines = (line.rpartition("\t") for line in zlib.decompress(row.listed).decode().splitlines())
    return {url: lastmod for url, _tab, lastmod in lines}


# Those of web pages do not count: the sitemap names them.
def _entry_links(connection: Connection, feed_id: int) -> list[str]:
    links = f"SELECT link {OF_LIVE} AND order_walk > {EARLIEST_WALK}"
    return [link for link in execute(connection, links, {"feed_id": feed_id}).scalars() if link]


def _sitemap_rows(connection: Connection, feed_id: int, site: str | None = None) -> Sequence[Row[Any]]:
    of_site = f"SELECT * FROM sitemaps WHERE {OF_SITE} AND is_index = 0"
    if site is None:
        site = execute(connection, "SELECT site FROM feeds WHERE id = :id", {"id": feed_id}).scalar()
    return [] if site is None else execute(connection, of_site, {"site": site}).all()


def _compare_sitemaps(connection: Connection, feed_id: int, site: str | None = None) -> Pages:
    rows = _sitemap_rows(connection, feed_id, site)
    links = _entry_links(connection, feed_id) if rows else []
    return compare({row.url: like_entries(_listed(row), links) for row in rows}, links)
