"""Hostile shapes: time and memory stay in proportion to a document's size.

Each of these takes minutes, or gigabytes, where one rule is missing; hence the limits of time.
"""

import tracemalloc

import pytest
from lxml import etree

from fhcrawl.crawling.parser import Job
from fhcrawl.documents.discovery import feed_links
from fhcrawl.documents.links import header_links
from fhcrawl.documents.xml import elements, encoding
from fhcrawl.exceptions import NotAFeedError
from tests.feeds import ATOM, URL, atom_feed, read, read_atom, read_feed

pytestmark = [pytest.mark.timeout(60), pytest.mark.nightly("measures what documents of some MB cost")]

ENTRY = "<entry><id>1</id><title>t</title></entry>"


AUTHORS = atom_feed("<author><name>a</name></author>" * 3000 + "<entry/>" * 10_000)
JSON_AUTHORS = b'{"version":"https://jsonfeed.org/version/1","authors":[%s{}],"items":[%s{}]}'
QUOTED = b'--b\nContent-Type: text/plain; x="' + b"y" * 120_000 + b'"\nContent-ID: a\n\nx\n--b--'
LINKS = "".join(f'<link rel="enclosure" href="{number}"/>' for number in range(2000))
MEDIA = LINKS.replace('link rel="enclosure" href', "content url")
MRSS = "http://search.yahoo.com/mrss/"
LONG = f"/{'x' * 100_000}/"


@pytest.mark.parametrize(
    ("body", "most"),
    [
        pytest.param(AUTHORS, 400, id="authors"),
        pytest.param(AUTHORS.replace(ATOM.encode(), b"http://purl.org/atom/ns#"), 400, id="atom 0.3"),
        pytest.param(JSON_AUTHORS % (b'{"name":"a"},' * 3000, b"{}," * 10_000), 400, id="authors in json"),
        pytest.param(QUOTED, 20, id="quoted parameter"),
        # not much more than its tree
        pytest.param(atom_feed("<a/>" * 100_000).removesuffix(b"</feed>"), 60, id="cut"),
        pytest.param(atom_feed("<title>Q</title>").replace(b"Q", b"\xc3" * 500_000), 30, id="no text"),
        pytest.param(atom_feed(f'<entry xml:base="{LONG}">{LINKS}</entry>'), 20, id="links"),
        pytest.param(
            atom_feed(f'<entry><group xmlns="{MRSS}" xml:base="{LONG}">{MEDIA}</group></entry>'),
            20,
            id="media",
        ),
    ],
)
def test_memory_is_in_proportion_to_the_size(body: bytes, most: int) -> None:
    tracemalloc.start()
    try:
        read(body, URL, "multipart/mixed; boundary=b" if body == QUOTED else None)
        assert tracemalloc.get_traced_memory()[1] / len(body) < most
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("inside", [LINKS, f'<group xmlns="{MRSS}">{MEDIA}</group>'], ids=["links", "media"])
def test_long_base_is_none(inside: str) -> None:
    (entry,) = read_atom(f'<entry xml:base="{LONG}">{inside}</entry>').entries
    assert (entry.enclosures[0]["url"], len(entry.enclosures)) == ("0", 2000)


@pytest.mark.parametrize(
    "before",
    ["<?xml version='1.0'?>" + "\n" * 100_000, "<!---->" * 20_000, "<?x?>\n" * 20_000],
    ids=["white space", "comments", "instructions"],
)
def test_what_stands_before_the_root_of_a_broken_document(before: str) -> None:
    assert read_atom("<title>a & b</title>", before=before).title == "a & b"


@pytest.mark.parametrize(
    "body",
    [atom_feed("&", before="<!DOCTYPE" * 200_000), (" " * 100_000 + "x").encode("utf-16-le")],
    ids=["document type that begins again and again", "white space in UTF-16"],
)
def test_what_is_no_xml_is_refused(body: bytes) -> None:
    with pytest.raises(NotAFeedError, match="not XML"):
        read(body, URL)


@pytest.mark.parametrize("around", ["<!--{}-->", "<?x {}?>", '<!ENTITY x "{}">'])
def test_document_type_with_what_looks_like_declarations(around: str) -> None:
    looks = around.format("<!ATTLIST " * 20_000 + "'")
    document = read_atom(ENTRY, before=f"<!DOCTYPE feed [{looks}]>")
    assert (len(document.entries), document.problems) == (1, [])


def test_relations_of_a_link_share_its_url_without_credentials() -> None:
    names = " ".join(map(str, range(20_000)))
    target = f"http://user@host.example/{'a' * 100_000}"
    job = Job(atom_feed(f"<link href='{target}' rel='{names}'/>"), URL, None, [], None, False)
    for links in (read_feed(job).links, header_links([f'<{target}#b>; rel="{names}"'], URL).first):
        assert len(links) == 20_000
        assert len({id(url) for url in links.values()}) == 1
    assert read_feed(job).links["1"].startswith("http://host.example/aaaa")


def test_base_of_usual_length_is_one() -> None:
    document = read_atom('<link href="a"/>', f'xml:base="/{"x" * 1000}/"')
    assert document.links["alternate"] == f"http://feeds.example/{'x' * 1000}/a"


@pytest.mark.parametrize(
    ("count", "length", "shared"), [(100, 4, 100), (101, 4, 100), (1, 2000, 1), (1, 2001, 0)]
)
def test_entries_share_a_hundred_authors_with_short_names(count: int, length: int, shared: int) -> None:
    names = (f"{number}".ljust(length, "a") for number in range(100, 100 + count))
    authors = "".join(f"<author><name>{name}</name></author>" for name in names)
    assert len(read_atom(authors + ENTRY).entries[0].authors) == shared


FEW = " ".join(f'xmlns:n{number}="urn:{number}"' for number in range(5))
MANY = "<a/>" * 480_000


@pytest.mark.parametrize(
    ("inside", "count"),
    [
        # many elements with a few namespaces
        (f"<entry {FEW}><id>1</id><title>t</title><summary>{'x' * 200}</summary></entry>" * 4000, 4000),
        # Elements of an entry that goes are freed and not moved: of a broken one, of one read in pieces.
        (f"<entry/><entry>{MANY}</x></entry>", 2),
        (f"<entry/><entry>{MANY}</entry><entry/>{' ' * 2**20}", 3),
        # Elements around one that lxml told of are freed, where there is more to tell.
        (f"<entry><x>{MANY}<entry/></x></entry>{'<entry/>' * 20_000}", 20_001),
    ],
    ids=range(4),
)
def test_many_elements_are_read(inside: str, count: int) -> None:
    assert len(read_atom(inside).entries) == count


def test_entries_are_not_looked_at_one_by_one_where_each_needs_much_more_than_itself() -> None:
    declared = " ".join(f'xmlns:n{number}="urn:{number}"' for number in range(64))
    assert read_atom("<entry></x></entry>" + "<entry/>" * 6000, declared).fault


def test_text_is_not_handed_up_level_by_level() -> None:
    inside = f"<entry><summary>{'<x>' * 240}{'a<b/>' * 200_000}{'</x>' * 240}</summary></entry>"
    [entry] = read_atom(inside).entries
    assert ((entry.summary or "").count("a<b"), (entry.summary or "").count("<x>")) == (200_000, 240)


@pytest.mark.parametrize("attribute", ["xml:base", "xml:lang"])
def test_originals_do_not_repeat_what_is_long(attribute: str) -> None:
    body = atom_feed("<entry/>" * 1000, f'{attribute}="{"a" * 10_000}"')
    entries = read(body, URL, keep_originals=True).entries
    assert sum(len(entry.original or b"") for entry in entries) < 10 * len(body)


def test_originals_do_not_repeat_many_namespaces() -> None:
    declared = " ".join(f'xmlns:n{number}="u"' for number in range(65))
    entry = read_atom("<entry/>", declared, keep_originals=True).entries[0]
    assert entry.original == f'<entry xmlns="{ATOM}"/>'.encode()


@pytest.mark.parametrize(("codec", "octets"), [("utf-8", b"\x81\xff"), ("windows-1252", b"\x81a")])
def test_bytes_that_are_no_text_are_read(codec: str, octets: bytes) -> None:
    body = b"<?xml version='1.0' encoding='%s'?>" % codec.encode() + octets * 1000
    assert encoding.text(body, None)[0].endswith(octets.decode("latin-1") * 1000)


def test_run_of_bytes_that_are_no_utf_8_ends_where_a_character_begins() -> None:
    # With fewer characters of UTF-8, all of it would be windows-1252.
    body = b"<\xff\xe2\x82\xac\xc3\xc3\xa4\xe2\x82" + b"\xc3\xa4" * 5
    assert encoding.text(body, None)[0] == "<\xff\u20ac\xc3\xe4\xe2\u201a" + "\xe4" * 5


def test_undeclared_prefixes_are_supplied_if_they_are_few() -> None:
    used = "".join(f"<n{number}:x/>" for number in range(63))
    few, many = (
        read_atom(f"<entry><media:content url='a'/>{each}</entry>") for each in (used, f"{used}<n63:x/>")
    )
    assert "n62" in few.problems[0].detail
    assert "n0" not in many.problems[0].detail
    assert few.entries[0].enclosures == many.entries[0].enclosures != []


MANY_DECLARED = " ".join(f'xmlns:n{n} CDATA "u"' for n in range(250))


@pytest.mark.parametrize(
    ("root", "inside"),
    [
        (f"feed xmlns='{ATOM}'", f"<entry>{'<updated/>' * 400_000}</entry>"),
        ("rss", f"<channel>{'<item/>' * 99_000}{'<item><guid>http://a</guid></item>' * 99_000}</channel>"),
    ],
    ids=["atom", "rss"],
)
def test_attributes_that_are_not_there_are_not_looked_for(root: str, inside: str) -> None:
    name = root.split(maxsplit=1)[0]
    document_type = f"<!DOCTYPE {name} [<!ATTLIST {name} {MANY_DECLARED}>]>"
    assert read(f"{document_type}<{root}>{inside}</{name}>".encode(), URL).entries


def test_attribute_with_a_namespace_is_found() -> None:
    element = etree.fromstring('<a xmlns:n="u" n:b="c"/>')
    assert elements.has_attribute(element, "{u}b")
    assert not elements.has_attribute(element, "{u}a")


@pytest.mark.timeout(10)
def test_html_element_with_many_attributes() -> None:
    link = b'<link rel="alternate" type="application/atom+xml" href="a">'
    body = link + b"<a " + b"".join(b"%x " % number for number in range(165_000)) + b">" + link
    assert feed_links(body, URL) == ["http://feeds.example/dir/a"] * 2
