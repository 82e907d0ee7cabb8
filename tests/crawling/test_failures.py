"""Challenges for browsers are told from feeds, from ordinary pages, and from refusals."""

import pytest
from scrapy.http import Response

from fhcrawl.crawling.failures import is_challenge
from fhcrawl.documents.dates import elapsed
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer

PAGE = "<!doctype html><html><head><title>{}</title>{}</head><body></body></html>"
ANUBIS = PAGE.format("Making sure you&#39;re not a bot!", "")


CHALLENGES = [
    *(ANUBIS, PAGE.format("Making sure you are not a bot!", ""), PAGE.format("DDoS-Guard", "")),
    *(PAGE.format("Making sure you\u2019re not a bot!", ""), PAGE.format("Just a moment...", "")),
    PAGE.format("Un momento\u2026", "<script>window._cf_chl_opt={};</script>"),
    PAGE.format("x", '<script src="/.within.website/x/cmd/anubis/main.mjs"></script>'),
]
ORDINARY = [
    *("", PAGE.format("Blog", ""), PAGE.format("Blog", "<p>Cloudflare says: Just a moment...</p>")),
    # Cloudflare puts this on ordinary pages.
    PAGE.format("Not Found", "<script src='/cdn-cgi/challenge-platform/jsd/main.js'>"),
]


@pytest.mark.parametrize(
    ("body", "headers", "is_one"),
    [
        *((body, {}, True) for body in CHALLENGES),
        *((body, {}, False) for body in ORDINARY),
        *(("", {"cf-mitigated": "challenge"}, True), ("", {"cf-mitigated": "block"}, False)),
        ("", {"x-amzn-waf-action": "Captcha"}, True),
    ],
)
def test_challenge(body: str, headers: dict[str, str], is_one: bool) -> None:
    assert is_challenge(Response("http://example.org/", 403, headers, body.encode())) is is_one


@pytest.mark.in_process
@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (403, {"cf-mitigated": "challenge"}, ""),
        (503, {}, PAGE.format("Just a moment...", "")),
        (200, {}, ANUBIS),
    ],
)
def test_feed_behind_a_challenge_keeps_its_entries_and_is_due_in_a_day(
    server: FeedServer, project: Project, status: int, headers: dict[str, str], body: str
) -> None:
    server.serve("/feed", atom([E("1")]))
    project.crawl(server.url("/feed"))
    before = project.feeds()[0]
    server.serve("/feed", body, status=status, headers=headers, content_type="text/html")
    for _ in range(2):
        server.requested()
        project.crawl(server.url("/feed"))
        assert server.requested() == ["/feed"]
        [feed] = project.feeds()
        [reason] = [one for one in feed["reasons"] if one["kind"] != "no-history"]
        assert reason["kind"] == "challenge"
        assert "is behind a browser challenge" in reason["detail"]
        assert feed["spans"] == before["spans"]
    assert set(project.logical_feed()) == {"1"}
    [(polled, due)] = project.database.rows("SELECT polled, due FROM feeds")
    assert elapsed(polled, due) == 24 * 60 * 60
    server.serve("/feed", atom([E("2"), E("1")]))
    project.crawl(server.url("/feed"))
    assert project.verdict() == ("unknown", ["no-history"])
    [(polled, due)] = project.database.rows("SELECT polled, due FROM feeds")
    assert elapsed(polled, due) < 24 * 60 * 60


@pytest.mark.in_process
def test_archive_behind_a_challenge_is_a_gap(server: FeedServer, project: Project) -> None:
    server.serve("/feed", atom([E("2")], prev="/1"))
    server.serve("/1", ANUBIS, content_type="text/html")
    project.crawl(server.url("/feed"))
    assert project.verdict() == ("incomplete", ["challenge"])
    # The feed itself can be read.
    [(polled, due)] = project.database.rows("SELECT polled, due FROM feeds")
    assert elapsed(polled, due) < 60 * 60
