"""Finds entries whose id has changed: a publisher has moved, and names its entries anew.

Pure: values in, values out.

Ids are compared as they are (RFC 4287, 4.2.6.1), so a changed id makes another entry. That it is the same one
is a guess, which is made only where two entries that differ cannot look like this:

- The ids differ in `http` and `https` alone, and no document holds both. The time of publication is the same;
  of entries without one, the title is.
- The ids differ in host (or in the authority of a `tag:` URI), title and time are the same, and no document
  holds the old id. A feed can bring together several hosts, whose posts have ids such as `http://host/?p=12`.
- Link, title and time are the same, no document holds the old id, and no third entry has this link. A link
  that more entries share, say to a home page, names none of them.

What could be the new id of several entries, or several new ids of one, is none. Apart from the first rule,
entries without a time or a title are not compared.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import chain, permutations
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.logical_feed.contents import digest_of_id

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator

    from fhcrawl.logical_feed.chain import ChainPosition

WEB = re.compile(r"https?://[^/?#]*(.*)", re.DOTALL)
# RFC 4151, 2.1: "tag:" authorityName "," date ":" specific
TAG = re.compile(r"tag:[^,]*(,.*)", re.DOTALL)
OTHER_SCHEME = {"http://": "https://", "https://": "http://"}
# What more than two entries share names none of them.
PAIR = 2
ENOUGH = PAIR + 1


class NamedEntry(NamedTuple):
    """What tells whether two entries are the same one.

    :param place: position of the document that its newest version came from
    """

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
        """Return whether both have the same title and the same time."""
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
    """An entry, and what is probably the same one with the id that it had before.

    :param by_scheme: the ids differ in `http` and `https` alone
    """

    new: NamedEntry
    old: NamedEntry
    by_scheme: bool


def with_other_scheme(entry_id: str) -> str | None:
    """Return an id with `https` in place of `http`, or `http` in place of `https`; None for another id."""
    for scheme, other in OTHER_SCHEME.items():
        if entry_id.startswith(scheme):
            return other + entry_id.removeprefix(scheme)
    return None


def _without_host(entry_id: str) -> str | None:
    found = WEB.fullmatch(entry_id) or TAG.fullmatch(entry_id)
    return None if found is None or found[1] in ("", "/") else found[1]


class Search:
    """Looks among the entries of a feed for those that some new ones have been before.

    :param arrivals: entries with ids that are new; what the newer of two of them was before may be the older
    :param others: entries of the feed, each once; new ones among them are ignored
    """

    def __init__(self, arrivals: Iterable[NamedEntry], others: Iterable[NamedEntry]) -> None:
        self._arrivals = {one.id: one for one in arrivals}
        other = {with_other_scheme(entry_id): entry_id for entry_id in self._arrivals}
        self._by_scheme = {old: new for old, new in other.items() if old is not None}
        self._sharing: dict[Hashable, list[NamedEntry]] = {
            key: [] for one in self._arrivals.values() for key in one.shared()
        }
        self._found: defaultdict[str, dict[str, Renaming]] = defaultdict(dict)
        for one in chain(self._arrivals.values(), (one for one in others if one.id not in self._arrivals)):
            self._compare(one)

    def _compare(self, one: NamedEntry) -> None:
        new = self._arrivals.get(self._by_scheme.get(one.id, ""))
        if new is not None and self._comes_after(new, one) and _may_differ_in_scheme(new, one):
            self._found[new.id] = {one.id: Renaming(new, one, by_scheme=True)}
        # Its link counts even if the entry has no title or time.
        for key in {*one.shared(), ("link", one.link)}:
            sharing = self._sharing.get(key)
            if sharing is not None and len(sharing) < ENOUGH:
                sharing.append(one)

    def _comes_after(self, new: NamedEntry, old: NamedEntry) -> bool:
        return new.id in self._arrivals and (old.id not in self._arrivals or old.place < new.place)

    def found(self) -> list[Renaming]:
        """Return the renamings that the entries suggest; what documents hold is not considered."""
        for sharing in self._sharing.values():
            for new, old in permutations(sharing, PAIR) if len(sharing) == PAIR else ():
                if self._comes_after(new, old) and new.is_like(old):
                    found = self._found[new.id]
                    if not any(one.by_scheme for one in found.values()):
                        found[old.id] = Renaming(new, old, by_scheme=False)
        unique = [next(iter(of.values())) for of in self._found.values() if len(of) == 1]
        claimed = Counter(one.old.id for one in unique)
        return [one for one in unique if claimed[one.old.id] == 1]


def _may_differ_in_scheme(new: NamedEntry, old: NamedEntry) -> bool:
    if new.published or old.published:
        return new.published == old.published
    return new.title == old.title


def confirmed(found: Collection[Renaming], documents: Iterable[Collection[bytes]]) -> list[Renaming]:
    """Return those of some renamings that the documents of a chain do not contradict.

    :param documents: the digests of the ids that each document held when it was last read, of these at least
        those of the renamings
    """
    pairs = {digest_of_id(one.new.id): (one, digest_of_id(one.old.id)) for one in found}
    held: set[bytes] = set()
    together: set[bytes] = set()
    for ids in documents:
        held.update(ids)
        together.update(new for new in ids if new in pairs and pairs[new][1] in ids)
    return [
        one
        for new, (one, old) in pairs.items()
        if new in held
        and new not in together
        and (old not in held or (one.by_scheme and one.old.place < one.new.place))
    ]
