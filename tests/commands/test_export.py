"""`scrapy export`: what is chosen, in which format, and where it goes."""

import json
import socket
from contextlib import closing
from datetime import datetime
from typing import Any

import feedparser
import pytest
from lxml import etree
from pyarrow import parquet

from fhcrawl.crawling import subscriptions
from fhcrawl.exporters.rows import TIMES
from tests.feeds import E, atom, read, rss, tombstone
from tests.projects import EXPORTED, Project, read_export
from tests.server import FeedServer

FILE = '<enclosure url="http://example.org/1.mp3" length="9999999999999999999" type="audio/mpeg"/>'
OURS = "{urn:x-fhcrawl:export}"
BUCKET = 'FEED_STORAGES={"bucket": "tests.extensions.test_other_places.Bucket"}'


@pytest.fixture
def crawled(server: FeedServer, project: Project) -> FeedServer:
    """A complete feed of three years, with a deleted entry, and an RSS feed with a gap."""
    entries = [E(str(year), updated=f"{year}-07-01T00:00:00.5Z") for year in (2005, 2004, 2003)]
    server.serve("/one", atom(entries, head=f"<fh:complete/>{tombstone('0', '2003-01-01T00:00:00Z')}"))
    body = rss([E("1", updated=None)], prev="/gone")
    body = body.replace("</item>", f"{FILE}<category>cats</category><category>dogs</category></item>")
    server.serve("/two", body)
    project.crawl(server.url("/one"), server.url("/two"))
    return server


def ids(project: Project, *args: str) -> list[str]:
    done = project.scrapy("export", "-o", "-:jsonl", *args)
    assert done.returncode == 0
    return [json.loads(line)["id"] for line in done.stdout.splitlines()]


@pytest.mark.usefixtures("crawled")
def test_entries_are_chosen_by_date_and_category(project: Project) -> None:
    assert ids(project, "--since", "2004") == ["2004", "2005"]
    # A bound is a moment, whatever fractions of a second there are.
    assert ids(project, "--since", "2003-07-01T00:00:00Z", "--until", "2004-07-01T00:00:00.5Z") == ["2003"]
    assert ids(project, "--category", "dogs", "--category", "birds") == ["1"]


@pytest.mark.usefixtures("crawled")
@pytest.mark.parametrize("name", ["csv", "jsonl", "parquet"])
def test_export_has_the_entries_as_they_are_now(project: Project, name: str) -> None:
    """What has changed is in the exports of crawls."""
    chosen = project.scrapy("export", "-o", f"all.{name}", "-s", "FHCRAWL_FIELDS=id,change,title")
    assert chosen.returncode == 0, chosen.stderr
    path = project.folder / f"all.{name}"
    rows = parquet.read_table(path).to_pylist() if name == "parquet" else read_export(path)
    assert list(rows[0]) == ["id", "title"]
    refused = project.scrapy("export", "-o", f"all.{name}", "--fields", "id,change")
    assert refused.returncode == 2
    assert "only the exports of crawls have the field change" in refused.stderr


@pytest.mark.parametrize("name", ["csv", "jsonl"])
def test_columns_that_are_empty_in_every_row_are_dropped(
    crawled: FeedServer, project: Project, name: str
) -> None:
    args = ("export", "-o", f"all.{name}", "--fields", "id,updated,operation,categories,enclosures")
    for more, columns in (
        ((), ["id", "updated", "operation", "categories", "enclosures"]),
        (("--drop-empty",), ["id", "updated", "categories", "enclosures"]),
        (("--drop-empty", "--feed", crawled.url("/one")), ["id", "updated"]),
        # Without rows, no column is known to be empty.
        (("--drop-empty", "--category", "none"), []),
    ):
        done = project.scrapy(*args, *more)
        assert done.returncode == 0, done.stderr
        rows = read_export(project.folder / f"all.{name}")
        assert [list(row) for row in rows] == [columns] * len(rows)
        assert len(rows) == int(done.stdout.split()[0])
    if name == "csv":
        assert (project.folder / "all.csv").read_text().startswith("id,updated,operation,")
    assert "--drop-empty: atom has no columns" in project.scrapy(*args[:2], "a.atom", "--drop-empty").stderr


def test_gaps_are_entries(crawled: FeedServer, project: Project) -> None:
    done = project.scrapy("export", "-o", "all.jsonl", "--gaps", "--since", "2005")
    assert done.stdout == "2 entries written to all.jsonl\n"
    _entry, gap = read_export(project.folder / "all.jsonl")
    assert list(gap) == EXPORTED
    assert (gap["feed"], gap["link"]) == (crawled.url("/two"), crawled.url("/gone"))
    assert (gap["categories"], gap["title"]) == (["fhcrawl-gap"], "Some entries may be missing")
    assert gap["summary"].startswith(f"{crawled.url('/gone')} is missing (404) (since 20")
    again = project.scrapy("export", "-o", "-:jsonl", "--gaps", "--since", "2005").stdout
    assert json.loads(again.splitlines()[1]) == gap


def test_complete_feed_in_one_document(crawled: FeedServer, project: Project) -> None:
    one = ("--feed", crawled.url("/one"))
    assert project.scrapy("export", "-o", "one.rss", *one).stdout == "3 entries written to one.rss\n"
    assert project.scrapy("export", "-o", "one", "--format", "atom", "--tombstones", *one).returncode == 0
    for name, tombstones in (("one.rss", 0), ("one", 1)):
        body = (project.folder / name).read_bytes()
        document = read(body, "http://example.org/")
        assert (document.complete, document.links, document.fault) == (True, {}, None)
        assert (document.title, document.updated) == ("Example Feed", "2005-07-01T00:00:00.5Z")
        assert [entry.id for entry in document.entries] == ["2005", "2004", "2003"]
        assert len(document.tombstones) == tombstones
        assert not feedparser.parse(body).bozo


def complete_seconds(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] and row[name].replace(microsecond=0) for name in TIMES if name in row}


def test_parquet_has_nested_types(crawled: FeedServer, project: Project) -> None:
    assert project.scrapy("export", "-o", "all.parquet").stdout == "4 entries written to all.parquet\n"
    project.scrapy("export", "-o", "all.jsonl")
    rows = parquet.read_table(project.folder / "all.parquet").to_pylist()
    expected = read_export(project.folder / "all.jsonl")
    for row in expected:
        times = {name: row[name] for name in TIMES if name in row}
        row.update(
            {name: time and datetime.fromisoformat(f"{time[:19]}+00:00") for name, time in times.items()}
        )
    assert [{**row, **complete_seconds(row)} for row in rows] == expected
    assert rows[-1]["enclosures"][0]["length"] == 9999999999999999999
    project.scrapy("export", "-o", "none.parquet", "--category", "none")
    assert parquet.read_table(project.folder / "none.parquet").column_names == EXPORTED


def test_opml_has_verdicts_and_is_a_list_of_feeds(crawled: FeedServer, project: Project) -> None:
    assert project.scrapy("export", "-o", "feeds.opml").stdout == "2 feeds written to feeds.opml\n"
    path = project.folder / "feeds.opml"
    one, two = etree.parse(path).getroot().iter("outline")
    assert dict(one.items())[f"{OURS}verdict"] == "complete"
    assert dict(two.items()) == {
        "type": "rss",
        "text": "Example",
        "title": "Example",
        "xmlUrl": crawled.url("/two"),
        f"{OURS}verdict": "incomplete",
        f"{OURS}kind": "archived",
        f"{OURS}reasons": f"{crawled.url('/gone')} is missing (404)",
        f"{OURS}entries": "1",
        f"{OURS}crawled": two.get(f"{OURS}crawled"),
    }
    assert list(subscriptions.from_file(path)) == [crawled.url("/one"), crawled.url("/two")]
    subscribed = ("export", "--subscribed", "-o", "feeds.opml")
    assert project.scrapy(*subscribed).stderr.endswith(
        "No feed is subscribed; remove --subscribed, or use fhcrawl subscribe\n"
    )
    project.scrapy("subscribe", crawled.url("/two"))
    assert project.scrapy(*subscribed).stdout == "1 feed written to feeds.opml\n"
    assert list(subscriptions.from_file(path)) == [crawled.url("/two")]
    refused = project.scrapy(*subscribed, "--feed", crawled.url("/one"))
    assert (refused.returncode, "remove --subscribed or --feed" in refused.stderr) == (2, True)


@pytest.mark.usefixtures("crawled")
def test_feed_storages_get_complete_exports(project: Project) -> None:
    folder = project.folder / "bucket"
    folder.mkdir()
    args = ("export", "-o", f"bucket://{folder}/all.jsonl", "-s", BUCKET)
    assert project.scrapy(*args).returncode == 0
    assert len(read_export(folder / "all.jsonl")) == 4
    (folder / "closed").touch()
    done = project.scrapy(*args)
    assert (done.returncode, "(503 Slow Down)" in done.stderr) == (1, True)
    assert len(read_export(folder / "all.jsonl")) == 4


@pytest.mark.usefixtures("crawled")
@pytest.mark.parametrize("place", ["s3", "ftp"])
def test_server_that_refuses_the_connection_gets_a_sentence(project: Project, place: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    uris = {"s3": "s3://key:hidden@bucket/out.jsonl", "ftp": f"ftp://user:hidden@127.0.0.1:{port}/out.jsonl"}
    settings = ("-s", f"AWS_ENDPOINT_URL=http://127.0.0.1:{port}", "-s", "AWS_REGION_NAME=nowhere")
    done = project.scrapy("export", "-o", uris[place], *settings, AWS_MAX_ATTEMPTS="1")
    assert done.returncode == 1
    assert f"{place}://" in done.stderr
    assert "/out.jsonl (" in done.stderr
    assert "hidden" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.in_process
def test_export_lists_feeds_that_may_lack_entries(server: FeedServer, project: Project) -> None:
    def reported(*args: str) -> list[str]:
        done = project.scrapy("export", "-o", "all.jsonl", *args)
        assert done.returncode == 0
        return done.stderr.splitlines()

    assert reported() == []
    lack = "entries may be missing from the export; `fhcrawl feeds` shows which"
    server.serve("/whole", atom([E("1")], head="<fh:complete/>"))
    server.serve("/gap", atom([E("1")], prev="/missing"))
    server.serve("/plain", atom([E("1")]))
    full, gap, plain, missing = map(server.url, ("/whole", "/gap", "/plain", "/missing"))
    project.crawl(full, gap, plain)
    assert reported("--feed", full) == []
    assert reported("--feed", plain) == []
    assert reported() == [f"{gap} is incomplete: {lack}"]
    done = project.scrapy("export", "-o", "one.atom", "--feed", gap)
    assert done.stderr == f"{gap} is incomplete: {lack}\n"
    assert project.scrapy("export", "-o", "feeds.opml").stderr == ""
    project.scrapy("subscribe", missing, server.url("/later"))
    project.crawl(missing)
    assert reported() == [f"{gap} is incomplete: {lack}", f"{missing} is not read: {lack}"]
    gaps = [f"/gap{number}" for number in range(2)]
    for path in gaps:
        server.serve(path, atom([E("1")], prev="/missing"))
    project.crawl(*map(server.url, gaps))
    assert reported() == [f"4 of 7 feeds are incomplete: {lack}"]
