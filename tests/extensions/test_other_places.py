"""Exports to places that are no files: what fails is delivered by the next run."""

from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

from scrapy import Spider

from tests.feeds import E, atom
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


def lines(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_place_gets_its_changes_again_if_another_one_fails(server: FeedServer, project: Project) -> None:
    """What was uploaded cannot be taken back, as documented."""
    server.serve("/index", atom([E("1")]))
    places = [project.folder / name / "object.jsonl" for name in ("bucket", "shut")]
    for place in places:
        place.parent.mkdir()
    closed = places[1].with_name("closed")
    closed.touch()
    args = [part for place in places for part in ("-o", f"bucket://{place}")]

    def crawl(*more: str) -> int:
        run = project.crawl(server.url("/index"), output=None, settings=BUCKET, args=(*args, *more))
        assert run.all_stats.get("feedexport/failed_count/Bucket", 0) == int(closed.exists() and not more)
        return run.exit_code

    # Nothing goes to another place if a file cannot be written.
    assert crawl("-o", "/dev/full:jsonlines") == 1
    assert (lines(places[0]), lines(places[1])) == (0, 0)
    assert crawl() == 1
    closed.unlink()
    assert crawl() == 0
    assert (lines(places[0]), lines(places[1])) == (2, 1)
    assert project.crawl(server.url("/index")).items == []
