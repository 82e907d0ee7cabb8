"""Stored entries pass through the pipelines again: `-a from_store=1`."""

import json
from typing import Any

import pytest
from scrapy.settings import Settings

from fhcrawl.items import ALL_FIELDS
from fhcrawl.spiders.history import HistorySpider
from tests.feeds import E, atom, tombstone
from tests.pipelines.faulty import CHOSEN
from tests.pipelines.filling import TABLE
from tests.projects import Project, Run, read_export
from tests.server import FeedServer

pytestmark = pytest.mark.in_process
ADDING = {"ITEM_PIPELINES": json.dumps({"tests.pipelines.adding.SetsAttribute": 300})}
FILLING = json.dumps({"tests.pipelines.filling.Fills": 300})
TABLES = ("entries", "versions", "changes", "documents", "feeds", "deliveries")


def fill(
    project: Project, *feeds: str, pipelines: str = FILLING, **environment: str
) -> tuple[Run, list[dict[str, Any]]]:
    (project.folder / TABLE).unlink(missing_ok=True)
    (project.folder / TABLE).touch()
    run = project.crawl(
        *feeds,
        settings={"ITEM_PIPELINES": pipelines, "CONCURRENT_ITEMS": 2},
        args=("-a", "from_store=1"),
        output=None,
        **environment,
    )
    return run, read_export(project.folder / TABLE)


def test_interrupted_run_ends_with_the_entries_that_are_being_processed(
    server: FeedServer, project: Project
) -> None:
    server.serve("/index", atom([E(f"{number}") for number in range(9)]))
    project.crawl(server.url("/index"))
    interrupted = json.dumps({"tests.pipelines.filling.FillsAndIsInterrupted": 300})
    _, table = fill(project, server.url("/index"), pipelines=interrupted)
    assert sorted(row["id"] for row in table) == ["7", "8"]


def rows(project: Project) -> list[list[Any]]:
    return [project.database.rows(f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES]


@pytest.mark.both_stores
def test_table_is_filled_and_nothing_else_changes(server: FeedServer, project: Project) -> None:
    entries = [E(f"{number}", link="/page") for number in range(9, 1, -1)]
    deletion = tombstone("gone", "2004-01-01T00:00:00Z")
    server.serve("/index", atom(entries, prev="/archive", head=deletion))
    server.serve("/archive", atom([E("1", "longer text"), E("gone")]))
    first = project.crawl(server.url("/index"), settings=ADDING, output=None)
    assert first.exit_code == 0
    requested, before = list(server.requests), rows(project)
    run, table = fill(project, server.url("/index"))
    assert (run.exit_code, run.warnings()) == (0, [])
    assert server.requests == requested
    assert rows(project) == before
    assert sorted(row["id"] for row in table) == [f"{number}" for number in range(1, 10)]
    # As many entries at once as CONCURRENT_ITEMS allows.
    assert max(row.pop("under_way") for row in table) == 2
    complete = project.logical_feed()
    for row in table:
        assert list(row) == [*ALL_FIELDS, "minutes"]
        assert (row["change"], row["minutes"]) == (None, 11 if row["id"] == "1" else 4)
        assert {name: row[name] for name in complete[row["id"]]} == complete[row["id"]]
    assert "Stored entries that were sent through the item pipelines: 9" in run.log
    # They are still to be exported.
    assert set(project.crawl(server.url("/index")).changes) == {row["id"] for row in table}


def test_lost_entry_fails_the_run_and_holds_up_no_other(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E(f"{number}") for number in range(9)]))
    project.crawl(server.url("/index"))
    run, table = fill(project, server.url("/index"), **{CHOSEN: "5"})
    assert run.exit_code == 1
    assert "Pipelines have lost entries" in run.log
    assert sorted(row["id"] for row in table) == ["0", "1", "2", "3", "4", "6", "7", "8"]


def test_without_feeds_the_subscribed_ones_are_sent(server: FeedServer, project: Project) -> None:
    for name in ("a", "b"):
        server.serve(f"/{name}", atom([E(name)]))
        project.crawl(server.url(f"/{name}"))
    assert fill(project)[0].exit_code == 2
    assert project.scrapy("subscribe", server.url("/b")).returncode == 0
    assert [row["id"] for row in fill(project)[1]] == ["b"]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("-o", "x.jsonl"), "remove -o or FEEDS"),
        (("-s", 'FEEDS={"x.csv": {"format": "csv"}}'), "remove -o or FEEDS"),
        (("-a", "due=1", "-a", "deltafetch_reset=1"), "remove due, deltafetch_reset"),
        (("-s", "JOBDIR=job"), "remove JOBDIR"),
        ((), "/index is not in the store"),
    ],
)
def test_what_cannot_be_combined_is_refused(project: Project, args: tuple[str, ...], sentence: str) -> None:
    run = project.crawl("http://a.test/index", output=None, args=("-a", "from_store=1", *args))
    assert run.exit_code == 2
    assert sentence in run.log


def test_without_feeds_it_needs_subscribed_ones(project: Project) -> None:
    run = project.crawl(output=None, args=("-a", "from_store=1"))
    assert (run.exit_code, "give the feeds whose entries to send" in run.log) == (2, True)


def test_feeds_may_be_a_list() -> None:
    settings = Settings()
    settings.setmodule("fhcrawl.settings")
    urls = ["http://a.test/1", "http://a.test/2"]
    assert list(HistorySpider.check(settings, feed=urls)["feeds"]) == urls
