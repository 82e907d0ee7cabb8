"""The coverage of plain feeds in the store."""

from __future__ import annotations

import dataclasses
import json
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select

from fhcrawl.logical_feed.captures import CaptureRead, Covered, covered_by
from fhcrawl.logical_feed.coverage import MARK, Coverage, EarlierSpan
from fhcrawl.store.schema import Text, coverage, feeds, mementos, timemaps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection, Dialect, Row

COLUMNS = tuple(field.name for field in dataclasses.fields(Coverage))
OF_FEEDS = select(coverage).where(coverage.c.feed_id.in_(bindparam("feeds", expanding=True)))
# Captures of other documents than subscription documents show nothing of what was new.
CAPTURES = (
    select(mementos.c.feed_id, mementos.c.captured, mementos.c.marks, timemaps.c.url)
    .join(timemaps, timemaps.c.id == mementos.c.timemap_id)
    .where(
        mementos.c.feed_id.in_(bindparam("feeds", expanding=True)),
        timemaps.c.depth == 0,
        mementos.c.marks.is_not(None),
    )
    .order_by(mementos.c.feed_id)
)
_time = bindparam("b_time", type_=Text)
_last_read = select(feeds.c.crawled).where(feeds.c.id == coverage.c.feed_id).scalar_subquery()
# `Coverage.confirm`; before `statements.CONFIRM_FEED`. If the unchanged document was empty, or of another
# kind, the coverage is that of a document before it.
CONFIRM = (
    coverage.update()
    .where(
        coverage.c.feed_id == bindparam("b_feed_id"),
        coverage.c.shown > coverage.c.depth,
        coverage.c.since <= coverage.c.until,
        coverage.c.until == _last_read,
        coverage.c.until < _time,
    )
    .values(until=_time)
)


def upsert(dialect: Dialect) -> Any:
    """Return the statement that writes the coverage of a feed."""
    statement = import_module(f"sqlalchemy.dialects.{dialect.name}").insert(coverage)
    new = {name: statement.excluded[name] for name in COLUMNS}
    return statement.on_conflict_do_update(index_elements=(coverage.c.feed_id,), set_=new)


def read(connection: Connection, feed_ids: list[int]) -> dict[int, Coverage]:
    """Return the coverage of feeds, by id; feeds that have none are missing."""
    return {row.feed_id: _of(row) for row in connection.execute(OF_FEEDS, {"feeds": feed_ids})}


def _of(row: Row[Any]) -> Coverage:
    values = {name: getattr(row, name) for name in COLUMNS}
    values["earlier"] = tuple(EarlierSpan(*span) for span in json.loads(row.earlier))
    return Coverage(**values)


def with_captures(
    connection: Connection, feed_ids: list[int], own: Mapping[int, Coverage]
) -> dict[int, Covered]:
    """Return what captures and their own reads cover of feeds, by id; feeds that have neither are missing.

    :param own: the coverage by their own reads
    """
    found = {feed_id: covered_by((), read) for feed_id, read in own.items()}
    captures = connection.execute(CAPTURES, {"feeds": feed_ids})
    for feed_id, rows in groupby(captures, key=lambda row: row.feed_id):
        reads, urls = [], set()
        for row in rows:
            reads.append(CaptureRead(row.captured, marks_of(row.marks)))
            urls.add(row.url)
        found[feed_id] = covered_by(reads, own.get(feed_id), of_several=len(urls) > 1)
    return {feed_id: covered for feed_id, covered in found.items() if covered is not None}


def marks_of(text: str) -> tuple[str, ...]:
    """Return the marks of the entries of a capture."""
    return tuple(text[at : at + MARK] for at in range(0, len(text), MARK))


def row(feed_id: int, covered: Coverage) -> dict[str, object]:
    """Return the row of a feed's coverage."""
    values = {name: getattr(covered, name) for name in COLUMNS}
    return {"feed_id": feed_id, **values, "earlier": json.dumps(covered.earlier)}
