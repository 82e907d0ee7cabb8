"""Entries that a publisher removes from a plain feed, which still shows those above and below them."""

from datetime import date, timedelta

import pytest

from fhcrawl.store import Store
from tests.databases import Database
from tests.engine import Engine
from tests.faketime import clock_at
from tests.feeds import E, atom, rss

FEED, OLDER = "http://example.org/index", "http://example.org/1"


class Publisher:
    """A plain feed, crawled each day."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._day = 0
        self.more: dict[str, object] = {}
        self.served: dict[str, str | int] = {}

    def show(self, ids: str, head: str = "") -> list[str]:
        """Show entries, each named by a character, and crawl; return which are known to be gone."""
        return self.serve(rss([E(one, f"text {one}", updated=None, title=one) for one in ids], head=head))

    def serve(self, document: str | int) -> list[str]:
        """Serve a document, and crawl; return which entries are known to be gone."""
        self.served[FEED] = document
        self._day += 1
        engine = Engine(self._database.url, self.served, more=self.more)
        with clock_at(f"{date(2009, 12, 31) + timedelta(self._day)}T00:00:00"):
            changes = engine.crawl(FEED) or []
        self.changes = {change["id"]: change["change"] for change in changes}
        found = [row[0] for row in self._database.rows("SELECT id FROM absent_entries ORDER BY id")]
        store = Store.open_to_read(self._database.url)
        [feed] = store.feeds.read()
        store.close()
        assert feed.absent == len(found)
        return found


@pytest.fixture
def publisher(database: Database) -> Publisher:
    found = Publisher(database)
    assert found.show("54321") == []
    return found


@pytest.mark.both_stores
def test_entry_that_two_walks_miss_between_others_is_gone(publisher: Publisher) -> None:
    assert publisher.show("5421") == []
    assert publisher.show("5421") == ["3"]
    assert publisher.show("65421") == ["3"]
    assert publisher.show("98765") == ["3"]


def test_feed_that_goes_on_confirms_it_too(publisher: Publisher) -> None:
    assert publisher.show("65421") == []
    assert publisher.show("76542") == ["3"]


@pytest.mark.parametrize("shown", ["65432", "76543", "98765", "5432", "4321"])
def test_entry_that_may_have_been_dropped_is_not_gone(publisher: Publisher, shown: str) -> None:
    for _ in range(3):
        assert publisher.show(shown) == []


@pytest.mark.parametrize("shown", ["4521", "2541", "15423", "54821", "55421"])
def test_other_order_proves_nothing(publisher: Publisher, shown: str) -> None:
    for _ in range(3):
        assert publisher.show(shown) == []


@pytest.mark.parametrize("second", ["4521", "98765", "98754"])
def test_second_document_that_proves_nothing_does_not_confirm(publisher: Publisher, second: str) -> None:
    assert publisher.show("5421") == []
    for _ in range(3):
        assert publisher.show(second) == []


@pytest.mark.both_stores
def test_entry_that_comes_back_is_not_gone(publisher: Publisher) -> None:
    publisher.show("5421")
    assert publisher.show("54321") == []
    assert publisher.show("5421") == []
    assert publisher.show("5421") == ["3"]
    assert publisher.show("54321") == []
    assert publisher.show("54321") == []


def test_entry_that_was_missing_in_one_document_only_was_dropped_since(publisher: Publisher) -> None:
    publisher.show("5421")
    for shown in ("54321", "76543", "87654", "98765"):
        assert publisher.show(shown) == []


def test_documents_that_could_not_be_read_prove_nothing(publisher: Publisher) -> None:
    lost = rss([E(one, f"text {one}", updated=None, title=one) for one in "5421"])
    lost = lost.replace("</channel>", "<item/></channel>")
    for document in (lost, lost, lost.replace("</rss>", ""), 404):
        assert publisher.serve(document) == []
    # What this one has lost was not seen before.
    assert publisher.show("5421") == []
    assert publisher.show("5421") == []


def test_failure_between_two_walks_delays_what_is_known(publisher: Publisher) -> None:
    assert publisher.show("5421") == []
    assert publisher.serve(404) == []
    assert publisher.show("5421") == []
    assert publisher.show("5421") == ["3"]


@pytest.mark.both_stores
def test_entry_is_deleted_if_asked_for_and_new_when_back(publisher: Publisher) -> None:
    publisher.more = {"FHCRAWL_DELETE_ABSENT": True}
    changes = []
    for shown in ("5421", "5421", "5421", "54321"):
        assert publisher.show(shown) == []
        changes.append(publisher.changes)
    # The engine of these tests exports before the walk's end.
    assert changes == [{}, {}, {"3": "deleted"}, {"3": "new"}]


TIMES = {number: f"2009-01-0{number}T00:00:00Z" for number in range(1, 10)}


def posts(*ids: str) -> str:
    """Posts of a site, whose ids may have a host of their own: the last character is the number."""
    times = [TIMES[int(one[-1])] for one in ids]
    return atom([E(one, "text", time, f"Post {one[-1]}") for one, time in zip(ids, times, strict=True)])


@pytest.mark.parametrize("second", ["5", "7"])
def test_entry_with_another_id_is_not_gone(database: Database, second: str) -> None:
    """It is found under its new id at another place, now or later."""
    publisher, site = Publisher(database), "http://example.org/"
    old, new = f"{site}?p=3", f"{site.replace('.org', '.net')}?p=3"
    names = {number: f"{site}?p={number}" for number in range(1, 10)}
    publisher.serve(posts(names[5], names[4], old, names[2], names[1]))
    if second == "7":
        publisher.serve(posts(names[5], names[4], names[2], names[1]))
    for _ in range(3):
        assert publisher.serve(posts(new, names[5], names[4], names[2], names[1])) == []


def test_entry_that_may_be_in_a_document_that_is_not_linked_any_more_is_not_gone(database: Database) -> None:
    publisher = Publisher(database)
    publisher.served[OLDER] = rss([E("3", updated=None), E("0", updated=None)])
    entries = [E(one, updated=None) for one in "54321"]
    publisher.serve(rss(entries, prev=OLDER))
    del entries[2]
    publisher.served[OLDER] = 404
    for _ in range(3):
        assert publisher.serve(rss(entries)) == []


def test_page_of_a_paged_feed_follows_the_rule_of_the_chain(database: Database) -> None:
    publisher = Publisher(database)
    publisher.served[OLDER] = rss([E("0", updated=None)])
    entries = [E(one, updated=None) for one in "54321"]
    publisher.serve(rss(entries, links={"next": OLDER}))
    del entries[2]
    # It moves to a page.
    publisher.served[OLDER] = rss([E("3", updated=None), E("0", updated=None)])
    for _ in range(3):
        assert publisher.serve(rss(entries, links={"next": OLDER})) == []
