"""What a request of a walk carries is the same in another process."""

import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.utils.request import request_from_dict

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import (
    ANY_ADDRESS,
    FIRST_USE,
    WAS_PUBLIC,
    CaptureRequest,
    Confirm,
    Doubt,
    LastDocument,
    LastReading,
    Purpose,
    Recheck,
    Referral,
    RequestContext,
    WalkContext,
    cb_kwargs_of,
    context_of,
    feed_of,
    find_context,
    special_hosts_from_store,
    special_hosts_to_store,
    with_context,
)
from fhcrawl.crawling.subscriptions import FeedOptions
from fhcrawl.downloadermiddlewares.guard import GuardMiddleware
from fhcrawl.exceptions import ContextError
from fhcrawl.logical_feed import ChainPosition, Role
from fhcrawl.logical_feed.listings import ListCheck, SitemapCheck
from fhcrawl.logical_feed.results import DocumentFailure, Fetch, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.spiders.stages.moves import Move
from fhcrawl.store import CheckedDocument, DocumentRef, Memento, StoredSnapshot, WalkStart
from fhcrawl.utils.addresses import AllowedHosts
from tests.contexts import walk_request
from tests.feeds import E, atom
from tests.projects import Project, Run
from tests.resolver import PUBLIC_LOOPBACK, names
from tests.server import FeedServer

URL = "https://example.org/feed"
CONTEXT_OF_URL = RequestContext(WalkContext(URL, 1), URL, Role.SUBSCRIPTION, ChainPosition(1, 0))

WITHOUT_CONTEXT = Request("https://example.org/robots.txt", cb_kwargs={"context": "a user's"})


PLACE = ChainPosition(1, 0)
FETCH = Fetch(URL, URL, URL, URL, Role.PAGE, PLACE, "2003-12-13T18:30:02Z")
WALK = WalkContext(
    URL,
    1,
    FeedOptions(headers={"a": "b"}),
    special_hosts={"example.org": True},
    move=(URL, f"{URL}/new"),
    last=LastDocument(FETCH, 1, f"{URL}/api", is_unchanged=False, is_listed=True, is_complete=False),
)
CHECK = ListCheck.begin(f"{URL}/api", URL, 10, None, is_unchanged=False)
CHECKED = CheckedDocument(DocumentRef(URL, URL, Role.PAGE, PLACE, 1, "wordpress"), URL, "e", None, None)
REQUESTS = {
    Purpose.WALK: requests.last_page(WALK, FETCH, Response(URL), URL),
    Recheck: requests.check(CHECKED, WALK, Recheck([1, 2]), 2),
    Confirm: requests.check(CHECKED, WALK, Confirm([1, 2], agrees=None, left=3), 2),
    Doubt: requests.conditional(WALK, Response(URL, request=walk_request(URL, URL))),
    Purpose.PART: requests.unlinked(DocumentRef("p", URL, Role.PART, PLACE), WALK),
    ListCheck: requests.list_check(WALK, PLACE, URL, 1, CHECK),
    SitemapCheck: requests.sitemap(WALK, PLACE, URL, SitemapCheck(URL, (), (URL,)), {}),
    Move: requests.of_task(WALK, f"{URL}/new", Move(), URL),
    Purpose.TIMEMAP: requests.timemap(URL, URL, WALK, 1),
    CaptureRequest: requests.capture(Memento(1, URL, "2003-12-13T18:30:02Z", "", None), 0, URL, WALK),
}


@pytest.mark.parametrize("purpose", REQUESTS)
def test_request_is_the_same_in_another_process(purpose: object) -> None:
    sent = REQUESTS[purpose]
    read = request_from_dict(pickle.loads(pickle.dumps(sent.to_dict())))  # noqa: S301 - what it has just made
    assert context_of(read) == context_of(sent)
    assert (context_of(read).purpose, read.meta, read.url) == (purpose, sent.meta, sent.url)


def test_context_is_the_same_in_another_process() -> None:
    referral = Referral(1, URL, DocumentFailure(State.FAILED, ReasonKind.TIMEOUT, "times out"))
    last = LastReading(older_document=DocumentRef("key", URL, Role.ARCHIVE, ChainPosition(1, -1)))
    context = replace(CONTEXT_OF_URL, walk=WALK, referral=referral, last_reading=last)
    sent = Request(URL, cb_kwargs=cb_kwargs_of(context))
    read = request_from_dict(pickle.loads(pickle.dumps(sent.to_dict())))  # noqa: S301 - what it has just made
    assert context_of(read) == context


def test_request_of_no_walk_has_no_context() -> None:
    assert (find_context(WITHOUT_CONTEXT), feed_of(WITHOUT_CONTEXT)) == (None, None)
    with pytest.raises(ContextError, match="robots"):
        context_of(WITHOUT_CONTEXT)


def test_copies_of_a_request_do_not_change_together() -> None:
    request = Request(URL, cb_kwargs={"own": 1, **cb_kwargs_of(CONTEXT_OF_URL)})
    other = with_context(request, replace(CONTEXT_OF_URL, documents=7), url=f"{URL}/3")
    assert context_of(request) == CONTEXT_OF_URL
    assert (context_of(other).documents, other.cb_kwargs["own"], other.url) == (7, 1, f"{URL}/3")


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
    feed = server.url("/index").replace("0.0.0.0", "feed.test")
    table = names({"feed.test": [[address] for address in answers]})
    return project.crawl(feed, settings={**SETTINGS, **settings}, **table)


def noted(project: Project) -> int | None:
    [(special,)] = project.database.rows("SELECT special FROM feeds")
    return special  # type: ignore[no-any-return]


def test_public_feed_is_not_fetched_from_a_special_address(server: FeedServer, project: Project) -> None:
    assert set(crawl(project, server, PUBLIC_LOOPBACK).changes) == {"1", "2"}
    assert noted(project) == 0
    server.serve("/index", atom([E("secret")]))
    server.requested()
    run = crawl(project, server, SPECIAL)
    assert (run.items, server.requested(), noted(project)) == ([], [], 0)
    assert project.verdict() == ("complete", ["private-address"])
    assert (
        "is not fetched: it is at a loopback address (127.0.0.1), although its name had a public address "
        "before; if that is right, add feed.test to FHCRAWL_ALLOWED_PRIVATE_HOSTS"
    ) in run.log
    run = crawl(project, server, SPECIAL, FHCRAWL_ALLOWED_PRIVATE_HOSTS="feed.test")
    assert run.changes == {"secret": "new"}


def test_name_that_changes_during_the_first_read_is_not_followed(
    server: FeedServer, project: Project
) -> None:
    # For the feed: looked up and connected to. Then for the archive.
    run = crawl(project, server, PUBLIC_LOOPBACK, PUBLIC_LOOPBACK, SPECIAL)
    assert (run.changes, server.requested()) == ({"2": "new"}, ["/index"])
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
    carried = special_hosts_from_store(WalkStart(FEED, FEED, 1, 1, snapshot=read, special=special), SNAPSHOT)
    assert carried == {"feed.test": special in (1, 3), "snapshot.test": special in (2, 3)}
    walk = WalkContext(FEED, 1, FeedOptions(snapshot=SNAPSHOT), special_hosts=carried)
    assert special_hosts_to_store(walk) == special


@pytest.mark.parametrize("options", [FeedOptions(), FeedOptions(snapshot=SNAPSHOT)])
def test_snapshot_of_an_earlier_run_is_still_given(options: FeedOptions) -> None:
    part = DocumentRef("part", f"{SNAPSHOT}/1", Role.PART, ChainPosition(1, -1))
    read = StoredSnapshot(SNAPSHOT, True, None, part)
    known = WalkStart(FEED, FEED, 1, 1, snapshot=read, special=2)
    for request in requests.first(known, options):
        walk = context_of(request).walk
        assert walk.special_hosts == {"feed.test": False, "snapshot.test": True}
        assert special_hosts_to_store(walk) == 2

    # One that was not read is not known.
    for other in (None, replace(read, url="http://old.test/")):
        known = replace(known, snapshot=other, special=1)
        assert special_hosts_from_store(known, SNAPSHOT) == {"feed.test": True}
        assert special_hosts_from_store(replace(known, special=None), None) == {}


@pytest.mark.parametrize(
    ("special", "feed", "snapshot"),
    [
        ({}, FIRST_USE, FIRST_USE),
        ({"feed.test": False}, WAS_PUBLIC, FIRST_USE),
        ({"feed.test": True, "snapshot.test": False}, ANY_ADDRESS, WAS_PUBLIC),
    ],
)
def test_each_host_keeps_its_kind_of_address(special: dict[str, bool], feed: str, snapshot: str) -> None:
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
def test_only_the_users_request_decides(role: Role, via: str | None, meta: dict[str, list[str]]) -> None:
    """A feed that has moved to another host must not lead back to a name that has changed its mind."""
    request = walk_request(FEED, FEED, role, via, meta=meta)
    GuardMiddleware(AllowedHosts()).process_request(request)
    assert request.meta == meta
