"""`-a due=1`: the feeds that are due, by what they, their servers and their habits say."""

import re
import subprocess
import time
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

import pytest

from fhcrawl.documents.dates import elapsed, shift
from fhcrawl.utils.clock import now
from tests.docs import shell
from tests.docs.pages import source
from tests.faketime import clock_at
from tests.feeds import E, atom, rss
from tests.projects import Project, Run, read_export
from tests.server import FeedServer
from tests.spiders.walks import Play, scripts

pytestmark = pytest.mark.in_process
HOUR = 3600
DUE = ("-a", "due=1")
# A feed without a schedule is due at once.
AT_ONCE = {"FHCRAWL_DUE_MIN_SECONDS": 0}
SY = ' xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"'
DUE_ROWS = "SELECT url, due FROM feeds WHERE subscribed IS NOT NULL ORDER BY due"


def subscribe(project: Project, server: FeedServer, *paths: str) -> None:
    done = project.scrapy("subscribe", *map(server.url, paths))
    assert done.returncode == 0, done.stderr


def crawl_due(project: Project, **settings: object) -> Run:
    run = project.crawl(settings={**AT_ONCE, **settings}, args=DUE)
    assert run.exit_code == 0, run.log
    return run


def until_due(project: Project, paths: Collection[str]) -> None:
    """Until feeds are due: one that was quiet for some seconds is left alone for half as many."""
    deadline = time.monotonic() + 60
    while {urlsplit(url).path for url, due in project.database.rows(DUE_ROWS) if due <= now()} != set(paths):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def row(project: Project) -> dict[str, Any]:
    names = ("polled", "due", "retry_after", "fresh_seconds", "news", "changed", "change_seconds")
    [values] = project.database.rows(f"SELECT {', '.join(names)} FROM feeds")
    return dict(zip(names, values, strict=True))


def wait(project: Project) -> int:
    found = row(project)
    return elapsed(found["polled"], found["due"])


HOURLY = f"<sy:updatePeriod{SY}>hourly</sy:updatePeriod>"
# What a feed's head section and its response's header say.
WAITING: dict[str, tuple[str, dict[str, str]]] = {
    "/max-age": ("", {"Cache-Control": "public, max-age=3600"}),
    "/two-lines": ("", {"Cache-Control": "max-age=3600", "cache-control": "public"}),
    "/expires": ("", {"Expires": "Fri, 01 Jan 2100 00:00:00 GMT"}),
    "/ttl": ("<ttl>60</ttl>", {}),
    "/sy": (HOURLY, {}),
    "/ttl-no-cache": ("<ttl>60</ttl>", {"Cache-Control": "no-cache"}),
}
AT_ANY_TIME: dict[str, tuple[str, dict[str, str]]] = {
    "/nothing": ("", {}),
    "/no-cache": ("", {"Cache-Control": "no-cache, max-age=3600"}),
    "/age": ("", {"Cache-Control": "max-age=3600", "Age": "3600"}),
    "/past": ("", {"Expires": "0"}),
}


def test_only_what_is_due_is_requested(server: FeedServer, project: Project) -> None:
    for path, (head, header) in {**WAITING, **AT_ANY_TIME}.items():
        server.serve(path, rss([E(path)], head=head), headers=header)
    subscribe(project, server, *WAITING, *AT_ANY_TIME)
    assert len(crawl_due(project).items) == len(WAITING) + len(AT_ANY_TIME)
    assert sorted(server.requested()) == sorted([*WAITING, *AT_ANY_TIME])
    until_due(project, AT_ANY_TIME)
    crawl_due(project)
    assert sorted(server.requested()) == sorted(AT_ANY_TIME)
    # Without the argument, all are; and 304 without these header fields takes nothing back.
    assert project.crawl(settings=AT_ONCE).stats["fhcrawl/document/unchanged"] == 10
    server.requested()
    until_due(project, AT_ANY_TIME)
    crawl_due(project)
    assert sorted(server.requested()) == sorted(AT_ANY_TIME)


def test_no_request_is_made_when_nothing_is_due(server: FeedServer, project: Project) -> None:
    for path in ("/a", "/b"):
        server.serve(path, atom([E(path)], head="<fh:complete/>"))
    subscribe(project, server, "/a", "/b")
    assert len(project.crawl(args=DUE).items) == 2
    server.requested()
    run = project.crawl(args=DUE)
    # Not even for robots.txt.
    assert server.requests == []
    assert (run.exit_code, run.items, run.stats) == (0, [], {})
    assert "No feed is due" in run.log


@pytest.mark.parametrize("target", [None, "/dev/full:jsonl"], ids=["no export", "failed export"])
def test_changes_left_are_exported_though_nothing_is_due(
    server: FeedServer, project: Project, target: str | None
) -> None:
    for path in ("/a", "/b"):
        server.serve(path, atom([E(path)], head="<fh:complete/>"))
    subscribe(project, server, "/a")
    run = project.crawl(output=None, args=(*DUE, *(("-o", target) if target else ())))
    assert run.exit_code == (1 if target else 0)
    # A feed that is not subscribed is exported when it is requested.
    project.crawl(server.url("/b"), output=None)
    server.requested()
    run = project.crawl(args=DUE)
    assert server.requests == []
    assert (run.exit_code, run.changes) == (0, {"/a": "new"})
    assert "1 entry was exported, including changes that earlier crawls did not export." in run.log
    run = project.crawl(server.url("/b"), args=DUE)
    assert server.requests == []
    assert (run.exit_code, run.changes) == (0, {"/b": "new"})
    assert project.crawl(args=DUE).items == []


@pytest.mark.parametrize("is_listed", [False, True])
def test_closing_words_say_when_a_feed_is_due(server: FeedServer, project: Project, is_listed: bool) -> None:
    paths = {"/later": 7200, "/sooner": 3600}
    for path, seconds in paths.items():
        server.serve(path, atom([E(path)]), headers={"Cache-Control": f"max-age={seconds}"})
    urls = [server.url(path) for path in paths]
    if not is_listed:
        subscribe(project, server, *paths)
    project.crawl(*urls)
    due = {feed["feed"]: feed["due"] for feed in project.feeds()}
    assert due[urls[1]] < due[urls[0]]
    run = project.crawl(*(urls if is_listed else ()), args=DUE)
    reported = f"No feed is due; the next one is due at {due[urls[1]]}\n"
    assert f"INFO: {reported}" in run.log
    assert f"The feeds of this run:\n  {reported}" in run.log


def test_due_settings_limit_ttl_and_max_age(server: FeedServer, project: Project) -> None:
    server.serve("/a", rss([E("1")], head="<ttl>600</ttl>"), headers={"Cache-Control": "max-age=9999"})
    url = server.url("/a")
    project.crawl(url, settings={"FHCRAWL_DUE_MAX_SECONDS": 1800})
    assert wait(project) == 1800
    project.crawl(url, settings={"FHCRAWL_DUE_MIN_SECONDS": 40_000})
    assert wait(project) == 40_000
    project.crawl(url)
    assert wait(project) == 36_000


@pytest.mark.parametrize("seconds", [100, 5000])
def test_servers_that_want_no_request_get_none(server: FeedServer, project: Project, seconds: int) -> None:
    """For less than FHCRAWL_MAX_WAIT, which ends with its status, and for more, which ends the walk."""
    server.serve("/a", "", status=503, headers={"Retry-After": str(seconds)})
    subscribe(project, server, "/a")
    run = project.crawl(settings={**AT_ONCE, "RETRY_ENABLED": False}, args=DUE)
    # What is left for a later run has not failed.
    assert run.exit_code == int(seconds == 100)
    assert seconds - 60 < wait(project) <= seconds
    server.requested()
    crawl_due(project)
    assert server.requested() == []
    server.serve("/a", atom([E("1")]))
    assert project.crawl(settings=AT_ONCE).changes == {"1": "new"}
    assert (row(project)["retry_after"], wait(project)) == (None, 0)


def test_server_of_an_archive_can_ask_for_time_too(server: FeedServer, project: Project) -> None:
    server.serve("/a", atom([E("1")], prev="/a1"))
    server.serve("/a1", "", status=429, headers={"Retry-After": "5000"})
    subscribe(project, server, "/a")
    crawl_due(project)
    assert 4900 < wait(project) <= 5000


def test_feed_with_a_gap_is_due_before_its_news_are(server: FeedServer, project: Project) -> None:
    header = {"Cache-Control": "max-age=80000"}
    server.serve("/whole", atom([E("1")], head="<fh:complete/>"), headers=header)
    server.serve("/gap", atom([E("1")], prev="/gone"), headers=header)
    subscribe(project, server, "/whole", "/gap")
    crawl_due(project)
    server.requested()
    crawl_due(project)
    assert server.requested() == ["/gap", "/gone"]
    # The longer it is missing, the longer it can wait.
    [(since,)] = project.database.rows("SELECT since FROM documents WHERE state = 'missing'")
    back = shift(since, -10 * HOUR)
    project.database.execute(f"UPDATE documents SET since = '{back}' WHERE state = 'missing'")
    crawl_due(project)
    [(polled, due)] = project.database.rows("SELECT polled, due FROM feeds WHERE url LIKE '%/gap'")
    assert 5 * HOUR <= elapsed(polled, due) < 6 * HOUR
    server.serve("/gone", atom([E("0")]))
    project.crawl(server.url("/gap"))
    [(polled, due)] = project.database.rows("SELECT polled, due FROM feeds WHERE url LIKE '%/gap'")
    assert elapsed(polled, due) == 80000


SCRIPTS = {
    "a walk that a limit has ended goes on in the next run": """
        /a 3 prev:/a2 Cache-Control=max-age=3600; /a2 2 prev:/a1; /a1 1; subscribe /a
        DUE FHCRAWL_MAX_ARCHIVES=1; requests /a /a2; DUE FHCRAWL_MAX_ARCHIVES=1; requests /a /a1; DUE
        requests""",
    # Nobody has subscribed to them.
    "feeds of a list are crawled if they are due": """
        /fresh 1 Cache-Control=max-age=3600; /new 1; crawl /fresh; crawl /fresh /new opt:limit=9 due=1
        requests /new; crawl subscribed due=1; code 2""",
}


@scripts(SCRIPTS)
def test_due(play: Play, script: str) -> None:
    play(script.replace("DUE", "crawl subscribed due=1 FHCRAWL_DUE_MIN_SECONDS=0"))


def test_habit_of_a_feed_is_learnt(server: FeedServer, project: Project) -> None:
    def passes(hours: int) -> None:
        times = {name: row(project)[name] for name in ("polled", "news", "changed", "due")}
        moved = (f"{name} = '{shift(time, -hours * HOUR)}'" for name, time in times.items())
        project.database.execute(f"UPDATE feeds SET {', '.join(moved)}")
        for name in ("since", "until"):
            for (then,) in project.database.rows(f"SELECT {name} FROM coverage"):
                moved_to = shift(then, -hours * HOUR)
                project.database.execute(f"UPDATE coverage SET {name} = '{moved_to}'")

    def publish(*ids: str, built: str = "Sat, 13 Dec 2003 18:30:02 GMT", head: str = "") -> None:
        server.serve("/a", rss([E(i) for i in ids], updated=built, head=head))
        assert project.crawl().exit_code == 0

    server.serve("/a", rss([E("1")]))
    subscribe(project, server, "/a")
    publish("1")
    assert (row(project)["change_seconds"], wait(project)) == (None, 900)
    passes(hours=4)
    # The document is another one, but has no news.
    publish("1", built="Sat, 13 Dec 2003 19:30:02 GMT")
    assert row(project)["change_seconds"] is None
    assert 2 * HOUR <= wait(project) < 3 * HOUR
    passes(hours=4)
    publish("2", "1")
    average = row(project)["change_seconds"]
    assert 8 * HOUR <= average < 9 * HOUR
    assert wait(project) == average // 2
    passes(hours=4)
    # A deleted entry is news.
    publish("2", head="<fh:complete/>")
    found = row(project)
    assert 4 * HOUR < found["change_seconds"] < average
    assert found["news"] == found["changed"] == found["polled"]


def test_news_of_a_folder_are_those_of_its_files(project: Project) -> None:
    folder = project.folder / "feeds"
    folder.mkdir()
    (folder / "a.atom").write_text(atom([E("1")]))
    assert project.crawl(folder.as_uri()).changes == {"1": "new"}
    found = row(project)
    assert found["news"] == found["changed"] >= found["polled"]


def test_nothing_waits_for_a_time_that_a_wrong_clock_has_noted(project: Project, server: FeedServer) -> None:
    server.serve("/", atom([E("1")], prev="/gone"), headers={"Cache-Control": "max-age=3600"})
    assert project.scrapy("subscribe", server.url("/")).returncode == 0
    with clock_at("2040-01-01T00:00:00"):
        ahead = project.crawl(args=DUE)
    assert ahead.changes == {"1": "new"}
    [feed] = project.feeds()
    assert [reason["since"][:4] for reason in feed["reasons"]] == ["2040"]
    assert feed["due"] is None
    assert server.requested() == ["/", "/gone"]
    project.crawl(args=DUE)
    assert server.requested() == ["/", "/gone"]
    [feed] = project.feeds()
    assert [elapsed(reason["since"], now()) // 3600 for reason in feed["reasons"]] == [0]
    assert 0 < elapsed(now(), feed["due"]) <= 3600
    assert "No feed is due" in project.crawl(args=DUE).log


@pytest.mark.real_crawl
def test_line_for_cron_in_the_documentation_crawls_what_is_due(server: FeedServer, project: Project) -> None:
    server.serve("/a", atom([E("1")]), headers={"Cache-Control": "max-age=3600"})
    subscribe(project, server, "/a")
    [line] = re.findall(r"^    \*/15 \* \* \* \* (cd .+)$", source("howto/schedule"), re.MULTILINE)
    assert "%" not in line
    shell.install(project.folder / ".venv" / "bin")
    line = line.replace("/srv/fhcrawl", str(project.folder))
    # What cron gives to a command, and what a line of the crontab can say of the store: crontab(5).
    environment = {"HOME": "/", "LOGNAME": "fhcrawl", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    environment |= project.deployment
    printed = []
    for _ in range(2):
        done = subprocess.run(
            ["/bin/sh", "-c", line], env=environment, cwd="/", capture_output=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout + done.stderr)
    # What a command prints, cron sends by mail.
    assert printed[1] == b""
    assert server.requested() == ["/a"]
    assert [entry["id"] for entry in read_export(project.folder / "entries.jsonl")] == ["1"]
