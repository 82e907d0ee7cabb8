"""What is marked when, and what is skipped."""

import logging
import signal
import threading
import time

import pytest

from tests.databases import Database
from tests.engine import Engine
from tests.feeds import E, atom
from tests.pipelines import faulty
from tests.projects import Project
from tests.server import FeedServer


def serve_chain(server: FeedServer, archives: int, first: int = 1) -> str:
    """A subscription document and archives, with an entry each; every archive repeats the one before it."""
    for n in range(first, archives + 1):
        prev = f"/a{n - 1}" if n > first else None
        server.serve(f"/a{n}", atom([E(str(n)), E(str(n - 1), "old", "2001-01-01T00:00:00Z")], prev=prev))
    server.serve("/index", atom([E("now")], prev=f"/a{archives}"))
    return server.url("/index")


@pytest.mark.in_process
@pytest.mark.parametrize(
    ("pipeline", "reported"),
    [
        ("Raises", "/a3 lost an entry: an error in the pipelines"),
        ("IsCancelled", "/a3 lost an entry: an error in the pipelines"),
        ("Replaces", "/a3 lost an entry: a pipeline returned dict instead of EntryItem"),
    ],
)
def test_error_in_a_pipeline_leaves_the_archive_unmarked(
    server: FeedServer, project: Project, pipeline: str, reported: str
) -> None:
    feed = serve_chain(server, 3)
    run = project.crawl(feed, settings=faulty.settings(pipeline), TEST_ENTRY="3")
    assert project.states() == {**dict.fromkeys(("/index", "/a2", "/a1"), "processed"), "/a3": "failed"}
    assert (run.stats["deltafetch/stored"], run.stats["fhcrawl/document/failed"]) == (2, 1)
    assert any(reported in warning for warning in run.warnings())
    assert project.verdict() == ("incomplete", ["pipeline-error"])
    server.requested()
    run = project.crawl(feed)
    assert server.requested() == ["/index", "/a3"]
    assert run.changes == {"3": "new"}
    assert project.verdict() == ("complete", [])


def test_pipeline_that_returns_nothing_leaves_all_unmarked(server: FeedServer, project: Project) -> None:
    feed = serve_chain(server, 1)
    run = project.crawl(feed, settings=faulty.settings("ReturnsNothing"))
    assert set(project.states().values()) == {"failed"}
    assert any("returned NoneType" in w for w in run.warnings())
    assert project.verdict()[0] == "incomplete"
    assert set(project.crawl(feed).changes) == {"now", "1", "0"}
    # So do the documents of a loop, which ends all the same.
    server.serve("/a1", atom([E("1")], prev="/a0"))
    server.serve("/a0", atom([E("0")], prev="/a1"))
    server.requested()
    project.crawl(feed, settings=faulty.settings("ReturnsNothing"), args=("-a", "deltafetch_reset=1"))
    assert server.requested() == ["/index", "/a1", "/a0"]


@pytest.mark.in_process
@pytest.mark.parametrize(
    ("pipeline", "counted", "reported"),
    [
        ("Drops", {"new": 3, "updated": 1, "duplicate": 1, "dropped": 1}, None),
        ("Raises", {"new": 3, "updated": 1, "duplicate": 1, "lost": 1}, "lost an entry: an error"),
        (
            "Replaces",
            {"new": 3, "updated": 1, "duplicate": 1, "lost": 1},
            "lost an entry: a pipeline returned",
        ),
        ("ReturnsNothing", {"duplicate": 1, "lost": 5}, "lost 5 entries: a pipeline returned NoneType"),
    ],
)
def test_only_entries_that_pipelines_return_count_as_changes(
    server: FeedServer, project: Project, pipeline: str, counted: dict[str, int], reported: str | None
) -> None:
    feed = server.url("/index")
    server.serve("/index", atom([E("old"), E("same")]))
    project.crawl(feed)
    server.serve("/index", atom([E("old", "edited", "2020-01-01T00:00:00Z"), *map(E, ("same", *"abcd"))]))
    run = project.crawl(feed, settings=faulty.settings(pipeline), TEST_ENTRY="b")
    begin = "fhcrawl/entry/"
    assert {n.removeprefix(begin): v for n, v in run.stats.items() if n.startswith(begin)} == counted
    assert (run.exit_code, "Pipelines have lost entries" in run.log) == (
        (1, True) if reported else (0, False)
    )
    assert reported is None or reported in run.log
    assert ("entries: 3 new, 1 updated" in run.log) == ("new" in counted)


@pytest.mark.parametrize(
    ("pipeline", "expected"),
    [
        pytest.param("Copies", {("copied", "replaced")}, marks=pytest.mark.in_process),
        ("Legacy", {("history",)}),
        pytest.param("Enriches", {("title", "enriched")}, marks=pytest.mark.in_process),
    ],
)
def test_what_pipelines_change_is_exported(
    server: FeedServer, project: Project, pipeline: str, expected: set[tuple[str, ...]]
) -> None:
    run = project.crawl(serve_chain(server, 1), settings=faulty.settings(pipeline))
    assert {(item["title"], *item["categories"]) for item in run.items} == expected
    assert len(run.items) == 3


def test_unstorable_entry_leaves_its_document_unmarked(server: FeedServer, project: Project) -> None:
    feed = serve_chain(server, 1)
    run = project.crawl(feed, settings=faulty.settings("NoLists"))
    assert run.items == []
    assert project.verdict() == ("unknown", ["store-error"])
    assert set(project.crawl(feed).changes) == {"now", "1", "0"}


def test_drop_item_settles_an_entry(server: FeedServer, project: Project) -> None:
    feed = serve_chain(server, 2)
    run = project.crawl(feed, settings=faulty.settings("Drops"), TEST_ENTRY="2")
    assert set(run.changes) == {"now", "1", "0"}
    assert set(project.states().values()) == {"processed"}


def test_deltafetch_key_names_an_archive_and_survives_redirects(server: FeedServer, project: Project) -> None:
    settings = {"SPIDER_MODULES": "tests.spiders.own"}
    server.serve("/index", atom([E("2")], prev="/a1?session=1"))
    server.serve("/a1?session=1", "", status=302, headers={"Location": "/b1"})
    server.serve("/b1", atom([E("1")], links={"self": "/a1?session=1"}))
    run = project.crawl(server.url("/index"), settings=settings, spider="keyed")
    assert set(run.changes) == {"1", "2"}
    assert project.verdict() == ("complete", [])
    server.requested()
    server.serve("/index", atom([E("3"), E("2")], prev="/a1?session=2"))
    run = project.crawl(server.url("/index"), settings=settings, spider="keyed")
    assert server.requested() == ["/index"]
    assert run.stats["deltafetch/skipped"] == 1


def test_archive_that_replaces_skipped_ones_keeps_its_position(database: Database) -> None:
    """Without any times, only places tell which version is newer."""
    index, a2, a1 = (f"http://example.org/{name}" for name in ("index", "a2", "a1"))

    def run(number: str, oldest: str | int) -> tuple[list[str], set[str]]:
        newer = atom([E("1", "newer", None)], prev=a1, updated=None)
        shown = [E(number), E("2")] if number != "2" else [E(number)]
        documents = {index: atom(shown, prev=a2, updated=None), a2: newer, a1: oldest}
        engine = Engine(database.url, documents)
        changes = engine.crawl(index) or []
        return engine.requested, {change["id"] for change in changes}

    assert run("2", 404) == ([index, a2, a1], {"2", "1"})
    assert run("3", atom([E("1", "older", None)], updated=None)) == ([index, a1], {"3"})


def test_archive_that_failed_is_fetched_again_and_does_not_count_as_skipped(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "fhcrawl.spidermiddlewares.deltafetch")
    index, a1 = "http://example.org/index", "http://example.org/a1"
    for number, archive in (("2", 404), ("3", atom([E("1")]))):
        engine = Engine(database.url, {index: atom([E(number), E("1.5")], prev=a1), a1: archive})
        changes = engine.crawl(index) or []
    assert {change["id"] for change in changes} == {"1", "3"}
    assert "Already processed" not in caplog.text


@pytest.mark.quick
@pytest.mark.parametrize("k", [1, 5])
def test_run_after_a_kill_fetches_only_what_is_missing(server: FeedServer, project: Project, k: int) -> None:
    feed = serve_chain(server, 10)
    reached = threading.Event()

    def note(path: str) -> None:
        if path == f"/a{10 - k}":
            reached.set()
            time.sleep(0.5)

    server.on_request = note
    process = project.start("crawl", "history", "-a", f"feed={feed}", "-o", "out.jsonl")
    assert reached.wait(60)
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    server.on_request = None
    server.requested()
    processed = {path for path, state in project.states().items() if state == "processed"}
    assert processed == {"/index", *(f"/a{n}" for n in range(10 - k + 1, 11))}
    assert not (project.folder / "out.jsonl").exists()
    assert project.verdict() == ("incomplete", ["known"])

    run = project.crawl(feed)
    assert server.requested() == ["/index", *(f"/a{n}" for n in range(10 - k, 0, -1))]
    assert set(run.changes) == {"now", *(str(n) for n in range(11))}
    assert {run.texts[str(n)] for n in range(1, 11)} == {"text"}
    assert project.verdict() == ("complete", [])
