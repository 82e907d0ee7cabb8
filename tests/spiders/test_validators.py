"""Which validators are sent: those of the last response, and none to see whether a server's 304s are true."""

from contextlib import closing
from typing import Any

import pytest

from fhcrawl.store import Feed, Store
from tests.faketime import clock_at
from tests.feeds import E, atom
from tests.projects import Project, Run
from tests.server import FeedServer

pytestmark = pytest.mark.in_process

# Of the server's clock, which is right.
PAST, FUTURE = "Sat, 13 Dec 2003 18:30:02 GMT", "Sat, 16 Nov 2041 19:11:00 GMT"
NAMES = ("If-None-Match", "If-Modified-Since")
FALSE = "from now on, this feed is requested without conditions"


def sent(server: FeedServer) -> list[tuple[str, ...]]:
    paths, headers = server.requests, server.headers
    found = [(path, *(one[n] for n in NAMES if n in one)) for path, one in zip(paths, headers, strict=True)]
    server.requested()
    return [one for one in found if one[0] != "/robots.txt"]


class Reader:
    """Crawls `/feed`, whose server has the ETag "1" for all its contents, on days of a month."""

    def __init__(self, server: FeedServer, project: Project) -> None:
        self._server, self._project = server, project

    def crawl(self, day: int, *entries: str, etag: str = '"1"', **links: str) -> Run:
        self._server.serve("/feed", atom([E(one) for one in entries], links=links), etag=etag)
        return self.again(day)

    def again(self, day: int) -> Run:
        with clock_at(f"2010-01-{day:02}T00:00:00"):
            return self._project.crawl(self._server.url("/feed"), settings={"FHCRAWL_RECHECK": "1,9"})

    @property
    def feed(self) -> Feed:
        with closing(Store.open_to_read(self._project.database.url)) as store:
            [feed] = store.feeds.read()
        return feed


@pytest.fixture
def reader(server: FeedServer, project: Project) -> Reader:
    return Reader(server, project)


@pytest.mark.parametrize(
    ("first", "second", "conditions"),
    [
        ({"etag": '"1"'}, {"etag": '"2"'}, ('"2"',)),
        ({"etag": 'W/"1"'}, {"etag": 'W/"2"', "headers": {"Last-Modified": PAST}}, ('W/"2"', PAST)),
        ({"etag": '"1"'}, {"etag": False}, ()),
        ({"etag": False}, {"etag": '"1"'}, ('"1"',)),
        # RFC 9111, 4.3.4.
        ({"etag": '"1"'}, {"status": 304, "etag": False, "headers": {"ETag": '"2"'}}, ('"2"',)),
        (
            {"etag": '"1"'},
            {"status": 304, "etag": False, "headers": {"Last-Modified": PAST}},
            ('"1"', PAST),
        ),
        # What is later than the response is not sent back; other dates are, as they came.
        *(
            (*[{"etag": False, "headers": {"Last-Modified": date}}] * 2, conditions)
            for date, *conditions in (
                (FUTURE,),
                (PAST, PAST),
                *[("Saturday, 13-Dec-03 18:30:02 GMT",) * 2, ("yesterday",) * 2],
            )
        ),
    ],
)
def test_unchanged_document_has_the_validators_of_its_last_response(
    server: FeedServer,
    project: Project,
    first: dict[str, Any],
    second: dict[str, Any],
    conditions: tuple[str, ...],
) -> None:
    body = atom([E("1")])
    server.serve("/feed", body, **first)
    project.crawl(server.url("/feed"))
    server.serve("/feed", b"" if "status" in second else body, **second)
    assert project.crawl(server.url("/feed")).stats["fhcrawl/document/unchanged"] == 1
    sent(server)
    project.crawl(server.url("/feed"))
    assert sent(server) == [("/feed", *conditions)]


@pytest.mark.parametrize(
    ("name", "back"), [("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")]
)
@pytest.mark.real_crawl
def test_validators_are_sent_as_they_came(server: FeedServer, project: Project, name: str, back: str) -> None:
    server.serve("/index", atom([E("1")]), etag=False, headers={name: 'W/"\xe4\xff ,;"'})
    for _run in range(2):
        project.crawl(server.url("/index"))
    assert server.headers[-1][back] == 'W/"\xe4\xff ,;"'


def test_checked_archive_has_the_validators_of_its_last_response(server: FeedServer, reader: Reader) -> None:
    archive = atom([E("1")])
    server.serve("/old", archive, etag='"1"')
    reader.crawl(1, "2", **{"prev-archive": "/old"})
    for day, status, etag in ((3, 304, '"2"'), (5, 200, '"3"'), (7, 200, '"3"')):
        before = sent(server)[-1]
        server.serve("/old", archive, status=status, etag=False, headers={"ETag": etag})
        reader.again(day)
    assert before == ("/old", '"2"')
    assert sent(server)[-1] == ("/old", '"3"')


class TestOfADocumentWithoutEntries:
    def test_are_not_sent(self, server: FeedServer, reader: Reader) -> None:
        """It came with the ETag of what was to come."""
        reader.crawl(1, "2", "1", etag='"1"')
        reader.crawl(2, etag='"2"')
        reader.crawl(3, etag='"2"')
        sent(server)
        assert reader.crawl(4, "3", "2", "1", etag='"2"').changes == {"3": "new"}
        reader.again(5)
        assert sent(server) == [("/feed",), ("/feed", '"2"')]
        feed = reader.feed
        assert (feed.entries, feed.holes, feed.absent) == (3, [], 0)

    def test_are_not_sent_for_an_archive(self, server: FeedServer, reader: Reader) -> None:
        server.serve("/old", atom([]), etag='"1"')
        reader.crawl(1, "2", **{"prev-archive": "/old"})
        server.serve("/old", atom([E("1")]), etag='"1"')
        sent(server)
        assert reader.again(3).changes == {"1": "new"}
        assert sent(server) == [("/feed", '"1"'), ("/old",)]


class TestFalse304:
    def test_is_found_in_eight_days_and_not_believed_again(self, server: FeedServer, reader: Reader) -> None:
        reader.crawl(1, "1")
        assert reader.crawl(9, "2", "1").changes == {}
        assert reader.feed.spans[-1].until == "2010-01-09T00:00:00Z"
        sent(server)
        run = reader.again(10)
        assert (run.changes, run.log.count(FALSE)) == ({"2": "new"}, 1)
        assert sent(server) == [("/feed",), ("/feed", '"1"')]
        feed = reader.feed
        assert feed.not_modified_ignored == "2010-01-10T00:00:00Z"
        assert [(hole.after, hole.before) for hole in feed.holes] == [
            ("2010-01-01T00:00:00Z", "2010-01-10T00:00:00Z")
        ]
        assert reader.crawl(11, "3", "2", "1").changes == {"3": "new"}
        reader.again(30)
        assert sent(server) == [("/feed",), ("/feed",)]

    def test_is_none_of_a_feed_that_has_changed_since(self, server: FeedServer, reader: Reader) -> None:
        reader.crawl(1, "1")
        reader.crawl(9, "1")
        sent(server)
        assert reader.crawl(10, "2", "1", etag='"2"').changes == {"2": "new"}
        assert sent(server) == [("/feed",), ("/feed", '"1"')]
        assert (reader.feed.not_modified_ignored, reader.feed.holes) == (None, [])
        reader.again(11)
        assert sent(server) == [("/feed", '"2"')]

    def test_is_looked_for_once_in_eight_days(self, server: FeedServer, reader: Reader) -> None:
        for day in range(1, 12):
            reader.crawl(day, "1")
        assert [len(one) for one in sent(server)] == [1, *[2] * 8, 1, 2]
        assert reader.feed.not_modified_ignored is None

    def test_of_an_archive_is_found_too(self, server: FeedServer, reader: Reader) -> None:
        server.serve("/old", atom([E("1")]), etag='"1"')
        reader.crawl(1, "3", **{"prev-archive": "/old"})
        server.serve("/old", atom([E("2"), E("1")]), etag='"1"')
        assert reader.again(3).changes == {}
        sent(server)
        assert reader.again(10).changes == {"2": "new"}
        assert sent(server) == [("/feed",), ("/old",), ("/old", '"1"')]
        reader.again(12)
        assert sent(server) == [("/feed",), ("/old",)]

    def test_is_sought_again_after_a_reset(
        self, server: FeedServer, project: Project, reader: Reader
    ) -> None:
        reader.crawl(1, "1")
        reader.crawl(10, "2", "1")
        assert reader.feed.not_modified_ignored is not None
        with clock_at("2010-01-11T00:00:00"):
            project.crawl(server.url("/feed"), args=("-a", "deltafetch_reset=1"))
        sent(server)
        reader.again(12)
        assert sent(server) == [("/feed", '"1"')]


class TestUrlsThatDifferInEachResponse:
    def serve(self, server: FeedServer, token: str, newest: int = 6) -> None:
        """Three pages of two episodes each; the file's host, path and query are others each time."""
        for page in (1, 2, 3):
            shown = range(newest - 2 * page + 2, max(0, newest - 2 * page), -1)
            items = "".join(
                f"<item><guid>{one}</guid><description>&lt;img src='/a.png?{token}'&gt;</description>"
                f"<enclosure url='https://cdn{token}.example.org/{token}/{one}.mp3?at={token}' length='1'"
                " type='audio/mpeg'/></item>"
                for one in shown
            )
            link = f"<atom:link rel='next' href='/feed?{page + 1}'/>" if page < 3 else ""
            body = (
                "<rss version='2.0' xmlns:atom='http://www.w3.org/2005/Atom'><channel><title>-</title>"
                f"{link}{items}</channel></rss>"
            )
            server.serve("/feed" if page == 1 else f"/feed?{page}", body, etag=False)

    def test_are_no_update_and_the_newest_is_kept(self, server: FeedServer, project: Project) -> None:
        self.serve(server, "1")
        assert len(project.crawl(server.url("/feed")).changes) == 6
        self.serve(server, "2")
        server.requested()
        assert project.crawl(server.url("/feed")).changes == {}
        assert server.requested() == ["/feed"]
        [row] = project.database.rows("SELECT enclosures FROM entries WHERE id = '6'")
        assert "https://cdn2.example.org/2/6.mp3?at=2" in row[0]
        self.serve(server, "3", 7)
        assert project.crawl(server.url("/feed")).changes == {"7": "new"}
