import codecs
import json
import re
from pathlib import Path
from typing import Any
from xml.parsers import expat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fhcrawl.documents import FeedDocument
from fhcrawl.exceptions import NotAFeedError
from tests.feeds import read, reported

DATA = Path(__file__).parent.parent / "data" / "documents"
FEEDS = sorted(path for path in DATA.iterdir() if path.suffix != ".json")
XML_FEEDS = [path for path in FEEDS if path.suffix in {".atom", ".rdf", ".rss"}]
LOCATION = "http://feeds.example/dir/"
KINDS = {"empty", "html", "not-xml", "not-json", "not-a-feed", "opml", "too-large"}
ATOM = "http://www.w3.org/2005/Atom"

# What libxml2 calls a fault differs from version to version; the expectations only say that it found one.
LIBXML2_FAULT = re.compile(r".+, line \d+, column \d+", re.DOTALL)
UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", re.ASCII)


def read_feed(path: Path) -> FeedDocument:
    return read(path.read_bytes(), LOCATION + path.name)


def read_or_refuse(body: bytes, charset: str | None) -> FeedDocument | NotAFeedError:
    try:
        return read(body, LOCATION, None if charset is None else f"application/xml; charset={charset}")
    except NotAFeedError as error:
        return error


def name_of(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("path", FEEDS, ids=name_of)
def test_feed_gives_the_expected_document(path: Path) -> None:
    document: dict[str, Any] = reported(read_feed(path))
    if document["fault"] is not None:
        document["fault"] = LIBXML2_FAULT.sub("<libxml2>", document["fault"])
    # JSON has no tuples.
    assert json.loads(json.dumps(document)) == json.loads(path.with_suffix(".json").read_text("utf-8"))


def test_every_expectation_belongs_to_one_feed() -> None:
    assert sorted(path.stem for path in DATA.glob("*.json")) == [path.stem for path in FEEDS]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "empty"),
        (b" \r\n\t ", "empty"),
        (b"<!DOCTYPE html><html><head><meta charset=utf-8><title>Hello</title>", "html"),
        (b"\n\n<!-- cached --><html lang=en><p>hello", "html"),
        (b"<head><title>A & B</title></head>", "html"),
        (b'<html xmlns="http://www.w3.org/1999/xhtml"><body><p>well-formed</p></body></html>', "html"),
        (b"<!-- " + b"x" * 2000 + b" --><html><body><p>late and broken", "html"),
        (b'{"version": "https://jsonfeed.org/version/1", "items": [', "not-json"),
        (b'{"version": "https://jsonfeed.org/version/1", "items": []} {}', "not-json"),
        (b"{", "not-json"),
        (b'{"a":' * 100_000, "not-json"),
        (b'{"version": "1.0", "title": "an API", "items": []}', "not-a-feed"),
        (b'{"version": 1, "items": []}', "not-a-feed"),
        (b'{"version": "https://elsewhere.example/?https://jsonfeed.org/version/1"}', "not-a-feed"),
        *((body, "not-xml") for body in (b'["https://jsonfeed.org/version/1"]', b"\x1f\x8b\x08\x00\x00\x00")),
        *((body, "not-xml") for body in (b"Service unavailable", b'<?xml version="1.0"?>')),
        (b"<feed><item/></feed>", "not-a-feed"),
        (b'<feed xmlns="http://purl.org/atom/format/ns#" version="0.2"/>', "not-a-feed"),
        (b'<rss xmlns="http://elsewhere.example/"/>', "not-a-feed"),
        (b'<entry xmlns="http://www.w3.org/2005/Atom"><id>urn:1</id></entry>', "not-a-feed"),
        (b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>', "not-a-feed"),
        (b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><channel/></r:RDF>', "not-a-feed"),
        (b"<RSS/>", "not-a-feed"),
        (b'<:feed xmlns="http://www.w3.org/2005/Atom"/>', "not-a-feed"),
        (b'<opml version="2.0"><body><outline text="x"/></body></opml>', "opml"),
        (b'<opml version="2.0"><head><title>cut</title></head><body><outline', "opml"),
        (b"<sitemap><loc>cut", "not-a-feed"),
    ],
)
def test_body_that_is_no_feed_is_refused_by_kind(body: bytes, kind: str) -> None:
    with pytest.raises(NotAFeedError) as caught:
        read(body, LOCATION)
    assert caught.value.kind == kind


def test_refusal_names_the_root_element() -> None:
    with pytest.raises(NotAFeedError, match=r"it is XML whose root element is <RDF>$"):
        read(b'<rdf:RDF xmlns:rdf="urn:rdf"/>', LOCATION)


ENTRY_PATHS = (["feed", "entry"], ["rss", "channel", "item"], ["rss", "item"], ["RDF", "item"])


class Outline:
    """Where the root's start tag and each entry end, in bytes; found with another parser (expat)."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.root_end = 0
        self.entry_ends: list[int] = []
        self.path: list[str] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.DefaultHandler = self.ignore  # so that expat expands no entity
        try:
            self.parser.Parse(body, True)
        except expat.ExpatError:
            assert self.root_end

    def ignore(self, data: str) -> None:
        pass

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.path.append(name)
        self.root_end = self.root_end or self.tag_end()

    def end(self, name: str) -> None:
        if [name.rpartition(" ")[2] for name in self.path] in ENTRY_PATHS:
            position = self.parser.CurrentByteIndex
            full = self.body.startswith(b"</", position)  # else it was an empty-element tag, which ends here
            self.entry_ends.append(self.tag_end() if full else position)
        self.path.pop()

    def tag_end(self) -> int:
        return self.body.index(b">", self.parser.CurrentByteIndex) + 1


# The others take some seconds each.
QUICK = {"atom-authors.atom", "rss-0.92.rss"}
ALL_BYTES = pytest.mark.slow("reads each document some thousand times")


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.name, marks=() if path.name in QUICK else ALL_BYTES) for path in XML_FEEDS],
)
def test_feed_cut_at_any_byte_has_the_entries_before_the_cut_and_claims_nothing_more(path: Path) -> None:
    body = path.read_bytes()
    full = read_feed(path)
    outline = Outline(body)
    assert len(outline.entry_ends) == len(full.entries)
    closing = max(map(body.rfind, (b"</feed>", b"</rss>", b"</rdf:RDF>")))
    end = len(body) - 1 if closing < 0 else closing + len(b"</rss")
    for cut in range(outline.root_end, len(body)):
        document = read(body[:cut], LOCATION + path.name)
        kept = sum(entry <= cut for entry in outline.entry_ends)
        assert document.entries == full.entries[:kept], body[:cut]
        for problem, same in zip(document.problems, full.problems, strict=False):
            # Some details list what the document has.
            assert (problem.kind, problem.entry) == (same.kind, same.entry)
            assert same.detail.startswith(problem.detail)
        assert document.fault or cut >= end
        assert document.links.items() <= full.links.items()
        assert document.title in {None, full.title}
        assert document.archive <= full.archive
        assert document.complete <= full.complete
        assert document.incremental <= full.incremental
        assert document.tombstones == full.tombstones[: len(document.tombstones)]


@pytest.mark.parametrize("path", XML_FEEDS, ids=name_of)
def test_feed_cut_inside_its_first_tag_is_refused_or_empty(path: Path) -> None:
    body = path.read_bytes()
    for cut in range(1, Outline(body).root_end):
        outcome = read_or_refuse(body[:cut], None)
        if isinstance(outcome, NotAFeedError):
            assert outcome.kind in {"empty", "not-xml", "not-a-feed", "opml"}
        else:
            nothing = FeedDocument(outcome.format, None, None, {}, False, False, [], [], outcome.fault)
            assert outcome == nothing
            assert outcome.fault


@pytest.mark.parametrize("html", ["<html><body>", "<!DOCTYPE html>", "<head>", "<body class='x'>"])
def test_cut_feed_with_html_in_its_content_is_still_a_feed(html: str) -> None:
    body = (
        "<rss><channel><item><guid>1</guid><title>one</title></item>"
        f"<item><guid>2</guid><description><![CDATA[{html}two"
    )
    document = read(body.encode(), LOCATION)
    assert [entry.id for entry in document.entries] == ["1"]
    assert document.fault


def test_broken_feed_with_xhtml_in_its_content_is_still_a_feed() -> None:
    body = (
        f'<feed xmlns="{ATOM}"><entry><id>urn:1</id><title>one</title><content type="application/xhtml+xml">'
        '<html xmlns="http://www.w3.org/1999/xhtml"><body/></html></content></entry> A & B </feed>'
    )
    assert [entry.id for entry in read(body.encode(), LOCATION).entries] == ["urn:1"]


MARKUP = b'< > & </ /> " ]]> <![CDATA[ <!-- --> <? </entry> </item> </feed> <entry> <item> <channel> <html>'
TEXT = b"&nbsp; &#0; &#x10FFFF; http://[ //[x#y # : 2003-12-13T18:30:02Z - 99999 xmlns='' x:"
TOKENS = st.sampled_from(
    [
        *(*MARKUP.split(), *TEXT.split(), b" xml:base='//['", b"<!DOCTYPE feed [<!ENTITY a 'b'>]>"),
        *(b"\x00", b"\xff", codecs.BOM_UTF8, codecs.BOM_UTF16_LE),
    ]
)
EDIT = st.tuples(st.integers(0, 4000), st.integers(0, 40), st.one_of(TOKENS, st.binary(max_size=8)))
URL_PARTS = "http:// // [ ] # / .. : ? @ %zz x html xhtml"
ATTRIBUTE_PARTS = st.sampled_from(["9" * 3000, "٣", " ", *URL_PARTS.split()])
CHARSETS = st.sampled_from([None, "utf-8", "iso-8859-1", "utf-16", "us-ascii", "x-unknown", ""])


def edited(body: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for position, removed, added in edits:
        start = position % (len(body) + 1)
        body = body[:start] + added + body[start + removed :]
    return body


def check_promises_of_the_model(document: FeedDocument) -> None:
    for entry in document.entries:
        strings = [entry.id, entry.title, entry.link, entry.summary, entry.content, entry.content_type]
        assert "" not in [*strings, *entry.authors, *entry.categories]
        assert (entry.content is None) == (entry.content_type is None)
        assert all(time is None or UTC.fullmatch(time) for time in (entry.published, entry.updated))
        assert all(enclosure["url"] for enclosure in entry.enclosures)
    assert document.updated is None or UTC.fullmatch(document.updated)
    assert document.title != ""
    assert not any("#" in url for url in document.links.values())


def check(body: bytes, charset: str | None) -> None:
    outcome = read_or_refuse(body, charset)
    if isinstance(outcome, NotAFeedError):
        assert outcome.kind in KINDS
        assert str(outcome)
    else:
        check_promises_of_the_model(outcome)


@settings(max_examples=400)
@given(body=st.binary(max_size=200), charset=CHARSETS)
def test_arbitrary_bytes_raise_nothing_but_not_a_feed(body: bytes, charset: str | None) -> None:
    check(body, charset)


@pytest.mark.slow("reads a thousand documents")
@settings(max_examples=1000)
@given(path=st.sampled_from(FEEDS), edits=st.lists(EDIT, min_size=1, max_size=4), charset=CHARSETS)
def test_mutated_feeds_raise_nothing_but_not_a_feed(
    path: Path, edits: list[tuple[int, int, bytes]], charset: str | None
) -> None:
    check(edited(path.read_bytes(), edits), charset)


@settings(max_examples=400)
@given(path=st.sampled_from(FEEDS), data=st.data())
def test_mutated_attributes_raise_nothing_but_not_a_feed(path: Path, data: st.DataObject) -> None:
    body = path.read_bytes()
    values = [match.span(1) for match in re.finditer(rb'="([^"<>]*)"', body)]
    start, end = data.draw(st.sampled_from(values or [(len(body), len(body))]))
    value = "".join(data.draw(st.lists(ATTRIBUTE_PARTS, max_size=6)))
    check(body[:start] + value.encode() + body[end:], None)
