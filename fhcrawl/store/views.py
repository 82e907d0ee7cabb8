"""The views of the store, for users who open it with sqlite3, Datasette or psql."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from sqlalchemy import Connection

LIVE_ENTRIES = """
CREATE VIEW live_entries AS
SELECT feeds.url AS feed, feeds.title AS feed_title, entries.id, entries.title, entries.link,
    entries.published, entries.updated, entries.authors, entries.categories, entries.summary, entries.content,
    entries.content_type, entries.enclosures, entries.operation, entries.document, entries.document_updated,
    entries.added
FROM entries JOIN feeds ON feeds.id = entries.feed_id
WHERE entries.digest <> ''
"""
ABSENT_ENTRIES = """
CREATE VIEW absent_entries AS
SELECT feeds.url AS feed, feeds.title AS feed_title, entries.id, entries.title, entries.link,
    absences.since AS absent
FROM absences JOIN feeds ON feeds.id = absences.feed_id
    JOIN entries ON entries.feed_id = absences.feed_id AND entries.id = absences.id
WHERE absences.gone IS NOT NULL AND entries.digest <> ''
"""
RENAMED_ENTRIES = """
CREATE VIEW renamed_entries AS
SELECT feeds.url AS feed, feeds.title AS feed_title, entries.id, renames.former_id, entries.title,
    entries.link, renames.since AS renamed
FROM renames JOIN feeds ON feeds.id = renames.feed_id
    JOIN entries ON entries.feed_id = renames.feed_id AND entries.id = renames.id
WHERE renames.former_id IS NOT NULL AND entries.digest <> ''
"""
FEED_VERDICTS = """
CREATE VIEW feed_verdicts AS
SELECT feeds.url AS feed, feeds.title, feeds.kind, feeds.verdict, feeds.reasons,
    (SELECT count(*) FROM entries WHERE entries.feed_id = feeds.id AND entries.digest <> '') AS entries,
    (SELECT count(*) FROM documents
        WHERE documents.feed_id = feeds.id AND documents.state = 'processed') AS documents_processed,
    (SELECT count(*) FROM documents
        WHERE documents.feed_id = feeds.id AND documents.state <> 'processed') AS documents_not_processed,
    feeds.since AS first_crawled, feeds.crawled AS last_crawled,
    coverage.since AS seamless_since, coverage.until AS seamless_until
FROM feeds LEFT JOIN coverage
    ON coverage.feed_id = feeds.id AND coverage.shown > coverage.depth AND feeds.kind IN ('single', 'paged')
"""
IS_GAP = f"NOT IN ({', '.join(repr(kind.value) for kind in ReasonKind if not kind.is_gap)})"
GAPS = {
    "sqlite": f"""
CREATE VIEW gaps AS
SELECT feeds.url AS feed, feeds.title AS feed_title, json_extract(reason.value, '$.url') AS url,
    json_extract(reason.value, '$.kind') AS kind, json_extract(reason.value, '$.detail') AS detail,
    json_extract(reason.value, '$.since') AS since
FROM feeds, json_each(feeds.reasons) AS reason
WHERE json_extract(reason.value, '$.kind') {IS_GAP}
""",  # noqa: S608 - no value comes from outside
    "postgresql": f"""
CREATE VIEW gaps AS
SELECT feeds.url AS feed, feeds.title AS feed_title, reason.value ->> 'url' AS url,
    reason.value ->> 'kind' AS kind, reason.value ->> 'detail' AS detail, reason.value ->> 'since' AS since
FROM feeds, json_array_elements(CAST(feeds.reasons AS json)) AS reason (value)
WHERE reason.value ->> 'kind' {IS_GAP}
""",  # noqa: S608 - no value comes from outside
}
NAMES = ("live_entries", "absent_entries", "renamed_entries", "feed_verdicts", "gaps")


def drop(connection: Connection) -> None:
    """Drop the views, so that their tables can be changed."""
    for name in NAMES:
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS {name}")


def create(connection: Connection) -> None:
    """Create the views."""
    gaps = GAPS[connection.dialect.name]
    for statement in (LIVE_ENTRIES, ABSENT_ENTRIES, RENAMED_ENTRIES, FEED_VERDICTS, gaps):
        connection.exec_driver_sql(statement.strip())
