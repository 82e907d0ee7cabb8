"""Entries that a publisher removes from a plain feed, which still shows those above and below them."""

from datetime import date, timedelta

import pytest

from fhcrawl.store import Store
from tests.databases import Database
from tests.engine import Engine
from tests.faketime import clock_at
from tests.feeds import E, atom, rss

FEED, OLDER = "http://example.org/index", "http://example.org/1"


def shown(ids: str, **more: object) -> str:
    """A document with entries that are each named by a character."""
    return rss([E(one, f"text {one}", updated=None, title=one) for one in ids], **more)  # type: ignore[arg-type]


class Publisher:
    """A plain feed, crawled each day."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._day = 0
        self.more: dict[str, object] = {}
        self.served: dict[str, str | int] = {}

    def serve(self, document: str | int) -> str:
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
        return "".join(found)


@pytest.fixture
def publisher(database: Database) -> Publisher:
    return Publisher(database)


LOST = shown("5421").replace("</channel>", "<item/></channel>")
NOTHING = [""] * 3
BOTH_STORES = pytest.mark.both_stores


# What the feed shows after 54321, day by day, and what is known to be gone then.
@pytest.mark.parametrize(
    ("days", "gone"),
    [
        pytest.param(
            ["5421", "5421", "65421", "98765"],
            ["", "3", "3", "3"],
            marks=BOTH_STORES,
            id="missed by two walks",
        ),
        pytest.param(["65421", "76542"], ["", "3"], id="confirmed by a feed that goes on"),
        *(
            pytest.param([days] * 3, NOTHING, id=f"dropped, perhaps: {days}")
            for days in ("65432", "76543", "98765", "5432", "4321")
        ),
        *(
            pytest.param([days] * 3, NOTHING, id=f"in another order: {days}")
            for days in ("4521", "2541", "15423", "54821", "55421")
        ),
        *(
            pytest.param(["5421", *[second] * 3], ["", *NOTHING], id=f"not confirmed by {second}")
            for second in ("4521", "98765", "98754")
        ),
        pytest.param(
            ["5421", "54321", "5421", "5421", "54321", "54321"],
            ["", "", "", "3", "", ""],
            marks=BOTH_STORES,
            id="comes back",
        ),
        pytest.param(
            ["5421", "54321", "76543", "87654", "98765"], ["", "", *NOTHING], id="missing once, then dropped"
        ),
        # What the last of these has lost was not seen before.
        pytest.param(
            [LOST, LOST, LOST.replace("</rss>", ""), 404, "5421", "5421"], [*NOTHING, *NOTHING], id="unread"
        ),
        pytest.param(["5421", 404, "5421", "5421"], ["", "", "3", "3"], id="a failure changes nothing"),
    ],
)
def test_entries_known_to_be_gone(publisher: Publisher, days: list[str | int], gone: list[str]) -> None:
    found = [
        publisher.serve(shown(one) if isinstance(one, str) and one.isdecimal() else one)
        for one in ("54321", *days)
    ]
    assert found == ["", *gone]


@pytest.mark.both_stores
def test_removed_entry_is_deleted_on_request_and_new_when_it_returns(publisher: Publisher) -> None:
    publisher.more = {"FHCRAWL_DELETE_ABSENT": True}
    changes = []
    for ids in ("54321", "5421", "5421", "5421", "54321"):
        assert publisher.serve(shown(ids)) == ""
        changes.append(publisher.changes)
    # The engine of these tests exports before the walk's end.
    assert changes[1:] == [{}, {}, {"3": "deleted"}, {"3": "new"}]


@pytest.mark.parametrize("second", ["5", "7"])
def test_entry_with_another_id_is_not_gone(publisher: Publisher, second: str) -> None:
    """It is found under its new id at another place, now or later."""

    def posts(*ids: str) -> str:
        times = [f"2009-01-0{one[-1]}T00:00:00Z" for one in ids]
        return atom([E(one, "text", time, f"Post {one[-1]}") for one, time in zip(ids, times, strict=True)])

    names = {number: f"http://example.org/?p={number}" for number in range(1, 6)}
    rest = [names[number] for number in (5, 4, 2, 1)]
    publisher.serve(posts(*(names[number] for number in (5, 4, 3, 2, 1))))
    if second == "7":
        publisher.serve(posts(*rest))
    for _ in range(3):
        assert publisher.serve(posts("http://example.net/?p=3", *rest)) == ""


# The document that is not linked any more may have it; or it has moved to a page, by the chain's rule.
@pytest.mark.parametrize(
    ("before", "after", "older"),
    [
        ({"prev": OLDER}, {}, 404),
        ({"links": {"next": OLDER}}, {"links": {"next": OLDER}}, shown("30")),
    ],
    ids=["an archive", "a page"],
)
def test_entry_that_may_be_in_an_older_document_is_not_gone(
    publisher: Publisher, before: dict[str, object], after: dict[str, object], older: str | int
) -> None:
    publisher.served[OLDER] = shown("30" if older == 404 else "0")
    publisher.serve(shown("54321", **before))
    publisher.served[OLDER] = older
    for _ in range(3):
        assert publisher.serve(shown("5421", **after)) == ""
