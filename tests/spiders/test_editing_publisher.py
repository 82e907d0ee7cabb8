"""A publisher edits, backdates and posts while it is crawled: at last, the store has what is published."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fhcrawl.documents.dates import shift
from tests.databases import NewDatabase, examples
from tests.engine import Engine
from tests.faketime import clock_at
from tests.feeds import E, rss

ROOT = "http://example.org/"
START = "2010-01-01T00:00:00Z"
AT_ONCE = 2  # entries of an archive, before some are backdated
SHOWN = 3  # in the subscription document, of which some are in an archive too


class Publisher:
    """Entries in groups, the oldest first: each complete group is an archive, generated at each request.

    Between the requests for the subscription document and for an archive that was never requested, no entry
    is edited that both have. Without times, nobody can tell such an edit from an old copy in the archive.

    :param during: what happens right before the n-th request
    """

    def __init__(self, during: Iterator[tuple[str, int]]) -> None:
        self.groups: list[list[list[Any]]] = [[]]
        self._during = during
        self._shown: list[str] = []
        self._requested: set[int] = set()
        self._count = 0
        for _ in range(7):
            self.do("post", 0)

    def do(self, action: str, number: int) -> None:
        self._count += 1
        if action == "post":
            if len(self.groups[-1]) >= AT_ONCE:
                self.groups.append([])
            self.groups[-1].append([f"e{self._count}", "text"])
        elif action == "edit":
            places = [(place, entry) for place, group in enumerate(self.groups) for entry in group]
            place, entry = places[number % len(places)]
            is_archived = place < len(self.groups) - 1
            if not (is_archived and place not in self._requested and entry[0] in self._shown):
                entry[1] = f"edit {self._count}"
        elif action == "backdate" and len(self.groups) > 1:
            group = self.groups[number % (len(self.groups) - 1)]
            group.insert(number % len(group), [f"e{self._count}", "text"])

    def now(self) -> dict[str, str]:
        return {entry_id: text for group in self.groups for entry_id, text in group}

    def __getitem__(self, url: str) -> str:
        self.do(*next(self._during, ("", 0)))
        name = url.removeprefix(ROOT)
        if name == "index":
            entries = [entry for group in self.groups for entry in group][-SHOWN:]
            self._shown = [entry_id for entry_id, _ in entries]
            prev = len(self.groups) - 1
        else:
            entries, prev = self.groups[int(name)], int(name)
            self._requested.add(prev)
        found = [E(entry_id, text, updated=None) for entry_id, text in reversed(entries)]
        return rss(found, updated=None, links={"prev-archive": f"{ROOT}{prev - 1}"} if prev else {})


actions = st.tuples(st.sampled_from(["", "post", "edit", "edit", "backdate"]), st.integers(0, 20))
# What happens before a crawl; whether that checks; what happens during it.
crawls = st.tuples(
    st.lists(actions, max_size=3), st.sampled_from(["", "1,1", "1,100"]), st.lists(actions, max_size=4)
)


def crawl(url: str, publisher: Mapping[str, str | int], day: int, recheck: str) -> list[dict[str, Any]]:
    engine = Engine(url, publisher, more={"FHCRAWL_RECHECK": recheck})
    with clock_at(shift(START, day * 24 * 60 * 60)[:-1]):
        return engine.crawl(f"{ROOT}index") or []


@pytest.mark.nightly("a hundred crawls in this process")
@settings(max_examples=examples(20))
@given(st.lists(crawls, min_size=1, max_size=5))
def test_everything_is_found_whenever_it_happens(
    new_database: NewDatabase, history: list[tuple[list[tuple[str, int]], str, list[tuple[str, int]]]]
) -> None:
    exported: dict[str, str] = {}
    with new_database() as database:
        publisher: Any = Publisher(iter(()))
        # The last crawls meet a publisher at rest. What the subscription document lacked in the last but one
        # counts in the last.
        rest: Any = [([], "1,100", [])] * 3
        for day, (before, recheck, during) in enumerate([*history, *rest]):
            publisher._shown = []
            for action in before:
                publisher.do(*action)
            publisher._during = iter(during)
            for change in crawl(database.url, publisher, day, recheck):
                exported[change["id"]] = change["summary"]
        assert exported == publisher.now()
