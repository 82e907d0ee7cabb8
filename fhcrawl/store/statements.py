"""SQL for both databases: how it is executed, and the parts that several modules share.

Statements are text, executed by the database's driver without SQLAlchemy's conversions: SQLAlchemy inspects
the values of each row, which takes as long as the database takes to store them. Parameters are written
`:name`; a list is an array in PostgreSQL and a JSON list in SQLite. What the databases write differently is
written so:

- `KEY(x)`, for a column or a parameter: the string as indexes have it (`schema.Keyed`)
- `x = ANY(:list)`: whether a list has a value
- `UTF8(:octets)`: text from octets in UTF-8
- `JSON_LIST(x)`: the values of some rows as a JSON list
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Integer, literal

from fhcrawl.documents import model
from fhcrawl.logical_feed import ChainPosition, Role, Winner, captured, in_words
from fhcrawl.logical_feed.results import IDS, PIPELINE_FIELDS, Order, State, comparable
from fhcrawl.reasons import ReasonKind
from fhcrawl.store.schema import POSTGRESQL, SQLITE, Keyed, entries, feeds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Table

    from fhcrawl.logical_feed import Kind, Reason, Verdict, Version
    from fhcrawl.logical_feed.coverage import Hole, Span
    from fhcrawl.logical_feed.listings import SitemapReport
    from fhcrawl.logical_feed.results import Fetch


ROWS_AT_ONCE = 500
DATABASES = (SQLITE, POSTGRESQL)
STATEMENTS_REMEMBERED = 500
# Databases limit the number of parameters; SQLite's limit was 999 for long.
IDS_AT_ONCE = 500

PARAMETER = re.compile(r":(\w+)")
MACROS = {
    SQLITE: (
        (r"KEY\((:?[\w.]+)\)", r"\1"),
        (r"= ANY\((:\w+)\)", r"IN (SELECT value FROM json_each(\1))"),
        (r"IS NOT DISTINCT FROM", "IS"),  # SQLite has had it since 3.39
        (r"UTF8\((:\w+)\)", r"CAST(\1 AS TEXT)"),
        (r"JSON_LIST\(([\w.]+)\)", r"json_group_array(\1)"),
    ),
    POSTGRESQL: (
        (r"%", "%%"),
        (r"KEY\((:\w+)\)", r"KEY(CAST(\1 AS TEXT))"),
        (
            r"KEY\(([\w.]+|CAST\(:\w+ AS TEXT\))\)",
            r"(CASE WHEN length(\1) <= 500 THEN \1 ELSE left(\1, 500) || md5(\1) END)",
        ),
        (r"UTF8\((:\w+)\)", r"convert_from(\1, 'UTF8')"),
        (r"JSON_LIST\(([\w.]+)\)", r"CAST(coalesce(json_agg(\1), '[]') AS TEXT)"),
    ),
}

CONTENT = (
    "title",
    "link",
    "authors",
    "categories",
    "summary",
    "content",
    "content_type",
    "enclosures",
    "operation",
)
TIMES = ("published", "updated", "document", "document_updated")
ORDER = tuple(f"order_{name}" for name in Order._fields)
ORIGINAL, DETAILS = "original", "details"


@lru_cache(STATEMENTS_REMEMBERED)
def _translated(sql: str, database: str) -> tuple[str, tuple[str, ...]]:
    """Return a statement in the SQL of a database, and the names of its parameters by position."""
    for pattern, replacement in MACROS[database]:
        sql = re.sub(pattern, replacement, sql)
    return PARAMETER.sub("?" if database == SQLITE else "%s", sql), tuple(PARAMETER.findall(sql))


def execute(
    connection: Connection, sql: str, values: Mapping[str, object] | None = None, at_once: int | None = None
) -> Any:
    """Execute a statement with named values.

    :param at_once: how many rows are read at a time; None: all
    """
    sql, names = _translated(sql, connection.dialect.name)
    # For this statement only; an option of the connection would hold for those after it.
    options = None if at_once is None else {"yield_per": at_once}
    bound = _bound(connection, names, values or {})
    return connection.exec_driver_sql(sql, bound, execution_options=options)


def execute_all(connection: Connection, sql: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Execute a statement once for each of some rows of named values."""
    if rows:
        sql, names = _translated(sql, connection.dialect.name)
        connection.exec_driver_sql(sql, [_bound(connection, names, values) for values in rows])


def _bound(
    connection: Connection, names: tuple[str, ...], values: Mapping[str, object]
) -> tuple[object, ...]:
    found = (values[name] for name in names)
    if connection.dialect.name == SQLITE:
        return tuple(json.dumps(value) if isinstance(value, list) else value for value in found)
    return tuple(found)


def insert_all(
    connection: Connection, table: Table, on_conflict: str, rows: list[tuple[object, ...]]
) -> None:
    """Insert rows with a value for every column, in the order of the columns; `original` in octets."""
    sql, _names = _translated(
        _insertion(table, connection.dialect.name, on_conflict), connection.dialect.name
    )
    if connection.dialect.name == SQLITE:
        if rows:
            connection.exec_driver_sql(sql, rows)
        return
    # PostgreSQL executes one statement for many rows in half the time of one statement for each row.
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        columns = zip(*rows[begin : begin + ROWS_AT_ONCE], strict=True)
        connection.exec_driver_sql(sql, tuple(map(list, columns)))


@lru_cache
def _insertion(table: Table, database: str, on_conflict: str) -> str:
    names = table.columns.keys()
    if database == SQLITE:
        values = ", ".join("UTF8(:original)" if name == ORIGINAL else f":{name}" for name in names)
        return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({values}) {on_conflict}"
    arrays = {
        c.name: f"CAST(:{c.name} AS {'INT' if isinstance(c.type, Integer) else 'TEXT'}[])" for c in table.c
    }
    values = ", ".join(f"unnest({array})" for array in arrays.values())
    octets = "convert_from(unnest(CAST(:original AS BYTEA[])), 'UTF8')"
    values = values.replace("unnest(CAST(:original AS TEXT[]))", octets)
    return f"INSERT INTO {table.name} ({', '.join(names)}) SELECT {values} {on_conflict}"


def execute_among(
    connection: Connection, query: str, feed_id: int, ids: list[str], insert: str = "", end: str = ""
) -> Any:
    """Execute a query of entries of a feed for some ids.

    :param query: a SELECT that ends with a WHERE clause, with the parameter `feed_id`
    :param insert, end: what comes before and after it, to insert what is found
    """
    if connection.dialect.name == SQLITE:
        found = f"{query} AND entries.id = ANY(:ids)"
    else:
        # It may be planned before the feed has entries, and must not read whole feeds later: each id is a
        # lookup of its own.
        found = (
            "SELECT one.* FROM unnest(CAST(:ids AS TEXT[])) AS wanted (id)"
            f" JOIN LATERAL ({query} AND KEY(entries.id) = KEY(wanted.id) LIMIT 1) AS one ON true"
        )
    return execute(connection, f"{insert} {found} {end}", {"feed_id": feed_id, "ids": ids})


def some_at_once(ids: list[str]) -> Iterator[list[str]]:
    """Yield ids in groups that are small enough for a statement."""
    for begin in range(0, len(ids), IDS_AT_ONCE):
        yield ids[begin : begin + IDS_AT_ONCE]


def is_of(url: str) -> ColumnElement[bool]:
    """Return the condition that a feed has a URL."""
    return Keyed(feeds.c.url) == Keyed(literal(url))


def is_one_of(urls: list[str]) -> ColumnElement[bool]:
    """Return the condition that a feed has one of some URLs."""
    return Keyed(feeds.c.url).in_([Keyed(literal(url)) for url in urls])


def counted_time(table: str) -> str:
    """Return the time that entries or versions are sorted by: their own, or their document's.

    Times after `:latest` do not count.
    """
    own, document = f"{table}.order_time", f"rtrim({table}.document_updated, 'Z')"
    return f"""CASE WHEN {own} <> '' AND {own} <= :latest THEN {own}
        WHEN {document} <= :latest THEN {document} ELSE '' END"""


def by_counted_order(table: str, direction: str = "ASC") -> str:
    """Return the columns to sort by, without times after `:latest`."""
    columns = (counted_time(table), *(f"{table}.{name}" for name in ORDER[2:]))
    return ", ".join(f"{column} {direction}" for column in columns)


CHANGE_OF_ENTRY = "changes.feed_id = entries.feed_id AND KEY(changes.id) = KEY(entries.id)"
WINNERS = f"""
SELECT entries.id, {", ".join(f"entries.{name}" for name in ORDER)}, entries.digest, changes.id IS NOT NULL,
    changes.exported_digest, entries.document_updated, nullif(entries.enclosures, '[]')
FROM entries LEFT JOIN changes ON {CHANGE_OF_ENTRY}
WHERE entries.feed_id = :feed_id
"""
ENTRIES_COLUMNS = (
    "feed",
    *(str(column.name) for column in entries.c if column.name in {"id", *CONTENT, *TIMES}),
    *("added", "digest", "change_id", "exported_digest"),
)
# With what the optional fields are computed from, and the counted time.
OPTIONAL_COLUMNS = f"""entries.details, entries.original,
    (SELECT JSON_LIST(renames.former_id) FROM renames WHERE renames.feed_id = entries.feed_id
        AND KEY(renames.id) = KEY(entries.id) AND renames.former_id IS NOT NULL) AS former_ids,
    {counted_time("entries")} AS time"""


# How many entries more than are kept a feed has by the publisher's count: by `:total`, else by the stored
# one. A publisher may count what no document shows, and what has been deleted is kept.
UNKEPT = """(coalesce(CAST(:total AS BIGINT), feeds.total)
    - (SELECT count(*) FROM entries WHERE entries.feed_id = :feed_id AND entries.digest <> ''))"""


def entries_with_changes(where: str, order: str, only_changed: bool = False, has_details: bool = True) -> str:
    """Return the query of the columns of `ENTRIES_COLUMNS`.

    :param only_changed: leave out entries without a change since they were exported
    :param has_details: with the columns of `OPTIONAL_COLUMNS` too
    """
    special = {"feed": "feeds.url AS feed", "change_id": "changes.id AS change_id"}
    special["exported_digest"] = "changes.exported_digest"
    columns = [special.get(name, f"entries.{name}") for name in ENTRIES_COLUMNS]
    return f"""
    SELECT {", ".join([*columns, OPTIONAL_COLUMNS] if has_details else columns)}
    FROM entries JOIN feeds ON feeds.id = entries.feed_id
        {"" if only_changed else "LEFT"} JOIN changes ON {CHANGE_OF_ENTRY}
    WHERE {where} ORDER BY {order}"""


def id_of_document(key: str) -> str:
    """Return a subquery for the id of the document with a key; NULL if the key is NULL."""
    of_key = f"known.feed_id = :feed_id AND KEY(known.key) = KEY(:{key})"
    return f"(SELECT known.id FROM documents AS known WHERE {of_key})"


def chain(start: str, with_gaps: bool = False) -> str:
    """Return the CTE of a chain's documents, newest first, to the first unprocessed one; safe in loops.

    :param start: condition of the documents at which chains begin
    :param with_gaps: go on behind unprocessed documents, as far as their links are known
    """
    return f"""
    WITH RECURSIVE chain (id, behind_id, state) AS (
        SELECT id, behind_id, state FROM documents WHERE {start}
        UNION SELECT documents.id, documents.behind_id, documents.state
        FROM documents JOIN chain ON documents.id = chain.behind_id
        {"" if with_gaps else "WHERE chain.state = 'processed'"}
    )"""


def chain_ends(start: str) -> str:
    """Return the query of a chain's end: the oldest document or an unprocessed one; none in a loop."""
    return f"""{chain(start)}
    SELECT documents.* FROM documents JOIN chain ON chain.id = documents.id
    WHERE chain.state <> 'processed' OR chain.behind_id IS NULL"""


# The document redirected to another place in the feed's last walk, and in no walk before.
MOVED = "documents.moved_to IS NOT NULL AND documents.moved_walk = feeds.walk"


JSON_FIELDS = ("authors", "categories", "enclosures")
NOT_FETCHED = "has not been fetched yet"
UNREAD = {"state": State.KNOWN.value, "reason": ReasonKind.KNOWN.value, "detail": NOT_FETCHED}
BASE = model.DETAILS.index("base")
# Lists of authors and categories repeat.
LISTS_REMEMBERED = 1000

_encode = json.JSONEncoder(ensure_ascii=False).encode


@lru_cache(LISTS_REMEMBERED)
def _strings_to_json(values: tuple[str, ...]) -> str:
    return _encode(values)


@lru_cache(LISTS_REMEMBERED)
def _from_json(text: str) -> tuple[Any, ...]:
    return tuple(json.loads(text))


class DocumentRef(NamedTuple):
    """A document to be fetched.

    :param run: number of the last crawl that read it or tried to; None if none did
    :param platform: as in `Link`
    """

    key: str
    url: str
    role: Role
    position: ChainPosition
    run: int | None = None
    platform: str | None = None

    @classmethod
    def of(cls, row: Row[Any]) -> DocumentRef:
        """Return the document of a row of `documents`."""
        position = ChainPosition(row.walk, row.step)
        return cls(row.key, row.url, Role(row.role), position, row.run, row.platform)


class ChainEnd(NamedTuple):
    """The end of a chain: an unprocessed document, or None at its oldest document.

    :param loop: the links lead back to a document of the chain, from `step`, or to the subscription document
    :param is_behind_empty: `step` was left unread after many documents without news
    """

    step: DocumentRef | None
    loop: bool
    is_behind_empty: bool = False

    @classmethod
    def of(cls, row: Row[Any]) -> ChainEnd:
        """Return the chain's end for the row of `chain_ends`."""
        is_behind_empty = row.reason == ReasonKind.EMPTY_ARCHIVES.value
        step = None if row.state == State.PROCESSED.value else DocumentRef.of(row)
        return cls(step, loop=False, is_behind_empty=is_behind_empty)


class Capture(NamedTuple):
    """A response in a WARC file; the fields are those of its record.

    :param digest: WARC-Payload-Digest
    :param record: WARC-Record-ID
    :param date: WARC-Date
    :param file: absolute path; ends in `.open` while the file is being written
    :param file_id: WARC-Record-ID of its warcinfo record, which tells apart files of the same name
    """

    url: str
    digest: str
    record: str
    date: str
    file: str
    file_id: str


@dataclass(frozen=True, slots=True)
class Subscription:
    """The stored state of a feed, from which a walk begins.

    :param location: URL of the subscription document
    :param walk: number of the walk that begins
    :param run: number of the crawl that the walk is part of
    :param older_document: the older document that the subscription document linked to when it was last read
    :param validated_url: URL whose response had etag and last_modified; None if there were none
    :param body_digest: digest of that document's bytes and of the way it was read; None if it is to be
        read again even if it is unchanged
    :param crawled: when that document was last read; None if it never was
    :param received: when its body last came, rather than a 304
    :param snapshot: the snapshot that precedes the feed
    :param special: whether the hosts that the user gave had special addresses: see `crawling.given_hosts`
    :param ids: what identifies entries, one of `versions.IDS`
    :param former_ids: what did so until now, if this has changed
    :param is_listed: its publisher has a list of its entries (`Listing`)
    :param has_due_sitemap: it is time to look at the sitemaps of its site
    """

    feed: str
    location: str
    walk: int
    run: int
    older_document: DocumentRef | None = None
    etag: str | None = None
    last_modified: str | None = None
    validated_url: str | None = None
    body_digest: str | None = None
    crawled: str | None = None
    snapshot: StoredSnapshot | None = None
    special: int | None = None
    ids: str = IDS[0]
    former_ids: str | None = None
    received: str | None = None
    is_listed: bool = False
    has_due_sitemap: bool = True

    def anew(self) -> Subscription:
        """Return this state without validators, so that an unchanged subscription document is read too."""
        return replace(self, etag=None, last_modified=None, validated_url=None, body_digest=None)


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot that precedes a feed.

    :param url: URL of its index
    :param is_read: whether the index is processed
    :param created_at: ISO 8601 in UTC; None if the index gives no time
    :param part: the first of its pages that is not processed
    """

    url: str
    is_read: bool
    created_at: str | None
    part: DocumentRef | None


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed in the store.

    :param entries, absent: number of live entries; and of those among them that are gone at the publisher
    :param renamed: number of live entries whose id has changed, and that are live under the new one too
    :param documents: number of documents in each state
    :param crawled: when its subscription document was last read
    :param checked: the earliest of the times at which the documents of its chain were last seen
    :param subscribed: since when it is subscribed; None if it is not
    :param due: when it is due again; None: now
    :param oldest: when its oldest live entry was published, else updated; None if no entry has a time
    :param newest: the same for its newest live entry
    :param not_modified_ignored: since when its server's 304 responses are not believed; None if they are
    :param spans, holes: when a plain or paged feed was seen without a hole, and the holes; oldest first
    :param complete_as_of: when the pages of a paged feed that is complete were the feed
    :param sitemap: what the sitemaps of its site list; None if they were never read
    :param obtained: how its history was obtained: `links`, `WordPress pages`, `a list`, `web archive`,
        `WARC`; [] if only its subscription document was read
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

    @property
    def verdict_in_words(self) -> str:
        """The verdict as people read it, `not-read` for a feed that could never be read."""
        return in_words(self.verdict, self.reasons)


class StoredVersion(NamedTuple):
    """The newest version of an entry, or its deletion, as the feed writers read it.

    :param fields: as `Entries.read` yields them
    :param original: the entry's source in XML or JSON; None if it is not kept
    :param time: its update time, or its document's: ISO 8601 in UTC without the `Z`, '' for none
    """

    fields: dict[str, Any]
    original: str | None
    time: str
    is_deleted: bool

    @classmethod
    def of(cls, row: Row[Any]) -> StoredVersion:
        """Return the version of a row of `entries_with_changes`."""
        return cls(whole_fields(row), row.original, row.time, not row.digest)


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """A current or earlier version of an entry.

    :param state: `current`, `superseded` or `deleted`
    :param captured: when a web archive captured the version's document; None if a walk read it
    :param fields: the fields of the entry and of its document
    """

    state: str
    captured: str | None
    fields: dict[str, Any]


def kept_version(row: Row[Any], is_current: bool) -> KeptVersion:
    """Return the version of a row of `entries` or `versions`."""
    state = "deleted" if not row.digest else "current" if is_current else "superseded"
    fields = {name: getattr(row, name) for name in ("id", *TIMES, *CONTENT)}
    for name in JSON_FIELDS:
        fields[name] = list(_from_json(fields[name]))
    return KeptVersion(state, captured(ChainPosition(row.order_walk, row.order_step)), fields)


def find_document(connection: Connection, feed_id: int, key: str) -> Row[Any] | None:
    """Return the row of a document; None if it is not known."""
    of_key = "SELECT * FROM documents WHERE feed_id = :feed_id AND KEY(key) = KEY(:key)"
    row: Row[Any] | None = execute(connection, of_key, {"feed_id": feed_id, "key": key}).first()
    return row


def winners(found: Iterable[Sequence[Any]], latest: str) -> dict[str, Winner]:
    """Return the newest versions in the result of a statement of `WINNERS`, by id.

    :param latest: latest time to take into account
    """
    return {row[0]: _winner(Order(*row[1:7]), latest, *row[7:]) for row in found}


def _winner(
    order: Order,
    latest: str,
    digest: str,
    is_pending: bool,
    exported: str | None,
    document_updated: str | None,
    enclosures: str | None,
) -> Winner:
    counted = order.counted(latest)
    uncounted = None if counted is order else order.time
    document_time = comparable(document_updated)
    if document_time > latest:
        document_time = ""
    return Winner(counted, digest, bool(is_pending), exported, uncounted, document_time, enclosures)


def unread_row(fetch: Fetch) -> dict[str, object]:
    """Return the columns of a row for an unread older document."""
    place = fetch.position.before()
    return UNREAD | {"walk": place.walk, "step": place.step, "since": fetch.fetched}


def known_document_row(feed_id: int, fetch: Fetch, key: str, url: str, role: Role) -> dict[str, object]:
    """Return the row of an unread older document."""
    row = {"feed_id": feed_id, "key": key, "url": url, "role": role.value, "lost_entries": 0}
    return row | unread_row(fetch)


def entry_row(feed_id: int, version: Version, fields: dict[str, Any]) -> tuple[object, ...]:
    """Return the row of a version of an entry, in the order of the columns."""
    return (
        feed_id,
        version.id,
        fields["title"],
        fields["link"],
        fields["published"],
        fields["updated"],
        _strings_to_json(tuple(fields["authors"])),
        _strings_to_json(tuple(fields["categories"])),
        fields["summary"],
        fields["content"],
        fields["content_type"],
        _encode(fields["enclosures"]) if fields["enclosures"] else "[]",
        fields["operation"],
        fields["document"],
        fields["document_updated"],
        version.digest,
        *version.stored_order,
        version.original,
        fields.get(PIPELINE_FIELDS),
        _details(fields),
    )


def tombstone_row(feed_id: int, version: Version) -> tuple[object, ...]:
    """Return the row of an entry that was deleted before it was read."""
    return entry_row(feed_id, version, dict.fromkeys((*CONTENT, *TIMES)) | dict.fromkeys(JSON_FIELDS, ()))


def times_row(feed_id: int, version: Version, fields: dict[str, Any]) -> dict[str, object]:
    """Return the columns that change when the same content is read in a newer version."""
    return {
        "feed_id": feed_id,
        "id": version.id,
        **{name: fields[name] for name in TIMES},
        **dict(zip(ORDER, version.stored_order, strict=True)),
        "digest": version.digest,
        ORIGINAL: version.original,
        DETAILS: _details(fields),
        "enclosures": _encode(fields["enclosures"]) if fields["enclosures"] else None,
    }


# The base is the document's URL unless it is stored.
def _details(fields: dict[str, Any]) -> str:
    values = [fields.get(name) for name in model.DETAILS]
    values[BASE] = None if values[BASE] in ("", fields["document"]) else values[BASE]
    return _details_to_json(*values)


@lru_cache(LISTS_REMEMBERED)
def _details_to_json(*values: str | None) -> str:
    details = zip(model.DETAILS, values, strict=True)
    return _encode({name: value for name, value in details if value is not None})


def exported_fields(row: Sequence[Any]) -> dict[str, Any]:
    """Return a stored entry's fields, with its change since the last export."""
    fields = dict(zip(ENTRIES_COLUMNS, row, strict=True))
    for name in JSON_FIELDS:
        fields[name] = list(_from_json(fields[name]))
    digest, exported, added = (fields.pop(name) for name in ("digest", "exported_digest", "added"))
    if fields.pop("change_id") is None:
        fields["change"] = None
    elif not digest:
        fields["change"] = "deleted"
    else:
        fields["change"] = "updated" if exported else "new"
    return fields | json.loads(added) if added else fields


def whole_fields(row: Row[Any]) -> dict[str, Any]:
    """Return the same with the optional fields and `original`, for a row with details."""
    fields = exported_fields(row[: len(ENTRIES_COLUMNS)])
    details = {**dict.fromkeys(model.DETAILS), "base": fields["document"], **json.loads(row.details)}
    former_ids = sorted(json.loads(row.former_ids))
    return {**fields, **details, ORIGINAL: row.original, "former_ids": former_ids}
