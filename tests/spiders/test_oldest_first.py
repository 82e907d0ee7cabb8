"""Paged feeds with the oldest entries first, which grow at the far end, and other last pages."""

import pytest

from tests.spiders.walks import Play, scripts

pytestmark = pytest.mark.in_process

# Entries of two years on each page; the first page never changes.
BEGIN = """
    FORMAT; /index 1@2001 2@2002 next:/2; /2 3@2003 4@2004 next:/3; /3 5@2005 6@2006; crawl /index
    exports 1 2 3 4 5 6"""
GROWS = {
    "a new last page is read in the next run": """
        /3 5@2005 6@2006 next:/4; /4 7@2007 8@2008; crawl; requests /index /3 /4; exports 7 8
        /4 7@2007 8@2008 next:/5; /5 9@2009 10@2010; crawl; requests /index /4 /5; exports 9 10
        crawl; requests /index /5; exports; stat fhcrawl/check/unchanged 1""",
    "so are several": """
        /3 5@2005 6@2006 next:/4; /4 7@2007 8@2008 next:/5; /5 9@2009 next:/6; /6 10@2010
        crawl; requests /index /3 /4 /5 /6; exports 7 8 9 10; crawl; requests /index /6; exports""",
    "so are entries on the last page itself": """
        /3 5@2005 6@2006 7@2007; crawl; requests /index /3; exports 7; crawl; requests /index /3; exports
        /3 5@2005 6@2006 7@2007 next:/4; /4 8@2008; crawl; requests /index /3 /4; exports 8""",
    "an entry that is out of order is no obstacle": """
        /3 5@2005 6@2006 next:/4; /4 7@2007 0@2000 next:/5; /5 8@2008; crawl; exports 7 0 8
        /5 8@2008 9@2009; crawl; requests /index /5; exports 9""",
    "a new page that cannot be read is a gap until it can": """
        /3 5@2005 6@2006 next:/4; crawl; requests /index /3 /4; verdict incomplete http-404 paged
        /4 7@2007; crawl; exports 7; verdict unknown paged; crawl; requests /index /4""",
    "a last page that cannot be requested is the last page still": """
        /3 503; crawl; exports; /3 5@2005 6@2006 next:/4; /4 7@2007; crawl; exports 7""",
    "an entry that is edited, and moves to the end, is the newer one": """
        always rss undated; /3 5 6; crawl; /3 5 6 next:/4; /4 7 3=edited; crawl
        exports 7 3:updated=edited""",
    "a last page that links back to the first one is a loop": """
        /3 5@2005 6@2006 next:/index; crawl; verdict incomplete loop paged""",
    "a count that has changed requests no page twice": """
        /index 1@2001 2@2002 total:6 next:/2; crawl
        /index 1@2001 2@2002 total:8 next:/2; /3 5@2005 6@2006 next:/4; /4 7@2007 8@2008
        crawl FHCRAWL_RECHECK=; requests /index /2 /3 /4; exports 7 8; verdict unknown paged""",
    "pages that are turned round are read in full, and then only the first one": """
        /index 6@2006 5@2005 next:/2; /2 4@2004 3@2003 next:/3; /3 2@2002 1@2001; crawl
        crawl; requests /index; exports""",
}
# Their last page is not requested.
OTHERS = {
    "the newest first": "/index 6@2006 5@2005 next:/2; /2 4@2004 3@2003 next:/3; /3 2@2002 1@2001",
    "ascending on each page only": "/index 5@2005 6@2006 next:/2; /2 3@2003 4@2004 next:/3; /3 1@2001 2@2002",
    "ascending on the first pages only": """
        /index 1@2001 next:/2; /2 6@2006 next:/3; /3 5@2005 next:/4; /4 4@2004""",
    "without times": "always rss undated; /index 1 2 next:/2; /2 3 4 next:/3; /3 5 6",
    "all at one time": "/index 1@2001 next:/2; /2 2@2001 next:/3; /3 3@2001",
    "archives": "/index 1@2001 prev:/2; /2 2@2002 prev:/3 archive; /3 3@2003 archive",
}
BOOKS = "/index 6 5 next:/2 last:/x; /2 4 3 next:/3 last:/x; /3 2 1 last:/x"
LAST = {
    "that has entries of other pages does not count": """
        /x 3 2 last:/x; crawl /index; requests /index /2 /3 /x; crawl; crawl; verdict complete""",
    "is requested once": """
        /x 3 2 last:/x; crawl /index; crawl FHCRAWL_RECHECK=; requests /index""",
    "that has others has them stored, and is the reason": """
        /x 2 0 last:/x; crawl /index; exports 6 5 4 3 2 1 0; gap contradictory-links /x; crawl; crawl
        verdict incomplete contradictory-links paged; requests /index /2 /3""",
    "that is missing is the reason": """
        crawl /index; crawl; requests /index /2 /3; verdict incomplete http-404 paged; gap http-404 /x""",
    "that names yet another one is not followed": """
        /x 2 1 next:/y last:/y; /y 0 last:/x; crawl /index; requests /index /2 /3 /x; crawl
        verdict complete""",
    "that is no feed is the reason": "/x html; crawl /index; verdict incomplete html paged",
    "that a `next` reaches later is a page": """
        /x 2 0; crawl /index; /3 2 1 next:/x last:/x; crawl /index reset; crawl /index reset
        verdict complete""",
}
KNOWN = {
    "a last page that is the first one, or another one": """
        /index 6 5 next:/2 last:/LAST; /2 4 3 next:/3 last:/LAST; /3 2 1 last:/LAST; crawl /index
        requests WALK; crawl; crawl; verdict complete""",
}
ONE = """
    days; /index 2 1 last:/x; /x 2 1 first:/index last:/x; crawl /index; requests /index /x
    crawl; crawl /index reset; verdict complete"""


@pytest.mark.parametrize("form", ["rss", "atom"])
@scripts(GROWS, list(GROWS)[:1])
def test_growth_at_the_far_end(play: Play, script: str, form: str) -> None:
    always = "always rss" if form == "rss" else "always"
    play(f"{BEGIN.replace('FORMAT', always)}\n{script}")


@scripts(OTHERS)
def test_other_feeds_get_no_additional_requests(play: Play, script: str) -> None:
    play(f"{script}\ncrawl /index; crawl; requests /index; crawl; requests /index")


@scripts(LAST)
def test_a_last_page(play: Play, script: str) -> None:
    play(f"days; {BOOKS}\n{script}")


# Pages that call themselves the last one are; that is so for `/index` here.
@pytest.mark.parametrize(("last", "walk"), [("2", "/index /2")])
def test_a_last_page_that_was_read(play: Play, last: str, walk: str) -> None:
    [script] = KNOWN.values()
    play("days; " + script.replace("LAST", last).replace("WALK", walk))


def test_a_last_page_of_one_page(play: Play) -> None:
    play(ONE)
