"""Archives and pages that were read are checked again (FHCRAWL_RECHECK), since publishers rewrite them."""

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import date, timedelta
from typing import Any, ClassVar

import pytest

from fhcrawl.logical_feed import Verdict
from fhcrawl.store import Store
from tests.databases import Database
from tests.engine import Engine
from tests.faketime import clock_at
from tests.feeds import E, rss

FEED, NEWER, OLDER = (f"http://example.org/{name}" for name in ("index", "2", "1"))
DAILY = {"FHCRAWL_RECHECK": "1,100"}


def undated(entry_id: str, text: str = "text") -> E:
    """An entry without a time, as most of RSS are."""
    return E(entry_id, text, updated=None)


def document(
    *entries: E, older: str | None = None, relation: str = "prev-archive", updated: str | None = None
) -> str:
    return rss(list(entries), updated=updated, links={relation: older} if older else {})


class Publisher:
    """Three documents, and the daily crawls of them: each day's requests, and changes by id."""

    def __init__(self, database: Database, relation: str = "prev-archive") -> None:
        self._database = database
        self._relation = relation
        self._day = 0
        self.asked: list[str] = []
        self.stats: dict[str, int] = {}
        self.served: dict[str, str | int] = {}
        self.serve([undated("6"), undated("5")], [undated("4"), undated("3")], [undated("2"), undated("1")])

    def serve(self, *contents: list[E]) -> None:
        urls = (FEED, NEWER, OLDER)
        for url, older, entries in zip(urls, (*urls[1:], None), contents, strict=True):
            self.served[url] = document(*entries, older=older, relation=self._relation)

    def link(self, order: Sequence[str], newest: str, older: str | None = None) -> None:
        """Serve archives of one entry each, the newest first, and a subscription document with another."""
        names = [*order, *([older] if older else [])]
        urls = [f"{FEED}/{name}" for name in names]
        self.served |= {FEED: document(undated(newest), older=urls[0])}
        for name, url, following in zip(names, urls, [*urls[1:], None], strict=True):
            if following is not None or url not in urls[:-1]:
                self.served[url] = document(undated(name), older=following)

    def count(self, total: int) -> None:
        """Let the subscription document say how many entries there are."""
        text = re.sub("<o:totalResults.*</o:totalResults>", "", str(self.served[FEED]))
        said = f'<o:totalResults xmlns:o="http://a9.com/-/spec/opensearch/1.1/">{total}</o:totalResults>'
        self.served[FEED] = text.replace("<channel>", f"<channel>{said}", 1)

    def crawl(self, more: dict[str, Any] | None = None) -> dict[str, tuple[str, str]]:
        self._day += 1
        engine = Engine(self._database.url, self.served, more=DAILY if more is None else more)
        with clock_at(f"{date(2009, 12, 31) + timedelta(self._day)}T00:00:00"):
            changes = engine.crawl(FEED)
        self.asked, self.stats = engine.asked, engine.stats
        return {change["id"]: (change["change"], change["summary"]) for change in changes or ()}

    def absent(self) -> list[str]:
        """The entries that are known to be gone."""
        found = [row[0] for row in self._database.rows("SELECT id FROM absent_entries ORDER BY id")]
        with closing(Store.open_to_read(self._database.url)) as store:
            [feed] = store.feeds.read()
        assert feed.absent == len(found)
        return found

    @property
    def verdict(self) -> tuple[str, list[str]]:
        with closing(Store.open_to_read(self._database.url)) as store:
            [feed] = store.feeds.read()
        return feed.verdict.value, [reason.kind.value for reason in feed.reasons]

    @property
    def complete_as_of(self) -> str | None:
        with closing(Store.open_to_read(self._database.url)) as store:
            [feed] = store.feeds.read()
        return feed.complete_as_of

    @property
    def checked(self) -> str | None:
        with closing(Store.open_to_read(self._database.url)) as store:
            [feed] = store.feeds.read()
        assert feed.verdict is not Verdict.INCOMPLETE
        return feed.checked


@pytest.fixture(params=["prev-archive", "next"])
def publisher(database: Database, request: pytest.FixtureRequest) -> Publisher:
    found = Publisher(database, request.param)
    assert len(found.crawl()) == 6
    return found


def test_edit_in_an_archive_is_found(publisher: Publisher) -> None:
    publisher.served[OLDER] = document(undated("2"), undated("1", "edited"))
    assert publisher.crawl() == {"1": ("updated", "edited")}
    assert publisher.asked == [FEED, NEWER, OLDER]
    assert publisher.crawl() == {}


def test_backdated_entry_is_found(publisher: Publisher) -> None:
    publisher.served[OLDER] = document(undated("2"), undated("1.5"), undated("1"))
    assert publisher.crawl() == {"1.5": ("new", "text")}
    assert publisher.crawl() == {}


def test_no_archive_is_requested_with_the_setting_off(publisher: Publisher) -> None:
    publisher.served[OLDER] = document(undated("2"), undated("1", "edited"))
    assert publisher.crawl({}) == {}
    assert publisher.asked == [FEED]
    assert publisher.checked == "2010-01-01T00:00:00Z"


def test_verdict_is_as_of_the_oldest_check(publisher: Publisher) -> None:
    assert publisher.checked == "2010-01-01T00:00:00Z"
    publisher.crawl({"FHCRAWL_RECHECK": "1,1"})
    assert (publisher.asked, publisher.checked) == ([FEED, NEWER], "2010-01-01T00:00:00Z")
    publisher.crawl()
    assert publisher.checked == "2010-01-03T00:00:00Z"


@pytest.mark.parametrize("failure", [404, 403, 500, 503, "<html>"])
def test_check_that_fails_loses_nothing(publisher: Publisher, failure: str | int) -> None:
    whole = publisher.served[NEWER]
    publisher.served[NEWER] = failure
    assert publisher.crawl() == {}
    # A server that fails is left alone.
    assert publisher.asked == ([FEED, NEWER] if failure == 503 else [FEED, NEWER, OLDER])
    assert publisher.stats["fhcrawl/check/failed"] == 1
    assert publisher.checked == "2010-01-01T00:00:00Z"
    publisher.served[NEWER] = whole
    publisher.crawl()
    assert publisher.checked == "2010-01-03T00:00:00Z"


OTHER_LINK = '<a:link xmlns:a="http://www.w3.org/2005/Atom" rel="prev-archive" href="/other"/>'


@pytest.mark.parametrize(
    ("defect", "reason"),
    [
        (lambda text: f"{text}<p>more</p>", "not-well-formed"),
        (lambda text: text.partition("</description></item>\n</channel>")[0], "not-well-formed"),
        (lambda text: text.replace("<channel>", f"<channel>{OTHER_LINK}"), "contradictory-links"),
    ],
)
def test_check_of_a_document_with_a_defect_is_a_first_reading(
    archives: Publisher, defect: Callable[[str], str], reason: str
) -> None:
    grown = document(undated("added"), undated("4"), undated("3"), older=OLDER)
    archives.served[NEWER] = defect(grown)
    assert set(archives.crawl()) == {"added"}
    assert archives.stats["fhcrawl/check/changed"] == 1
    assert archives.verdict == ("incomplete", [reason])
    archives.served[NEWER] = grown
    assert archives.crawl() == {}
    assert archives.verdict == ("complete", [])


def test_document_whose_check_failed_does_not_delay_the_others(archives: Publisher) -> None:
    """Ten archives, three checks a run; the newest one fails for ever."""
    names = [str(number) for number in range(10, 0, -1)]
    archives.link(names, "new")
    archives.crawl()
    archives.served[f"{FEED}/10"] = 503
    asked = []
    for _ in range(2):
        archives.crawl({"FHCRAWL_RECHECK": "1,3"})
        asked.append(archives.asked[1:])
    assert asked[0] == [f"{FEED}/10"]
    assert len(asked[1]) == 3
    assert f"{FEED}/10" not in asked[1]


@pytest.fixture
def pages(database: Database) -> Publisher:
    found = Publisher(database, "next")
    assert len(found.crawl()) == 6
    return found


@pytest.mark.both_stores
def test_pages_are_complete_as_of_the_oldest_check(pages: Publisher) -> None:
    assert (pages.verdict, pages.complete_as_of) == (("lossy", ["paged"]), None)
    pages.crawl({"FHCRAWL_RECHECK": "1,1"})
    assert (pages.asked, pages.verdict) == ([FEED, NEWER], ("lossy", ["paged"]))
    pages.crawl({"FHCRAWL_RECHECK": "1,1"})
    assert (pages.asked, pages.verdict) == ([FEED, OLDER], ("complete", []))
    assert pages.complete_as_of == pages.checked == "2010-01-02T00:00:00Z"
    pages.served[NEWER] = 404
    pages.crawl()
    assert (pages.verdict, pages.complete_as_of) == (("complete", []), "2010-01-02T00:00:00Z")


@pytest.mark.parametrize("changed", [FEED, NEWER, OLDER])
def test_pages_that_change_are_lossy_until_two_readings_agree_again(pages: Publisher, changed: str) -> None:
    pages.crawl()
    text = str(pages.served[changed])
    pages.served[changed] = text.replace("<item>", f"<item><title>{changed}</title>", 1)
    found = []
    for _ in range(3):
        pages.crawl()
        found.append(pages.verdict[0])
    assert found == ["lossy", "complete", "complete"]


def test_tokens_that_differ_in_each_response_do_not_let_two_readings_disagree(pages: Publisher) -> None:
    for number in range(2):
        texts = [f"<![CDATA[<img src='/i?token={number}'>]]>", "text"]
        pages.serve([undated("3", texts[0])], [undated("2", texts[1])], [undated("1", texts[0])])
        pages.crawl()
    assert pages.verdict == ("complete", [])


def test_publisher_who_counts_more_entries_than_are_kept_has_others(pages: Publisher) -> None:
    pages.count(7)
    for _ in range(3):
        pages.crawl()
    assert pages.verdict == ("lossy", ["paged"])
    pages.count(6)
    pages.crawl()
    pages.crawl()
    assert pages.verdict == ("complete", [])


class TestCount:
    """A publisher who counts the entries; nothing but a count tells what is new on an older page."""

    OFF: ClassVar[dict[str, Any]] = {}

    @pytest.fixture
    def counting(self, database: Database) -> Publisher:
        found = Publisher(database, "next")
        found.count(6)
        assert len(found.crawl(self.OFF)) == 6
        return found

    @pytest.mark.both_stores
    def test_count_that_has_changed_is_walked_once(self, counting: Publisher) -> None:
        assert counting.crawl(self.OFF) == {}
        assert counting.asked == [FEED]
        counting.served[OLDER] = document(undated("2"), undated("1.5"), undated("1"), relation="next")
        counting.count(7)
        assert counting.crawl(self.OFF) == {"1.5": ("new", "text")}
        assert counting.asked == [FEED, NEWER, OLDER]
        assert counting.crawl(self.OFF) == {}
        assert counting.asked == [FEED]

    @pytest.mark.parametrize("count", [5, 99])
    def test_count_that_no_page_makes_good_is_walked_once(self, counting: Publisher, count: int) -> None:
        counting.count(count)
        asked = []
        for number in range(7, 10):
            counting.crawl(self.OFF)
            asked.append(counting.asked)
            # With each new entry, there is another count: it tells of no others.
            new = [undated(str(number)), undated("6"), undated("5")]
            counting.served[FEED] = document(*new, older=NEWER, relation="next")
            count += 1
            counting.count(count)
        assert asked == [[FEED, NEWER, OLDER], [FEED, NEWER], [FEED, NEWER]]

    def test_walk_that_a_count_has_begun_is_continued(self, counting: Publisher) -> None:
        counting.served[OLDER] = document(undated("2"), undated("1.5"), undated("1"), relation="next")
        counting.count(7)
        older, counting.served[OLDER] = counting.served[OLDER], 503
        assert counting.crawl(self.OFF) == {}
        counting.served[OLDER] = older
        assert counting.crawl(self.OFF) == {"1.5": ("new", "text")}


@pytest.fixture
def archives(database: Database) -> Publisher:
    found = Publisher(database)
    assert len(found.crawl()) == 6
    return found


def built(day: int) -> str:
    """The time of a build, which each document has."""
    return f"{day:02} Jan 2009 00:00:00 GMT"


def test_old_copy_in_an_archive_does_not_replace_an_edit_of_the_newest_document(archives: Publisher) -> None:
    """The publisher edits an entry in the subscription document only, and builds all documents anew."""
    served = archives.served
    served[FEED] = document(undated("7"), undated("3", "edited"), older=NEWER, updated=built(1))
    assert archives.crawl() == {"7": ("new", "text"), "3": ("updated", "edited")}
    served[FEED] = document(undated("8"), undated("7"), older=NEWER, updated=built(2))
    served[NEWER] = document(undated("4", "edited"), undated("3"), older=OLDER, updated=built(2))
    assert archives.crawl() == {"8": ("new", "text"), "4": ("updated", "edited")}
    served[NEWER] = document(undated("4"), undated("3"), older=OLDER, updated=built(3))
    assert archives.crawl() == {"4": ("updated", "text")}


def test_edit_counts_when_the_subscription_document_has_dropped_the_entry(archives: Publisher) -> None:
    served = archives.served
    served[NEWER] = document(undated("5", "edited"), undated("4"), undated("3"), older=OLDER)
    assert archives.crawl() == {}
    served[FEED] = document(undated("7"), undated("6"), older=NEWER)
    assert archives.crawl({}) == {"7": ("new", "text")}
    assert archives.crawl() == {"5": ("updated", "edited")}
    assert archives.crawl() == {}


def test_archive_that_is_new_in_the_chain_is_read(publisher: Publisher) -> None:
    between = "http://example.org/1.5"
    publisher.served[between] = document(undated("2.5"), older=OLDER)
    publisher.served[NEWER] = document(undated("4"), undated("3"), older=between)
    publisher.crawl()
    publisher.crawl()
    assert publisher.crawl() == {}
    assert publisher.checked == "2010-01-04T00:00:00Z"


@pytest.mark.both_stores
def test_entry_is_known_to_be_gone_when_all_documents_were_seen_twice_without_it(archives: Publisher) -> None:
    archives.served[OLDER] = document(undated("2"))
    assert archives.crawl() == {}
    assert archives.absent() == []
    assert archives.crawl() == {}
    assert archives.absent() == ["1"]
    archives.served[OLDER] = document(undated("2"), undated("1"))
    assert archives.crawl() == {}
    assert archives.absent() == []


def test_entry_that_has_only_moved_is_not_gone(archives: Publisher) -> None:
    """It leaves an archive that is checked later for one that was checked before."""
    archives.served[OLDER] = document(undated("2"))
    assert archives.crawl() == {}
    archives.served[NEWER] = document(undated("4"), undated("3"), undated("1"), older=OLDER)
    assert archives.crawl() == {}
    archives.crawl()
    assert archives.absent() == []


def test_nothing_is_gone_while_a_document_cannot_be_read(archives: Publisher) -> None:
    newer = archives.served[NEWER]
    archives.served[OLDER] = document(undated("2"))
    archives.crawl()
    archives.served[NEWER] = 404
    for _ in range(3):
        assert archives.crawl() == {}
        assert archives.absent() == []
    archives.served[NEWER] = newer
    archives.crawl()
    assert archives.absent() == ["1"]


def test_what_a_subscription_document_has_lost_is_not_gone(archives: Publisher) -> None:
    """It is in no archive while the subscription document has an entry that cannot be kept."""
    feed, older = str(archives.served[FEED]), archives.served[OLDER]
    archives.served[FEED] = feed.replace("</channel>", "<item/></channel>")
    archives.served[OLDER] = document(undated("2"))
    archives.crawl()
    archives.crawl()
    assert archives.absent() == []
    archives.served |= {FEED: feed, OLDER: older}
    archives.crawl({"FHCRAWL_RECHECK": "30,100"})
    assert archives.absent() == []


def test_entry_that_was_dropped_is_gone_only_if_no_archive_has_it(archives: Publisher) -> None:
    archives.served[FEED] = document(undated("8"), undated("7"), undated("6"), older=NEWER)
    archives.crawl()
    # The walk reads this archive; the entry is not in the others.
    archives.served[NEWER] = document(undated("5"), undated("4"), undated("3"), older=OLDER)
    for _ in range(3):
        archives.crawl()
        assert archives.absent() == []
    archives.served[FEED] = document(undated("8"), undated("7"), older=NEWER)
    archives.crawl()
    archives.crawl()
    assert archives.absent() == ["6"]


@pytest.mark.both_stores
def test_entry_that_is_gone_is_deleted_if_asked_for_and_new_when_back(archives: Publisher) -> None:
    deleting = {**DAILY, "FHCRAWL_DELETE_ABSENT": True}
    archives.served[OLDER] = document(undated("2"))
    changes = [archives.crawl(deleting) for _ in range(3)]
    # The engine of these tests exports before the walk's end.
    assert changes == [{}, {}, {"1": ("deleted", "text")}]
    assert archives.absent() == []
    archives.served[OLDER] = document(undated("2"), undated("1"))
    assert archives.crawl(deleting) == {"1": ("new", "text")}


def test_edit_in_an_archive_that_is_new_behind_another_is_found(database: Database) -> None:
    publisher = Publisher(database)
    publisher.served[NEWER] = document(undated("4"), undated("3"))
    publisher.crawl()
    publisher.served[NEWER] = document(undated("4"), older=OLDER)
    publisher.served[OLDER] = document(undated("3", "edited"))
    found = [publisher.crawl() for _ in range(3)]
    assert found == [{}, {"3": ("updated", "edited")}, {}]


def test_archive_that_is_new_behind_another_does_not_replace_what_that_one_has(database: Database) -> None:
    publisher = Publisher(database)
    publisher.served[NEWER] = document(undated("4"), undated("3"))
    publisher.crawl()
    publisher.served[NEWER] = document(undated("4"), undated("3"), older=OLDER)
    publisher.served[OLDER] = document(undated("3", "old text"), undated("2"))
    assert [publisher.crawl() for _ in range(3)] == [{}, {"2": ("new", "text")}, {}]


def test_missing_archive_does_not_replace_what_was_newer(database: Database) -> None:
    publisher = Publisher(database)
    publisher.served |= {FEED: document(undated("5"), undated("2", "new text"), older=NEWER), OLDER: 404}
    publisher.crawl()
    publisher.served |= {FEED: document(undated("5"), older=NEWER)}
    publisher.crawl()
    publisher.served |= {OLDER: document(undated("2", "old text"), undated("1"))}
    assert [publisher.crawl() for _ in range(2)] == [{"1": ("new", "text")}, {}]


@pytest.mark.full_lane("13 crawls each")
@pytest.mark.parametrize("missing", ["1", "2"])
@pytest.mark.parametrize("order", [("1", "2", "3"), ("2", "1", "3"), ("3", "1", "2")])
def test_archives_that_are_linked_in_another_order_are_no_loop_for_long(
    database: Database, order: tuple[str, ...], missing: str
) -> None:
    publisher, more = Publisher(database), {"FHCRAWL_RECHECK": "5,20"}
    publisher.link(("3", "2", "1"), "5")
    publisher.served[f"{FEED}/{missing}"] = 404
    publisher.crawl(more)
    publisher.link(order, "6")
    for _ in range(4):
        publisher.crawl(more)
    # What is new behind an archive that was not checked since is not known.
    publisher.link(order, "7", older="0")
    for _ in range(7):
        publisher.crawl(more)
    assert publisher.verdict == ("complete", [])
    assert publisher.crawl(more) == {}
    rows = database.rows("SELECT id FROM entries ORDER BY id")
    assert [row[0] for row in rows] == list("0123567")


def test_loop_is_asked_for_once_in_each_run(database: Database) -> None:
    publisher = Publisher(database)
    publisher.link(("3", "2", "1", "2"), "5")
    asked = []
    for _ in range(4):
        publisher.crawl({"FHCRAWL_RECHECK": "30,20"})
        asked.append(len(publisher.asked))
        assert publisher.verdict == ("incomplete", ["loop"])
    assert asked == [4, 4, 2, 2]


def test_check_of_a_page_that_no_link_names_leaves_the_older_ones(database: Database) -> None:
    publisher = Publisher(database)
    pages = [FEED, *(f"{FEED}?paged={number}" for number in (2, 3, 4))]
    made = "<generator>https://wordpress.org/?v=6.1</generator></channel>"
    for url, ids, end in zip(pages, ("65", "43", "21", ""), (made, made, made, made), strict=True):
        publisher.served[url] = document(*map(undated, ids)).replace("</channel>", end)
    assert len(publisher.crawl(DAILY)) == 6
    publisher.crawl(DAILY)
    # Also the one behind the last one, which was empty.
    assert publisher.asked == pages
    assert publisher.verdict == ("lossy", ["paged"])
