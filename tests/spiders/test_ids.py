"""What identifies the entries of a feed, and entries of one document that share an id."""

import pytest

from tests.spiders.walks import Play, scripts

pytestmark = pytest.mark.in_process
ARCHIVED = '<a:link xmlns:a="http://www.w3.org/2005/Atom" rel="prev-archive" href="/old"/>'
COMPLETE = '<fh:complete xmlns:fh="http://purl.org/syndication/history/1.0"/>'
SITE = "https://example.org/status"


def item(title: str, guid: str = "", link: str = "", text: str = "text", day: int = 1) -> str:
    named = f"<guid isPermaLink='false'>{guid}</guid>" if guid else ""
    linked = f"<link>{link}</link>" if link else ""
    date = f"<pubDate>{day:02} Jun 2025 10:00:00 GMT</pubDate>"
    return f"<item><title>{title}</title>{named}{linked}{date}<description>{text}</description></item>"


def channel(*items: str, head: str = COMPLETE) -> str:
    return f"raw <rss><channel><title>T</title><link>{SITE}</link>{head}{''.join(items)}</channel></rss>"


def json_feed(*ids: str) -> str:
    items = ",".join(f'{{"id":{one},"content_text":"text {n}"}}' for n, one in enumerate(ids))
    return f'raw {{"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{items}]}}'


SHARED = "entries with different content share this id"


@pytest.mark.parametrize(
    ("document", "entries", "is_shared"),
    [
        # One guid, or one link, and other content.
        (channel(item("A", "g", text="Autumn."), item("A", "g", text="Disorder.")), 2, True),
        (channel(item("A", "g", day=1), item("A", "g", day=2)), 2, True),
        (channel(item("A", link="/a"), item("B", link="/a"), item("C", link="/c")), 3, True),
        (channel(*(item("A", "g", f"/{n}") for n in range(8)), item("B", "h")), 9, True),
        # A shared id whose link is shared too.
        (channel(*(item(each, "g", "/1") for each in "ABC"), item("A", "g", "/2")), 4, True),
        (channel(*(item("A", "g", f"/{n}", text) for n in "12" for text in "ab")), 4, True),
        ("1=a 1=b complete", 2, True),
        # The same item twice, among others; two versions of an entry.
        (channel(item("A", "g"), item("B", "g"), item("A", "g")), 2, True),
        (channel(item("A", "g"), item("A", "g")), 1, False),
        ("1=a@2003 1=b@2004 complete", 1, False),
        # No time orders the second and the third.
        ("1=a@2003 1=b@2004 1=a@2004 complete", 2, True),
        # The channel's own link is no id.
        (channel(item("A", link=SITE), item("B", link=SITE), item("C", link=f"{SITE}/")), 3, False),
        (channel(item("A", link=f"{SITE}#1"), item("B", link=f"{SITE}#2")), 2, False),
    ],
)
def test_entries_that_share_an_id_are_told_apart(
    play: Play, document: str, entries: int, is_shared: bool
) -> None:
    reported = f"{'logs' if is_shared else 'lacks'} {SHARED}"
    play(f"/f {document}; crawl /f; {reported}; verdict complete; stored /f={entries}")
    play(f"crawl; exports; lacks {SHARED}; verdict complete; stored /f={entries}")


G, H = item("A", "g", "/1"), item("B", "h", "/2")
BOTH = item("A", link=SITE, day=1), item("B", link=SITE, day=2)
FIRST = [item(str(n), f"g{n}") for n in range(3)]
IDS = {
    "an example and the number are logged once": f"""
        /f {channel(item("A", "g"), *(item(str(n), f"game-{n % 2}") for n in range(4)))}; crawl /f
        logs game-0: {SHARED}; logs (and 1 more); stat fhcrawl/entry/shared 4; crawl; lacks {SHARED}""",
    "seen alone in a later document they have the same ids": f"""
        /f {channel(*BOTH, head="")}; crawl /f; /f {channel(BOTH[1], head="")}; crawl; exports""",
    # The choice is kept.
    "the user chooses what identifies the entries": f"""
        /f {channel(G, item("A", "g", "/2"), head=ARCHIVED)}
        /old {channel(item("B", "g", "/3"), item("C", "g", "/4"), head="")}; crawl /f
        verdict complete; lacks identified; crawl ids=link; stat fhcrawl/entry/new 4
        logs its entries are now identified by their link, and no longer by their id; verdict complete
        crawl; exports; requests /f
        /f {channel(item("A", "g", "/1", "edited"), head="")}; crawl; stat fhcrawl/entry/updated 1""",
    "other ids are no hole": f"""
        /f {channel(G, H, head="")}; crawl /f; crawl ids=link; verdict unknown no-history""",
}


@scripts(IDS)
def test_ids(play: Play, script: str) -> None:
    play(script)


@pytest.mark.parametrize(
    ("before", "after", "holes"),
    [
        (FIRST, [item("A", "g"), item("B", "g"), *FIRST], 0),
        ([item("A", "g"), *FIRST], [item("B", "g"), item("A", "g"), *FIRST], 0),
        # All that were shown become entries with a shared id.
        ([item("A", "g")], [item("B", "g"), item("A", "g")], 0),
        (FIRST, ["<item><author>nobody</author></item>", *FIRST], 1),
    ],
)
def test_lost_entry_ends_the_span_of_a_plain_feed(
    play: Play, before: list[str], after: list[str], holes: int
) -> None:
    play(f"/f {channel(*before, head='')}; crawl /f; /f {channel(*after, head='')}; crawl; holes {holes}")
    play(f"crawl; holes {holes}")
