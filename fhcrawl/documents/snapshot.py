"""Snapshots (datareplication.io, 'Snapshot'), and those of the 2015 draft that came before it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fhcrawl.documents.dates import utc
from fhcrawl.documents.identifiers import WHITE_SPACE
from fhcrawl.documents.xml import resolve

if TYPE_CHECKING:
    from typing import TypeGuard

    from fhcrawl.documents.model import FeedDocument

NAMESPACE = "urn:snapshot:"
# What a snapshot's entities need not have.
NO_PROBLEMS = ("no-id", "no-operation")
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

    @property
    def prefix(self) -> str:
        """What the ids of all its entities begin with; those of another snapshot do not."""
        return f"{NAMESPACE}{quote(self.id, safe=':')}:"


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
def page_key(snapshot: Snapshot, position: int) -> str:
    """What names a page, whatever its URL.

    :param position: in the index's list, from 0
    """
    return f"{snapshot.prefix}{position}"


def entry_id(key: str, position: int) -> str:
    """The identity of an entity that has none: the next snapshot gives it another one.

    :param key: of its page
    :param position: in its page, from 0, in the order of the page
    """
    return f"{key}:{position}"


def prefix_of(key: str) -> str | None:
    """What the ids of all entities of a page's snapshot begin with; None if the key is no such page's."""
    return key[: key.rindex(":") + 1] if key.startswith(NAMESPACE) else None


# Snapshot: "Its pages' entities have no Content-ID and no operation"; and no page leads to another.
def page(document: FeedDocument, key: str) -> FeedDocument:
    """A page of a snapshot, whose entities without an identity have one."""
    # FeedDocument has the entities in the order of the page reversed.
    entries = list(document.entries)
    for position, entry in enumerate(reversed(entries)):
        if entry.id is None:
            entry.id = entry_id(key, position)
    problems = [problem for problem in document.problems if problem.kind not in NO_PROBLEMS]
    return replace(document, entries=entries, problems=problems, links={}, other_links={})


def _object(body: bytes) -> dict[str, Any]:
    try:
        index = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return index if isinstance(index, dict) else {}


def _id(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip(WHITE_SPACE) if _is_text(value) else None


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
