"""The verdicts on feeds: many at a time, in a few statements."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from fhcrawl.logical_feed import Kind, Reason, Role, Verdict, in_words, words
from fhcrawl.logical_feed.absences import LINK_OCTETS, NO_OLDER, Seen, agreed_walk, digest_of_id
from fhcrawl.logical_feed.confirmation import Confirmation
from fhcrawl.logical_feed.coverage import COVERED_KINDS, CaptureRead, covered_by, split_marks
from fhcrawl.logical_feed.listings import Listing, SitemapReport
from fhcrawl.logical_feed.platforms import NAMED, NUMBERED, PROBE
from fhcrawl.logical_feed.results import CUT, State
from fhcrawl.logical_feed.verdicts import HAS_MOVED, Evidence, basis, verdict
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import subscriptions, walk_ends
from fhcrawl.store.mementos import WARC_FILES
from fhcrawl.store.statements import NOT_FETCHED, OF_POST, execute, from_json, read_coverage, with_chain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Row

    from fhcrawl.logical_feed.coverage import Coverage, Covered, Hole, Span

    ByFeed = defaultdict[int, list[Row[Any]]]

SHOWS_ENTRIES = f"length(held) > {LINK_OCTETS}"
STARTS = """
documents.id IN (
    SELECT subscription_id FROM feeds WHERE id = ANY(:feeds) AND subscription_id IS NOT NULL
    UNION ALL SELECT subscription.id FROM feeds JOIN documents AS subscription
        ON subscription.feed_id = feeds.id AND subscription.role = 'subscription'
    WHERE feeds.id = ANY(:feeds) AND subscription_id IS NULL)
"""
# The documents of chains; of lists, whose parts may be a great many, those that have not been read, or have
# lost entries.
CHAINS = f"""
{with_chain(STARTS)}
SELECT documents.id, documents.feed_id, documents.url, documents.role, documents.platform, documents.state,
    documents.behind_id, documents.lost_entries, documents.reason, documents.detail,
    documents.since, documents.fetched, documents.moved_to, documents.moved_walk, documents.checked,
    documents.checked_walk, documents.changed_walk, documents.held IS NOT NULL AS has_content,
    {SHOWS_ENTRIES} AS shows_entries,
    substr(documents.held, 1, {LINK_OCTETS}) AS older_digest,
    (SELECT older.role FROM documents AS older WHERE older.id = documents.behind_id) AS older_role
FROM documents JOIN chain ON chain.id = documents.id
WHERE documents.role <> 'part' OR documents.behind_id IS NULL OR documents.state <> 'processed'
    OR documents.lost_entries <> 0
ORDER BY documents.id
"""
# The parts that were requested without success, or have lost entries, in the order of reading.
PARTS = """
SELECT * FROM documents WHERE feed_id = ANY(:feeds) AND role = 'part' AND (lost_entries <> 0
    OR state <> 'processed' AND NOT (state = 'known' AND detail = :not_fetched))
ORDER BY walk DESC, step DESC
"""
LEFT_PARTS = """
SELECT feed_id, count(*) AS number, min(since) AS since, (
    SELECT max(snapshot.url) FROM documents AS snapshot
    WHERE snapshot.feed_id = documents.feed_id AND snapshot.role = 'index') AS url
FROM documents WHERE feed_id = ANY(:feeds) AND role = 'part' AND state = 'known' AND detail = :not_fetched
GROUP BY feed_id
"""
STATES = """
SELECT feed_id, state, count(*) AS number, count(CASE WHEN role = 'part' THEN 1 END) AS parts
FROM documents WHERE feed_id = ANY(:feeds) GROUP BY feed_id, state ORDER BY feed_id, state
"""
# Live and deleted entries; live ones that are gone, and those that are live under another id too; changes.
COUNTS = f"""
SELECT feed_id, CASE WHEN digest = '' THEN 'deleted' ELSE 'live' END AS name, count(*) AS number,
    min(coalesce(published, updated)) AS oldest, max(coalesce(published, updated)) AS newest
FROM entries WHERE feed_id = ANY(:feeds) GROUP BY feed_id, digest = ''
UNION ALL
SELECT sitemap_posts.feed_id, CASE WHEN entry_id IS NULL THEN 'no post' ELSE 'post' END AS name,
    count(DISTINCT coalesce(entry_id, sitemap_posts.url)), NULL, NULL
FROM sitemap_posts LEFT JOIN entries ON {OF_POST}
WHERE sitemap_posts.feed_id = ANY(:feeds) AND (entry_id IS NULL OR entries.id IS NOT NULL)
GROUP BY sitemap_posts.feed_id, entry_id IS NULL
UNION ALL
SELECT absences.feed_id, 'absent', count(*), NULL, NULL
FROM absences JOIN entries ON entries.feed_id = absences.feed_id AND KEY(entries.id) = KEY(absences.id)
WHERE absences.feed_id = ANY(:feeds) AND gone IS NOT NULL AND digest <> '' GROUP BY absences.feed_id
UNION ALL
SELECT feed_id, 'unexported', count(*), NULL, NULL FROM changes WHERE feed_id = ANY(:feeds) GROUP BY feed_id
UNION ALL
SELECT renames.feed_id, 'renamed', count(*), NULL, NULL
{walk_ends.BOTH_LIVE} AND renames.feed_id = ANY(:feeds) GROUP BY renames.feed_id
"""
# How the history of feeds was obtained: by documents that links or lists name, or that the software `name`
# has (`platforms`), and by captures. The numbers are those of the places.
LINKS, PLATFORM, LIST, WEB_ARCHIVE, WARC, PAGES_OF_SITEMAPS = range(6)
OBTAINED = f"""
SELECT DISTINCT feed_id, CASE WHEN platform IS NULL THEN {LINKS} ELSE {PLATFORM} END AS way, platform AS name
FROM documents WHERE feed_id = ANY(:feeds) AND (
    (platform IS NULL AND role IN ('archive', 'page', 'part') AND (state = 'processed' OR held IS NOT NULL))
    OR (platform IS NOT NULL AND {SHOWS_ENTRIES}))
UNION
SELECT DISTINCT mementos.feed_id, CASE WHEN archive = '{WARC_FILES}' THEN {WARC} ELSE {WEB_ARCHIVE} END, NULL
FROM mementos JOIN timemaps ON timemaps.id = mementos.timemap_id
WHERE mementos.feed_id = ANY(:feeds) AND marks <> ''
UNION
SELECT DISTINCT feed_id, {PAGES_OF_SITEMAPS}, NULL FROM sitemap_posts
WHERE feed_id = ANY(:feeds) AND entry_id IS NOT NULL
"""
MAY_BE_CUT = "shows as many entries as the feed itself: its period may have more entries"
# Of unknown software.
PAGES = dict.fromkeys((NUMBERED.name, PROBE.name), NUMBERED.name)
CAPTURED = {WEB_ARCHIVE: "web archive", WARC: "WARC"}
WAYS = {LINKS: "links", LIST: "a list", **CAPTURED, PAGES_OF_SITEMAPS: "web pages"}


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed in the store.

    :param entries, absent: number of live entries; and of those among them that are gone at the publisher
    :param renamed: number of live entries whose id has changed, and that are live under the new one too
    :param documents: number of documents in each state
    :param crawled: when its subscription document was last read
    :param checked: the earliest of the times at which the documents of its chain were last seen
    :param subscribed: since when it is subscribed
    :param due: when it is due again; None: now
    :param oldest, newest: when its oldest and its newest live entry were published, else updated
    :param not_modified_ignored: since when its server's 304 responses are not believed
    :param spans, holes: when a plain or paged feed was seen without a hole, and the holes; oldest first
    :param complete_as_of: when it was last complete, as far as is known
    :param sitemap: what the sitemaps of its site list
    :param obtained: how its history was obtained: `links`, `WordPress pages`, `a list`, `web archive`,
        `WARC`, `web pages` (of the sitemap); [] if only its subscription document was read
    :param unexported: number of changes that `crawl -o` has not exported yet
    :param deleted_entries: number of entries that were deleted; `entries` does not include them
    :param basis: why it is complete, a key of `BASES`; None if it is not
    """

    feed: str
    title: str | None
    kind: Kind | None
    verdict: Verdict
    reasons: list[Reason]
    entries: int
    absent: int
    renamed: int
    documents: dict[str, int]
    crawled: str | None
    checked: str | None
    subscribed: str | None
    due: str | None
    oldest: str | None
    newest: str | None
    not_modified_ignored: str | None = None
    spans: list[Span] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)
    complete_as_of: str | None = None
    sitemap: SitemapReport | None = None
    obtained: list[str] = field(default_factory=list)
    unexported: int = 0
    deleted_entries: int = 0
    basis: str | None = None

    @property
    def words(self) -> set[str]:
        """What `--fail-on` is about: the verdict as people read it, and `failed` if its last read failed."""
        return words(self.verdict, self.reasons)

    @property
    def is_captured(self) -> bool:
        """Whether captures of it were read."""
        return not {*CAPTURED.values()}.isdisjoint(self.obtained)

    @property
    def verdict_in_words(self) -> str:
        """The verdict as people read it, `not-read` for a feed that could never be read."""
        return in_words(self.verdict, self.reasons)


def read(connection: Connection, feeds: Sequence[Row[Any]]) -> Iterator[Feed]:
    feed_ids = [feed.id for feed in feeds]
    values: dict[str, object] = {"feeds": feed_ids, "not_fetched": NOT_FETCHED}
    chains = _by_feed(execute(connection, CHAINS, values))
    last_pages = _other_last_pages(connection, chains)
    states = _by_feed(execute(connection, STATES, values))
    have_parts = any(row.parts for of_feed in states.values() for row in of_feed)
    parts = _by_feed(execute(connection, PARTS, values) if have_parts else ())
    unrequested = {row.feed_id: row for row in execute(connection, LEFT_PARTS, values)} if have_parts else {}
    counts = execute(connection, COUNTS, values).all()
    entry_counts = Counter({(row.feed_id, row.name): row.number for row in counts})
    entry_times = {row.feed_id: (row.oldest, row.newest) for row in counts if row.name == "live"}
    obtained = _by_feed(execute(connection, OBTAINED, values))
    own_coverage = read_coverage(connection, feed_ids)
    coverage = _covered_with_captures(connection, feed_ids, own_coverage)
    for feed in feeds:
        chain, live_entries = chains[feed.id], entry_counts[feed.id, "live"]
        kind = _kind(feed, chain)
        covered = coverage.get(feed.id) if kind is None or kind in COVERED_KINDS else None
        listing = from_json(feed.listing, partial(Listing.of_walk, walk=feed.walk))
        # The publisher's list proves more than the pages do.
        agreed, confirmation = None, from_json(feed.confirmation, Confirmation.from_json) or Confirmation()
        if listing is None or listing.is_whole:
            agreed = _agreed(feed, kind, confirmation, chain, last_pages[feed.id])
        posts = entry_counts[feed.id, "post"]
        sitemap = from_json(feed.site and feed.sitemap, SitemapReport.from_json)
        sitemap = sitemap and sitemap.with_posts(posts, entry_counts[feed.id, "no post"])
        caveat = next((NAMED[row.platform].caveat for row in chain if row.platform in NAMED), "")
        gaps = [
            *_gap_reasons(feed, chain, parts[feed.id], unrequested.get(feed.id)),
            *(
                Reason(ReasonKind(row.reason), row.url, row.detail, row.since)
                for row in last_pages[feed.id]
                if row.reason
            ),
        ]
        evidence = Evidence(
            live_entries - posts,
            feed.total,
            feed.software,
            listing,
            agreed,
            confirmation.differing,
            sitemap,
            caveat,
        )
        feed_verdict, reasons = verdict(
            feed.url,
            kind,
            feed.crawled or feed.since,
            [*gaps, *_failed_reads(feed, chain)],
            evidence,
            covered=covered,
            is_held_back=feed.id in own_coverage and subscriptions.is_held_back(feed, own_coverage[feed.id]),
        )
        last_read = next((reason.last_read for reason in reasons if reason.last_read), None)
        yield Feed(
            feed.url,
            feed.title,
            kind,
            feed_verdict,
            reasons,
            live_entries,
            entry_counts[feed.id, "absent"],
            entry_counts[feed.id, "renamed"],
            {row.state: row.number for row in states[feed.id]},
            feed.crawled,
            min((row.checked for row in chain if row.checked), default=feed.crawled),
            feed.subscribed,
            subscriptions.due(feed),
            *entry_times.get(feed.id, (None, None)),
            feed.not_modified_ignored,
            covered.spans if covered else [],
            covered.holes if covered else [],
            agreed or last_read or feed.crawled if feed_verdict is Verdict.COMPLETE else feed.complete_as_of,
            sitemap,
            _ways_obtained(feed, obtained[feed.id]),
            entry_counts[feed.id, "unexported"],
            entry_counts[feed.id, "deleted"],
            basis(kind, evidence) if feed_verdict is Verdict.COMPLETE else None,
        )


def _ways_obtained(feed: Row[Any], rows: list[Row[Any]]) -> list[str]:
    ways = {(row.way, WAYS.get(row.way) or PAGES.get(row.name, f"{row.name} pages")) for row in rows}
    listing = from_json(feed.listing, Listing.from_json)
    if listing is not None and listing.has_ended:
        ways.add((LIST, WAYS[LIST]))
    return [name for _, name in sorted(ways)]


# If an entry has been missing since the pages were confirmed, they were the feed when it was last complete.
def _agreed(
    feed: Row[Any],
    kind: Kind | None,
    confirmation: Confirmation,
    chain: list[Row[Any]],
    last_pages: list[Row[Any]],
) -> str | None:
    if kind not in (Kind.PAGED, Kind.SINGLE):
        return None
    ends = [row.older_digest for row in chain if row.behind_id is None]
    if confirmation.is_proof and (last_pages or ends in ([None], [NO_OLDER])):
        as_of: str | None = feed.complete_as_of
        return feed.crawled if confirmation.is_settled or as_of is None else as_of
    return _complete_as_of(chain, last_pages) if kind is Kind.PAGED else None


# From the last change of a document until the earliest of the last checks, all documents were unchanged.
def _complete_as_of(chain: list[Row[Any]], last_pages: list[Row[Any]]) -> str | None:
    for row in chain:
        has_older = row.older_digest not in (None, NO_OLDER) and (row.behind_id is not None or not last_pages)
        if None in (row.checked, row.older_digest) or (row.behind_id is not None) != has_older:
            return None
    if all(row.role != Role.PAGE.value for row in chain) and not last_pages:
        return None
    walk = agreed_walk([Seen(row.changed_walk, row.checked_walk) for row in chain])
    return None if walk is None else str(min(row.checked for row in chain))


# The documents that a page without `next` calls the last one, though it is another.
def _other_last_pages(connection: Connection, chains: ByFeed) -> ByFeed:
    ends = {row.feed_id: row for rows in chains.values() for row in rows if row.behind_id is None}
    named = {feed_id: row for feed_id, row in ends.items() if row.older_digest not in (None, NO_OLDER)}
    pages = """SELECT id, feed_id, url, reason, detail, since FROM documents
        WHERE feed_id = ANY(:feeds) AND role IN ('listed', 'page')"""
    rows = execute(connection, pages, {"feeds": list(named)}) if named else ()
    return _by_feed(
        row
        for row in rows
        if row.id != (end := named[row.feed_id]).id and digest_of_id(row.url) == end.older_digest
    )


def _by_feed(rows: Iterable[Row[Any]]) -> ByFeed:
    of_feed: ByFeed = defaultdict(list)
    for row in rows:
        of_feed[row.feed_id].append(row)
    return of_feed


def _kind(feed: Row[Any], chain: list[Row[Any]]) -> Kind | None:
    kind = None if feed.kind is None else Kind(feed.kind)
    pages = [row for row in chain if row.role == Role.PAGE.value]
    # If there are only archives behind the page that a subscription document names as the next one, it is the
    # newest archive, which still grows (Nikola 7).
    if kind is Kind.PAGED and [page.older_role for page in pages] == [Role.ARCHIVE.value]:
        return Kind.ARCHIVED
    # An archived feed's chain may continue with pages, and then with archives again. Of the pages of a feed
    # that links to none (`platforms`), the last one may not exist: it contains nothing.
    is_paged = (kind is Kind.ARCHIVED and pages) or (
        kind is Kind.SINGLE and any(page.shows_entries for page in pages)
    )
    return Kind.PAGED if is_paged else kind


def _gap_reasons(
    feed: Row[Any], chain: list[Row[Any]], parts: list[Row[Any]], unrequested: Row[Any] | None
) -> Iterator[Reason]:
    ends = [row for row in chain if row.state != State.PROCESSED.value or row.behind_id is None]
    not_requested = State.KNOWN.value, NOT_FETCHED
    # An unanswered probe proves nothing.
    unread = [
        row for row in ends if row.role != Role.PART.value and (row.has_content or row.platform != PROBE.name)
    ]
    unread += [row for row in parts if (row.state, row.detail) != not_requested]
    for row in unread:
        if row.state != State.PROCESSED.value:
            yield Reason(ReasonKind(row.reason), row.url, row.detail, row.since)
    if not ends and feed.subscription_id is None:
        yield Reason(ReasonKind.NOT_CRAWLED, feed.url, "is not crawled yet", feed.since)
    elif not ends:
        yield Reason(ReasonKind.LOOP, feed.url, "has a chain of documents that forms a loop", feed.since)
    # Archives that have moved since the subscription document was read.
    moved = (row for row in chain if row.moved_to is not None and row.moved_walk == feed.walk)
    for row in islice(moved, 1):
        yield Reason(ReasonKind.MOVED, row.url, HAS_MOVED, row.fetched)
    with_losses = {row.id: row for row in (*chain, *parts) if row.lost_entries}
    for _, row in sorted(with_losses.items()):
        yield Reason(*_loss_reason(row), row.fetched)
    if unrequested is not None:
        documents_have = "document that has" if unrequested.number == 1 else "documents that have"
        detail = f"links to {unrequested.number:,} more {documents_have} not been fetched yet"
        yield Reason(ReasonKind.KNOWN, unrequested.url or feed.url, detail, unrequested.since)


# The subscription document was read, and its last request failed.
def _failed_reads(feed: Row[Any], chain: list[Row[Any]]) -> Iterator[Reason]:
    for row in chain:
        if row.id == feed.subscription_id and row.state == State.PROCESSED.value and row.reason is not None:
            yield Reason(ReasonKind(row.reason), row.url, row.detail, row.since, feed.crawled)


def _loss_reason(row: Row[Any]) -> tuple[ReasonKind, str, str]:
    if row.lost_entries == CUT:
        return ReasonKind.CUT_PERIOD, row.url, MAY_BE_CUT
    detail = f"has entries that could not be kept: {row.lost_entries}"
    return ReasonKind.ENTRIES_LOST, row.url, detail


def _covered_with_captures(
    connection: Connection, feed_ids: list[int], own_coverage: Mapping[int, Coverage]
) -> dict[int, Covered]:
    covered_by_id = {feed_id: covered_by((), coverage) for feed_id, coverage in own_coverage.items()}
    # Captures of other documents than subscription documents show nothing of what was new.
    captures = execute(
        connection,
        """SELECT mementos.feed_id, mementos.captured, mementos.marks, timemaps.url
        FROM mementos JOIN timemaps ON timemaps.id = mementos.timemap_id
        WHERE mementos.feed_id = ANY(:feeds) AND timemaps.depth = 0 AND mementos.marks IS NOT NULL
        ORDER BY mementos.feed_id""",
        {"feeds": feed_ids},
    )
    for feed_id, rows in groupby(captures, key=lambda row: row.feed_id):
        reads, urls = [], set()
        for row in rows:
            reads.append(CaptureRead(row.captured, split_marks(row.marks)))
            urls.add(row.url)
        covered_by_id[feed_id] = covered_by(reads, own_coverage.get(feed_id), of_several=len(urls) > 1)
    return {feed_id: covered for feed_id, covered in covered_by_id.items() if covered is not None}
