"""Spiders of a user's in a project whose settings are fhcrawl's."""

import json
import re

import pytest

from fhcrawl.items import FIELDS
from tests.feeds import E, atom
from tests.projects import Project, read_export
from tests.server import FeedServer

pytestmark = pytest.mark.in_process
OWN = {"SPIDER_MODULES": "tests.spiders.own"}
PLACES = {
    "out.jsonl": {"format": "jsonlines"},
    "items.jsonl": {"format": "jsonlines", "item_classes": ["builtins.dict"]},
}


def serve(server: FeedServer) -> None:
    server.serve("/index", atom([E("2")], prev="/archive"))
    server.serve("/archive", atom([E("1", "longer text")]))
    server.serve("/page", "page", status=206, content_type="text/plain")


@pytest.mark.real_crawl
def test_plain_spider_is_left_alone(server: FeedServer, project: Project) -> None:
    serve(server)
    run = project.crawl(settings=OWN, spider="plain", args=("-a", f"url={server.url('/page')}"))
    assert run.items == [{"status": 206, "text": "page"}]
    assert (run.exit_code, run.stats) == (0, {})
    assert set(re.findall(r"fhcrawl\.\w+", run.log)) <= {
        "fhcrawl.core",
        "fhcrawl.commands",
        "fhcrawl.spiders",
    }
    assert not (project.folder / ".scrapy" / "fhcrawl.sqlite").exists()


@pytest.mark.real_crawl
def test_requests_and_items_of_a_subclass_pass(server: FeedServer, project: Project) -> None:
    serve(server)
    given = {**OWN, "FEEDS": json.dumps(PLACES), "FHCRAWL_MAX_WAIT": 1}
    page = ("-a", f"page={server.url('/page')}")
    run = project.crawl(server.url("/index"), settings=given, spider="own", output=None, args=page)
    assert run.warnings() == []
    assert [item["id"] for item in read_export(project.folder / "out.jsonl")] == ["1", "2"]
    # From the start, and from both documents.
    assert read_export(project.folder / "items.jsonl") == [{"status": 206, "text": "page"}] * 3
    assert run.all_stats["item_scraped_count"] == 5
    assert project.verdict() == ("complete", [])
    assert set(project.states().values()) == {"processed"}


def test_answers_of_a_subclass_reach_it_in_any_case(server: FeedServer, project: Project) -> None:
    serve(server)
    server.serve("/page", "busy", status=503, headers={"Retry-After": "9999"}, content_type="text/plain")
    given = {**OWN, "FEEDS": json.dumps(PLACES), "RETRY_ENABLED": 0, "HTTPERROR_ALLOW_ALL": 1}
    given["FHCRAWL_MAX_SECONDS"] = 600
    page = ("-a", f"page={server.url('/page')}")
    run = project.crawl(server.url("/index"), settings=given, spider="own", output=None, args=page)
    items = read_export(project.folder / "items.jsonl")
    assert items
    assert items[0] == {"status": 503, "text": "busy"}
    assert run.exit_code == 0


# A URL of its requests may have come out of a feed.
@pytest.mark.parametrize(
    ("page", "times", "warning"),
    [
        (
            "/page",
            1,
            "WARNING: Items of type dict are not exported, because -o exports only entries of feeds; to "
            "export them, add a destination with item_classes to FEEDS",
        ),
        (
            "http://10.0.0.1/page",
            3,
            "WARNING: http://10.0.0.1/page is not requested: it is at a private address (10.0.0.1); to allow "
            "it, use FHCRAWL_ALLOWED_PRIVATE_HOSTS",
        ),
    ],
)
@pytest.mark.real_crawl
def test_refusals_are_reported(
    server: FeedServer, project: Project, page: str, times: int, warning: str
) -> None:
    serve(server)
    args = ("-a", f"page={server.url(page) if page.startswith('/') else page}")
    run = project.crawl(server.url("/index"), settings=OWN, spider="own", args=args)
    assert run.changes == {"1": "new", "2": "new"}
    assert run.warnings() == [warning] * times


@pytest.mark.parametrize("pipeline", ["SetsAttribute", "ReturnsSubclass", "Copies"])
def test_fields_of_a_pipeline_are_exported(server: FeedServer, project: Project, pipeline: str) -> None:
    serve(server)
    pipelines = json.dumps({f"tests.pipelines.adding.{pipeline}": 300})
    # Without a name in the setting, only the store has them.
    run = project.crawl(server.url("/index"), output="none.jsonl", settings={"ITEM_PIPELINES": pipelines})
    assert [list(item) for item in run.items] == [FIELDS] * 2
    assert run.warnings() == [
        "WARNING: These fields of entries are not exported, because they are not in "
        "FHCRAWL_ADDED_FIELDS: minutes"
    ]
    kept = project.database.rows("SELECT id, added FROM live_entries ORDER BY id")
    assert kept == [("1", '{"minutes":11}'), ("2", '{"minutes":4}')]
    assert project.scrapy("unsubscribe", "--delete", server.url("/index")).returncode == 0
    given = {"ITEM_PIPELINES": pipelines, "FHCRAWL_ADDED_FIELDS": "minutes"}
    run = project.crawl(server.url("/index"), settings=given)
    assert [list(item) for item in run.items] == [[*FIELDS, "minutes"]] * 2
    assert {item["id"]: item["minutes"] for item in run.items} == {"1": 11, "2": 4}
    # Entries that were stored without it have null.
    server.serve("/index", atom([E("3"), E("2")], prev="/archive"))
    project.crawl(server.url("/index"), settings={"FHCRAWL_ADDED_FIELDS": "minutes"})
    done = project.scrapy("export", "-o", "whole.jsonl", "-s", "FHCRAWL_ADDED_FIELDS=minutes")
    assert done.returncode == 0
    complete = read_export(project.folder / "whole.jsonl")
    assert {item["id"]: item["minutes"] for item in complete} == {"1": 11, "2": 4, "3": None}


def test_added_field_that_is_no_json_leaves_all_unread(server: FeedServer, project: Project) -> None:
    serve(server)
    pipelines = json.dumps({"tests.pipelines.adding.SetsObject": 300})
    run = project.crawl(server.url("/index"), settings={"ITEM_PIPELINES": pipelines})
    assert run.items == []
    assert project.verdict() == ("incomplete", ["pipeline-error"])
    assert "lost an entry: a pipeline added fields that cannot be written as JSON (minutes: " in run.log


def test_options_of_history_are_refused_for_a_plain_spider(project: Project) -> None:
    args = ("-a", "url=http://a.test/", "--profile", "out.prof")
    run = project.crawl(settings=OWN, spider="plain", output=None, args=args)
    assert run.exit_code == 2
    assert "--profile are for the spider history, not for plain" in run.log
