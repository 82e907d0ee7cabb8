"""Whether two readings of a feed's pages agree, so that the pages were the feed (RFC 5005, 3).

Pages change while they are read: an entry that moves to a page that was read before is missed. So all pages
are read once more, in the same crawl. The two readings agree if each page shows what it showed before, below
new entries that have pushed the others back, and none shows an entry that is not stored.

A feed that was confirmed stays so while its new first pages join the known entries: a walk follows pages
until one has no news, or it ends in a gap. They join if a page shows new entries above known ones; if a
page has nothing but new entries, and the next one none, this may be an old copy. If a page has lost an entry
that no other document shows, the entry was deleted, or has moved to a page that was not read. In both cases,
a later crawl must confirm the pages again. An entry that was missing before that confirmation is in none of
the pages: it is gone.

Pure: values in, values out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice, takewhile
from operator import eq

from fhcrawl.documents.dates import elapsed
from fhcrawl.logical_feed.absences import ids_of, pairs_of
from fhcrawl.logical_feed.listings import StoredResult

# Readings that differ so often in a row may never agree: then all pages are read again only after this time.
MOST_DIFFERENCES = 3
WAIT_SECONDS = 30 * 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class Confirmation(StoredResult):
    """What is known of the pages of a feed.

    :param walk: number of the last walk in which two readings agreed; 0 if none did
    :param doubted: number of the last walk in which a page had lost an entry that no other document has, or
        in which no page showed new entries above known ones
    :param differing: number of confirmations in a row in which the readings differed
    :param ended: when the last of these ended; ISO 8601 in UTC
    :param left: id of the document with which the next crawl continues, after FHCRAWL_CONFIRM_PAGES pages;
        None for none
    """

    walk: int = 0
    doubted: int = 0
    differing: int = 0
    ended: str | None = None
    left: int | None = None

    @property
    def is_settled(self) -> bool:
        """Whether the pages were confirmed, and no entry has been missing since."""
        return self.walk > self.doubted

    @property
    def is_proof(self) -> bool:
        """Whether the pages were confirmed, and readings have not differed too often since."""
        return self.walk > 0 and self.differing < MOST_DIFFERENCES

    def is_due(self, now: str) -> bool:
        if self.is_settled or self.differing < MOST_DIFFERENCES or self.ended is None:
            return not self.is_settled
        # A time in the future was recorded by a wrong clock.
        return not 0 <= elapsed(self.ended, now) < WAIT_SECONDS

    def after_doubt(self, walk: int) -> Confirmation:
        # What was confirmed before that is confirmed again.
        return replace(self, doubted=walk, left=None)

    def after_agreement(self, walk: int) -> Confirmation:
        return replace(self, walk=walk, differing=0, ended=None, left=None)

    def after_difference(self, now: str) -> Confirmation:
        return replace(self, differing=self.differing + 1, ended=now, left=None)


def agree(earlier: bytes, now: bytes) -> bool:
    """Return whether a page shows the entries of its earlier reading (`absences.encode`), or those of them
    that new ones above have not pushed to the next page; the last page may have more at its end.
    """
    before, shown = list(pairs_of(earlier)), list(pairs_of(now))
    # A page without entries is the end.
    if not before or not shown:
        return before == shown
    pushed = shown.index(before[0]) if before[0] in shown else len(shown)
    rest, known = shown[pushed:], {key for key, _content in before}
    are_new = not any(key in known for key, _content in shown[:pushed])
    return are_new and len(before) - len(rest) <= pushed and all(map(eq, rest, before))


def dropped(earlier: bytes, now: bytes) -> set[bytes]:
    """Return the digests of the ids that a page has lost, without those that new entries have pushed out."""
    before, shown = list(ids_of(earlier)), list(ids_of(now))
    lost = set(before).difference(shown)
    pushed = sum(1 for _ in takewhile(lambda key: key not in before, shown))
    last_ones = takewhile(lost.__contains__, reversed(before))
    return lost.difference(islice(last_ones, pushed))
