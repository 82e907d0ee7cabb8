"""The readers of documents and lists, each as a function of bytes that raises only what it should not."""

import contextlib
import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from email import message_from_bytes
from pathlib import Path

from fhcrawl.crawling.subscriptions import from_file
from fhcrawl.documents import FeedDocument, dates, discovery, links, lists
from fhcrawl.documents.formats import jsonfeed
from fhcrawl.exceptions import ArgumentError, NotAFeedError
from tests.feeds import read

URL = "https://feeds.example/dir/feed"
DATA = Path(__file__).parent.parent / "data"
UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", re.ASCII)
FINDINGS = DATA / "fuzz"  # a folder for each reader


def _document(data: bytes) -> None:
    with contextlib.suppress(NotAFeedError):
        _check(read(data, URL, keep_originals=True))


def _response(data: bytes) -> None:
    head, _, body = data.partition(b"\n\n")
    headers = message_from_bytes(head)
    links = [str(value) for value in headers.get_all("Link", failobj=[])]
    content_type, modified = (
        None if value is None else str(value) for value in (headers["Content-Type"], headers["Last-Modified"])
    )
    with contextlib.suppress(NotAFeedError):
        _check(read(body, URL, content_type, links, modified))


def _check(document: FeedDocument) -> None:
    # What the store, the exporters and the log have to write; originals have to be UTF-8.
    json.dumps(asdict(document), default=bytes.decode, ensure_ascii=False).encode()
    times = [document.updated]
    for entry in document.entries:
        times += [entry.published, entry.updated]
        strings = (entry.id, entry.title, entry.link, entry.summary, entry.content, entry.content_type)
        assert "" not in (*strings, *entry.authors, *entry.categories)
        assert (entry.content is None) == (entry.content_type is None)
        assert all(enclosure["url"] for enclosure in entry.enclosures)
    assert all(time is None or UTC.fullmatch(time) for time in times), times
    assert document.title != ""
    assert not any("#" in url for url in document.links.values())


def _link_header(data: bytes) -> None:
    links.header_links([data.decode("latin-1")], URL)


def _html(data: bytes) -> None:
    discovery.feed_links(data, URL)


def _snapshot(data: bytes) -> None:
    with contextlib.suppress(NotAFeedError):
        if index := lists.read_snapshot(jsonfeed.parse(data).members, URL, 0):
            json.dumps(asdict(index), ensure_ascii=False).encode()


def _date(data: bytes) -> None:
    time = dates.utc(data.decode("utf-8", "replace"))
    assert time is None or (UTC.fullmatch(time) and dates.utc(time) == time), time


def _list(data: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="fhcrawl-fuzz-") as folder:
        for name in ("list", "list.toml"):
            path = Path(folder, name)
            path.write_bytes(data)
            with contextlib.suppress(ArgumentError):
                list(from_file(path))


READERS: dict[str, Callable[[bytes], None]] = {
    "document": _document,
    "response": _response,
    "link-header": _link_header,
    "html": _html,
    "snapshot": _snapshot,
    "date": _date,
    "list": _list,
}
SEEDS: dict[str, tuple[bytes, ...]] = {
    "document": (
        b'{"type": "OrderedCollectionPage", "next": "?2", "partOf": {"id": "/"}, "orderedItems": ['
        b'{"id": "a", "type": "Create", "actor": "b", "published": "2024-01-01T00:00:00Z", "object": {'
        b'"type": "Note", "id": "c", "url": [{"href": "d"}], "contentMap": {"en": "e"}, "tag": ['
        b'{"type": "Hashtag", "name": "#f"}], "attachment": {"url": "g"}}}, '
        b'{"type": "Announce", "object": "h"}, {"type": "Delete", "object": "i"}]}',
    ),
    "response": (
        *(
            b"Content-Type: text/xml; charset=%b\n\n<rss><channel><item><guid>\xe9</guid></item>" % charset
            for charset in (b"utf-8", b"iso-8859-1", b"utf-16", b"us-ascii", b"x-unknown", b"")
        ),
    ),
    "link-header": (
        b'<a>; rel="prev-archive next"; title="a\\"b", </x>;rel=self;anchor="#a", b; rel=current',
    ),
    "html": (
        b"<!DOCTYPE html><base href=/a/><link rel='Alternate x' type='text/xml; charset=x' href=../b#c><p>",
    ),
    "snapshot": (
        b'{"id": "a", "createdAt": "2024-01-01T00:00:00Z", "pages": ["1", "/2"]}',
        b'{"id": 1, "started": 1700000000000, "completed": 1700000000001, "uris": ["1"]}',
    ),
    "date": (
        *(b"Thu, 1 Jan 2004 19:48:21.5 +0100 (CET)", b"2004-366T24:00:00,0Z", b"20040229 1200 pm EST"),
        *(b"Sunday, 06-Nov-94 08:49:37 GMT", b"Nov 6th, 1994 at 8:49:37 a.m.", b"Sun Nov  6 08:49:37 1994"),
    ),
    "list": (
        b"https://feeds.example/a # a\nfile:///a\n",
        b'[[feed]]\nurl = "https://feeds.example/"\nnext = "archive"\nreversed = true\nlimit = 5\n'
        b'headers = {X = "y"}\n',
        b'<opml><body><outline xmlUrl="https://feeds.example/" fhLimit="5" fhNext="page" fhReversed="1"/>'
        b"</body></opml>",
    ),
}
FIXTURES = {"document": ("documents", "repaired"), "response": ("multipart",)}
TOKENS = (
    *b"<>&;:=\"'/ \n\r\t\0\xff#,@-[](){}\\",
    *("<!DOCTYPE x [<!ENTITY a '", "]>", "<![CDATA[", "]]>", "<!--", "-->", "<?x ", "?>", "&a;", "&#x0;"),
    "&#55296;",
    *("<entry>", "</entry>", "<item>", "</item>", "<a:b>", "</feed>", "</channel>", ' xmlns:a="b"'),
    *(' xml:base="//["', ' href="http://["', "//[x#y", "%zz", "&nbsp;", "&#x10FFFF;", "99999", "\u0663"),
    *("--b\n", "--b--", "\n\n", "charset=utf-7", "utf-16", "windows-1252", "\ud800", "\ufeff", "\ufffe"),
    *('{"a":', "1e999"),
)


def seeds(reader: str) -> list[bytes]:
    """What a reader's inputs are mutated from: fixtures, findings, and a few of its own."""
    folders = [DATA / name for name in FIXTURES.get(reader, ())]
    files = [
        path
        for folder in (*folders, FINDINGS / reader)
        if folder.is_dir()
        for path in sorted(folder.iterdir())
    ]
    return [*SEEDS.get(reader, ()), *(path.read_bytes() for path in files)]


def tokens() -> list[bytes]:
    """Bytes that mean something to one of the readers."""
    return [bytes([t]) if isinstance(t, int) else t.encode("utf-8", "surrogatepass") for t in TOKENS]
