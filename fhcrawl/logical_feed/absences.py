"""Compares the entries of documents: which have changed, are gone, or have another id now.

Pure functions, without a clock.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from itertools import chain, pairwise, permutations, takewhile
from operator import eq
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents.dates import elapsed
from fhcrawl.logical_feed.results import order

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence

    from fhcrawl.logical_feed.chain import ChainPosition
    from fhcrawl.logical_feed.results import Order, Version

# -- contents: digests of a document's link, and of each entry's id and content ---------------------------
#
# A document that is read again is compared with its previous content, to find the entries that have changed.
# The ids are the publisher's, so that an id that becomes shared changes nothing: an entry with a shared id is
# contained as long as any entry with this id is. The digests are short: a publisher who makes them collide
# only hides a change of their own entry.

# Octets of the digest of an id, and of a content. The digest of the URL of the older document comes first.
ID_OCTETS, CONTENT_OCTETS = 8, 4
UNKNOWN_CONTENT = bytes(CONTENT_OCTETS)
ENTRY_OCTETS, LINK_OCTETS = ID_OCTETS + CONTENT_OCTETS, ID_OCTETS


def digest_of_id(entry_id: str) -> bytes:
    return hashlib.blake2b(entry_id.encode("utf-8", "surrogatepass"), digest_size=ID_OCTETS).digest()


def short_digest(hex_digest: str) -> bytes:
    return bytes.fromhex(hex_digest[: 2 * CONTENT_OCTETS])


def encode(versions: Iterable[Version], older_url: str | None, unsettled: Container[str] = ()) -> bytes:
    """Encode the entries that a document contains, in its order.

    :param unsettled: ids of entries that must count as changed when the document is read next
    """
    return digest_of_id(older_url or "") + b"".join(
        digest_of_id(version.publisher_id)
        + (UNKNOWN_CONTENT if version.publisher_id in unsettled else short_digest(version.digest))
        for version in versions
    )


# The document links to no older document; if it has one, its URL was guessed.
NO_OLDER = digest_of_id("")


def ids_of(encoded: bytes) -> Iterator[bytes]:
    """Yield the digests of the ids in an encoded document, in its order."""
    return (encoded[begin : begin + ID_OCTETS] for begin in range(LINK_OCTETS, len(encoded), ENTRY_OCTETS))


def pairs_of(encoded: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the digests of the id and of the content of each entry in an encoded document, in its order."""
    for begin in range(LINK_OCTETS, len(encoded), ENTRY_OCTETS):
        middle = begin + ID_OCTETS
        yield encoded[begin:middle], encoded[middle : begin + ENTRY_OCTETS]


def _contents_by_id(encoded: bytes) -> dict[bytes, set[bytes]]:
    contents = defaultdict(set)
    for key, content in pairs_of(encoded):
        contents[key].add(content)
    return contents


def has_other_content(encoded: bytes, digests: Mapping[str, str]) -> bool:
    """Return whether a document has an entry with one of some ids, but with other content."""
    contents, expected = _contents_by_id(encoded), {digest_of_id(i): d for i, d in digests.items()}
    shown = contents.keys() & expected.keys()
    return any(contents[key] != {short_digest(expected[key])} for key in shown)


def contents_of(encoded: bytes, keys: Container[bytes]) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the place of the content, the digest of the id, and the content, of some entries."""
    for begin in range(LINK_OCTETS, len(encoded), ENTRY_OCTETS):
        place = begin + ID_OCTETS
        if (key := encoded[begin:place]) in keys:
            yield place, key, encoded[place : place + CONTENT_OCTETS]


def with_unknown_contents(encoded: bytes, keys: Container[bytes]) -> bytes:
    """Return an encoded document in which some entries count as changed when it is read next."""
    changed = bytearray(encoded)
    for place, _key, _content in contents_of(encoded, keys):
        changed[place : place + CONTENT_OCTETS] = UNKNOWN_CONTENT
    return bytes(changed)


def ids_with_other_content(versions: Collection[Version], newer: bytes) -> set[str] | None:
    """Return the ids of the entries of a page whose content differs from the newer page's entry with that id.

    :return: None if the newer page does not have all ids of the page, or the page has none
    """
    newer_contents = _contents_by_id(newer)
    digests = [digest_of_id(version.publisher_id) for version in versions]
    if not digests or not newer_contents.keys() >= set(digests):
        return None
    pairs = zip(versions, digests, strict=True)
    return {
        version.id for version, digest in pairs if short_digest(version.digest) not in newer_contents[digest]
    }


class EarlierReading:
    """The content of an archive or a page when it was last read, to compare with what it contains now.

    An entry with the same content keeps the place of the document, so that an old copy never replaces the
    newer version of another document. An entry whose content has changed was edited, and counts as read by
    this walk. While the subscription document has an entry, its version counts; a different one in an archive
    counts when the archive is read next. An archive that is read for the first time, behind others that were
    read before, has its place behind these; but an entry that one of them has lost since counts as read by
    this walk.

    :param held: the content when it was last read (`encode`)
    :param current: the content of the subscription document when it was last read
    :param place: the place of the document; for an archive or a checked page, when it was first read
    :param place_now: the place of what has changed
    :param missing: for a first read, the digests of the ids of entries that archives or pages have lost, and
        that no document has
    """

    def __init__(
        self,
        held: bytes,
        current: bytes,
        place: ChainPosition,
        place_now: ChainPosition,
        missing: Container[bytes] | None = None,
    ) -> None:
        self.was_read, self._missing = missing is None, missing
        self.encoded = held
        self._contents = _contents_by_id(held)
        self._current = _contents_by_id(current)
        self._place, self._place_now = place, place_now
        self.unsettled: set[str] = set()

    @property
    def was_last(self) -> bool:
        return self.encoded.startswith(NO_OLDER)

    def had_content(self, version: Version) -> bool:
        return short_digest(version.digest) in self._contents.get(digest_of_id(version.publisher_id), ())

    def had_id(self, version: Version) -> bool:
        return digest_of_id(version.publisher_id) in self._contents

    def lost(self, encoded_now: bytes) -> list[bytes]:
        """Return the digests of the ids that the document contained before, and does not contain now."""
        return list(self._contents.keys() - set(ids_of(encoded_now)))

    def removed(self, encoded_now: bytes) -> dict[bytes, bytes] | None:
        """Return `removed` of a plain feed; None too if it linked to an older document."""
        if not self.encoded:
            return {}
        is_plain = self.encoded.startswith(NO_OLDER) and encoded_now.startswith(NO_OLDER)
        return removed(list(ids_of(self.encoded)), list(ids_of(encoded_now))) if is_plain else None

    def has_new_ids(self, encoded_now: bytes) -> bool:
        return not self._contents.keys() >= set(ids_of(encoded_now))

    def order(
        self, entry_id: str, digest: str, updated: str | None, document_updated: str | None, position: int
    ) -> Order:
        """Return the order of a version in the document that is read now: see `results.order`."""
        if self._missing is not None:
            is_observed = digest_of_id(entry_id) in self._missing
            place = self._place_now if is_observed else self._place
            return order(updated, document_updated, place, position, is_observed)
        # The subscription document, and pages that a walk has come to, have the place of this walk.
        is_observed = self._place == self._place_now
        if not is_observed:
            id_digest, content_digest = digest_of_id(entry_id), short_digest(digest)
            is_edited = content_digest not in self._contents.get(id_digest, ())
            is_observed = is_edited and id_digest not in self._current
            if is_edited and not is_observed and content_digest not in self._current[id_digest]:
                self.unsettled.add(entry_id)
        if is_observed:
            return order(updated, document_updated, self._place_now, position, is_observed=True)
        return order(updated, None, self._place, position)


# -- absences: the content of all documents at the same moment --------------------------------------------
#
# An entry that no document contained at that moment is gone; and the chain of a paged feed was then the feed.
#
# Entries move from document to document: to an older page when others are added, to a newer page when others
# are deleted, from the subscription document to an archive. An entry that no document contained when it was
# read can have moved from a document that was read later to a document that was read before. So each document
# must be seen twice, with the same content. Let there be a walk such that every archive (or page) was first
# seen with its current content in an earlier walk, and last seen with it in this walk or later. Then all of
# them had this content when this walk read the subscription document: an entry that neither they nor the
# subscription document contain was not published at that moment.
#
# A plain feed has one document, and drops its oldest entries. An entry that is missing between two that it
# still shows, in the same order, has not been dropped at the end: the publisher has removed it.


class Seen(NamedTuple):
    """The first and the last walk that saw the current content of a document; None if unknown."""

    changed: int | None
    checked: int | None


# RFC 5005, 3: "clients SHOULD NOT present paged feeds as coherent or complete". The pages that a single walk
# has read may never have been the feed: an entry that has moved to a page that was read before is in none of
# them. The rule fails if a document has changed and changed back in between, or a cache has returned an old
# copy.
def agreed_walk(documents: Collection[Seen]) -> int | None:
    """Return the last walk at whose beginning all documents had their stored content; None if unknown."""
    first_walks = [seen.changed for seen in documents if seen.changed is not None]
    last_walks = [seen.checked for seen in documents if seen.checked is not None]
    if not documents or min(len(first_walks), len(last_walks)) < len(documents):
        return None
    return min(last_walks) if max(first_walks) < min(last_walks) else None


# A document that sorts its entries by rank or update time, or shows random entries, moves entries or inserts
# new ones between others. Newer entries may come below pinned ones, which stay at the top; and a document
# that has lost an entry may show an older one at its end. An entry with a new entry in its place may have a
# new id. An entry pinned at the end proves nothing: the entry above it is the oldest of the others.
def removed(earlier: Sequence[bytes], shown: Sequence[bytes]) -> dict[bytes, bytes] | None:
    """Return the entries that the document of a plain feed has lost between two that it still shows.

    :param earlier, shown: digests of the ids shown before, and of those shown now, in document order
    :return: for each entry, the next older one that is still shown; None if the order proves nothing
    """
    shown_places = {key: place for place, key in enumerate(shown)}
    earlier_places = {key: place for place, key in enumerate(earlier)}
    if len(shown_places) < len(shown) or len(earlier_places) < len(earlier):
        return None
    still_shown = [key for key in earlier if key in shown_places]
    pinned = sum(takewhile(bool, map(eq, earlier, shown)))
    movable = [shown_places[key] for key in still_shown[pinned:]]
    if any(below != above + 1 for above, below in pairwise(movable)):
        return None
    removed_ids: dict[bytes, bytes] = {}
    for newer, older in pairwise(still_shown):
        between = earlier[earlier_places[newer] + 1 : earlier_places[older]]
        is_pinned = earlier[-1] == shown[-1] == older and len(between) <= len(shown) - len(still_shown)
        if shown_places[older] == shown_places[newer] + 1 and not is_pinned:
            removed_ids.update(dict.fromkeys(between, older))
    return removed_ids


def missed_since(missed: int, looked: int, changed: int | None, walk: int) -> int:
    """Return the walk since which no subscription document had an entry that no document has now.

    :param missed: the previous result, for the walk `looked` that last looked for the entry
    :param changed: number of the first walk that saw the current content of the subscription document
    """
    return missed if changed is not None and changed <= looked + 1 else walk


def unconfirmed(documents: Sequence[Seen], missed: int) -> list[int]:
    """Return the indexes of the documents that must be seen again before an entry is known to be gone."""
    since = max([missed, *(seen.changed + 1 for seen in documents if seen.changed is not None)])
    return [index for index, seen in enumerate(documents) if seen.checked is None or seen.checked < since]


SECONDS_A_DAY = 24 * 60 * 60


class Budget(NamedTuple):
    """The user's limits (FHCRAWL_RECHECK).

    :param days: period in which each document is requested once; 0 disables the checks
    :param documents: maximum number of documents of a feed that are checked in one run
    """

    days: int
    documents: int


# RFC 5005, 4: "The set of entries contained in an archive document published at a particular URI SHOULD NOT
# change over time." Generators of static sites rewrite all archives at each build. Checking one of n
# documents every `days / n` days spreads the requests over the runs. For any time t, as many of the documents
# that were not requested during t are due as this rate requires beyond those that were requested: new
# archives do not postpone the check of old ones.
def due_rechecks(
    requested: Sequence[str],
    now: str,
    budget: Budget,
    doubted: Collection[int] = (),
    failed: Collection[int] = (),
) -> list[int]:
    """Return the indexes of the documents to check now, in the order of the requests.

    If any is due, the newest document comes first, where edits are most likely, unless it would be the only
    one or its last request failed; then come those that have been unchecked for the longest time.

    :param requested: when each document was last requested, the newest document first
    :param doubted: indexes of documents that are checked even if they are not due
    """
    if not budget.days:
        return []
    period = budget.days * SECONDS_A_DAY
    # A time in the future comes from a wrong clock.
    ages = [age if age >= 0 else period for age in (elapsed(time, now) for time in requested)]
    longest_first = sorted(range(len(ages)), key=lambda index: -ages[index])
    due = (len(ages) * ages[index] // period - later for later, index in enumerate(reversed(longest_first)))
    chosen = longest_first[: max(due, default=0)] if ages else []
    newest = [0] if chosen and budget.documents > 1 and 0 not in failed else []
    doubted_ones = [index for index in longest_first if index in doubted]
    return list(dict.fromkeys([*newest, *chosen, *doubted_ones]))[: budget.documents]


# -- renames: entries whose id has changed ----------------------------------------------------------------
#
# A publisher has moved, and changes the ids of its entries: by RFC 4287, 4.2.6.1, they are different entries.
# Two ids are assumed to be of the same entry only where two different entries cannot look like this:
#
# - The ids differ only in `http` and `https`, and no document contains both. The time of publication is the
#   same; without it, the title is the same.
# - The ids differ in host (or in the authority of a `tag:` URI), title and time are the same, and no document
#   contains the old id. A feed can combine several hosts, whose posts have ids such as `http://host/?p=12`.
# - Link, title and time are the same, no document contains the old id, and no third entry has this link. A
#   link that more entries share, for example to a home page, identifies none of them.
#
# An ambiguous renaming, of several old or to several new ids, is ignored.

WEB = re.compile(r"https?://[^/?#]*(.*)", re.DOTALL)
# RFC 4151, 2.1: "tag:" authorityName "," date ":" specific
TAG = re.compile(r"tag:[^,]*(,.*)", re.DOTALL)
# A key that more than two entries share identifies none of them.
PAIR = 2
ENOUGH = PAIR + 1


class NamedEntry(NamedTuple):
    """Identifies an entry under another id; `place` is that of its newest version's document."""

    id: str
    title: str | None
    link: str | None
    published: str | None
    updated: str | None
    place: ChainPosition

    @property
    def _time(self) -> tuple[str, str] | None:
        if self.published:
            return "published", self.published
        return ("updated", self.updated) if self.updated else None

    def is_like(self, other: NamedEntry) -> bool:
        same = (self.title, self._time) == (other.title, other._time)
        return same and bool(self.title) and self._time is not None

    def shared_keys(self) -> Iterator[Hashable]:
        """Yield the keys that two ids of the same entry have in common."""
        if self.title and self._time:
            match = WEB.fullmatch(self.id) or TAG.fullmatch(self.id)
            if match is not None and match[1] not in ("", "/"):
                yield "host", match[1], self.title, self._time
            if self.link:
                yield "link", self.link


class Renaming(NamedTuple):
    """An entry, and its probable former id; with `by_scheme`, the ids differ only in the scheme."""

    new: NamedEntry
    old: NamedEntry
    by_scheme: bool


def with_other_scheme(entry_id: str) -> str | None:
    """Replace `http` with `https` in an id, or `https` with `http`; None for another id."""
    scheme, separator, after_scheme = entry_id.partition("://")
    other_scheme = {"http": "https", "https": "http"}.get(scheme)
    return f"{other_scheme}://{after_scheme}" if other_scheme and separator else None


def renamings(arrivals: Iterable[NamedEntry], feed_entries: Iterable[NamedEntry]) -> list[Renaming]:
    """Return the renamings that the entries of a feed suggest; the contents of documents are not considered.

    :param arrivals: entries with new ids; the former id of one may be that of an older arrival
    :param feed_entries: entries of the feed, each once; arrivals among them are ignored
    """
    by_id = {entry.id: entry for entry in arrivals}
    new_ids = {with_other_scheme(entry_id): entry_id for entry_id in by_id}
    entries_by_key: dict[Hashable, list[NamedEntry]] = {
        key: [] for entry in by_id.values() for key in entry.shared_keys()
    }
    candidates: defaultdict[str, dict[str, Renaming]] = defaultdict(dict)

    def comes_after(new: NamedEntry, old: NamedEntry) -> bool:
        return new.id in by_id and (old.id not in by_id or old.place < new.place)

    for entry in chain(by_id.values(), (entry for entry in feed_entries if entry.id not in by_id)):
        new = by_id.get(new_ids.get(entry.id, ""))
        if new is not None and comes_after(new, entry) and _has_same_time_or_title(new, entry):
            candidates[new.id] = {entry.id: Renaming(new, entry, by_scheme=True)}
        # Its link counts even if the entry has no title or time.
        for key in {*entry.shared_keys(), ("link", entry.link)}:
            if key in entries_by_key and len(entries_by_key[key]) < ENOUGH:
                entries_by_key[key].append(entry)
    pairs = (permutations(entries) for entries in entries_by_key.values() if len(entries) == PAIR)
    for new, old in chain.from_iterable(pairs):
        by_old = candidates[new.id]
        if (
            comes_after(new, old)
            and new.is_like(old)
            and not any(renaming.by_scheme for renaming in by_old.values())
        ):
            by_old[old.id] = Renaming(new, old, by_scheme=False)
    unique = [next(iter(by_old.values())) for by_old in candidates.values() if len(by_old) == 1]
    claimed = Counter(renaming.old.id for renaming in unique)
    return [renaming for renaming in unique if claimed[renaming.old.id] == 1]


def _has_same_time_or_title(new: NamedEntry, old: NamedEntry) -> bool:
    if new.published or old.published:
        return new.published == old.published
    return new.title == old.title


def confirmed(candidates: Collection[Renaming], documents: Iterable[Collection[bytes]]) -> list[Renaming]:
    """Return those renamings that the documents of a chain do not contradict.

    :param documents: the digests of the ids that each document had when it was last read, at least of those
        in the renamings
    """
    pairs = {
        digest_of_id(renaming.new.id): (renaming, digest_of_id(renaming.old.id)) for renaming in candidates
    }
    current_ids: set[bytes] = set()
    new_ids_beside_old: set[bytes] = set()
    for ids in documents:
        current_ids.update(ids)
        new_ids_beside_old.update(new for new in ids if new in pairs and pairs[new][1] in ids)
    return [
        renaming
        for new, (renaming, old) in pairs.items()
        if new in current_ids
        and new not in new_ids_beside_old
        and (old not in current_ids or (renaming.by_scheme and renaming.old.place < renaming.new.place))
    ]
