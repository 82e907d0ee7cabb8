"""Credentials stay where they belong; requests that never leave."""

import json
import pickle

import pytest
from scrapy import Request
from scrapy.utils.request import request_from_dict

from fhcrawl.crawling.context import ANY_ADDRESS
from fhcrawl.crawling.failures import RefusedUrl
from fhcrawl.crawling.subscriptions import FeedOptions
from fhcrawl.downloadermiddlewares.guard import GuardMiddleware
from fhcrawl.utils.addresses import AllowedHosts
from tests.contexts import walk_request
from tests.downloadermiddlewares.test_guard import TABLES, port_of
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer


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


class TestRequests:
    guard = GuardMiddleware(AllowedHosts())

    @pytest.mark.parametrize(
        "url", ["http://ann@127.0.0.1/", "ftp://127.0.0.1/", "data:,x", "file:///etc/passwd", "s3://b/k"]
    )
    @pytest.mark.parametrize("feed", [None, "http://127.0.0.1/"])
    def test_what_is_never_fetched(self, url: str, feed: str | None) -> None:
        with pytest.raises(RefusedUrl) as refused:
            self.guard.process_request(Request(url) if feed is None else walk_request(url, feed))
        assert refused.value.kind == "refused-url"

    def test_request_from_another_machine_is_checked_here(self) -> None:
        request = walk_request("http://10.0.0.1:81/a1", "http://10.0.0.1/", meta={ANY_ADDRESS: True})
        carried = request_from_dict(pickle.loads(pickle.dumps(request.to_dict())))  # noqa: S301 - just made
        with pytest.raises(RefusedUrl):
            self.guard.process_request(carried)

    def test_snapshot_that_the_user_gave_may_be_anywhere(self) -> None:
        feed, options = "https://10.0.0.1/", FeedOptions(snapshot="http://10.0.0.2/index")
        self.guard.process_request(walk_request("http://10.0.0.2/page", feed, options=options))
        with pytest.raises(RefusedUrl):
            self.guard.process_request(walk_request("http://10.0.0.3/page", feed, options=options))

    def test_what_was_allowed_before_a_redirect_is_not_allowed_behind_it(self) -> None:
        request = walk_request("http://10.0.0.1/a1", "http://10.0.0.1/")
        self.guard.process_request(request)
        assert request.meta[ANY_ADDRESS]
        request = request.replace(url="http://name.test/")
        self.guard.process_request(request)
        assert ANY_ADDRESS not in request.meta

    def test_robots_txt_of_a_feeds_own_host_may_be_asked_for(self) -> None:
        guard = GuardMiddleware(AllowedHosts())
        robots = Request("http://10.0.0.1/robots.txt")
        with pytest.raises(RefusedUrl):
            guard.process_request(robots)
        guard.process_request(walk_request("http://10.0.0.1/a1", "http://10.0.0.1/"))
        guard.process_request(robots)
        guard.process_request(robots.replace(meta={"redirect_urls": ["http://10.0.0.1/robots.txt"]}))
        with pytest.raises(RefusedUrl):
            guard.process_request(robots.replace(meta={"redirect_urls": ["http://name.test/robots.txt"]}))
