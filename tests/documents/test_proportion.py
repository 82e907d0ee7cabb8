"""Hostile shapes: time and memory stay in proportion to a document's size.

Each of these takes minutes, or gigabytes, where one rule is missing; hence the limits of time.
"""

from __future__ import annotations

import tracemalloc

import pytest

from fhcrawl.documents import FeedDocument, linkheader, read
from fhcrawl.exceptions import NotAFeedError

pytestmark = pytest.mark.timeout(60)

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


def test_white_space_in_utf_16() -> None:
    with pytest.raises(NotAFeedError, match="not XML"):
        read((" " * 100_000 + "x").encode("utf-16-le"), LOCATION)


def test_relations_of_a_link_header_share_its_target() -> None:
    names = " ".join(map(str, range(20_000)))
    found = linkheader.read([f'<{"a" * 100_000}#b>; rel="{names}"'], LOCATION)
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
    author = f"<author><name>{name}</name></author>"
    return read(feed(author * count + ENTRY.format(1)), LOCATION)


def test_entries_share_a_hundred_authors_of_their_feed() -> None:
    assert len(authored(100).entries[0].authors) == 100
    assert len(authored(101).entries[0].authors) == 100


def test_authors_with_long_names_are_not_shared() -> None:
    assert authored(1, "a" * 2000).entries[0].authors
    assert authored(1, "a" * 2001).entries[0].authors == []


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


def test_element_with_many_namespaces_is_refused() -> None:
    used = "".join(f"<n{number}:x/>" for number in range(20_000))
    body = feed(f'<entry><content type="xhtml"><div>{used}</div></content></entry>', declarations(20_000))
    with pytest.raises(NotAFeedError, match="declares 20000 namespaces") as refused:
        read(body, LOCATION)
    assert refused.value.kind == "too-large"


@pytest.mark.parametrize("quote", "\"'")
@pytest.mark.parametrize("prefix", ["", ":x"])
def test_namespace_with_a_long_name_is_refused(prefix: str, quote: str) -> None:
    body = feed(f"<a xmlns{prefix} = {quote}{'x' * 10_000}{quote}/>")
    with pytest.raises(NotAFeedError, match="too long") as refused:
        read(body, LOCATION)
    assert refused.value.kind == "too-large"


def test_many_elements_with_a_few_namespaces_are_read() -> None:
    one = f"<entry {declarations(5)}><id>1</id><title>t</title><summary>{'x' * 200}</summary></entry>"
    document = read(feed(one * 4000), LOCATION)
    assert len(document.entries) == 4000


def test_entries_are_not_looked_at_one_by_one_where_each_needs_much_more_than_itself() -> None:
    document = read(feed("<entry></x></entry>" + "<entry/>" * 6000, declarations(64)), LOCATION)
    assert document.fault


def test_long_quoted_parameter_takes_little_memory() -> None:
    body = b'--b\nContent-Type: text/plain; x="' + b"y" * 500_000 + b'"\nContent-ID: a\n\nx\n--b--'
    assert memory_of_reading(body, MULTIPART) < 20


def test_document_that_is_cut_off_takes_not_much_more_memory_than_its_tree() -> None:
    assert memory_of_reading(feed("<a/>" * 100_000).removesuffix(b"</feed>")) < 60
