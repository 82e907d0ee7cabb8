"""Crawls of lists of documents: snapshots, alone and before a feed, and folders of files."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from tests.feeds import E, atom

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.projects import Project, Run
    from tests.server import FeedServer

TYPE = "multipart/mixed; boundary=b"


def date(day: int) -> str:
    return f"{day:02} Nov 2023 12:00:00 GMT"


def page(*entities: tuple[int, str, str | None]) -> bytes:
    """A page of (day, body, Content-ID) entities."""
    parts = [
        "--b\r\nContent-Type: text/plain\r\n"
        f"Last-Modified: {date(day)}\r\n"
        + (f"Content-ID: {name}\r\nOperation-Type: http-equiv=PUT\r\n" if name else "")
        + f"\r\n{body}\r\n"
        for day, body, name in entities
    ]
    return ("".join(parts) + "--b--\r\n").encode()


def index(server: FeedServer, name: str, created: str, *pages: str) -> str:
    return json.dumps({"id": name, "createdAt": created, "pages": [server.url(path) for path in pages]})


def serve_snapshot(
    server: FeedServer, name: str, *pages: Sequence[str], created: str = "2023-11-10T12:00:00.500Z"
) -> None:
    paths = [f"/{quote(name)}/{number}" for number in range(len(pages))]
    server.serve("/snapshot", index(server, name, created, *paths), content_type="application/json")
    for path, bodies in zip(paths, pages, strict=True):
        server.serve(path, page(*((1, body, None) for body in bodies)), content_type=TYPE)


def contents(items: list[dict[str, Any]]) -> dict[str, str]:
    return {item["id"]: item["content"] for item in items}


class TestSnapshot:
    def test_page_that_is_no_url_loses_only_itself_in_each_run(
        self, server: FeedServer, project: Project
    ) -> None:
        """Also where it comes first, and where a run begins with it, before other feeds."""
        bad = ["javascript:x", "http://[::1", "urn:x:y", "http://x:99999/"]
        for number, url in enumerate(bad):
            made = {
                "id": f"s{number}",
                "createdAt": "2023-11-10T12:00:00Z",
                "pages": ["urn:0", "/p", url, "/q"],
            }
            server.serve(f"/{number}", json.dumps(made), content_type="application/json")
        server.serve("/p", page((1, "p", None)), content_type=TYPE)
        server.serve("/q", page((1, "q", None)), content_type=TYPE)
        server.serve("/other", atom([E("1")]))
        feeds = [server.url(f"/{number}") for number in range(len(bad))]
        run = project.crawl(*feeds, server.url("/other"))
        found = sorted(filter(None, contents(run.items).values()))
        assert found == ["p"] * len(bad) + ["q"] * len(bad)
        for feed, url in zip(project.feeds(), bad, strict=False):
            gaps = {(reason["kind"], reason["url"]) for reason in feed["reasons"]}
            assert gaps == {("refused-url", "urn:0"), ("refused-url", url)}
        server.serve("/other", atom([E("2")]))
        again = project.crawl(*feeds, server.url("/other"))
        assert [item["id"] for item in again.items] == ["2"]
        assert "Traceback" not in run.log + again.log

    def test_index_is_crawled_page_by_page(self, server: FeedServer, project: Project) -> None:
        serve_snapshot(server, "s 1", ["a", "b"], ["c"])
        run = project.crawl(server.url("/snapshot"))
        assert server.asked() == ["/snapshot", "/s%201/0", "/s%201/1"]
        assert contents(run.items) == {
            "urn:snapshot:s%201:0:0": "a",
            "urn:snapshot:s%201:0:1": "b",
            "urn:snapshot:s%201:1:0": "c",
        }
        assert {item["updated"] for item in run.items} == {"2023-11-01T12:00:00Z"}
        assert run.warnings() == []
        assert run.stats == {
            "fhcrawl/document/processed": 3,
            "fhcrawl/entry/new": 3,
            "fhcrawl/feed/complete": 1,
        }
        [feed] = project.feeds()
        assert (feed["kind"], feed["verdict"], feed["reasons"]) == ("complete", "complete", [])

    @pytest.mark.parametrize("etag", [True, False])
    def test_unchanged_index_costs_one_request(
        self, server: FeedServer, project: Project, etag: bool
    ) -> None:
        serve_snapshot(server, "s1", ["a"], ["b"])
        server.answers["/snapshot"].etag = etag
        project.crawl(server.url("/snapshot"))
        server.asked()
        run = project.crawl(server.url("/snapshot"))
        assert server.asked() == ["/snapshot"]
        assert run.items == []
        assert project.verdict() == ("complete", [])

    def test_missing_pages_are_reasons_and_are_tried_again(
        self, server: FeedServer, project: Project
    ) -> None:
        serve_snapshot(server, "s1", ["a"], ["b"], ["c"], ["d"])
        second, fourth = server.answers.pop("/s1/1"), server.answers["/s1/3"]
        server.serve("/s1/3", "<html><title>x</title></html>", content_type="text/html")
        run = project.crawl(server.url("/snapshot"))
        assert server.asked() == ["/snapshot", "/s1/0", "/s1/1", "/s1/2", "/s1/3"]
        assert set(contents(run.items).values()) == {"a", "c"}
        assert project.verdict() == ("incomplete", ["http-404", "html"])
        server.answers |= {"/s1/1": second, "/s1/3": fourth}
        run = project.crawl(server.url("/snapshot"))
        assert server.asked() == ["/snapshot", "/s1/1", "/s1/3"]
        assert contents(run.items) == {"urn:snapshot:s1:1:0": "b", "urn:snapshot:s1:3:0": "d"}
        assert project.verdict() == ("complete", [])

    def test_page_that_is_cut_off_keeps_its_place(self, server: FeedServer, project: Project) -> None:
        serve_snapshot(server, "s1", ["a", "b", "c"])
        whole = server.answers["/s1/0"].body
        server.serve("/s1/0", whole[: whole.rindex(b"--b\r\n")], content_type=TYPE)
        run = project.crawl(server.url("/snapshot"))
        assert contents(run.items)["urn:snapshot:s1:0:0"] == "a"
        assert project.verdict() == ("incomplete", ["not-well-formed"])
        server.serve("/s1/0", whole, content_type=TYPE)
        project.crawl(server.url("/snapshot"))
        assert contents(list(project.logical_feed().values())) == {
            f"urn:snapshot:s1:0:{number}": body for number, body in enumerate("abc")
        }

    def test_later_snapshot_replaces_the_state_when_all_of_it_is_read(
        self, server: FeedServer, project: Project
    ) -> None:
        feed = server.url("/snapshot")
        serve_snapshot(server, "S1", ["a"], ["b"])
        project.crawl(feed)
        serve_snapshot(server, "s1", ["a2"], ["c"])
        first = server.answers.pop("/s1/0")
        run = project.crawl(feed)
        assert run.changes == {"urn:snapshot:s1:1:0": "new"}
        assert len(project.logical_feed()) == 3
        assert project.verdict() == ("incomplete", ["http-404"])
        server.answers["/s1/0"] = first
        run = project.crawl(feed)
        assert run.changes == {
            "urn:snapshot:s1:0:0": "new",
            "urn:snapshot:S1:0:0": "deleted",
            "urn:snapshot:S1:1:0": "deleted",
        }
        assert run.stats["fhcrawl/entry/deleted"] == 2
        assert contents(list(project.logical_feed().values())) == {
            "urn:snapshot:s1:0:0": "a2",
            "urn:snapshot:s1:1:0": "c",
        }
        assert project.verdict() == ("complete", [])
        assert project.crawl(feed).items == []

    @pytest.mark.parametrize(("earlier", "later"), [("s:1", "s"), ("s", "s:1")])
    def test_snapshot_whose_id_another_one_begins_with_is_replaced_too(
        self, server: FeedServer, project: Project, earlier: str, later: str
    ) -> None:
        feed = server.url("/snapshot")
        serve_snapshot(server, earlier, ["a"], ["b", "c"])
        project.crawl(feed)
        serve_snapshot(server, later, ["d", "e"], ["f"])
        project.crawl(feed)
        assert contents(list(project.logical_feed().values())) == {
            f"urn:snapshot:{later}:0:0": "d",
            f"urn:snapshot:{later}:0:1": "e",
            f"urn:snapshot:{later}:1:0": "f",
        }
        assert project.verdict() == ("complete", [])

    def test_snapshot_that_nobody_exported_is_replaced_in_silence(
        self, server: FeedServer, project: Project
    ) -> None:
        feed = server.url("/snapshot")
        serve_snapshot(server, "s1", ["a"])
        project.crawl(feed, settings={"EXTENSIONS": '{"fhcrawl.extensions.feedexport.FeedExporter": null}'})
        server.serve("/snapshot", index(server, "s2", "2023-11-11"), content_type="application/json")
        project.crawl(feed)
        assert project.logical_feed() == {}

    def test_pages_may_move_and_are_not_read_again(self, server: FeedServer, project: Project) -> None:
        """URLs that are signed for an hour."""
        serve_snapshot(server, "s1", ["a"], ["b"])
        del server.answers["/s1/1"]
        project.crawl(server.url("/snapshot"))
        server.asked()
        moved = index(server, "s1", "2023-11-10T12:00:00Z", "/moved/0", "/moved/1")
        server.serve("/snapshot", moved, content_type="application/json")
        server.serve("/moved/1", page((1, "b", None)), content_type=TYPE)
        run = project.crawl(server.url("/snapshot"))
        assert server.asked() == ["/snapshot", "/moved/1"]
        assert run.changes == {"urn:snapshot:s1:1:0": "new"}
        assert project.verdict() == ("complete", [])

    def test_limit_leaves_the_rest_to_a_later_run(self, server: FeedServer, project: Project) -> None:
        serve_snapshot(server, "s1", ["a"], ["b"], ["c"], ["d"])
        limit = {"FHCRAWL_MAX_ARCHIVES": 2}
        project.crawl(server.url("/snapshot"), settings=limit)
        assert project.verdict() == ("incomplete", ["limit", "known"])
        project.crawl(server.url("/snapshot"), settings=limit)
        assert project.verdict() == ("complete", [])
        assert server.asked() == ["/snapshot", "/s1/0", "/s1/1", "/snapshot", "/s1/2", "/s1/3"]

    def test_reset_reads_every_page_again(self, server: FeedServer, project: Project) -> None:
        serve_snapshot(server, "s1", ["a"], ["b"])
        project.crawl(server.url("/snapshot"))
        server.asked()
        run = project.crawl(server.url("/snapshot"), settings={"DELTAFETCH_RESET": 1})
        assert server.asked() == ["/snapshot", "/s1/0", "/s1/1"]
        assert run.items == []
        assert project.verdict() == ("complete", [])


class TestSnapshotBeforeAFeed:
    """A snapshot of 10 November, and events of every second day."""

    def serve(self, server: FeedServer) -> None:
        serve_snapshot(server, "s1", ["state a"], ["state b"])
        self.page(server, "/new", [14], prev="/p3")
        self.page(server, "/p3", [11, 12], prev="/p2", following="/new")
        self.page(server, "/p2", [8, 10], prev="/p1", following="/p3")
        self.page(server, "/p1", [2, 4], following="/p2")

    def page(
        self,
        server: FeedServer,
        path: str,
        days: list[int],
        prev: str | None = None,
        following: str | None = None,
    ) -> None:
        links = [f"<{path}>; rel=self"]
        links += [f"<{prev}>; rel=prev"] if prev else []
        links += [f"<{following}>; rel=next"] if following else []
        headers = {"Link": ", ".join(links), "Last-Modified": date(days[-1])}
        body = page(*((day, f"event {day}", f"e{day}") for day in days))
        server.serve(path, body, content_type=TYPE, headers=headers)

    def crawl(self, server: FeedServer, project: Project, **kwargs: Any) -> Run:
        args = ("-a", f"snapshot={server.url('/snapshot')}")
        return project.crawl(server.url("/new"), args=args, **kwargs)

    def test_feed_is_read_back_to_the_snapshot_only(self, server: FeedServer, project: Project) -> None:
        self.serve(server)
        run = self.crawl(server, project)
        asked = server.asked()
        assert asked[0] == "/snapshot"
        assert sorted(asked) == ["/new", "/p2", "/p3", "/s1/0", "/s1/1", "/snapshot"]
        # An event of the snapshot's second may be older or newer.
        assert set(contents(run.items).values()) == {
            *("state a", "state b"),
            *("event 10", "event 11", "event 12", "event 14"),
        }
        assert run.warnings() == []
        assert {item["feed"] for item in run.items} == {server.url("/new")}
        [feed] = project.feeds()
        assert (feed["feed"], feed["verdict"], feed["reasons"]) == (server.url("/new"), "complete", [])

    @pytest.mark.parametrize("with_snapshot", [True, False])
    def test_next_run_asks_for_the_feed_only(
        self, server: FeedServer, project: Project, with_snapshot: bool
    ) -> None:
        self.serve(server)
        self.crawl(server, project)
        server.asked()
        self.page(server, "/p4", [14, 15], prev="/p3", following="/new")
        self.page(server, "/new", [16], prev="/p4")
        run = self.crawl(server, project) if with_snapshot else project.crawl(server.url("/new"))
        assert server.asked() == ["/new", "/p4"]
        assert run.changes == {"e15": "new", "e16": "new"}
        assert project.verdict() == ("complete", [])

    @pytest.mark.parametrize("with_snapshot", [True, False])
    def test_run_after_one_that_broke_off_walks_no_further(
        self, server: FeedServer, project: Project, with_snapshot: bool
    ) -> None:
        self.serve(server)
        third = server.answers.pop("/p3")
        state = server.answers.pop("/s1/1")
        self.crawl(server, project)
        assert project.verdict() == ("incomplete", ["http-404", "http-404"])
        server.answers |= {"/p3": third, "/s1/1": state}
        server.asked()
        run = self.crawl(server, project) if with_snapshot else project.crawl(server.url("/new"))
        assert sorted(server.asked()) == ["/new", "/p2", "/p3", "/s1/1"]
        assert set(contents(run.items).values()) == {"state b", "event 10", "event 11", "event 12"}
        assert project.verdict() == ("complete", [])

    def test_feed_is_not_read_before_its_snapshot(self, server: FeedServer, project: Project) -> None:
        self.serve(server)
        snapshot = server.answers.pop("/snapshot")
        run = self.crawl(server, project)
        assert server.asked() == ["/snapshot"]
        assert run.items == []
        assert project.verdict() == ("unknown", ["http-404"])
        server.serve("/snapshot", atom([E("1")]))
        self.crawl(server, project)
        assert project.verdict() == ("unknown", ["not-a-snapshot"])
        server.answers["/snapshot"] = snapshot
        self.crawl(server, project)
        assert project.verdict() == ("complete", [])

    def test_feed_that_begins_after_the_snapshot_may_lack_something(
        self, server: FeedServer, project: Project
    ) -> None:
        self.serve(server)
        self.page(server, "/p3", [11, 12], following="/new")
        self.crawl(server, project)
        assert project.verdict() == ("incomplete", ["begins-later"])

    def test_later_snapshot_of_the_feed_replaces_only_the_earlier_one(
        self, server: FeedServer, project: Project
    ) -> None:
        self.serve(server)
        self.crawl(server, project)
        serve_snapshot(server, "s2", ["state c"], created="2023-11-13T00:00:00Z")
        server.answers["/snapshot2"] = server.answers.pop("/snapshot")
        server.asked()
        args = ("-a", f"snapshot={server.url('/snapshot2')}")
        run = project.crawl(server.url("/new"), args=args)
        assert sorted(server.asked()) == ["/new", "/s2/0", "/snapshot2"]
        assert run.changes == {
            "urn:snapshot:s2:0:0": "new",
            "urn:snapshot:s1:0:0": "deleted",
            "urn:snapshot:s1:1:0": "deleted",
        }
        assert {"e10", "e14"} <= project.logical_feed().keys()
        assert project.verdict() == ("complete", [])

    def test_older_snapshot_lets_the_feed_be_read_further_back(
        self, server: FeedServer, project: Project
    ) -> None:
        self.serve(server)
        self.crawl(server, project)
        serve_snapshot(server, "s0", ["state"], created="2023-11-03T00:00:00Z")
        server.answers["/snapshot0"] = server.answers.pop("/snapshot")
        args = ("-a", f"snapshot={server.url('/snapshot0')}")
        project.crawl(server.url("/new"), args=args)
        assert {"e4", "e8"} <= project.logical_feed().keys()
        assert "e2" not in project.logical_feed()
        assert project.verdict() == ("complete", [])

    def test_snapshot_without_a_time_lets_the_feed_be_read_whole(
        self, server: FeedServer, project: Project
    ) -> None:
        self.serve(server)
        serve_snapshot(server, "s1", ["state"], created="soon")
        run = self.crawl(server, project)
        assert f"{server.url('/snapshot')} does not say when it was made" in run.log
        assert {"e2", "e14"} <= set(contents(run.items))
        assert project.verdict() == ("complete", [])


def write(path: Path, text: str, time: int = 1_700_000_000) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (time, time))


class TestFolder:
    def test_documents_below_a_folder_are_one_feed(
        self, server: FeedServer, project: Project, tmp_path: Path
    ) -> None:
        folder = tmp_path / "a folder"
        write(folder / "2023 #1.atom", atom([E("1"), E("2", "old")], prev=server.url("/a")))
        write(folder / "sub" / "2024.atom", atom([E("2", "new"), E("3")], links={"next": "2025.atom"}))
        write(folder / ".git" / "x.atom", atom([E("hidden")]))
        write(tmp_path / "2025.atom", atom([E("outside")]))
        run = project.crawl(folder.as_uri() + "/")
        assert run.texts == {"1": "text", "2": "new", "3": "text"}
        assert {item["feed"] for item in run.items} == {folder.as_uri() + "/"}
        assert {item["document"] for item in run.items} == {
            (folder / "2023 #1.atom").as_uri(),
            (folder / "sub" / "2024.atom").as_uri(),
        }
        assert server.asked() == []
        [feed] = project.feeds()
        assert (feed["kind"], feed["verdict"]) == ("single", "unknown")
        assert [reason["kind"] for reason in feed["reasons"]] == ["no-history"]

    def test_only_what_has_changed_is_read_again(self, project: Project, tmp_path: Path) -> None:
        folder = tmp_path / "feeds"
        for name in "abc":
            write(folder / f"{name}.atom", atom([E(name)]))
        run = project.crawl(folder.as_uri())
        assert run.stats["fhcrawl/document/processed"] == 4
        assert project.crawl(folder.as_uri()).stats == {
            "fhcrawl/document/unchanged": 1,
            "fhcrawl/feed/unknown": 1,
        }
        write(folder / "b.atom", atom([E("b", "changed")]), time=1_700_000_001)
        write(folder / "d.atom", atom([E("d")]))
        (folder / "a.atom").unlink()
        run = project.crawl(folder.as_uri())
        assert run.changes == {"b": "updated", "d": "new"}
        assert run.stats["fhcrawl/document/processed"] == 3
        assert set(project.logical_feed()) == set("abcd")

    def test_what_is_no_feed_or_outside_is_said_and_a_reason(self, project: Project, tmp_path: Path) -> None:
        folder = tmp_path / "feeds"
        write(folder / "b.atom", atom([E("b")]))
        write(folder / "a.txt", "hello")
        write(tmp_path / "secret.atom", atom([E("secret")]))
        # The first that is read is refused before it is downloaded.
        (folder / "z.atom").symlink_to(tmp_path / "secret.atom")
        (folder / "y.atom").symlink_to(tmp_path / "nowhere")
        os.mkfifo(folder / "x.atom")
        run = project.crawl(folder.as_uri())
        assert set(run.changes) == {"b"}
        assert f"{(folder / 'a.txt').as_uri()} is not a feed" in run.log
        assert project.verdict() == ("unknown", ["refused-url", "refused-url", "not-xml", "no-history"])

    def test_file_that_is_too_large_is_not_read(self, project: Project, tmp_path: Path) -> None:
        folder = tmp_path / "feeds"
        write(folder / "large.atom", atom([E("1")]) + " " * 10_000)
        write(folder / "small.atom", atom([E("2")]))
        run = project.crawl(folder.as_uri(), settings={"DOWNLOAD_MAXSIZE": 5_000})
        assert set(run.changes) == {"2"}
        assert project.verdict() == ("unknown", ["too-large", "no-history"])

    def test_newer_entries_win_whatever_the_names_are(self, project: Project, tmp_path: Path) -> None:
        folder = tmp_path / "feeds"
        write(folder / "a.atom", atom([E("1", "newer", "2024-01-02T00:00:00Z")]))
        write(folder / "b.atom", atom([E("1", "older", "2024-01-01T00:00:00Z")]))
        assert project.crawl(folder.as_uri()).texts == {"1": "newer"}

    def test_folder_that_is_not_there_is_a_reason(self, project: Project, tmp_path: Path) -> None:
        run = project.crawl((tmp_path / "nowhere").as_uri() + "/")
        assert run.exit_code == 1
        assert project.verdict() == ("unknown", ["download-error"])

    def test_list_of_uris_from_the_net_is_no_feed(self, server: FeedServer, project: Project) -> None:
        server.serve("/list", f"{server.url('/a')}\r\n", content_type="text/uri-list")
        server.serve("/a", atom([E("1")]))
        project.crawl(server.url("/list"))
        assert server.asked() == ["/list"]
        assert project.verdict() == ("unknown", ["not-xml"])
