"""Reads lists of a feed's documents: folders, and snapshots (datareplication.io and its draft of 2015)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from fhcrawl.documents.dates import utc
from fhcrawl.documents.formats.jsonfeed import Number
from fhcrawl.documents.model import WHITE_SPACE
from fhcrawl.documents.xml.elements import LONGEST_URL, resolve
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from typing import TypeGuard

    from fhcrawl.documents.formats.jsonfeed import Object
    from fhcrawl.documents.model import FeedDocument

URI_LIST = "text/uri-list"
IS_LIST = "it is a list of documents"
NAMESPACE = "urn:snapshot:"
# Problems that entities of a feed can have, but not those of a snapshot.
NO_PROBLEMS = ("no-id", "no-operation")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
SURROGATE = re.compile("[\ud800-\udfff]")
INTEGER = re.compile("-?[0-9]+")
LONGEST_ID = 1000  # characters: all entities of the snapshot repeat it
LONGEST_LIST = 32 * 1024**2  # characters of all URLs


class ListedDocument(NamedTuple):
    """A document of a list; its `key` changes when the document changes."""

    key: str
    url: str


@dataclass(frozen=True, slots=True)
class DocumentList:
    """A list of documents that form one feed, the newest first.

    :param created_at: when a snapshot was made, ISO 8601 in UTC; None if unknown
    :param prefix: the beginning of the ids of a snapshot's entities; None for a folder
    """

    documents: list[ListedDocument]
    created_at: str | None = None
    prefix: str | None = None


def is_folder(url: str, content_type: str | None) -> bool:
    return content_type == URI_LIST and url.startswith("file:")


# RFC 2483, 5: one URI per line; lines that begin with # are comments. A fragment is the state of a file.
def read_folder(body: bytes, max_documents: int) -> DocumentList:
    """:raises NotAFeedError: if it lists more documents than the maximum (0 means no limit)"""
    lines = [line for line in body.decode("ascii").splitlines() if line and not line.startswith("#")]
    _check_length(len(lines), max_documents)
    return DocumentList([ListedDocument(line, line.partition("#")[0]) for line in lines])


def _check_length(documents: int, limit: int) -> None:
    if limit and documents > limit:
        allowed = f"FHCRAWL_MAX_ENTRIES ({limit}) allows"
        raise NotAFeedError(ReasonKind.TOO_LARGE, f"it lists {documents} documents, more than {allowed}")


def as_feed(document: FeedDocument | DocumentList) -> FeedDocument:
    """:raises NotAFeedError: if it is a list of documents"""
    if isinstance(document, DocumentList):
        raise NotAFeedError(ReasonKind.NOT_A_FEED, IS_LIST)
    return document


# --- snapshots


def read_snapshot(index: Object, url: str, max_pages: int) -> DocumentList | None:
    """Read the index of a snapshot; return None for other JSON.

    :raises NotAFeedError: if it lists too many pages, or its id or their URLs are too long
    """
    snapshot_id = _snapshot_id(index.get("id"))
    pages = _pages(index)
    if snapshot_id is None or pages is None:
        return None
    _check_length(len(pages), max_pages)
    if len(snapshot_id) > LONGEST_ID:
        raise NotAFeedError(
            ReasonKind.TOO_LARGE, f"the id of a snapshot has more than {LONGEST_ID} characters"
        )
    prefix = _id_prefix(snapshot_id)
    # The key of a page is its number, since its URL may change; entities add their own number.
    documents = [
        ListedDocument(f"{prefix}{number}", page) for number, page in enumerate(_resolved(pages, url))
    ]
    return DocumentList(documents, _created_at(index), prefix)


def _id_prefix(snapshot_id: str) -> str:
    return f"{NAMESPACE}{quote(snapshot_id, safe=':')}:"


def snapshot_prefix(key: str) -> str | None:
    """Return the id prefix of the snapshot that a page belongs to; None for the key of another document."""
    return key[: key.rindex(":") + 1] if key.startswith(NAMESPACE) else None


# Snapshot: "Its pages' entities have no Content-ID and no operation"; and no page links to another.
def snapshot_page(document: FeedDocument, key: str) -> FeedDocument:
    """Return a page of a snapshot; entities without an id get one that is unique to the snapshot."""
    # FeedDocument has the reverse order of the page.
    entries = list(document.entries)
    for position, entry in enumerate(reversed(entries)):
        if entry.id is None:
            entry.id = f"{key}:{position}"
    problems = [problem for problem in document.problems if problem.kind not in NO_PROBLEMS]
    return replace(document, entries=entries, problems=problems, links={}, other_links={})


def _snapshot_id(value: object) -> str | None:
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
    characters_left = LONGEST_LIST
    for page in pages:
        resolved.append(resolve(page, url).partition("#")[0])
        characters_left -= len(resolved[-1])
        if characters_left < 0 or len(resolved[-1]) > LONGEST_URL:
            raise NotAFeedError(ReasonKind.TOO_LARGE, "the URLs in it are too long")
    return resolved


def _created_at(index: Object) -> str | None:
    if "createdAt" in index:
        created = index["createdAt"]
        return utc(created) if isinstance(created, str) else None
    # 2015 draft: what has changed between `started` and `completed` may not be in the snapshot.
    started = index.get("started")
    if not isinstance(started, Number):
        return None
    try:
        time = EPOCH + timedelta(milliseconds=float(started))
    except (OverflowError, ValueError):
        return None
    return f"{time.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
