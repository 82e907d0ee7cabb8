"""The schema of the store: its tables, its views, and the migration from older versions.

Every change of a table or a view needs a new `VERSION` and a step in `STEPS`: see CONTRIBUTING.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
    inspect,
)
from sqlalchemy import Text as AnyText

from fhcrawl.exceptions import StoreError
from fhcrawl.logical_feed.chain import EARLIEST_WALK
from fhcrawl.reasons import ReasonKind
from fhcrawl.store.leases import living_owner
from fhcrawl.store.statements import POSTGRESQL, SQLITE, execute

if TYPE_CHECKING:
    from sqlalchemy import Connection

# Strings are compared character by character, as in SQLite, and not by the order of a language.
Text = AnyText().with_variant(AnyText(collation="C"), POSTGRESQL)
# A million feeds may have more documents than 32 bits can count; SQLite's Integer has 64.
Number = BigInteger().with_variant(Integer, SQLITE)

metadata = MetaData()

store = Table(
    "store",
    metadata,
    Column("schema_version", Integer, nullable=False, comment="of these tables"),
    Column("runs", Integer, nullable=False, comment="number of the last crawl or delivery"),
    Column("keeps_versions", Integer, nullable=False, comment="1: earlier versions of entries are kept"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False, comment="number of the crawl"),
    Column("owner", Text, nullable=False, comment="a process"),
    Column("expires", Number, nullable=False, comment="end of the lease; seconds since 1970"),
)

feeds = Table(
    "feeds",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("url", Text, nullable=False, comment="as the user gave it"),
    Column("address", Text, nullable=False, comment="the same, normalised: addresses.normalised"),
    Column("location", Text, nullable=False, comment="where the subscription document is polled"),
    Column("title", Text),
    Column("kind", Text, comment="archived, complete, paged or single"),
    Column("walk", Integer, nullable=False, comment="number of walks so far"),
    Column("run", Integer, nullable=False, comment="its last crawl, which holds the lease while it runs"),
    Column("since", Text, nullable=False, comment="first crawled or subscribed"),
    Column("crawled", Text, comment="when the subscription document was last read"),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("validated_url", Text, comment="URL of the response with etag and last_modified"),
    Column("body_digest", Text, comment="of the subscription document's bytes, and how it was read"),
    Column("not_modified_ignored", Text, comment="since when its server's 304 responses are ignored"),
    Column("subscription_id", Number, comment="the subscription document's row in documents"),
    Column("verdict", Text, comment="of its last crawl; NULL during a crawl, or after a killed one"),
    Column("reasons", Text, comment="of the verdict: a JSON list of {kind, url, detail, since}"),
    Column("subscribed", Text, comment="since when; NULL if it is not subscribed"),
    Column("options", Text, comment="options of a subscribed feed: a JSON object"),
    Column("polled", Text, comment="when the subscription document was last requested"),
    Column("fresh_seconds", Number, comment="freshness lifetime of the response (RFC 9111)"),
    Column("retry_after", Text, comment="earliest time of the next request (Retry-After)"),
    Column("rhythm", Text, comment="its update schedule: a JSON object"),
    Column("news", Text, comment="time of the last new or updated entry"),
    Column("changed", Text, comment="the same, of the changes that change_seconds counts"),
    Column("change_seconds", Number, comment="average time between its changes"),
    Column("due", Text, comment="when it is due again; NULL: now"),
    Column("released", Integer, comment="1: its last crawl has finished with it, and may still be running"),
    Column(
        "special",
        Integer,
        comment="1: its host had a special address when first read; 0: not; + 2: its snapshot's",
    ),
    Column("total", Number, comment="total number of entries, as stated in its document"),
    Column("unkept", Number, comment="how many of these were missing after the last page was read"),
    Column("counted", Text, comment="start of the walk that read the last page"),
    Column("software", Text, comment="the publishing software, if its older pages are not requested"),
    Column("listing", Text, comment="state of WordPress's list of posts: a JSON object, a Listing"),
    Column("confirmation", Text, comment="whether its pages were confirmed: a JSON object, a Confirmation"),
    Column("complete_as_of", Text, comment="when it was last complete"),
    Column("site", Text, comment="whose sitemaps its entries are compared with"),
    Column("sitemap", Text, comment="what the sitemaps of its site list, if it has one: a SitemapReport"),
    Column("merge_renamed", Integer, comment="1: entries are deleted under ids that they had before"),
    Column("ids", Text, nullable=False, server_default="id", comment="what identifies entries: id, link, …"),
    UniqueConstraint("url").ddl_if(SQLITE),
    UniqueConstraint("address").ddl_if(SQLITE),
)

aliases = Table(
    "aliases",
    metadata,
    Column("feed_id", ForeignKey("feeds.id"), nullable=False),
    Column(
        "address", Text, nullable=False, comment="normalised: a page, redirect or merged feed that led to it"
    ),
    UniqueConstraint("address").ddl_if(SQLITE),
)

documents = Table(
    "documents",
    metadata,
    Column("id", Number, primary_key=True),
    Column("feed_id", ForeignKey("feeds.id"), nullable=False),
    Column("key", Text, nullable=False, comment="the requested URL, or the deltafetch_key"),
    Column("url", Text, nullable=False, comment="the requested URL"),
    Column("platform", Text, comment="the software that names it so; NULL if a document names it"),
    Column("role", Text, nullable=False, comment="subscription, archive, page, part, index, …"),
    Column("state", Text, nullable=False, comment="known, processed, missing, failed, …"),
    Column("walk", Integer, nullable=False, comment="place in the chain: from which walk"),
    Column("step", Integer, nullable=False, comment="place in the chain: 0, -1 before it, …"),
    Column("behind_id", Number, comment="the document that its prev-archive or next link names"),
    Column("run", Integer, comment="the last crawl that read it, or tried to"),
    Column("updated", Text, comment="its own update time"),
    Column("lost_entries", Integer, nullable=False, comment="entries that could not be kept"),
    Column("reason", Text, comment="why it is not processed"),
    Column("detail", Text, comment="the same in words"),
    Column("since", Text, comment="since when"),
    Column("fetched", Text, comment="when it was last read"),
    Column("moved_to", Text, comment="redirect target of an archive, if it may be another document"),
    Column("moved_walk", Integer, comment="the first walk with this redirect"),
    Column("uncounted", Text, comment="earliest time in it that was ignored, being in the future"),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("validated_url", Text, comment="URL of the response with etag and last_modified"),
    Column("received", Text, comment="time of its last response other than 304"),
    Column("checked", Text, comment="when it was last confirmed unchanged; NULL if it never changes"),
    Column("checked_walk", Integer, comment="the walk that confirmed it"),
    Column("changed_walk", Integer, comment="the first walk that read its current content"),
    Column("held", LargeBinary, comment="digests of its link and entries: logical_feed.absences"),
    Column("left_walk", Integer, comment="the first walk without a link to it from the chain"),
    UniqueConstraint("feed_id", "key").ddl_if(SQLITE),
)

entries = Table(
    "entries",
    metadata,
    Column("feed_id", ForeignKey("feeds.id"), nullable=False),
    Column("id", Text, nullable=False, comment="atom:id or guid"),
    Column("title", Text),
    Column("link", Text),
    Column("published", Text),
    Column("updated", Text),
    Column("authors", Text, comment="a JSON list"),
    Column("categories", Text, comment="a JSON list"),
    Column("summary", Text),
    Column("content", Text),
    Column("content_type", Text),
    Column("enclosures", Text, comment="a JSON list of objects"),
    Column("operation", Text),
    Column("document", Text, comment="URL of the document of this version"),
    Column("document_updated", Text, comment="update time of that document"),
    Column("digest", Text, nullable=False, comment="of the content; '' if deleted"),
    Column("order_overrides", Integer, nullable=False, comment="what versions are compared by"),
    Column("order_time", Text, nullable=False),
    Column("order_tombstone", Integer, nullable=False),
    Column("order_walk", Integer, nullable=False),
    Column("order_step", Integer, nullable=False),
    Column("order_position", Integer, nullable=False),
    Column("document_time", Text, comment="update time of the document that was last read with this version"),
    Column("original", Text, comment="the entry's own XML or JSON; NULL if it is not kept"),
    Column("added", Text, comment="fields that pipelines have added: a JSON object; NULL for none"),
    Column("details", Text, nullable=False, comment="optional fields: a JSON object"),
    Column("fetched", Text, nullable=False, comment="when this version, or the deletion, was first read"),
    Column("first_seen", Text, nullable=False, comment="when any version, or a tombstone, was first read"),
    UniqueConstraint("feed_id", "id").ddl_if(SQLITE),
)

# Earlier versions of entries, if the store keeps them; a content that returns is kept once.
versions = Table(
    "versions",
    metadata,
    Column("feed_id", ForeignKey("feeds.id"), nullable=False),
    *(
        Column(c.name, c.type, nullable=c.nullable)
        for c in entries.c
        if c.name not in ("feed_id", "first_seen")
    ),
    UniqueConstraint("feed_id", "id", "digest").ddl_if(SQLITE),
)

# Ids that several entries have.
shared_ids = Table(
    "shared_ids",
    metadata,
    Column("feed_id", ForeignKey("feeds.id"), nullable=False),
    Column("id", Text, nullable=False, comment="the publisher's; or with a suffix, if links are shared too"),
    UniqueConstraint("feed_id", "id").ddl_if(SQLITE),
)

# Entries that were removed from a document of a chain. Those that no other document contains may be
# deleted at the publisher.
absences = Table(
    "absences",
    metadata,
    Column("feed_id", ForeignKey("feeds.id"), nullable=False),
    Column("key", LargeBinary, nullable=False, comment="digest of the entry's id"),
    Column("id", Text, comment="of the entry; NULL while a document may hold it"),
    Column("below", LargeBinary, comment="digest of the id below it in a plain feed; else NULL"),
    Column("role", Text, nullable=False, comment="of the document that it was removed from"),
    Column("walk", Integer, nullable=False, comment="the walk since which no document is known to hold it"),
    Column("looked", Integer, nullable=False, comment="the walk that last searched for it"),
    Column("since", Text, nullable=False, comment="when it was first missing"),
    Column("gone", Text, comment="since when it is certainly missing; NULL: it may have moved"),
    UniqueConstraint("feed_id", "key"),
)

# Entries whose id has changed, and new entries, which the end of the walk compares with the former ones.
renames = Table(
    "renames",
    metadata,
    Column("feed_id", ForeignKey("feeds.id"), nullable=False),
    Column("id", Text, nullable=False, comment="of the entry"),
    Column("former_id", Text, comment="its former id; NULL: not known yet"),
    Column("since", Text, nullable=False, comment="when it was first read under its id"),
)

# The sites whose sitemaps are compared with the entries of their feeds.
sites = Table(
    "sites",
    metadata,
    Column("site", Text, nullable=False, comment="scheme, host and port"),
    Column("read", Text, comment="when its sitemaps were last read; NULL: not to the end yet"),
    Column("is_part", Integer, nullable=False, comment="1: there are more sitemaps than were read"),
    Column("retry_after", Text, comment="earliest time of the next request (Retry-After)"),
    UniqueConstraint("site").ddl_if(SQLITE),
)

# What a site's sitemaps list.
sitemaps = Table(
    "sitemaps",
    metadata,
    Column("site", Text, nullable=False),
    Column("url", Text, nullable=False, comment="of the sitemap"),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("validated_url", Text, comment="URL of the response with etag and last_modified"),
    Column("is_index", Integer, nullable=False, comment="1: it lists sitemaps; 0: pages"),
    Column(
        "listed",
        LargeBinary,
        nullable=False,
        comment="a URL, a tab and its lastmod a line, compressed with zlib",
    ),
)

# Pages of sitemaps that looked like entries of a feed, and were requested.
sitemap_posts = Table(
    "sitemap_posts",
    metadata,
    Column("feed_id", ForeignKey("feeds.id"), nullable=False),
    Column("url", Text, nullable=False, comment="as the sitemap has it"),
    Column("lastmod", Text, comment="its last change, by the sitemap, when it was read; '' for none"),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("validated_url", Text, comment="URL of the response with etag and last_modified"),
    Column("entry_id", Text, comment="of its entry; NULL if the page is no post"),
    UniqueConstraint("feed_id", "url").ddl_if(SQLITE),
)

robots = Table(
    "robots",
    metadata,
    Column("host", Text, primary_key=True, comment="with its port, as in URLs"),
    Column("body", LargeBinary, comment="of the robots.txt that was read last"),
    Column("read", Number, nullable=False, comment="time of the last response; seconds since 1970, or 0"),
    Column("unreachable", Number, nullable=False, comment="since when; the same as read if it is reachable"),
)

# The head sections of subscription documents.
heads = Table(
    "heads",
    metadata,
    Column("feed_id", ForeignKey("feeds.id"), primary_key=True, autoincrement=False),
    Column("original", Text, nullable=False, comment="XML or JSON without the entries"),
    Column("digest", Text, nullable=False, comment="of the original without its update times"),
    Column("document", Text, nullable=False, comment="URL of the document that it came from"),
)

# The state of `fhcrawl.logical_feed.coverage` for plain and paged feeds.
coverage = Table(
    "coverage",
    metadata,
    Column("feed_id", ForeignKey("feeds.id"), primary_key=True, autoincrement=False),
    Column("known", Text, nullable=False, comment="marks of entries: those shown last, then earlier ones"),
    Column("shown", Integer, nullable=False, comment="how many of them were shown last"),
    Column("depth", Integer, nullable=False, comment="the largest number of known entries above a new one"),
    Column("since", Text, nullable=False, comment="the current span begins"),
    Column("until", Text, nullable=False, comment="the current span ends: the last read"),
    Column("earlier", Text, nullable=False, comment="spans with holes after them: a JSON list of lists"),
    Column("entries", Integer, nullable=False, comment="new entries in all spans"),
    Column("seconds", Integer, nullable=False, comment="length of the earlier spans"),
    Column("burst_entries", Integer, nullable=False, comment="new entries at the highest rate"),
    Column("burst_seconds", Integer, nullable=False, comment="in this time"),
    Column("burst", Text, comment="which ended then"),
)

changes = Table(
    "changes",
    metadata,
    Column("feed_id", ForeignKey("feeds.id"), nullable=False),
    Column("id", Text, nullable=False, comment="of the entry"),
    Column("exported_digest", Text, comment="what was last exported; NULL if nothing ever was"),
    Column("delivery", Integer, comment="the delivery that it is part of"),
    UniqueConstraint("feed_id", "id").ddl_if(SQLITE),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run", Integer, nullable=False),
    Column("files", Text, nullable=False, comment="JSON: a storages.WrittenFile each"),
)

# The responses in WARC files: for each URL, the last record with the complete body.
captures = Table(
    "captures",
    metadata,
    Column("url", Text, nullable=False),
    Column("digest", Text, nullable=False, comment="of its body: WARC-Payload-Digest"),
    Column("record", Text, nullable=False, comment="WARC-Record-ID"),
    Column("date", Text, nullable=False, comment="WARC-Date"),
    Column("file", Text, nullable=False, comment="path of the WARC file"),
    Column("file_id", Text, nullable=False, comment="WARC-Record-ID of its warcinfo record"),
    UniqueConstraint("url").ddl_if(SQLITE),
)

# The captures of a feed's documents in web archives and WARC files (RFC 7089).
timemaps = Table(
    "timemaps",
    metadata,
    Column("id", Number, primary_key=True),
    Column("feed_id", ForeignKey("feeds.id"), nullable=False),
    Column("archive", Text, nullable=False, comment="URL of the web archive"),
    Column("url", Text, nullable=False, comment="of the document"),
    Column("depth", Integer, nullable=False, comment="number of links from a subscription document to it"),
    Column("read", Text, comment="time of the last request to the archive; NULL: to be requested"),
    Column("retry_after", Text, comment="earliest time of the next request (Retry-After)"),
    Column("failed", Text, comment="time of the last request, if it failed; else NULL"),
)

mementos = Table(
    "mementos",
    metadata,
    Column("id", Number, primary_key=True),
    Column("feed_id", ForeignKey("feeds.id"), nullable=False),
    Column("timemap_id", ForeignKey("timemaps.id"), nullable=False),
    Column("url", Text, nullable=False, comment="that was captured"),
    Column("time", Text, nullable=False, comment="when, by the archive's index"),
    Column("digest", Text, nullable=False, comment="of its body, by the index; the time if it has none"),
    Column("state", Text, nullable=False, comment="known: not read yet; again: failed; processed, …"),
    Column("captured", Text, comment="time of the capture that the archive served for it"),
    Column("marks", Text, comment="marks of its entries; NULL if it could not be read"),
    Column("oldest", Text, comment="when the last of its entries that has a time was published"),
    UniqueConstraint("timemap_id", "digest"),
)

# The files of enclosures that `fhcrawl download` has downloaded, or has begun to.
downloads = Table(
    "downloads",
    metadata,
    Column("feed_id", ForeignKey("feeds.id"), nullable=False),
    Column("key", Text, nullable=False, comment="digest of the entry's id and the enclosure's first URL"),
    Column("id", Text, nullable=False, comment="of the entry"),
    Column("url", Text, nullable=False, comment="of the enclosure, as last requested"),
    Column("name", Text, comment="of the file in its folder; NULL until it was complete once"),
    Column("size", Number, comment="octets; before the file is complete, as announced"),
    Column("digest", Text, comment="SHA-256 of the file; NULL if it is not complete"),
    Column("time", Text, comment="when it was complete"),
    Column("etag", Text),
    Column("last_modified", Text),
    UniqueConstraint("feed_id", "key"),
)

INDEXES = (
    "CREATE INDEX timemaps_by_feed ON timemaps (feed_id)",
    "CREATE INDEX mementos_by_feed ON mementos (feed_id)",
    "CREATE INDEX aliases_by_feed ON aliases (feed_id)",
    "CREATE INDEX sitemaps_by_site ON sitemaps (KEY(site))",
    "CREATE INDEX feeds_by_run ON feeds (run)",
    "CREATE INDEX feeds_by_location ON feeds (KEY(location))",
    "CREATE INDEX captures_by_digest ON captures (digest)",
    "CREATE INDEX renames_by_id ON renames (feed_id, KEY(id))",
    "CREATE INDEX renames_by_former_id ON renames (feed_id, KEY(former_id))",
)
# They are UNIQUE constraints in SQLite.
POSTGRESQL_INDEXES = (
    "CREATE UNIQUE INDEX feeds_by_url ON feeds (KEY(url))",
    "CREATE UNIQUE INDEX feeds_by_address ON feeds (KEY(address))",
    "CREATE UNIQUE INDEX aliases_by_address ON aliases (KEY(address))",
    "CREATE UNIQUE INDEX sites_by_site ON sites (KEY(site))",
    "CREATE UNIQUE INDEX sitemap_posts_by_url ON sitemap_posts (feed_id, KEY(url))",
    "CREATE UNIQUE INDEX documents_by_key ON documents (feed_id, KEY(key))",
    "CREATE UNIQUE INDEX entries_by_id ON entries (feed_id, KEY(id))",
    "CREATE UNIQUE INDEX versions_by_id ON versions (feed_id, KEY(id), digest)",
    "CREATE UNIQUE INDEX shared_ids_by_id ON shared_ids (feed_id, KEY(id))",
    "CREATE UNIQUE INDEX changes_by_id ON changes (feed_id, KEY(id))",
    "CREATE UNIQUE INDEX captures_by_url ON captures (KEY(url))",
)

IS_GAP = f"NOT IN ({', '.join(repr(kind.value) for kind in ReasonKind if not kind.is_gap)})"
OF_FEED = "feeds.url AS feed, feeds.title AS feed_title"
# When an entry was deleted, by its tombstone, or else when that was first read.
DELETED = (
    "CASE WHEN entries.digest = '' THEN coalesce(nullif(entries.order_time, '') || 'Z', entries.fetched) END"
)
OF_VERSION = versions.columns.keys()
# Every version and deletion in the store.
ALL_VERSIONS = f"""
(SELECT {", ".join(f"entries.{name}" for name in OF_VERSION)}, entries.first_seen,
    {DELETED} AS deleted, 1 AS is_newest, {OF_FEED}
FROM entries JOIN feeds ON feeds.id = entries.feed_id
UNION ALL SELECT {", ".join(f"versions.{name}" for name in OF_VERSION)},
    coalesce(entries.first_seen, versions.fetched), {DELETED.replace("entries", "versions")}, 0, {OF_FEED}
FROM versions JOIN feeds ON feeds.id = versions.feed_id
    LEFT JOIN entries ON entries.feed_id = versions.feed_id AND KEY(entries.id) = KEY(versions.id))
"""
# What publishers have deleted, and what they no longer have; not what is stored under another id now.
ALL_DELETED = f"""
(SELECT entries.*, {DELETED} AS deleted, 'deleted' AS state, {OF_FEED}
FROM entries JOIN feeds ON feeds.id = entries.feed_id
WHERE entries.digest = '' AND entries.order_walk > {EARLIEST_WALK} AND NOT EXISTS (SELECT 1 FROM renames
    WHERE renames.feed_id = entries.feed_id AND KEY(renames.former_id) = KEY(entries.id))
UNION ALL SELECT entries.*, absences.since, 'absent', {OF_FEED}
FROM absences JOIN feeds ON feeds.id = absences.feed_id
    JOIN entries ON entries.feed_id = absences.feed_id AND KEY(entries.id) = KEY(absences.id)
WHERE absences.gone IS NOT NULL AND entries.digest <> '')
"""
VIEWED = """entries.id, entries.title, entries.link,
    entries.published, entries.updated, entries.authors, entries.categories, entries.summary, entries.content,
    entries.content_type, entries.enclosures, entries.operation, entries.document, entries.document_updated,
    entries.added"""
VIEWS = {
    "live_entries": f"""
SELECT {OF_FEED}, {VIEWED}
FROM entries JOIN feeds ON feeds.id = entries.feed_id
WHERE entries.digest <> ''
""",
    "entry_versions": f"""
SELECT feed, feed_title, {VIEWED}, entries.first_seen, entries.fetched, entries.deleted,
    CASE WHEN entries.digest = '' THEN 'deleted' WHEN entries.is_newest = 1 THEN 'current'
        ELSE 'superseded' END AS state
FROM {ALL_VERSIONS} AS entries
""",
    "deleted_entries": f"""
SELECT feed, feed_title, {VIEWED}, entries.first_seen, entries.fetched, entries.deleted, entries.state
FROM {ALL_DELETED} AS entries
""",
    "absent_entries": """
SELECT feeds.url AS feed, feeds.title AS feed_title, entries.id, entries.title, entries.link,
    absences.since AS absent
FROM absences JOIN feeds ON feeds.id = absences.feed_id
    JOIN entries ON entries.feed_id = absences.feed_id AND entries.id = absences.id
WHERE absences.gone IS NOT NULL AND entries.digest <> ''
""",
    "renamed_entries": """
SELECT feeds.url AS feed, feeds.title AS feed_title, entries.id, renames.former_id, entries.title,
    entries.link, renames.since AS renamed
FROM renames JOIN feeds ON feeds.id = renames.feed_id
    JOIN entries ON entries.feed_id = renames.feed_id AND entries.id = renames.id
WHERE renames.former_id IS NOT NULL AND entries.digest <> ''
""",
    "feed_verdicts": """
SELECT feeds.url AS feed, feeds.title, feeds.kind, feeds.verdict, feeds.reasons,
    (SELECT count(*) FROM entries WHERE entries.feed_id = feeds.id AND entries.digest <> '') AS entries,
    (SELECT count(*) FROM documents
        WHERE documents.feed_id = feeds.id AND documents.state = 'processed') AS documents_processed,
    (SELECT count(*) FROM documents
        WHERE documents.feed_id = feeds.id AND documents.state <> 'processed') AS documents_not_processed,
    feeds.complete_as_of, feeds.since AS first_crawled, feeds.crawled AS last_crawled,
    coverage.since AS seamless_since, coverage.until AS seamless_until
FROM feeds LEFT JOIN coverage
    ON coverage.feed_id = feeds.id AND coverage.shown > coverage.depth AND feeds.kind IN ('single', 'paged')
""",
    "gaps": f"""
SELECT feeds.url AS feed, feeds.title AS feed_title, MEMBER(reason, url) AS url, MEMBER(reason, kind) AS kind,
    MEMBER(reason, detail) AS detail, MEMBER(reason, since) AS since
FROM feeds, MEMBERS(feeds.reasons) AS reason
WHERE MEMBER(reason, kind) {IS_GAP} AND MEMBER(reason, last_read) IS NULL
""",
}


def create_views(connection: Connection) -> None:
    for name, query in VIEWS.items():
        execute(connection, f"CREATE VIEW {name} AS {query.strip()}")


# Of the tables and the views.
VERSION = 8
# Each step is the SQL (`fhcrawl.store.statements`) that changes the tables of one version, its key, into
# those of the next. The views are dropped before the steps and created again after them, so the step for a
# change of a view is empty. Released steps never change. Versions before the first step are refused.
STEPS: dict[int, tuple[str, ...]] = {}
# An arbitrary number for the lock of the processes that prepare one store at the same time.
POSTGRESQL_LOCK = 5005


def is_current(connection: Connection) -> bool:
    """Return whether the tables exist, in this fhcrawl's version; `StoreError` if they cannot be migrated."""
    return _version(connection) == VERSION


def prepare(connection: Connection) -> None:
    """Create or migrate the tables, in a transaction that locks out other writers, or raise StoreError."""
    if connection.dialect.name == POSTGRESQL:
        execute(connection, "SELECT pg_advisory_xact_lock(:lock)", {"lock": POSTGRESQL_LOCK})
    # Another process may have done this while this one waited.
    version = _version(connection)
    if version is None:
        metadata.create_all(connection, checkfirst=False)
        for index in INDEXES + (POSTGRESQL_INDEXES if connection.dialect.name == POSTGRESQL else ()):
            execute(connection, index)
        create_views(connection)
        execute(connection, "INSERT INTO store VALUES (:version, 0, 0)", {"version": VERSION})
    elif version < VERSION:
        _require_no_crawl(connection)
        for name in VIEWS:
            execute(connection, f"DROP VIEW IF EXISTS {name}")
        for number in range(version, VERSION):
            for statement in STEPS[number]:
                execute(connection, statement)
        create_views(connection)
        execute(connection, "UPDATE store SET schema_version = :version", {"version": VERSION})


def _version(connection: Connection) -> int | None:
    if not inspect(connection).has_table(store.name):
        return None
    version: int | None = execute(connection, "SELECT schema_version FROM store").scalar()
    if version is None:
        raise StoreError("The store was not created completely and is empty: delete it")
    if version > VERSION:
        raise StoreError(
            f"The store was written by a newer version of fhcrawl (schema version {version}; this one "
            f"supports {VERSION}): upgrade fhcrawl, or set FHCRAWL_STORE_URL to another place"
        )
    if not STEPS.keys() >= set(range(version, VERSION)):
        raise StoreError(
            f"The store was written by a version of fhcrawl that is too old (schema version {version}): use"
            " that version, or set FHCRAWL_STORE_URL to a new store"
        )
    return version


# A crawl of an older version would continue to write rows as that version has them.
def _require_no_crawl(connection: Connection) -> None:
    run_ids = execute(connection, "SELECT id FROM runs").scalars().all()
    if owner := next(filter(None, (living_owner(connection, run) for run in run_ids)), None):
        raise StoreError(
            f"The store must be migrated to this version of fhcrawl, but a crawl by an older one is running"
            f" ({owner}): wait until it has ended"
        )
