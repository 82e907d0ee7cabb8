"""What one feed document says, whatever its format: plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypedDict

if TYPE_CHECKING:
    from collections.abc import Sequence


class Enclosure(TypedDict):
    """A file that belongs to an entry (RFC 4287, 4.2.7.2 'enclosure'; RSS 2.0 <enclosure>)."""

    url: str
    type: str | None
    length: int | None


@dataclass(slots=True)
class Entry:
    """One appearance of an entry in one document. Strings are as the feed has them; nothing is ever ''.

    Times are ISO 8601 in UTC ending in `Z`. `id` is None where the format allows an entry without. `original`
    is all that the document says of the entry: its element, or its JSON object, in UTF-8, which nobody
    decodes on its way to the store; None if it is not kept. `digest` is `logical_feed.digest`'s, as soon as
    somebody has asked for it.
    """

    id: str | None = None
    title: str | None = None
    link: str | None = None
    published: str | None = None
    updated: str | None = None
    authors: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    summary: str | None = None
    content: str | None = None
    content_type: str | None = None
    enclosures: list[Enclosure] = field(default_factory=list)
    operation: str | None = None
    original: bytes | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with one entry, which never loses another one; or something that has been mended.

    :param kind: `no-id`, `no-title`, `unreadable-date`, `entry-lost` (it is not read); of a
        tombstone `no-ref`; of an event `no-operation`, `backwards`; of the document `repaired`, `disagrees`
        (with the page after it), `backwards`,
        `unresolved-entities`; of what is beyond a bound `too-deep`, `too-long`, `too-many`
    :param entry: what the entry can be called: its id, title or position; '' for the document
    :param detail: a sentence
    """

    kind: str
    entry: str
    detail: str


class Tombstone(NamedTuple):
    """An entry that has been deleted (RFC 6721, 3: at:deleted-entry).

    :param ref: the entry's id
    :param when: ISO 8601 in UTC; None if it cannot be read
    """

    ref: str
    when: str | None


@dataclass(frozen=True, slots=True)
class Rhythm:
    """What a document says of when its feed changes.

    :param ttl: minutes for which it can be kept (RSS 2.0)
    :param period: seconds from one update to the next (RSS 1.0's syndication module)
    :param base: the time of one of these updates, ISO 8601 in UTC, without fractions
    :param skip_hours: of the day in UTC, 0 to 23, at which it should not be asked for
    :param skip_days: of the week, 0 is Monday, on which it should not be asked for
    """

    ttl: int | None = None
    period: int | None = None
    base: str | None = None
    skip_hours: list[int] = field(default_factory=list)
    skip_days: list[int] = field(default_factory=list)


@dataclass(slots=True)
class FeedDocument:
    """A feed document.

    Drafts and other formats have other words for the same: their readers say `complete` for
    fh:stateful 0, `prev-archive` for a `prev` link that means it, and so on.

    :param format: `atom`, `rss`, `json` or `multipart`
    :param title: the feed's title
    :param updated: the document's own update time (RFC 5005, 4.2), ISO 8601 in UTC
    :param links: absolute URLs of the head section's links, by short relation; the first of each
    :param archive: fh:archive is in the head section
    :param complete: fh:complete is in the head section
    :param entries: in document order; after a `fault`, those that were whole before it. Those of a large
        document may come in pieces (see `pieces`)
    :param problems: what is wrong with single entries
    :param fault: why the document is not whole and well-formed, in words; None if it is
    :param tombstones: of entries that have been deleted
    :param incremental: it says that it is one of an archived feed's documents, as RFC 5005's drafts do
        (fh:stateful 1, fh:incremental true); without a `prev-archive` link it is the oldest of them
    :param rhythm: when the feed changes; None if it does not say
    :param other_links: of the relations that a walk follows, the URLs that contradict `links`; '' for a link
        that names no document
    """

    format: str
    title: str | None
    updated: str | None
    links: dict[str, str]
    archive: bool
    complete: bool
    entries: Sequence[Entry]
    problems: list[Problem]
    fault: str | None
    tombstones: list[Tombstone] = field(default_factory=list)
    incremental: bool = False
    rhythm: Rhythm | None = None
    other_links: dict[str, list[str]] = field(default_factory=dict)
