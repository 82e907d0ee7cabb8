"""Requests that belong to no walk, of a user's own spiders and pipelines, are left as they are."""

from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.settings import Settings
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.test import get_crawler

from fhcrawl.crawling.context import context_of, is_own
from fhcrawl.downloadermiddlewares.limits import LimitsMiddleware
from fhcrawl.downloadermiddlewares.responses import RedirectMiddleware
from fhcrawl.exceptions import ContextError
from fhcrawl.spidermiddlewares.httperror import HttpErrorMiddleware
from fhcrawl.spiders.history import HistorySpider
from tests.contexts import walk_request

URL, FEED, THERE = "http://a.test/page", "http://a.test/index", "http://user:pw@b.test/"
ROBOTS: dict[str, Any] = {"callback": NO_CALLBACK, "meta": {"dont_obey_robotstxt": True}}


@pytest.fixture
def crawler() -> Crawler:
    settings = Settings()
    settings.setmodule("fhcrawl.settings")
    settings.setdict(
        {"ADDONS": {}, "EXTENSIONS": {}, "EXTENSIONS_BASE": {}, "TWISTED_REACTOR_ENABLED": False}
    )
    return get_crawler(HistorySpider, settings.copy_to_dict())


def test_robots_txt_is_nobodys_own() -> None:
    assert is_own(Request(URL))
    assert is_own(Request(URL, callback=NO_CALLBACK))  # a pipeline's
    assert not is_own(Request("http://a.test/robots.txt", **ROBOTS))
    assert not is_own(walk_request(URL, FEED))


def test_own_requests_have_no_limits(crawler: Crawler) -> None:
    limits = LimitsMiddleware.from_crawler(crawler)
    own, robots = Request(URL), Request("http://a.test/robots.txt", **ROBOTS)
    limits.process_request(own)
    limits.process_request(robots)
    assert own.meta == {}
    assert "download_timeout" in robots.meta


def test_redirects_of_own_requests_are_scrapys(crawler: Crawler) -> None:
    redirects = RedirectMiddleware.from_crawler(crawler)
    response = Response(URL, status=302, headers={"Location": THERE})
    own = redirects.process_response(Request(URL, meta={"download_slot": "mine"}), response)
    assert isinstance(own, Request)
    assert (own.url, own.meta["download_slot"]) == (THERE, "mine")
    walks = redirects.process_response(walk_request(URL, FEED, meta={"download_slot": "mine"}), response)
    assert isinstance(walks, Request)
    assert (walks.url, "download_slot" in walks.meta) == ("http://b.test/", False)


def test_part_of_a_document_is_an_answer_to_an_own_request(crawler: Crawler) -> None:
    errors = HttpErrorMiddleware.from_crawler(crawler)
    errors.process_spider_input(Response(URL, status=206, request=Request(URL)))
    with pytest.raises(HttpError):
        errors.process_spider_input(Response(URL, status=206, request=walk_request(URL, FEED)))


def test_own_request_without_a_callback_is_explained() -> None:
    with pytest.raises(ContextError, match="give your own requests their own callback"):
        context_of(Request(URL))
