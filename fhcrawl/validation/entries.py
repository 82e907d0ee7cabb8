"""Remembers the entries of a chain by digests, and finds those that are in several documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl import logical_feed
from fhcrawl.logical_feed.versions import comparable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fhcrawl.documents import Entry, FeedDocument

MOST_ENTRIES = 300_000
MOST_CLASHES = 1000


class Sighting(NamedTuple):
    """An entry of a document; digests instead of texts, since there is one for each entry of a chain.

    :param number: of the document
    :param updated, content: digests; 0 for an entry without an update time
    """

    number: int
    updated: int
    content: int


class Clash(NamedTuple):
    """Two versions of an entry with the same update time, or without one, and with different contents.

    :param newer, older: the numbers of the documents
    :param line: in the older document
    :param is_timed: whether they have update times
    """

    id: str
    newer: int
    older: int
    line: int | None
    is_timed: bool


class ChangedId(NamedTuple):
    """Two entries with the same link and different ids.

    :param number: of the document with the older entry
    """

    link: str
    number: int
    line: int | None


@dataclass(slots=True)
class EntryIndex:
    """The entries of a chain, whose documents are added from the newest to the oldest.

    :param number: how many entries there are, each counted once
    :param repeated: how many entries are in more than one document
    :param is_full: whether there are more entries than are remembered
    """

    clashes: list[Clash] = field(default_factory=list)
    changed_ids: list[ChangedId] = field(default_factory=list)
    number: int = 0
    repeated: int = 0
    is_full: bool = False
    _seen: dict[int, Sighting] = field(default_factory=dict)
    _links: dict[int, int] = field(default_factory=dict)

    def add(self, number: int, feed: FeedDocument, lines: Sequence[int | None]) -> int:
        """Add the entries of a document; return how many of them are in the document before it too.

        :param lines: the lines of the entries; [] if they are not known
        """
        shared = 0
        found: dict[int, Sighting] = {}
        for position, entry in enumerate(feed.entries):
            line = lines[position] if position < len(lines) else None
            identity = logical_feed.identity(entry, feed)
            if identity is None:
                self.number += 1
                continue
            key = _digest(identity)
            self.number += key not in self._seen and key not in found
            content = _digest(entry.digest or logical_feed.digest(entry))
            seen = Sighting(number, _digest(comparable(entry.updated)), content)
            before = self._seen.get(key)
            if before is not None and key not in found:
                shared += before.number == number - 1
                self.repeated += 1
                is_clash = before.content != seen.content and before.updated == seen.updated
                if is_clash and len(self.clashes) < MOST_CLASHES:
                    clash = Clash(identity, before.number, number, line, bool(seen.updated))
                    self.clashes.append(clash)
            found.setdefault(key, seen)
            self._note_link(entry, key, number, line)
        self.is_full = self.is_full or len(found) > MOST_ENTRIES - len(self._seen)
        if not self.is_full:
            self._seen.update(found)
        return shared

    def _note_link(self, entry: Entry, key: int, number: int, line: int | None) -> None:
        if entry.id is None or entry.link is None:
            return
        known = self._links.get(link := _digest(entry.link))
        if known is None and not self.is_full:
            self._links[link] = key
        elif known not in (None, key) and len(self.changed_ids) < MOST_CLASHES:
            self.changed_ids.append(ChangedId(entry.link, number, line))


def _digest(text: str) -> int:
    if not text:
        return 0
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
