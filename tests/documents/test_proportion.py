"""Hostile shapes: time and memory stay in proportion to a document's size.

Each of these takes minutes, or gigabytes, where one rule is missing; hence the limits of time.
"""

import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from lxml import etree

from fhcrawl.crawling.parser import Job
from fhcrawl.documents import FeedDocument
from fhcrawl.documents.discovery import feed_links
from fhcrawl.documents.links import header_links
from fhcrawl.documents.xml import elements, encoding
from fhcrawl.exceptions import NotAFeedError
from tests.feeds import read, read_feed

pytestmark = [pytest.mark.timeout(60), pytest.mark.nightly("measures what documents of some MB cost")]

LOCATION = "http://feeds.example/dir/feed"
ATOM = "http://www.w3.org/2005/Atom"
ENTRY = "<entry><id>{}</id><title>t</title></entry>"
MULTIPART = "multipart/mixed; boundary=b"


def feed(inside: str, attributes: str = "", before: str = "") -> bytes:
    return f'{before}<feed xmlns="{ATOM}" {attributes}>{inside}</feed>'.encode()


def memory_of_reading(body: bytes, content_type: str | None = None) -> float:
    """The most that is held while it is read, by the size of the document."""
    tracemalloc.start()
    try:
        read(body, LOCATION, content_type)
        return tracemalloc.get_traced_memory()[1] / len(body)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "before",
    ["<?xml version='1.0'?>" + "\n" * 100_000, "<!---->" * 20_000, "<?x?>\n" * 20_000],
    ids=["white space", "comments", "instructions"],
)
def test_what_stands_before_the_root_of_a_broken_document(before: str) -> None:
    assert read(feed("<title>a & b</title>", before=before), LOCATION).title == "a & b"


def test_document_type_that_begins_again_and_again() -> None:
    with pytest.raises(NotAFeedError, match="not XML"):
        read(feed("&", before="<!DOCTYPE" * 200_000), LOCATION)


@pytest.mark.parametrize("around", ["<!--{}-->", "<?x {}?>", '<!ENTITY x "{}">'])
def test_document_type_with_what_looks_like_declarations(around: str) -> None:
    looks = around.format("<!ATTLIST " * 20_000 + "'")
    document = read(feed(ENTRY.format(1), before=f"<!DOCTYPE feed [{looks}]>"), LOCATION)
    assert (len(document.entries), document.problems) == (1, [])


def test_white_space_in_utf_16() -> None:
    with pytest.raises(NotAFeedError, match="not XML"):
        read((" " * 100_000 + "x").encode("utf-16-le"), LOCATION)


def test_relations_of_a_link_header_share_its_target() -> None:
    names = " ".join(map(str, range(20_000)))
    found = header_links([f'<{"a" * 100_000}#b>; rel="{names}"'], LOCATION).first
    assert len(found) == 20_000
    assert len({id(target) for target in found.values()}) == 1


@pytest.mark.parametrize(
    "inside",
    [
        '<entry xml:base="/{base}/">{links}</entry>',
        '<entry><group xmlns="http://search.yahoo.com/mrss/" xml:base="/{base}/">{media}</group></entry>',
    ],
    ids=["links", "media"],
)
def test_long_base_is_none(inside: str) -> None:
    links = "".join(f'<link rel="enclosure" href="{number}"/>' for number in range(2000))
    media = "".join(f'<content url="{number}"/>' for number in range(2000))
    body = feed(inside.format(base="x" * 100_000, links=links, media=media))
    (entry,) = read(body, LOCATION).entries
    assert entry.enclosures[0]["url"] == "0"
    assert len(entry.enclosures) == 2000
    assert memory_of_reading(body) < 20


def test_base_of_usual_length_is_one() -> None:
    body = feed('<link href="a"/>', attributes=f'xml:base="/{"x" * 1000}/"')
    assert read(body, LOCATION).links["alternate"] == f"http://feeds.example/{'x' * 1000}/a"


def authored(count: int, name: str = "a") -> FeedDocument:
    names = (f"{number}{name}"[: len(name) + 3] for number in range(100, 100 + count))
    authors = "".join(f"<author><name>{each}</name></author>" for each in names)
    return read(feed(authors + ENTRY.format(1)), LOCATION)


def test_entries_share_a_hundred_authors_of_their_feed() -> None:
    assert len(authored(100).entries[0].authors) == 100
    assert len(authored(101).entries[0].authors) == 100


def test_authors_with_long_names_are_not_shared() -> None:
    assert authored(1, "a" * 1997).entries[0].authors
    assert authored(1, "a" * 1998).entries[0].authors == []


@pytest.mark.parametrize(
    "body",
    [
        feed("<author><name>a</name></author>" * 3000 + "<entry/>" * 10_000),
        feed("<author><name>a</name></author>" * 3000 + "<entry/>" * 10_000).replace(
            ATOM.encode(), b"http://purl.org/atom/ns#"
        ),
        b'{"version":"https://jsonfeed.org/version/1","authors":[%s{}],"items":[%s{}]}'
        % (b'{"name":"a"},' * 3000, b"{}," * 10_000),
    ],
    ids=["atom", "atom 0.3", "json"],
)
def test_authors_do_not_multiply(body: bytes) -> None:
    assert memory_of_reading(body) < 400


def declarations(count: int) -> str:
    return " ".join(f'xmlns:n{number}="urn:{number}"' for number in range(count))


def test_many_elements_with_a_few_namespaces_are_read() -> None:
    one = f"<entry {declarations(5)}><id>1</id><title>t</title><summary>{'x' * 200}</summary></entry>"
    document = read(feed(one * 4000), LOCATION)
    assert len(document.entries) == 4000


def test_entries_are_not_looked_at_one_by_one_where_each_needs_much_more_than_itself() -> None:
    document = read(feed("<entry></x></entry>" + "<entry/>" * 6000, declarations(64)), LOCATION)
    assert document.fault


def test_long_quoted_parameter_takes_little_memory() -> None:
    body = b'--b\nContent-Type: text/plain; x="' + b"y" * 120_000 + b'"\nContent-ID: a\n\nx\n--b--'
    assert memory_of_reading(body, MULTIPART) < 20


def test_document_that_is_cut_off_takes_not_much_more_memory_than_its_tree() -> None:
    assert memory_of_reading(feed("<a/>" * 100_000).removesuffix(b"</feed>")) < 60


def calls(function: Callable[[], object]) -> Counter[str]:
    """How often functions of Python are entered, generators each time, while another one runs."""
    entered: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            entered[frame.f_code.co_name] += 1

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return entered


@pytest.mark.parametrize(
    ("end", "read_complete"),
    [("</x></entry>", 2), ("</entry><entry/>" + " " * 2**20, 3)],
    ids=["broken", "in pieces"],
)
def test_elements_of_an_entry_that_goes_are_freed_and_not_moved(end: str, read_complete: int) -> None:
    document = read(feed("<entry/><entry>" + "<a/>" * 490_000 + end), LOCATION)
    assert len(document.entries) == read_complete


# lxml still has what it has told of, where there is more to tell.
def test_elements_around_one_that_was_told_of_are_freed() -> None:
    many = "<a/>" * 480_000
    document = read(feed(f"<entry><x>{many}<entry/></x></entry>{'<entry/>' * 20_000}"), LOCATION)
    assert len(document.entries) == 20_001


def test_relations_of_a_link_share_its_url_without_credentials() -> None:
    names = " ".join(map(str, range(20_000)))
    body = feed(f"<link href='http://user@host.example/{'a' * 100_000}' rel='{names}'/>")
    found = read_feed(Job(body, LOCATION, None, [], None, False)).links
    assert len(found) == 20_000
    assert {url[:24] for url in found.values()} == {"http://host.example/aaaa"}
    assert len({id(url) for url in found.values()}) == 1


def test_target_without_a_relation_is_not_resolved() -> None:
    entered = calls(lambda: header_links(["<a>," * 1000 + "<b>;rel=c"], LOCATION))
    assert entered["resolve"] == 1


def test_text_is_not_handed_up_level_by_level() -> None:
    body = feed(f"<entry><summary>{'<x>' * 240}{'a<b/>' * 1000}{'</x>' * 240}</summary></entry>")
    documents = []
    assert calls(lambda: documents.append(read(body, LOCATION)))["_texts"] < 5000
    summary = documents[0].entries[0].summary
    assert summary is not None
    assert (summary.count("a<b"), summary.count("<x>")) == (1000, 240)


@pytest.mark.parametrize("attribute", ["xml:base", "xml:lang"])
def test_originals_do_not_repeat_what_is_long(attribute: str) -> None:
    body = feed("<entry/>" * 1000, attributes=f'{attribute}="{"a" * 10_000}"')
    entries = read(body, LOCATION, keep_originals=True).entries
    assert sum(len(entry.original or b"") for entry in entries) < 10 * len(body)


def test_originals_do_not_repeat_many_namespaces() -> None:
    declared = " ".join(f'xmlns:n{number}="u"' for number in range(65))
    entry = read(feed("<entry/>", declared), LOCATION, keep_originals=True).entries[0]
    assert entry.original == f'<entry xmlns="{ATOM}"/>'.encode()


@pytest.mark.parametrize(("codec", "octets"), [("utf-8", b"\x81\xff"), ("windows-1252", b"\x81a")])
def test_bytes_that_are_no_text_are_read_many_at_once(codec: str, octets: bytes) -> None:
    body = b"<?xml version='1.0' encoding='%s'?>" % codec.encode() + octets * 1000
    texts = []
    entered = calls(lambda: texts.append(encoding.text(body, None)[0]))
    assert texts[0].endswith(octets.decode("latin-1") * 1000)
    assert entered["_windows_1252"] <= 1


def test_bytes_that_are_no_text_take_little_memory() -> None:
    assert memory_of_reading(feed("<title>Q</title>").replace(b"Q", b"\xc3" * 500_000)) < 30


def test_run_of_bytes_that_are_no_utf_8_ends_where_a_character_begins() -> None:
    # With fewer characters of UTF-8, all of it would be windows-1252.
    body = b"<\xff\xe2\x82\xac\xc3\xc3\xa4\xe2\x82" + b"\xc3\xa4" * 5
    assert encoding.text(body, None)[0] == "<\xff\u20ac\xc3\xe4\xe2\u201a" + "\xe4" * 5


def test_undeclared_prefixes_are_supplied_if_they_are_few() -> None:
    def document(count: int) -> FeedDocument:
        used = "".join(f"<n{number}:x/>" for number in range(count))
        return read(feed(f"<entry><media:content url='a'/>{used}</entry>"), LOCATION)

    few, many = document(63), document(64)
    assert "n62" in few.problems[0].detail
    assert "n0" not in many.problems[0].detail
    assert few.entries[0].enclosures == many.entries[0].enclosures != []


SOUND = "<entry><id>2</id><title>t</title></entry>"


def declared_by_type(count: int) -> str:
    return "<!DOCTYPE feed [<!ATTLIST feed " + " ".join(f'xmlns:n{n} CDATA "u"' for n in range(count)) + ">]>"


@pytest.mark.parametrize(
    "body",
    [
        feed("<entry>" + "<updated/>" * 400_000 + "</entry>", before=declared_by_type(250)),
        (
            f"{declared_by_type(250).replace('feed', 'rss')}<rss><channel>{'<item/>' * 99_000}"
            f"{'<item><guid>http://a</guid></item>' * 99_000}</channel></rss>"
        ).encode(),
    ],
    ids=["atom", "rss"],
)
def test_attributes_that_are_not_there_are_not_looked_for(body: bytes) -> None:
    assert read(body, LOCATION).entries


def test_attribute_with_a_namespace_is_found() -> None:
    element = etree.fromstring('<a xmlns:n="u" n:b="c"/>')
    assert elements.has_attribute(element, "{u}b")
    assert not elements.has_attribute(element, "{u}a")


@pytest.mark.timeout(10)
def test_html_element_with_many_attributes() -> None:
    link = b'<link rel="alternate" type="application/atom+xml" href="a">'
    body = link + b"<a " + b"".join(b"%x " % number for number in range(165_000)) + b">" + link
    assert feed_links(body, LOCATION) == ["http://feeds.example/dir/a"] * 2
