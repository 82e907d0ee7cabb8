"""Unusual markup is read, or the verdict reports that it is not."""

import pytest

from tests.feeds import E, atom, rss, tombstone
from tests.projects import Project
from tests.server import FeedServer
from tests.spiders.walks import Play

pytestmark = pytest.mark.in_process
ENTRY = "<entry><id>in</id><title>t</title></entry>"
# What a DOCTYPE declares, what refers to it, and what becomes of that.
ENTITIES = {
    "internal": (
        f'[<!ENTITY e "{ENTRY}">]',
        *("&e;", "exports n old; verdict incomplete unresolved-entities; requests /index /a1"),
    ),
    "of HTML": (
        '[<!ENTITY eacute "&#233;">]',
        *("<entry><id>in</id><title>&eacute;</title></entry>", "exports n in old; verdict complete"),
    ),
    "external": (
        '[<!ENTITY e SYSTEM "/more">]',
        *("&e;", "exports n old; verdict incomplete unresolved-entities; requests /index /a1"),
    ),
    "elsewhere": (
        'SYSTEM "/dtd"[]',
        *("&e;", "exports n old; verdict incomplete unresolved-entities; requests /index /a1"),
    ),
}


@pytest.mark.parametrize(("declared", "text", "claim"), ENTITIES.values(), ids=ENTITIES)
def test_entities_that_are_not_read_are_a_gap(
    server: FeedServer, play: Play, declared: str, text: str, claim: str
) -> None:
    document = atom([E("n")], prev="/a1").replace("</feed>", f"{text}</feed>")
    server.serve("/index", document.replace("<feed", f"<!DOCTYPE feed {declared}><feed", 1))
    play(f"/a1 old; subscribe /index; crawl /index; {claim}")


def json_feed(*ids: bytes) -> bytes:
    items = b",".join(b'{"id":"%s","content_text":"x"}' % each for each in ids)
    return b'{"version":"https://jsonfeed.org/version/1.1","items":[%s]}' % items


def test_ids_that_differ_in_odd_characters_are_as_many_entries(server: FeedServer, project: Project) -> None:
    raw = (
        *(b"a", b"a\\u0000", b"a\\u0001", b"a\xfe", b"a\xff", b"a\\ud800", b"a\xef\xbf\xbd", b"a\xc2\xa0"),
        b"\\u001ca",
    )
    spaces = [E(each) for each in ("a", "a\xa0", "\u3000a", "a\u2028", "a\x85", "\ta \n")]
    server.serve("/json", json_feed(*raw, b" a\\n"), etag=False)
    server.serve("/atom", atom(spaces, head=tombstone("gone\xa0", "2003-12-13T18:30:02Z")), etag=False)
    server.serve("/rss", rss(spaces), etag=False)
    parts = "".join(f"--b\r\nContent-ID: <a{each}>\r\n\r\nx\r\n" for each in ("", "\0", "\x01", "\xa0", " "))
    multipart = (parts + "--b\r\nContent-ID: <a").encode() + b"\xa0>\r\n\r\nx\r\n--b--\r\n"
    server.serve("/multipart", multipart, content_type="multipart/mixed; boundary=b", etag=False)
    feeds = [server.url(f"/{name}") for name in ("json", "atom", "rss", "multipart")]
    run = project.crawl(*feeds)
    assert "Traceback" not in run.log
    numbers = {feed["feed"].rpartition("/")[2]: feed["entries"] for feed in project.feeds()}
    assert numbers == {"json": len(raw), "atom": 5, "rss": 5, "multipart": 5}
    assert len(run.items) == sum(numbers.values())
    assert project.crawl(*feeds).items == []


@pytest.mark.parametrize("title", ["t", "x" * 2**20], ids=["small", "large"])
def test_items_outside_of_the_channel_are_entries(server: FeedServer, play: Play, title: str) -> None:
    outside = "<item><guid>beside</guid></item><items><item><guid>inside</guid></item></items>"
    second = "<channel><item><guid>second</guid></item></channel>"
    document = rss([E("1")], prev="/a1").replace("</channel>", f"</channel>{outside}{second}")
    server.serve("/index", document.replace("<title>title", f"<title>{title}", 1))
    play("/a1 0 rss; crawl /index; exports 1 beside inside second 0; verdict complete")
