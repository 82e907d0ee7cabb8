"""Exports are complete or absent, and contain each change once."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from scrapy import Spider

from fhcrawl.exporters import storages
from fhcrawl.exporters.storages import FileFeedStorage
from fhcrawl.items import FIELDS
from tests.extensions.test_other_places import BUCKET
from tests.feeds import E, atom
from tests.projects import Project, read_export
from tests.server import FeedServer
from tests.servers import small_disk

STORED = "feedexport/success_count/FileFeedStorage"
RICH = """<?xml version="1.0"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>Rich</title><id>urn:f</id><updated>2004-01-01T00:00:00Z</updated>
<author><name>Ann, “the Editor”</name></author>
<entry><id>urn:1</id><title>Comma, "quote"
and a line</title><link href="/1"/><link rel="enclosure" href="/1.mp3" type="audio/mpeg" length="12"/>
<published>2003-12-31T23:00:00.25-01:00</published><updated>2004-01-01T00:00:00Z</updated>
<category term="a,b"/><category term="ç"/>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>One <b>two</b></p></div></content></entry>
<entry><id>urn:2</id><title>bare</title><updated>2003-01-01T00:00:00Z</updated></entry>
</feed>"""


@pytest.mark.quick
def test_csv_is_read_back_to_the_same_values(server: FeedServer, project: Project) -> None:
    server.serve("/index", RICH)
    feed = server.url("/index")
    project.crawl(feed, args=("-o", "second.csv", "-o", "out.json", "-o", "out.xml"))
    lines = read_export(project.folder / "out.jsonl")
    rows = read_export(project.folder / "second.csv")
    assert json.loads((project.folder / "out.json").read_text()) == lines
    assert "<id>urn:1</id>" in (project.folder / "out.xml").read_text()
    assert [list(row) for row in rows] == [FIELDS, FIELDS]
    for line, row in zip(lines, rows, strict=True):
        assert row == {
            name: json.dumps(value, ensure_ascii=False)
            if isinstance(value, list)
            else ("" if value is None else value)
            for name, value in line.items()
        }
    [rich] = [line for line in lines if line["id"] == "urn:1"]
    assert rich["published"] == "2004-01-01T00:00:00.25Z"
    assert rich["authors"] == ["Ann, “the Editor”"]
    assert rich["categories"] == ["a,b", "ç"]
    assert rich["enclosures"] == [{"url": server.url("/1.mp3"), "type": "audio/mpeg", "length": 12}]
    assert rich["content"] == "<p>One <b>two</b></p>"
    assert rich["content_type"] == "xhtml"


@pytest.mark.quick
@pytest.mark.parametrize(
    ("option", "name", "expected"), [("-o", "all.csv", ["1", "2"]), ("-O", "new.jsonl", ["2"])]
)
def test_export_appends_or_overwrites(
    server: FeedServer, project: Project, option: str, name: str, expected: list[str]
) -> None:
    path = project.folder / name
    for ids in ("1", "21"):
        server.serve("/index", atom([E(each) for each in ids]))
        project.crawl(server.url("/index"), output=None, args=(option, name))
    assert [row["id"] for row in read_export(path)] == expected
    before = path.stat()
    # Nothing has changed.
    run = project.crawl(server.url("/index"), output=None, args=(option, name))
    assert run.exit_code == 0
    assert path.stat() == before
    assert (
        f"Nothing new since the last export: {name} is unchanged. The complete history: "
        f"`fhcrawl export --feed {server.url('/index')} -o complete-{name}`" in run.log
    )


@pytest.mark.in_process
def test_batches_are_not_limited_by_the_number_of_open_files(server: FeedServer, project: Project) -> None:
    entries = 100
    server.serve("/index", atom([E(str(number)) for number in range(entries)]))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    number_of_open = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (number_of_open + 60, hard))
    try:
        settings = {"FEED_EXPORT_BATCH_ITEM_COUNT": 1}
        args = ("-o", "%(batch_id)03d.jsonl")
        run = project.crawl(server.url("/index"), output=None, args=args, settings=settings)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert run.exit_code == 0, run.log
    batches = sorted(project.folder.glob("*.jsonl"))
    assert len({read_export(path)[0]["id"] for path in batches}) == len(batches) == entries
    assert not list(project.folder.glob(".*.lock"))


def crawl_without_log(project: Project, server: FeedServer, *args: str) -> subprocess.CompletedProcess[str]:
    quiet = ("-s", "FHCRAWL_SUMMARY_ENABLED=1", "-s", "LOG_ENABLED=0")
    return project.scrapy("crawl", "history", "-a", f"feed={server.url('/index')}", *args, *quiet)


@pytest.mark.in_process
@pytest.mark.parametrize(
    ("args", "reported"),
    [
        (
            ("-o", "b.csv"),
            "b.csv was not written. The complete history: `EXPORT -o complete-b.csv`",
        ),
        (
            ("-O", "a.jsonl"),
            "a.jsonl is unchanged. The complete history: `EXPORT -o complete-a.jsonl`",
        ),
        (
            ("-o", "b:xml"),
            "b was not written. The complete history: `EXPORT -o complete-b:xml`",
        ),
        (
            ("-o", "-:jsonl"),
            "nothing was written. The complete history: `EXPORT -o -:jsonl`",
        ),
        (
            ("-o", "b.csv", "-o", "c.csv"),
            "nothing was written. The complete history: `EXPORT -o FILE`",
        ),
        (
            ("-o", "some/b 1.csv"),
            "some/b 1.csv was not written. The complete history: `EXPORT -o 'some/complete-b 1.csv'`",
        ),
        # What a scheduled crawl appends to, and a file for the changes of each run.
        (("-o", "a.jsonl"), ""),
        (("-o", "%(time)s.jsonl"), ""),
    ],
)
def test_crawl_without_a_log_prints_why_a_file_is_not_written(
    server: FeedServer, project: Project, args: tuple[str, ...], reported: str
) -> None:
    server.serve("/index", atom([E("1")], head="<fh:complete/>"))
    project.crawl(server.url("/index"), output=None, args=("-o", "a.jsonl"))
    run = crawl_without_log(project, server, *args)
    reported = reported.replace("EXPORT", f"fhcrawl export --feed {server.url('/index')}")
    assert (run.returncode, run.stderr) == (
        0,
        reported and f"Nothing new since the last export: {reported}\n",
    )
    assert len(read_export(project.folder / "a.jsonl")) == 1


@pytest.mark.in_process
def test_file_that_does_not_get_its_name_is_not_logged_as_stored(
    server: FeedServer, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.serve("/index", atom([E("1")]))
    full = mock.Mock(side_effect=OSError("the disk is full"))
    with monkeypatch.context() as patch:
        patch.setattr(storages, "deliver", full)
        failed = project.crawl(server.url("/index"))
    assert (failed.exit_code, failed.items, full.called) == (1, [], True)
    assert "Stored jsonl feed" not in failed.log
    assert STORED not in failed.all_stats
    run = project.crawl(server.url("/index"))
    assert "Stored jsonl feed (1 items) in: " in run.log
    assert run.all_stats[STORED] == 1


@pytest.mark.in_process
def test_crawl_reports_that_it_exports_changes_of_earlier_crawls(
    server: FeedServer, project: Project
) -> None:
    server.serve("/index", atom([E(each) for each in "12"], head="<fh:complete/>"))
    project.crawl(server.url("/index"), output=None)
    run = crawl_without_log(project, server, "-o", "a.jsonl")
    reported = "2 entries were exported, including changes that earlier crawls did not export."
    assert (run.returncode, run.stderr.splitlines()[-1:]) == (0, [reported])
    server.serve("/index", atom([E(each) for each in "123"], head="<fh:complete/>"))
    run = crawl_without_log(project, server, "-o", "a.jsonl")
    assert "earlier crawls" not in run.stderr
    assert sorted(row["id"] for row in read_export(project.folder / "a.jsonl")) == ["1", "2", "3"]


@pytest.mark.in_process
def test_changes_that_are_not_exported_are_counted(server: FeedServer, project: Project) -> None:
    for path in ("/index", "/other"):
        server.serve(path, atom([E(each) for each in "12"], head="<fh:complete/>"))
    project.crawl(server.url("/other"), output=None)
    run = crawl_without_log(project, server, "-o", "/dev/full:jsonl")
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == "2 changes are not exported yet."
    assert [feed["unexported"] for feed in project.feeds()] == [2, 2]
    run = crawl_without_log(project, server, "-o", "a.jsonl")
    assert "not exported yet" not in run.stderr
    assert {feed["feed"]: feed["unexported"] for feed in project.feeds()} == {
        server.url("/index"): 0,
        server.url("/other"): 2,
    }


LONG = "x" * 100_000


# A full disk is noticed when what is buffered is written: at the end, or before.
@pytest.mark.parametrize("text", ["é", LONG], ids=["short", "long"])
@pytest.mark.parametrize(
    ("args", "reported"),
    [
        ("-o /proc/none/out.jsonl:jsonlines", "Cannot write to /proc/none/out.jsonl"),
        ("-o .:jsonlines", "Cannot write to"),
        ("-o /dev/full:jsonlines", "Cannot write to /dev/full (No space left on device)"),
        ("-o ./kept.jsonl", "two exports have this destination"),
        ("-s FEED_EXPORT_ENCODING=ascii", "Cannot write to"),
        ("-o bucket://shut/object.jsonl", "503 Slow Down"),
    ],
)
def test_export_of_which_one_file_fails_is_made_good_by_the_next_run(
    server: FeedServer, project: Project, args: str, reported: str, text: str
) -> None:
    (project.folder / "shut").mkdir()
    (project.folder / "shut" / "closed").touch()
    server.serve("/index", atom([E("1", "é" if "ascii" in args else text)]))
    run = project.crawl(
        server.url("/index"), output=None, args=("-o", "kept.jsonl", *args.split()), settings=BUCKET
    )
    assert run.exit_code == 1
    warnings = run.warnings()
    assert any(reported in warning for warning in warnings), warnings
    assert (
        "ERROR: The export has failed, so nothing was marked as exported; the next run of these feeds "
        "exports these entries" in warnings
    )
    assert not {word for word in ("Traceback", "Exception ignored") if word in run.log}
    assert not (project.folder / "kept.jsonl").exists()
    assert not list(project.folder.glob(".*.part"))
    assert project.crawl(server.url("/index")).changes == {"1": "new"}


def test_empty_export_that_cannot_be_written_fails_the_run(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([]))
    arguments = ("-o", "kept.jsonl", "-o", "/proc/none/out.jsonl", "-s", "FEED_STORE_EMPTY=1")
    run = project.crawl(server.url("/index"), output=None, args=arguments)
    assert run.exit_code == 1
    assert any("Cannot write to /proc/none/out.jsonl" in w for w in run.warnings())
    assert "Traceback" not in run.log
    assert not (project.folder / "kept.jsonl").exists()


@pytest.mark.in_process
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("out.jsonl", ""),
        ("out.csv", ",".join(FIELDS) + "\n"),
        *(("out.json", "[\n\n]"), ("out.parquet", None), ("out-%(batch_id)d.json", None)),
    ],
)
def test_empty_file_is_stored_if_feed_store_empty_is_set(
    server: FeedServer, project: Project, name: str, content: str | None
) -> None:
    server.serve("/index", atom([]))
    for option in ("-o", "-O"):
        assert project.crawl(server.url("/index"), output=None, args=(option, name)).exit_code == 0
    assert not list(project.folder.glob("*out*"))
    if content is not None:
        given = {"FEED_STORE_EMPTY": 1}
        run = project.crawl(server.url("/index"), settings=given, output=None, args=("-o", name))
        assert (run.exit_code, (project.folder / name).read_text()) == (0, content)


def test_links_stay_and_nothing_temporary_is_left(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("1")]))
    temporary, elsewhere = project.folder / "temporary", project.folder / "elsewhere"
    for folder in (temporary, elsewhere):
        folder.mkdir()
    (elsewhere / "real.csv").touch()
    (project.folder / "link.csv").symlink_to(elsewhere / "real.csv")
    project.crawl(server.url("/index"), args=("-o", "link.csv"), TMPDIR=str(temporary))
    for command in ("export", "report"):
        assert project.scrapy(command, "-o", f"{command}.jsonl", TMPDIR=str(temporary)).returncode == 0
    assert (project.folder / "link.csv").is_symlink()
    assert len(read_export(elsewhere / "real.csv")) == 1
    assert not [*temporary.iterdir(), *elsewhere.glob(".*")]
    assert {path.name for path in project.folder.glob(".*")} <= {".scrapy"}  # of a store on SQLite


def test_export_to_a_pipe_writes_into_it(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("1")]))
    pipe = project.folder / "pipe.jsonl"
    os.mkfifo(pipe)
    # Its reader sees the end, too, if nothing has changed.
    for ids in (["1"], []):
        with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:  # noqa: S607
            project.crawl(server.url("/index"), output=None, args=("-o", "pipe.jsonl"))
            try:
                lines = reader.communicate(timeout=30)[0].splitlines()
            finally:
                reader.kill()
        assert [json.loads(line)["id"] for line in lines] == ids
    assert pipe.is_fifo()


def test_what_stdout_does_not_take_does_not_count_as_exported(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("1")]))
    feed = f"feed={server.url('/index')}"
    with Path("/dev/full").open("wb") as full:
        done = project.scrapy(
            "crawl", "history", "-a", feed, "-o", "-:jsonl", stdout=full, PYTHONUNBUFFERED=""
        )
    assert done.returncode == 1
    assert "nothing was marked as exported" in done.stderr
    assert project.crawl(server.url("/index")).changes == {"1": "new"}


def test_stdout_and_open_files_are_written_into(server: FeedServer, project: Project) -> None:
    """What a shell writes as >(gzip > x.gz), and /dev/stdout."""
    feed = f"feed={server.url('/index')}"
    for ids, place in (("1", "-:jsonlines"), ("21", "/dev/stdout:jsonl")):
        server.serve("/index", atom([E(each) for each in ids]))
        crawl = project.scrapy("crawl", "history", "-a", feed, "-o", place)
        assert [json.loads(line)["id"] for line in crawl.stdout.splitlines()] == [ids[0]]
    export = project.scrapy("export", "-o", "/dev/stdout:jsonl")
    assert [json.loads(line)["id"] for line in export.stdout.splitlines()] == ["1", "2"]
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "scrapy", "export", "-o", f"/dev/fd/{writer}:jsonl"]
    done = subprocess.run(
        command,
        cwd=project.folder,
        env=project.environment(),
        pass_fds=[writer],
        capture_output=True,
        timeout=120,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 0, done.stderr
    with open(reader, "rb") as file:  # noqa: PTH123 - it has no path
        assert file.read() == export.stdout.encode()


def test_export_appends_to_an_open_file(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("1")]))
    project.crawl(server.url("/index"))
    path = project.folder / "log.txt"
    path.write_text("before\n")
    for place, stream in (("/dev/stdout", "stdout"), ("-", "stdout"), ("/dev/fd/2", "stderr")):
        with path.open("ab") as file:
            streams: dict[str, Any] = {stream: file}
            assert project.start("export", "-o", f"{place}:jsonl", **streams).wait(120) == 0
    before, *lines = path.read_text().splitlines()
    assert (before, [json.loads(line)["id"] for line in lines]) == ("before", ["1", "1", "1"])


def test_file_that_cannot_be_removed_any_more_is_released(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    options = {"format": "jsonl", "overwrite": True}
    storage = FileFeedStorage(str(folder / "new.jsonl"), feed_options=options)
    storage.open(Spider("history")).close()
    shutil.rmtree(folder)
    folder.touch()
    storage.release()
    folder.unlink()
    storage = FileFeedStorage(str(folder / "new.jsonl"), feed_options=options)
    storage.open(Spider("history")).close()
    storage.release()
    assert list(folder.iterdir()) == []


@pytest.mark.sqlite_only("the export of another store is the same one")
def test_export_that_does_not_fit_is_absent_and_the_next_run_writes_it(
    server: FeedServer, project: Project
) -> None:
    server.serve("/index", atom([E("1", "x" * 300_000)]))
    small = project.folder / "small"
    with small_disk(small, "1m"):
        (small / "filler").write_bytes(b"x" * (shutil.disk_usage(small).free - 100_000))
        run = project.crawl(server.url("/index"), output="small/out.jsonl")
        assert run.exit_code == 1
        assert [path.name for path in small.iterdir()] == ["filler"]
        (small / "filler").unlink()
        run = project.crawl(server.url("/index"), output="small/out.jsonl")
        assert (run.exit_code, run.changes) == (0, {"1": "new"})
        assert len(read_export(small / "out.jsonl")) == 1
