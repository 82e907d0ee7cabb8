"""The check of a feed against its publisher's own list of entries: WordPress's list of posts.

The list may name a great many posts. So the first check reads all of it, and a later one its posts that were
modified last, and its newest posts: if these are held, and their number is the expected one, nothing else has
changed.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

from fhcrawl.documents.post_list import MOST_POSTS
from fhcrawl.logical_feed.chain import TO_THE_SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

    from fhcrawl.documents.post_list import Post, PostList
    from fhcrawl.logical_feed.versions import Winner

MOST_PAGES_AGAIN = 100
NO_WALK = 0


class ListOrder(str, Enum):
    """In which order a check reads the list, and pages of the feed."""

    ALL = "all"
    MODIFIED = "modified"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class Listing:
    """What the last check has found.

    :param walk: number of the walk that has made it; NO_WALK if no check has come to its end
    :param api: URL of the list
    :param size: number of entries on a page of the feed
    :param total: number of posts in the list
    :param held: how many of them the store has as they are listed
    :param known: how many of them it has, as they are listed or as they were before
    :param unlisted: how many live entries of the store are not in the list: the publisher has deleted them
    :param foreign: how many entries the feed shows, or has shown, that never were in the list
    :param newest: when the post that was modified last was modified, apart from times to come
    :param highest: the highest number of a post
    """

    walk: int
    api: str
    size: int
    total: int
    held: int
    known: int
    unlisted: int
    foreign: int
    newest: str
    highest: int

    @property
    def is_whole(self) -> bool:
        """Whether each post that was listed is held as it was listed."""
        return self.held == self.total

    def to_json(self) -> str:
        """Return this for the store."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | None) -> Self | None:
        """Return what was stored; None for None."""
        return None if text is None else cls(**json.loads(text))

    @classmethod
    def of_walk(cls, text: str | None, walk: int) -> Self | None:
        """Return what was stored, if it is of a walk; None if a later one has not checked the list."""
        found = cls.from_json(text)
        return found if found is not None and found.walk == walk else None

    # A 304 does not name the API: without this, an unchanged feed would not be checked.
    @classmethod
    def begun(cls, api: str, size: int) -> Self:
        """Return what is known before a first check has come to its end."""
        return cls(NO_WALK, api, size, 0, 0, 0, 0, 0, "", 0)

    @property
    def has_ended(self) -> bool:
        """Whether a check has come to its end."""
        return self.walk != NO_WALK

    def anew(self) -> Self:
        """Return this for a check that reads the whole list, and looks for all posts again."""
        return replace(self, newest="", highest=0)

    # Why a third kind of evidence, besides fh:complete and a chain walked to its end: the publisher names
    # each entry by its id, with the time of its last change, so that every single one is looked for in the
    # store. A number alone is no such evidence: it does not say which entries it counts. Where the feed shows
    # what the list does not name (other types of posts), there may be more of these than anybody knows.
    @property
    def is_evidence(self) -> bool:
        """Whether each entry that the publisher lists is held, and the feed shows no others."""
        return self.is_whole and not self.foreign

    @property
    def in_words(self) -> str:
        """The rest of a sentence about the feed."""
        said = f"the store has {self.known:,} of the {self.total:,} posts that its WordPress lists"
        if self.held < self.known:
            said += f", {self.known - self.held:,} of them outdated"
        if self.foreign:
            said += f", and {self.foreign:,} that it does not list"
        return said


@dataclass(frozen=True, slots=True)
class ListCheck:
    """A check under way, as a request carries it.

    :param feed_url: URL of the feed's first page
    :param page: number of the page of the list
    :param again: numbers of pages of the feed, in `order`, with posts that are not held
    :param is_reading: the request is for the first of these; else it is for a page of the list
    :param sought: orders in which such pages have been read; the list is read once more
    :param whole: what the whole list was when its pages were chosen: see `_whole`; '' if none were
    :param is_unchanged: the subscription document is unchanged, and no other one was read
    :param read: number of listed posts that the walk has read
    :param has_failed: one of the pages could not be read: it is looked for again by the next run
    """

    api: str
    feed_url: str
    size: int
    order: ListOrder
    page: int = 1
    total: int | None = None
    held: int = 0
    known: int = 0
    read: int = 0
    newest: str = ""
    highest: int = 0
    again: tuple[int, ...] = ()
    is_reading: bool = False
    sought: tuple[ListOrder, ...] = ()
    whole: str = ""
    is_unchanged: bool = False
    has_failed: bool = False


@dataclass(frozen=True, slots=True)
class StoredEntries:
    """What the store has of a feed.

    :param walk: number of the walk
    :param live: number of live entries
    :param read: how many of them this walk has read
    :param before: the last check; None if there was none
    """

    walk: int
    live: int
    read: int
    before: Listing | None


def begin(
    api: str, feed_url: str, size: int, before: Listing | None, is_unchanged: bool = False
) -> ListCheck:
    """Return a check that begins; the parameters are those of `ListCheck`.

    :param before: the last check
    """
    is_short = before is None or before.total <= MOST_POSTS
    order = ListOrder.ALL if is_short else ListOrder.MODIFIED
    return ListCheck(api, feed_url, size, order, is_unchanged=is_unchanged)


def after_reading(check: ListCheck, before: Listing | None) -> ListCheck:
    """Return how a check goes on when the last of its pages of the feed has been read.

    :param before: the last check
    """
    if check.order is ListOrder.ALL:
        check = replace(check, sought=tuple(ListOrder), whole=_whole(check))
    else:
        check = replace(check, sought=(*check.sought, check.order))
    return _once_more(check, before)


def _once_more(check: ListCheck, before: Listing | None) -> ListCheck:
    """Return the check that reads the list from its beginning; all of it without a last check."""
    begun = begin(check.api, check.feed_url, check.size, before, check.is_unchanged)
    return replace(begun, sought=check.sought, whole=check.whole)


def _whole(check: ListCheck) -> str:
    """Return what changes when posts of the list do, after all of it was read."""
    return f"{check.total} {check.newest} {check.highest}"


# An entry comes from a document that says when the newest change in it was made; in Atom, each entry says so
# too. WordPress takes all these times from one clock. So a post that was modified after the document was made
# is modified later than any time in it (except in the same second), however old a cache's copy of the
# document is, and whenever the walk has read it.
def is_held(post: Post, stored: Mapping[str, Winner]) -> bool:
    """Return whether the store has a post as it is listed."""
    winner = _find(post, stored)
    if winner is None:
        return False
    return max(winner.order.time, winner.document_time)[:TO_THE_SECOND] >= post.modified


def _find(post: Post, stored: Mapping[str, Winner]) -> Winner | None:
    winner = stored.get(post.id)
    return winner if winner is not None and winner.digest else None


def follow(
    check: ListCheck, listed: PostList, stored: Mapping[str, Winner], entries: StoredEntries, now: str
) -> ListCheck | Listing | None:
    """Return how a check goes on after a page of the list, or its result; None if the list changes meanwhile.

    :param stored: the newest versions of the listed entries, by id
    :param now: when the page was fetched, ISO 8601 in UTC
    """
    before = entries.before
    if check.order is not ListOrder.NEWEST:
        # A time to come is of a wrong clock, or a local one: later changes may have earlier times.
        known = (post.modified for post in listed.posts if post.modified <= now)
        check = replace(check, newest=max((check.newest, *known)))
    check = replace(check, again=_again(check, listed.posts, stored, before, now))
    if check.order is ListOrder.ALL:
        return _count(check, listed, stored, entries)
    if before is None or not _reaches(check, listed, before):
        return _once_more(check, None)
    if check.again:
        return replace(check, is_reading=True)
    # Posts that could not be found before are not looked for again.
    if before.is_whole and not all(is_held(post, stored) for post in listed.posts):
        return _once_more(check, None)
    if check.order is ListOrder.MODIFIED:
        return replace(check, order=ListOrder.NEWEST, total=listed.total)
    return _unchanged(check, listed, entries, before) or _once_more(check, None)


def _reaches(check: ListCheck, listed: PostList, before: Listing) -> bool:
    """Return whether the beginning of a list has all posts that are new since the last check."""
    if check.order is ListOrder.MODIFIED:
        times = [post.modified for post in listed.posts]
        # A post may have been modified again in the second in which it was listed.
        return _descend(times) and times[-1] < before.newest
    numbers = [post.number for post in listed.posts]
    return listed.total == check.total and _descend(numbers) and numbers[-1] <= before.highest


# A post that was made since has a higher number than all before it, whatever its dates say. A draft or a
# private post that was published since has a new time of modification, and a post that was scheduled has a
# new date, so that the walk has read it. So all posts that were added are known, and the total says whether
# others are gone.
def _unchanged(check: ListCheck, listed: PostList, entries: StoredEntries, before: Listing) -> Listing | None:
    """Return the result if nothing has changed but posts that are held, or are gone; else None."""
    total, highest = listed.total, listed.posts[0].number
    found = replace(before, walk=entries.walk, total=total, newest=check.newest, highest=highest)
    is_same_store = entries.live == before.known + before.unlisted
    if not before.is_whole:
        return found if is_same_store and found == replace(before, walk=entries.walk) else None
    expected = entries.live - before.unlisted
    if total == expected or (total < expected and is_same_store):
        return replace(found, held=total, known=total, unlisted=entries.live - total)
    return None


def _count(
    check: ListCheck, listed: PostList, stored: Mapping[str, Winner], entries: StoredEntries
) -> ListCheck | Listing | None:
    """Count the posts of a page of the whole list, which is ordered by their numbers."""
    posts, total = listed.posts, listed.total if check.total is None else check.total
    numbers = [check.highest, *(post.number for post in posts)]
    begin = MOST_POSTS * (check.page - 1)
    is_whole = len(posts) == max(0, min(MOST_POSTS, total - begin))
    if listed.total != total or not is_whole or not all(a < b for a, b in pairwise(numbers)):
        return None
    # Posts that have the same id are one entry: only one of them can be kept.
    kept = {post.id: post for post in posts}.values()
    found = [_find(post, stored) for post in kept]
    check = replace(
        check,
        total=total,
        held=check.held + sum(is_held(post, stored) for post in kept),
        known=check.known + sum(winner is not None for winner in found),
        read=check.read + sum(w is not None and w.order.walk == entries.walk for w in found),
        highest=numbers[-1],
    )
    if begin + MOST_POSTS < total:
        return replace(check, page=check.page + 1)
    if check.again:
        return replace(check, is_reading=True)
    return _result(check, total, entries)


def _result(check: ListCheck, total: int, entries: StoredEntries) -> Listing:
    # Posts on two pages of the list may have the same id, too.
    check = replace(check, held=min(check.held, entries.live), known=min(check.known, entries.live))
    unlisted = entries.live - check.known
    foreign = _foreign(check, entries, unlisted)
    counted = (total, check.held, check.known, unlisted, foreign)
    found = Listing(entries.walk, check.api, check.size, *counted, check.newest, check.highest)
    # Posts that have changed since, or moved to other pages of the feed, were not looked for.
    if check.whole in ("", _whole(check)) or found.is_whole:
        return found
    before = entries.before
    return replace(found, newest=before.newest, highest=before.highest) if before else found.anew()


# WordPress calls its feed unchanged (304) after a post was deleted that is on its first page.
def _foreign(check: ListCheck, entries: StoredEntries, unlisted: int) -> int:
    """Return how many entries the feed shows that were never listed, as far as can be known."""
    shown = 0 if check.is_unchanged else max(entries.read - check.read, 0)
    # Only a walk that has read all pages tells which of these are still shown.
    if check.read == check.known and not check.is_unchanged:
        return shown
    before = entries.before
    return max(before.foreign, shown) if before and before.has_ended else unlisted


def _again(
    check: ListCheck, posts: list[Post], stored: Mapping[str, Winner], before: Listing | None, now: str
) -> tuple[int, ...]:
    """Return the pages of the feed, in the order of the check, with posts that have not been looked for."""
    if check.order in check.sought:
        return ()
    begin = MOST_POSTS * (check.page - 1)
    found = {
        (begin + index) // check.size + 1
        for index, post in enumerate(posts)
        if not is_held(post, stored)
        and (
            before is None
            or before.is_whole
            or before.newest < post.modified <= now
            or post.number > before.highest
        )
    }
    return tuple(sorted({*check.again, *found})[:MOST_PAGES_AGAIN])


def _descend(values: list[str] | list[int]) -> bool:
    return bool(values) and all(a >= b for a, b in pairwise(values))  # type: ignore[operator]
