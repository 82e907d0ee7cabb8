"""Responses of web archives become captured documents, whatever they are of the archive's own."""

from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import WalkContext
from fhcrawl.crawling.failures import NotACapture, RefusedUrl, failure_of_error
from fhcrawl.crawling.subscriptions import FeedOptions
from fhcrawl.downloadermiddlewares.guard import GuardMiddleware
from fhcrawl.downloadermiddlewares.responses import MementosMiddleware
from fhcrawl.logical_feed.chain import position_of_capture
from fhcrawl.logical_feed.results import State
from fhcrawl.store import Memento
from fhcrawl.utils.addresses import AllowedHosts
from fhcrawl.utils.clock import now
from fhcrawl.warc.indexes import capture_url

FEED, ARCHIVE = "https://example.org/feed", "https://archive.example/web"
THEN = "2009-01-02T03:04:05Z"
HEADERS = {"Memento-Datetime": "Fri, 02 Jan 2009 03:04:05 GMT"}


def capture(archive: str = ARCHIVE, feed: str = FEED, depth: int = 0) -> Request:
    options = FeedOptions(web_archive=archive, headers={"X-Key": "secret"})
    found = Memento(7, feed, "2012-01-01T00:00:00Z", "", None)
    url = capture_url(archive, found.time, feed)
    return requests.capture(found, depth, url, WalkContext(feed, 1, options), 1)


def timemap(archive: str = ARCHIVE) -> Request:
    return requests.timemap(
        FEED, f"{archive}/cdx?url=x", WalkContext(FEED, 1, FeedOptions(web_archive=archive)), 1
    )


def served(request: Request, status: int = 200, body: bytes = b"<feed/>", **headers: Any) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    given = Response(request.url, status, headers={**HEADERS, **named}, body=body)
    return MementosMiddleware().process_response(request, given)


def test_capture_has_the_url_and_the_time_of_what_was_captured() -> None:
    request = capture(depth=2)
    assert request.url == f"{ARCHIVE}/20120101000000id_/{FEED}"
    assert request.headers == {}
    assert served(request).url == FEED
    fetch = requests.fetch_from_request(request)
    assert (fetch.fetched, fetch.capture_id, fetch.position) == (THEN, 7, position_of_capture(THEN, 2))


def test_capture_from_the_future_is_from_now() -> None:
    request = capture()
    served(request, Memento_Datetime="Fri, 02 Jan 2109 03:04:05 GMT")
    assert requests.fetch_from_request(request).fetched <= now()


def test_links_of_the_archive_are_left_out() -> None:
    own = f'<{FEED}>; rel="original", </web/2013/x>; rel="next memento", </t>; rel="TimeMap"; type="x"'
    of_document = '<https://example.org/2>; rel="prev-archive"'
    response = served(capture(), Link=[of_document, own])
    assert response.headers.getlist("Link") == [of_document.encode()]


@pytest.mark.parametrize("status", [301, 302, 304, 404, 429, 503])
def test_captured_errors_are_none_of_the_archive(status: int) -> None:
    sentence = f"is not a document, but a captured response with status {status}"
    with pytest.raises(NotACapture, match=sentence) as raised:
        served(capture(), status, Retry_After="1000000", Location="https://example.org/new")
    assert failure_of_error(raised.value).state is State.INVALID


@pytest.mark.parametrize("headers", [{}, {"Memento-Datetime": ""}, {"Memento-Datetime": "yesterday"}])
def test_document_without_a_time_is_no_capture(headers: dict[str, str]) -> None:
    request = capture()
    with pytest.raises(NotACapture, match="does not say when it was made"):
        MementosMiddleware().process_response(request, Response(request.url, headers=headers))


def test_other_responses_pass() -> None:
    for request in (Request(FEED), timemap()):
        response = Response(request.url, headers=HEADERS)
        assert MementosMiddleware().process_response(request, response) is response
    for request in (capture(), timemap()):
        response = Response(request.url, 429)
        assert MementosMiddleware().process_response(request, response) is response


def refusal(request: Request, url: str, allowed: AllowedHosts = AllowedHosts()) -> str:  # noqa: B008 - frozen
    try:
        GuardMiddleware(allowed).process_request(request.replace(url=url))
    except RefusedUrl as error:
        return str(error.kind)
    return ""


def test_requests_stay_at_the_archive() -> None:
    for request in (capture(), timemap()):
        assert refusal(request, f"{ARCHIVE}/2011id_/https://example.org/other") == ""
        for url in (
            FEED,
            *("http://archive.example/web/2011id_/x", "https://archive.example:8443/web"),
            *("https://archive.example.org/web", "https://user@archive.example/web", "file:///etc/passwd"),
            "file:///captures.warc.gz#0",
        ):
            assert refusal(request, url) == "refused-url", url
    # Without one of the user's, there is none.
    nobodys = requests.timemap(FEED, ARCHIVE, WalkContext(FEED, 1), 1)
    assert refusal(nobodys, ARCHIVE) == "refused-url"


def test_archive_on_this_network_is_the_users_or_listed() -> None:
    for host in ("127.0.0.1:8080", "[::1]", "localhost", "192.168.0.1"):
        assert refusal(capture(f"http://{host}/coll"), f"http://{host}/coll/x") == ""
    # That of a name is known at the connection.
    request = capture("http://intranet.example/coll")
    GuardMiddleware(AllowedHosts()).process_request(request)
    assert "fhcrawl_any_address" not in request.meta
    GuardMiddleware(AllowedHosts.of(["intranet.example"])).process_request(request)
    assert request.meta["fhcrawl_any_address"]
