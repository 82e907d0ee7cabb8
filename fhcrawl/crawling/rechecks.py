"""Requests documents that have been read again, to see whether they have changed (FHCRAWL_RECHECK).

The documents to check are found when the subscription document has been read. Their requests follow one
after another, beside those of the walk, which have precedence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.crawling import requests
from fhcrawl.exceptions import ArgumentError
from fhcrawl.logical_feed import FIRST_WALK, absences
from fhcrawl.logical_feed.absences import Budget
from fhcrawl.logical_feed.results import is_of_host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.settings import BaseSettings

    from fhcrawl.crawling.context import RequestContext, WalkContext
    from fhcrawl.logical_feed.contents import EarlierReading
    from fhcrawl.logical_feed.results import DocumentFailure, Fetch
    from fhcrawl.store import Store

SETTING = "FHCRAWL_RECHECK"
LONGEST_DAYS = 36_500


def budget_of(settings: BaseSettings) -> Budget:
    """Read FHCRAWL_RECHECK.

    :raises ArgumentError: if it is invalid
    """
    given = [str(number).strip() for number in settings.getlist(SETTING)] or ["0"]
    numbers = [
        int(number) for number in given if number.isdecimal() and len(number) < len(str(LONGEST_DAYS * 10))
    ]
    if given == ["0"]:
        return Budget(0, 0)
    if len(numbers) != len(given) or len(given) != len(Budget._fields) or max(numbers) > LONGEST_DAYS:
        shown = ",".join(given)
        raise ArgumentError(
            f"{SETTING} is {shown!r}; set it to days and a number of documents (30,20), or to 0"
        )
    return Budget(*numbers)


def first(store: Store, settings: BaseSettings, fetch: Fetch, context: RequestContext) -> Iterator[Request]:
    """Yield the request for the first document of a feed that is to be checked, if any is.

    :param fetch: of the subscription document
    """
    budget = budget_of(settings)
    if not budget.days or (context.last_reading is not None and context.last_reading.is_new):
        return
    known, *doubts = store.rechecks.read_chain(fetch.feed)
    # Out of turn, to see whether an entry that an archive has lost is gone, or whether links of several walks
    # only seem to be a loop; but not what cannot be had.
    walk = max((one for one in doubts if one is not None), default=None)
    doubted = [] if walk is None else absences.unconfirmed([one.seen for one in known], walk)
    doubted = [index for index in doubted if known[index].is_there]
    failed = [index for index, one in enumerate(known) if not one.is_there]
    due = absences.due_rechecks([one.requested for one in known], fetch.fetched, budget, doubted, failed)
    yield from _next(store, [known[index].id for index in due], context.walk)


def following(
    store: Store, context: RequestContext, failure: DocumentFailure | None = None
) -> Iterator[Request]:
    """Yield the request for the document to be checked after another one, if any is.

    :param context: of the request for that other document
    :param failure: why that one could not be checked
    """
    if failure is None or not is_of_host(failure):
        yield from _next(store, context.checks or [], context.walk, context.documents + 1)


def _next(store: Store, numbers: list[int], walk: WalkContext, documents: int = 2) -> Iterator[Request]:
    for position, number in enumerate(numbers, 1):
        found = store.rechecks.find(number)
        if found is not None:
            yield requests.check(found, walk, numbers[position:], documents)
            return


def earlier_reading(store: Store, fetch: Fetch, walk: WalkContext) -> EarlierReading | None:
    """Return what is known of a document from before this walk; None if nothing is."""
    # In its first walk, nothing of a feed was read before.
    if walk.number <= FIRST_WALK:
        return None
    return store.rechecks.read_earlier(fetch.feed, fetch.key, fetch.position, walk.number)
