"""Exports to S3 and FTP, by Scrapy's feed storages, seen on the other side."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests import elsewhere
from tests.elsewhere import Place
from tests.feeds import E, atom
from tests.projects import Project, Run
from tests.server import FeedServer

nightly = pytest.mark.nightly("starts servers of S3 and FTP")

KINDS = ("s3", "ftp")
# More than what has to come before a server dies, and than one buffer of ftplib or boto3.
LONG = "x" * 100_000
DIES_AFTER = 150_000
# Of botocore: an upload is not begun again.
ONCE = {"AWS_MAX_ATTEMPTS": "1"}


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, project: Project) -> Iterator[Place]:
    folder = project.folder / "served"
    folder.mkdir()
    with elsewhere.serving(request.param, folder) as serving:
        yield serving


def ids(content: bytes | None) -> list[str]:
    """Of the entries of JSON lines."""
    assert content is not None
    return [json.loads(line)["id"] for line in content.splitlines()]


def crawl(project: Project, server: FeedServer, place: Place, *args: str, **settings: Any) -> Run:
    return project.crawl(
        server.url("/index"), output=None, args=args, settings={**place.settings, **settings}, **ONCE
    )


@pytest.mark.slow("the smoke test of S3 and FTP")
def test_changes_of_a_crawl_arrive(server: FeedServer, project: Project, place: Place) -> None:
    server.serve("/index", atom([E("1"), E("2", "ça")]))
    run = crawl(project, server, place, "-o", f"{place.root}/deep/out.jsonl", "-o", "out.jsonl")
    assert run.exit_code == 0, run.log
    assert place.read("deep/out.jsonl") == (project.folder / "out.jsonl").read_bytes()
    assert sorted(ids(place.read("deep/out.jsonl"))) == ["1", "2"]
    assert elsewhere.PASSWORD not in run.log
    assert project.crawl(server.url("/index")).items == []


@nightly
def test_postprocessing_is_scrapys(server: FeedServer, project: Project, place: Place) -> None:
    server.serve("/index", atom([E("1")]))
    plugins = ["scrapy.extensions.postprocessing.GzipPlugin"]
    options = {"format": "jsonlines", "postprocessing": plugins, "overwrite": True}
    feeds = json.dumps({f"{place.root}/out.jsonl.gz": options})
    assert crawl(project, server, place, FEEDS=feeds).exit_code == 0
    assert ids(gzip.decompress(place.read("out.jsonl.gz") or b"")) == ["1"]


@nightly
def test_complete_logical_feeds_arrive(server: FeedServer, project: Project, place: Place) -> None:
    server.serve("/index", atom([E("1"), E("2", "ça")]))
    project.crawl(server.url("/index"))
    settings = [part for name, value in place.settings.items() for part in ("-s", f"{name}={value}")]
    # The second one replaces the first.
    for _ in range(2):
        done = project.scrapy("export", "-o", f"{place.root}/deep/all.jsonl", *settings, **ONCE)
        assert (done.returncode, elsewhere.PASSWORD in done.stdout + done.stderr) == (0, False), done.stderr
    assert project.scrapy("export", "-o", "all.jsonl").returncode == 0
    assert place.read("deep/all.jsonl") == (project.folder / "all.jsonl").read_bytes()
    assert sorted(ids(place.read("deep/all.jsonl"))) == ["1", "2"]


@nightly
@pytest.mark.parametrize("kind", KINDS)
def test_upload_that_fails_is_left_to_the_next_run(server: FeedServer, project: Project, kind: str) -> None:
    server.serve("/index", atom([E(str(number), LONG) for number in range(5)]))
    folder = project.folder / "served"
    folder.mkdir()
    with elsewhere.serving(kind, folder, DIES_AFTER) as place:
        run = crawl(project, server, place, "-O", f"{place.root}/out.jsonl", "-O", "file.jsonl")
    assert run.exit_code == 1
    assert any("nothing was marked as exported" in warning for warning in run.warnings())
    assert not (project.folder / "file.jsonl").exists()
    with elsewhere.serving(kind, folder) as place:
        run = crawl(project, server, place, "-O", f"{place.root}/out.jsonl")
        assert run.exit_code == 0, run.log
        assert sorted(ids(place.read("out.jsonl"))) == ["0", "1", "2", "3", "4"]
    assert project.crawl(server.url("/index")).items == []


@nightly
@pytest.mark.parametrize("kind", KINDS)
def test_upload_of_a_complete_export_that_fails_midway_is_an_error(
    server: FeedServer, project: Project, kind: str
) -> None:
    server.serve("/index", atom([E(str(number), LONG) for number in range(5)]))
    project.crawl(server.url("/index"))
    with elsewhere.serving(kind, project.folder, DIES_AFTER) as place:
        settings = [part for name, value in place.settings.items() for part in ("-s", f"{name}={value}")]
        done = project.scrapy("export", "-o", f"{place.root}/all.jsonl", *settings, **ONCE)
    assert done.returncode == 1
    assert "/all.jsonl (" in done.stderr
    assert elsewhere.PASSWORD not in done.stderr
    assert "Traceback" not in done.stderr
