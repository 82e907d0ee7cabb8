"""Ids that become shared: what was stored under them, and what exports show of it."""

import itertools
import json
import time

import pytest

from fhcrawl.store import Store
from tests.databases import NewDatabase
from tests.engine import Engine
from tests.feeds import atom, atom_link, tombstone

INDEX, OLD = "http://example.org/index", "http://example.org/old"
Item = tuple[str, str, str | None]  # id, title, link


def body(*items: Item, prev: str | None = None, head: str = "") -> str:
    entries = "".join(
        f'<entry xmlns="http://www.w3.org/2005/Atom"><id>{i}</id><title>{title}</title>'
        f"{atom_link('alternate', link) if link else ''}</entry>"
        for i, title, link in items
    )
    return atom([], prev=prev, head=head, updated=None).replace("</feed>", f"{entries}</feed>")


A, B, C = ("g", "A", "http://example.org/a"), ("g", "B", "http://example.org/b"), ("g", "C", None)
A2, D = ("g", "A2", "http://example.org/a"), ("d", "D", "http://example.org/d")


class Feed:
    """A feed in a store, and what folding its exports gives."""

    def __init__(self, database: NewDatabase, url: str) -> None:
        self.url, self.exported = url, dict[str, str]()

    def crawl(self, documents: dict[str, str]) -> Engine:
        engine = Engine(self.url, documents)
        for change in engine.crawl(INDEX) or ():
            assert (change["change"] == "new") == (change["id"] not in self.exported)
            if change["change"] == "deleted":
                del self.exported[change["id"]]
            else:
                self.exported[change["id"]] = change["title"]
        return engine

    def stored(self) -> dict[str, str]:
        store = Store.open(self.url)
        entries = list(store.entries.read(has_details=True))
        [feed] = store.feeds.read()
        store.close()
        assert feed.entries == len(entries)
        for entry in entries:
            assert entry["shared_id"] in (None, entry["id"].rpartition("#")[0])
            assert not entry["former_ids"]
        found = {entry["id"]: entry["title"] for entry in entries}
        assert self.exported == found
        return found


def titles(feed: Feed) -> str:
    return " ".join(sorted(feed.stored().values()))


@pytest.mark.both_stores
def test_stored_entry_is_told_apart_without_a_request(new_database: NewDatabase) -> None:
    with new_database() as database:
        feed = Feed(new_database, database.url)
        archived = {OLD: body(A, D), INDEX: body(prev=OLD)}
        feed.crawl(archived)
        assert feed.stored() == {"g": "A", "d": "D"}
        again = feed.crawl({**archived, INDEX: body(B, C, D, prev=OLD)})
        assert again.requested == [INDEX]
        assert titles(feed) == "A B C D"
        assert "d" in feed.stored()
        # An edit of one of them, alone in the document.
        feed.crawl({**archived, INDEX: body(A2, D, prev=OLD)})
        assert titles(feed) == "A2 B C D"
        assert feed.crawl({**archived, INDEX: body(A2, D, prev=OLD)}).requested == [INDEX]


@pytest.mark.both_stores
def test_tombstone_of_a_shared_id_deletes_all(new_database: NewDatabase) -> None:
    with new_database() as database:
        feed = Feed(new_database, database.url)
        feed.crawl({INDEX: body(A, B, D)})
        assert titles(feed) == "A B D"
        buried = body(D, C, prev=OLD, head=tombstone("g", "2026-01-01T00:00:00Z"))
        feed.crawl({INDEX: buried, OLD: body(A, B)})
        assert titles(feed) == "D"


@pytest.mark.both_stores
def test_order_of_documents_does_not_matter(new_database: NewDatabase) -> None:
    same_link = ("g", "E", A[2])
    entries = [(A, D), (A, B), (A, same_link), (C, D), (B, D)]
    stored = set()
    for order in itertools.islice(itertools.permutations(entries), 0, None, 11):
        urls = [f"http://example.org/{n}" for n in range(len(order))]
        with new_database() as database:
            feed = Feed(new_database, database.url)
            served: dict[str, str] = {}
            for url, items, prev in zip(urls, order, [None, *urls], strict=False):
                served |= {url: body(*items, prev=prev), INDEX: body(D, prev=url)}
                feed.crawl(served)
            feed.crawl(served)
            assert feed.crawl(served).requested == [INDEX]
            stored.add(frozenset(feed.stored().items()))
    assert len(stored) == 1, stored
    assert sorted(title for _id, title in stored.pop()) == ["A", "B", "C", "D", "E"]


def test_many_entries_with_one_id_take_linear_time(new_database: NewDatabase) -> None:
    seconds = []
    for number in (2_000, 8_000):
        with new_database() as database:
            feed = Feed(new_database, database.url)
            begin = time.process_time()
            feed.crawl({INDEX: body(*(("g", str(n), None) for n in range(number)))})
            seconds.append(time.process_time() - begin)
            assert len(feed.stored()) == number
    assert seconds[1] < 8 * seconds[0], json.dumps(seconds)
