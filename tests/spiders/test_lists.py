"""Crawls of lists of documents: snapshots, alone and before a feed, and folders of files."""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import pytest

from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer

pytestmark = pytest.mark.in_process
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
    def test_page_that_is_no_url_loses_only_itself(self, server: FeedServer, project: Project) -> None:
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

    @pytest.mark.real_crawl
    @pytest.mark.quick_lane
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

    def test_missing_pages_are_reasons_and_tried_again(self, server: FeedServer, project: Project) -> None:
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

    def test_later_snapshot_that_is_whole_replaces_it(self, server: FeedServer, project: Project) -> None:
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

    def test_unexported_snapshot_is_replaced_silently(self, server: FeedServer, project: Project) -> None:
        feed = server.url("/snapshot")
        serve_snapshot(server, "s1", ["a"])
        project.crawl(feed, output=None)
        server.serve("/snapshot", index(server, "s2", "2023-11-11"), content_type="application/json")
        project.crawl(feed)
        assert project.logical_feed() == {}

    def test_snapshot_that_comes_and_leaves_is_no_change(self, server: FeedServer, project: Project) -> None:
        feed = server.url("/snapshot")
        for name, output in (("s1", "out.jsonl"), ("s2", "out.jsonl"), ("s1", None)):
            serve_snapshot(server, name, ["a"])
            project.crawl(feed, output=output)
        serve_snapshot(server, "s2", ["a"])
        assert project.crawl(feed).changes == {}

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

    def test_gaps_of_a_snapshot_are_none_of_a_later_feed(self, server: FeedServer, project: Project) -> None:
        serve_snapshot(server, "s1", ["a"], ["b"])
        del server.answers["/s1/1"]
        project.crawl(server.url("/snapshot"))
        assert project.verdict() == ("incomplete", ["http-404"])
        server.serve("/snapshot", atom([E("1")], prev="/archive"))
        server.serve("/archive", atom([E("0")], head="<fh:archive/>", links={"current": "/snapshot"}))
        project.crawl(server.url("/snapshot"))
        assert project.verdict() == ("complete", [])


def test_pages_that_are_left_are_one_reason(server: FeedServer, project: Project) -> None:
    feed = server.url("/snapshot")
    serve_snapshot(server, "s1", *([str(number)] for number in range(2000)))
    del server.answers["/s1/1"]
    project.crawl(feed, settings={"FHCRAWL_MAX_ARCHIVES": 3})
    [listed] = project.feeds()
    assert [(r["kind"], r["url"], r["detail"]) for r in listed["reasons"]] == [
        ("http-404", server.url("/s1/1"), "is missing (404)"),
        (
            "limit",
            server.url("/s1/3"),
            "was left for a later run: FHCRAWL_MAX_ARCHIVES limits a crawl to 3 parts",
        ),
        ("known", feed, "links to 1,996 more documents that have not been fetched yet"),
    ]
    assert listed["documents"] == {"known": 1997, "missing": 1, "processed": 3}


@pytest.mark.parametrize("name", ["pages", "uris"])
def test_nothing_of_an_index_over_the_limit_is_kept(server: FeedServer, project: Project, name: str) -> None:
    body = {"id": "s1", name: ["a"] * 2000, **({"createdAt": "2020"} if name == "pages" else {})}
    server.serve("/snapshot", json.dumps(body), content_type="application/json")
    run = project.crawl(server.url("/snapshot"), settings={"FHCRAWL_MAX_ENTRIES": 1999})
    assert server.asked() == ["/snapshot"]
    assert "it lists 2000 documents, more than FHCRAWL_MAX_ENTRIES (1999) allows" in run.log
    assert project.feeds() == []


@pytest.mark.real_crawl
def test_pages_that_may_not_be_fetched_count(server: FeedServer, project: Project) -> None:
    pages = [f"http://localhost/{number}" for number in range(100)]
    index_of_them = index(server, "s1", "2023-11-10", *pages)
    server.serve(
        "/snapshot", index_of_them.replace(server.root + "http", "http"), content_type="application/json"
    )
    project.crawl(server.url("/snapshot"), settings={"FHCRAWL_MAX_ARCHIVES": 2})
    assert project.verdict() == ("incomplete", ["private-address", "private-address", "limit", "known"])
