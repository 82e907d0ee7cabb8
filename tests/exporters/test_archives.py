"""An archive set in a folder: what its archives hold stays there."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import feedparser
import pytest
from lxml import etree

from fhcrawl.documents.model import OWN_ID
from fhcrawl.exporters.documents import XML_FORMATS, Head
from fhcrawl.exporters.feeds import ArchiveSet, Selection
from fhcrawl.items import FIELDS
from fhcrawl.store.entries import StoredVersion
from tests.feeds import E, atom, rss, tombstone
from tests.feeds import read as read_document
from tests.projects import Project, read_export
from tests.server import FeedServer

pytestmark = [pytest.mark.in_process, pytest.mark.slow("many crawls")]

ATOM = "{http://www.w3.org/2005/Atom}"
DAY = "2003-01-{:02}T00:00:00Z"
# Where a version came from, and fields that feeds of another kind do not have.
OF_THE_WAY = {"feed", "document", "document_updated", "change"}


def day(number: int, text: str = "text", at: int | None = None) -> E:
    """An entry whose id is a number, of that day, or of another one."""
    return E(str(number), text, DAY.format(at or number))


def export(project: Project, server: FeedServer, *args: str, feed: str = "/index") -> dict[str, bytes]:
    """Write the archive set of a feed with archives of two entries, and serve it; the documents."""
    base = server.url("/copy/")
    args = ("--feed", server.url(feed), "--archive-size", "2", *args)
    done = project.scrapy("export", "-o", "set/", "--base", base, *args)
    assert done.returncode == 0, done.stderr
    assert re.search("archives? written", done.stdout)
    written = {path.name: path.read_bytes() for path in (project.folder / "set").iterdir()}
    for path in [path for path in server.answers if path.startswith("/copy/")]:
        del server.answers[path]
    for name, body in written.items():
        server.serve(f"/copy/{name}", body)
        assert not feedparser.parse(body).bozo
    return written


def logical(project: Project, feed: str) -> dict[str, dict[str, Any]]:
    assert project.scrapy("export", "-o", "one.jsonl", "--feed", feed).returncode == 0
    items = read_export(project.folder / "one.jsonl")
    return {item["id"]: {n: v for n, v in item.items() if n not in OF_THE_WAY} for item in items}


def head(body: bytes) -> dict[str, str]:
    root = etree.fromstring(body)
    holder = root if root.tag == f"{ATOM}feed" else root[0]
    return {link.get("rel", ""): link.get("href", "") for link in holder.iterchildren(f"{ATOM}link")}


def without_next(body: bytes) -> bytes:
    root = etree.fromstring(body)
    for link in root.iter(f"{ATOM}link"):
        if link.get("rel") == "next-archive":
            parent = link.getparent()
            assert parent is not None
            parent.remove(link)
    return etree.tostring(root)


# RFC 5005, 4
@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_documents_of_a_set_name_each_other(server: FeedServer, project: Project, kind: str) -> None:
    server.serve("/index", (atom if kind == "atom" else rss)([day(n) for n in range(5, 0, -1)]))
    project.crawl(server.url("/index"))
    written = export(project, server, "--format", kind)
    names = [f"archive-00000{n}.{kind}" for n in (1, 2)] + [f"index.{kind}"]
    assert sorted(written) == names
    first, second, index = (server.url(f"/copy/{name}") for name in names)
    links = {"self": first, "current": index, "next-archive": second}
    # There may be older entries.
    assert head(written[names[0]]) == {**links, "prev-archive": server.url(f"/copy/missing.{kind}")}
    assert head(written[names[1]]) == {"self": second, "current": index, "prev-archive": first}
    assert head(written[names[2]]) == {"self": index, "prev-archive": second}
    assert [b"<fh:archive" in written[name] for name in names] == [True, True, False]
    # A set of chosen entries forgets those that are not.
    export(project, server, "--format", kind, "--since", "2003-01-03")
    project.crawl(index)
    assert set(logical(project, index)) == {"3", "4", "5"}


@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_archives_keep_names_and_bytes_and_readers_lose_nothing(
    server: FeedServer, project: Project, kind: str
) -> None:
    """New, updated and deleted entries, seen by a reader who comes each time, and by one who comes late."""
    feed, copy = server.url("/index"), server.url(f"/copy/index.{kind}")
    steps: list[tuple[list[E], str]] = [
        ([day(n) for n in (1, 2, 3, 4, 5)], ""),
        ([day(6), day(7), day(1, "again", at=8)], ""),
        # What comes late is older than what the archives hold.
        ([day(9), E("late", "text", "2002-01-01T00:00:00Z"), E("undated", "text", None)], ""),
        ([day(10), day(11), day(12)], tombstone("2", DAY.format(13)) + tombstone("12", DAY.format(13))),
        ([E("undated", "again", None), day(14)], ""),
    ]
    before: dict[str, bytes] = {}
    for step, (entries, deleted) in enumerate(steps):
        updated = DAY.format(15 + step)
        server.serve("/index", atom(list(reversed(entries)), head=deleted, updated=updated))
        project.crawl(feed)
        written = export(project, server, "--format", kind)
        archives = sorted(name for name in before if name.startswith("archive"))
        assert [written[name] for name in archives[:-1]] == [before[name] for name in archives[:-1]]
        for name in archives[-1:]:
            assert without_next(written[name]) == without_next(before[name])
        before = written
        run = project.crawl(copy)
        assert all("may be missing" in reported or "what to do:" in reported for reported in run.warnings())
        expected = logical(project, feed)
        assert logical(project, copy) == expected
    assert export(project, server, "--format", kind) == before
    assert len(before) > 5
    assert [expected[entry_id]["summary"] for entry_id in ("1", "undated")] == ["again"] * 2
    assert "2" not in expected
    late = server.url(f"/copy/./index.{kind}")
    server.answers[f"/copy/./index.{kind}"] = server.answers[f"/copy/index.{kind}"]
    project.crawl(late)
    assert logical(project, late) == expected


def undated(ids: str) -> str:
    return rss([E(entry_id, "back", None) for entry_id in ids], updated=None, head="<fh:complete/>")


def dated(ids: str, *back: E) -> str:
    return atom([*(day(int(number)) for number in ids), *back], head="<fh:complete/>")


@pytest.mark.parametrize(
    "documents",
    [
        # With an older time than its tombstone's.
        [dated("4321"), dated("431"), dated("431", E("2", "back", "2001-01-01T00:00:00Z"))],
        # An archive has the tombstone; neither the entry nor its feed has a time.
        [undated("321"), undated("65431"), undated("654321")],
    ],
)
def test_entry_that_comes_back_to_a_complete_feed_is_not_hidden_by_its_tombstone(
    server: FeedServer, project: Project, documents: list[str]
) -> None:
    feed, copy = server.url("/index"), server.url("/copy/index.atom")
    for document in documents:
        server.serve("/index", document)
        project.crawl(feed)
        written = export(project, server)
    project.crawl(copy)
    assert logical(project, copy) == logical(project, feed)
    assert logical(project, copy)["2"]["summary"] == "back"
    assert b"deleted-entry" not in b"".join(written.values())


def test_reader_of_a_set_deletes_what_it_has_seen_in_the_subscription_document(
    server: FeedServer, project: Project
) -> None:
    """Entries are updated, with a time or without, and then leave a complete feed."""
    feed, copy = server.url("/index"), server.url("/copy/index.atom")
    begin = [day(1), day(2), E("undated", "text", None), day(3), day(4), day(5)]
    updated = [day(1, "again", at=20), E("undated", "again", None), day(5), day(21)]
    # The second pair deletes an entry again, whose first tombstone is in an archive.
    left = [day(5), day(21), day(22), day(23), day(24), day(25)]
    steps = [begin, updated, left, [*left, day(1, "back", at=27)], left]
    for step, entries in enumerate(steps):
        server.serve("/index", atom(entries, head="<fh:complete/>", updated=DAY.format(6 + step)))
        project.crawl(feed)
        written = export(project, server)
        project.crawl(copy)
        assert logical(project, copy) == logical(project, feed)
    assert set(logical(project, copy)) == {"5", "21", "22", "23", "24", "25"}
    assert export(project, server) == written


@pytest.mark.parametrize("base", ["/copy/", "/other/"])
def test_documents_of_another_set_are_not_overwritten(
    server: FeedServer, project: Project, base: str
) -> None:
    for feed in ("/index", "/other"):
        server.serve(feed, atom([day(n) for n in (3, 2, 1)]))
    project.crawl(server.url("/index"), server.url("/other"))
    written = export(project, server)
    feed = server.url("/other" if base == "/copy/" else "/index")
    args = ("--base", server.url(base), "--archive-size", "2", "--feed", feed)
    (project.folder / "other").mkdir()
    (project.folder / "other" / "index.atom").write_text("mine")
    for folder in ("set/", "other"):
        done = project.scrapy("export", "-o", folder, *args)
        assert (done.returncode, "choose another folder" in done.stderr) == (2, True)
    assert written == {path.name: path.read_bytes() for path in (project.folder / "set").iterdir()}
    assert (project.folder / "other" / "index.atom").read_text() == "mine"


def test_tombstones_and_gaps_of_a_set(server: FeedServer, project: Project) -> None:
    deleted = tombstone("2", DAY.format(9))
    server.serve("/index", atom([day(n) for n in (4, 3, 1)], head=deleted, prev="/gone"))
    project.crawl(server.url("/index"))
    plain = export(project, server)
    assert b"deleted-entry" not in b"".join(plain.values())
    written = export(project, server, "--tombstones", "--gaps")
    assert b"/gone is missing (404)" in written["index.atom"]
    assert b"/gone" not in written["archive-000001.atom"]
    feed = etree.fromstring(written["index.atom"])
    [found] = feed.iter("{http://purl.org/atompub/tombstones/1.0}deleted-entry")
    # Like the id of the entry, it is no IRI.
    assert (found.get(OWN_ID), found.get("when")) == ("2", DAY.format(9))


def test_set_forgets_the_entities_of_snapshots_that_the_store_has_forgotten(
    server: FeedServer, project: Project
) -> None:
    """The store keeps no row of a snapshot's entities once the one after the next has been read."""
    part = "--b\r\nContent-Type: text/plain\r\n\r\n{}\r\n"
    for name in ("one", "two", "three"):
        body = "".join(part.format(f"{name} {number}") for number in range(5)) + "--b--\r\n"
        server.serve("/page", body, content_type="multipart/mixed; boundary=b")
        made = {"id": name, "createdAt": DAY.format(1), "pages": ["page"]}
        server.serve("/snapshot", json.dumps(made), content_type="application/json")
        project.crawl(server.url("/snapshot"))
        if name != "two":
            export(project, server, feed="/snapshot")
    project.crawl(server.url("/copy/index.atom"))
    found = {entry["content"] for entry in logical(project, server.url("/copy/index.atom")).values()}
    assert found == {f"three {number}" for number in range(5)}


def stored(
    entry_id: str, updated: str | None = None, is_deleted: bool = False, **reported: str
) -> StoredVersion:
    lists: dict[str, Any] = {"authors": [], "categories": [], "enclosures": []}
    of_feed = {"feed": "http://x/", "document": "http://x/", "updated": updated, **lists}
    fields = {**dict.fromkeys(FIELDS), **of_feed, **reported, "id": entry_id}
    return StoredVersion(fields, None, (updated or "").rstrip("Z"), is_deleted)


def target_of(folder: Path, size: int = 1) -> ArchiveSet:
    head = Head("http://x/", "T", DAY.format(1))
    return ArchiveSet(folder, "http://x/", XML_FORMATS["atom"], head, size, Selection())


def walk(folder: Path, read: dict[str, set[str | None]]) -> None:
    """Read the documents of a set as a reader does who has read some: the ids of their entries, by name."""
    url: str | None = "http://x/index.atom"
    while url is not None and ("index" in url or url not in read):
        body = (folder / url.rpartition("/")[2]).read_bytes()
        read[url] = {entry.id for entry in read_document(body, url).entries}
        url = head(body).get("prev-archive")


def test_reader_who_has_read_archives_reads_what_is_written_anew(tmp_path: Path) -> None:
    """An entry comes back, which the archives have as deleted; so does one that an old gap held back."""
    back, times = stored("0", DAY.format(1)), {"1": DAY.format(2), "2": DAY.format(3), "4": DAY.format(5)}
    others = [stored(entry_id, time) for entry_id, time in times.items()]
    gone, late, new = stored("0", DAY.format(1), True), stored("3", DAY.format(4)), stored("5", DAY.format(6))
    steps = [[back, *others], [gone, *others], [gone, *others, new]]
    steps.append([back, *others[:2], late, *others[2:], new])
    read: dict[str, set[str | None]] = {}
    before: dict[Path, bytes] = {}
    for versions in steps:
        before |= {path: path.read_bytes() for path in tmp_path.iterdir()}
        target_of(tmp_path).write(partial(iter, versions))
        walk(tmp_path, read)
    assert set.union(*read.values()) == {"0", "1", "2", "3", "4", "5"}
    names = {f"archive-{number:06}.atom" for number in range(6, 11)} | {"index.atom"}
    assert {path.name for path in tmp_path.iterdir()} == names
    # As after a process that died before it removed the old ones.
    for path in before.keys() - set(tmp_path.iterdir()):
        path.write_bytes(before[path])
    assert target_of(tmp_path).write(partial(iter, steps[-1])) == 5
    assert {path.name for path in tmp_path.iterdir()} == names


def test_set_without_one_of_its_archives_is_written_anew(tmp_path: Path) -> None:
    versions = [stored(str(number), DAY.format(number)) for number in range(1, 6)]
    target_of(tmp_path).write(lambda: versions)
    (tmp_path / "archive-000002.atom").unlink()
    assert target_of(tmp_path).write(lambda: versions) == 4
    read: dict[str, set[str | None]] = {}
    walk(tmp_path, read)
    assert set.union(*read.values()) == {"1", "2", "3", "4", "5"}
    names = {f"archive-{number:06}.atom" for number in range(5, 9)} | {"index.atom"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_archive_is_not_older_than_what_its_entries_replace(tmp_path: Path) -> None:
    """The subscription document has shown an entry whose content then changes, but not its update time."""
    shown = [stored("2", DAY.format(2), title="one"), stored("5", DAY.format(5))]
    target_of(tmp_path, 2).write(lambda: shown)
    changed = [stored("1", DAY.format(1)), stored("2", DAY.format(2), title="two"), shown[1]]
    target_of(tmp_path, 2).write(lambda: changed)
    archive = etree.parse(tmp_path / "archive-000001.atom").getroot()
    assert [title.text for title in archive.iterfind(f"{ATOM}entry/{ATOM}title")] == ["two", None]
    assert archive.findtext(f"{ATOM}updated") == DAY.format(5)


def test_entry_that_comes_from_another_document_is_the_same(tmp_path: Path) -> None:
    def versions(document: str) -> list[StoredVersion]:
        return [stored(entry_id, document=f"http://x/{document}") for entry_id in "abc"]

    target = target_of(tmp_path)
    assert target.write(lambda: versions("one")) == 2
    assert target.write(lambda: versions("two")) == 2
    assert b"http://x/one" in (tmp_path / "archive-000002.atom").read_bytes()


# -- feeds that are not complete

COUNTS_MORE = '<o:totalResults xmlns:o="http://a9.com/-/spec/opensearch/1.1/">9</o:totalResults>'
EXPECTED = {"incomplete": "entries-missing", "lossy": "paged", "unknown": "no-history"}


def serve_with_verdict(server: FeedServer, verdict: str) -> None:
    newest, older = [day(5), day(4), day(3)], [day(2), day(1)]
    link = {"incomplete": "prev-archive", "lossy": "next", "complete": "prev-archive"}.get(verdict)
    head = COUNTS_MORE if verdict == "lossy" else ""
    server.serve("/index", atom(newest, links={link: server.url("/older")} if link else None, head=head))
    if verdict in ("lossy", "complete"):
        server.serve("/older", atom(older))


@pytest.mark.parametrize("kind", ["atom", "rss"])
@pytest.mark.parametrize("form", ["set", "document"])
@pytest.mark.parametrize("verdict", ["complete", *EXPECTED])
def test_export_claims_no_more_than_the_store(
    server: FeedServer, project: Project, verdict: str, form: str, kind: str
) -> None:
    serve_with_verdict(server, verdict)
    project.crawl(server.url("/index"), settings={"RETRY_ENABLED": 0, "FHCRAWL_CONFIRM_PAGES": 9})
    feed, copy = server.url("/index"), server.url(f"/copy/index.{kind}")
    if form == "set":
        written = export(project, server, "--format", kind, "--gaps")
        oldest = min(written)
        end = None if verdict == "complete" else server.url(f"/copy/missing.{kind}")
        assert head(written[oldest]).get("prev-archive") == end
        assert b"fx:verdict" not in written[oldest]
    else:
        done = project.scrapy("export", "-o", f"one.{kind}", "--feed", feed, "--gaps")
        number = 5 if verdict in ("lossy", "complete") else 3
        assert f"{number} entries written" in done.stdout
        server.serve(f"/copy/index.{kind}", body := (project.folder / f"one.{kind}").read_bytes())
        assert (b"<fh:complete" in body) == (verdict == "complete")
    # Agreeing readings are no proof.
    for _ in range(3):
        project.crawl(copy, settings={"RETRY_ENABLED": 0})
    feeds = {found["feed"]: found for found in project.feeds()}
    assert feeds[feed]["verdict"] == feeds[copy]["verdict"] == verdict
    assert logical(project, copy) == logical(project, feed)
    for reason in feeds[copy]["reasons"]:
        assert reason["kind"] == EXPECTED[verdict]
        assert all(f"{each['url']} {each['detail']}" in reason["detail"] for each in feeds[feed]["reasons"])
    # The copy's own marker replaces the one that its source had.
    done = project.scrapy("export", "-o", f"again.{kind}", "--feed", copy)
    assert (project.folder / f"again.{kind}").read_bytes().count(b"<fx:verdict") == (verdict != "complete")


def test_archives_are_written_anew_once_nothing_is_missing(server: FeedServer, project: Project) -> None:
    serve_with_verdict(server, "incomplete")
    project.crawl(server.url("/index"), settings={"RETRY_ENABLED": 0})
    assert sorted(export(project, server)) == ["archive-000001.atom", "index.atom"]
    assert sorted(export(project, server)) == ["archive-000001.atom", "index.atom"]
    serve_with_verdict(server, "complete")
    project.crawl(server.url("/index"))
    written = export(project, server)
    assert sorted(written) == ["archive-000002.atom", "archive-000003.atom", "index.atom"]
    assert "prev-archive" not in head(written["archive-000002.atom"])
    assert b"fx:verdict" not in written["index.atom"]
