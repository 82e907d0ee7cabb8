"""Entities and document types, deep nesting, base URLs, and markup in entries."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from lxml import etree

from fhcrawl.documents import FeedDocument
from fhcrawl.documents.xml.elements import resolve
from fhcrawl.exceptions import NotAFeedError
from tests.feeds import read

LOCATION = "http://feeds.example/dir/feed"
ATOM = "http://www.w3.org/2005/Atom"


def read_atom(inside: str, attributes: str = "", doctype: str = "", max_entries: int = 0) -> FeedDocument:
    body = f'{doctype}<feed xmlns="{ATOM}" {attributes}>{inside}</feed>'.encode()
    return read(body, LOCATION, max_entries=max_entries)


def test_external_entity_is_not_fetched(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET")
    document = read_atom(
        "<title>&x;</title><entry><id>&x;</id><title>t</title><content type='xhtml'>&x;</content></entry>",
        doctype=f'<!DOCTYPE feed [<!ENTITY x SYSTEM "{secret.as_uri()}">]>',
    )
    assert document.title == "&x;"
    assert [(entry.id, entry.content) for entry in document.entries] == [("&x;", "&amp;x;")]


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE feed SYSTEM "{dtd}">',
        '<!DOCTYPE feed PUBLIC "-//X//Y" "{dtd}" [<!ENTITY unused "">]>',
        '<!DOCTYPE feed [<!ENTITY % dtd SYSTEM "{dtd}"> %dtd;]>',
    ],
)
def test_external_dtd_is_not_fetched(tmp_path: Path, doctype: str) -> None:
    dtd = tmp_path / "secret.dtd"
    dtd.write_text('<!ENTITY x "SECRET"><!ATTLIST link href CDATA "http://secret.example/">')
    document = read_atom(
        '<title>&x;</title><link rel="next"/>', doctype=doctype.replace("{dtd}", dtd.as_uri())
    )
    assert document.title == "&x;"
    assert document.links == {}


def bomb(levels: int) -> str:
    names = "abcdefghijklmnop"[:levels]
    nested = "".join(f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in pairwise(names))
    return f'<!DOCTYPE feed [<!ENTITY a "lol">{nested}]>'


def test_nested_entities_are_resolved_within_bounds() -> None:
    assert read_atom("<title>&e;</title>", doctype=bomb(5)).title == "lol" * 10**4


@pytest.mark.parametrize("inside", ["<title>&h;</title>", '<link rel="next" href="&h;"/>', "&g;&g;" * 99])
def test_entities_that_stand_for_too_much_lose_the_document(inside: str) -> None:
    with pytest.raises(NotAFeedError, match="its entities expand to too much text"):
        read_atom(inside, doctype=bomb(8))


def test_entities_of_a_large_document_may_stand_for_as_much_as_it_has_itself() -> None:
    text = "&a;" * 400_000
    assert read_atom(f"<title>{text}</title>", doctype='<!DOCTYPE feed [<!ENTITY a "abc">]>').title == (
        "abc" * 400_000
    )
    with pytest.raises(NotAFeedError, match="its entities expand to too much text"):
        read_atom(f"<entry>{text}</entry>", doctype='<!DOCTYPE feed [<!ENTITY a "<a/>">]>')


ENTRY = "<entry><id>urn:x</id><title>t</title></entry>"


@pytest.mark.parametrize(
    "doctype",
    [
        f'<!DOCTYPE feed [<!ENTITY x "{ENTRY}">]>',
        f'<!DOCTYPE feed [<!ENTITY x "&y;"><!ENTITY y "{ENTRY}">]>',
        f"<!DOCTYPE feed [<!ENTITY % p '<!ENTITY x \"{ENTRY}\">'>%p;]>",
        f'<!--]>--><!DOCTYPE feed SYSTEM "a>[\'" [<!-- ]> \' --><?p ]> " ?><!ENTITY y "]>">'
        f'<!ENTITY x "{ENTRY}">]>',
        f'{"<!-- -->" * 9000}<!DOCTYPE feed [<!ENTITY x "{ENTRY}">]>',
    ],
    ids=range(5),
)
def test_entry_in_an_entity_is_an_entry_of_the_feed(doctype: str) -> None:
    document = read_atom(f"&x;<entry><id>urn:1</id><title>t</title></entry>{' ' * 2**20}", doctype=doctype)
    assert [entry.id for entry in document.entries] == ["urn:x", "urn:1"]
    assert (document.fault, document.problems) == (None, [])


def test_entity_is_resolved_in_text_in_attributes_and_in_other_entities_only() -> None:
    document = read_atom(
        """<link rel="next" href='&q;&#38;'/><title>&q;&t;<![CDATA[&t;]]><!-- &no; --></title>&link;""",
        doctype="""<!DOCTYPE feed [<!ENTITY q "a&#34;b'&t;"><!ENTITY t "&#38;lt;&#38;#38;">"""
        """<!ENTITY link "<link rel='prev-archive' href='&q;'/>">]>""",
    )
    said = "a\"b'<&"
    assert document.title == f"{said}<&&t;"
    assert document.links == {
        "next": f"http://feeds.example/dir/{said}&",
        "prev-archive": f"http://feeds.example/dir/{said}",
    }
    assert (document.fault, document.problems) == (None, [])


LEVELS = "".join(f"<!ENTITY e{level} '&e{level + 1};'>" for level in range(41))
DEFAULTS = '<!ATTLIST link rel CDATA "prev-archive">'
DEEP = f"<!ENTITY x '&e1;'>{LEVELS}<!ENTITY e41 '{ENTRY}'>"


@pytest.mark.parametrize(
    ("doctype", "named"),
    [
        ('<!DOCTYPE feed [<!ENTITY x SYSTEM "file:///etc/passwd">]>', "&x;"),
        ('<!DOCTYPE feed SYSTEM "http://dtd.example/">', "&x;"),
        ('<!DOCTYPE feed [<!ENTITY % p SYSTEM "http://dtd.example/">%p;]>', "&x;"),
        ('<!DOCTYPE feed [<!ENTITY % x "y"><!ENTITY x "z">]>', "&x;"),
        ('<!DOCTYPE feed [<!ENTITY x ""><!ATTLIST link rel CDATA "prev-archive">]>', "default values"),
        ('<!DOCTYPE feed [<!ENTITY x "&y;"><!ENTITY y "&x;">]>', "&x;"),
        (f"<!DOCTYPE feed [{DEEP}]>", "&e40;"),
        ('<!DOCTYPE feed [<!ENTITY x "&#60;!--">]>', "&x;"),
        ('<!DOCTYPE feed [<!ENTITY x "&y;a"><!ENTITY y "&#60;!-- --> &#60;">]>', "&y;"),
        ('<!DOCTYPE feed [<!ENTITY x "&#60;![CDATA[a-->]]">]>', "&x;"),
        ('<!DOCTYPE feed [<!ENTITY x "&#60;?a>">]>', "&x;"),
        ("<!DOCTYPE feed [<!ENTITY x '&#60;e a=\"'>]>", "&x;"),
        (f"<!DOCTYPE feed [<!ENTITY % d '{DEFAULTS}'> %d; <!ENTITY x ''>]>", "default values"),
    ],
)
def test_what_is_not_read_of_a_document_type_is_said(doctype: str, named: str) -> None:
    document = read_atom(f"&x;{ENTRY}", doctype=doctype)
    assert [entry.id for entry in document.entries] == ["urn:x"]
    [problem] = document.problems
    assert (problem.kind, named in problem.detail) == ("unresolved-entities", True)


def test_namespaces_that_a_document_type_declares_are_read() -> None:
    doctype = (
        '<!DOCTYPE rss [<!ATTLIST rss xmlns:fh CDATA #FIXED "http://purl.org/syndication/history/1.0">]>'
    )
    document = read(f"{doctype}<rss><channel><fh:archive/></channel></rss>".encode(), LOCATION)
    assert document.archive
    assert document.problems == []


def test_entity_with_a_tag_that_has_no_end_is_a_fault() -> None:
    assert read_atom(f"{ENTRY}&x;", doctype='<!DOCTYPE feed [<!ENTITY x "<entry>">]>').fault


CONTENTS = {"&#38;": "&", "a&copy;&nothing;": "a©&nothing;", "R&D": "R&D", "100 % a": "100 % a"}


@pytest.mark.parametrize(("content", "text"), CONTENTS.items())
def test_entity_of_malformed_text_is_repaired_in_text_as_in_attributes(content: str, text: str) -> None:
    doctype = f'<!DOCTYPE feed [<!ENTITY x "{content}">]>'
    inside = "<entry><id>urn:1</id><title>a&x;</title><category term='a&x;'/></entry>"
    document = read_atom(inside, doctype=doctype)
    assert [(each.title, each.categories) for each in document.entries] == [(f"a{text}", [f"a{text}"])]
    assert document.fault is None
    assert {problem.kind for problem in document.problems} == {"repaired"}


@pytest.mark.parametrize(
    "doctype",
    [
        "<!DOCTYPE feed [<!ELEMENT feed -- bad><!ENTITY x 'y'><!ENTITY x 'z'>]>",
        "<!DOCTYPE feed [<!-- <!ENTITY x 'z'> --><!ENTITY x \"y\"><!ENTITY p R&D>]>",
        "<!doctype feed [<!ENTITY x 'y'>]>",
        "<!DOCTYPE feed [<!ENTITY x 'y'><!ENTITY z '%'>]>",
    ],
)
def test_malformed_document_type_loses_no_entity_that_is_text(doctype: str) -> None:
    document = read_atom("<entry><id>urn:&x;</id><title>a&x;</title></entry>", doctype=doctype)
    assert [(each.id, each.title) for each in document.entries] == [("urn:y", "ay")]
    assert (document.fault, [problem.kind for problem in document.problems]) == (None, ["repaired"])


def test_entity_with_markup_of_a_malformed_document_type_is_said() -> None:
    link = "<link rel='prev-archive' href='old'/>"
    document = read_atom(
        f"&x;{ENTRY}", doctype=f'<!DOCTYPE feed [<!ELEMENT feed -- bad><!ENTITY x "{link}">]>'
    )
    assert [entry.id for entry in document.entries] == ["urn:x"]
    assert [problem.kind for problem in document.problems] == ["repaired", "unresolved-entities"]


def test_texts_of_a_malformed_document_type_are_bounded() -> None:
    lines = "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 9))
    with pytest.raises(NotAFeedError, match="entities expand to too much"):
        read_atom(f"{ENTRY}&a8;", doctype=f"<!DOCTYPE feed [<!ENTITY a0 'aaaaaaaaaa'>{lines}<!ELEMENT ->]>")


# libxml2 frees what it has read of such an entity; whoever still holds an element of it holds freed memory,
# of which lxml complains on stderr at best. It may also crash, therefore another process.
@pytest.mark.parametrize("entity", ["<i>", "<entry><id>x</id></entry><i>", "<i></b>"])
def test_entity_that_is_not_well_formed_leaves_no_freed_element_behind(entity: str) -> None:
    doctype = f'<!DOCTYPE feed [<!ENTITY x "{entity}">]>'
    body = f'{doctype}<feed xmlns="{ATOM}"><title>&x;</title></feed>'
    program = (
        "import gc\n"
        "from fhcrawl.documents import read\n"
        "from fhcrawl.exceptions import NotAFeedError\n"
        "try:\n"
        f"    read({body!r}.encode(), {LOCATION!r})\n"
        "except NotAFeedError:\n"
        "    pass\n"
        "gc.collect()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["mine", "notit", "copyright", "ampere", "lt2", "ltd"])
def test_entity_that_only_begins_like_one_of_html_is_not_that_one(name: str) -> None:
    document = read_atom(f"<title>a&{name};b</title>", doctype='<!DOCTYPE feed SYSTEM "http://dtd.example/">')
    assert document.title == f"a&{name};b"


def test_entity_is_read_like_html_in_every_kind_of_text() -> None:
    document = read_atom(
        "<entry><id>urn:&eacute;</id><title>&eacute;</title><author><name>&eacute;</name></author>"
        "<summary>&eacute;</summary></entry>",
        doctype='<!DOCTYPE feed SYSTEM "http://dtd.example/">',
    )
    (entry,) = document.entries
    assert (entry.id, entry.title, entry.authors, entry.summary) == ("urn:é", "é", ["é"], "é")
    assert (document.fault, document.problems) == (None, [])


def test_nesting_without_end_loses_only_its_entry() -> None:
    document = read_atom(
        "<entry><id>urn:1</id><title>t</title></entry>"
        f"<entry><id>urn:2</id><title>{'<b>' * 5000}x{'</b>' * 5000}</title></entry>"
        "<entry><id>urn:3</id><title>t</title></entry>"
    )
    assert [entry.id for entry in document.entries] == ["urn:1", "urn:3"]
    assert [(problem.kind, problem.entry) for problem in document.problems] == [("entry-lost", "entry 2")]
    assert document.fault is None


def test_text_in_deep_nesting_is_read() -> None:
    assert read_atom(f"<title>{'<b>' * 200}x{'</b>' * 200}</title>").title == "x"


# --- references


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        *(("../x", "http://feeds.example/x"), ("?q", "http://feeds.example/dir/feed?q")),
        *(("", "http://feeds.example/dir/feed"), ("  x\n", "http://feeds.example/dir/x")),
        ("https://other.example/a/../b", "https://other.example/a/../b"),
        *(("HTTP://other.example/x", "HTTP://other.example/x"), ("urn:x", "urn:x")),
        *(("//[broken", "//[broken"), ("http://[broken", "http://[broken")),
    ],
)
def test_reference_is_resolved_against_the_base(reference: str, expected: str) -> None:
    # An upper-case scheme may be kept or not: it is the same one (RFC 3986, 3.1).
    resolved = resolve(reference, LOCATION)
    scheme, colon, rest = resolved.partition(":")
    assert resolved == expected or scheme.upper() + colon + rest == expected


@pytest.mark.parametrize("reference", ["http://[broken#x", "//[broken#x", "http://[broken", "http://a]b/#x"])
def test_head_link_that_is_no_url_loses_no_entry(reference: str) -> None:
    document = read_atom(
        f'<link rel="next" href="{reference}"/><link rel="prev-archive" href="11"/>'
        "<entry><id>urn:1</id><title>t</title></entry>"
    )
    assert document.links["prev-archive"] == "http://feeds.example/dir/11"
    assert [entry.id for entry in document.entries] == ["urn:1"]


def test_base_that_is_no_url_loses_no_entry() -> None:
    document = read_atom(
        '<link rel="next" href="http://example.org/2"/>'
        '<entry xml:base="//[x"><id>urn:1</id><title>t</title><link href="http://example.org/1"/></entry>',
        attributes='xml:base="http://[broken"',
    )
    assert document.links == {"next": "http://example.org/2"}
    assert [entry.link for entry in document.entries] == ["http://example.org/1"]


def test_fragment_is_no_part_of_the_url_of_a_document() -> None:
    document = read_atom('<link rel="self" href="11#a"/><link rel="next" href="#top"/>')
    assert document.links == {"self": "http://feeds.example/dir/11", "next": LOCATION}


# --- markup


def content_of(markup: str, attributes: str = "", media_type: str = "xhtml") -> str:
    document = read_atom(
        f'<entry><id>urn:1</id><title>t</title><content type="{media_type}">{markup}</content></entry>',
        attributes=attributes,
    )
    content = document.entries[0].content
    assert content is not None
    return content


@pytest.mark.parametrize("media_type", ["xhtml", "image/svg+xml"])
def test_markup_keeps_the_namespace_that_is_declared_around_it(media_type: str) -> None:
    content = content_of("<s:svg><s:g/></s:svg> behind", 'xmlns:s="http://www.w3.org/2000/svg"', media_type)
    assert [element.tag for element in etree.fromstring(f"<x>{content}</x>")[0].iter()] == [
        "{http://www.w3.org/2000/svg}svg",
        "{http://www.w3.org/2000/svg}g",
    ]


def test_markup_keeps_the_namespace_that_is_declared_in_it() -> None:
    content = content_of(
        '<div xmlns="http://www.w3.org/1999/xhtml">a <math xmlns="urn:math"><mi>x</mi></math> b</div>'
    )
    assert content == 'a <math xmlns="urn:math"><mi>x</mi></math> b'


def test_markup_is_cut_from_its_element_and_not_from_an_attribute() -> None:
    assert content_of('<div xmlns="http://www.w3.org/1999/xhtml" title="a>b &lt;/">x</div>') == "x"


@pytest.mark.parametrize("name", [":div", "x:y:z", "div:"])
def test_markup_with_a_name_that_is_no_qualified_name_loses_no_entry(name: str) -> None:
    markup = f'<div xmlns="http://www.w3.org/1999/xhtml"><{name}>x</{name}></div>'
    document = read_atom(
        f'<entry><id>urn:1</id><content type="xhtml">{markup}</content></entry><entry><id>urn:2</id></entry>'
    )
    assert [entry.id for entry in document.entries] == ["urn:1", "urn:2"]
    assert "repaired" in {problem.kind for problem in document.problems}
    assert document.fault is None


def test_markup_has_no_text_from_behind_its_element() -> None:
    assert content_of('<div xmlns="http://www.w3.org/1999/xhtml">x</div>behind') == "x"


def test_feed_without_a_whole_start_tag_says_what_is_wrong() -> None:
    with pytest.raises(NotAFeedError, match=r"^it is not XML \(.+\)$"):
        read(f'<feed xmlns="{ATOM}" xml:base'.encode(), LOCATION)
