"""What documents say in odd ways: it is read, or the verdict says that it is not."""

import pytest

from tests.feeds import E, atom, rss, tombstone
from tests.projects import Project
from tests.server import FeedServer

pytestmark = pytest.mark.in_process
ENTRY = "<entry><id>in entity</id><title>t</title></entry>"
LINK = "<link rel='prev-archive' href='/a1'/>"


def declaring(entities: str, document: str, external: str = "") -> str:
    return document.replace("<feed", f"<!DOCTYPE feed {external}[{entities}]><feed", 1)


def with_references(document: str, text: str) -> str:
    return document.replace("</feed>", f"{text}</feed>")


ENTITIES = {
    "entry": (f'<!ENTITY e "{ENTRY}">', "&e;", "", "complete"),
    "link": (f'<!ENTITY e "{LINK}">', "&e;", "", "complete"),
    "text": ('<!ENTITY e "in entity">', "<entry><id>&e;</id><title>t</title></entry>", "", "complete"),
    "external": ('<!ENTITY e SYSTEM "/more">', "&e;", "", "unresolved-entities"),
    "elsewhere": ("", "&e;", 'SYSTEM "/dtd"', "unresolved-entities"),
    "too long": (f'<!ENTITY e "{ENTRY * 100}">', "&e;" * 1000, "", "too-large"),
}


def test_entities_are_resolved_or_are_a_reason(server: FeedServer, project: Project) -> None:
    server.serve("/a1", atom([E("old")]))
    for name, (entities, text, external, _) in ENTITIES.items():
        document = atom([E("n")], prev=None if name == "link" else "/a1")
        server.serve(f"/{name[:3]}", declaring(entities, with_references(document, text), external))
    feeds = {name: server.url(f"/{name[:3]}") for name in ENTITIES}
    project.scrapy("subscribe", feeds["too long"])
    run = project.crawl(*feeds.values())
    assert "Traceback" not in run.log
    assert not {"/more", "/dtd"} & set(server.asked())
    found = {(item["feed"], item["id"]) for item in run.items}
    verdicts = {feed["feed"]: (feed["verdict"], feed["reasons"]) for feed in project.feeds()}
    for name, (*_, expected) in ENTITIES.items():
        verdict, reasons = verdicts[feeds[name]]
        if expected == "too-large":
            assert [reason["kind"] for reason in reasons] == ["not-read", "too-large"]
            continue
        assert {(feeds[name], "n"), (feeds[name], "old")} <= found
        assert ((feeds[name], "in entity") in found) == (name in ("entry", "text"))
        kinds = [] if expected == "complete" else [expected]
        assert (verdict, [reason["kind"] for reason in reasons]) == (
            "incomplete" if kinds else "complete",
            kinds,
        )


def json_feed(*ids: bytes) -> bytes:
    items = b",".join(b'{"id":"%s","content_text":"x"}' % each for each in ids)
    return b'{"version":"https://jsonfeed.org/version/1.1","items":[%s]}' % items


def test_ids_that_differ_in_odd_characters_are_as_many_entries(server: FeedServer, project: Project) -> None:
    raw = (
        *(b"a", b"a\\u0000", b"a\\u0001", b"a\xfe", b"a\xff", b"a\\ud800", b"a\xef\xbf\xbd", b"a\xc2\xa0"),
        b"\\u001ca",
    )
    server.serve("/json", json_feed(*raw, b" a\\n"))
    spaces = ["a", "a\xa0", "\u3000a", "a\u2028", "a\x85", "\ta \n"]
    server.serve(
        "/atom", atom([E(each) for each in spaces], head=tombstone("gone\xa0", "2003-12-13T18:30:02Z"))
    )
    server.serve("/rss", rss([E(each) for each in spaces]))
    parts = "".join(f"--b\r\nContent-ID: <a{each}>\r\n\r\nx\r\n" for each in ("", "\0", "\x01", "\xa0", " "))
    multipart = (parts + "--b\r\nContent-ID: <a").encode() + b"\xa0>\r\n\r\nx\r\n--b--\r\n"
    server.serve("/multipart", multipart, content_type="multipart/mixed; boundary=b")
    feeds = [server.url(f"/{name}") for name in ("json", "atom", "rss", "multipart")]
    run = project.crawl(*feeds)
    assert "Traceback" not in run.log
    numbers = {feed["feed"].rpartition("/")[2]: feed["entries"] for feed in project.feeds()}
    assert numbers == {"json": len(raw), "atom": 5, "rss": 5, "multipart": 5}
    assert len(run.items) == sum(numbers.values())
    for path in ("/json", "/atom", "/rss", "/multipart"):
        server.answers[path].etag = False
    assert project.crawl(*feeds).items == []


def test_items_outside_of_the_channel_are_entries(server: FeedServer, project: Project) -> None:
    outside = "<item><guid>beside</guid></item><items><item><guid>inside</guid></item></items>"
    second = "<channel><item><guid>second</guid></item></channel>"
    document = rss([E("1")], prev="/a1").replace("</channel>", f"</channel>{outside}{second}")
    server.serve("/small", document)
    server.serve("/large", document.replace("<title>title", f"<title>{'x' * 2**20}", 1))
    server.serve("/a1", rss([E("0")]))
    run = project.crawl(server.url("/small"), server.url("/large"))
    found = {(item["feed"].rpartition("/")[2], item["id"]) for item in run.items}
    ids = ("1", "beside", "inside", "second", "0")
    assert found == {(feed, each) for feed in ("small", "large") for each in ids}
    assert run.stats["fhcrawl/feed/complete"] == 2
