import json
import re
from pathlib import Path
from typing import Any
from xml.parsers import expat

import pytest

from fhcrawl.documents import FeedDocument
from fhcrawl.exceptions import NotAFeedError
from tests.feeds import ATOM, ids, read, said

DATA = Path(__file__).parent.parent / "data" / "documents"
FEEDS = sorted(path for path in DATA.iterdir() if path.suffix != ".json")
LOCATION = "http://feeds.example/dir/"
XML_FEEDS = [path for path in FEEDS if path.suffix in {".atom", ".rdf", ".rss"}]
# What libxml2 calls a fault differs from version to version; the expectations only say that it found one.
LIBXML2_FAULT = re.compile(r".+, line \d+, column \d+", re.DOTALL)


def read_feed(path: Path) -> FeedDocument:
    return read(path.read_bytes(), LOCATION + path.name)


def read_or_refuse(body: bytes) -> FeedDocument | NotAFeedError:
    try:
        return read(body, LOCATION)
    except NotAFeedError as error:
        return error


def name_of(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("path", FEEDS, ids=name_of)
def test_feed_gives_what_the_file_beside_it_says(path: Path) -> None:
    document: dict[str, Any] = said(read_feed(path))
    if document["fault"] is not None:
        document["fault"] = LIBXML2_FAULT.sub("<libxml2>", document["fault"])
    # JSON has no tuples.
    assert json.loads(json.dumps(document)) == json.loads(path.with_suffix(".json").read_text("utf-8"))


@pytest.mark.parametrize("folder", ["documents", "lists", "multipart", "repaired"])
def test_every_expectation_belongs_to_one_document(folder: str) -> None:
    paths = [path for path in (DATA.parent / folder).iterdir() if path.name != "README.md"]
    documents = sorted(path.stem for path in paths if path.suffix != ".json")
    assert sorted(path.stem for path in paths if path.suffix == ".json") == documents


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
            whole = self.body.startswith(b"</", position)  # else it was an empty-element tag, which ends here
            self.entry_ends.append(self.tag_end() if whole else position)
        self.path.pop()

    def tag_end(self) -> int:
        return self.body.index(b">", self.parser.CurrentByteIndex) + 1


# The others take some seconds each.
QUICK = {"atom-authors.atom", "rss-0.92.rss"}
ALL_BYTES = pytest.mark.full_lane("reads each document some thousand times")


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.name, marks=() if path.name in QUICK else ALL_BYTES) for path in XML_FEEDS],
)
def test_feed_cut_at_any_byte_has_the_entries_before_the_cut_and_claims_nothing_more(path: Path) -> None:
    body = path.read_bytes()
    whole = read_feed(path)
    outline = Outline(body)
    assert len(outline.entry_ends) == len(whole.entries)
    closing = max(map(body.rfind, (b"</feed>", b"</rss>", b"</rdf:RDF>")))
    end = len(body) - 1 if closing < 0 else closing + len(b"</rss")
    for cut in range(outline.root_end, len(body)):
        document = read(body[:cut], LOCATION + path.name)
        kept = sum(entry <= cut for entry in outline.entry_ends)
        assert document.entries == whole.entries[:kept], body[:cut]
        assert document.problems == whole.problems[: len(document.problems)]
        assert document.fault or cut >= end
        assert document.links.items() <= whole.links.items()
        assert document.title in {None, whole.title}
        assert document.archive <= whole.archive
        assert document.complete <= whole.complete
        assert document.incremental <= whole.incremental
        assert document.tombstones == whole.tombstones[: len(document.tombstones)]


@pytest.mark.parametrize("path", XML_FEEDS, ids=name_of)
def test_feed_cut_inside_its_first_tag_says_nothing(path: Path) -> None:
    body = path.read_bytes()
    for cut in range(1, Outline(body).root_end):
        outcome = read_or_refuse(body[:cut])
        if isinstance(outcome, NotAFeedError):
            assert outcome.kind in {"empty", "not-xml", "not-a-feed", "opml"}
        else:
            assert outcome == FeedDocument(outcome.format, fault=outcome.fault)
            assert outcome.fault


CUT = "<rss><channel><item><guid>1</guid></item><item><guid>2</guid><description><![CDATA[{}two"
XHTML = (
    f'<feed xmlns="{ATOM}"><entry><id>1</id><title>one</title><content type="application/xhtml+xml">'
    '<html xmlns="http://www.w3.org/1999/xhtml"><body/></html></content></entry> A & B </feed>'
)
HTML = ("<html><body>", "<!DOCTYPE html>", "<head>", "<body class='x'>")


@pytest.mark.parametrize("body", [*map(CUT.format, HTML), XHTML])
def test_broken_feed_with_html_in_its_content_is_still_a_feed(body: str) -> None:
    document = read(body.encode(), LOCATION)
    assert ids(document) == ["1"]
    assert bool(document.fault) == body.startswith("<rss>")
