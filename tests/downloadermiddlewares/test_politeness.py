"""Delays that servers ask for: robots.txt, Retry-After and rate limits."""

import re
import time
from email.utils import formatdate
from io import BufferedIOBase
from itertools import pairwise
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from scrapy import Request
from scrapy.core.downloader import Slot
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import WalkContext
from fhcrawl.crawling.failures import PAUSE, LimitReached, requested_wait, retry_after
from fhcrawl.crawling.pauses import pauses
from fhcrawl.crawling.subscriptions import FeedOptions
from fhcrawl.downloadermiddlewares import politeness
from fhcrawl.downloadermiddlewares.politeness import LARGEST, MOST_RULES, PolitenessMiddleware, beginning
from fhcrawl.logical_feed.polling import LONGEST
from fhcrawl.store import Memento
from fhcrawl.warc.indexes import capture_url
from tests.feeds import E, atom
from tests.in_process import MemoryServer
from tests.projects import Project
from tests.server import Answer, FeedServer

pytestmark = pytest.mark.any_store("when hosts are sent requests")


def serve_feeds(server: FeedServer, names: str, delay: float = 0) -> list[str]:
    for name in names:
        server.serve(f"/{name}", atom([E(f"{name}2")], prev=f"/{name}1"), delay=delay)
        server.serve(f"/{name}1", atom([E(f"{name}1")]), delay=delay)
    return [server.url(f"/{name}") for name in names]


def test_host_never_gets_more_than_one_request_at_a_time(server: FeedServer, project: Project) -> None:
    feeds = serve_feeds(server, "abcdefgh", delay=0.05)
    # From another host they lead to this one.
    with FeedServer() as other:
        for name in "ijk":
            server.serve(f"/{name}", atom([E(name)]), delay=0.05)
            target = server.url(f"/{name}").replace("127.0.0.1", "localhost")
            other.answers[f"/{name}"] = Answer(status=302, headers={"Location": target})
        moved = [other.url(f"/{name}") for name in "ijk"]
        local = [feed.replace("127.0.0.1", "localhost") for feed in feeds]
        run = project.crawl(*local, *moved, settings={"FHCRAWL_ALLOWED_PRIVATE_HOSTS": "localhost"})
    assert run.stats["fhcrawl/document/processed"] == 19
    assert server.busiest == 1


def test_crawl_delay_is_kept(server: FeedServer, project: Project) -> None:
    server.serve("/robots.txt", "User-agent: *\nCrawl-delay: 1", content_type="text/plain")
    settings = {"AUTOTHROTTLE_ENABLED": 1, "AUTOTHROTTLE_START_DELAY": 0}
    project.crawl(*serve_feeds(server, "ab"), settings=settings)
    gaps = [after - before for before, after in pairwise(server.arrivals)]
    assert len(gaps) == 4
    assert min(gaps) >= 0.7


@pytest.mark.parametrize(
    ("path", "answer", "requested", "sentence"),
    [
        (
            *("/robots.txt", Answer(b"User-agent: *\nCrawl-delay: 301", content_type="text/plain"), []),
            "its robots.txt requires 301 seconds between requests",
        ),
        (
            *("/a1", Answer(status=429, headers={"Retry-After": "7200"}), ["/a", "/a1"]),
            "its server requires a pause of 7200 seconds (429)",
        ),
    ],
)
def test_host_is_left_where_the_wait_is_too_long(
    server: FeedServer, project: Project, path: str, answer: Answer, requested: list[str], sentence: str
) -> None:
    feeds = serve_feeds(server, "a")
    server.answers[path] = answer
    run = project.crawl(*feeds)
    assert server.requested() == requested
    assert set(run.changes) == ({"a2"} if requested else set())
    [reason] = project.feeds()[0]["reasons"]
    assert reason["kind"] == "limit"
    cause = f"{sentence}, which is more than FHCRAWL_MAX_WAIT allows"
    assert reason["detail"] == f"was left for a later run: {cause}"


@pytest.mark.parametrize(("status", "as_date"), [(429, False), (503, True)])
def test_retry_after_is_kept_and_other_hosts_go_on(
    server: FeedServer, project: Project, status: int, as_date: bool
) -> None:
    feeds = serve_feeds(server, "abcdefghijklmnopqrstuvwx")
    complete = server.answers["/a"]
    value = formatdate(time.time() + 3600, usegmt=True) if as_date else "4"

    def once(path: str) -> None:
        if path == "/a":
            server.answers["/a"] = complete

    with FeedServer() as other:
        for number in range(10):
            other.serve(f"/{number}", atom([E(str(number))], prev=f"/{number + 1}"))
        other.serve("/10", atom([E("10")]))
        server.answers["/a"] = Answer(status=status, headers={"Retry-After": value})
        if as_date:
            date = formatdate(time.time() + 3596, usegmt=True)
            server.answers["/a"] = Answer(raw=lambda file: _answer(file, status, value, date))
        server.on_request = once
        elsewhere = other.url("/0").replace("127.0.0.1", "localhost")
        run = project.crawl(*feeds, elsewhere)
    assert run.stats["fhcrawl/feed/complete"] == 25
    arrivals = list(zip(server.requests, server.arrivals, strict=True))
    refused, again = (time for path, time in arrivals if path == "/a")
    assert again - refused >= 3.9
    # Nothing else was requested from that host meanwhile; and the other host's chain was read.
    assert [path for path, time in arrivals if refused < time < refused + 3.9] == []
    assert max(other.arrivals) < refused + 3.9


def _answer(file: BufferedIOBase, status: int, value: str, date: str) -> None:
    lines = (f"HTTP/1.1 {status} Busy", f"Date: {date}", f"Retry-After: {value}", "Content-Length: 0", "", "")
    file.write("\r\n".join(lines).encode())


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *(("120", 120), (" 7 ", 7), ("Wed, 21 Oct 2015 07:29:00 GMT", 60)),
        *(("Wednesday, 21-Oct-15 07:29:00 GMT", 60), ("Wed, 21 Oct 2015 07:27:00 GMT", -60)),
        ("9" * 500, LONGEST),
        ("Wed, 21 Oct 9999 07:28:00 GMT", LONGEST),
        *(("soon", 0), ("-5", 0), ("", 0), ("Wed, 99 Oct 2015 07:27:00 GMT", 0)),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float) -> None:
    headers = {"Date": "Wed, 21 Oct 2015 07:28:00 GMT", "Retry-After": value}
    assert retry_after(Response("http://example.org/", headers=headers)) == seconds


def test_user_agent_without_a_contact_is_logged(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("1")]))
    file = project.folder / "feed.atom"
    file.write_text(atom([E("2")]))
    here, there = server.url("/index"), "http://feeds.invalid/"
    done = project.scrapy("crawl", "history", "-a", f"feed={here} {there}", http_proxy=server.root)
    [line] = [line for line in done.stderr.splitlines() if "USER_AGENT has no contact" in line]
    assert re.search(r"-s USER_AGENT='fhcrawl/\S+ \(\+https://\S+\)' or in your settings module$", line)
    run = project.crawl(here, there, http_proxy=server.root)
    assert "USER_AGENT has no contact" not in run.log
    # On the own machine it needs none.
    done = project.scrapy("crawl", "history", "-a", f"feed={here} {file.as_uri()}")
    assert "2 feeds: 2 unknown" in done.stderr
    assert "USER_AGENT has no contact" not in done.stderr


DATE = "Wed, 21 Oct 2015 07:28:00 GMT"
EPOCH = 1445412480


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        *((429, {}, PAUSE), (429, {"Retry-After": "5"}, 5), (429, {"Retry-After": "0"}, PAUSE)),
        *((403, {}, 0), (403, {"Retry-After": "5"}, 5), (503, {}, 0), (503, {"Retry-After": "5"}, 5)),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}, 30),
        (403, {"x-ratelimit-remaining": "0.0", "x-ratelimit-reset": "30.5"}, 30.5),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(EPOCH + 40)}, 40),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str((EPOCH + 40) * 1000)}, 40),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(EPOCH - 40)}, PAUSE),
        *((403, {"x-ratelimit-remaining": "0"}, PAUSE), (403, {"x-ratelimit-remaining": "soon"}, 0)),
        (403, {"x-ratelimit-remaining": "7", "x-ratelimit-reset": "30"}, 0),
        (429, {"x-ratelimit-remaining": "7", "x-ratelimit-reset": "30"}, PAUSE),
        *((429, {"x-ratelimit-reset": "30"}, 30), (403, {"x-ratelimit-reset": "30"}, 0)),
        (403, {"X-Rate-Limit-Remaining": "0", "X-Rate-Limit-Reset": "30"}, 30),
        (403, {"RateLimit-Remaining": "0", "RateLimit-Reset": "30"}, 30),
        (403, {"RateLimit": "limit=100, remaining=0, reset=30"}, 30),
        (403, {"RateLimit": '"burst";r=0;t=30, "daily";r=100;t=5000'}, 30),
        (403, {"RateLimit": '"burst";r=5;t=30'}, 0),
        (403, {"RateLimit": ["limit=100", "remaining=0", "reset=30"]}, 30),
        (200, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}, 0),
        (429, {"x-ratelimit-reset": "9" * 15}, LONGEST),
        (429, {"x-ratelimit-reset": "9" * 500}, PAUSE),
    ],
)
def test_response_headers_that_request_a_pause(status: int, headers: dict[str, Any], seconds: float) -> None:
    assert requested_wait(Response("http://example.org/", status, {"Date": DATE, **headers})) == seconds


class Downloader:
    """The part of Scrapy's that has the slots."""

    def __init__(self, settings: Settings) -> None:
        self.slots: dict[str, Slot] = {}
        self.per_slot_settings = settings.getdict("DOWNLOAD_SLOTS")

    def get_slot_key(self, request: Request) -> str:
        return request.meta.get("download_slot") or urlsplit(request.url).hostname or ""


def of_feed(url: str) -> Request:
    return requests.timemap(url, url, WalkContext(url, 1), 1).replace(meta={})


def middleware_with(settings: dict[str, Any]) -> tuple[PolitenessMiddleware, Downloader]:
    given = Settings({"FHCRAWL_MAX_WAIT": 300, **settings})
    downloader = Downloader(given)
    engine = SimpleNamespace(downloader=downloader)
    crawler: Any = SimpleNamespace(settings=given, engine=engine, signals=SignalManager())
    return PolitenessMiddleware(crawler), downloader


@pytest.mark.parametrize(
    ("archive", "settings", "delay", "of_index"),
    [
        ("https://archive.example/web", {}, 1.0, 2.5),
        ("https://archive.example/web", {"DOWNLOAD_DELAY": 5}, 5.0, 5.0),
        ("https://archive.example/web", {"DOWNLOAD_SLOTS": {"archive.example": {"delay": 0.5}}}, 0.5, 0.5),
        ("http://127.0.0.1:8080/coll", {}, 0.0, 0.0),
    ],
)
def test_web_archive_gets_a_request_a_second_and_its_index_24_a_minute(
    archive: str, settings: dict[str, Any], delay: float, of_index: float
) -> None:
    middleware, downloader = middleware_with(settings)
    host = urlsplit(archive).hostname or ""
    index = f"{host}/index"
    for name in (host, index):
        downloader.slots[name] = Slot(8, 0, 0.5)
    walk = WalkContext("https://example.org/feed", 1, FeedOptions(web_archive=archive))
    found = Memento(1, walk.feed, "2009-01-01T00:00:00Z", "", None)
    for _ in range(2):
        middleware.process_request(requests.timemap(walk.feed, f"{archive}/cdx", walk, 1))
        url = capture_url(archive, found.time, found.url)
        middleware.process_request(requests.capture(found, 0, url, walk, 1))
    for name, seconds in ((host, delay), (index, of_index)):
        slot, given = downloader.slots[name], downloader.per_slot_settings[name]
        assert (slot.concurrency, slot.delay) == (1, seconds)
        # A slot that has been idle is made anew.
        assert (given["concurrency"], given["delay"]) == (1, seconds)
    # No 25 within a minute by chance.
    delays = {downloader.slots[index].download_delay() for _ in range(9)}
    assert of_index != 2.5 or delays == {2.5}
    # Other hosts are as they were.
    middleware.process_request(Request("https://example.org/feed"))
    assert set(downloader.per_slot_settings) == {host, index}


def test_pause_is_of_all_hosts_of_a_domain() -> None:
    middleware, downloader = middleware_with({})
    domain = [f"{name}.tumblr.example" for name in "abc"]
    for host in (*domain[:2], "other.example", "a.tumblr.example/index"):
        downloader.slots[host] = Slot(8, 0, 0)
    request = of_feed(f"http://{domain[0]}/rss")
    begun = time.monotonic()
    response = middleware.process_response(request, Response(request.url, 429, {"Retry-After": "60"}))
    assert response.status == 429
    for host in (*domain[:2], "a.tumblr.example/index"):
        slot = downloader.slots[host]
        assert (slot.lastseen >= begun + 60, slot.concurrency, slot.delay > 0) == (True, 1, True)
    assert downloader.slots["other.example"].lastseen == 0
    # For longer than FHCRAWL_MAX_WAIT: none of them in this run.
    middleware.process_response(Request(request.url), Response(request.url, 429, {"Retry-After": "900"}))
    for host in domain:
        with pytest.raises(LimitReached) as raised:
            middleware.process_request(of_feed(f"http://{host}/rss"))
        assert raised.value.wait > 890
    middleware.process_request(of_feed("http://other.example/rss"))


def test_403_that_means_429_is_one_and_a_challenge_is_none() -> None:
    middleware, downloader = middleware_with({})
    request = of_feed("http://example.org/")
    spent = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}
    assert middleware.process_response(request, Response(request.url, 403, spent)).status == 429
    assert middleware.process_response(request, Response(request.url, 403)).status == 403
    assert "dont_retry" not in request.meta
    for status in (403, 429, 503):
        requested = {"cf-mitigated": "challenge", "Retry-After": "30"}
        assert middleware.process_response(request, Response(request.url, status, requested)).status == status
        assert request.meta.pop("dont_retry")
    assert list(pauses(downloader)) == ["example.org"]  # type: ignore[arg-type]


@pytest.mark.in_process
def test_hosts_of_a_domain_get_one_request_at_a_time(server: FeedServer, project: Project) -> None:
    """After 20, the server requests a pause that is too long for this run."""
    assert isinstance(server, MemoryServer)
    hosts = [f"u{number}.tumblr.example:8080" for number in range(30)]
    server.answers["/rss"] = Answer(atom([E("1")]).encode(), delay=0.001)

    def limit(path: str) -> None:
        if len(server.requests) == 20:
            server.answers["/rss"] = Answer(status=429, headers={"Retry-After": "3600"})

    server.on_request = limit
    MemoryServer.servers.update(dict.fromkeys(hosts, server))
    settings = {"ROBOTSTXT_OBEY": False, "FHCRAWL_ALLOWED_PRIVATE_HOSTS": "127.0.0.0/8"}
    project.crawl(*(f"http://{host}/rss" for host in hosts), settings=settings)
    assert len(server.requested()) == 21
    assert server.busiest == 1
    kinds = [feed["reasons"][-1]["kind"] for feed in project.feeds()]
    assert (kinds.count("no-history"), kinds.count("limit")) == (20, 10)


@pytest.mark.in_process
def test_unreachable_robots_txt_forbids_everything_until_it_has_been_so_for_30_days(
    server: FeedServer, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, hours, robots = time.time(), 3600, server.url("/robots.txt")
    passed = 0.0
    monkeypatch.setattr(politeness, "time", lambda: begun + passed)

    def crawl(after: float, status: int, requested: list[str], reason: str | None = None) -> None:
        nonlocal passed
        passed = after * hours
        server.answers["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /a1", status)
        project.crawl(*feeds, settings={"RETRY_ENABLED": False, "DELTAFETCH_RESET": True})
        assert server.requested() == requested
        kinds = {one["kind"]: one["detail"] for feed in project.feeds() for one in feed["reasons"]}
        detail = f"was left for a later run: {robots} cannot be fetched: HTTP status {status}"
        assert reason is None or kinds[reason] == detail

    feeds = serve_feeds(server, "a")
    project.scrapy("subscribe", *feeds)  # or the store would forget them
    crawl(0, 503, [], "http-503")
    crawl(24 * 29, 500, [], "http-500")
    crawl(24 * 30 + 1, 502, ["/a", "/a1"])
    # For a day, the rules that were read last apply.
    crawl(24 * 31, 200, ["/a"])
    crawl(24 * 31 + 23, 503, ["/a"])
    crawl(24 * 32 + 1, 503, [], "http-503")
    crawl(24 * 60, 599, [], "http-599")
    crawl(24 * 62, 503, ["/a", "/a1"])
    crawl(24 * 62, 404, ["/a", "/a1"])
    crawl(24 * 62 + 23, 503, ["/a", "/a1"])


@pytest.mark.in_process
def test_reason_is_the_hosts_if_the_host_does_not_answer(project: Project) -> None:
    project.scrapy("subscribe", "http://127.0.0.1:9/a")
    project.crawl("http://127.0.0.1:9/a", settings={"RETRY_ENABLED": False})
    reasons = {one["kind"]: one["detail"] for one in project.feeds()[0]["reasons"]}
    assert reasons["connection-refused"] == "cannot be fetched: connection refused"


@pytest.mark.in_process
def test_timeout_of_robots_txt_is_the_reason_and_is_not_repeated_for_each_feed(
    server: FeedServer, project: Project
) -> None:
    feeds = serve_feeds(server, "ab")
    project.scrapy("subscribe", *feeds)
    server.answers["/robots.txt"] = Answer(delay=30)
    project.crawl(*feeds, settings={"DOWNLOAD_TIMEOUT": 0.2, "RETRY_TIMES": 1})
    assert server.requests == ["/robots.txt"] * 2
    assert len(project.feeds()) == len(feeds)
    for feed in project.feeds():
        reasons = {one["kind"]: one["detail"] for one in feed["reasons"]}
        assert reasons["timeout"].startswith(
            f"was left for a later run: {server.url('/robots.txt')} times out"
        )


@pytest.mark.in_process
@pytest.mark.parametrize(("status", "requests"), [(520, 2), (521, 2), (525, 2), (530, 2), (524, 2), (501, 1)])
def test_what_cloudflare_answers_for_its_customers_servers_is_retried(
    server: FeedServer, project: Project, status: int, requests: int
) -> None:
    [feed] = serve_feeds(server, "a")
    server.answers["/a"] = Answer(status=status)
    project.crawl(feed, settings={"RETRY_TIMES": 1})
    assert server.requested() == ["/a"] * requests


RULES = b"User-agent: *\nDisallow: /first\n"


def padded(to: int) -> bytes:
    """Rules, and comments up to an octet."""
    line = b"# " + b"x" * 1000 + b"\n"
    body = RULES + line * ((to - len(RULES)) // len(line))
    return body + b"#" * (to - len(body) - 1) + b"\n"


def test_rules_beyond_the_limit_do_not_count_and_half_a_rule_does_not_either(
    server: FeedServer, project: Project
) -> None:
    server.serve("/index", atom([E("2")], prev="/behind"))
    server.serve("/behind", atom([E("1")], prev="/first"))
    server.serve("/first", atom([E("0")]))
    rules = padded(LARGEST - len("Disallow: /")) + b"Disallow: /nothing\nDisallow: /behind\n"
    server.serve("/robots.txt", rules, content_type="text/plain")
    run = project.crawl(server.url("/index"))
    assert set(run.changes) == {"2", "1"}
    assert project.verdict() == ("incomplete", ["robots-txt"])


@pytest.mark.parametrize(
    ("body", "counted"),
    [
        # Rules within the limit count without a line end.
        *((padded(size - 11) + b"Disallow: /",) * 2 for size in (LARGEST - 1, LARGEST)),
        *(
            (RULES.replace(b"\n", end) + b"#" * LARGEST, RULES.replace(b"\n", end))
            for end in (b"\r", b"\r\n")
        ),
        (RULES + b"#" * LARGEST, RULES),
        (b"Disallow: /" + b"x" * LARGEST, b""),
    ],
    ids=range(6),
)
def test_rules_end_as_lines_do(body: bytes, counted: bytes) -> None:
    assert beginning(body) == counted


def test_rules_count_once_for_each_user_agent_of_their_group() -> None:
    agents = [b"User-agent: %d\n" % number for number in range(1000)]
    rules = [b"Disallow: /%d\n" % number for number in range(3000)]
    assert beginning(b"".join(agents + rules)).count(b"Disallow") == MOST_RULES // len(agents)
    groups = b"".join(agent + rule for agent, rule in zip(agents, rules, strict=False))
    assert beginning(groups) == groups
