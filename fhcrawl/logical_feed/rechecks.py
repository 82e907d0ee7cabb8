"""Decides which documents of a chain are checked: requested again, to see whether they have changed.

Pure: values in, values out. Times are ISO 8601 in UTC ending in `Z`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents.dates import elapsed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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
def due(requested: Sequence[str], now: str, budget: Budget, doubted: Collection[int] = ()) -> list[int]:
    """Return the indexes of the documents to check now, in the order of the requests.

    If any is due, the newest document comes first, where edits are most likely, unless it would be the only
    one; then come those that have been unchecked for the longest time. A document that was not requested for
    `days` is always due, as far as `documents` allows.

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
    first = [0] if chosen and budget.documents > 1 else []
    others = [index for index in longest_first if index in doubted]
    return list(dict.fromkeys([*first, *chosen, *others]))[: budget.documents]
