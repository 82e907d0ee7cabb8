"""`fhcrawl check`, in a process of its own, of feeds that are served."""

import json
from pathlib import Path
from typing import Any

import pytest

from fhcrawl.commands.demo import Publisher
from tests.feeds import E, atom
from tests.projects import USER_AGENT, Project
from tests.server import FeedServer
from tests.wordpress_server import WordPress

MONTHS = 3


def check(project: Project, url: str, *options: str) -> tuple[int, dict[str, Any]]:
    done = project.scrapy("checkhistory", "--json", "-s", f"USER_AGENT={USER_AGENT}", *options, url)
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, found


def reported(found: dict[str, Any], *severities: str) -> list[tuple[str, str]]:
    return [(f["rule"], f["text"]) for f in found["findings"] if f["severity"] in severities]


def serve_archives(server: FeedServer) -> None:
    publisher = Publisher(MONTHS, server.root)
    for path in ["/index.atom", *(f"/2021/{month:02}.atom" for month in range(1, MONTHS + 1))]:
        server.serve(path, publisher.document(path) or "")


@pytest.mark.quick
def test_archived_feed_passes_and_nothing_is_stored(server: FeedServer, project: Project) -> None:
    serve_archives(server)
    code, found = check(project, server.url("/index.atom"), "--strict")
    assert (code, found["is_whole"], found["documents"], found["entries"]) == (0, True, 4, 36)
    assert reported(found, "error", "warning") == []
    assert sorted(path.name for path in project.folder.iterdir()) == ["scrapy.cfg"]
    # The two conditional requests at the end.
    assert server.requested() == [
        *("/index.atom", "/2021/03.atom", "/2021/02.atom", "/2021/01.atom", "/index.atom", "/2021/03.atom")
    ]


@pytest.mark.parametrize("form", ["atom", "rss"])
def test_archive_sets_of_exports_pass(form: str, server: FeedServer, project: Project) -> None:
    serve_archives(server)
    project.crawl(server.url("/index.atom"), output=None)
    folder = project.folder / "set"
    base = server.url("/set/")
    options = ("--base", base, "--archive-size", "10", "--feed", server.url("/index.atom"))
    project.scrapy("export", "-o", f"{folder}/", "--format", form, *options)
    for path in folder.iterdir():
        server.serve(f"/set/{path.name}", path.read_bytes(), content_type=f"application/{form}+xml")
    code, found = check(project, f"{base}index.{form}", "--strict")
    assert (code, found["documents"], found["entries"], found["is_whole"]) == (0, 4, 36, True)
    assert reported(found, "error", "warning") == []


def test_what_cannot_be_fetched_cuts_the_chain(server: FeedServer, project: Project) -> None:
    server.serve("/robots.txt", "User-agent: *\nDisallow: /forbidden", content_type="text/plain")
    for place, why in (
        ("/forbidden", "robots.txt disallows it"),
        ("http://10.0.0.1/", "it is at a private address"),
    ):
        server.serve("/index", atom([E("urn:1")], prev=place))
        code, found = check(project, server.url("/index"))
        [cut] = [text for rule, text in reported(found, "error") if rule == "walk-ends"]
        assert f"is not fetched: {why}" in cut
        assert code == 1


def test_exit_codes(server: FeedServer, project: Project) -> None:
    # Without a self link: RFC 4287 has a SHOULD.
    server.serve("/index", atom([E("urn:1")], head="<fh:complete/>"))
    assert check(project, server.url("/index"))[0] == 0
    assert check(project, server.url("/index"), "--strict")[0] == 1
    for arguments in (["example.org"], [server.url("/a"), server.url("/b")]):
        done = project.scrapy("checkhistory", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
    server.serve("/broken", atom([E("urn:1")], prev="/gone"))
    done = project.scrapy("checkhistory", server.url("/broken"))
    assert done.returncode == 1
    assert done.stdout.startswith("Errors\n- The chain is broken: ")
    assert done.stdout.rstrip().splitlines()[-1].startswith("The history was not read to its end: 1 document")


def test_walk_is_bounded(server: FeedServer, project: Project) -> None:
    for number in range(9):
        server.serve(f"/{number}", atom([E(f"urn:{number}")], prev=f"/{number + 1}"))
    code, found = check(project, server.url("/0"), "--max-documents", "4")
    assert (code, found["documents"], found["is_whole"]) == (0, 4, False)
    code, found = check(project, server.url("/0"), "-s", "FHCRAWL_MAX_ARCHIVES=3")
    assert (found["documents"], found["is_whole"]) == (4, False)
    assert any("FHCRAWL_MAX_ARCHIVES" in text for _rule, text in reported(found, "warning"))


@pytest.mark.nightly("starts a WordPress")
def test_feeds_of_wordpress(wordpress: WordPress, project: Project) -> None:
    wordpress.post(1, 12)
    for path in ("/?feed=rss2", "/?feed=atom"):
        code, found = check(project, wordpress.url(path))
        assert (code, found["kind"], found["entries"]) == (0, "single", 10)
        # WordPress leaves out the port of its address.
        assert {rule for rule, _text in reported(found, "error", "warning")} <= {"self-link"}
        assert [rule for rule, _text in reported(found, "advice")] == ["says-its-history"]


def test_feed_in_files_is_checked(project: Project, tmp_path: Path) -> None:
    (tmp_path / "index.atom").write_text(atom([E("urn:2")], prev="1.atom"), "utf-8")
    (tmp_path / "1.atom").write_text(atom([E("urn:1")], head="<fh:archive/>"), "utf-8")
    _code, found = check(project, (tmp_path / "index.atom").as_uri())
    assert (found["documents"], found["is_whole"]) == (2, True)
    rules = {finding["rule"] for finding in found["findings"]}
    assert not rules & {"media-type", "caching", "conditional-requests"}
