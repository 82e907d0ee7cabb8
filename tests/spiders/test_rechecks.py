"""Archives and pages that were read are checked again (FHCRAWL_RECHECK), since publishers rewrite them."""

from collections.abc import Sequence
from contextlib import closing
from datetime import date, timedelta
from typing import Any

import pytest

from fhcrawl.store import Store
from tests.databases import Database
from tests.engine import Engine
from tests.faketime import clock_at
from tests.feeds import E, rss
from tests.spiders.walks import Play, scripts

FEED = "http://example.org/index"
# Three documents, as most of RSS without times.
BEGIN = """
    days; always rss undated; /index 6 5 WAY:/2; /2 4 3 WAY:/1; /1 2 1; crawl /index; exports 1 2 3 4 5 6"""
FOUND = {
    "an edit in an archive": """
        /1 2 1=edited; crawl; exports 1:updated=edited; requests /index /2 /1; crawl; exports""",
    "not a second time what the walk has read": """
        /index 7 6 5 WAY:/2; crawl; exports 7; requests /index /2 /1; crawl; requests /index /2 /1""",
    "a backdated entry": """
        /1 2 1.5 1; crawl; exports 1.5; crawl; exports""",
    "nothing with the setting off": """
        /1 2 1=edited; crawl FHCRAWL_RECHECK=; exports; requests /index; checked 2010-01-01""",
    "what is found is as of the oldest check": """
        checked 2010-01-01; crawl FHCRAWL_RECHECK=1,1; requests /index /2; checked 2010-01-01
        crawl; checked 2010-01-03""",
    "a check that fails loses nothing": """
        /2 FAILURE; crawl; exports; requests /index /2 /1; stat fhcrawl/check/failed 1; checked 2010-01-01
        /2 4 3 WAY:/1; crawl; exports; checked 2010-01-03""",
    # A server that fails is not requested again in this run.
    "so does one that a server refuses for now": """
        /2 503; crawl; exports; requests /index /2; stat fhcrawl/check/failed 1; checked 2010-01-01
        /2 4 3 WAY:/1; crawl; exports; checked 2010-01-03""",
    "an archive that is new in the chain is read": """
        /1.5 2.5 WAY:/1; /2 4 3 WAY:/1.5; crawl; crawl; crawl; exports; has 1 2 2.5 3 4 5 6
        checked 2010-01-04""",
}
PAGES = {
    "pages are complete as of the oldest check": """
        verdict unknown paged; as-of None; crawl FHCRAWL_RECHECK=1,1; requests /index /2
        verdict unknown paged
        crawl FHCRAWL_RECHECK=1,1; requests /index /1; verdict complete; as-of 2010-01-02; checked 2010-01-02
        /2 404; crawl; verdict complete; as-of 2010-01-02""",
    "pages that change are unknown until two readings agree again": """
        crawl; CHANGED; crawl; verdict unknown paged; crawl; verdict complete; crawl; verdict complete""",
    "a page replaces what an old copy of a newer one showed": """
        /2 4=edited 3 next:/1; crawl; exports 4:updated=edited
        /index 5 4 next:/2; crawl FHCRAWL_RECHECK=; exports 4:updated=text
        /index 6 5 next:/2; crawl FHCRAWL_RECHECK=; exports; verdict unknown paged
        crawl; exports 4:updated=edited; crawl; exports; crawl; verdict complete""",
    "tokens that differ in each response do not let two readings disagree": """
        /index 6=<img~src='/i?token=1'> 5 next:/2; crawl
        /index 6=<img~src='/i?token=2'> 5 next:/2; crawl; verdict complete""",
    "a publisher who counts more entries than are kept has others": """
        /index 6 5 next:/2 total:7; crawl; crawl; crawl; verdict lossy paged
        /index 6 5 next:/2 total:6; crawl; crawl; verdict complete""",
}
# Nothing but a count tells what is new on an older page.
COUNTS = {
    "a count that has changed is walked once": """
        crawl; exports; requests /index; /1 2 1.5 1; /index 6 5 next:/2 total:7; crawl; exports 1.5
        requests /index /2 /1; crawl; exports; requests /index""",
    # With each new entry, there is another count: it tells of no others.
    "a count that no page makes good is walked once": """
        /index 6 5 next:/2 total:COUNT0; crawl; requests /index /2 /1
        /index 7 6 5 next:/2 total:COUNT1; crawl; requests /index /2
        /index 8 7 6 next:/2 total:COUNT2; crawl; requests /index /2""",
    "a walk that a count has begun is continued": """
        /1 503; /index 6 5 next:/2 total:7; crawl; exports; /1 2 1.5 1; crawl; exports 1.5""",
}
ARCHIVES = {
    "a document with a defect is a first reading (text behind its end)": """
        /2 added 4 3 prev:/1 trailing; crawl
        exports added; stat fhcrawl/check/changed 1; verdict incomplete not-well-formed
        /2 added 4 3 prev:/1; crawl; exports; verdict complete""",
    "so is one with contradictory links": """
        /2 added 4 3 prev:/1 prev:/other; crawl; exports added; stat fhcrawl/check/changed 1
        verdict incomplete contradictory-links; /2 added 4 3 prev:/1; crawl; exports; verdict complete""",
    "so is one that is cut off": """
        /2 added 4 3 prev:/1 cut; crawl; exports added; verdict incomplete not-well-formed
        /2 added 4 3 prev:/1; crawl; exports; verdict complete""",
    # The publisher edits an entry in the subscription document only, and builds all documents anew.
    "an old copy in an archive does not replace an edit of the newest document": """
        /index 7 3=edited prev:/2; crawl; exports 7 3:updated=edited
        /index 8 7 prev:/2; /2 4=edited 3 prev:/1; crawl; exports 8 4:updated=edited
        /2 4 3 prev:/1; crawl; exports 4:updated=text""",
    "an edit counts when the subscription document has dropped the entry": """
        /2 5=edited 4 3 prev:/1; crawl; exports; /index 7 6 prev:/2; crawl FHCRAWL_RECHECK=; exports 7
        crawl; exports 5:updated=edited; crawl; exports""",
    "an entry is gone when all documents were seen twice without it": """
        /1 2; crawl; exports; absent; crawl; exports; absent 1; /1 2 1; crawl; exports; absent""",
    # It leaves an archive that is checked later for one that was checked before.
    "an entry that has only moved is not gone": """
        /1 2; crawl; exports; /2 4 3 1 prev:/1; crawl; exports; crawl; absent""",
    "nothing is gone while a document cannot be read": """
        /1 2; crawl; /2 404; crawl; absent; crawl; exports; absent; /2 4 3 prev:/1; crawl; absent 1""",
    # It is in no archive while the subscription document has an entry that cannot be kept.
    "what a subscription document has lost is not gone": """
        /index 6 5 prev:/2 lost; /1 2; crawl; crawl; absent; /index 6 5 prev:/2; /1 2 1
        crawl FHCRAWL_RECHECK=30,100; absent""",
    # The walk reads the archive /2 in the second run; the entry is not in the others.
    "an entry that was dropped is gone only if no archive has it": """
        /index 8 7 6 prev:/2; crawl; /2 5 4 3 prev:/1; crawl; absent; crawl; crawl; absent
        /index 8 7 prev:/2; crawl; crawl; absent 6""",
    "an entry that is gone is deleted if requested and new when back": """
        /1 2; crawl FHCRAWL_DELETE_ABSENT=1; exports; crawl FHCRAWL_DELETE_ABSENT=1; exports 1:deleted
        absent; /1 2 1; crawl FHCRAWL_DELETE_ABSENT=1; exports 1""",
}
BEHIND = {
    "an edit in an archive that is new behind another is found": """
        /index 6 5 prev:/2; /2 4 3; crawl /index; /2 4 prev:/1; /1 3=edited; crawl
        exports 3:updated=edited; crawl; exports""",
    "an archive that is new behind another does not replace what that one has": """
        /index 6 5 prev:/2; /2 4 3; crawl /index; /2 4 3 prev:/1; /1 3=old 2; crawl; exports 2
        crawl; exports""",
    "a missing archive does not replace what was newer": """
        /index 5 2=new prev:/2; /2 4 3 prev:/1; crawl /index; /index 5 prev:/2; crawl; /1 2=old 1; crawl
        exports 1; crawl; exports""",
    # Also the one behind the last one, which was empty.
    "a check of a page that no link names leaves the older ones": """
        /index 6 5 wordpress; /index?paged=2 4 3 wordpress; /index?paged=3 2 1 wordpress
        /index?paged=4 wordpress; crawl /index; exports 1 2 3 4 5 6; crawl
        requests /index /index?paged=2 /index?paged=3 /index?paged=4; verdict unknown paged""",
}
CHANGED = {"/index": "/index 6 5 new next:/2", "/2": "/2 4 3=new next:/1", "/1": "/1 2 1=new"}


def from_begin(way: str, script: str) -> str:
    return f"{BEGIN}; {script}".replace("WAY", way)


@pytest.mark.in_process
@pytest.mark.parametrize("way", ["prev", "next"])
@scripts(FOUND, FAILURE=("404", "403", "500", "html"))
def test_check(play: Play, script: str, way: str) -> None:
    play(from_begin(way, script))


@pytest.mark.in_process
@scripts(PAGES, list(PAGES)[:1], CHANGED=CHANGED.values())
def test_check_of_pages(play: Play, script: str) -> None:
    play(from_begin("next", script))


@pytest.mark.in_process
@pytest.mark.parametrize("count", [5, 99])
@scripts(COUNTS, list(COUNTS)[:1])
def test_count_of_the_publisher(play: Play, script: str, count: int) -> None:
    for number in range(3):
        script = script.replace(f"COUNT{number}", str(count + number))
    begin = from_begin("next", "").replace("6 5 next", "6 5 total:6 next").replace("days; ", "")
    play(begin + script)


@pytest.mark.in_process
def test_count_that_is_another_one_at_each_read_is_walked_once(play: Play) -> None:
    begin = from_begin("next", "").replace("6 5 next", "6 5 total:6 next")
    play(
        begin
        + """/index 6 5 next:/2 total:7; crawl FHCRAWL_RECHECK=; requests /index /2 /1
        /index 6 5 next:/2 total:9; crawl FHCRAWL_RECHECK=; requests /index
        /index 6 5 next:/2 total:8; crawl FHCRAWL_RECHECK=; requests /index"""
    )


@pytest.mark.in_process
@scripts(ARCHIVES, [name for name in ARCHIVES if "gone when" in name or "gone is deleted" in name])
def test_check_of_archives(play: Play, script: str) -> None:
    play(from_begin("prev", script))


@pytest.mark.in_process
@scripts(BEHIND)
def test_check_of_documents_that_are_new_behind_others(play: Play, script: str) -> None:
    play(f"days; always rss undated; {script}")


def document(entry_id: str, older: str | None = None) -> str:
    return rss([E(entry_id, updated=None)], updated=None, links={"prev-archive": older} if older else {})


class Publisher:
    """Archives of one entry each, and the daily crawls of them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._day = 0
        self.requested: list[str] = []
        self.served: dict[str, str | int] = {}

    def link(self, order: Sequence[str], newest: str, older: str | None = None) -> None:
        """Serve the archives, the newest first, and a subscription document with another entry."""
        names = [*order, *([older] if older else [])]
        urls = [f"{FEED}/{name}" for name in names]
        self.served |= {FEED: document(newest, urls[0])}
        for name, url, following in zip(names, urls, [*urls[1:], None], strict=True):
            if following is not None or url not in urls[:-1]:
                self.served[url] = document(name, following)

    def crawl(self, more: dict[str, Any] | None = None) -> list[str]:
        """Crawl; return the ids of the entries that have changed."""
        self._day += 1
        engine = Engine(self._database.url, self.served, more=more or {"FHCRAWL_RECHECK": "1,100"})
        with clock_at(f"{date(2009, 12, 31) + timedelta(self._day)}T00:00:00"):
            changes = engine.crawl(FEED)
        self.requested = engine.requested
        with closing(Store.open_to_read(self._database.url)) as store:
            [feed] = store.feeds.read()
        self.verdict = feed.verdict.value, [reason.kind.value for reason in feed.reasons]
        return [change["id"] for change in changes or ()]


@pytest.mark.slow("13 crawls each")
@pytest.mark.parametrize("missing", ["1", "2"])
@pytest.mark.parametrize("order", [("1", "2", "3"), ("2", "1", "3"), ("3", "1", "2")])
def test_archives_in_another_order_are_no_loop(
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
    assert publisher.crawl(more) == []
    rows = database.rows("SELECT id FROM entries ORDER BY id")
    assert [row[0] for row in rows] == list("0123567")


def test_loop_is_requested_once_in_each_run(database: Database) -> None:
    publisher = Publisher(database)
    publisher.link(("3", "2", "1", "2"), "5")
    requested = []
    for _ in range(4):
        publisher.crawl({"FHCRAWL_RECHECK": "30,20"})
        requested.append(len(publisher.requested))
        assert publisher.verdict == ("incomplete", ["loop"])
    assert requested == [4, 4, 2, 2]
