"""How the history of feeds was obtained, by what the store has."""

import json
from contextlib import closing
from typing import Any

import pytest

from fhcrawl.logical_feed.absences import ENTRY_OCTETS, LINK_OCTETS
from fhcrawl.store import Store, schema
from tests.databases import Database

NOW = "2026-01-01T00:00:00Z"
EMPTY, FULL = bytes(LINK_OCTETS), bytes(LINK_OCTETS + ENTRY_OCTETS)
LISTING = {"api": "", "size": 1, "total": 1, "held": 1, "known": 1, "unlisted": 0, "foreign": 0, "newest": ""}


def row_of(number: int, role: str, **fields: Any) -> dict[str, Any]:
    known = {"feed_id": 1, "key": f"{number}", "url": f"http://example.org/{number}", "platform": None}
    known |= {"role": role, "state": "processed", "walk": 1, "step": -number, "lost_entries": 0, "held": None}
    return {**known, "reason": None, "detail": None, "since": None, **fields}


def unread(number: int, role: str, **fields: Any) -> dict[str, Any]:
    reported = {"state": "missing", "reason": "http-404", "detail": "is missing (404)", "since": NOW}
    return row_of(number, role, **reported, **fields)


def obtained(
    database: Database, *documents: dict[str, Any], listed: int | None = None, **captures: str
) -> list[str]:
    listing = None if listed is None else json.dumps({**LISTING, "walk": listed, "highest": 1})
    feed = {"id": 1, **dict.fromkeys(("url", "address", "location"), "http://example.org/"), "kind": "single"}
    feed |= {"walk": 1, "run": 1, "since": NOW, "crawled": NOW, "listing": listing, "subscription_id": 1}
    rows = [row_of(0, "subscription", id=1, held=FULL)]
    rows += [{**one, "id": number} for number, one in enumerate(documents, 2)]
    Store.open(database.url).close()
    url = {"feed_id": 1, "url": "http://example.org/"}
    read = {**url, "time": NOW, "digest": NOW, "state": "processed", "captured": NOW}
    with database.connected(no_parameters=False) as connection, connection.begin():
        connection.execute(schema.feeds.insert(), [feed])
        connection.execute(schema.documents.insert(), rows)
        for number, (name, marks) in enumerate(captures.items(), 1):
            archive = "file:" if name == "files" else f"https://{name}.example/"
            timemap = {**url, "id": number, "archive": archive, "depth": 0}
            connection.execute(schema.timemaps.insert(), [timemap])
            memento = {**read, "id": number, "timemap_id": number, "marks": marks}
            connection.execute(schema.mementos.insert(), [memento])
    with closing(Store.open_to_read(database.url)) as store:
        [found] = store.feeds.read()
    return found.obtained


MARK = "a" * 12


@pytest.mark.both_stores
def test_all_ways_are_named_in_order(database: Database) -> None:
    pages = [
        row_of(n, "page", platform=name, held=FULL) for n, name in enumerate(("WordPress", "Blogger"), 2)
    ]
    found = obtained(
        database, row_of(1, "archive", held=FULL), *pages, listed=1, files=MARK, web=MARK, other=MARK
    )
    assert found == ["links", "Blogger pages", "WordPress pages", "a list", "web archive", "WARC"]


@pytest.mark.parametrize(
    ("documents", "ways"),
    [
        ([], []),
        *(([row_of(1, role)], ["links"]) for role in ("archive", "page", "part")),
        # It is missing now, and was read before.
        ([unread(1, "archive", held=FULL)], ["links"]),
    ],
)
def test_documents_that_were_read_are_named_by_links(
    database: Database, documents: list[dict[str, Any]], ways: list[str]
) -> None:
    assert obtained(database, *documents) == ways


def test_sources_without_entries_are_not_listed_as_obtained(database: Database) -> None:
    documents = [unread(1, "archive"), unread(2, "page", platform="WordPress")]
    documents.append(row_of(3, "page", platform="WordPress", held=EMPTY))
    documents += [row_of(4, "listed"), row_of(5, "index")]
    assert obtained(database, *documents, listed=0, files="", web="") == []
