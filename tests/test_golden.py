"""What people and programs read stays as it is: help, `feeds --json`, and all stats of three crawls.

`pytest tests/test_golden.py -m "" --update-golden` rewrites the files. Read the diff before you commit it.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from fhcrawl.extensions.verdicts import VerdictsExtension
from tests.feeds import E, atom
from tests.projects import ROOT, Project
from tests.server import Answer, FeedServer

Crawl = Callable[[FeedServer, Project], list[dict[str, Any]]]

GOLDEN = ROOT / "tests" / "data" / "golden"
COMMANDS = (
    *("checkhistory", "copystore", "crawl", "demo", "download", "export", "feeds"),
    *("history", "report", "subscribe", "unsubscribe"),
)
# Stats whose values depend on the machine, the minute, or the digits of a port.
VOLATILE = re.compile(r"memusage/|test/|.*_bytes$|elapsed_|finish_time|start_time")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
PUBLISHED = "2003-12-13T18:30:02Z"
# Scrapy counts log records until the spider is closed: those of feeds that are released before, too.
AT_THE_END = {"EXTENSIONS": json.dumps({"tests.test_golden.VerdictsAtTheEnd": 0})}


class VerdictsAtTheEnd(VerdictsExtension):
    def spider_opened(self) -> None:
        pass


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare


def as_json(value: object, server: FeedServer) -> str:
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).replace(
        server.root, "http://SERVER"
    )
    return TIME.sub(lambda found: found[0] if found[0] == PUBLISHED else "TIME", text) + "\n"


def all_stats(found: dict[str, Any]) -> dict[str, Any]:
    return {name: "VARIES" if VOLATILE.match(name) else value for name, value in found.items()}


def crawl_archives(server: FeedServer, project: Project) -> list[dict[str, Any]]:
    server.serve("/feed", atom([E("4"), E("3")], prev="/a2"))
    server.serve("/a2", atom([E("2"), E("3")], prev="/a1"))
    server.serve("/a1", atom([E("1")]))
    first = project.crawl(server.url("/feed"), settings=AT_THE_END)
    server.serve("/feed", atom([E("5"), E("2", "edited", updated="2004-01-01T00:00:00Z")], prev="/a3"))
    server.serve("/a3", atom([E("4"), E("3")], prev="/a2"))
    return [run.all_stats for run in (first, project.crawl(server.url("/feed"), settings=AT_THE_END))]


def crawl_pages(server: FeedServer, project: Project) -> list[dict[str, Any]]:
    server.serve("/feed", atom([E("3")], links={"next": "/p2"}))
    server.serve("/p2", atom([E("2"), E("3")], links={"next": "/p3"}))
    server.serve("/p3", atom([E("1")]))
    return [project.crawl(server.url("/feed"), settings=AT_THE_END).all_stats]


def crawl_broken(server: FeedServer, project: Project) -> list[dict[str, Any]]:
    server.serve("/one", atom([E("2")], prev="/gone"))
    server.serve("/two", atom([E("2")], prev="/text"))
    server.answers["/text"] = Answer(b"not a feed", content_type="text/plain")
    server.answers["/page"] = Answer(b"<!DOCTYPE html><title>A page</title>", content_type="text/html")
    urls = [server.url(path) for path in ("/one", "/two", "/page", "/nothing")]
    # One that was never read and is not subscribed leaves nothing behind.
    project.scrapy("subscribe", server.url("/page"))
    return [project.crawl(*urls, settings={**AT_THE_END, "RETRY_TIMES": 1}).all_stats]


@pytest.mark.quick
@pytest.mark.both_stores
@pytest.mark.parametrize("crawl", [crawl_archives, crawl_pages, crawl_broken], ids=lambda f: f.__name__)
def test_stats_and_feeds(
    crawl: Crawl, server: FeedServer, project: Project, golden: Callable[[str, str], None]
) -> None:
    runs = [all_stats(stats) for stats in crawl(server, project)]
    golden(f"{crawl.__name__}-stats.json", as_json(runs, server))
    golden(f"{crawl.__name__}-feeds.json", as_json(project.feeds(), server))


@pytest.mark.quick
def test_help(project: Project, golden: Callable[[str, str], None]) -> None:
    shown = [project.scrapy(name, "--help", COLUMNS="100").stdout for name in COMMANDS]
    # Python 3.13 names the argument once: `-o, --output FILE`.
    once = re.sub(r"(?m)^(  -\w) \S+, (--\S+ \S+)", r"\1, \2", "\n".join(shown))
    once = once.replace(" (uses ipdb if installed)", "")  # since Scrapy 2.19
    golden("help.txt", "\n".join(" ".join(line.split()) for line in once.splitlines() if line.strip()) + "\n")
