"""Decides what the documents of a chain held at one moment, and which of them are checked to know it.

An entry that none of them held then is gone; and if the chain is that of a paged feed, it was the feed then.

Pure: numbers of walks and times (ISO 8601 in UTC ending in `Z`) in, numbers out; there is no clock.

Entries move from document to document: to an older page when others are added, to a newer page when others
are deleted, from the subscription document to an archive. An entry that no document held when it was read can
have moved from a document that was read later to one that was read before. So each document has to be seen
twice, with the same content. Let there be a walk such that every archive (or page) was first seen as it is
now in an earlier walk, and was last seen so in this walk, or later. Then all of them were so at the moment
when this walk read the subscription document: what none of them holds, nor the subscription document, was not
published at that moment.

A plain feed has one document, and drops its oldest entries. An entry that is missing there between two that
it still shows, in the same order, has not been dropped at the end: the publisher has removed it.
"""

from __future__ import annotations

from itertools import pairwise, takewhile
from operator import eq
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents.dates import elapsed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class Seen(NamedTuple):
    """When a document was seen, as it is known.

    :param changed: number of the walk that first saw it so; None if that is not known
    :param checked: number of the last walk that saw it so
    """

    changed: int | None
    checked: int | None


def snapshot_walk(documents: Collection[Seen], subscription: Seen) -> int | None:
    """Return the last walk at whose beginning all documents of a chain were as they are known; None for none.

    :param documents: the documents of the chain without the subscription document, all of them
    :param subscription: the subscription document; it may have changed since that walk
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
    """Return the last walk at whose beginning all documents of a chain were as they are known; None for none.

    :param chain: its documents together: `changed` is the last of theirs, and `checked` the first; None if
        that is not known of one of them
    """
    if chain.changed is None or chain.checked is None or chain.changed >= chain.checked:
        return None
    return chain.checked


# A document that sorts its entries by rank or update time, or shows some at random, moves entries or puts new
# ones between others. Newer entries may come below pinned ones, which have stayed at the top; and a document
# that is shorter by an entry may show an older one at its end. What has a new entry in its place may have got
# another id. An entry pinned at the end proves nothing: the one above it is the oldest of the others.
def removed(earlier: Sequence[bytes], shown: Sequence[bytes]) -> dict[bytes, bytes] | None:
    """Return the entries that the document of a plain feed has lost between two that it still shows.

    :param earlier: digests of the ids that it showed before, in its order
    :param shown: the same of those that it shows now
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


def confirmed_walk(subscription: Seen) -> int | None:
    """Return the last walk whose reading of a plain feed's document a later walk has confirmed, if any."""
    return None if subscription.checked is None else subscription.checked - 1


def missed_since(missed: int, looked: int, changed: int | None, walk: int) -> int:
    """Return since which walk no subscription document that was read had an entry that no document holds now.

    A walk that was killed has read a subscription document that nobody has looked at.

    :param missed: the same when the entry was last looked for
    :param looked: number of the walk in which it was last looked for
    :param changed: number of the walk that first saw the subscription document as it is
    :param walk: number of this walk
    """
    return missed if changed is not None and changed <= looked + 1 else walk


def unconfirmed(documents: Sequence[Seen], missed: int) -> list[int]:
    """Return the indexes of the documents to be seen again before it is known that an entry is gone.

    :param missed: number of a walk since which no subscription document that was read had the entry
    """
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
    one, or its last request failed; then come those that have been unchecked for the longest time. A document
    that was not requested for `days` is always due, as far as `documents` allows.

    :param requested: when each document was last requested, the newest document first
    :param doubted: indexes of documents that are to be checked whether they are due or not
    :param failed: indexes of documents whose last request failed: they are requested only when they are due
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
