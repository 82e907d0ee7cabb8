import json

import pytest
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from fhcrawl.exceptions import ArgumentError
from fhcrawl.spiders.history import HistorySpider
from tests.feeds import E, atom
from tests.projects import FROZEN, GARBAGE, USER_AGENT, Project
from tests.server import FeedServer

# Scrapy alone are more.
MANY_OBJECTS = 50_000


def test_garbage_is_not_looked_for_in_what_was_imported(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("1")]))
    run = project.crawl(server.url("/index"))
    assert run.all_stats[GARBAGE]
    assert run.all_stats[FROZEN] > MANY_OBJECTS


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ({}, {"_job": "1"}),
        ({"FHCRAWL_WARC": "%(run)s-%(serial)05d.warc.gz"}, {"run": "1"}),
        ({"FEEDS": {"%(run)03d.jsonl": {}}}, {"run": "1"}),
    ],
    ids=["Scrapyd's", "of a WARC file", "of an export"],
)
def test_arguments_of_others_are_left_alone(given: dict[str, object], arguments: dict[str, str]) -> None:
    HistorySpider.check_names(Settings(given), arguments)
    with pytest.raises(ArgumentError, match="There is no argument ru; valid arguments:"):
        HistorySpider.check_names(Settings(given), {"ru": "1", **arguments})


def test_spider_of_another_command_refuses_an_unknown_argument() -> None:
    crawler = get_crawler(HistorySpider)
    assert HistorySpider.from_crawler(crawler, feed="https://example.org/feed").requested
    with pytest.raises(ArgumentError, match="There is no argument fed; valid arguments:"):
        HistorySpider.from_crawler(crawler, fed="https://example.org/feed")


def crawl(project: Project, *args: str, code: int = 0) -> str:
    done = project.scrapy("crawl", "history", "-s", f"USER_AGENT={USER_AGENT}", *args)
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.mark.in_process
@pytest.mark.both_stores
def test_json_is_the_feeds_of_the_run_and_what_has_changed(project: Project, server: FeedServer) -> None:
    one, other, missing = map(server.url, ("/one", "/other", "/missing"))
    server.serve("/one", atom([E("2"), E("1")]))
    server.serve("/other", atom([E("1")]))
    crawl(project, other)
    found = json.loads(crawl(project, one, missing, "--json"))
    [lost, first] = sorted(found, key=lambda feed: str(feed["feed"]))
    assert (first["feed"], first["entries"], first["kind"]) == (one, 2, "single")
    assert (first["new"], first["updated"], first["deleted"]) == (2, 0, 0)
    # It is in the store no longer.
    assert (lost["feed"], lost["verdict"], lost["new"]) == (missing, "unknown", 0)
    server.serve("/one", atom([E("3"), E("2", "edited"), E("1")]))
    found = json.loads(crawl(project, one, other, "--json", "-o", "out.jsonl"))
    [again, same] = sorted(found, key=lambda feed: str(feed["feed"]))
    assert (again["new"], again["updated"], again["deleted"]) == (1, 1, 0)
    assert (same["feed"], same["new"]) == (other, 0)
    assert {name for name in again if name not in ("new", "updated", "deleted", "skipped")} == {
        *json.loads(project.scrapy("feeds", "--json").stdout)[0]
    }
    assert json.loads(crawl(project, one, "--due", "--json")) == []


@pytest.mark.in_process
@pytest.mark.both_stores
def test_dry_run_prints_the_feeds_and_requests_nothing(project: Project, server: FeedServer) -> None:
    one, new = map(server.url, ("/one", "/new"))
    server.serve("/one", atom([E("1")]))
    assert crawl(project, one, new, "--dry-run") == f"{one}  not crawled yet\n{new}  not crawled yet\n"
    assert not server.requests
    assert not (project.folder / ".scrapy" / "fhcrawl.sqlite").exists()
    assert json.loads(project.scrapy("feeds", "--json").stdout) == []
    crawl(project, one)
    [read] = json.loads(project.scrapy("feeds", "--json").stdout)
    assert crawl(project, one, "--dry-run") == f"{one}  due at {read['due']}\n"
    assert crawl(project, one, new, "--due", "--dry-run") == f"{new}  not crawled yet\n"
    done = project.scrapy("crawl", "history", "--due", "--dry-run", "-a", f"feed={one}")
    assert (done.stdout, f"the next one is due at {read['due']}" in done.stderr) == ("", True)
    project.scrapy("subscribe", one, new)
    (project.folder / "list.txt").write_text(f"{new}\nexample\n")
    assert crawl(project, "--feeds", "list.txt", "--dry-run", code=1).startswith(f"{new}  ")
