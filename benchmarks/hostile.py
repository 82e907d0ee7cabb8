"""What documents cost that are made to use up memory or time, with a feed beside each in the same crawl.

Run from the repository's root: python -m benchmarks.hostile [-k PART OF A KIND] [--mib 32]

Peak is the most memory that the crawl's process and the one that reads documents had, summed; CPU is that of
the crawl's own process, its start included; feeds is what `scrapy feeds` takes afterwards.
"""

import argparse
import gzip
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.measuring import Watch
from tests.feeds import E, atom, tombstone
from tests.projects import CPU, USER_AGENT, Project
from tests.server import Answer, FeedServer

MIB = 1024**2
ATOM_HEAD = (
    '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:fh="http://purl.org/syndication/history/1.0"'
    ' xmlns:at="http://purl.org/atompub/tombstones/1.0">'
    "<title>t</title><id>urn:feed</id><updated>2003-12-13T18:30:02Z</updated>"
)
NUMBER = "%d"
ENTRY = "<entry><id>{}</id><title>t</title><updated>2003-12-13T18:30:02Z</updated>{}</entry>"
RSS_HEAD = '<rss version="2.0"><channel><title>t</title><link>http://example.org/</link>'
JSON_HEAD = '{"version":"https://jsonfeed.org/version/1.1","title":"t","items":['
INDEX_HEAD = '{"id":"x","createdAt":"2020-01-01T00:00:00Z","pages":['
JSON, XML, HTML = "application/json", "application/atom+xml", "text/html"
BOUNDARY = "multipart/mixed; boundary=b"


@dataclass(frozen=True)
class Hostile:
    """A kind of document.

    :param make: the document, by its size in octets, which it does not exceed
    :param path: where a server has it; a feed is at /hostile
    :param link: its Link header
    """

    make: Callable[[int], bytes]
    content_type: str
    path: str = "/hostile"
    link: str | None = None


def repeated(head: str, unit: str, tail: str, size: int) -> bytes:
    """A unit as often as it fits between a head and a tail; a comma behind the last one is left out."""
    number = (size - len(head.encode()) - len(tail.encode())) // len(unit.encode())
    return (head + (unit * number).removesuffix(",") + tail).encode()


def numbered(head: str, unit: str, tail: str, size: int) -> bytes:
    longest = len(unit.encode()) + 8
    number = (size - len(head.encode()) - len(tail.encode())) // longest
    units = "".join(unit.replace(NUMBER, str(n)) for n in range(number))
    return (head + units.removesuffix(",") + tail).encode()


def nested(head: str, begin: str, end: str, tail: str, size: int) -> bytes:
    number = (size - len(head) - len(tail)) // (len(begin) + len(end))
    return (head + begin * number + end * number + tail).encode()


def of(unit: str, head: str, tail: str) -> Callable[[int], bytes]:
    write = numbered if NUMBER in unit else repeated
    return lambda size: write(head, unit, tail, size)


def atom_entry(inside: str) -> tuple[str, str]:
    begin, _, end = ENTRY.format("first", "\0").partition("\0")
    return ATOM_HEAD + begin + inside, end + ENTRY.format("second", "") + "</feed>"


def index(unit: str) -> Callable[[int], bytes]:
    return of(unit, INDEX_HEAD, "]}")


def json_feed(unit: str) -> Callable[[int], bytes]:
    return of(unit, JSON_HEAD, "]}")


def json_item(head: str, unit: str, tail: str) -> Callable[[int], bytes]:
    return of(unit, f'{JSON_HEAD}{{"id":"first"}},{{"id":"second",{head}', tail + "}]}")


def of_json(head: str, unit: str, tail: str) -> Hostile:
    return Hostile(of(unit, head, tail), JSON)


def of_atom(head: str, unit: str, tail: str) -> Hostile:
    return Hostile(of(unit, head, tail), XML)


def of_robots(unit: str) -> Hostile:
    return Hostile(of(unit, "User-agent: *\n", "\nAllow: /\n"), "text/plain", "/robots.txt")


def _tags(size: int) -> bytes:
    item = '{"id":"%d","tags":[' + '"ab",' * 1000 + '"z"]},'
    return numbered(JSON_HEAD, item, "]}", size)


FOLDER = "folder of files"
KINDS: dict[str, Hostile] = {
    "index, a million pages": Hostile(index('"a",'), JSON),
    "index, pages that differ": Hostile(index('"a%d",'), JSON),
    "index, pages in a deep folder": Hostile(index('"a%d",'), JSON, "/" + "d" * 1900),
    "index, long URLs": Hostile(
        lambda size: numbered(INDEX_HEAD, f'"http://127.0.0.1/{"a" * (size // 90_000)}%d",', "]}", size), JSON
    ),
    "index, one long URL": Hostile(of("a", INDEX_HEAD + '"', '"]}'), JSON),
    "index, long id": Hostile(
        lambda size: repeated(
            '{"pages":["a"' + ',"a"' * 90_000 + '],"createdAt":"2020","id":"', "x", '"}', size
        ),
        JSON,
    ),
    "index, properties beside the pages": of_json(INDEX_HEAD + '"a"],"x":[', "[],", "]}"),
    "index of the 2015 draft": of_json('{"id":"x","started":0,"uris":[', '"a%d",', "]}"),
    "index, cut off": of_json(INDEX_HEAD, '"a",', ""),
    "JSON, empty arrays": of_json("[", "[],", "]"),
    "JSON, empty arrays in an object": of_json('{"a":[', "[],", "]}"),
    "JSON, empty objects": of_json('{"a":[', "{},", "]}"),
    "JSON, small objects": of_json('{"a":[', '{"a":0},', "]}"),
    "JSON, numbers": of_json('{"a":[', "10,", "]}"),
    "JSON, one long number": of_json('{"a":', "1", "}"),
    "JSON, strings": of_json('{"a":[', '"ab",', "]}"),
    "JSON, properties": of_json("{", '"%d":0,', "}"),
    "JSON, levels": Hostile(lambda size: nested('{"a":', "[", "]", "}", size), JSON),
    "JSON, one long string": of_json('{"a":"\U0001f600', "x", '"}'),
    "JSON, one long escaped string": of_json('{"a":"\\ud83d\\ude00', "\\n", '"}'),
    "JSON, white space": of_json("{", " ", "}"),
    "JSON, no UTF-8": Hostile(lambda size: b'{"a":"' + b"\xff" * (size - 8) + b'"}', JSON),
    "JSON Feed, empty items": Hostile(json_feed("{},"), JSON),
    "JSON Feed, items with ids": Hostile(json_feed('{"id":"%d"},'), JSON),
    "JSON Feed, items that are numbers": Hostile(json_feed("0,"), JSON),
    "JSON Feed, tags of an item": Hostile(json_item('"tags":[', '"ab",', "]"), JSON),
    "JSON Feed, tags of many items": Hostile(_tags, JSON),
    "JSON Feed, attachments of an item": Hostile(json_item('"attachments":[', '{"url":"a"},', "]"), JSON),
    "JSON Feed, authors": of_json(JSON_HEAD + '{"id":"1"},{"id":"2"}],"authors":[', '{"name":"a%d"},', "]}"),
    "JSON Feed, one long text": Hostile(json_item('"content_text":"\U0001f600', "x", '"'), JSON),
    "JSON Feed, long texts": Hostile(
        json_feed('{"id":"%d","content_text":"' + "a, b [c] {d} " * 1000 + '"},'), JSON
    ),
    "Atom, empty entries": of_atom(ATOM_HEAD, "<entry/>", "</feed>"),
    "Atom, entries with ids": of_atom(ATOM_HEAD, ENTRY.format("%d", ""), "</feed>"),
    "Atom, entries with short ids": of_atom(ATOM_HEAD, "<entry><id>%d</id></entry>", "</feed>"),
    "Atom, tombstones": of_atom(ATOM_HEAD, tombstone("%d", "2020-01-01T00:00:00Z"), "</feed>"),
    "Atom, short tombstones": of_atom(ATOM_HEAD, '<at:deleted-entry ref="%d"/>', "</feed>"),
    "Atom, tombstones behind an entry": of_atom(
        ATOM_HEAD + ENTRY.format("first", ""), '<at:deleted-entry ref="%d" when="2020-01-01"/>', "</feed>"
    ),
    "Atom, categories of an entry": of_atom(atom_entry("")[0], '<category term="%d"/>', atom_entry("")[1]),
    "Atom, categories of the feed": of_atom(ATOM_HEAD, '<category term="a"/>', "</feed>"),
    "Atom, attributes": of_atom(atom_entry("<content ")[0], 'a%d="" ', "/>" + atom_entry("")[1]),
    "Atom, namespaces": of_atom(atom_entry("<content ")[0], 'xmlns:a%d="b" ', "/>" + atom_entry("")[1]),
    "Atom, links of the feed": of_atom(ATOM_HEAD, '<link rel="a%d" href="b"/>', "</feed>"),
    "Atom, relations of a link": of_atom(ATOM_HEAD + '<link href="b" rel="', "a%d ", '"/></feed>'),
    "Atom, levels": Hostile(
        lambda size: nested(atom_entry("")[0], "<x>", "</x>", atom_entry("")[1], size), XML
    ),
    "Atom, one long text": of_atom(atom_entry("<content>")[0], "x", "</content>" + atom_entry("")[1]),
    "Atom, one long attribute": of_atom(atom_entry('<link href="')[0], "x", '"/>' + atom_entry("")[1]),
    "Atom, long URL": of_atom(ATOM_HEAD + '<link rel="prev-archive" href="', "x", '"/></feed>'),
    "Atom, comments": of_atom(ATOM_HEAD, "<!---->", "</feed>"),
    "Atom, processing instructions": of_atom(ATOM_HEAD, "<?a?>", "</feed>"),
    "Atom, entities": of_atom(
        '<!DOCTYPE feed [<!ENTITY a "b">]>' + atom_entry("<title>")[0], "&a;", "</title>" + atom_entry("")[1]
    ),
    "Atom, declared entities": of_atom("<!DOCTYPE feed [", '<!ENTITY a%d "b">', "]>" + ATOM_HEAD + "</feed>"),
    "Atom, cut off": of_atom(ATOM_HEAD, "<entry><id>%d", ""),
    "Atom, ampersands": of_atom(ATOM_HEAD, "<entry><id>%d</id>a & b</entry>", "</feed>"),
    "Atom, brackets": of_atom(ATOM_HEAD, "<", ""),
    "Atom, a root without an end": of_atom("<feed ", "a ", ""),
    "Atom, quotes in a root": of_atom("<feed ", "''", "><entry/></feed>"),
    "RSS, a tag of quotes beside a misspelt namespace": of_atom(
        '<rss xmlns:dc="https://purl.org/dc/elements/1.1"><a ', "''", "/></rss>"
    ),
    "Atom, no UTF-8": Hostile(lambda size: ATOM_HEAD.encode() + b"\xc3" * (size - 500) + b"</feed>", XML),
    "Atom, UTF-16": Hostile(
        lambda size: repeated(ATOM_HEAD, "<entry/>", "</feed>", size // 2 - 2).decode().encode("utf-16"), XML
    ),
    "RSS, empty items": of_atom(RSS_HEAD, "<item/>", "</channel></rss>"),
    "RSS, items with guids": of_atom(RSS_HEAD, "<item><guid>%d</guid></item>", "</channel></rss>"),
    "RSS, categories of an item": of_atom(
        RSS_HEAD + "<item><guid>1</guid>", "<category>a</category>", "</item></channel></rss>"
    ),
    "RSS, cut off": of_atom(RSS_HEAD, "<item><guid>%d</guid>", ""),
    "XML of nothing": of_atom("<a>", "<a/>", "</a>"),
    "spaces": of_atom("", " ", ""),
    "zeros": of_atom("", "\0", ""),
    "text": of_atom("", "a b ", ""),
    "HTML, links": Hostile(of('<a href="%d">a</a>', "<!DOCTYPE html><html><body>", "</body></html>"), HTML),
    "HTML, links to feeds": Hostile(
        of(
            '<link rel="alternate" type="text/xml" href="x:%d">',
            "<!DOCTYPE html><html><head>",
            "</head></html>",
        ),
        HTML,
    ),
    "HTML, long base": Hostile(
        lambda size: repeated(
            f'<!DOCTYPE html><html><head><base href="http://127.0.0.1/{"a" * (MIB // 2)}/">',
            '<link rel="alternate" type="text/xml" href="a:1">',
            "</head></html>",
            size,
        ),
        HTML,
    ),
    "HTML, attributes": Hostile(of("a%d ", "<!DOCTYPE html><html><body ", "></body></html>"), HTML),
    "HTML, levels": Hostile(of("<b>", "<!DOCTYPE html><html><body>", ""), HTML),
    "multipart, empty parts": Hostile(of("--b\r\n\r\n\r\n", "", "--b--"), BOUNDARY),
    "multipart, parts with ids": Hostile(
        of("--b\nContent-ID: %d\nOperation-Type: http-equiv=PUT\n\na\n", "", "--b--"), BOUNDARY
    ),
    "multipart, headers of a part": Hostile(of("a%d:b\n", "--b\n", "\nx\n--b--"), BOUNDARY),
    "multipart, links of a part": Hostile(of("<a%d>;rel=about,", "--b\nLink: ", "\n\nx\n--b--"), BOUNDARY),
    "multipart, no boundary": Hostile(of("-", "", ""), BOUNDARY),
    "multipart, one part": Hostile(of("\x80", "--b\n\n", "\n--b--"), BOUNDARY),
    "robots.txt, rules": of_robots("Disallow: /a%d\n"),
    "robots.txt, short rules": of_robots("allow:/%d\n"),
    "robots.txt, wildcards": of_robots("Disallow: /%d" + "*a" * 500 + "*$\n"),
    "robots.txt, wildcards in a rule": of_robots("/*a"),
    "robots.txt, user agents": of_robots("User-agent: a%d\nDisallow: /\n"),
    "robots.txt, sitemaps": of_robots("Sitemap: http://a.example/%d\n"),
    "robots.txt, one line": of_robots("a"),
    "Link header": Hostile(of_atom(ATOM_HEAD, "<entry/>", "</feed>").make, XML, link="<a>;rel=b," * 9000),
    "Link header, parameters": Hostile(
        of_atom(ATOM_HEAD, "<entry/>", "</feed>").make, XML, link="<a>" + ";b=c" * 25_000
    ),
}

MOST_MEMORY, MOST_CPU = 1024, 10
SETTINGS = {
    "RETRY_TIMES": 0,
    "FHCRAWL_MAX_ARCHIVES": 10,  # pages that an index names are documents of their own
    "STATS_CLASS": "tests.projects.JsonStatsCollector",
    "USER_AGENT": USER_AGENT,
}
HEADINGS = f"{'kind':36} {'MiB':>5} {'KiB sent':>8} {'peak':>5} {'CPU':>5} {'wall':>6} {'feeds':>5}  verdicts"


class Cost(NamedTuple):
    """:param peak: MiB
    :param cpu: seconds, of the crawl's own process
    :param feeds: seconds
    :param reported: the verdict of the feed with the document, the kinds of its reasons and their number
    :param beside: the verdict of the feed beside it
    """

    sent: int
    peak: float
    cpu: float
    wall: float
    feeds: float
    reported: str
    beside: str

    @property
    def is_bounded(self) -> bool:
        return self.peak <= MOST_MEMORY and self.cpu <= MOST_CPU and self.beside == "complete"


def cost(hostile: Hostile, body: bytes) -> Cost:
    sent = gzip.compress(body, 1)
    with FeedServer() as server, tempfile.TemporaryDirectory() as folder:
        server.serve("/hostile", atom([E("1")]))
        headers = {"Content-Encoding": "gzip", **({"Link": hostile.link} if hostile.link else {})}
        server.answers[hostile.path] = Answer(sent, content_type=hostile.content_type, headers=headers)
        path = "/hostile" if hostile.path == "/robots.txt" else hostile.path
        return _crawl(Path(folder), server.url(path), len(sent))


def cost_of_folder(files: int) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        feed = Path(folder, "feed")
        feed.mkdir()
        for number in range(files):
            (feed / f"{number}{'a' * 200}").touch()
        return _crawl(Path(folder), feed.as_uri(), 0)


def _crawl(folder: Path, feed: str, sent: int) -> Cost:
    with FeedServer() as server:
        server.serve("/feed", atom([E("2")], prev="/behind"))
        server.serve("/behind", atom([E("1")]))
        return _measured(Project(folder), feed, server.url("/feed"), sent)


def _measured(project: Project, feed: str, beside: str, sent: int) -> Cost:
    # What is never read is forgotten, unless it is subscribed.
    project.scrapy("subscribe", feed)
    begun = time.monotonic()
    settings = [f"-s{name}={value}" for name, value in SETTINGS.items()]
    command = ["crawl", "history", "-a", f"feed={feed} {beside}", "-o", "out.jsonl", *settings]
    with (project.folder / "log").open("wb") as log:
        process = project.start(*command, stderr=log)
        watch = Watch(process.pid)
        process.wait()
    wall, peak = time.monotonic() - begun, watch.end() / 1024
    begun = time.monotonic()
    by_feed = {one["feed"]: one for one in project.feeds()}
    listed = time.monotonic() - begun
    found = by_feed[feed]
    kinds = ",".join(dict.fromkeys(reason["kind"] for reason in found["reasons"]))
    reported = f"{found['verdict']} ({kinds}: {len(found['reasons'])})"
    return Cost(sent, peak, project.stats().get(CPU, 0), wall, listed, reported, by_feed[beside]["verdict"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-k", default="", metavar="TEXT", help="only the kinds whose names have it")
    parser.add_argument("--mib", type=float, default=32.0, help="the size of the documents")
    given = parser.parse_args()
    size = int(given.mib * MIB)
    print(HEADINGS, flush=True)
    is_bounded = True
    for kind, hostile in KINDS.items():
        if given.k not in kind:
            continue
        body = hostile.make(size)
        is_bounded &= _print(kind, len(body), cost(hostile, body))
        del body
    if given.k in FOLDER:
        is_bounded &= _print(FOLDER, size, cost_of_folder(size // 320))
    sys.exit(not is_bounded)


def _print(kind: str, size: int, measured: Cost) -> bool:
    sent, peak, cpu, wall, feeds, reported, beside = measured
    print(
        f"{kind:36} {size / MIB:5.1f} {sent / 1024:8.0f} {peak:5.0f} {cpu:5.1f} {wall:6.1f} {feeds:5.1f}  "
        f"{reported}; beside it: {beside}{'' if measured.is_bounded else '  TOO MUCH'}",
        flush=True,
    )
    return measured.is_bounded


if __name__ == "__main__":
    main()
