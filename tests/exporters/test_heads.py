"""The head section of an exported document is that of the feed."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import feedparser
import pytest
from lxml import etree

from fhcrawl.documents import metadata
from fhcrawl.exporters import documents
from fhcrawl.exporters.documents import FeedHead, Head
from fhcrawl.exporters.feeds import XML_FORMATS
from tests.feeds import read

if TYPE_CHECKING:
    from tests.projects import Project
    from tests.server import FeedServer

URL = "http://example.org/feeds/feed"
ATOM = "{http://www.w3.org/2005/Atom}"
ITUNES = "{http://www.itunes.com/dtds/podcast-1.0.dtd}"
PODCAST = (
    '<rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
    ' xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>Tides &amp; more</title>'
    "<link>../show/</link><description>A &lt;b&gt;show&lt;/b&gt;</description><language>de-AT</language>"
    '<itunes:author>Ann</itunes:author><itunes:image href="cover.jpg"/><itunes:explicit>no</itunes:explicit>'
    "<itunes:owner><itunes:name>Olga</itunes:name><itunes:email>o@example.org</itunes:email></itunes:owner>"
    '<itunes:category text="Arts"><itunes:category text="Books"/></itunes:category>'
    "<itunes:new-feed-url>http://example.org/new</itunes:new-feed-url><copyright>2003 Ann</copyright>"
    "<category>tides</category><generator>ours</generator><ttl>60</ttl><language>en</language>"
    f'<atom:link rel="self" href="{URL}"/><atom:link rel="hub" href="http://hub.example/"/>'
    '<atom:link rel="license" href="/license"/><cloud domain="x"/><unknown/>'
    "<item><guid>ep-1</guid><title>1</title></item></channel></rss>"
)
BLOG = (
    '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="fr" xml:base="/blog/">'
    "<id>tag:example.org,2003:f</id>"
    '<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">a <b>b</b></div></title>'
    '<subtitle type="html">s &lt;i&gt;t&lt;/i&gt;</subtitle><updated>2003-12-13T18:30:02Z</updated>'
    "<author><name>A</name><email>a@example.org</email></author><author><name/></author>"
    '<contributor><name>C</name></contributor><link href="."/><link href="other"/>'
    '<link rel="self" href="f"/><link rel="prev-archive" href="p"/><logo>logo.png</logo><icon>i.ico</icon>'
    '<rights>R</rights><generator uri="http://g.example/">G</generator><category term="k"/>'
    '<geo:point xmlns:geo="urn:geo">1 2</geo:point><entry><id>1</id><title>t</title></entry></feed>'
)
RDF = (
    '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/"><channel r:about="http://example.org/"><title>T</title>'
    "<link>http://example.org/</link><description>D</description><dc:language>it</dc:language>"
    '<dc:rights>R</dc:rights><dc:creator>a@example.org (Ann)</dc:creator><image r:resource="i.png"/>'
    '<items><r:Seq><r:li resource="1"/></r:Seq></items></channel><image><url>i.png</url></image>'
    '<item r:about="1"><title>t</title></item></r:RDF>'
)
JSON = (
    '{"version": "https://jsonfeed.org/version/1.1", "title": "T", "home_page_url": "/", "description": "D",'
    '"icon": "i.png", "language": "en", "authors": [{"name": "Ann"}], "items": [{"id": "1", "title": "t"}]}'
)
SOURCES = {"podcast": PODCAST, "blog": BLOG, "rdf": RDF, "json": JSON}
# RFC 4287, 4.1.1: elements that a feed has exactly once, or at most once.
MUST, MAY = ("id", "title", "updated"), ("generator", "icon", "logo", "rights", "subtitle")
# RSS 2.0: elements that a channel has, and the others that it may have once.
REQUIRED = ("title", "link", "description")
OPTIONAL = ("language", "copyright", "generator", "ttl", "image", "managingEditor", "lastBuildDate")


def source(document: str) -> FeedHead:
    head = read(document.encode(), URL, keep_head=True).head
    assert head is not None
    return FeedHead(head.original, URL)


def exported(document: str | None, kind: str) -> bytes:
    file = io.BytesIO()
    head = Head(URL, "T", "2004-01-01T00:00:00Z", source=None if document is None else source(document))
    documents.write(file, XML_FORMATS[kind], head, [])
    return file.getvalue()


def comparable(known: metadata.FeedMetadata) -> dict[str, Any]:
    """Metadata without what only one of the formats says."""
    names = ("link", "language", "image", "owner", "copyright", "generator", "categories")
    texts = [known.title and known.title.value, known.description and known.description.value]
    return {name: getattr(known, name) for name in names} | {"texts": texts, "authors": known.authors}


@pytest.mark.parametrize("kind", ["atom", "rss"])
@pytest.mark.parametrize("name", SOURCES)
def test_metadata_is_the_same_when_it_is_read_again(name: str, kind: str) -> None:
    body = exported(SOURCES[name], kind)
    again = read(body, "http://mirror.example/x", keep_head=True).head
    assert again is not None
    known = source(SOURCES[name]).metadata
    assert comparable(metadata.read(again.original, "http://mirror.example/x")) == comparable(known)


@pytest.mark.parametrize("name", [*SOURCES, None])
def test_atom_has_what_a_feed_must_have(name: str | None) -> None:
    body = exported(SOURCES[name] if name else None, "atom")
    feed = etree.fromstring(body)
    counts = {one: len(feed.findall(f"{ATOM}{one}")) for one in (*MUST, *MAY)}
    assert {one: count for one, count in counts.items() if count != 1 and (one in MUST or count)} == {}
    alternates = [
        (link.get("type"), link.get("hreflang"))
        for link in feed.findall(f"{ATOM}link")
        if link.get("rel") in (None, "alternate")
    ]
    assert len(alternates) == len(set(alternates)) <= 1
    authors = [author.findtext(f"{ATOM}name") for author in feed.findall(f"{ATOM}author")]
    assert authors
    assert all(authors)
    assert not feedparser.parse(body).bozo


@pytest.mark.parametrize("name", [*SOURCES, None])
def test_rss_has_what_a_channel_must_have(name: str | None) -> None:
    body = exported(SOURCES[name] if name else None, "rss")
    channel = etree.fromstring(body)[0]
    assert [len(channel.findall(one)) for one in REQUIRED] == [1, 1, 1]
    assert all(channel.findtext(one) for one in REQUIRED)
    assert max(len(channel.findall(one)) for one in OPTIONAL) <= 1
    for image in channel.findall("image"):
        assert all(image.findtext(one) for one in ("url", "title", "link"))
    assert not {child.tag for child in channel} - {
        *(child.tag for child in channel if "{" in str(child.tag)),
        *(*REQUIRED, *OPTIONAL, "category"),
    }
    assert not feedparser.parse(body).bozo


@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_podcast_keeps_its_cover_and_what_itunes_has(kind: str) -> None:
    body = exported(PODCAST, kind)
    parsed = feedparser.parse(body).feed
    cover = "http://example.org/feeds/cover.jpg"
    assert (parsed.image.href, parsed.language, parsed.link) == (cover, "de-AT", "http://example.org/show/")
    section = etree.fromstring(body) if kind == "atom" else etree.fromstring(body)[0]
    assert section.find(f"{ITUNES}image").get("href") == cover  # type: ignore[union-attr]
    assert section.findtext(f"{ITUNES}owner/{ITUNES}email") == "o@example.org"
    assert section.findtext(f"{ATOM}logo" if kind == "atom" else "image/url") == cover


def test_elements_of_the_own_format_stay_as_they_are() -> None:
    feed = etree.fromstring(exported(BLOG, "atom"))
    assert feed.findtext(f"{ATOM}id") == "tag:example.org,2003:f"
    title = feed.find(f"{ATOM}title")
    assert title is not None
    assert (title.get("type"), "".join(map(str, title.itertext()))) == ("xhtml", "a b")
    assert feed.find(f"{ATOM}generator[@uri='http://g.example/']") is not None
    assert feed.findtext("{urn:geo}point") == "1 2"
    assert feed.findtext(f"{ATOM}contributor/{ATOM}name") == "C"
    channel = etree.fromstring(exported(PODCAST, "rss"))[0]
    assert [channel.findtext(name) for name in ("ttl", "language", "category")] == ["60", "de-AT", "tides"]


@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_what_names_the_document_of_the_publisher_is_left_out(kind: str) -> None:
    for document in SOURCES.values():
        root = etree.fromstring(exported(document, kind))
        relations = {link.get("rel") for link in root.iter(f"{ATOM}link")}
        assert relations <= {None, "alternate", "license"}
        assert root.find(f".//{ITUNES}new-feed-url") is None


@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_authors_of_a_feed_are_not_those_of_entries_without_authors(kind: str) -> None:
    for document in SOURCES.values():
        file = io.BytesIO()
        entry = etree.fromstring(f'<entry xmlns="{ATOM[1:-1]}"><id>a:1</id></entry>')
        item = etree.fromstring("<item><guid>1</guid></item>")
        head = Head(URL, "T", "2004-01-01T00:00:00Z", source=source(document))
        documents.write(file, XML_FORMATS[kind], head, [entry if kind == "atom" else item])
        assert [found.authors for found in read(file.getvalue(), URL).entries] == [[]]


def test_mirror_of_a_podcast_has_its_cover(server: FeedServer, project: Project) -> None:
    server.serve("/feed", PODCAST)
    feed = server.url("/feed")
    project.crawl(feed)
    [listed] = project.feeds()
    assert listed["image"] == server.url("/cover.jpg")
    assert (listed["authors"], listed["owner"]) == (["Ann"], {"name": "Olga", "email": "o@example.org"})
    assert (listed["language"], listed["categories"]) == ("de-AT", ["tides", "Arts", "Books"])
    for kind in ("atom", "rss"):
        args = ("--base", "http://mirror.example/", "--feed", feed, "--format", kind)
        for _ in range(2):
            assert project.scrapy("export", "-o", f"{kind}/", *args).returncode == 0
        parsed = feedparser.parse((project.folder / kind / f"index.{kind}").read_bytes())
        assert parsed.feed.image.href == server.url("/cover.jpg")
        assert [link.href for link in parsed.feed.links if link.rel == "self"] == [
            f"http://mirror.example/index.{kind}"
        ]
        assert not parsed.bozo
