"""Statements that are built once for each database."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ARRAY,
    CTE,
    Integer,
    LargeBinary,
    ScalarSelect,
    Select,
    Text,
    Update,
    bindparam,
    case,
    column,
    func,
    literal,
    select,
    true,
)

from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.results import State
from fhcrawl.store.compiled import CompiledStatement
from fhcrawl.store.schema import (
    POSTGRESQL,
    SQLITE,
    JsonList,
    Keyed,
    Number,
    Utf8,
    changes,
    documents,
    entries,
    feeds,
    renames,
    versions,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import ColumnElement, Connection, Dialect

DATABASES = (SQLITE, POSTGRESQL)
# One for each number of ids.
STATEMENTS_REMEMBERED = 100
# Databases limit the number of parameters; SQLite's limit was 999 for long.
IDS_AT_ONCE = 500

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
ORDER = (
    "order_time",
    "order_tombstone",
    "order_document_time",
    "order_walk",
    "order_step",
    "order_position",
)
ORIGINAL, DETAILS = "original", "details"
# The latest time to take into account; see `Order.counted`.
LATEST = bindparam("latest", type_=Text())


def counted_order(table: Any) -> tuple[ColumnElement[Any], ...]:
    """Return the columns of `ORDER` without times after `LATEST`, to sort entries or versions by."""
    time, document_time = table.c.order_time, table.c.order_document_time
    counted_document = case((document_time <= LATEST, document_time), else_="")
    counted = case((time <= LATEST, time), else_=counted_document)
    return counted, table.c.order_tombstone, counted_document, *(table.c[name] for name in ORDER[3:])


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


CHANGE_OF_ENTRY = (changes.c.feed_id == entries.c.feed_id) & (Keyed(changes.c.id) == Keyed(entries.c.id))

WINNERS = (
    select(
        entries.c.id,
        *(entries.c[name] for name in ORDER),
        entries.c.digest,
        changes.c.id.is_not(None),
        changes.c.exported_digest,
    )
    .outerjoin(changes, CHANGE_OF_ENTRY)
    .where(entries.c.feed_id == bindparam("feed_id"))
)


def among(statement: Select[Any], names: str, dialect: Dialect) -> Select[Any]:
    """Restrict a statement on entries to the ids in a parameter, in one database's SQL.

    :param names: name of the parameter
    """
    if dialect.name == SQLITE:
        return statement.where(entries.c.id.in_(bindparam(names, expanding=True)))
    # One array, so that there is one statement for any number of ids. It may be planned before the feed has
    # entries, and must not read whole feeds later: each id is a lookup of its own.
    ids = func.unnest(bindparam(names, type_=ARRAY(Text))).table_valued(column("id", Text), name="wanted")
    wanted = ids.render_derived()
    one = statement.where(Keyed(entries.c.id) == Keyed(wanted.c.id)).limit(1).lateral("one")
    return select(one).select_from(wanted).join(one, true())


ENTRIES = select(
    feeds.c.url.label("feed"),
    entries.c.id,
    *(column for column in entries.c if column.name in {*CONTENT, *TIMES}),
    entries.c.added,
    entries.c.digest,
    changes.c.id.label("change_id"),
    changes.c.exported_digest,
).join_from(entries, feeds, feeds.c.id == entries.c.feed_id)

ENTRIES_COLUMNS = [str(name) for name in ENTRIES.selected_columns.keys()]  # noqa: SIM118 - a collection of columns
_former = (renames.c.feed_id == entries.c.feed_id) & (Keyed(renames.c.id) == Keyed(entries.c.id))
FORMER_IDS = select(JsonList(renames.c.former_id)).where(_former, renames.c.former_id.is_not(None))
# With what the optional fields are computed from.
WHOLE_ENTRIES = ENTRIES.add_columns(
    entries.c.details, entries.c.original, FORMER_IDS.scalar_subquery().label("former_ids")
)
VERSIONS = WHOLE_ENTRIES.add_columns(counted_order(entries)[0].label("time"))

ENTRY = select(entries).where(
    entries.c.feed_id == bindparam("feed_id"), Keyed(entries.c.id) == Keyed(bindparam("id", type_=Text()))
)
VERSIONS_BEFORE = (
    select(versions)
    .where(
        versions.c.feed_id == bindparam("feed_id"),
        Keyed(versions.c.id) == Keyed(bindparam("id", type_=Text())),
    )
    .order_by(*(column.desc() for column in counted_order(versions)))
)

CONFIRM_ENTRY = (
    entries.update()
    .where(
        entries.c.feed_id == bindparam("b_feed_id"),
        Keyed(entries.c.id) == Keyed(bindparam("b_id", type_=Text())),
    )
    .values(
        {
            **{name: bindparam(name) for name in (*TIMES, *ORDER, "digest")},
            ORIGINAL: func.coalesce(Utf8(bindparam(ORIGINAL, type_=LargeBinary())), entries.c.original),
            DETAILS: bindparam(DETAILS),
        }
    )
)

DELETE_ENTRY = (
    entries.update()
    .where(
        entries.c.feed_id == bindparam("b_feed_id"),
        Keyed(entries.c.id) == Keyed(bindparam("b_id", type_=Text())),
    )
    .values(digest="", **{name: bindparam(name) for name in ORDER})
)

SETTLE_CHANGE = changes.delete().where(
    changes.c.feed_id == bindparam("b_feed_id"), Keyed(changes.c.id) == Keyed(bindparam("b_id", type_=Text()))
)

FIND_DOCUMENT = select(documents).where(
    documents.c.feed_id == bindparam("feed_id"),
    Keyed(documents.c.key) == Keyed(bindparam("key", type_=Text())),
)


def number_of(key: str) -> ScalarSelect[Any]:
    """Return a subquery for the id of the document with a feed and a key; NULL if the key is NULL."""
    known = documents.alias("known")
    wanted = Keyed(bindparam(key, type_=Text()))
    found = (known.c.feed_id == bindparam("b_feed_id")) & (Keyed(known.c.key) == wanted)
    return select(known.c.id).where(found).scalar_subquery()


@lru_cache(STATEMENTS_REMEMBERED)
def update_feed(names: tuple[str, ...], is_subscription: bool) -> Update:
    """Return an UPDATE of columns of a feed, and of its subscription document's id if wanted."""
    changed: dict[str, Any] = {name: bindparam(name, type_=feeds.c[name].type) for name in names}
    if is_subscription:
        changed["subscription_id"] = number_of("b_key")
    return feeds.update().where(feeds.c.id == bindparam("b_feed_id")).values(changed)


# Until the subscription document is read, a feed has the title of a capture.
NAME_UNREAD_FEED = (
    feeds.update()
    .where(feeds.c.id == bindparam("b_feed_id"), feeds.c.kind.is_(None), feeds.c.title.is_(None))
    .values(title=bindparam("b_title"))
)
# RFC 9111, 4.3.4: a 304 response updates the stored header fields; those that it lacks stay.
CONFIRM_FEED = (
    feeds.update()
    .where(feeds.c.id == bindparam("b_feed_id"))
    .values(
        crawled=bindparam("b_time"),
        polled=bindparam("b_time"),
        walk=bindparam("b_walk"),
        fresh_seconds=func.coalesce(bindparam("b_fresh", type_=Number), feeds.c.fresh_seconds),
        special=func.coalesce(bindparam("b_special", type_=Integer), feeds.c.special),
    )
)
CONFIRM_SUBSCRIPTION = (
    documents.update()
    .where(
        documents.c.id
        == select(feeds.c.subscription_id).where(feeds.c.id == bindparam("b_feed_id")).scalar_subquery()
    )
    .values(walk=bindparam("b_walk"), checked=bindparam("b_time"), checked_walk=bindparam("b_walk"))
)

_subscription = (
    select(documents.c.walk, documents.c.step)
    .join(feeds, feeds.c.subscription_id == documents.c.id)
    .where(feeds.c.id == bindparam("b_feed_id"))
    .subquery()
)
# Comes before CONFIRM_SUBSCRIPTION.
CONFIRM_NEWEST = (
    entries.update()
    .where(
        entries.c.feed_id == bindparam("b_feed_id"),
        entries.c.order_walk == select(_subscription.c.walk).scalar_subquery(),
        entries.c.order_step == select(_subscription.c.step).scalar_subquery(),
    )
    .values(order_walk=bindparam("b_walk"))
)

_front = documents.alias("front")
FRONT_OF = (
    select(_front.c.url)
    .join(documents, documents.c.id == _front.c.behind_id)
    .where(
        _front.c.feed_id == bindparam("feed_id"),
        documents.c.feed_id == bindparam("feed_id"),
        Keyed(documents.c.key) == Keyed(bindparam("key", type_=Text())),
    )
)


# A check that has failed has neither `b_checked` nor `b_walk`.
NOTE_CHECK = (
    documents.update()
    .where(
        documents.c.feed_id == bindparam("b_feed_id"),
        Keyed(documents.c.key) == Keyed(bindparam("b_key", type_=Text())),
    )
    .values(
        fetched=bindparam("b_time"),
        checked=func.coalesce(bindparam("b_checked", type_=Text()), documents.c.checked),
        checked_walk=func.coalesce(bindparam("b_walk", type_=Integer), documents.c.checked_walk),
    )
)

FORGET_OTHERS = documents.delete().where(
    documents.c.feed_id == bindparam("b_feed_id"),
    Keyed(documents.c.key) != Keyed(bindparam("b_key", type_=Text())),
)
_time = bindparam("b_time", type_=Text())
NOTE_UNCOUNTED = (
    documents.update()
    .where(
        documents.c.feed_id == bindparam("b_feed_id"),
        documents.c.walk == bindparam("b_walk"),
        documents.c.step == bindparam("b_step"),
    )
    .values(uncounted=case((documents.c.uncounted < _time, documents.c.uncounted), else_=_time))
)
FORGET_DOCUMENT = documents.delete().where(documents.c.id == bindparam("b_id"))

_before = documents.alias("before")
_is_behind_key = documents.c.id.in_(
    select(_before.c.behind_id).where(
        _before.c.feed_id == bindparam("b_feed_id"),
        Keyed(_before.c.key) == Keyed(bindparam("b_key", type_=Text())),
        _before.c.behind_id != _before.c.id,
    )
)
_leading = select(_before.c.behind_id).where(
    _before.c.feed_id == bindparam("b_feed_id"), _before.c.behind_id.is_not(None)
)
_is_behind_subscription = documents.c.id.in_(_leading.where(_before.c.role == Role.SUBSCRIPTION.value))


def _unread(where: ColumnElement[bool]) -> Update:
    """Return an UPDATE that marks pages as unread; archives that have been read stay read."""
    names = ("state", "reason", "detail", "since", "walk", "step")
    return (
        documents.update()
        .where(
            documents.c.feed_id == bindparam("b_feed_id"),
            documents.c.role == Role.PAGE.value,
            documents.c.state == State.PROCESSED.value,
            where,
        )
        .values({name: bindparam(name) for name in names})
    )


UNREAD_PAGE = _unread(_is_behind_key)
# An earlier subscription document may have linked to the page, or no document links to it at the moment.
UNREAD_PAGES = _unread(_is_behind_subscription | documents.c.id.not_in(_leading))


def chain(start: Any, with_gaps: bool = False) -> CTE:
    """Return the query of a chain's documents, newest first, to the first unprocessed one; safe in loops.

    :param with_gaps: go on behind unprocessed documents, as far as their links are known
    """
    columns = (documents.c.id, documents.c.behind_id, documents.c.state)
    first = select(*columns).where(start).cte("chain", recursive=True)
    older = select(*columns).join(first, documents.c.id == first.c.behind_id)
    return first.union(older if with_gaps else older.where(first.c.state == State.PROCESSED.value))


def chain_ends(start: Any) -> Select[Any]:
    """Return the query of a chain's end: the oldest document or an unprocessed one; none in a loop."""
    links = chain(start)
    return (
        select(documents)
        .join(links, links.c.id == documents.c.id)
        .where((links.c.state != State.PROCESSED.value) | links.c.behind_id.is_(None))
    )


class WinnersAmong:
    """The statement of `WINNERS` for some ids, compiled for one database."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._compiled = lru_cache(STATEMENTS_REMEMBERED)(self._of)

    def execute(self, connection: Connection, feed_id: int, ids: list[str]) -> Any:
        """Execute the statement for some ids of a feed."""
        if self._dialect.name == SQLITE:
            numbered = {f"id_{number}": entry_id for number, entry_id in enumerate(ids)}
            return self._compiled(len(ids)).execute(connection, {"feed_id": feed_id, **numbered})
        return self._compiled(1).execute(connection, {"feed_id": feed_id, "ids": ids})

    def _of(self, number: int) -> CompiledStatement:
        if self._dialect.name != SQLITE:
            return CompiledStatement(among(WINNERS, "ids", self._dialect), self._dialect)
        ids = entries.c.id.in_([bindparam(f"id_{n}", type_=Text()) for n in range(number)])
        return CompiledStatement(WINNERS.where(ids), self._dialect)


CHAIN_ENDS = chain_ends(documents.c.id == bindparam("start"))


def _end_of() -> Select[Any]:
    """Return the query of a document, as `start_id`, `start_role` and `start_run`, and of its chain's end."""
    start = documents.alias("start")
    feed: ColumnElement[int] = bindparam("feed_id", type_=Integer())
    key = Keyed(bindparam("key", type_=Text()))
    ends = chain_ends((documents.c.feed_id == feed) & (Keyed(documents.c.key) == key)).subquery("ends")
    return (
        select(*(start.c[name].label(f"start_{name}") for name in ("id", "role", "run")), ends)
        .join_from(start, ends, true(), isouter=True)
        .where(start.c.feed_id == feed, Keyed(start.c.key) == key)
    )


END_OF = _end_of()


# The document redirected to another place in the feed's last walk, and in no walk before.
MOVED = documents.c.moved_to.is_not(None) & (documents.c.moved_walk == feeds.c.walk)
