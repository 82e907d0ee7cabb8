"""Indexes of snapshots (datareplication.io, 'Snapshot'), and of the 2015 draft that came before it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fhcrawl.documents.dates import utc
from fhcrawl.documents.xml import resolve

if TYPE_CHECKING:
    from typing import TypeGuard

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot's index.

    :param id: of the snapshot; never ''
    :param created_at: ISO 8601 in UTC; None if the index gives no time that can be read. A feed is read from
        entities at or after it.
    :param pages: absolute URLs, in the order of the index
    """

    id: str
    created_at: str | None
    pages: list[str]


def read(body: bytes, url: str) -> Snapshot | None:
    """Read a snapshot's index; None if the body is no JSON, or JSON of another kind.

    :param url: where the body came from; relative URLs of pages are resolved against it
    """
    index = _object(body)
    snapshot_id = _id(index.get("id"))
    pages = _pages(index, url)
    if snapshot_id is None or pages is None:
        return None
    return Snapshot(snapshot_id, _created_at(index), pages)


# Only the index's id and the two positions name such an entity: the URL of a page may change.
def entry_id(snapshot_id: str, page_position: int, entity_position: int) -> str:
    """The identity of an entity that has none: the next snapshot gives it another one.

    :param page_position: of its page in the index's list, from 0
    :param entity_position: of the entity in its page, from 0, in the order of the page
    """
    name = quote(snapshot_id, safe=":")
    return f"urn:snapshot:{name}:{page_position}:{entity_position}"


def _object(body: bytes) -> dict[str, Any]:
    try:
        index = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return index if isinstance(index, dict) else {}


def _id(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() if _is_text(value) else None


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip()) and not SURROGATE.search(value)


def _pages(index: dict[str, Any], url: str) -> list[str] | None:
    # Snapshot: `id`, `createdAt` and `pages` are required; the 2015 draft has `uris`, which are relative.
    pages = index.get("pages") if "createdAt" in index else index.get("uris")
    if not isinstance(pages, list) or not all(map(_is_text, pages)):
        return None
    return [resolve(page, url).partition("#")[0] for page in pages]


def _created_at(index: dict[str, Any]) -> str | None:
    if "createdAt" in index:
        created = index["createdAt"]
        return utc(created) if isinstance(created, str) else None
    # 2015 draft: "Start processing the event feed at the timestamp larger or equal than the snapshot start
    # timestamp"; what has changed between `started` and `completed` may not be in the snapshot.
    started = index.get("started")
    if isinstance(started, bool) or not isinstance(started, (int, float)):
        return None
    try:
        time = EPOCH + timedelta(milliseconds=started)
    except (OverflowError, ValueError):
        return None
    return f"{time.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
