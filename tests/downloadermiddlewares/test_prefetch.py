"""Archives that are fetched ahead: real crawls."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from tests.feeds import E, atom
from tests.server import Answer

if TYPE_CHECKING:
    from tests.projects import Project, Run
    from tests.server import FeedServer

# More than one request at a time, so that all that may be fetched ahead is.
EIGHT = {"CONCURRENT_REQUESTS_PER_DOMAIN": 8}
OFF = {"FHCRAWL_PREFETCH": 0}
MONTHS = [f"/2004/{month:02}/" for month in range(5, 0, -1)] + [
    f"/2003/{month:02}/" for month in range(12, 6, -1)
]
COUNTER = [f"/a?n={number}" for number in range(9, 0, -1)]


def serve_chain(server: FeedServer, paths: list[str], index: str = "/index", **kwargs: Any) -> str:
    """A subscription document and the archives behind it, the newest first; an entry in each."""
    for path, behind in zip([index, *paths], [*paths, None], strict=True):
        server.serve(path, atom([E(path)], prev=behind and server.url(behind)), **kwargs)
    return server.url(index)


def prefetched(run: Run) -> tuple[int, int]:
    """How many were asked for, and how many were not."""
    return run.stats.get("fhcrawl/prefetch/hit", 0), run.stats.get("fhcrawl/prefetch/miss", 0)


@pytest.mark.quick_lane
def test_chain_with_a_pattern_is_fetched_ahead(server: FeedServer, project: Project) -> None:
    run = project.crawl(serve_chain(server, COUNTER), settings=EIGHT)
    assert sorted(server.asked()) == sorted(["/index", *COUNTER])
    assert run.changes == dict.fromkeys(["/index", *COUNTER], "new")
    assert run.stats == {
        "deltafetch/stored": 9,
        "fhcrawl/document/processed": 10,
        "fhcrawl/entry/new": 10,
        "fhcrawl/feed/complete": 1,
        "fhcrawl/prefetch/hit": 5,
    }
    assert project.verdict() == ("complete", [])
    assert run.warnings() == []


def test_documents_from_the_net_are_counted_once(server: FeedServer, project: Project) -> None:
    run = project.crawl(serve_chain(server, MONTHS), settings=EIGHT)
    sent = len(server.requests)
    assert sent == len(MONTHS) + 8 + 2
    assert run.all_stats["downloader/request_count"] == sent
    assert run.all_stats["downloader/response_count"] == sent


def test_end_of_a_chain_costs_as_many_requests_as_are_ahead(server: FeedServer, project: Project) -> None:
    feed = serve_chain(server, MONTHS)
    run = project.crawl(feed, settings={**EIGHT, "FHCRAWL_PREFETCH": 3})
    assert set(server.asked()) - {"/index", *MONTHS} == {"/2003/06/", "/2003/05/", "/2003/04/"}
    assert prefetched(run) == (7, 3)
    assert run.stats["fhcrawl/feed/complete"] == 1
    assert "fhcrawl/document/missing" not in run.stats


def test_nothing_is_fetched_ahead_if_it_is_switched_off(server: FeedServer, project: Project) -> None:
    run = project.crawl(serve_chain(server, MONTHS), settings={**EIGHT, **OFF})
    assert server.asked() == ["/index", *MONTHS]
    assert prefetched(run) == (0, 0)


def test_one_request_at_a_time_stays_one(server: FeedServer, project: Project) -> None:
    run = project.crawl(serve_chain(server, MONTHS, delay=0.05))
    assert server.busiest == 1
    assert run.stats["fhcrawl/prefetch/hit"] == 7
    # Mostly 2: one is on its way when the chain ends, and one waits behind it; more if reading is slow.
    assert run.stats["fhcrawl/prefetch/miss"] <= 4


def test_wrong_prediction_costs_four_requests_where_one_is_made_at_a_time(
    server: FeedServer, project: Project
) -> None:
    paths = [f"/{word}/{number}" for word in "ab" for number in range(60, 54, -1)]
    run = project.crawl(serve_chain(server, paths))
    needless = set(server.asked()) - {"/index", *paths}
    assert needless <= {f"/{word}/{number}" for word in "ab" for number in range(54, 50, -1)}
    # Learnt anew behind the gap.
    assert prefetched(run) == (4, len(needless))


def test_concurrency_of_the_host_is_kept(server: FeedServer, project: Project) -> None:
    settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 3, "FHCRAWL_PREFETCH": 8}
    run = project.crawl(serve_chain(server, MONTHS, delay=0.1), settings=settings)
    assert server.busiest == 3
    assert set(server.asked()) - {"/index", *MONTHS} <= {f"/2003/0{month}/" for month in range(6, 0, -1)}
    assert run.stats["fhcrawl/prefetch/hit"] == 7


def test_short_chains_and_few_new_archives_cause_no_prefetch(server: FeedServer, project: Project) -> None:
    feed = serve_chain(server, MONTHS[2:])
    project.crawl(feed, settings=EIGHT)
    server.asked()
    serve_chain(server, MONTHS)
    run = project.crawl(feed, settings=EIGHT)
    assert server.asked() == ["/index", *MONTHS[:2]]
    assert prefetched(run) == (0, 0)
    server.serve("/short", atom([E("s")], prev=MONTHS[-3]))
    run = project.crawl(server.url("/short"), settings=EIGHT)
    assert server.asked() == ["/short", *MONTHS[-3:]]


def test_month_that_was_left_out_costs_one_request(server: FeedServer, project: Project) -> None:
    paths = [path for path in MONTHS if path != "/2003/12/"]
    run = project.crawl(serve_chain(server, paths), settings=EIGHT)
    asked = server.asked()
    assert asked.count("/2003/12/") == 1
    assert run.stats["fhcrawl/feed/complete"] == 1
    # Learnt anew behind the gap; eight in all that nobody asked for.
    assert Counter(asked).most_common(1)[0][1] == 1
    assert prefetched(run)[1] == 8
    assert len(asked) == len(paths) + 1 + 8


def test_chain_that_leaves_its_pattern_costs_so_many_requests_at_most(
    server: FeedServer, project: Project
) -> None:
    paths = [f"/{word}/{number}" for word in "abcdef" for number in range(60, 54, -1)]
    run = project.crawl(serve_chain(server, paths), settings={**EIGHT, "FHCRAWL_PREFETCH": 4})
    asked = server.asked()
    assert run.stats["fhcrawl/document/processed"] == len(paths) + 1
    assert set(asked) - {"/index", *paths} == {"/a/54", "/a/53", "/a/52", "/a/51"}
    assert prefetched(run) == (2, 4)
    assert len(asked) == len(paths) + 1 + 4


def test_response_of_other_headers_is_not_used(server: FeedServer, project: Project) -> None:
    varying = {"DOWNLOADER_MIDDLEWARES": '{"tests.downloadermiddlewares.varying.VaryingMiddleware": 700}'}
    names = ("guard.GuardMiddleware", "prefetch.PrefetchMiddleware")
    ours = ", ".join(
        f'"fhcrawl.downloadermiddlewares.{name}": {order}'
        for name, order in zip(names, (55, 800), strict=True)
    )
    varying["DOWNLOADER_MIDDLEWARES"] = varying["DOWNLOADER_MIDDLEWARES"].replace("}", f", {ours}}}")
    run = project.crawl(serve_chain(server, MONTHS), settings={**EIGHT, **varying})
    assert prefetched(run) == (0, 8)
    assert run.stats["fhcrawl/document/processed"] == len(MONTHS) + 1
    assert len(server.asked()) == len(MONTHS) + 1 + 8


def test_headers_of_the_feed_are_sent_ahead_too(server: FeedServer, project: Project) -> None:
    feed = serve_chain(server, COUNTER)
    (project.folder / "feeds.toml").write_text(f'[[feed]]\nurl = "{feed}"\nheaders = {{X-Key = "secret"}}\n')
    run = project.crawl(args=("-a", "feeds=feeds.toml"), settings=EIGHT)
    keys = [
        h.get("X-Key")
        for path, h in zip(server.requests, server.headers, strict=True)
        if path != "/robots.txt"
    ]
    assert keys == ["secret"] * 10
    assert prefetched(run) == (5, 0)


def test_redirects_happen_to_the_one_who_asks(server: FeedServer, project: Project) -> None:
    moved = [path.replace("/a?", "/moved?") for path in COUNTER]
    for path, target, behind in zip(COUNTER, moved, [*COUNTER[1:], None], strict=True):
        server.serve(path, "", status=301, headers={"Location": target})
        same = {"self": server.url(path)}
        server.serve(target, atom([E(path)], prev=behind and server.url(behind), links=same))
    server.serve("/index", atom([E("/index")], prev=server.url(COUNTER[0])))
    run = project.crawl(server.url("/index"), settings=EIGHT)
    assert sorted(server.asked()) == sorted(["/index", *COUNTER, *moved])
    documents = {item["id"]: item["document"] for item in run.items}
    assert documents == {
        p: server.url(m) for p, m in zip(["/index", *COUNTER], ["/index", *moved], strict=True)
    }
    assert prefetched(run) == (5, 0)
    assert project.verdict() == ("complete", [])
    project.crawl(server.url("/index"), settings=EIGHT)
    assert server.asked() == ["/index"]


@pytest.mark.parametrize(
    "failure",
    [Answer(status=503), Answer(status=404), Answer(b"x" * 100, cut=10)],
    ids=["503", "404", "cut off"],
)
def test_failure_ahead_is_thrown_away(server: FeedServer, project: Project, failure: Answer) -> None:
    feed = serve_chain(server, COUNTER)
    good = server.answers["/a?n=4"]
    server.answers["/a?n=4"] = failure

    def heal(path: str) -> None:
        if path == "/a?n=4":
            server.answers["/a?n=4"] = good

    server.on_request = heal
    run = project.crawl(feed, settings=EIGHT)
    assert Counter(server.asked())["/a?n=4"] == 2
    assert "retry/count" not in run.all_stats
    assert prefetched(run) == (4, 1)
    assert run.stats["fhcrawl/feed/complete"] == 1
    assert run.warnings() == []


def test_entries_that_move_on_to_later_pages_are_not_missed(server: FeedServer, project: Project) -> None:
    ids = [str(number) for number in range(20, 0, -1)]

    def publish(*new: str) -> None:
        ids[:0] = new
        for number in range(1, (len(ids) + 1) // 2 + 1):
            entries = [E(name) for name in ids[2 * number - 2 : 2 * number]]
            following = {"next": server.url(f"/?page={number + 1}")} if 2 * number < len(ids) else {}
            server.serve(f"/?page={number}", atom(entries, links=following), delay=0.02)

    def on_request(path: str) -> None:
        if path == "/?page=5":
            server.answers[path] = replace(server.answers[path], status=200)
        if path == "/?page=6" and len(ids) == 20:
            publish("21")

    publish()
    server.answers["/?page=5"].status = 503
    server.on_request = on_request
    run = project.crawl(server.url("/?page=1"))
    assert {str(number) for number in range(1, 21)} - run.changes.keys() == set()
    assert prefetched(run) == (0, 0)


def test_archives_that_robots_txt_forbids_are_not_fetched_ahead(server: FeedServer, project: Project) -> None:
    server.serve("/robots.txt", "User-agent: *\nDisallow: /2003/", content_type="text/plain")
    run = project.crawl(serve_chain(server, MONTHS), settings=EIGHT)
    assert sorted(server.asked()) == sorted(["/index", *MONTHS[:5]])
    assert prefetched(run) == (1, 0)
    assert project.verdict() == ("incomplete", ["robots-txt"])


def test_archives_beyond_a_limit_are_not_fetched_ahead(server: FeedServer, project: Project) -> None:
    feed = serve_chain(server, COUNTER)
    run = project.crawl(feed, settings={**EIGHT, "FHCRAWL_MAX_ARCHIVES": 6})
    assert sorted(server.asked()) == sorted(["/index", *COUNTER[:6]])
    assert prefetched(run) == (2, 0)
    assert project.verdict() == ("incomplete", ["limit"])


@pytest.mark.parametrize(
    ("settings", "answers_after", "hits"),
    [
        # The document that is asked for always waits for its turn: there is nothing to gain.
        ({"DOWNLOAD_DELAY": 0.6}, 0, 0),
        ({"DOWNLOAD_DELAY": 0.6}, 1.5, 3),
        (
            {
                "AUTOTHROTTLE_ENABLED": True,
                "AUTOTHROTTLE_START_DELAY": 0.6,
                "AUTOTHROTTLE_TARGET_CONCURRENCY": 2,
            },
            1.5,
            3,
        ),
    ],
    ids=["longer than a round trip", "shorter than a round trip", "AutoThrottle"],
)
def test_delay_between_requests_is_kept(
    server: FeedServer, project: Project, settings: dict[str, object], answers_after: float, hits: int
) -> None:
    feed = serve_chain(server, COUNTER[2:], delay=answers_after)
    run = project.crawl(feed, settings={**EIGHT, "DOWNLOAD_DELAY_JITTER": 0, **settings})
    gaps = [later - one for one, later in pairwise(server.arrivals)]
    # A request may arrive late, and the next one in time.
    assert min(gaps) > 0.3
    assert prefetched(run) == (hits, 0)


def test_spider_that_is_closed_leaves_nothing_behind(server: FeedServer, project: Project) -> None:
    feed = serve_chain(server, [f"/a?n={number}" for number in range(60, 0, -1)], delay=0.05)
    run = project.crawl(feed, settings={**EIGHT, "CLOSESPIDER_ITEMCOUNT": 12})
    assert run.exit_code == 0
    assert run.all_stats["finish_reason"] == "closespider_itemcount"
    [warning, _what_to_do] = run.warnings()
    assert "has not been fetched yet" in warning
    assert "Task was destroyed" not in run.log
    assert "Traceback" not in run.log
    hits, misses = prefetched(run)
    asked = server.asked()
    assert len(asked) == len(set(asked)) == 1 + 4 + hits + misses
    assert misses <= 8
    run = project.crawl(feed, settings=EIGHT)
    assert run.stats["fhcrawl/feed/complete"] == 1
    assert len(project.logical_feed()) == 61


def test_crawl_that_is_killed_loses_nothing(server: FeedServer, project: Project) -> None:
    paths = [f"/a?n={number}" for number in range(40, 0, -1)]
    feed = serve_chain(server, paths, delay=0.02)
    process = project.start(
        "crawl", "history", "-a", f"feed={feed}", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=8"
    )
    deadline = time.monotonic() + 60
    while "/a?n=20" not in server.requests and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert "/a?n=20" in server.requests
    run = project.crawl(feed, settings=EIGHT)
    assert run.stats["fhcrawl/feed/complete"] == 1
    assert set(run.changes) == {"/index", *paths}
