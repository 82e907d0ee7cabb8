"""A publisher posts, deletes and moves entries while pages are read: what is complete was the feed once."""

from collections.abc import Iterator
from contextlib import closing
from datetime import date
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from fhcrawl.logical_feed import Verdict
from fhcrawl.store import Store
from tests.databases import NewDatabase, examples
from tests.engine import Engine
from tests.faketime import clock_at
from tests.feeds import E, rss

ROOT = "http://example.org/"
ON_A_PAGE = 2


class Publisher:
    """Pages that are divided anew with each change, the newest entry first; page 0 is polled.

    :param during: what happens right before the n-th request
    :param counts: the first entry of a page counts the changes of the page, so no page returns to an earlier
        state
    """

    def __init__(self, during: Iterator[tuple[str, int]], counts: bool) -> None:
        self._counts = counts
        self.entries = list(range(6))
        self.polled: dict[int, set[str]] = {}
        self.day = 0
        self.during = during
        self._count = len(self.entries)
        self._pages: dict[int, tuple[list[int], bool, int]] = {}
        self._divide()

    def do(self, action: str, number: int) -> None:
        index = number % len(self.entries) if self.entries else 0
        if action == "post":
            self._count += 1
            self.entries.insert(0, self._count)
        elif action == "delete" and self.entries:
            del self.entries[index]
        elif action == "move" and self.entries:
            self.entries.insert(0, self.entries.pop(index))
        elif action == "pin" and self.entries:
            self.entries.append(self.entries.pop(index))
        self._divide()

    def _divide(self) -> None:
        for page in range(12):
            end = (page + 1) * ON_A_PAGE
            now = self.entries[page * ON_A_PAGE : end], len(self.entries) > end
            *before, version = self._pages.get(page, ([], False, 0))
            self._pages[page] = (*now, version + ([*now] != before))

    def __getitem__(self, url: str) -> str | int:
        self.do(*next(self.during, ("", 0)))
        page = int(url.removeprefix(ROOT))
        entries, has_older, version = self._pages[page]
        if page == 0:
            # A crawl that confirms pages is as of its second reading.
            self.polled[self.day] = set(map(str, self.entries))
        elif not entries:
            return 404
        texts = [f"change {version}" if self._counts else "text", *["text"] * len(entries)]
        found = [E(str(one), text, updated=None) for one, text in zip(entries, texts, strict=False)]
        return rss(found, updated=None, links={"next": f"{ROOT}{page + 1}"} if has_older else {})


actions = st.tuples(st.sampled_from([*[""] * 9, "post", "delete", "move", "pin"]), st.integers(0, 20))
# What each crawl checks, whether it reads everything again, and what happens during it.
crawls = st.tuples(
    st.sampled_from(["", "1,1", "1,100"]), st.booleans(), st.lists(actions, min_size=4, max_size=8)
)


@pytest.mark.nightly("a hundred crawls in this process")
@settings(max_examples=examples(30), deadline=None)
@given(st.lists(crawls, min_size=2, max_size=6), st.booleans())
def test_pages_that_are_complete_were_the_feed_once(
    new_database: NewDatabase, history: list[tuple[str, bool, list[tuple[str, int]]]], counts: bool
) -> None:
    publisher: Any = Publisher(iter(()), counts)
    with new_database() as database:
        for day, (recheck, is_reset, during) in enumerate(history, 1):
            publisher.during, publisher.day = iter(during), day
            more = {"FHCRAWL_RECHECK": recheck, "DELTAFETCH_RESET": is_reset, "FHCRAWL_CONFIRM_PAGES": 500}
            with clock_at(f"2010-01-{day:02}T00:00:00"):
                Engine(database.url, publisher, more=more).crawl_only(f"{ROOT}0")
            with closing(Store.open_to_read(database.url)) as store:
                [feed] = store.feeds.read()
                kept = {entry["id"] for entry in store.entries.read()}
            event(f"complete: {feed.verdict is Verdict.COMPLETE}")
            if feed.verdict is Verdict.COMPLETE:
                assert feed.complete_as_of is not None
            if feed.complete_as_of is not None:
                assert publisher.polled[date.fromisoformat(feed.complete_as_of[:10]).day] <= kept
