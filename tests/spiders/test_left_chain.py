"""Documents that leave the chain, for good or in an old copy from a cache, and the entries that they hold."""

from unittest import mock

import pytest

from fhcrawl.exceptions import StoreError
from tests.spiders.walks import Play, scripts

DELETES = "FHCRAWL_DELETE_ABSENT=1"
# An old copy of the subscription document (OLD) skips the document /3, and lacks 9 and 10.
NEW, OLD = "/index 10 9 WAY:/3", "/index 6 5 WAY:/2"
BEGIN = """
    days; always rss undated; OLD; /2 4 3 WAY:/1; /1 2 1; crawl /index DELETES; exports 1 2 3 4 5 6
    NEW; /3 8 7 6 5 WAY:/2; crawl DELETES; exports 7 8 9 10"""
ALL = "has 1 10 2 3 4 5 6 7 8 9"
STALE = {
    "an old copy between two new ones deletes nothing": """
        OLD; crawl DELETES; exports; NEW; crawl DELETES; exports; ALL
        OLD; crawl DELETES; exports; NEW; crawl DELETES; exports; ALL""",
    "nor do two that no crawl without a new one confirms": """
        OLD; crawl DELETES; exports; NEW; crawl DELETES; crawl DELETES; OLD; crawl DELETES; exports; ALL""",
    "nor one before a copy that cannot be read": """
        OLD; crawl DELETES; exports; /index 500; crawl DELETES; exports; NEW; crawl DELETES; exports; ALL""",
    "nor one of a run that reads the document that it skips": """
        /index 12 11 WAY:/4; /4 10 9 WAY:/3; on /4 OLD; crawl DELETES; exports 11 12; crawl DELETES; exports
        /index 12 11 WAY:/4; crawl DELETES; exports; ALL 11 12""",
    "an entry that two old copies have deleted is new in the next one": """
        OLD; crawl DELETES; exports; crawl DELETES; exports 7:deleted 8:deleted 9:deleted 10:deleted
        crawl DELETES; exports; NEW; crawl DELETES; exports 7 8 9 10; ALL
        crawl DELETES; exports; crawl DELETES; exports; ALL""",
    "also if it is read again on request": """
        OLD; crawl DELETES; crawl DELETES; exports 7:deleted 8:deleted 9:deleted 10:deleted
        NEW; crawl DELETES reset; exports 7 8 9 10; ALL""",
}
# The documents, from the newest to the oldest; then the publisher removes one.
REMOVED = {
    "the oldest document": """
        /1 404; /2 4 3; crawl; absent; crawl; crawl; absent 1 2; crawl DELETES
        exports 1:deleted 2:deleted; crawl DELETES; exports
        /1 2 1; /2 4 3 WAY:/1; crawl; exports 1 2""",
    "one between others": """
        /2 404; /3 8 7 6 5 WAY:/1; crawl; absent; crawl; absent 3 4
        crawl DELETES; exports 3:deleted 4:deleted""",
    "the newest one, while the feed goes on": """
        /3 404; /index 11 10 9 8 WAY:/2; crawl; absent; /index 12 11 10 9 8 WAY:/2; crawl; absent 5 6 7""",
    "one that comes back after an old copy": """
        OLD; crawl; absent; NEW; crawl; absent; OLD; crawl; absent; NEW; crawl; absent""",
    "one that comes back when its entries are absent": """
        OLD; crawl; absent; crawl; absent 10 7 8 9; NEW; crawl; absent; exports; ALL; crawl; absent""",
    "one whose entries are in another now": """
        /2 404; /3 8 7 6 5 4 3 WAY:/1; crawl; crawl; crawl; absent""",
    "one that is missing, but linked": """
        /1 404; crawl; crawl; crawl; absent""",
}


def played(way: str, script: str, begin: str = BEGIN) -> str:
    names = {"OLD": OLD, "NEW": NEW, "DELETES": DELETES, "ALL": ALL}
    script = f"{begin}; {script}"
    for name, value in names.items():
        script = script.replace(name, value)
    return script.replace("WAY", way)


@pytest.mark.in_process
@pytest.mark.parametrize("way", ["prev", "next"])
@scripts(STALE, list(STALE)[-2:])
def test_old_copies(play: Play, script: str, way: str) -> None:
    play(played(way, script))


# The failed run has noted that the subscription document has lost 7 and 8, but not looked for them in /3.
@pytest.mark.in_process
@pytest.mark.parametrize("way", ["prev", "next"])
def test_old_copy_after_a_walk_whose_end_failed(play: Play, way: str) -> None:
    play(played(way, "/index 10 9 8 7 WAY:/3; crawl DELETES; NEW"))
    with mock.patch("fhcrawl.store.WalkEnds.finish", side_effect=StoreError("disk full")):
        play(f"crawl {DELETES}; code 1")
    play(played(way, "OLD; crawl DELETES; exports; NEW; crawl DELETES; exports; ALL", begin=""))


@pytest.mark.in_process
@pytest.mark.parametrize("way", ["prev", "next"])
@scripts(REMOVED, list(REMOVED)[:1])
def test_removed_documents(play: Play, script: str, way: str) -> None:
    play(played(way, script))
