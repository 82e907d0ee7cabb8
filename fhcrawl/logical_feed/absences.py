"""What the documents of a chain hold: which entries have changed in them, are gone, or have another id now.

Pure: values in, values out; there is no clock.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from itertools import chain, pairwise, permutations, takewhile
from operator import eq
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents.dates import elapsed
from fhcrawl.logical_feed.chain import ChainPosition
from fhcrawl.logical_feed.results import order

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Hashable, Iterable, Iterator, Sequence

    from fhcrawl.logical_feed.results import Order, Version

# -- contents: digests of a document's link, and of each entry's id and content ---------------------------
#
# A document that is read again is compared with what it held, to tell which entries have changed in it since.
# The digests are short: a publisher who makes a collision hides a change of an own entry.

# Octets of the digest of an id, and of a content. The digest of the URL of the older document comes first.
OF_ID, OF_CONTENT = 8, 4
UNKNOWN = bytes(OF_CONTENT)
SIZE, HEAD = OF_ID + OF_CONTENT, OF_ID


def digest_of_id(entry_id: str) -> bytes:
    return hashlib.blake2b(entry_id.encode("utf-8", "surrogatepass"), digest_size=OF_ID).digest()


def _digest_of_content(digest: str) -> bytes:
    return bytes.fromhex(digest[: 2 * OF_CONTENT])


def encode(versions: Iterable[Version], older_url: str | None, unsettled: Container[str] = ()) -> bytes:
    """Return what a document holds, in its order.

    :param unsettled: ids of entries that are to count as changed when the document is read next
    """
    return digest_of_id(older_url or "") + b"".join(
        digest_of_id(v.id) + (UNKNOWN if v.id in unsettled else _digest_of_content(v.digest))
        for v in versions
    )


# An older document that it does not name was guessed.
NAMES_NONE = digest_of_id("")


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

    An entry with the same content as before keeps the place of the document: an old copy never replaces the
    newer version of another document. One whose content has changed was edited since: it counts as read by
    this walk. While the subscription document has an entry, its version counts; another one that an archive
    has counts when the archive is read next. An archive that is read for the first time, behind others that
    were read before, has its place behind these; but an entry that another of them has lost since counts as
    read by this walk, too.

    :param current: what the subscription document held when it was last read
    :param place: the place of the document: of an archive or a checked page, when it was first read
    :param walk: number of the walk that reads it again
    :param missing: if it is read for the first time, the digests of the ids of entries that archives or pages
        have lost, and no document has
    """

    def __init__(
        self,
        held: bytes,
        current: bytes,
        place: ChainPosition,
        walk: int,
        missing: Container[bytes] | None = None,
    ) -> None:
        self.was_read = missing is None
        self._missing = missing
        self._encoded = held
        self._held = _contents_of(held)
        self._current = _contents_of(current)
        self._place = place
        self._now = ChainPosition(walk, place.step)
        self.unsettled: set[str] = set()

    def has_held(self, version: Version) -> bool:
        return _digest_of_content(version.digest) in self._held.get(digest_of_id(version.id), ())

    def has_id(self, version: Version) -> bool:
        return digest_of_id(version.id) in self._held

    def lost(self, held: bytes) -> list[bytes]:
        """Return the digests of the ids that the document held, and does not hold now."""
        return list(self._held.keys() - set(ids_of(held)))

    def removed(self, held: bytes) -> dict[bytes, bytes] | None:
        """Return `removed` of a plain feed; None too if it named an older document, which may have them."""
        if not self._encoded:
            return {}
        is_plain = self._encoded.startswith(NAMES_NONE) and held.startswith(NAMES_NONE)
        return removed(list(ids_of(self._encoded)), list(ids_of(held))) if is_plain else None

    def has_gained(self, held: bytes) -> bool:
        return not self._held.keys() >= set(ids_of(held))

    def order(
        self, entry_id: str, digest: str, updated: str | None, document_updated: str | None, position: int
    ) -> Order:
        """Return the order of a version in the document that is read now: see `results.order`."""
        if self._missing is not None:
            is_observed = digest_of_id(entry_id) in self._missing
            place = self._now if is_observed else self._place
            return order(updated, document_updated, place, position, is_observed)
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


# -- absences: what the documents held at one moment ------------------------------------------------------
#
# An entry that none of them held then is gone; and if the chain is that of a paged feed, it was the feed
# then.
#
# Entries move from document to document: to an older page when others are added, to a newer page when others
# are deleted, from the subscription document to an archive. An entry that no document held when it was read
# can have moved from a document that was read later to one that was read before. So each document has to be
# seen twice, with the same content. Let there be a walk such that every archive (or page) was first seen as
# it is now in an earlier walk, and was last seen so in this walk, or later. Then all of them were so at the
# moment when this walk read the subscription document: what none of them holds, nor the subscription
# document, was not published at that moment.
#
# A plain feed has one document, and drops its oldest entries. An entry that is missing there between two that
# it still shows, in the same order, has not been dropped at the end: the publisher has removed it.


class Seen(NamedTuple):
    """When a document was seen, as it is known.

    :param changed: number of the walk that first saw it so; None if that is not known
    :param checked: number of the last walk that saw it so
    """

    changed: int | None
    checked: int | None


def snapshot_walk(documents: Collection[Seen], subscription: Seen) -> int | None:
    """Return the last walk at whose beginning all documents of a chain were as they are known; None for none.

    :param documents: all of the chain but the subscription document, which may have changed since
    """
    changed = [one.changed for one in documents if one.changed is not None]
    checked = [one.checked for one in (*documents, subscription) if one.checked is not None]
    if not documents or len(changed) < len(documents) or len(checked) <= len(documents):
        return None
    return agreed_walk(Seen(max(changed), min(checked)))


# RFC 5005, 3: "clients SHOULD NOT present paged feeds as coherent or complete". What one walk has read of
# pages may never have been the feed: an entry that has moved to a page that was read before is in none of
# them. But if a walk begins after each document was first seen as it is, and each was last seen so after
# that, the documents were the feed at that moment. This does not hold if a document has changed and changed
# back between, or a cache has kept an old one. The subscription document counts like the others: when it
# changes, entries may leave it.
def agreed_walk(chain: Seen) -> int | None:
    """As `snapshot_walk`, for the last `changed` and the first `checked` of all documents of a chain."""
    if chain.changed is None or chain.checked is None or chain.changed >= chain.checked:
        return None
    return chain.checked


# A document that sorts its entries by rank or update time, or shows some at random, moves entries or puts new
# ones between others. Newer entries may come below pinned ones, which have stayed at the top; and a document
# that is shorter by an entry may show an older one at its end. What has a new entry in its place may have got
# another id. An entry pinned at the end proves nothing: the one above it is the oldest of the others.
def removed(earlier: Sequence[bytes], shown: Sequence[bytes]) -> dict[bytes, bytes] | None:
    """Return the entries that the document of a plain feed has lost between two that it still shows.

    :param earlier, shown: digests of the ids that it showed before, and that it shows now, in its order
    :return: for each of them, the next older entry that it still shows; None if its order proves nothing
    """
    places = {key: place for place, key in enumerate(shown)}
    were = {key: place for place, key in enumerate(earlier)}
    if len(places) < len(shown) or len(were) < len(earlier):
        return None
    kept = [key for key in earlier if key in places]
    pinned = sum(takewhile(bool, map(eq, earlier, shown)))
    movable = [places[key] for key in kept[pinned:]]
    if any(below != above + 1 for above, below in pairwise(movable)):
        return None
    lost: dict[bytes, bytes] = {}
    for newer, older in pairwise(kept):
        between = earlier[were[newer] + 1 : were[older]]
        is_pinned = earlier[-1] == shown[-1] == older and len(between) <= len(shown) - len(kept)
        if places[older] == places[newer] + 1 and not is_pinned:
            lost.update(dict.fromkeys(between, older))
    return lost


def missed_since(missed: int, looked: int, changed: int | None, walk: int) -> int:
    """Return since which walk no subscription document that was read had an entry that no document holds now.

    :param missed: the same when the entry was last looked for, by the walk `looked`
    :param changed: number of the walk that first saw the subscription document as it is
    """
    return missed if changed is not None and changed <= looked + 1 else walk


def unconfirmed(documents: Sequence[Seen], missed: int) -> list[int]:
    """Return the indexes of the documents to be seen again before it is known that an entry is gone."""
    since = max([missed, *(one.changed + 1 for one in documents if one.changed is not None)])
    return [index for index, one in enumerate(documents) if one.checked is None or one.checked < since]


SECONDS_A_DAY = 24 * 60 * 60


class Budget(NamedTuple):
    """The user's limits (FHCRAWL_RECHECK).

    :param days: in this time, each document is to be requested once; 0: none is checked
    :param documents: how many documents of a feed are checked in one run
    """

    days: int
    documents: int


# RFC 5005, 4: "The set of entries contained in an archive document published at a particular URI SHOULD NOT
# change over time." Generators of static sites write all archives anew at each build. To check one each
# `days / n` days, for n documents, spreads the requests over the runs. Of the documents that were not
# requested for a time t, so many are due that as many were requested in t as this rate asks for, for any t:
# archives that are new do not postpone the check of those that are old.
def due_rechecks(
    requested: Sequence[str],
    now: str,
    budget: Budget,
    doubted: Collection[int] = (),
    failed: Collection[int] = (),
) -> list[int]:
    """Return the indexes of the documents to check now, in the order of the requests.

    If any is due, the newest document comes first, where edits are most likely, unless it would be the only
    one, or its last request failed; then come those that have been unchecked for the longest time.

    :param requested: when each document was last requested, the newest document first
    :param doubted: indexes of documents that are to be checked whether they are due or not
    """
    if not budget.days:
        return []
    period = budget.days * SECONDS_A_DAY
    # A time in the future was recorded by a wrong clock.
    ages = [age if age >= 0 else period for age in (elapsed(time, now) for time in requested)]
    longest_first = sorted(range(len(ages)), key=lambda index: -ages[index])
    owed = (
        len(ages) * ages[index] // period - younger for younger, index in enumerate(reversed(longest_first))
    )
    chosen = longest_first[: max(owed, default=0)] if ages else []
    first = [0] if chosen and budget.documents > 1 and 0 not in failed else []
    others = [index for index in longest_first if index in doubted]
    return list(dict.fromkeys([*first, *chosen, *others]))[: budget.documents]


# -- renames: entries whose id has changed ----------------------------------------------------------------
#
# A publisher has moved, and names its entries anew. Ids are compared as they are (RFC 4287, 4.2.6.1), so a
# changed id makes another entry. That it is the same one is a guess, which is made only where two entries
# that differ cannot look like this:
#
# - The ids differ in `http` and `https` alone, and no document holds both. The time of publication is the
#   same; of entries without one, the title is.
# - The ids differ in host (or in the authority of a `tag:` URI), title and time are the same, and no document
#   holds the old id. A feed can bring together several hosts, whose posts have ids such as
#   `http://host/?p=12`.
# - Link, title and time are the same, no document holds the old id, and no third entry has this link. A link
#   that more entries share, say to a home page, names none of them.
#
# What could be the new id of several entries, or several new ids of one, is none.

WEB = re.compile(r"https?://[^/?#]*(.*)", re.DOTALL)
# RFC 4151, 2.1: "tag:" authorityName "," date ":" specific
TAG = re.compile(r"tag:[^,]*(,.*)", re.DOTALL)
# What more than two entries share names none of them.
PAIR = 2
ENOUGH = PAIR + 1


class NamedEntry(NamedTuple):
    """What tells whether two entries are the same one; the place is that of its newest version's document."""

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

    def shared(self) -> Iterator[Hashable]:
        """Yield what it would share with itself under another id."""
        if self.title and self._time:
            if rest := _without_host(self.id):
                yield "host", rest, self.title, self._time
            if self.link:
                yield "link", self.link


class Renaming(NamedTuple):
    """An entry, and what is probably the same one with its former id; some differ in the scheme alone."""

    new: NamedEntry
    old: NamedEntry
    by_scheme: bool


def with_other_scheme(entry_id: str) -> str | None:
    """Return an id with `https` in place of `http`, or `http` in place of `https`; None for another id."""
    scheme, separator, rest = entry_id.partition("://")
    other = {"http": "https", "https": "http"}.get(scheme)
    return f"{other}://{rest}" if other and separator else None


def _without_host(entry_id: str) -> str | None:
    match = WEB.fullmatch(entry_id) or TAG.fullmatch(entry_id)
    return None if match is None or match[1] in ("", "/") else match[1]


def renamings(arrivals: Iterable[NamedEntry], others: Iterable[NamedEntry]) -> list[Renaming]:
    """Return the renamings that the entries of a feed suggest; what documents hold is not considered.

    :param arrivals: entries with ids that are new; what the newer of two of them was before may be the older
    :param others: entries of the feed, each once; new ones among them are ignored
    """
    by_id = {entry.id: entry for entry in arrivals}
    new_ids = {with_other_scheme(entry_id): entry_id for entry_id in by_id}
    sharing: dict[Hashable, list[NamedEntry]] = {
        key: [] for entry in by_id.values() for key in entry.shared()
    }
    candidates: defaultdict[str, dict[str, Renaming]] = defaultdict(dict)

    def comes_after(new: NamedEntry, old: NamedEntry) -> bool:
        return new.id in by_id and (old.id not in by_id or old.place < new.place)

    for entry in chain(by_id.values(), (entry for entry in others if entry.id not in by_id)):
        new = by_id.get(new_ids.get(entry.id, ""))
        if new is not None and comes_after(new, entry) and _may_differ_in_scheme(new, entry):
            candidates[new.id] = {entry.id: Renaming(new, entry, by_scheme=True)}
        # Its link counts even if the entry has no title or time.
        for key in {*entry.shared(), ("link", entry.link)}:
            if key in sharing and len(sharing[key]) < ENOUGH:
                sharing[key].append(entry)
    pairs = (permutations(alike) for alike in sharing.values() if len(alike) == PAIR)
    for new, old in chain.from_iterable(pairs):
        former = candidates[new.id]
        if comes_after(new, old) and new.is_like(old) and not any(r.by_scheme for r in former.values()):
            former[old.id] = Renaming(new, old, by_scheme=False)
    unique = [next(iter(former.values())) for former in candidates.values() if len(former) == 1]
    claimed = Counter(renaming.old.id for renaming in unique)
    return [renaming for renaming in unique if claimed[renaming.old.id] == 1]


def _may_differ_in_scheme(new: NamedEntry, old: NamedEntry) -> bool:
    if new.published or old.published:
        return new.published == old.published
    return new.title == old.title


def confirmed(found: Collection[Renaming], documents: Iterable[Collection[bytes]]) -> list[Renaming]:
    """Return those of some renamings that the documents of a chain do not contradict.

    :param documents: the digests of the ids that each document held when it was last read, of these at least
        those of the renamings
    """
    pairs = {digest_of_id(each.new.id): (each, digest_of_id(each.old.id)) for each in found}
    held: set[bytes] = set()
    together: set[bytes] = set()
    for ids in documents:
        held.update(ids)
        together.update(new for new in ids if new in pairs and pairs[new][1] in ids)
    return [
        each
        for new, (each, old) in pairs.items()
        if new in held
        and new not in together
        and (old not in held or (each.by_scheme and each.old.place < each.new.place))
    ]
