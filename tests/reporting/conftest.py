"""Reports that several modules look at, two of them on stores that are written without a crawl."""

import json
import os
import pty
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TextIO

import pytest

from fhcrawl.logical_feed.coverage import MARK
from fhcrawl.store import Store, schema
from tests.feeds import E, atom
from tests.projects import NewProject, Project
from tests.server import FeedServer

CRAWLED = "2026-03-01T04:05:06Z"
HOSTILE = (
    '</title></style></script><script>document.title = "owned"</script><img src=x onerror=alert(1)>\u202e"\'&'
)
NEVER = {"etag": None, "last_modified": None, "body_digest": None, "verdict": None, "reasons": None}


def _feed(number: int, archives: int) -> dict[str, list[dict[str, Any]]]:
    root = f"https://feeds.example/{number}"
    kind = (["archived"] * 4 + ["paged", "single", None])[number % 7]
    links = archives if kind in ("archived", "paged") else 0
    title = HOSTILE if number == 1 else f"Feed {number} of weather reports" if number % 5 else None
    feed = {
        "id": number,
        "url": "javascript:alert(1)" if number == 2 else f"{root}/index.atom",
        "location": root,
        "address": root,
        "title": title,
        "kind": kind,
        **dict.fromkeys(("walk", "run"), 1),
        "since": "2026-01-01T00:00:00Z",
        "crawled": CRAWLED if kind else None,
        "subscription_id": number * 10_000,
        **NEVER,
    }
    documents = [_document(number, root, step, links, kind) for step in range(links + 1)]
    entries = [_entry(number, root, step) for step in range((links + 1) * 4)] if kind else []
    span = {
        "since": "2026-02-01T00:00:00Z",
        "until": CRAWLED,
        "known": "x" * 4 * MARK,
        "shown": 4,
        "depth": 0,
    }
    rates = {"depth": 0, "entries": 9, "seconds": 9, "burst_entries": 0, "burst_seconds": 1, "burst": None}
    earlier = [["2026-01-01T00:00:00Z", "2026-01-20T00:00:00Z", 3, 1]] if number % 2 else []
    coverage = [{"feed_id": number, **span, **rates, "earlier": json.dumps(earlier)}] * (kind == "single")
    return {
        "feeds": [feed],
        "documents": documents,
        "entries": entries,
        "coverage": coverage if kind == "single" else [],
    }


def _document(number: int, root: str, step: int, links: int, kind: str | None) -> dict[str, Any]:
    role = "archive" if kind == "archived" else "page"
    is_gap = kind is None or (step == links > 0 and number % 7 == 3)
    gap = {"state": "missing", "reason": "http-404", "detail": "is missing (404)", "since": CRAWLED}
    url = f"{root}/{step}.atom" if step else f"{root}/index.atom"
    return {
        "id": number * 10_000 + step,
        "feed_id": number,
        "key": url,
        "url": url,
        "role": role if step else "subscription",
        **(gap if is_gap else {**dict.fromkeys(gap), "state": "processed"}),
        **dict.fromkeys(("walk", "run"), 1),
        "step": -step,
        "fetched": CRAWLED,
        "behind_id": number * 10_000 + step + 1 if step < links else None,
        "updated": _time(step * 4) if kind else None,
        "lost_entries": 2 if number == 1 and step in (7, 1500) else 0,
    }


def _time(position: int) -> str:
    weeks = position % (20 * 48)
    months = 12 * 2026 - weeks // 4
    return f"{months // 12}-{months % 12 + 1:02}-{28 - weeks % 4 * 7:02}T12:00:00Z"


def _entry(number: int, root: str, position: int) -> dict[str, Any]:
    time = _time(position)
    return {
        "feed_id": number,
        "id": f"{root}/{position}",
        "title": f"Report {position}",
        "link": "javascript:alert(1)" if position == 1 else f"{root}/reports/{position}.html",
        "authors": json.dumps([]),
        "digest": "x",
        "details": "{}",
        "order_walk": 1,
        **dict.fromkeys(
            (
                "published",
                "updated",
                "order_time",
                "document_updated",
                "document_time",
                "fetched",
                "first_seen",
            ),
            time,
        ),
        **dict.fromkeys(("order_overrides", "order_tombstone", "order_step", "order_position"), 0),
    }


def report(project: Project) -> Path:
    done = project.scrapy("report", "-o", "report.html")
    assert done.returncode == 0, done.stderr
    return project.folder / "report.html"


@pytest.fixture(scope="session")
def few(tmp_path_factory: pytest.TempPathFactory, new_project: NewProject) -> Path:
    with FeedServer() as server, new_project(tmp_path_factory.mktemp("few")) as project:
        months = [f"2003-{month:02}-01T00:00:00Z" for month in range(1, 13)]
        for number, month in enumerate(months):
            prev = f"/{number - 1}" if number else None
            server.serve(f"/{number}", atom([E(month, updated=month)], prev=prev, title="Whole"))
        server.serve("/11", atom([E("12"), E("13")], prev="/10", title="Whole"))
        server.serve("/gap", atom([E("1")], prev="/gone", title="Gap"))
        server.serve("/plain", atom([E("1")], title="<b>Plain</b>"))
        project.crawl(*(server.url(path) for path in ("/11", "/gap", "/plain")))
        return report(project)


def report_on(count: int, factory: pytest.TempPathFactory, new_project: NewProject) -> Path:
    # Of seven feeds, one has a gap, one is paged, one has no history, and one was never read. The first has a
    # long chain with two gaps' worth of lost entries, and a title that would like to be markup.
    with new_project(factory.mktemp("many")) as project:
        (project.folder / ".scrapy").mkdir()
        Store.open(project.database.url).close()
        with project.database.connected(no_parameters=False) as connection, connection.begin():
            for number in range(count):
                for table, rows in _feed(number + 1, 12 if number else 2000).items():
                    if rows:
                        connection.execute(schema.metadata.tables[table].insert(), rows)
        return report(project)


@pytest.fixture(scope="session")
def several(tmp_path_factory: pytest.TempPathFactory, new_project: NewProject) -> Path:
    """The report on 14 feeds: two of each kind, one of which would like to write the page itself."""
    return report_on(14, tmp_path_factory, new_project)


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory, new_project: NewProject) -> Path:
    return report_on(500, tmp_path_factory, new_project)


@pytest.fixture
def tty_file() -> Iterator[TextIO]:
    outer, inner = pty.openpty()
    with open(inner, "w") as file, closing(os.fdopen(outer)):  # noqa: PTH123 - it has no path
        yield file
