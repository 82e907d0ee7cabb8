"""Documents that are made to use up memory or time; tests/benchmarks/hostile.py has all kinds."""

import gzip
import os
from pathlib import Path

import pytest

from tests.benchmarks.hostile_documents import KINDS, MIB
from tests.feeds import E, atom
from tests.projects import Project, Run
from tests.server import Answer, FeedServer

pytestmark = [
    pytest.mark.any_store("what reading a document may cost"),
    pytest.mark.nightly("crawls hostile documents"),
]

SIZE = 24 * MIB
MOST_MEMORY = 1024  # MiB, of both processes
SETTINGS = {"FHCRAWL_MAX_ENTRIES": 1000, "FHCRAWL_MAX_ARCHIVES": 2, "RETRY_TIMES": 0}
SAID = {
    "index, a million pages": ["too-large"],
    "index, one long URL": ["too-large"],
    "JSON, small objects": ["too-large"],
    "JSON, empty objects": ["too-large"],
    "Atom, empty entries": ["too-large"],
    "HTML, links to feeds": ["html"],
}
# Says in a file what is read in the crawl's own process.
TELLING = """
import sys
from pathlib import Path

if sys.orig_argv[-5:-3] != ["-m", "fhcrawl.crawling.parser"]:
    import json
    from lxml import etree
    def telling(function, number):
        def told(*args, **kwargs):
            if len(args[number]) > 100_000:
                Path({file!r}).open("a").write(f"{{function}}\\n")
            return function(*args, **kwargs)
        return told
    json.loads = telling(json.loads, 0)
    json.JSONDecoder.decode = telling(json.JSONDecoder.decode, 1)
    etree.fromstring = telling(etree.fromstring, 0)
"""


@pytest.fixture
def told(tmp_path: Path) -> Path:
    (tmp_path / "sitecustomize.py").write_text(TELLING.format(file=str(tmp_path / "told")))
    return tmp_path / "told"


def crawl(project: Project, told: Path, *feeds: str) -> Run:
    path = f"{project.environment()['PYTHONPATH']}{os.pathsep}{told.parent}"
    return project.crawl(*feeds, settings=SETTINGS, PYTHONPATH=path)


def test_hostile_documents_cost_the_crawl_little_and_a_feed_beside_them_is_complete(
    server: FeedServer, project: Project, told: Path
) -> None:
    server.serve("/feed", atom([E("2")], prev="/behind"))
    server.serve("/behind", atom([E("1")]))
    crawl(project, told, server.url("/feed"))
    paths = {kind: f"/{number}" for number, kind in enumerate(SAID)}
    for kind, path in paths.items():
        body = gzip.compress(KINDS[kind].make(SIZE), 1)
        encoded = {"Content-Encoding": "gzip"}
        server.answers[path] = Answer(body, content_type=KINDS[kind].content_type, headers=encoded)
    project.scrapy("subscribe", *map(server.url, paths.values()))  # or what is never read is forgotten
    run = crawl(project, told, server.url("/feed"), *map(server.url, paths.values()))
    assert run.exit_code == 0
    assert not told.exists(), told.read_text()
    assert run.peak < MOST_MEMORY
    found = {feed["feed"]: feed for feed in project.feeds()}
    assert found[server.url("/feed")]["verdict"] == "complete"
    kinds = {
        kind: sorted({reason["kind"] for reason in found[server.url(path)]["reasons"]} - {"not-read"})
        for kind, path in paths.items()
    }
    assert kinds == SAID
    assert project.database.rows("SELECT count(*) FROM documents") == [(2 + len(SAID),)]
