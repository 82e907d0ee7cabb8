"""Crawls of a snapshot before a feed, and of folders of files."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.feeds import E, atom
from tests.projects import Project, Run
from tests.server import FeedServer
from tests.spiders.test_lists import TYPE, contents, date, page, serve_snapshot

pytestmark = pytest.mark.in_process


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

    @pytest.mark.real_crawl
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
    def test_next_run_asks_no_more(self, server: FeedServer, project: Project, with_snapshot: bool) -> None:
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
        project.scrapy("subscribe", server.url("/new"))
        run = self.crawl(server, project)
        assert server.asked() == ["/snapshot"]
        assert run.items == []
        assert project.verdict() == ("unknown", ["not-read", "http-404"])
        server.serve("/snapshot", atom([E("1")]))
        self.crawl(server, project)
        assert project.verdict() == ("unknown", ["not-read", "not-a-snapshot"])
        server.answers["/snapshot"] = snapshot
        self.crawl(server, project)
        assert project.verdict() == ("complete", [])

    def test_feed_that_begins_later_may_lack_something(self, server: FeedServer, project: Project) -> None:
        self.serve(server)
        self.page(server, "/p3", [11, 12], following="/new")
        self.crawl(server, project)
        assert project.verdict() == ("incomplete", ["begins-later"])

    def test_later_snapshot_replaces_only_the_earlier(self, server: FeedServer, project: Project) -> None:
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

    def test_older_snapshot_lets_the_feed_go_further_back(self, server: FeedServer, project: Project) -> None:
        self.serve(server)
        self.crawl(server, project)
        serve_snapshot(server, "s0", ["state"], created="2023-11-03T00:00:00Z")
        server.answers["/snapshot0"] = server.answers.pop("/snapshot")
        args = ("-a", f"snapshot={server.url('/snapshot0')}")
        project.crawl(server.url("/new"), args=args)
        assert {"e4", "e8"} <= project.logical_feed().keys()
        assert "e2" not in project.logical_feed()
        assert project.verdict() == ("complete", [])

    def test_older_snapshot_lets_pages_go_further_back(self, server: FeedServer, project: Project) -> None:
        for path, day, following in (("/new", 14, "/p2"), ("/p2", 10, "/p1"), ("/p1", 6, None)):
            time = f"2023-11-{day:02}T00:00:00Z"
            links = {"next": following} if following else {}
            server.serve(path, atom([E(f"e{day}", updated=time)], updated=time, links=links))
        serve_snapshot(server, "s1", ["state"], created="2023-11-12T00:00:00Z")
        self.crawl(server, project)
        assert "e6" not in project.logical_feed()
        serve_snapshot(server, "s0", ["state"], created="2023-11-06T00:00:00Z")
        server.answers["/snapshot0"] = server.answers.pop("/snapshot")
        project.crawl(server.url("/new"), args=("-a", f"snapshot={server.url('/snapshot0')}"))
        assert {"e6", "e10", "e14"} <= project.logical_feed().keys()
        assert project.verdict() == ("lossy", ["paged"])

    def test_snapshot_without_a_time_limits_nothing(self, server: FeedServer, project: Project) -> None:
        self.serve(server)
        serve_snapshot(server, "s1", ["state"], created="soon")
        run = self.crawl(server, project)
        assert f"{server.url('/snapshot')} does not say when it was created" in run.log
        assert {"e2", "e14"} <= set(contents(run.items))
        assert project.verdict() == ("complete", [])


def write(path: Path, text: str, time: int = 1_700_000_000) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (time, time))


class TestFolder:
    @pytest.mark.real_crawl
    def test_folder_is_one_feed(self, server: FeedServer, project: Project, tmp_path: Path) -> None:
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
        assert "nowhere/ does not exist" in run.log
        assert project.feeds() == []

    def test_list_of_uris_from_the_net_is_no_feed(self, server: FeedServer, project: Project) -> None:
        server.serve("/list", f"{server.url('/a')}\r\n", content_type="text/uri-list")
        server.serve("/a", atom([E("1")]))
        run = project.crawl(server.url("/list"))
        assert server.asked() == ["/list"]
        assert f"{server.url('/list')} is not a feed: it is not XML" in run.log
