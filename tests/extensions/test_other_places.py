"""Exports to places that are no files: what fails is delivered by the next run."""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, TYPE_CHECKING

import pytest

from tests.feeds import E, atom

if TYPE_CHECKING:
    from scrapy import Spider

    from tests.projects import Project
    from tests.server import FeedServer


class Bucket:
    """A FEED_STORAGES class: objects in a folder; it fails while a file `closed` is there."""

    def __init__(self, uri: str, *, feed_options: dict[str, object] | None = None) -> None:
        self._object = Path(uri.removeprefix("bucket://"))

    def open(self, spider: Spider) -> IO[bytes]:
        return NamedTemporaryFile()

    def store(self, file: IO[bytes]) -> None:
        file.seek(0)
        content = file.read()
        file.close()
        if (self._object.parent / "closed").exists():
            raise OSError("503 Slow Down")
        with self._object.open("ab") as kept:
            kept.write(content)


BUCKET = {"FEED_STORAGES": '{"bucket": "tests.extensions.test_other_places.Bucket"}'}


@pytest.fixture
def bucket(project: Project) -> Path:
    folder = project.folder / "bucket"
    folder.mkdir()
    return folder


def lines(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_storage_that_fails_leaves_its_changes_to_the_next_run(
    server: FeedServer, project: Project, bucket: Path
) -> None:
    feed = server.url("/index")
    server.serve("/index", atom([E("1")]))
    (bucket / "closed").touch()
    args = ("-o", f"bucket://{bucket}/object.jsonl", "-o", "file.jsonl")
    run = project.crawl(feed, output=None, settings=BUCKET, args=args)
    assert run.exit_code == 1
    assert run.all_stats["feedexport/failed_count/Bucket"] == 1
    assert any("Nothing counts as exported" in w for w in run.warnings())
    assert not (project.folder / "file.jsonl").exists()
    (bucket / "closed").unlink()
    run = project.crawl(feed, output=None, settings=BUCKET, args=args)
    assert run.exit_code == 0
    assert (lines(bucket / "object.jsonl"), lines(project.folder / "file.jsonl")) == (1, 1)
    assert project.crawl(feed).items == []


def test_nothing_goes_to_another_place_if_a_file_cannot_be_written(
    server: FeedServer, project: Project, bucket: Path
) -> None:
    feed = server.url("/index")
    server.serve("/index", atom([E("1")]))
    args = ("-o", f"bucket://{bucket}/object.jsonl", "-o", "/dev/full:jsonlines")
    run = project.crawl(feed, output=None, settings=BUCKET, args=args)
    assert run.exit_code == 1
    assert not (bucket / "object.jsonl").exists()
    assert project.crawl(feed).changes == {"1": "new"}


def test_place_that_has_its_changes_gets_them_again_if_another_one_fails(
    server: FeedServer, project: Project, bucket: Path
) -> None:
    """What has gone to another place cannot be taken back: the documentation says so."""
    feed = server.url("/index")
    server.serve("/index", atom([E("1")]))
    shut = project.folder / "shut"
    shut.mkdir()
    (shut / "closed").touch()
    args = ("-o", f"bucket://{bucket}/object.jsonl", "-o", f"bucket://{shut}/object.jsonl")
    assert project.crawl(feed, output=None, settings=BUCKET, args=args).exit_code == 1
    (shut / "closed").unlink()
    assert project.crawl(feed, output=None, settings=BUCKET, args=args).exit_code == 0
    assert (lines(bucket / "object.jsonl"), lines(shut / "object.jsonl")) == (2, 1)


@pytest.mark.nightly("retries of S3 and FTP")
@pytest.mark.parametrize("place", ["s3", "ftp"])
def test_server_that_refuses_the_connection_leaves_its_changes_to_the_next_run(
    server: FeedServer, project: Project, place: str
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    uris = {
        "s3": "s3://key:secret@bucket/out.jsonl",
        "ftp": f"ftp://user:secret@127.0.0.1:{port}/out.jsonl",
    }
    settings = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_REGION_NAME": "nowhere",
    }
    server.serve("/index", atom([E("1")]))
    run = project.crawl(
        server.url("/index"),
        output=None,
        settings=settings,
        args=("-o", uris[place], "-o", "file.jsonl"),
        AWS_MAX_ATTEMPTS="1",
    )
    assert run.exit_code == 1, run.log
    assert any("Nothing counts as exported" in w for w in run.warnings())
    assert not (project.folder / "file.jsonl").exists()
    assert project.crawl(server.url("/index")).changes == {"1": "new"}
