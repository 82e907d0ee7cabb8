"""Redirects and validators; requests that belong to no walk, of a user's own spiders and pipelines."""

import json
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.settings import Settings
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.test import get_crawler

from fhcrawl.crawling.context import context_of, is_of_user
from fhcrawl.downloadermiddlewares.limits import LimitsMiddleware
from fhcrawl.downloadermiddlewares.responses import RedirectMiddleware
from fhcrawl.exceptions import ContextError
from fhcrawl.spidermiddlewares.commit import HttpErrorMiddleware
from fhcrawl.spiders.history import HistorySpider
from tests.contexts import walk_request
from tests.downloadermiddlewares.test_guard import TABLES, port_of
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer

# As of a publisher whose years are versions of one site.
VERSION = '"1"'


def lead(server: FeedServer, target: str, status: int = 302) -> None:
    """Let the feed lead to a document."""
    server.serve("/feed", "", status=status, headers={"Location": target})


def conditions(server: FeedServer) -> list[tuple[str, str | None]]:
    """The paths that were requested since the last call, and the If-None-Match of each request."""
    paths, headers = server.requests, server.headers
    requested = [(path, sent.get("If-None-Match")) for path, sent in zip(paths, headers, strict=True)]
    server.requested()
    return [(path, etag) for path, etag in requested if path != "/robots.txt"]


@pytest.mark.in_process
@pytest.mark.slow("many crawls")
class TestRedirectForTheMoment:
    def test_that_leads_elsewhere_hides_no_entry(self, server: FeedServer, project: Project) -> None:
        lead(server, "/2023")
        server.serve("/2023", atom([E("1")], head="<fh:complete/>"), etag=VERSION)
        project.crawl(server.url("/feed"))
        lead(server, "/2024")
        server.serve("/2024", atom([E("1"), E("2")], head="<fh:complete/>"), etag=VERSION)
        assert project.crawl(server.url("/feed")).changes == {"2": "new"}
        assert project.verdict() == ("complete", [])
        server.serve("/2025", "", status=304)
        lead(server, "/2025")
        run = project.crawl(server.url("/feed"))
        assert "fhcrawl/document/unchanged" not in run.stats
        assert project.verdict() == ("complete", ["http-304"])

    def test_costs_conditional_requests_alone(self, server: FeedServer, project: Project) -> None:
        lead(server, "/2023")
        server.serve("/2023", atom([E("1")]), etag=VERSION)
        project.crawl(server.url("/feed"))
        conditions(server)
        run = project.crawl(server.url("/feed"))
        assert conditions(server) == [("/feed", None), ("/2023", VERSION)]
        assert run.stats["fhcrawl/document/unchanged"] == 1
        # A store of before this was noted: once without, then as ever.
        project.database.execute("UPDATE feeds SET validated_url = NULL, body_digest = 'abc'")
        assert [project.crawl(server.url("/feed")).changes, conditions(server)] == [
            {},
            [("/feed", None), ("/2023", None)],
        ]
        project.crawl(server.url("/feed"))
        assert conditions(server) == [("/feed", None), ("/2023", VERSION)]

    def test_from_where_the_feed_was_read_takes_no_validators_along(
        self, server: FeedServer, project: Project
    ) -> None:
        server.serve("/feed", atom([E("1")]), etag=VERSION)
        project.crawl(server.url("/feed#fragment"))
        lead(server, "/elsewhere")
        server.serve("/elsewhere", atom([E("2")]), etag=VERSION)
        conditions(server)
        assert project.crawl(server.url("/feed#fragment")).changes == {"2": "new"}
        assert conditions(server) == [("/feed", VERSION), ("/elsewhere", None)]


LATIN, CYRILLIC = "text/xml; charset=iso-8859-1", "text/xml; charset=windows-1251"
# A charset of the header wins over the document's own.
GARBLED = atom([E("urn:é", "né")]).encode("latin-1")


@pytest.mark.in_process
@pytest.mark.slow("many crawls")
class TestCorrectedCharset:
    @pytest.mark.parametrize("etag", [False, VERSION])
    def test_is_read(self, server: FeedServer, project: Project, etag: bool | str) -> None:
        server.serve("/feed", GARBLED, content_type=CYRILLIC, etag=etag)
        project.crawl(server.url("/feed"))
        assert set(project.logical_feed()) == {"urn:й"}
        server.serve("/feed", GARBLED, content_type=LATIN, etag=etag)
        run = project.crawl(server.url("/feed"))
        assert run.texts == {"urn:é": "né"}
        server.serve("/feed", GARBLED, content_type="text/xml;CHARSET=Latin1", etag=etag)
        assert project.crawl(server.url("/feed")).stats["fhcrawl/document/unchanged"] == 1

    def test_that_flips_costs_a_read(self, server: FeedServer, project: Project) -> None:
        def flip(path: str) -> None:
            if path == "/feed":
                answer = server.answers[path]
                answer.content_type = LATIN if answer.content_type == CYRILLIC else CYRILLIC

        server.serve("/feed", GARBLED, content_type=CYRILLIC)
        project.crawl(server.url("/feed"))
        server.on_request = flip
        server.requested()
        run = project.crawl(server.url("/feed"))
        assert (run.exit_code, server.requested()) == (0, ["/feed", "/feed"])

    def test_of_pages_that_are_all_the_same_ends_the_walk_as_ever(
        self, server: FeedServer, project: Project
    ) -> None:
        page = atom([E("1")], links={"next": "?p"})
        server.serve("/feed", page, content_type=LATIN)
        server.serve("/feed?p", page, content_type=CYRILLIC)
        project.crawl(server.url("/feed"))
        assert "repeats" in project.verdict()[1]


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


def test_request_for_robots_txt_is_not_of_the_user() -> None:
    assert is_of_user(Request(URL))
    assert is_of_user(Request(URL, callback=NO_CALLBACK))  # a pipeline's
    assert not is_of_user(Request("http://a.test/robots.txt", **ROBOTS))
    assert not is_of_user(walk_request(URL, FEED))


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


def test_request_of_a_user_without_a_callback_is_an_error_with_advice() -> None:
    with pytest.raises(ContextError, match="give your own requests their own callback"):
        context_of(Request(URL))


class TestCredentials:
    def test_password_settings_and_export_uris_are_not_logged(
        self, server: FeedServer, project: Project
    ) -> None:
        settings = {
            "HTTPAUTH_USER": "ann",
            "HTTPAUTH_PASS": "s3cret-1",
            "HTTPAUTH_DOMAIN": server.root.removeprefix("http://"),
            "FTP_PASSWORD": "s3cret-2",
            "AWS_SECRET_ACCESS_KEY": "s3cret-3",
            "LOG_LEVEL": "DEBUG",
        }
        server.serve("/index", atom([E("1")]))
        with FeedServer() as no_ftp:
            output = f"ftp://ann:s3cret-4@127.0.0.1:{port_of(no_ftp)}/out.jsonl"
        run = project.crawl(server.url("/index"), settings=settings, output=None, args=("-o", output))
        assert "'HTTPAUTH_PASS': '***'" in run.log
        assert f"Cannot write to ftp://127.0.0.1:{port_of(no_ftp)}/out.jsonl (" in run.log
        assert "s3cret" not in run.log
        assert "Basic YW5uOnMzY3JldC0x" in [headers.get("Authorization") for headers in server.headers]
        assert "s3cret" not in json.dumps(run.all_stats)

    def test_credentials_of_links_and_redirects_are_dropped(
        self, server: FeedServer, project: Project
    ) -> None:
        host = server.root.removeprefix("http://")
        server.serve("/index", "", status=302, headers={"Location": f"http://ann:s3cret-1@{host}/feed"})
        server.serve("/feed", atom([E("2")], prev=f"http://ann:s3cret-2@{host}/a1"))
        server.serve("/a1", atom([E("1")]))
        run = project.crawl(server.url("/index"), settings={"LOG_LEVEL": "DEBUG"})
        assert project.verdict() == ("complete", [])
        assert {item["document"] for item in run.items} == {server.url("/feed"), server.url("/a1")}
        assert not any("Authorization" in headers for headers in server.headers)
        # The head section of a feed is kept as it came; its links to other documents are not exported.
        tables = [name for name in TABLES if name != "heads"]
        assert "s3cret" not in str([project.database.rows(f"SELECT * FROM {table}") for table in tables])
        project.scrapy("export", "-o", "whole.atom")
        assert "s3cret" not in (project.folder / "whole.atom").read_text()
        assert "s3cret" not in run.log

    def test_headers_do_not_follow_a_redirect_to_another_host(
        self, server: FeedServer, project: Project
    ) -> None:
        listed = project.folder / "feeds.toml"
        options = 'headers = {X-Key = "k", Authorization = "Bearer b"}'
        listed.write_text(f'[[feed]]\nurl = "{server.url("/index")}"\n{options}\n')
        with FeedServer() as other:
            server.serve("/index", "", status=302, headers={"Location": "/moved"})
            server.serve("/moved", "", status=302, headers={"Location": other.url("/feed")})
            other.serve("/feed", atom([E("1")]))
            allowed = {"FHCRAWL_ALLOWED_PRIVATE_HOSTS": "127.0.0.1"}
            run = project.crawl(args=("-a", "feeds=feeds.toml"), settings=allowed)
            assert set(run.changes) == {"1"}
            sent = [(h.get("X-Key"), h.get("Authorization")) for h in server.headers]
            assert sent[-2:] == [("k", "Bearer b")] * 2
            assert not any({"X-Key", "Authorization"} & headers.keys() for headers in other.headers)
