"""Feeds at names that lead to this machine one day, and somewhere else on another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import (
    ANY_ADDRESS,
    FIRST_USE,
    WAS_PUBLIC,
    WalkContext,
    context_of,
    special_hosts_from_store,
    special_hosts_to_store,
)
from fhcrawl.crawling.subscriptions import FeedOptions
from fhcrawl.downloadermiddlewares.guard import GuardMiddleware
from fhcrawl.logical_feed import ChainPosition, Role
from fhcrawl.store import DocumentRef, Subscription
from fhcrawl.store.rows import StoredSnapshot
from fhcrawl.utils.addresses import AllowedHosts
from tests.contexts import walk_request
from tests.feeds import E, atom
from tests.resolver import PUBLIC_LOOPBACK, names
from tests.server import FeedServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.projects import Project, Run

SETTINGS = {
    "TWISTED_DNS_RESOLVER": "tests.resolver.PublicLoopbackResolver",
    "RETRY_TIMES": 0,
    "ROBOTSTXT_OBEY": 0,
}
SPECIAL = "127.0.0.1"
FEED, SNAPSHOT = "http://feed.test/index", "http://snapshot.test/index"


@pytest.fixture
def server() -> Iterator[FeedServer]:
    with FeedServer(("0.0.0.0", 0)) as running:
        running.serve("/index", atom([E("2")], prev="/a1"))
        running.serve("/a1", atom([E("1")]))
        yield running


def crawl(project: Project, server: FeedServer, *answers: str, **settings: Any) -> Run:
    """Crawl a feed whose name leads to one address after the other."""
    feed = server.url("/index").replace("0.0.0.0", "feed.test")
    table = names({"feed.test": [[address] for address in answers]})
    return project.crawl(feed, settings={**SETTINGS, **settings}, **table)


def noted(project: Project) -> int | None:
    [(special,)] = project.database.rows("SELECT special FROM feeds")
    return special  # type: ignore[no-any-return]


def test_feed_that_was_public_is_not_fetched_from_a_special_address(
    server: FeedServer, project: Project
) -> None:
    assert set(crawl(project, server, PUBLIC_LOOPBACK).changes) == {"1", "2"}
    assert noted(project) == 0
    server.serve("/index", atom([E("secret")]))
    server.asked()
    run = crawl(project, server, SPECIAL)
    assert (run.items, server.asked(), noted(project)) == ([], [], 0)
    assert project.verdict() == ("incomplete", ["private-address"])
    assert (
        "may not be fetched: it is at a loopback address (127.0.0.1), and its name led to a public address "
        "before; if that is right, list feed.test in FHCRAWL_ALLOWED_PRIVATE_HOSTS"
    ) in run.log
    run = crawl(project, server, SPECIAL, FHCRAWL_ALLOWED_PRIVATE_HOSTS="feed.test")
    assert run.changes == {"secret": "new"}


def test_name_that_changes_its_mind_while_the_feed_is_first_read_is_not_followed(
    server: FeedServer, project: Project
) -> None:
    # For the feed: looked up and connected to. Then for the archive.
    run = crawl(project, server, PUBLIC_LOOPBACK, PUBLIC_LOOPBACK, SPECIAL)
    assert (run.changes, server.asked()) == ({"2": "new"}, ["/index"])
    assert project.verdict() == ("incomplete", ["private-address"])


def test_feed_that_was_special_may_stay_so_and_become_public(server: FeedServer, project: Project) -> None:
    run = crawl(project, server, SPECIAL)
    assert (set(run.changes), noted(project)) == ({"1", "2"}, 1)
    server.serve("/index", atom([E("2"), E("3")], prev="/a1"))
    run = crawl(project, server, PUBLIC_LOOPBACK, PUBLIC_LOOPBACK, SPECIAL)
    assert (run.changes, noted(project)) == ({"3": "new"}, 1)
    # A store of before this was noted; the feed is unchanged.
    project.database.execute("UPDATE feeds SET special = NULL")
    run = crawl(project, server, PUBLIC_LOOPBACK)
    assert run.stats["fhcrawl/document/unchanged"] == 1
    assert noted(project) == 0


@pytest.mark.parametrize("special", [0, 1, 2, 3])
def test_what_the_store_knows_comes_back_from_the_requests(special: int) -> None:
    read = StoredSnapshot(SNAPSHOT, True, None, None)
    carried = special_hosts_from_store(
        Subscription(FEED, FEED, 1, 1, snapshot=read, special=special), SNAPSHOT
    )
    assert carried == {"feed.test": special in (1, 3), "snapshot.test": special in (2, 3)}
    walk = WalkContext(FEED, 1, FeedOptions(snapshot=SNAPSHOT), special_hosts=carried)
    assert special_hosts_to_store(walk) == special


@pytest.mark.parametrize("options", [FeedOptions(), FeedOptions(snapshot=SNAPSHOT)])
def test_snapshot_of_an_earlier_run_is_still_given(options: FeedOptions) -> None:
    part = DocumentRef("part", f"{SNAPSHOT}/1", Role.PART, ChainPosition(1, -1))
    read = StoredSnapshot(SNAPSHOT, True, None, part)
    known = Subscription(FEED, FEED, 1, 1, snapshot=read, special=2)
    for request in requests.first(known, options):
        walk = context_of(request).walk
        assert walk.special_hosts == {"feed.test": False, "snapshot.test": True}
        assert special_hosts_to_store(walk) == 2


@pytest.mark.parametrize("read", [None, StoredSnapshot("http://old.test/", True, None, None)])
def test_snapshot_that_was_not_read_is_not_known(read: StoredSnapshot | None) -> None:
    known = Subscription(FEED, FEED, 1, 1, snapshot=read, special=1)
    assert special_hosts_from_store(known, SNAPSHOT) == {"feed.test": True}
    assert special_hosts_from_store(Subscription(FEED, FEED, 1, 1, snapshot=read), None) == {}


@pytest.mark.parametrize(
    ("special", "feed", "snapshot"),
    [
        ({}, FIRST_USE, FIRST_USE),
        ({"feed.test": False}, WAS_PUBLIC, FIRST_USE),
        ({"feed.test": True, "snapshot.test": False}, ANY_ADDRESS, WAS_PUBLIC),
    ],
)
def test_each_host_that_the_user_gave_is_what_it_was(
    special: dict[str, bool], feed: str, snapshot: str
) -> None:
    guard = GuardMiddleware(AllowedHosts())
    options = FeedOptions(snapshot=SNAPSHOT)
    for url, key in ((FEED, feed), (SNAPSHOT, snapshot)):
        meta = dict.fromkeys((ANY_ADDRESS, FIRST_USE, WAS_PUBLIC), True)
        request = walk_request(url, FEED, options=options, special_hosts=special, meta=meta)
        robots = Request(url.replace("index", "robots.txt"))
        guard.process_request(request)
        guard.process_request(robots)
        assert (request.meta, robots.meta) == ({key: True}, {key: True})


@pytest.mark.parametrize(
    ("role", "via", "meta"),
    [
        (Role.ARCHIVE, None, {}),
        (Role.SUBSCRIPTION, "http://other.test/", {}),
        (Role.SUBSCRIPTION, None, {"redirect_urls": ["http://other.test/"]}),
    ],
    ids=["archive", "link", "redirect"],
)
def test_only_the_users_own_request_decides_what_a_host_is(
    role: Role, via: str | None, meta: dict[str, list[str]]
) -> None:
    """A feed that has moved to another host must not lead back to a name that has changed its mind."""
    request = walk_request(FEED, FEED, role, via, meta=meta)
    GuardMiddleware(AllowedHosts()).process_request(request)
    assert request.meta == meta
