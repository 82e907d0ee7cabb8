"""Entities and document types, deep nesting, base URLs, and markup in entries."""

from pathlib import Path

import pytest
from lxml import etree

from fhcrawl.documents.xml.elements import resolve
from fhcrawl.exceptions import NotAFeedError
from tests.feeds import ATOM, URL, ids, kinds, read, read_atom


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


ENTRY = "<entry><id>urn:x</id><title>t</title></entry>"
BOMB = f'<!ENTITY x "{"&y;" * 10}"><!ENTITY y "{"&z;" * 10}"><!ENTITY z "lol">'
DEFAULTS = '<!ATTLIST link rel CDATA "prev-archive">'


@pytest.mark.parametrize(
    ("declarations", "named"),
    [
        *(('<!ENTITY x "y">', "&x;"), (f'<!ENTITY x "{ENTRY}">', "&x;"), ("<!ENTITY x '<entry>'>", "&x;")),
        *((BOMB, "&x;"), ("<!ENTITY x '&x;'>", "&x;"), ('<!ENTITY x "&#60;!--">', "&x;")),
        *(('<!ELEMENT feed -- bad><!ENTITY x "y">', "&x;"), ("<!ENTITY x 'y'><!ENTITY z '%'>", "&x;")),
        ('<!ENTITY x SYSTEM "file:///etc/passwd">', "&x;"),
        ('<!ENTITY % p SYSTEM "http://dtd.example/">%p;', "&x;"),
        ('<!ENTITY % x "y"><!ENTITY x "z">', "&x;"),
        ("<!-- ]> ' --><?p ]> \" ?><!ENTITY y ']>'><!ENTITY x 'z'>", "&x;"),
        *((f"{DEFAULTS}<!ENTITY x ''>", each) for each in ("&x;", "default values")),
        (f"<!ENTITY % d '{DEFAULTS}'> %d; <!ENTITY x ''>", "default values"),
        (None, "&x;"),
    ],
)
def test_what_is_not_read_of_a_document_type_is_a_problem(declarations: str | None, named: str) -> None:
    inside = 'SYSTEM "http://dtd.example/"' if declarations is None else f"[{declarations}]"
    link = '<link rel="next" href="a?&x;b"/>'
    document = read_atom(
        f"&x;{link}<title>a &x;<![CDATA[&t;]]></title>{ENTRY}", before=f"<!DOCTYPE feed {inside}>"
    )
    assert (document.title, document.links) == ("a &x;&t;", {"next": "http://feeds.example/dir/a?&x;b"})
    assert (ids(document), document.fault) == (["urn:x"], None)
    assert {problem.kind for problem in document.problems} == {"unresolved-entities"}
    assert any(named in problem.detail for problem in document.problems)


def test_entity_of_html_is_read_as_in_html_if_the_document_declares_it() -> None:
    doctype = '<!DOCTYPE feed [<!ENTITY nbsp "&#160;"><!ENTITY unused "x">]>'
    document = read_atom(f"<title>a&nbsp;b</title>{ENTRY}", before=doctype)
    assert (document.title, document.problems) == ("a\xa0b", [])


def test_undeclared_entity_of_a_document_type_is_repaired() -> None:
    document = read_atom(f"<title>AT&T; &eacute;</title>{ENTRY}", before="<!DOCTYPE feed [<!ENTITY x 'y'>]>")
    assert (document.title, kinds(document)) == ("AT&T; é", ["repaired"])


def test_namespaces_that_a_document_type_declares_are_read() -> None:
    attribute = 'xmlns:fh CDATA #FIXED "http://purl.org/syndication/history/1.0"'
    body = f"<!DOCTYPE rss [<!ATTLIST rss {attribute}>]><rss><channel><fh:archive/></channel></rss>"
    document = read(body.encode(), URL)
    assert (document.archive, document.problems) == (True, [])


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
