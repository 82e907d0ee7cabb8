"""Reports that several modules look at."""

import os
import pty
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TextIO

import pytest

from tests.feeds import E, atom
from tests.projects import NewProject, Project
from tests.reporting.stores import many_feeds
from tests.server import FeedServer


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
    with new_project(factory.mktemp("many")) as project:
        many_feeds(project, count)
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
