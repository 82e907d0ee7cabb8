"""The verdicts on feeds: many at a time, in a few statements."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from fhcrawl.logical_feed import HAS_MOVED, Evidence, Kind, Reason, Role, Verdict, verdict
from fhcrawl.logical_feed.absences import HEAD, NAMES_NONE, Seen, agreed_walk
from fhcrawl.logical_feed.coverage import COVERED_KINDS
from fhcrawl.logical_feed.listings import Listing, SitemapReport
from fhcrawl.logical_feed.platforms import NUMBERED, PROBE
from fhcrawl.logical_feed.results import CUT, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import coverage, renames, subscriptions
from fhcrawl.store.mementos import WARC_FILES
from fhcrawl.store.rows import NOT_FETCHED, Feed
from fhcrawl.store.statements import MOVED, chain, chain_ends, execute
from fhcrawl.utils.text import LONGEST_SENTENCE, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection, Row

    ByFeed = defaultdict[int, list[Row[Any]]]

CHAINS = chain("documents.id = ANY(:starts)")
# The parts that were requested without success, in the order of reading; a list may name a great many that
# have not been requested.
LOST_PARTS = """
SELECT * FROM documents WHERE feed_id = ANY(:feeds) AND role = 'part' AND state <> 'processed'
    AND NOT (state = 'known' AND detail = :not_fetched)
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
SELECT feed_id, state, count(*) AS number FROM documents WHERE feed_id = ANY(:feeds)
GROUP BY feed_id, state ORDER BY feed_id, state
"""
LIVE_ENTRIES = """
SELECT feed_id, count(*), min(coalesce(published, updated)), max(coalesce(published, updated))
FROM entries WHERE feed_id = ANY(:feeds) AND digest <> '' GROUP BY feed_id
"""
ABSENT = """
SELECT absences.feed_id, count(*)
FROM absences JOIN entries ON entries.feed_id = absences.feed_id AND KEY(entries.id) = KEY(absences.id)
WHERE absences.feed_id = ANY(:feeds) AND gone IS NOT NULL AND digest <> '' GROUP BY absences.feed_id
"""
# Documents of chains and lists with entries that could not be kept.
LOSING_ENTRIES = f"""
{CHAINS} SELECT * FROM documents WHERE feed_id = ANY(:feeds) AND lost_entries <> 0
    AND (documents.id IN (SELECT chain.id FROM chain) OR role = 'part')
ORDER BY documents.id
"""
# Archives that have moved since the subscription document was read.
MOVED_ARCHIVES = f"""
{CHAINS} SELECT documents.* FROM documents JOIN feeds ON feeds.id = documents.feed_id
WHERE documents.id IN (SELECT chain.id FROM chain) AND {MOVED} ORDER BY documents.id
"""
SHOWS_ENTRIES = f"length(held) > {HEAD}"
# By feed: how many documents of its chain are pages, how many pages hold entries, and how many have an
# archive behind them; the oldest time of a check; since when and until when the documents were seen as they
# are; how many documents there are, and of how many that is known and they name the older one, or that there
# is none.
COUNTS_OF_CHAINS = f"""
{CHAINS} SELECT feed_id, count(CASE WHEN role = 'page' THEN 1 END) AS pages,
    count(CASE WHEN role = 'page' AND {SHOWS_ENTRIES} THEN 1 END) AS showing,
    count(CASE WHEN role = 'page' AND EXISTS (
        SELECT 1 FROM documents AS older WHERE older.id = documents.behind_id AND older.role = 'archive'
    ) THEN 1 END) AS opening,
    min(checked) AS checked, max(changed_walk) AS changed_walk, min(checked_walk) AS checked_walk,
    count(*) AS documents, count(CASE WHEN checked IS NOT NULL AND changed_walk IS NOT NULL
        AND (documents.behind_id IS NULL) = (substr(held, 1, {len(NAMES_NONE)}) = :names_none)
    THEN checked_walk END) AS naming
FROM documents WHERE documents.id IN (SELECT chain.id FROM chain) GROUP BY feed_id
"""
# How the history of feeds was obtained: by documents that links or lists name, or that the software `name`
# has (`platforms`), and by captures. The numbers are those of the places.
LINKS, PLATFORM, LIST, WEB_ARCHIVE, WARC = range(5)
OBTAINED = f"""
SELECT DISTINCT feed_id, CASE WHEN platform IS NULL THEN {LINKS} ELSE {PLATFORM} END AS way, platform AS name
FROM documents WHERE feed_id = ANY(:feeds) AND (
    (platform IS NULL AND role IN ('archive', 'page', 'part') AND (state = 'processed' OR held IS NOT NULL))
    OR (platform IS NOT NULL AND {SHOWS_ENTRIES}))
UNION
SELECT DISTINCT mementos.feed_id, CASE WHEN archive = '{WARC_FILES}' THEN {WARC} ELSE {WEB_ARCHIVE} END, NULL
FROM mementos JOIN timemaps ON timemaps.id = mementos.timemap_id
WHERE mementos.feed_id = ANY(:feeds) AND marks <> ''
"""
MAY_BE_CUT = "shows as many entries as the feed itself: its period may have more entries"
# Of unknown software.
PAGES = dict.fromkeys((NUMBERED.name, PROBE.name), NUMBERED.name)
WAYS = {LINKS: "links", LIST: "a list", WEB_ARCHIVE: "web archive", WARC: "WARC"}


def read(connection: Connection, rows: Sequence[Row[Any]]) -> Iterator[Feed]:
    """Yield feeds with their verdicts.

    :param rows: the feeds' rows; not more than a statement can have parameters
    """
    some: dict[str, object] = {"feeds": [row.id for row in rows], "not_fetched": NOT_FETCHED}
    some["names_none"] = NAMES_NONE
    some["starts"] = _start_numbers(connection, rows)
    ends = _by_feed(execute(connection, chain_ends("documents.id = ANY(:starts)"), some))
    lost = _by_feed(execute(connection, LOST_PARTS, some))
    left = {row.feed_id: row for row in execute(connection, LEFT_PARTS, some)}
    moved = _by_feed(execute(connection, MOVED_ARCHIVES, some))
    losing = _by_feed(execute(connection, LOSING_ENTRIES, some))
    of_chains = {row.feed_id: row for row in execute(connection, COUNTS_OF_CHAINS, some)}
    states = _by_feed(execute(connection, STATES, some))
    live = {row[0]: tuple(row[1:]) for row in execute(connection, LIVE_ENTRIES, some)}
    absent = {row[0]: row[1] for row in execute(connection, ABSENT, some)}
    obtained = _by_feed(execute(connection, OBTAINED, some))
    renamed = {row[0]: row[1] for row in execute(connection, renames.COUNTS, some)}
    feed_ids = [row.id for row in rows]
    own = coverage.read(connection, feed_ids)
    covered = coverage.with_captures(connection, feed_ids, own)
    for row in rows:
        gaps = [
            *_gaps(row, ends[row.id], lost[row.id], moved[row.id], losing[row.id]),
            *_left(row, left.get(row.id)),
        ]
        of_chain = of_chains.get(row.id)
        kind = _kind(row, of_chain)
        count, oldest, newest = live.get(row.id, (0, None, None))
        known = covered.get(row.id) if kind is None or kind in COVERED_KINDS else None
        evidence = _evidence(row, count, None if of_chain is None or kind is not Kind.PAGED else of_chain)
        reached, reasons = verdict(
            row.url,
            kind,
            row.crawled or row.since,
            gaps,
            evidence,
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
            row.not_modified_ignored,
            known.spans if known else [],
            known.holes if known else [],
            evidence.agreed if reached is Verdict.COMPLETE else None,
            evidence.sitemap,
            _obtained(row, obtained[row.id]),
        )


def _evidence(feed: Row[Any], entries: int, pages: Row[Any] | None) -> Evidence:
    """Return what is known of a feed besides its documents.

    :param pages: of a paged feed, the row of `COUNTS_OF_CHAINS`
    """
    listing = Listing.of_walk(feed.listing, feed.walk)
    # The publisher's list says more than the pages do.
    agreed = None if pages is None or listing is not None else _agreed(pages)
    sitemap = SitemapReport.from_json(feed.sitemap)
    return Evidence(entries, feed.total, feed.software, listing, agreed, sitemap)


def _obtained(feed: Row[Any], found: list[Row[Any]]) -> list[str]:
    """Return how the history of a feed was obtained, as of `Feed.obtained`.

    :param found: the rows of `OBTAINED`
    """
    ways = {(row.way, WAYS.get(row.way) or PAGES.get(row.name, f"{row.name} pages")) for row in found}
    listing = Listing.from_json(feed.listing)
    if listing is not None and listing.has_ended:
        ways.add((LIST, WAYS[LIST]))
    return [name for _, name in sorted(ways)]


# From when the last of the documents was first seen as it is, until the first of these checks, all were so.
def _agreed(pages: Row[Any]) -> str | None:
    """Return when the pages of a feed were as they are known; None if they are not known to be all."""
    if pages.naming < pages.documents or not pages.pages:
        return None
    walk = agreed_walk(Seen(pages.changed_walk, pages.checked_walk))
    return None if walk is None else str(pages.checked)


def _start_numbers(connection: Connection, rows: Sequence[Row[Any]]) -> list[int]:
    """Return the ids of the documents where the feeds' chains begin."""
    never_read = [row.id for row in rows if row.subscription_id is None]
    starts = "SELECT id FROM documents WHERE feed_id = ANY(:feeds) AND role = 'subscription'"
    found = execute(connection, starts, {"feeds": never_read}) if never_read else ()
    return [*(row.subscription_id for row in rows if row.subscription_id is not None), *(r.id for r in found)]


def _by_feed(found: Iterable[Row[Any]]) -> ByFeed:
    of_feed: ByFeed = defaultdict(list)
    for row in found:
        of_feed[row.feed_id].append(row)
    return of_feed


def _kind(feed: Row[Any], of_chain: Row[Any] | None) -> Kind | None:
    """Return the kind of a feed, by its subscription document and the pages of its chain.

    :param of_chain: the row of `COUNTS_OF_CHAINS`
    """
    kind = None if feed.kind is None else Kind(feed.kind)
    if of_chain is None or not of_chain.pages:
        return kind
    # If there are only archives behind the page that a subscription document names as the next one, it is the
    # newest archive, which still grows (Nikola 7).
    if kind is Kind.PAGED and of_chain.pages == of_chain.opening == 1:
        return Kind.ARCHIVED
    # An archived feed's chain may continue with pages, and then with archives again. Of the pages of a feed
    # that links to none (`platforms`), the last one may not exist: it holds nothing.
    is_paged = kind is Kind.ARCHIVED or (kind is Kind.SINGLE and of_chain.showing)
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
        # A probe without an answer says nothing.
        is_probe = row.platform == PROBE.name and row.held is None
        if row.state != State.PROCESSED.value and not is_probe:
            yield Reason(ReasonKind(row.reason), row.url, row.detail, row.since)
    if not ends and feed.subscription_id is None:
        yield Reason(ReasonKind.KNOWN, feed.url, NOT_FETCHED, feed.since)
    elif not ends:
        yield Reason(ReasonKind.LOOP, feed.url, "has a chain of documents that forms a loop", feed.since)
    for row in moved[:1]:
        yield Reason(ReasonKind.MOVED, row.url, HAS_MOVED, row.fetched)
    for row in losing:
        yield Reason(*_loss(row), row.fetched)


def _loss(row: Row[Any]) -> tuple[ReasonKind, str, str]:
    """Return why a document lacks entries: the first fields of a reason."""
    if row.lost_entries == CUT:
        return ReasonKind.CUT_PERIOD, row.url, MAY_BE_CUT
    detail = f"has entries that could not be kept: {row.lost_entries}"
    if row.shared_id is None:
        return ReasonKind.ENTRIES_LOST, row.url, detail
    shared = printable(row.shared_id, LONGEST_SENTENCE)
    return ReasonKind.SHARED_ID, row.url, f"{detail}; several entries have the same id, such as {shared}"


def _left(feed: Row[Any], found: Row[Any] | None) -> Iterator[Reason]:
    """Yield one reason for all documents of a list that have not been requested."""
    if found is not None:
        documents_have = "document that has" if found.number == 1 else "documents that have"
        detail = f"links to {found.number:,} more {documents_have} not been fetched yet"
        yield Reason(ReasonKind.KNOWN, found.url or feed.url, detail, found.since)
