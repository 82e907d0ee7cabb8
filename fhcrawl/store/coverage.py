"""The coverage of plain feeds in the store."""

from __future__ import annotations

import dataclasses
import json
from itertools import groupby
from typing import TYPE_CHECKING, Any

from fhcrawl.logical_feed.coverage import (
    CaptureRead,
    Coverage,
    Covered,
    EarlierSpan,
    covered_by,
    marks_of,
)
from fhcrawl.store.statements import execute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

COLUMNS = tuple(field.name for field in dataclasses.fields(Coverage))
# `Coverage.confirm`; before the feed is confirmed. If the unchanged document was empty, or of another kind,
# the coverage is that of a document before it.
CONFIRM = """
UPDATE coverage SET until = :time
WHERE feed_id = :feed_id AND shown > depth AND since <= until AND until < :time
    AND until = (SELECT feeds.crawled FROM feeds WHERE feeds.id = coverage.feed_id)
"""
WRITE = f"""
INSERT INTO coverage (feed_id, {", ".join(COLUMNS)}) VALUES (:feed_id, {", ".join(f":{n}" for n in COLUMNS)})
ON CONFLICT (feed_id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in COLUMNS)}
"""


def read(connection: Connection, feed_ids: list[int]) -> dict[int, Coverage]:
    """Return the coverage of feeds, by id; feeds that have none are missing."""
    of_feeds = "SELECT * FROM coverage WHERE feed_id = ANY(:feeds)"
    coverages = {}
    for row in execute(connection, of_feeds, {"feeds": feed_ids}):
        values: dict[str, Any] = {name: getattr(row, name) for name in COLUMNS}
        values["earlier"] = tuple(EarlierSpan(*span) for span in json.loads(row.earlier))
        coverages[row.feed_id] = Coverage(**values)
    return coverages


def with_captures(
    connection: Connection, feed_ids: list[int], own: Mapping[int, Coverage]
) -> dict[int, Covered]:
    """Return what captures and their own reads cover of feeds, by id; feeds that have neither are missing.

    :param own: the coverage by their own reads
    """
    found = {feed_id: covered_by((), read) for feed_id, read in own.items()}
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
            reads.append(CaptureRead(row.captured, marks_of(row.marks)))
            urls.add(row.url)
        found[feed_id] = covered_by(reads, own.get(feed_id), of_several=len(urls) > 1)
    return {feed_id: covered for feed_id, covered in found.items() if covered is not None}


def row(covered: Coverage) -> dict[str, object]:
    """Return the columns of a feed's coverage."""
    values = {name: getattr(covered, name) for name in COLUMNS}
    return {**values, "earlier": json.dumps(covered.earlier)}
