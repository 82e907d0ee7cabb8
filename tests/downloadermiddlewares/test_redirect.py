"""Crawls of feeds whose documents move or are served in another way, with the validators of before."""

import pytest

from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer

pytestmark = [pytest.mark.in_process, pytest.mark.full_lane("many crawls")]

# As of a publisher whose years are versions of one site.
VERSION = '"1"'


def lead(server: FeedServer, target: str, status: int = 302) -> None:
    """Let the feed lead to a document."""
    server.serve("/feed", "", status=status, headers={"Location": target})


def conditions(server: FeedServer) -> list[tuple[str, str | None]]:
    """The paths that were asked for since the last call, and the ETag that each was asked with."""
    paths, headers = server.requests, server.headers
    asked = [(path, sent.get("If-None-Match")) for path, sent in zip(paths, headers, strict=True)]
    server.asked()
    return [(path, etag) for path, etag in asked if path != "/robots.txt"]


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
        assert project.verdict() == ("incomplete", ["http-304"])

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
        server.asked()
        run = project.crawl(server.url("/feed"))
        assert (run.exit_code, server.asked()) == (0, ["/feed", "/feed"])

    def test_of_pages_that_are_all_the_same_ends_the_walk_as_ever(
        self, server: FeedServer, project: Project
    ) -> None:
        page = atom([E("1")], links={"next": "?p"})
        server.serve("/feed", page, content_type=LATIN)
        server.serve("/feed?p", page, content_type=CYRILLIC)
        project.crawl(server.url("/feed"))
        assert "repeats" in project.verdict()[1]
