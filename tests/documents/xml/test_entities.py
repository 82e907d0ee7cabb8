"""Entities and document types, deep nesting, base URLs, and markup in entries."""

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from lxml import etree

from fhcrawl.documents import FeedDocument
from fhcrawl.documents.xml.elements import resolve
from fhcrawl.exceptions import NotAFeedError
from tests.feeds import ATOM, URL, atom_feed, ids, kinds, read, read_atom


def test_external_entity_is_not_fetched(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET")
    document = read_atom(
        "<title>&x;</title><entry><id>&x;</id><title>t</title><content type='xhtml'>&x;</content></entry>",
        before=f'<!DOCTYPE feed [<!ENTITY x SYSTEM "{secret.as_uri()}">]>',
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
        '<title>&x;</title><link rel="next"/>', before=doctype.replace("{dtd}", dtd.as_uri())
    )
    assert (document.title, document.links) == ("&x;", {})


def bomb(levels: int, more: str = "") -> str:
    names = "abcdefghijklmnop"[:levels]
    nested = "".join(f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in pairwise(names))
    return f'<!DOCTYPE feed [<!ENTITY a "lol">{nested}{more}]>'


# Those of a large document may stand for as much as it has itself.
@pytest.mark.parametrize(("text", "levels", "expected"), [("&e;", 5, 10**4), ("&a;" * 400_000, 1, 400_000)])
def test_nested_entities_are_resolved_within_bounds(text: str, levels: int, expected: int) -> None:
    assert read_atom(f"<title>{text}</title>", before=bomb(levels)).title == "lol" * expected


@pytest.mark.parametrize(
    ("inside", "doctype"),
    [
        *((each, bomb(8)) for each in ("<title>&h;</title>", '<link rel="next" href="&h;"/>', "&g;&g;" * 99)),
        (f"<entry>{'&a;' * 400_000}</entry>", '<!DOCTYPE feed [<!ENTITY a "<a/>">]>'),
        ("<entry/>&i;", bomb(9, "<!ELEMENT ->")),
    ],
    ids=range(5),
)
def test_entities_that_stand_for_too_much_lose_the_document(inside: str, doctype: str) -> None:
    with pytest.raises(NotAFeedError, match="its entities expand to too much text"):
        read_atom(inside, before=doctype)


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
    document = read_atom(f"&x;<entry><id>urn:1</id><title>t</title></entry>{' ' * 2**20}", before=doctype)
    assert (ids(document), document.fault, document.problems) == (["urn:x", "urn:1"], None, [])


def test_entity_is_resolved_in_text_in_attributes_and_in_other_entities_only() -> None:
    document = read_atom(
        """<link rel="next" href='&q;&#38;'/><title>&q;&t;<![CDATA[&t;]]><!-- &no; --></title>&link;""",
        before="""<!DOCTYPE feed [<!ENTITY q "a&#34;b'&t;"><!ENTITY t "&#38;lt;&#38;#38;">"""
        """<!ENTITY link "<link rel='prev-archive' href='&q;'/>">]>""",
    )
    text = "a\"b'<&"
    url = f"http://feeds.example/dir/{text}"
    expected = FeedDocument("atom", f"{text}<&&t;", links={"next": f"{url}&", "prev-archive": url})
    assert replace(document, site=None) == expected


LEVELS = "".join(f"<!ENTITY e{level} '&e{level + 1};'>" for level in range(41))
DEFAULTS = '<!ATTLIST link rel CDATA "prev-archive">'
DEEP = f"<!ENTITY x '&e1;'>{LEVELS}<!ENTITY e41 '{ENTRY}'>"


@pytest.mark.parametrize(
    ("declarations", "named"),
    [
        ('<!ENTITY x SYSTEM "file:///etc/passwd">', "&x;"),
        ('<!ENTITY % p SYSTEM "http://dtd.example/">%p;', "&x;"),
        ('<!ENTITY % x "y"><!ENTITY x "z">', "&x;"),
        ('<!ENTITY x ""><!ATTLIST link rel CDATA "prev-archive">', "default values"),
        ('<!ENTITY x "&y;"><!ENTITY y "&x;">', "&x;"),
        (DEEP, "&e40;"),
        ('<!ENTITY x "&#60;!--">', "&x;"),
        ('<!ENTITY x "&y;a"><!ENTITY y "&#60;!-- --> &#60;">', "&y;"),
        ('<!ENTITY x "&#60;![CDATA[a-->]]">', "&x;"),
        *(('<!ENTITY x "&#60;?a>">', "&x;"), ("<!ENTITY x '&#60;e a=\"'>", "&x;")),
        (f"<!ENTITY % d '{DEFAULTS}'> %d; <!ENTITY x ''>", "default values"),
        (None, "&x;"),
    ],
)
def test_unread_declarations_of_a_document_type_are_problems(declarations: str | None, named: str) -> None:
    inside = 'SYSTEM "http://dtd.example/"' if declarations is None else f"[{declarations}]"
    document = read_atom(f"&x;{ENTRY}", before=f"<!DOCTYPE feed {inside}>")
    assert ids(document) == ["urn:x"]
    [problem] = document.problems
    assert (problem.kind, named in problem.detail) == ("unresolved-entities", True)


def test_namespaces_that_a_document_type_declares_are_read() -> None:
    attribute = 'xmlns:fh CDATA #FIXED "http://purl.org/syndication/history/1.0"'
    body = f"<!DOCTYPE rss [<!ATTLIST rss {attribute}>]><rss><channel><fh:archive/></channel></rss>"
    document = read(body.encode(), URL)
    assert (document.archive, document.problems) == (True, [])


def test_entity_with_a_tag_that_has_no_end_is_a_fault() -> None:
    assert read_atom(f"{ENTRY}&x;", before='<!DOCTYPE feed [<!ENTITY x "<entry>">]>').fault


CONTENTS = {"&#38;": "&", "a&copy;&nothing;": "a©&nothing;", "R&D": "R&D", "100 % a": "100 % a"}


# Neither a malformed entity nor a malformed document type loses an entity that is text.
@pytest.mark.parametrize(
    ("doctype", "text"),
    [
        *((f'<!DOCTYPE feed [<!ENTITY x "{content}">]>', text) for content, text in CONTENTS.items()),
        ("<!DOCTYPE feed [<!ELEMENT feed -- bad><!ENTITY x 'y'><!ENTITY x 'z'>]>", "y"),
        ("<!DOCTYPE feed [<!-- <!ENTITY x 'z'> --><!ENTITY x \"y\"><!ENTITY p R&D>]>", "y"),
        ("<!doctype feed [<!ENTITY x 'y'>]>", "y"),
        ("<!DOCTYPE feed [<!ENTITY x 'y'><!ENTITY z '%'>]>", "y"),
    ],
)
def test_malformed_entity_is_repaired_in_text_as_in_attributes(doctype: str, text: str) -> None:
    inside = "<entry><id>urn:&x;</id><title>a&x;</title><category term='a&x;'/></entry>"
    document = read_atom(inside, before=doctype)
    assert [(each.title, each.categories) for each in document.entries] == [(f"a{text}", [f"a{text}"])]
    assert ids(document) == [f"urn:{text}"]
    assert (document.fault, kinds(document)) == (None, ["repaired"])


def test_entity_with_markup_in_a_malformed_document_type_is_a_problem() -> None:
    link = "<link rel='prev-archive' href='old'/>"
    document = read_atom(
        f"&x;{ENTRY}", before=f'<!DOCTYPE feed [<!ELEMENT feed -- bad><!ENTITY x "{link}">]>'
    )
    assert (ids(document), kinds(document)) == (["urn:x"], ["repaired", "unresolved-entities"])


# libxml2 frees what it has read of such an entity; whoever still holds an element of it holds freed memory,
# of which lxml complains on stderr at best. It may also crash, therefore another process.
@pytest.mark.parametrize("entity", ["<i>", "<entry><id>x</id></entry><i>", "<i></b>"])
def test_entity_that_is_not_well_formed_leaves_no_freed_element_behind(entity: str) -> None:
    body = atom_feed("<title>&x;</title>", before=f'<!DOCTYPE feed [<!ENTITY x "{entity}">]>')
    program = (
        "import contextlib, gc\n"
        "from fhcrawl.documents import read\n"
        "from fhcrawl.exceptions import NotAFeedError\n"
        f"with contextlib.suppress(NotAFeedError):\n    read({body!r}, {URL!r})\n"
        "gc.collect()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


EXTERNAL = '<!DOCTYPE feed SYSTEM "http://dtd.example/">'


@pytest.mark.parametrize("name", ["mine", "notit", "copyright", "ampere", "lt2", "ltd"])
def test_entity_that_only_begins_like_one_of_html_is_not_that_one(name: str) -> None:
    assert read_atom(f"<title>a&{name};b</title>", before=EXTERNAL).title == f"a&{name};b"


def test_entity_is_read_like_html_in_every_kind_of_text() -> None:
    document = read_atom(
        "<entry><id>urn:&eacute;</id><title>&eacute;</title><author><name>&eacute;</name></author>"
        "<summary>&eacute;</summary></entry>",
        before=EXTERNAL,
    )
    (entry,) = document.entries
    assert (entry.id, entry.title, entry.authors, entry.summary) == ("urn:é", "é", ["é"], "é")
    assert (document.fault, document.problems) == (None, [])


@pytest.mark.parametrize(("levels", "is_lost"), [(200, False), (5000, True)])
def test_nesting_without_end_loses_only_its_entry(levels: int, is_lost: bool) -> None:
    title = f"{'<b>' * levels}x{'</b>' * levels}"
    document = read_atom(f"{ENTRY}<entry><id>urn:2</id><title>{title}</title></entry>{ENTRY}")
    assert [entry.title for entry in document.entries] == (["t", "t"] if is_lost else ["t", "x", "t"])
    problems = [(problem.kind, problem.entry) for problem in document.problems]
    assert (problems, document.fault) == ([("entry-lost", "entry 2")] if is_lost else [], None)


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
    resolved = resolve(reference, URL)
    scheme, colon, rest = resolved.partition(":")
    assert resolved == expected or scheme.upper() + colon + rest == expected


@pytest.mark.parametrize("reference", ["http://[broken#x", "//[broken#x", "http://[broken", "http://a]b/#x"])
def test_head_link_that_is_no_url_loses_no_entry(reference: str) -> None:
    document = read_atom(f'<link rel="next" href="{reference}"/><link rel="prev-archive" href="11"/>{ENTRY}')
    assert document.links["prev-archive"] == "http://feeds.example/dir/11"
    assert ids(document) == ["urn:x"]


def test_base_that_is_no_url_loses_no_entry() -> None:
    document = read_atom(
        '<link rel="next" href="http://example.org/2"/>'
        '<entry xml:base="//[x"><id>urn:1</id><title>t</title><link href="http://example.org/1"/></entry>',
        'xml:base="http://[broken"',
    )
    assert document.links == {"next": "http://example.org/2"}
    assert [entry.link for entry in document.entries] == ["http://example.org/1"]


def test_fragment_is_no_part_of_the_url_of_a_document() -> None:
    document = read_atom('<link rel="self" href="11#a"/><link rel="next" href="#top"/>')
    assert document.links == {"self": "http://feeds.example/dir/11", "next": URL}


# --- markup


def content_of(markup: str, attributes: str = "", media_type: str = "xhtml") -> str:
    entry = f'<entry><id>urn:1</id><title>t</title><content type="{media_type}">{markup}</content></entry>'
    return read_atom(entry, attributes).entries[0].content or ""


@pytest.mark.parametrize("media_type", ["xhtml", "image/svg+xml"])
def test_markup_keeps_the_namespace_that_is_declared_around_it(media_type: str) -> None:
    content = content_of("<s:svg><s:g/></s:svg> behind", 'xmlns:s="http://www.w3.org/2000/svg"', media_type)
    svg = "{http://www.w3.org/2000/svg}"
    assert [each.tag for each in etree.fromstring(f"<x>{content}</x>")[0].iter()] == [f"{svg}svg", f"{svg}g"]


@pytest.mark.parametrize(
    ("attributes", "inside", "behind"),
    [
        ("", 'a <math xmlns="urn:math"><mi>x</mi></math> b', ""),  # a namespace that is declared in it
        ('title="a>b &lt;/"', "x", ""),
        ("", "x", "behind"),
    ],
)
def test_markup_is_what_is_in_its_div(attributes: str, inside: str, behind: str) -> None:
    assert (
        content_of(f'<div xmlns="http://www.w3.org/1999/xhtml" {attributes}>{inside}</div>{behind}') == inside
    )


@pytest.mark.parametrize("name", [":div", "x:y:z", "div:"])
def test_markup_with_a_name_that_is_no_qualified_name_loses_no_entry(name: str) -> None:
    content = f'<div xmlns="http://www.w3.org/1999/xhtml"><{name}>x</{name}></div>'
    document = read_atom(f'<entry><id>1</id><content type="xhtml">{content}</content></entry>{ENTRY}')
    assert (ids(document), document.fault) == (["1", "urn:x"], None)
    assert "repaired" in kinds(document)


def test_feed_without_a_complete_start_tag_is_a_clear_error() -> None:
    with pytest.raises(NotAFeedError, match=r"^it is not XML \(.+\)$"):
        read(f'<feed xmlns="{ATOM}" xml:base'.encode(), URL)
