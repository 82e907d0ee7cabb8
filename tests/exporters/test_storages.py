"""What `-o` adds to a file that is there: one file of its format, before and after, or a refusal."""

import json
from pathlib import Path
from typing import Any

import pytest

from fhcrawl.exceptions import ExportError
from fhcrawl.exporters import storages
from fhcrawl.items import FIELDS
from tests.feeds import E, atom
from tests.projects import Project, read_export
from tests.server import FeedServer

SPELLINGS = {
    "relative": "./.scrapy/../{store}",
    "absolute": "{folder}/{store}",
    "URL": "file://{folder}/{store}",
    "symbolic link": "symbolic",
    "hard link": "hard",
    "log": "{store}-wal",
    "index": "symbolic-shm",
    "link to the folder": "linked/{name}-journal",
}


@pytest.mark.in_process
def test_last_line_without_an_end_gets_one(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("1")]))
    (project.folder / "all.jsonl").write_text('{"id": "0"}')
    (project.folder / "all.csv").write_text(",".join(FIELDS) + "\r\nfeed,0" + "," * (len(FIELDS) - 2))
    project.crawl(server.url("/index"), output=None, args=("-o", "all.jsonl", "-o", "all.csv"))
    for name in ("all.jsonl", "all.csv"):
        assert [row["id"] for row in read_export(project.folder / name)] == ["0", "1"]


@pytest.mark.in_process
@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("all.csv", "name,price\nx,1\n", "different columns"),
        ("all.json", "[]\n", "json files cannot be extended"),
        ("all.xml", "<items/>\n", "xml files cannot be extended"),
        ("all.parquet", "PAR1", "parquet files cannot be extended"),
    ],
)
def test_what_nothing_can_be_appended_to_is_refused_before_the_first_request(
    server: FeedServer, project: Project, name: str, content: str, why: str
) -> None:
    server.serve("/index", atom([E("1")]))
    (project.folder / name).write_text(content)
    run = project.crawl(server.url("/index"), output=None, args=("-o", name))
    assert (run.exit_code, server.requested()) == (2, [])
    assert why in run.log
    assert f"`fhcrawl export -o {name}` for the complete history" in " ".join(run.log.split())
    assert (project.folder / name).read_text() == content
    assert project.crawl(server.url("/index"), output=None, args=("-O", name)).exit_code == 0
    assert (project.folder / name).read_text(errors="replace") != content


def test_what_comes_while_a_crawl_runs_is_not_appended_to(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("1")]))
    path = project.folder / "all.json"

    def come(_path: str) -> None:
        path.write_text("[]\n")

    server.on_request = come
    run = project.crawl(server.url("/index"), output=None, args=("-o", "all.json"))
    assert run.exit_code == 1
    assert sum("Cannot append to" in warning for warning in run.warnings()) == 1
    assert "Traceback" not in run.log
    assert path.read_text() == "[]\n"
    assert not list(project.folder.glob(".*.part"))
    assert project.crawl(server.url("/index")).changes == {"1": "new"}


def options(**given: Any) -> dict[str, Any]:
    return {"format": "csv", "encoding": "utf-8", "fields": ["a", "b"], "item_export_kwargs": {}, **given}


def test_header_and_last_line_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    assert storages.check_appending(path, options()) == b""
    for content in ("", "a,b", '\ufeff"a",b\r\n1,2\r\n'):
        path.write_text(content)
        storages.check_appending(path, options())
        storages.check_appending(path, options(fields={"x": "a", "y": "b"}))
    for content in ("b,a", "a", "\n", "a;b", '"' * 20_001, "x" * 200_000):
        path.write_text(content)
        with pytest.raises(ExportError, match="different columns"):
            storages.check_appending(path, options())
    # Columns and compression of the user are not changed.
    storages.check_appending(path, options(item_export_kwargs={"delimiter": ";"}))
    storages.check_appending(path, options(postprocessing=["scrapy.extensions.postprocessing.GzipPlugin"]))
    for octets, end in ((b"", b""), (b"a,b\n", b""), (b"a,b\r\n", b""), (b"a,b", b"\n")):
        path.write_bytes(octets)
        assert storages.check_appending(path, options()) == end
    assert storages.check_appending(path, options(format="pickle")) == b""
    assert storages.check_appending(path, options(format="jsonl", encoding="utf-16")) == b""
    assert storages.check_appending(path, options(postprocessing=[])) == b""


def test_placeholder_that_there_is_not_is_refused(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("1")]))
    run = project.crawl(server.url("/index"), output=None, args=("-o", "%(nobody)s.jsonl"))
    assert (run.exit_code, server.requested()) == (2, [])
    assert "%(nobody)s.jsonl has an invalid placeholder" in run.log
    args = ("-a", "run=one", "-o", "%(name)s-%(run)s-%(batch_id)d-100%.jsonl")
    assert project.crawl(server.url("/index"), output=None, args=args).exit_code == 0
    assert json.loads((project.folder / "history-one-1-100%.jsonl").read_text())["id"] == "1"


def file_of(project: Project) -> Path:
    return Path(project.database.url.removeprefix("sqlite:///"))


@pytest.fixture
def stored(server: FeedServer, project: Project) -> Project:
    """A project with a feed in its store, and links to its file."""
    server.serve("/index", atom([E("1")]))
    project.crawl(server.url("/index"), output=None)
    store = file_of(project)
    (project.folder / "symbolic").symlink_to(store)
    (project.folder / "hard").hardlink_to(store)
    (project.folder / "linked").symlink_to(store.parent)
    # As SQLite's own file beside a database that is in use.
    (project.folder / "symbolic-shm").symlink_to(f"{store}-shm")
    return project


@pytest.mark.in_process
@pytest.mark.sqlite_only("its store is a file")
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_files_of_the_store_are_refused_before_anything_is_written(
    server: FeedServer, stored: Project, spelling: str
) -> None:
    file = file_of(stored)
    store = file.relative_to(stored.folder)
    place = SPELLINGS[spelling].format(folder=stored.folder, store=store, name=store.name)
    before = file.read_bytes()
    server.requested()
    crawl = ("crawl", "history", "-a", f"feed={server.url('/index')}")
    feeds = f"FEEDS={json.dumps({place: {'format': 'csv', 'overwrite': True}})}"
    for args in (
        *((*crawl, option, f"{place}:jsonl") for option in ("-o", "-O")),
        *((*crawl, "-s", feeds), ("export", "-o", f"{place}:csv"), ("report", "-o", place)),
    ):
        done = stored.scrapy(*args)
        assert (done.returncode, "is a file of the store; choose another path" in done.stderr) == (2, True)
    assert (file.read_bytes(), server.requested()) == (before, [])


@pytest.mark.in_process
@pytest.mark.sqlite_only("its store is a file")
def test_file_of_the_store_that_a_function_names_is_not_replaced(server: FeedServer, stored: Project) -> None:
    server.serve("/index", atom([E("2")]))
    options = {"format": "csv", "overwrite": True, "uri_params": "tests.exporters.test_storages.named"}
    feeds = f"FEEDS={json.dumps({str(stored.folder / '%(place)s'): options})}"
    run = stored.crawl(server.url("/index"), output=None, args=("-s", feeds))
    assert (run.exit_code, "is a file of the store" in run.log) == (1, True)
    assert set(stored.logical_feed()) == {"1", "2"}


def named(params: dict[str, Any], spider: object) -> dict[str, Any]:
    """Return the placeholders of a place, as `uri_params`."""
    return {**params, "place": "hard"}
