"""Pages are read once more in the same crawl, to confirm that they were the feed (FHCRAWL_CONFIRM_PAGES)."""

from dataclasses import replace

import pytest

from fhcrawl.logical_feed.confirmation import MOST_DIFFERENCES, Confirmation, agree, dropped
from tests.spiders.walks import Play, scripts

pytestmark = pytest.mark.in_process

BEGIN = "days; confirm; always rss undated; /index 6 5 next:/2; /2 4 3 next:/3; /3 2 1"
TWICE = "/index /2 /3 /index /2 /3"
FOUND = {
    "pages that agree are complete in the first crawl": f"""
        crawl /index; requests {TWICE}; verdict complete; as-of 2010-01-01
        crawl FHCRAWL_RECHECK=; requests /index; verdict complete; as-of 2010-01-02; exports""",
    "an edit between two readings is stored, and confirmed by the next crawl": """
        on /3 /2 4=edited 3 next:/3; crawl /index; has 1 2 3 4 5 6; verdict lossy paged
        detail changed between two readings; exports 1 2 3 4=edited 5 6
        crawl FHCRAWL_RECHECK=; verdict complete; as-of 2010-01-02; exports""",
    "an edit of the subscription document between two readings too": """
        on /3 /index 6 5=edited next:/2; crawl /index; exports 1 2 3 4 5=edited 6; verdict lossy paged
        crawl; verdict complete; exports""",
    "an edit of an entry that a second reading of the subscription document lacks": """
        confirm 1; on /3 /index 8 7 next:/2; on /3 /2 6=edited 5 next:/3; on /3 /3 4 3 next:/4; on /3 /4 2 1
        crawl /index; requests /index /2 /3 /index
        confirm; crawl FHCRAWL_RECHECK=; exports 6:updated=edited; verdict complete""",
    "an entry that moves to a page that was read is found": """
        on /2 /index 6 4 next:/2; on /2 /2 3 2 next:/3; on /2 /3 1; crawl /index; has 1 2 3 4 5 6
        verdict lossy paged""",
    "an entry that deletions hide from both readings is found": """
        on /2 /index 5 4 next:/2; on /2 /2 3 2 next:/3; on /2 /3 1
        on /3 /index 8 7 next:/2; on /3 /2 5 4 next:/3; on /3 /3 3 2 next:/4; on /3 /4 1
        on /3 on /2 /2 3 2 next:/3; on /3 on /2 /3 1
        crawl /index; requests /index /2 /3 /index /2 /3; has 1 3 4 5 6 7 8; verdict lossy paged
        crawl FHCRAWL_RECHECK=; has 1 2 3 4 5 6 7 8; crawl FHCRAWL_RECHECK=; verdict complete""",
    "new entries that push others back are no difference": """
        on /3 /index 7 6 next:/2; on /3 /2 5 4 next:/3; on /3 /3 3 2 next:/4; on /3 /4 1
        crawl /index; has 1 2 3 4 5 6 7; verdict complete""",
    "new entries keep a feed confirmed": """
        crawl /index; /index 7 6 next:/2; /2 5 4 next:/3; /3 3 2 next:/4; /4 1
        crawl FHCRAWL_RECHECK=; exports 7; requests /index /2; verdict complete; as-of 2010-01-02""",
    "first pages that do not join the known ones are confirmed": """
        crawl /index; /index 8 7 next:/2; crawl FHCRAWL_RECHECK=; requests /index /2 /index /2 /3
        verdict complete; as-of 2010-01-01; /2 6 5 next:/3; /3 4 3 next:/4; /4 2 1
        crawl FHCRAWL_RECHECK=; verdict complete; as-of 2010-01-03""",
    "a page that fails is no difference": """
        on /3 /2 500; crawl /index; verdict unknown paged; detail read in full, not confirmed
        /2 4 3 next:/3; crawl FHCRAWL_RECHECK=; verdict complete""",
    "a gap is not confirmed": """
        /3 404; crawl /index; requests /index /2 /3; verdict incomplete http-404 paged
        /3 2 1; crawl; verdict complete""",
    "pages beyond the limit are confirmed by the next crawl": f"""
        confirm 2; crawl /index; requests /index /2 /3 /index /2; verdict unknown paged
        detail read in full, not confirmed; crawl FHCRAWL_RECHECK=; requests /index /3; verdict complete
        crawl reset FHCRAWL_CONFIRM_PAGES=500; requests {TWICE[:12]}; verdict complete""",
    "without a second reading, nothing is confirmed": """
        confirm 0; crawl /index; requests /index /2 /3; verdict unknown paged
        crawl FHCRAWL_RECHECK=; requests /index; verdict unknown paged
        confirm 500; crawl FHCRAWL_RECHECK=; requests /index /index /2 /3; verdict complete""",
    "readings that never agree are not repeated in each crawl": """
        on /3 /2 4=a 3 next:/3; crawl /index; on /3 /2 4=b 3 next:/3; /2 4=c 3 next:/3
        crawl FHCRAWL_RECHECK=; verdict lossy paged; /2 4=d 3 next:/3; crawl FHCRAWL_RECHECK=
        detail in each of 3 crawls; crawl FHCRAWL_RECHECK=; requests /index""",
    "an entry that was deleted is absent after two confirmations": """
        crawl /index; /2 3 2 next:/3; /3 1; crawl; absent; verdict complete; as-of 2010-01-01
        crawl FHCRAWL_RECHECK=; absent 4; verdict complete; as-of 2010-01-03
        crawl FHCRAWL_RECHECK=; requests /index""",
    "also if new entries have pushed the others": """
        crawl /index; /index 7 6 next:/2; /2 5 3 next:/3; /3 2 1; crawl
        /index 8 7 next:/2; /2 6 5 next:/3; /3 3 2 next:/4; /4 1; crawl FHCRAWL_RECHECK=; absent 4
        verdict complete""",
    "one old copy of the feed deletes nothing": """
        crawl /index FHCRAWL_DELETE_ABSENT=1; /index 7 6 next:/2; /2 5 4 next:/3; /3 3 2 next:/4; /4 1
        crawl FHCRAWL_DELETE_ABSENT=1; /index 6 5 next:/2; crawl FHCRAWL_DELETE_ABSENT=1; exports
        /index 7 6 next:/2; crawl FHCRAWL_DELETE_ABSENT=1; exports; verdict complete""",
    "a page before archives is checked alone, and deletions in archives are absent": """
        /a 7 6 next:/b; /b 5 4 prev:/c archive; /c 3 2 1 archive; crawl /a; crawl; crawl; verdict complete
        /c 3 1 archive; crawl; crawl; crawl; absent 2; verdict complete""",
    "a feed that counts its entries, and shows all of them, is complete": """
        /plain 2 1 total:2; crawl /plain; requests /plain /plain; verdict complete; crawl; requests /plain""",
    "also if it was not confirmed before": """
        confirm 0; /plain 2 1 total:2; crawl /plain; requests /plain; verdict unknown no-history
        confirm 500; crawl; requests /plain /plain; verdict complete""",
    "a feed that counts more than it shows is not": """
        /more 2 1 total:3; crawl /more; requests /more; verdict unknown no-history""",
}


@scripts(FOUND, ["an entry that was deleted is absent after two confirmations"])
def test_confirmation(play: Play, script: str) -> None:
    play(BEGIN)
    play(script)


def encoded(page: str) -> bytes:
    """A page whose entries are letters; a capital has another content than the small one."""
    return bytes(8) + b"".join(c.lower().encode() * 8 + c.encode() * 4 for c in page)


@pytest.mark.parametrize(
    ("before", "now", "agrees", "lost"),
    [
        *(("abc", now, True, "") for now in ("abc", "xab", "xya", "xyz", "abcx", "xabc")),
        *(("abc", now, False, "") for now in ("aBc", "acb", "axbc")),
        *(("abc", now, False, lost) for now, lost in (("ab", "c"), ("bc", "a"), ("xbc", "a"), ("xa", "b"))),
        ("abc", "bcd", False, "a"),
        ("abc", "", False, "abc"),
        ("", "a", False, ""),
        ("", "", True, ""),
    ],
)
def test_agreement_of_two_readings(before: str, now: str, agrees: bool, lost: str) -> None:
    assert agree(encoded(before), encoded(now)) == agrees
    assert dropped(encoded(before), encoded(now)) == {c.encode() * 8 for c in lost}


def test_loss_is_settled_by_a_later_walk_alone() -> None:
    confirmed = Confirmation().after_agreement(3)
    assert confirmed.is_settled
    lost = confirmed.after_doubt(4)
    assert not lost.after_agreement(4).is_settled
    assert lost.after_agreement(5).is_settled
    assert lost.is_proof
    assert replace(confirmed, left=5).after_doubt(4).left is None


def test_readings_that_never_agree_are_confirmed_rarely() -> None:
    known = Confirmation()
    for _ in range(MOST_DIFFERENCES):
        assert known.is_due("2010-01-02T00:00:00Z")
        known = known.after_difference("2010-01-01T00:00:00Z")
    assert not known.is_due("2010-01-02T00:00:00Z")
    assert known.is_due("2010-02-02T00:00:00Z")
    assert known.is_due("2009-01-01T00:00:00Z")
