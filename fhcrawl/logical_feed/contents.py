"""What a document held when it was read: digests of its link, and of each entry's id and content.

A document that is read again is compared with it, to tell which entries have changed in this document since.
The digests are short: a publisher who makes a collision hides a change of an own entry.

Pure: values in, values out.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import TYPE_CHECKING

from fhcrawl.logical_feed.absences import removed
from fhcrawl.logical_feed.chain import ChainPosition
from fhcrawl.logical_feed.versions import order

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from fhcrawl.logical_feed.versions import Order, Version

# Octets of the digest of an id, and of a content.
OF_ID, OF_CONTENT = 8, 4
UNKNOWN = bytes(OF_CONTENT)
SIZE = OF_ID + OF_CONTENT
# The digest of the URL of the older document comes first.
HEAD = OF_ID
NO_URL = ""


def digest_of_id(entry_id: str) -> bytes:
    """Return the digest of an entry's id, or of a URL."""
    return hashlib.blake2b(entry_id.encode("utf-8", "surrogatepass"), digest_size=OF_ID).digest()


def _digest_of_content(digest: str) -> bytes:
    return bytes.fromhex(digest[: 2 * OF_CONTENT])


def encode(versions: Iterable[Version], older_url: str | None, unsettled: Container[str] = ()) -> bytes:
    """Return what a document holds, in its order.

    :param older_url: URL of the older document that it names
    :param unsettled: ids of entries that are to count as changed when the document is read next
    """
    return digest_of_id(older_url or NO_URL) + b"".join(
        digest_of_id(v.id) + (UNKNOWN if v.id in unsettled else _digest_of_content(v.digest))
        for v in versions
    )


# An older document that it does not name was guessed.
NAMES_NONE = digest_of_id(NO_URL)


def ids_of(held: bytes) -> Iterator[bytes]:
    """Yield the digests of the ids of the entries that a document held, in its order."""
    return (held[begin : begin + OF_ID] for begin in range(HEAD, len(held), SIZE))


def _contents_of(held: bytes) -> dict[bytes, set[bytes]]:
    contents = defaultdict(set)
    for number, entry_id in enumerate(ids_of(held), 1):
        end = HEAD + number * SIZE
        contents[entry_id].add(held[end - OF_CONTENT : end])
    return contents


def unlike(versions: Iterable[Version], newer: bytes) -> set[str] | None:
    """Return the ids of the entries of a page whose content differs from the newer page's with that id.

    :param newer: what the newer page held
    :return: None if the newer page does not have all ids of the page, or the page has none
    """
    contents, differing, is_empty = _contents_of(newer), set(), True
    for version in versions:
        held, is_empty = contents.get(digest_of_id(version.id)), False
        if held is None:
            return None
        if _digest_of_content(version.digest) not in held:
            differing.add(version.id)
    return None if is_empty else differing


class EarlierReading:
    """What an archive or a page held when it was last read, to compare it with what it holds now.

    An entry with the same content as before is no news, whatever the document's time says: it keeps the place
    of the document, so that an old copy never replaces the newer version of another document. One whose
    content has changed in this document was edited since: it counts as read by this walk, in the document's
    place of the chain.

    The subscription document is read more often. While it has an entry, its version counts; another one that
    an archive has counts when the archive is read next.

    :param held: what it held
    :param current: what the subscription document held when it was last read
    :param place: the place of the document: of an archive or a checked page, when it was first read
    :param walk: number of the walk that reads it again
    """

    # Whether the document itself was read before.
    was_read = True

    def __init__(self, held: bytes, current: bytes, place: ChainPosition, walk: int) -> None:
        self._encoded = held
        self._held = _contents_of(held)
        self._current = _contents_of(current)
        self._place = place
        self._now = ChainPosition(walk, place.step)
        self.unsettled: set[str] = set()

    def has_held(self, version: Version) -> bool:
        """Return whether the document held a version of an entry."""
        return _digest_of_content(version.digest) in self._held.get(digest_of_id(version.id), ())

    def has_id(self, version: Version) -> bool:
        """Return whether the document held a version of an entry, whatever its content."""
        return digest_of_id(version.id) in self._held

    def lost(self, held: bytes) -> list[bytes]:
        """Return the digests of the ids that the document held, and does not hold now."""
        return list(self._held.keys() - set(ids_of(held)))

    def removed(self, held: bytes) -> dict[bytes, bytes] | None:
        """Return what the document of a plain feed has lost between two entries that it still shows.

        :return: as of `absences.removed`; None too if it named an older document, which may have the entries
        """
        if not self._encoded:
            return {}
        is_plain = self._encoded.startswith(NAMES_NONE) and held.startswith(NAMES_NONE)
        return removed(list(ids_of(self._encoded)), list(ids_of(held))) if is_plain else None

    def has_gained(self, held: bytes) -> bool:
        """Return whether the document holds the id of an entry that it did not hold."""
        return not self._held.keys() >= set(ids_of(held))

    def order(
        self, entry_id: str, digest: str, updated: str | None, document_updated: str | None, position: int
    ) -> Order:
        """Return the order of a version in the document that is read now, as `versions.order`."""
        # The subscription document, and pages that a walk has come to, have the place of this walk.
        if self._place == self._now or self._is_edited(entry_id, digest):
            return order(updated, document_updated, self._now, position, is_observed=True)
        return order(updated, None, self._place, position)

    def _is_edited(self, entry_id: str, digest: str) -> bool:
        key, content = digest_of_id(entry_id), _digest_of_content(digest)
        if content in self._held.get(key, ()):
            return False
        if key not in self._current:
            return True
        if content not in self._current[key]:
            self.unsettled.add(entry_id)
        return False


class FirstReading(EarlierReading):
    """What is known of an archive that is read for the first time, behind others that were read before.

    It has its place behind these. But an entry that another of them has lost since has come from there: it
    counts as read by this walk, in the document's place of the chain.

    :param missing: digests of the ids of entries that archives or pages have lost, and no document has
    """

    was_read = False

    def __init__(self, missing: Container[bytes], place: ChainPosition, walk: int) -> None:
        super().__init__(b"", b"", place, walk)
        self._missing = missing

    def order(
        self, entry_id: str, digest: str, updated: str | None, document_updated: str | None, position: int
    ) -> Order:
        """Return the order of a version, as `versions.order`."""
        is_moved = digest_of_id(entry_id) in self._missing
        place = self._now if is_moved else self._place
        return order(updated, document_updated, place, position, is_moved)
