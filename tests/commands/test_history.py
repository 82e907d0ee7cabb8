"""`scrapy history`, `scrapy export` with `--versions` and `--deleted`, and which versions a store keeps."""

import json
from contextlib import closing
from itertools import permutations
from typing import Any

import pytest

from fhcrawl.logical_feed.chain import captured_at, position_of_capture
from fhcrawl.store import Store
from tests.faketime import clock_at
from tests.feeds import E, atom, tombstone
from tests.projects import EXPORTED, Project, Run
from tests.server import FeedServer

COMPLETE = "<fh:complete/>"


def crawl(server: FeedServer, project: Project, **settings: object) -> Run:
    kept = {"FHCRAWL_KEEP_VERSIONS_ENABLED": 1, **settings}
    run = project.crawl(server.url("/feed"), settings=kept)
    assert run.exit_code == 0, run.log
    return run


def history(server: FeedServer, project: Project, entry_id: str = "1") -> list[dict[str, Any]]:
    done = project.scrapy("history", "--json", server.url("/feed"), entry_id)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def reported(versions: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(version["state"], version["summary"]) for version in versions]


def entry(text: str, year: int) -> E:
    return E("1", text, f"{year}-01-01T00:00:00Z", title=text.upper())


def test_what_a_crawl_replaces_and_what_archives_have_is_kept(server: FeedServer, project: Project) -> None:
    server.serve("/feed", atom([entry("b", 2010)], prev="/1"))
    server.serve("/1", atom([entry("a", 2009), E("2")]))
    crawl(server, project)
    server.serve("/feed", atom([entry("c", 2011)], prev="/1"))
    run = crawl(server, project)
    assert run.changes == {"1": "updated"}
    versions = history(server, project)
    assert reported(versions) == [("current", "c"), ("superseded", "b"), ("superseded", "a")]
    assert [version["document"] for version in versions] == [
        server.url(path) for path in ("/feed", "/feed", "/1")
    ]
    assert list(versions[0])[:3] == ["state", "feed", "id"]
    done = project.scrapy("history", server.url("/feed"), "1")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["current", "2011-01-01T00:00:00Z", "C"]
    assert lines[6].split() == ["from", server.url("/1")]
    # What has come again is kept once.
    crawl(server, project, DELTAFETCH_RESET=1)
    assert history(server, project) == versions
    assert len(project.logical_feed()) == 2


@pytest.mark.parametrize("order", list(permutations("abc")), ids="".join)
def test_versions_are_kept_in_any_order(server: FeedServer, project: Project, order: tuple[str, ...]) -> None:
    server.serve("/feed", atom([entry(text, 1904 + ord(text)) for text in order]))
    crawl(server, project)
    assert reported(history(server, project)) == [("current", "c"), ("superseded", "b"), ("superseded", "a")]
    server.serve("/feed", atom([entry(text, 1904 + ord(text)) for text in order]))
    project.crawl(server.url("/feed"), settings={"DELTAFETCH_RESET": 1})
    assert len(history(server, project)) == 3


def test_earlier_snapshots_have_their_past(server: FeedServer, project: Project) -> None:
    for number in (1, 2, 3):
        index = {"id": f"s{number}", "createdAt": f"200{number}-01-01T00:00:00Z", "pages": [f"/p{number}"]}
        server.serve("/feed", json.dumps(index), content_type="application/json")
        part = f"Content-Type: text/plain\r\n\r\nstate {number}"
        body = f"--b\r\n{part}\r\n--b--\r\n"
        server.serve(f"/p{number}", body, content_type="multipart/mixed; boundary=b")
        crawl(server, project)
    for number in (1, 2):
        versions = history(server, project, f"urn:snapshot:s{number}:0:0")
        expected = [(state, f"state {number}") for state in ("deleted", "superseded")]
        assert [(version["state"], version["content"]) for version in versions] == expected


def test_deleted_entry_has_its_past(server: FeedServer, project: Project) -> None:
    server.serve("/feed", atom([entry("a", 2009)]))
    crawl(server, project)
    server.serve("/feed", atom([], head=tombstone("1", "2010-01-01T00:00:00Z")))
    crawl(server, project)
    assert [version["state"] for version in history(server, project)] == ["deleted", "superseded"]
    server.serve("/feed", atom([entry("b", 2011)]))
    crawl(server, project)
    states = [version["state"] for version in history(server, project)]
    assert states == ["current", "deleted", "superseded"]


@pytest.mark.in_process
@pytest.mark.parametrize("is_archived", [False, True])
@pytest.mark.parametrize("walks_later", [0, 2])
def test_deletion_shows_when_where_and_of_what(
    server: FeedServer, project: Project, is_archived: bool, walks_later: int
) -> None:
    server.serve("/feed", atom([entry("a", 2009)]))
    crawl(server, project)
    gone = tombstone("1", "2010-01-01T00:00:00Z")
    documents = {"/feed": atom([E("2")], head=gone)}
    if is_archived:
        documents = {"/feed": atom([E("2")], prev="/1"), "/1": atom([E("3")], head=gone)}
    for _ in range(1 + walks_later):
        for path, document in documents.items():
            server.serve(path, document)
        crawl(server, project)
        documents["/feed"] = documents["/feed"].replace("</feed>", " </feed>")
    shown = project.scrapy("history", server.url("/feed"), "1").stdout.splitlines()
    assert shown[0].split() == ["deleted", "2010-01-01T00:00:00Z", "A"]
    assert shown[1].split() == ["from", server.url("/1" if is_archived else "/feed")]


@pytest.mark.in_process
@pytest.mark.parametrize("walks_later", [0, 1])
def test_deletion_without_a_tombstone_has_the_time_of_its_crawl(
    server: FeedServer, project: Project, walks_later: int
) -> None:
    server.serve("/feed", atom([entry("a", 2009), E("2")], head=COMPLETE))
    crawl(server, project)
    for day, ids in enumerate([("2",), ("2", "3")][: 1 + walks_later], 1):
        server.serve("/feed", atom([E(i) for i in ids], head=COMPLETE))
        with clock_at(f"2101-01-0{day}T00:00:00"):
            crawl(server, project)
    [deletion, _last] = history(server, project)
    assert (deletion["title"], deletion["document"]) == ("A", server.url("/feed"))
    columns = "SELECT deleted, fetched, first_seen FROM deleted_entries"
    [(deleted, fetched, first_seen)] = project.database.rows(columns)
    assert deletion["updated"] == deleted == fetched > first_seen > "2009-01-01T00:00:00Z"


def test_older_version_says_what_then_changed(server: FeedServer, project: Project) -> None:
    first, same = E("1", "a", "2009-01-01T00:00:00Z"), "2010-01-01T00:00:00Z"
    for document in (
        atom([first]),
        atom([], head=tombstone("1", "2009-06-01T00:00:00Z")),
        atom([E("1", "b", same)], title="Other"),
        atom([E("1", "b", same, title="B")], updated="2020-01-01T00:00:00Z"),
    ):
        server.serve("/feed", document)
        crawl(server, project)
    versions = history(server, project)
    assert [(version["state"], version["then_changed"]) for version in versions] == [
        ("current", None),
        ("superseded", ["title"]),
        ("deleted", None),
        # What a deletion came after is compared with what came after that.
        ("superseded", ["updated", "summary"]),
    ]
    lines = project.scrapy("history", server.url("/feed"), "1").stdout.splitlines()
    assert [line.strip() for line in lines if "changed" in line] == [
        "changed afterwards: title",
        "changed afterwards: updated, summary",
    ]


def test_earlier_versions_are_not_kept_without_the_setting(server: FeedServer, project: Project) -> None:
    for text, year in (("a", 2009), ("b", 2010)):
        server.serve("/feed", atom([entry(text, year)]))
        crawl(server, project, FHCRAWL_KEEP_VERSIONS_ENABLED=0)
    assert reported(history(server, project)) == [("current", "b")]
    done = project.scrapy("history", server.url("/feed"), "1")
    assert "No other version is stored; fhcrawl crawl --keep-versions keeps" in done.stdout
    done = project.scrapy("history", server.url("/feed"), "none")
    assert (done.returncode, "has no entry with the id none" in done.stderr) == (2, True)


def test_time_of_a_capture_is_encoded_in_its_position() -> None:
    for date in ("1970-01-01T00:00:00Z", "2009-02-03T04:05:06Z", "2038-01-19T03:14:06Z"):
        assert captured_at(position_of_capture(date, 3)) == date
    assert captured_at(position_of_capture("2009-02-03T04:05:06.5Z", 0)) == "2009-02-03T04:05:06Z"
    # What does not fit is still before the first walk, and in the store's 32 bits.
    for date in ("1900-01-01T00:00:00Z", "2100-01-01T00:00:00Z"):
        assert -(2**31) <= position_of_capture(date, 0).walk < 1


def test_time_of_many_digits_is_cut_for_people(server: FeedServer, project: Project) -> None:
    server.serve("/feed", atom([E("1", updated=f"2003-01-01T00:00:00.{'1' * 5000}Z")]))
    crawl(server, project)
    shown = project.scrapy("history", server.url("/feed"), "1").stdout
    assert max(map(len, shown.splitlines())) < 400
    assert len(history(server, project)[0]["updated"]) > 5000


@pytest.mark.in_process
@pytest.mark.both_stores
def test_store_keeps_versions_from_the_crawl_that_says_so_on(server: FeedServer, project: Project) -> None:
    url, kept = server.url("/feed"), []
    for number, option in enumerate(["", "--keep-versions", "", "--no-keep-versions", ""]):
        server.serve("/feed", atom([entry("abcde"[number], 2001 + number)]))
        done = project.scrapy("crawl", "history", url, *option.split())
        assert done.returncode == 0, done.stderr
        kept.append("".join(version["summary"] for version in history(server, project)))
    assert kept == ["a", "ba", "cba", "dba", "eba"]
    project.crawl(url, settings={"FHCRAWL_KEEP_VERSIONS_ENABLED": 1})
    copy = project.folder / "copy.sqlite"
    assert project.scrapy("copystore", f"sqlite:///{copy}").returncode == 0
    with closing(Store.open(f"sqlite:///{copy}")) as copied:
        assert copied.keeps_versions


# The texts of two entries, and a tombstone, crawl by crawl; and an entry that is found absent.
@pytest.fixture
def changing(server: FeedServer, project: Project) -> str:
    server.serve("/other", atom([E("only")]))
    assert project.crawl(server.url("/other")).exit_code == 0
    rest = [E(name, name, "1999-01-01T00:00:00Z") for name in "5421"]
    everything = [*rest[:2], E("3", "3", "1999-01-01T00:00:00Z"), *rest[2:]]
    deletion = tombstone("b", "2003-06-01T00:00:00Z")
    for day, entries, head in (
        (1, [E("a", "a1", "2001-01-01T00:00:00Z"), E("b", "b1", "2000-01-01T00:00:00Z"), *everything], ""),
        (2, [E("a", "a2", "2002-01-01T00:00:00Z"), E("b", "b1", "2000-01-01T00:00:00Z"), *everything], ""),
        (3, [E("a", "a2", "2002-01-01T00:00:00Z"), *rest], deletion),
        (4, [E("a", "a2", "2002-01-01T00:00:00Z"), *rest], f"{deletion}<!-- -->"),
    ):
        server.serve("/feed", atom(entries, head=head))
        with clock_at(f"2010-01-0{day}T00:00:00"):
            crawl(server, project)
    return server.url("/feed")


def exported(project: Project, *options: str) -> list[dict[str, Any]]:
    done = project.scrapy("export", "-o", "-:jsonl", *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def day(number: int) -> str:
    return f"2010-01-0{number}T00:00:00Z"


@pytest.mark.in_process
@pytest.mark.both_stores
def test_export_has_all_versions_or_what_is_deleted(changing: str, project: Project) -> None:
    names = "summary,first_seen,fetched,deleted,state"
    rows = exported(project, "--versions", "--feed", changing, "--fields", names, "--since", "2000")
    assert [tuple(row.values()) for row in rows] == [
        ("b1", day(1), day(1), None, "superseded"),
        ("b1", day(1), day(3), "2003-06-01T00:00:00Z", "deleted"),
        ("a1", day(1), day(1), None, "superseded"),
        ("a2", day(1), day(2), None, "current"),
    ]
    assert len(exported(project, "--versions", "--feed", changing)) == 4 + 5
    rows = exported(project, "--deleted")
    assert [(row["id"], row["deleted"], row["state"]) for row in rows] == [
        ("b", "2003-06-01T00:00:00Z", "deleted"),
        ("3", day(3), "absent"),
    ]
    assert list(rows[0])[-4:] == ["first_seen", "fetched", "deleted", "state"]
    [row] = exported(project, "--deleted", "--until", "2000", "--fields", "id,deleted")
    assert row == {"id": "3", "deleted": day(3)}
    # Live entries have no times of their own by default, and are not deleted while they are absent.
    rows = exported(project, "--feed", changing, "--fields", "+deleted,+first_seen")
    assert {(row["deleted"], row["first_seen"]) for row in rows} == {(None, day(1))}
    assert list(exported(project)[0]) == EXPORTED


@pytest.mark.in_process
@pytest.mark.both_stores
def test_views_have_all_versions_and_what_is_deleted(changing: str, project: Project) -> None:
    columns = "id, state, summary, first_seen, fetched, deleted"
    condition = f"feed = '{changing}' AND id IN ('a', 'b') ORDER BY id, fetched"
    assert project.database.rows(f"SELECT {columns} FROM entry_versions WHERE {condition}") == [
        ("a", "superseded", "a1", day(1), day(1), None),
        ("a", "current", "a2", day(1), day(2), None),
        ("b", "superseded", "b1", day(1), day(1), None),
        ("b", "deleted", "b1", day(1), day(3), "2003-06-01T00:00:00Z"),
    ]
    assert project.database.rows(f"SELECT {columns} FROM deleted_entries ORDER BY deleted") == [
        ("b", "deleted", "b1", day(1), day(3), "2003-06-01T00:00:00Z"),
        ("3", "absent", "3", day(1), day(1), day(3)),
    ]


@pytest.mark.in_process
@pytest.mark.both_stores
def test_history_of_a_feed_lists_what_has_changed(
    changing: str, server: FeedServer, project: Project
) -> None:
    lines = project.scrapy("history", changing).stdout.splitlines()
    assert [line.split() for line in lines] == [
        ["current", "2002-01-01T00:00:00Z", "title"],
        ["2", "versions", "a"],
        ["deleted", "2003-06-01T00:00:00Z", "title"],
        ["1", "version", "b"],
    ]
    rows = [json.loads(line) for line in project.scrapy("history", changing, "--json").stdout.splitlines()]
    assert [list(row.values()) for row in rows] == [
        [changing, "a", "title", 2, None],
        [changing, "b", "title", 1, "2003-06-01T00:00:00Z"],
    ]
    shown = project.scrapy("history", server.url("/other")).stdout
    assert shown == "No entry has an earlier version or is deleted\n"


@pytest.mark.in_process
@pytest.mark.both_stores
def test_entry_that_is_stored_under_another_id_is_not_deleted(server: FeedServer, project: Project) -> None:
    server.serve("/feed", atom([E("1", "one", title="One")]))
    crawl(server, project)
    server.serve("/feed", atom([E("1", "one", title="One"), E("1", "two", title="Two")]))
    crawl(server, project)
    assert len(exported(project)) == 2
    assert exported(project, "--deleted") == []
