"""Reads indexes of snapshots (datareplication.io, 'Snapshot'), and those of the draft of 2015."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING
from urllib.parse import quote

from fhcrawl.documents.dates import utc
from fhcrawl.documents.identifiers import WHITE_SPACE
from fhcrawl.documents.json_text import Number
from fhcrawl.documents.xml.elements import LONGEST_URL, resolve
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from typing import TypeGuard

    from fhcrawl.documents.json_text import Object
    from fhcrawl.documents.model import FeedDocument

NAMESPACE = "urn:snapshot:"
# Problems of a feed's entities that are not required of a snapshot's.
NO_PROBLEMS = ("no-id", "no-operation")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
SURROGATE = re.compile("[\ud800-\udfff]")
INTEGER = re.compile("-?[0-9]+")
# Characters: of the id, which all pages and entities of the snapshot repeat; and of all URLs.
LONGEST_ID = 1000
LONGEST_LIST = 32 * 1024**2


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The index of a snapshot.

    :param id: of the snapshot; never ''
    :param created_at: ISO 8601 in UTC; None if the index has no readable time. After the snapshot, a feed is
        read from entities at or after it.
    :param pages: absolute URLs, in the order of the index
    """

    id: str
    created_at: str | None
    pages: list[str]

    @property
    def prefix(self) -> str:
        """The prefix of the ids of all its entities, and of no other snapshot's."""
        return f"{NAMESPACE}{quote(self.id, safe=':')}:"


def read(index: Object, url: str, max_pages: int) -> Snapshot | None:
    """Read the index of a snapshot; return None if it is other JSON.

    :param url: URL of the index; relative URLs of pages are resolved against it
    :param max_pages: maximum number of pages; 0 is no limit
    :raises NotAFeedError: if it names too many pages, or its id or their URLs are too long
    """
    snapshot_id = _id(index.get("id"))
    pages = _pages(index)
    if snapshot_id is None or pages is None:
        return None
    check_number(len(pages), max_pages)
    if len(snapshot_id) > LONGEST_ID:
        raise NotAFeedError(
            ReasonKind.TOO_LARGE, f"the id of a snapshot has more than {LONGEST_ID} characters"
        )
    return Snapshot(snapshot_id, _created_at(index), _resolved(pages, url))


def check_number(documents: int, limit: int) -> None:
    """:raises NotAFeedError: if a list names more documents than the limit; 0 is no limit"""
    if limit and documents > limit:
        asked = "none of them is read, as FHCRAWL_MAX_ENTRIES asks"
        raise NotAFeedError(ReasonKind.LIMIT, f"names more than {limit} documents: {asked}")


# Such an entity is named by the index's id and two positions only: the URL of a page may change.
def page_key(snapshot: Snapshot, position: int) -> str:
    """Return a key for a page that does not depend on its URL.

    :param position: index of the page in the list, from 0
    """
    return f"{snapshot.prefix}{position}"


def entry_id(key: str, position: int) -> str:
    """Return an id for an entity without one; it is different in the next snapshot.

    :param key: key of its page
    :param position: index of the entity in its page, from 0, in the order of the page
    """
    return f"{key}:{position}"


def prefix_of(key: str) -> str | None:
    """Return the prefix of a page's snapshot; None if the key is not of a snapshot's page."""
    return key[: key.rindex(":") + 1] if key.startswith(NAMESPACE) else None


# Snapshot: "Its pages' entities have no Content-ID and no operation"; and no page leads to another.
def page(document: FeedDocument, key: str) -> FeedDocument:
    """Return a page of a snapshot, with ids for entities without one."""
    # FeedDocument has the reverse order of the page.
    entries = list(document.entries)
    for position, entry in enumerate(reversed(entries)):
        if entry.id is None:
            entry.id = entry_id(key, position)
    problems = [problem for problem in document.problems if problem.kind not in NO_PROBLEMS]
    return replace(document, entries=entries, problems=problems, links={}, other_links={})


def _id(value: object) -> str | None:
    if isinstance(value, Number):
        return str(value) if INTEGER.fullmatch(value) else None
    return value.strip(WHITE_SPACE) if _is_text(value) else None


def _is_text(value: object) -> TypeGuard[str]:
    if not isinstance(value, str) or isinstance(value, Number):
        return False
    return bool(value.strip()) and not SURROGATE.search(value)


def _pages(index: Object) -> list[str] | None:
    # Snapshot: `id`, `createdAt` and `pages` are required; the 2015 draft has `uris`, which are relative.
    pages = index.get("pages") if "createdAt" in index else index.get("uris")
    return pages if isinstance(pages, list) and all(map(_is_text, pages)) else None


# A short reference becomes a URL with the whole base.
def _resolved(pages: list[str], url: str) -> list[str]:
    resolved: list[str] = []
    left = LONGEST_LIST
    for page in pages:
        resolved.append(resolve(page, url).partition("#")[0])
        left -= len(resolved[-1])
        if left < 0 or len(resolved[-1]) > LONGEST_URL:
            raise NotAFeedError(ReasonKind.TOO_LARGE, "the URLs in it are too long")
    return resolved


def _created_at(index: Object) -> str | None:
    if "createdAt" in index:
        created = index["createdAt"]
        return utc(created) if isinstance(created, str) else None
    # 2015 draft: "Start processing the event feed at the timestamp larger or equal than the snapshot start
    # timestamp"; what has changed between `started` and `completed` may not be in the snapshot.
    started = index.get("started")
    if not isinstance(started, Number):
        return None
    try:
        time = EPOCH + timedelta(milliseconds=float(started))
    except (OverflowError, ValueError):
        return None
    return f"{time.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
