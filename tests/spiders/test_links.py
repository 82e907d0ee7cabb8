"""Links of which a walk can follow only one, or none: what is not followed is a reason, in each run."""

import json

import pytest

from tests.feeds import E, atom, rss
from tests.projects import Project
from tests.server import FeedServer

pytestmark = pytest.mark.in_process
FH = 'xmlns:fh="http://purl.org/syndication/history/1.0"'
JSON_FEED = {"version": "https://jsonfeed.org/version/1.1", "title": "t", "items": [{"id": "json"}]}


def link(rel: str, href: str | None) -> str:
    attribute = "" if href is None else f' href="{href}"'
    return f'<link xmlns="http://www.w3.org/2005/Atom" rel="{rel}"{attribute}/>'


def header(value: str) -> dict[str, str]:
    return {"Link": value}


# The subscription document, its headers, and where the link leads that is not followed.
CONTRADICTORY: dict[str, tuple[str, dict[str, str], str]] = {
    "two links": (atom([E("n")], head=link("prev-archive", "/a1") + link("prev-archive", "/a2")), {}, "/a2"),
    "two links of RSS": (
        rss([E("n")], head=link("prev-archive", "/a1") + link("prev-archive", "/a2")),
        {},
        "/a2",
    ),
    "a slash more": (
        atom([E("n")], head=link("prev-archive", "/a1") + link("prev-archive", "/a1/")),
        {},
        "/a1/",
    ),
    "header": (atom([E("n")], prev="/a1"), header('</a2>; rel="prev-archive"'), "/a2"),
    "two headers": (atom([E("n")]), header("</a1>; rel=prev-archive, </a2>; rel=prev-archive"), "/a2"),
    "of a draft": (atom([E("n")], prev="/a1", head=f"<fh:prev {FH}>/a2</fh:prev>"), {}, "/a2"),
    "next": (atom([E("n")], links={"next": "/a1"}), header("</a2>; rel=next"), "/a2"),
}
EMPTY: dict[str, tuple[str, dict[str, str]]] = {
    "empty": (atom([E("n")], head=link("prev-archive", "")), {}),
    "blank in RSS": (rss([E("n")], head=link("prev-archive", " ")), {}),
    "missing": (atom([E("n")], head=link("prev-archive", None)), {}),
    "beside another": (atom([E("n")], prev="/a1", head=link("prev-archive", "")), {}),
    "of a draft": (atom([E("n")], head=f"<fh:incremental>true</fh:incremental><fh:prev {FH}/>"), {}),
    "header": (atom([E("n")]), header('; rel="prev-archive"')),
    "next": (atom([E("n")], head=link("next", "")), {}),
    "JSON": (json.dumps({**JSON_FEED, "next_url": {"href": "/2.json"}}), {}),
}
PLAIN: dict[str, tuple[str, dict[str, str]]] = {
    "same URL": (
        atom([E("n")], head=link("prev-archive", "/a1") + link("prev-archive", "a1#top")),
        header("</%61%31>; rel=prev-archive"),
    ),
    "other relations": (
        atom([E("n")], prev="/a1", head=link("alternate", "/x") + link("alternate", "/y") + link("self", "")),
        header("</z>; rel=self"),
    ),
    "another resource's": (atom([E("n")], prev="/a1"), header("</a2>; rel=prev-archive; anchor=/other")),
    "fh:complete": (
        atom([E("n")], head="<fh:complete/>" + link("prev-archive", "/a1") + link("prev-archive", "/a2")),
        {},
    ),
}


def reasons_by_path(project: Project, server: FeedServer) -> dict[str, tuple[str, list[tuple[str, str]]]]:
    return {
        feed["feed"].removeprefix(server.root): (
            feed["verdict"],
            [(r["kind"], r["detail"]) for r in feed["reasons"] if r["kind"] not in ("paged", "no-history")],
        )
        for feed in project.feeds()
    }


def test_link_that_is_not_followed_is_a_reason_in_each_run(server: FeedServer, project: Project) -> None:
    server.serve("/a1", atom([E("1")]))
    documents = [("contradictory", name, *value[:2]) for name, value in CONTRADICTORY.items()]
    documents += [("empty", name, *rest) for name, rest in EMPTY.items()]
    documents += [("plain", name, *rest) for name, rest in PLAIN.items()]
    paths = {}
    for number, (kind, name, body, headers) in enumerate(documents):
        paths[kind, name] = f"/f{number}"
        server.serve(f"/f{number}", body, headers=headers)
    feeds = [server.url(path) for path in paths.values()]
    run = project.crawl(*feeds)
    assert "Traceback" not in run.log
    for run_number in (1, 2):
        found = reasons_by_path(project, server)
        for name, (_body, _headers, other) in CONTRADICTORY.items():
            verdict, [(kind, detail)] = found[paths["contradictory", name]]
            assert (verdict, kind) == ("lossy" if name == "next" else "incomplete", "contradictory-links")
            assert (
                f"{server.url('/a1')}, which is followed, and to {server.url(other)}, which is not" in detail
            )
        for name in EMPTY:
            verdict, [(kind, detail)] = found[paths["empty", name]]
            assert verdict == ("lossy" if name in ("next", "JSON") else "incomplete"), name
            assert (kind, "has an empty " in detail) == ("empty-link", True)
        for name in PLAIN:
            assert found[paths["plain", name]] == ("complete", []), name
        if run_number == 1:
            entries = {(item["feed"].removeprefix(server.root), item["id"]) for item in run.items}
            assert {(path, "1") for (kind, _), path in paths.items() if kind == "contradictory"} <= entries
            assert {(path, "n") for (_, name), path in paths.items() if name != "JSON"} <= entries
            run = project.crawl(*feeds)
            assert run.items == []


def test_contradiction_of_an_archive_is_a_reason_until_it_heals(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("3")], prev="/a2"))
    server.serve("/a2", atom([E("2")], head=link("prev-archive", "/a1") + link("prev-archive", "/b1")))
    server.serve("/a1", atom([E("1")]))
    run = project.crawl(server.url("/index"))
    assert set(run.changes) == {"1", "2", "3"}
    assert project.verdict() == ("incomplete", ["contradictory-links"])
    assert any("which is not" in w and server.url("/b1") in w for w in run.warnings())
    server.serve("/a2", atom([E("2")], prev="/b1"))
    server.serve("/b1", atom([E("0")], prev="/a1"))
    run = project.crawl(server.url("/index"))
    assert set(run.changes) == {"0"}
    assert project.verdict() == ("complete", [])


def test_contradictory_ways_to_the_newest_document_are_reasons(server: FeedServer, project: Project) -> None:
    links = "".join(link("current", href) for href in ("/one", "/two"))
    server.serve("/given", atom([E("1")], head=f"<fh:archive/>{links}"))
    server.serve("/one", atom([E("2")], prev="/given"))
    run = project.crawl(server.url("/given"))
    assert set(run.changes) == {"1", "2"}
    for _run in range(2):
        [reason] = project.feeds()[0]["reasons"]
        assert reason["kind"] == "contradictory-links"
        assert server.url("/two") in reason["detail"]
        project.crawl(server.url("/given"))
