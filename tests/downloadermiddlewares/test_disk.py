"""FHCRAWL_MIN_FREE_DISK: a crawl that leaves room on the disks that it writes to."""

import shutil
import subprocess
from pathlib import Path

import pytest

from fhcrawl.reporting.summary import FAILURES
from tests.feeds import E, atom
from tests.projects import Project, Run, read_export
from tests.server import FeedServer
from tests.servers import small_disk

MIB = 1024**2
# What there has to be of a disk of 8 MiB, by default.
ENOUGH = 2 * MIB
# What each run writes to a disk, and its environment.
DISKS = {
    "an export": ({}, ("-o", "small/later/out.jsonl"), {}),
    "WARC files": ({"FHCRAWL_WARC": "small/later/%(time)s.warc.gz"}, (), {}),
    "temporary files": ({}, (), {"TMPDIR": "small"}),
}


def fill(folder: Path, left: int) -> None:
    free = shutil.disk_usage(folder).free
    (folder / "filler").write_bytes(b"x" * max(0, free - left))


def reported(run: Run) -> list[str]:
    """The errors in the log."""
    lines = run.warnings()
    return [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]


@pytest.mark.parametrize("holds", DISKS)
def test_nothing_is_taken_while_a_disk_is_nearly_full(
    server: FeedServer, project: Project, holds: str
) -> None:
    small = project.folder / "small"
    settings, args, environment = DISKS[holds]
    environment = {name: str(project.folder / value) for name, value in environment.items()}
    server.serve("/index", atom([E("3")], prev="/a2"))
    server.serve("/a2", atom([E("2")], prev="/a1"))
    server.serve("/a1", atom([E("1")]))

    def crawl(**more: object) -> Run:
        return project.crawl(server.url("/index"), settings={**settings, **more}, args=args, **environment)

    def fill_it(path: str) -> None:
        if path == "/a2":
            fill(small, ENOUGH // 2)

    with small_disk(small, "8m"):
        server.on_request = fill_it
        run = crawl()
        assert run.exit_code == 1
        assert set(run.changes) == {"3", "2"}
        sentence, summary = reported(run)
        assert sentence.startswith(f"The disk with {holds} is nearly full: {small}")
        assert sentence.endswith(
            " MiB free, but 2.0 MiB are needed (FHCRAWL_MIN_FREE_DISK); no documents are fetched until "
            "there is enough space"
        )
        assert summary == FAILURES["fhcrawl/disk/full"]
        assert run.stats["fhcrawl/disk/full"] == 1
        [reason] = project.feeds()[0]["reasons"]
        assert reason["kind"] == "disk-full"
        assert reason["url"] == server.url("/a1")
        assert reason["detail"] == (
            f"was left for a later run: the disk with {holds} is nearly full (FHCRAWL_MIN_FREE_DISK)"
        )
        server.requested()
        run = crawl()
        assert (run.exit_code, run.items, server.requested()) == (1, [], [])
        server.on_request = None
        run = crawl(FHCRAWL_MIN_FREE_DISK=MIB // 2)
        assert (run.exit_code, set(run.changes)) == (0, {"1"})
        assert project.verdict() == ("complete", [])


@pytest.mark.sqlite_only("the disk of another store is another machine's")
def test_crawl_leaves_room_on_the_disk_of_its_store(server: FeedServer, project: Project) -> None:
    text = "x" * 2_000_000
    paths = [f"/a{number}" for number in range(14)]
    for path, behind in zip(["/index", *paths], [*paths, None], strict=True):
        server.serve(path, atom([E(path, text)], prev=behind))
    folder = project.folder / ".scrapy"
    found: list[str] = []
    with small_disk(folder, "48m"):
        run = project.crawl(server.url("/index"))
        found += run.changes
        assert run.exit_code == 1
        assert len(reported(run)) == 2, run.log
        assert "fhcrawl/store/failed" not in run.stats
        assert project.verdict() == ("incomplete", ["disk-full"])
        assert set(project.logical_feed()) == set(found)
        assert 4 * MIB < shutil.disk_usage(folder).free < 20 * MIB
        subprocess.run(["mount", "-o", "remount,size=160m", str(folder)], check=True)  # noqa: S607
        run = project.crawl(server.url("/index"))
        found += run.changes
        assert run.exit_code == 0, run.log
        assert sorted(found) == sorted(["/index", *paths])
        assert project.verdict() == ("complete", [])


@pytest.mark.sqlite_only("the disk of another store is another machine's")
def test_export_that_does_not_fit_is_absent_and_the_next_run_writes_it(
    server: FeedServer, project: Project
) -> None:
    server.serve("/index", atom([E("1", "x" * 300_000)]))
    small = project.folder / "small"
    with small_disk(small, "1m"):
        fill(small, 100_000)
        settings = {"FHCRAWL_MIN_FREE_DISK": 1000}
        run = project.crawl(server.url("/index"), settings=settings, output="small/out.jsonl")
        assert run.exit_code == 1
        assert [path.name for path in small.iterdir()] == ["filler"]
        (small / "filler").unlink()
        run = project.crawl(server.url("/index"), settings=settings, output="small/out.jsonl")
        assert (run.exit_code, run.changes) == (0, {"1": "new"})
        assert len(read_export(small / "out.jsonl")) == 1
