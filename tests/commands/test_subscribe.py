"""`scrapy subscribe` and `scrapy unsubscribe`, and lists of feeds with lines that cannot be used."""

import pytest

from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer


def test_crawl_without_arguments_crawls_what_is_subscribed(server: FeedServer, project: Project) -> None:
    for path in ("/a", "/b", "/c", "/other"):
        server.serve(path, atom([E(path)]))
    (project.folder / "list.opml").write_text(
        f'<opml><outline xmlUrl="{server.url("/b")}"/><outline xmlUrl="{server.url("/c")}"/></opml>'
    )
    project.crawl(server.url("/other"))
    server.requested()
    done = project.scrapy("subscribe", server.url("/a"), "list.opml", server.url("/a"))
    assert (done.returncode, done.stdout) == (0, "Newly subscribed: 3; already subscribed: 0\n")
    again = project.scrapy("subscribe", "list.opml")
    assert again.stdout == "Newly subscribed: 0; already subscribed: 2\n"
    assert set(project.crawl().changes) == {"/a", "/b", "/c"}
    assert sorted(server.requested()) == ["/a", "/b", "/c"]


def test_list_that_names_a_file_is_refused_unless_it_may(project: Project) -> None:
    path = project.folder / "index.atom"
    path.write_text(atom([E("1")]))
    (project.folder / "list.txt").write_text(path.as_uri())
    sentence = f"list.txt, line 1 is a local file, {path.as_uri()}; use fhcrawl crawl URL"
    done = project.scrapy("subscribe", "list.txt")
    assert (done.returncode, sentence in done.stderr) == (2, True)
    run = project.crawl(args=("-a", "feeds=list.txt"))
    assert (run.exit_code, sentence in run.log) == (2, True)
    done = project.scrapy("subscribe", "-s", "FHCRAWL_LISTED_FILES_ENABLED=1", "list.txt")
    assert (done.returncode, done.stdout) == (0, "Newly subscribed: 1; already subscribed: 0\n")
    # What is subscribed stays so.
    assert set(project.crawl().changes) == {"1"}


def test_options_of_a_list_are_kept(server: FeedServer, project: Project) -> None:
    server.serve("/a", atom([E("3")], links={"next-archive": server.url("/a2")}))
    server.serve("/a2", atom([E("2")], links={"next-archive": server.url("/a1")}))
    server.serve("/a1", atom([E("1")]))
    (project.folder / "list.toml").write_text(
        f'[[feed]]\nurl = "{server.url("/a")}"\nreversed = true\nlimit = 0\nheaders = {{X-Key = "secret"}}\n'
    )
    project.scrapy("subscribe", "list.toml")
    # The list's limit of 0 is none, and not the setting's.
    run = project.crawl(settings={"FHCRAWL_MAX_ARCHIVES": 1})
    assert set(run.changes) == {"1", "2", "3"}
    assert [headers.get("X-Key") for headers in server.headers][-3:] == ["secret"] * 3
    assert "secret" not in project.scrapy("feeds", "--json").stdout
    # So has its URL alone.
    project.crawl(server.url("/a"), settings={"DELTAFETCH_RESET": 1})
    assert [headers.get("X-Key") for headers in server.headers][-3:] == ["secret"] * 3
    # A list with options of its own.
    (project.folder / "own.toml").write_text(f'[[feed]]\nurl = "{server.url("/a")}"\nlimit = 5\n')
    project.crawl(args=("-a", "feeds=own.toml"))
    assert server.headers[-1].get("X-Key") is None


def test_feeds_shows_what_is_subscribed(server: FeedServer, project: Project) -> None:
    server.serve("/a", atom([E("1")], head="<fh:complete/>"), headers={"Cache-Control": "max-age=4000"})
    project.scrapy("subscribe", server.url("/a"), "https://example.org/never")
    project.crawl(server.url("/a"))
    project.scrapy("unsubscribe", server.url("/a"))
    crawled, never = project.feeds()
    assert (crawled["subscribed"], crawled["due"] > crawled["crawled"]) == (None, True)
    assert never["subscribed"].endswith("Z")
    assert (never["due"], never["verdict"]) == (None, "unknown")
    lines = [line.split() for line in project.scrapy("feeds").stdout.splitlines()]
    assert lines[1] == ["-", "-", "0", "-", "-", "yes", "unknown", "https://example.org/never"]
    assert lines[2][-3:] == ["-", "complete", server.url("/a")]


def test_unsubscribed_feed_stays_in_the_store(server: FeedServer, project: Project) -> None:
    server.serve("/a", atom([E("1")]))
    project.scrapy("subscribe", server.url("/a"), "https://example.org/never")
    project.crawl(server.url("/a"))
    done = project.scrapy("unsubscribe", server.url("/a"), "https://example.org/never")
    assert done.stdout.splitlines() == [
        f"{server.url('/a')} is no longer subscribed; its entries stay in the store",
        "https://example.org/never is removed from the store, because it was never read",
    ]
    assert set(project.logical_feed()) == {"1"}
    assert [feed["feed"] for feed in project.feeds()] == [server.url("/a")]
    run = project.crawl()
    assert run.exit_code == 2
    assert "fhcrawl subscribe https://example.org/index.atom" in run.log


def test_deleted_feed_leaves_nothing_but_the_other_feeds(server: FeedServer, project: Project) -> None:
    server.serve("/a", atom([E("2"), E("1")]))
    server.serve("/b", atom([E("1")]))
    project.scrapy("subscribe", server.url("/a"))
    project.crawl(server.url("/a"), server.url("/b"), output=None)
    wrong = project.scrapy("unsubscribe", "--delete", server.url("/a"), server.url("/c"))
    assert (wrong.returncode, f"{server.url('/c')} is not in the store" in wrong.stderr) == (2, True)
    done = project.scrapy("unsubscribe", "--delete", server.url("/a"))
    assert done.stdout == f"{server.url('/a')} is deleted from the store, with 2 entries\n"
    assert [feed["feed"] for feed in project.feeds()] == [server.url("/b")]
    assert set(project.logical_feed()) == {"1"}
    # All of it is new.
    assert set(project.crawl(server.url("/a")).changes) == {"1", "2"}


def test_mistyped_feed_can_be_forgotten(server: FeedServer, project: Project) -> None:
    server.serve("/a", atom([E("1")], head="<fh:complete/>"))
    server.serve("/empty", atom([], head="<fh:complete/>"))
    mistyped = server.url("/aa")
    project.scrapy("subscribe", mistyped)
    project.crawl(server.url("/a"), server.url("/empty"), mistyped)
    assert project.scrapy("feeds", "--fail-on", "incomplete").returncode == 1
    for known in ("/a", "/empty"):
        assert project.scrapy("unsubscribe", server.url(known)).returncode == 2
    assert "is removed from the store" in project.scrapy("unsubscribe", mistyped).stdout
    assert project.scrapy("feeds", "--fail-on", "incomplete").returncode == 0
    assert set(project.logical_feed()) == {"1"}


@pytest.fixture
def bad(server: FeedServer, project: Project) -> str:
    server.serve("/a", atom([E("1")], title="Own title"))
    host = server.url("/b").removeprefix("http://")
    (project.folder / "list.opml").write_text(
        f"""<opml><body><outline text="Mine" xmlUrl="{server.url("/a")}"/>
        <outline text="Other" xmlUrl="{server.url("/b")}" htmlUrl="https://example.org/?a=1&b=2"/>
        <outline text="Secret" xmlUrl="http://ann:s3cret@{host}"/>
        <outline text="Odd" xmlUrl="gopher://example.org/"/></body></opml>"""
    )
    return "list.opml"


def named(log: str) -> list[str]:
    assert "s3cret" not in log
    return [place for place in ("line 1", "line 2", "line 3 (Secret)", "line 4 (Odd)") if place in log]


@pytest.mark.in_process
def test_feeds_of_a_list_are_subscribed_but_for_those_that_are_named(bad: str, project: Project) -> None:
    done = project.scrapy("subscribe", bad)
    assert (done.returncode, named(done.stderr)) == (1, ["line 3 (Secret)", "line 4 (Odd)"])
    assert len(done.stderr.splitlines()) == 2
    assert done.stdout == "Newly subscribed: 2; already subscribed: 0; invalid: 2\n"
    assert [feed["title"] for feed in project.feeds()] == ["Mine", "Other"]
    project.crawl()
    assert [feed["title"] for feed in project.feeds()] == ["Own title", "Other"]


@pytest.mark.in_process
def test_feeds_of_a_list_are_crawled_but_for_those_named(
    bad: str, server: FeedServer, project: Project
) -> None:
    server.serve("/b", atom([E("2")], title=""))
    run = project.crawl(args=("-a", f"feeds={bad}"))
    assert (run.exit_code, run.stats["fhcrawl/feed/refused"]) == (1, 2)
    assert named(run.log) == ["line 3 (Secret)", "line 4 (Odd)"]
    assert "The list of feeds has invalid lines" in run.log
    assert set(run.changes) == {"1", "2"}
    # A feed without a title keeps that of the list.
    assert [feed["title"] for feed in project.feeds()] == ["Own title", "Other"]
