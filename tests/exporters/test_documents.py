"""Documents of feeds: what is written of an entry and of a head section is read back."""

import io
import re
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import unescape

import feedparser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from fhcrawl.documents import Entry, metadata
from fhcrawl.exporters import documents
from fhcrawl.exporters.documents import XML_FORMATS, FeedHead, Head
from fhcrawl.items import FIELDS
from fhcrawl.logical_feed.results import identity
from tests.feeds import read
from tests.projects import Project
from tests.server import FeedServer

ATOM = "http://www.w3.org/2005/Atom"
GEORSS = "{http://www.georss.org/georss}point"
ITUNES = "{http://www.itunes.com/dtds/podcast-1.0.dtd}duration"
# What readers give: no white space around it, nothing that is only white space.
LINES = st.text(st.characters(codec="utf-8"), min_size=1).map(documents.cleaned).map(str.strip).filter(bool)
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: bool(text.strip()))
MARKUP = st.sampled_from(["<p>a &amp; b</p>", "<p>cut", "a & b", "]]>", "<b>x</b> tail", "<x:y/>", "\r\n a"])
URLS = st.sampled_from(
    ["http://example.org/1?a=b&c=d", "https://example.org/\u00e4#x", "urn:x:1", "ftp://x/y z"]
)
# Earlier ones are read as zero values of software.
FIRST_DATE = datetime.fromisoformat("1000-01-01")
TIMES = st.datetimes(FIRST_DATE).map(lambda time: f"{time.isoformat()}Z")
ENCLOSURES = st.fixed_dictionaries(
    {
        "url": URLS,
        "type": st.none() | st.sampled_from(["audio/mpeg", "text/html; charset=x"]),
        "length": st.none() | st.integers(0, 10**19 - 1),
    }
)
FIELDS_OF_ENTRIES = st.fixed_dictionaries(
    {
        **{name: st.none() for name in FIELDS},
        "feed": st.just("http://example.org/feed"),
        "document": st.just("http://example.org/feed?page=1&x=<>"),
        "id": LINES,
        "title": st.none() | LINES | MARKUP.map(str.strip),
        "link": st.none() | URLS,
        "published": st.none() | TIMES,
        "updated": st.none() | TIMES,
        "authors": st.lists(LINES, max_size=3, unique=True),
        "categories": st.lists(LINES, max_size=3, unique=True),
        "summary": st.none() | TEXTS | MARKUP,
        "enclosures": st.lists(ENCLOSURES, max_size=3, unique_by=lambda file: file["url"]),
        "content": st.none() | TEXTS | MARKUP,
    }
)


@st.composite
def fields_of_entries(draw: st.DrawFn) -> dict[str, Any]:
    fields = draw(FIELDS_OF_ENTRIES)
    if fields["content"] is not None:
        fields["content_type"] = draw(st.sampled_from(["text", "html", "text/markdown", "image/png;base64"]))
    return fields


def written(fields: dict[str, Any], original: str | None, kind: str) -> bytes:
    return document(XML_FORMATS[kind].entry_element(fields, original), kind)


def read_again(body: bytes, url: str = "http://elsewhere.example/") -> Entry:
    """The entry of a document; under another URL, since its base goes with it."""
    [entry] = read(body, url).entries
    return entry


def values(entry: Any) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in documents.READ_AGAIN}


def document(element: etree._Element, kind: str) -> bytes:
    file = io.BytesIO()
    head = Head("http://example.org/", "T\ufffd<&", "2003-12-13T18:30:02Z", mark="complete")
    assert XML_FORMATS[kind].write(file, head, [element]) == 1
    return file.getvalue()


@pytest.mark.parametrize("kind", ["atom", "rss"])
@given(fields=fields_of_entries())
def test_fields_are_read_again_whatever_they_hold(kind: str, fields: dict[str, Any]) -> None:
    body = written(fields, None, kind)
    clean = documents.cleaned(fields)
    assert values(read_again(body)) == {name: clean[name] for name in documents.READ_AGAIN}
    assert not feedparser.parse(body).bozo


FOREIGN = (
    '<itunes:duration xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd">1:02</itunes:duration>'
    '<georss:point xmlns:georss="http://www.georss.org/georss">45.2 -71</georss:point>'
    '<media:group xmlns:media="http://search.yahoo.com/mrss/"><media:content url="v.mp4" type="video/mp4"/>'
    "<media:rating>adult</media:rating></media:group>"
)
RATING = "{http://search.yahoo.com/mrss/}group/{http://search.yahoo.com/mrss/}rating"
ORIGINALS = {
    "atom": f'<feed xmlns="{ATOM}" xml:base="/blog/"><entry xml:lang="de"><id>1</id>'
    '<title type="html">a &lt;b&gt;</title>'
    f'<updated>2003-12-13T18:30:02+01:00</updated><link href="a"/><link rel="related" href="r"/>'
    f"<contributor><name>C</name></contributor>{FOREIGN}</entry></feed>",
    "rss": "<rss><channel><item><guid>http://example.org/1</guid><title>t</title><comments>c</comments>"
    f"<pubDate>Sat, 13 Dec 2003 18:30:02 +0100</pubDate>{FOREIGN}</item></channel></rss>",
    "rdf": '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
    f'<channel/><item r:about="http://example.org/1"><title>t</title><link>l</link>{FOREIGN}</item></r:RDF>',
    "atom 0.3": '<feed xmlns="http://purl.org/atom/ns#"><entry><id>1</id><title>t</title>'
    '<link rel="alternate" '
    f'href="a"/><modified>2003-12-13T18:30:02Z</modified><content>c</content>{FOREIGN}</entry></feed>',
    "json": '{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "1", "content_html": "<p>x"}]}',
}
PAGE = "http://example.org/feeds/page"


def stored(kind: str, **changed: Any) -> tuple[dict[str, Any], str]:
    """An entry's fields in the store, and its original."""
    [entry] = read(ORIGINALS[kind].encode(), PAGE, keep_originals=True).entries
    fields = {name: getattr(entry, name, None) for name in FIELDS}
    return {**fields, "feed": PAGE, "document": PAGE, **changed}, (entry.original or b"").decode()


@pytest.mark.parametrize("kind", ["atom", "rss"])
@pytest.mark.parametrize("source", ORIGINALS)
@pytest.mark.parametrize("changed", [{}, {"title": "<i>Other</i>", "authors": ["A", "B"], "summary": "s"}])
def test_originals_are_written_and_updated_where_needed(
    kind: str, source: str, changed: dict[str, Any]
) -> None:
    fields, original = stored(source, **changed)
    body = written(fields, original, kind)
    assert values(read_again(body)) == {name: fields[name] for name in documents.READ_AGAIN}
    found = etree.fromstring(body).find(".//{*}entry" if kind == "atom" else ".//item")
    assert found is not None
    if source != "json":
        assert [found.findtext(tag) for tag in (ITUNES, GEORSS, RATING)] == ["1:02", "45.2 -71", "adult"]
    assert not feedparser.parse(body).bozo


def test_original_of_the_format_stays_what_it_is() -> None:
    fields, original = stored("atom")
    element = XML_FORMATS["atom"].entry_element(fields, original)
    assert element.findtext(f"{{{ATOM}}}updated") == "2003-12-13T18:30:02+01:00"
    assert element.find(f"{{{ATOM}}}title[@type='html']") is not None
    assert element.get("{http://www.w3.org/XML/1998/namespace}base") == "http://example.org/blog/"
    assert element.get("{http://www.w3.org/XML/1998/namespace}lang") == "de"
    fields, original = stored("rss")
    item = XML_FORMATS["rss"].entry_element(fields, original)
    assert [item.findtext(name) for name in ("comments", "pubDate")] == [
        "c",
        "Sat, 13 Dec 2003 18:30:02 +0100",
    ]


def test_original_of_another_format_keeps_what_is_not_read_as_something_else() -> None:
    fields, original = stored("atom")
    item = XML_FORMATS["rss"].entry_element(fields, original)
    assert item.find(f"{{{ATOM}}}link[@rel='related']") is not None
    assert item.findtext(f"{{{ATOM}}}contributor/{{{ATOM}}}name") == "C"
    title = '<t:title xmlns:t="http://www.itunes.com/dtds/podcast-1.0.dtd">Other</t:title></entry>'
    fields["title"] = None
    item = XML_FORMATS["rss"].entry_element(fields, original.replace("</entry>", title))
    assert XML_FORMATS["rss"].differences(item, fields) == []
    assert item.findtext(ITUNES) == "1:02"


# RFC 4287, 4.1.2
def test_atom_entries_have_what_they_must_without_claiming_it() -> None:
    fields = {**dict.fromkeys(FIELDS), "id": "1", "feed": PAGE, "document": PAGE}
    fields |= {"authors": [], "categories": [], "enclosures": []}
    body = written(fields, None, "atom")
    entry = etree.fromstring(body).find(f"{{{ATOM}}}entry")
    assert entry is not None
    assert {etree.QName(child).localname for child in entry} == {"id", "title", "updated", "link"}
    again = read_again(body, PAGE)
    assert (again.updated, again.link, again.title) == (None, None, None)


@pytest.mark.parametrize(
    ("content_type", "content"),
    [
        ("xhtml", "a &lt; <b>b</b><br/> tail"),
        ("application/xml", '<point xmlns="urn:geo">1</point>'),
        ("application/xml", 'a <b c="1">b</b> tail'),
        ("text/xml", f'<b xmlns="{ATOM}">b</b>'),
        ("a&<'\"/xml", f'<atom:b xmlns:atom="{ATOM}"><b xmlns="{ATOM}"/></atom:b>'),
        ("text/markdown", "*a*"),
        ("text", "<b> is no markup"),
    ],
)
@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_content_of_every_type_without_an_original(kind: str, content_type: str, content: str) -> None:
    fields = {**stored("json")[0], "content": content, "content_type": content_type}
    entry = read_again(written(fields, None, kind), PAGE)
    assert (entry.content, entry.content_type) == (content, content_type)


IRIS = ("http://example.org/?a=b#c", "tag:example.org,2003:1", "urn:uuid:1", "http://x/\u00e4", "a:1")
NO_IRIS = (
    *("a b", "tag:a b", "ep-1", "1", "/a/b", "http:1", "?p=1", "100%", "a:%zz", "\u00e4", "#1", "//host/1"),
)


# RFC 4287, 4.2.6: "Its content MUST be an IRI". Feed readers resolve other ids.
@pytest.mark.parametrize("entry_id", [*IRIS, *NO_IRIS])
@pytest.mark.parametrize("source", [None, "atom"])
def test_id_that_is_no_iri_is_beside_one_that_holds_it(entry_id: str, source: str | None) -> None:
    fields, original = stored(source or "json", id=entry_id)
    body = written(fields, original if source else None, "atom")
    assert read_again(body).id == entry_id
    text = etree.fromstring(body).findtext(f"{{{ATOM}}}entry/{{{ATOM}}}id")
    assert text is not None
    assert (text == entry_id) == (entry_id in IRIS)
    # Whatever the base.
    for base in (b"http://example.org/blog/", b"https://mirror.example/x"):
        again = re.sub(rb'xml:base="[^"]*"', b'xml:base="%s"' % base, body)
        assert feedparser.parse(again).entries[0].id == text


def test_tombstone_names_the_id_that_the_entry_has() -> None:
    for kind in ("atom", "rss"):
        tombstone = XML_FORMATS[kind].tombstone("ep 1", "2003-12-13T18:30:02Z")
        body = document(tombstone, kind)
        assert [found.ref for found in read(body, PAGE).tombstones] == ["ep 1"]
        assert tombstone.get("ref") == ("urn:x-fhcrawl:id:ep%201" if kind == "atom" else "ep 1")


def test_text_that_is_declared_to_be_text_is_no_markup() -> None:
    fields = {**stored("json")[0], "title": "a <b> c", "summary": "&amp;", "summary_type": "html"}
    element = XML_FORMATS["atom"].entry_element({**fields, "title_type": "text"}, None)
    assert element.find(f"{{{ATOM}}}title[@type='text']") is not None
    assert element.find(f"{{{ATOM}}}summary[@type='html']") is not None
    element = XML_FORMATS["atom"].entry_element(fields | {"title_type": None}, None)
    assert element.find(f"{{{ATOM}}}title[@type='html']") is not None


CUT = "</content></atom:content><atom:id>other</atom:id><atom:content><content>"


@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_markup_that_is_not_well_formed_is_text(kind: str) -> None:
    fields = {**stored("json")[0], "content": CUT, "content_type": "application/xml"}
    # Nor is the original.
    entry = read_again(written(fields, "<entry", kind), PAGE)
    assert (entry.id, unescape(entry.content or "")) == ("1", CUT)
    fields |= {"content": "<p>cut", "content_type": "xhtml"}
    entry = read_again(written(fields, None, kind), PAGE)
    assert (entry.content, entry.content_type) == ("<p>cut", "html")


def test_entities_of_an_original_are_not_expanded(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden")
    entity = f'<!DOCTYPE entry [<!ENTITY x SYSTEM "{(tmp_path / "secret").as_uri()}">]>'
    original = f'{entity}<entry xmlns="{ATOM}"><id>1</id><note xmlns="urn:ours">&x;</note></entry>'
    assert original.startswith("<")
    assert b"hidden" not in written(stored("json")[0], original, "atom")


FIXTURES = Path(__file__).parent.parent / "data" / "documents"
READ_FROM_OTHERS = ["rss-substitutes.rss", "rss-only-media.rss", "rss-unescaped.rss", "rss-namespaces.rss"]


@pytest.mark.parametrize("kind", ["atom", "rss"])
@pytest.mark.parametrize("name", [*READ_FROM_OTHERS, "atom-unescaped.atom", "atom-media.atom"])
def test_fields_that_other_vocabularies_fill_are_read_again(name: str, kind: str) -> None:
    form = XML_FORMATS[kind]
    document = read((FIXTURES / name).read_bytes(), PAGE, keep_originals=True)
    for entry in document.entries:
        fields = {each: getattr(entry, each, None) for each in FIELDS}
        fields |= {"id": identity(entry, document), "feed": PAGE, "document": PAGE}
        element = form.entry_element(fields, (entry.original or b"").decode())
        assert not form.differences(element, fields)


def test_original_with_another_spelling_of_a_namespace_is_used() -> None:
    original = (
        '<entry xmlns="https://www.w3.org/2005/Atom"><id>1</id><title>t</title><rights>r</rights></entry>'
    )
    fields, _original = stored("atom", title="t", updated=None, link=None)
    element = XML_FORMATS["atom"].entry_element(fields, original)
    assert element.findtext(f"{{{ATOM}}}rights") == "r"


URL = "http://example.org/feeds/feed"
ITUNES_HEADS = "{http://www.itunes.com/dtds/podcast-1.0.dtd}"
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
    head = Head(URL, "T", "2004-01-01T00:00:00Z", source=source(document) if document else FeedHead())
    XML_FORMATS[kind].write(file, head, [])
    return file.getvalue()


def comparable(known: metadata.FeedMetadata) -> dict[str, Any]:
    """Metadata without the fields that only one of the formats has."""
    names = ("link", "language", "image", "owner", "copyright", "generator", "categories")
    texts = [known.title and known.title.value, known.description and known.description.value]
    return {name: getattr(known, name) for name in names} | {"texts": texts, "authors": known.authors}


@pytest.mark.parametrize("kind", ["atom", "rss"])
@pytest.mark.parametrize("name", SOURCES)
def test_head_is_the_same_when_it_is_read_again_but_for_links_of_the_document(name: str, kind: str) -> None:
    known = source(SOURCES[name])
    body = exported(SOURCES[name], kind)
    again = read(body, "http://mirror.example/x", keep_head=True).head
    assert again is not None
    assert comparable(metadata.read(again.original, "http://mirror.example/x")) == comparable(known.metadata)
    root = etree.fromstring(body)
    relations = {link.get("rel") for link in root.iter(f"{{{ATOM}}}link")}
    assert relations <= {None, "alternate", "license"}
    assert root.find(f".//{ITUNES_HEADS}new-feed-url") is None
    # Its authors are not those of entries without authors.
    file = io.BytesIO()
    bare = f'<entry xmlns="{ATOM}"><id>a:1</id></entry>' if kind == "atom" else "<item><guid>1</guid></item>"
    head = Head(URL, "T", "2004-01-01T00:00:00Z", source=known)
    XML_FORMATS[kind].write(file, head, [etree.fromstring(bare)])
    assert [found.authors for found in read(file.getvalue(), URL).entries] == [[]]


@pytest.mark.parametrize("name", [*SOURCES, None])
def test_head_has_what_the_formats_require(name: str | None) -> None:
    body = exported(SOURCES[name] if name else None, "atom")
    feed = etree.fromstring(body)
    counts = {one: len(feed.findall(f"{{{ATOM}}}{one}")) for one in (*MUST, *MAY)}
    assert {one: count for one, count in counts.items() if count != 1 and (one in MUST or count)} == {}
    alternates = [
        (link.get("type"), link.get("hreflang"))
        for link in feed.findall(f"{{{ATOM}}}link")
        if link.get("rel") in (None, "alternate")
    ]
    assert len(alternates) == len(set(alternates)) <= 1
    authors = [author.findtext(f"{{{ATOM}}}name") for author in feed.findall(f"{{{ATOM}}}author")]
    assert authors
    assert all(authors)
    assert not feedparser.parse(body).bozo
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
    assert section.find(f"{ITUNES_HEADS}image").get("href") == cover  # type: ignore[union-attr]
    assert section.findtext(f"{ITUNES_HEADS}owner/{ITUNES_HEADS}email") == "o@example.org"
    assert section.findtext(f"{{{ATOM}}}logo" if kind == "atom" else "image/url") == cover


def test_elements_of_the_own_format_stay_as_they_are() -> None:
    feed = etree.fromstring(exported(BLOG, "atom"))
    assert feed.findtext(f"{{{ATOM}}}id") == "tag:example.org,2003:f"
    title = feed.find(f"{{{ATOM}}}title")
    assert title is not None
    assert (title.get("type"), "".join(map(str, title.itertext()))) == ("xhtml", "a b")
    assert feed.find(f"{{{ATOM}}}generator[@uri='http://g.example/']") is not None
    assert feed.findtext("{urn:geo}point") == "1 2"
    assert feed.findtext(f"{{{ATOM}}}contributor/{{{ATOM}}}name") == "C"
    channel = etree.fromstring(exported(PODCAST, "rss"))[0]
    assert [channel.findtext(name) for name in ("ttl", "language", "category")] == ["60", "de-AT", "tides"]


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
