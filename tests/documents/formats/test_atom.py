import base64
from typing import Any

import pytest

from fhcrawl.documents import Entry, Problem
from tests.feeds import URL, ids, read, read_atom


def read_entry(inside: str) -> Entry:
    document = read_atom(f"<entry><id>urn:1</id><title>t</title>{inside}</entry>")
    (entry,) = document.entries
    return entry


@pytest.mark.parametrize(
    "id_", ["http://Example.ORG:80/%7Ea/../b#c", "relative", "urn:UUID:A  B", "HTTP://x"]
)
def test_id_is_kept_as_it_is_but_for_white_space_around_it(id_: str) -> None:
    entry = f'<entry xml:base="http://base.example/"><id>\n {id_}\t</id><title>t</title></entry>'
    assert ids(read_atom(entry)) == [id_]


DIV = '<div xmlns="http://www.w3.org/1999/xhtml"><b>a</b></div>'
NO_LENGTHS = ("", "-1", "1.5", "1k", "٣", "²", "9" * 5000)


def link(url: str | None) -> dict[str, Any]:
    return {"link": url and f"http://feeds.example/dir/{url}", "enclosures": []}


def content(text: str | None, media_type: str | None) -> dict[str, Any]:
    return {"content": text, "content_type": media_type, "enclosures": []}


def enclosure(length: int | None) -> dict[str, Any]:
    return {"enclosures": [{"url": "http://feeds.example/dir/a", "type": None, "length": length}]}


@pytest.mark.parametrize(
    ("inside", "fields"),
    [
        # the first alternate
        *(('<link href="a"/>', link("a")), ('<link rel="ALTERNATE" href="a#b"/>', link("a#b"))),
        *(
            ('<link rel="related alternate" href="a"/>', link("a")),
            ('<link rel="via" href="a"/>', link(None)),
        ),
        ('<link rel="self" href="a"/><link rel="alternate" href="b"/>', link("b")),
        ('<link href=""/><link/><link href="b"/>', link("b")),
        # RFC 4287, 4.1.3.3, 6: content of other media types is base64, with white space anywhere.
        ('<content type="image/png"> iVBO\n Rw0K </content>', content("iVBORw0K", "image/png;base64")),
        ('<content type="application/json">{"a": 1}</content>', content('{"a": 1}', "application/json")),
        (
            '<content type="application/json">eyJhIjogMX0=</content>',
            content("eyJhIjogMX0=", "application/json;base64"),
        ),
        *(
            (f'<content type="{media_type}">abcd</content>', content("abcd", media_type))
            for media_type in ("text/markdown", "TEXT/plain", "markdown", "image/svg+xml")
        ),
        ('<content type="image/png"> </content>', content(None, None)),
        *((f"<content {each}>x</content>", content("x", "text")) for each in ("", 'type=""', 'type="text"')),
        *((f'<content {each}=" ">x</content>', content("x", "text")) for each in ("type", "src")),
        ('<content src="">x</content>', content("x", "text")),
        # a type in another case
        (f'<content type="XHTML">{DIV}</content>', content("<b>a</b>", "xhtml")),
        (f'<content type=" xhtml ">{DIV}</content>', content("<b>a</b>", "xhtml")),
        (f'<content type="HTML">{DIV}</content>', content("<div><b>a</b></div>", "html")),
        (f'<content type="Text/HTML">{DIV}</content>', content("<div><b>a</b></div>", "Text/HTML")),
        (f'<summary type=" XHTML ">{DIV}</summary>', {"summary": "<b>a</b>"}),
        # Markup without a namespace gets no other one.
        ('<content type="xhtml"><p>a<br/></p></content>', content("<p>a<br/></p>", "xhtml")),
        # A length that is no number is ignored.
        *(
            (f'<link rel="enclosure" href="a" length="{length}"/>', enclosure(expected))
            for length, expected in ((" 12 ", 12), ("007", 7), *((each, None) for each in NO_LENGTHS))
        ),
    ],
)
def test_children_of_an_entry_are_its_fields(inside: str, fields: dict[str, Any]) -> None:
    entry = read_entry(inside)
    assert {name: getattr(entry, name) for name in fields} == fields


def test_authors_of_the_feed_are_not_shared_between_entries() -> None:
    document = read_atom("<author><name>N</name></author><entry><id>1</id></entry><entry><id>2</id></entry>")
    first, second = document.entries
    first.authors.append("another")
    assert second.authors == ["N"]


# The clock decides between versions, so that a time that cannot be read must show.
@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("http://www.w3.org/2005/Atom", "updated"),
        *(("http://purl.org/atom/ns#", name) for name in ("issued", "created", "modified")),
    ],
)
def test_problem_names_its_entry_and_the_date_that_cannot_be_read(namespace: str, name: str) -> None:
    entry = f"<entry><id>urn:1</id><title>t</title><{name}>soon\x7f\u202e</{name}></entry>"
    document = read(f'<feed xmlns="{namespace}">{entry}</feed>'.encode(), URL)
    detail = rf"its atom:{name} is not a date: 'soon\x7f\u202e'"
    assert document.problems == [Problem("unreadable-date", "urn:1", detail)]


def test_problem_of_an_unnamed_entry_has_its_position() -> None:
    document = read_atom("<entry><id>1</id><title>t</title></entry><entry/>")
    assert {problem.entry for problem in document.problems} == {"entry 2"}


def test_first_child_that_has_a_value_counts() -> None:
    (entry,) = read_atom(
        "<entry><id/><id>1</id><id>2</id><title/><title>a</title><title>b</title><summary/><summary>c</summary>"
        "<summary>d</summary><content> </content><content type='html'>e</content><content>f</content>"
        "<published>soon</published><published>2003-12-13</published><published>2004-12-13</published>"
        "<updated>soon</updated><updated>2003-12-14</updated><updated>2004-12-14</updated></entry>"
    ).entries
    assert (entry.id, entry.title, entry.summary, entry.content) == ("1", "a", "c", "e")
    assert (entry.content_type, entry.published) == ("html", "2003-12-13T00:00:00Z")
    assert entry.updated == "2003-12-14T00:00:00Z"


# --- Atom 0.3


def read_old_entry(inside: str) -> Entry:
    body = f'<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry>{inside}</entry></feed>'.encode()
    (entry,) = read(body, URL).entries
    return entry


@pytest.mark.parametrize(
    ("attributes", "inside", "content", "content_type"),
    [
        *(("", " plain ", " plain ", "text"), ("", "a<b/>&lt;", "a<b></b>&lt;", "html")),
        *(("mode='escaped'", "&lt;b>", "<b>", "text"), ("type='text/html'", "&lt;b>", "<b>", "html")),
        ("type='text/html'", "a <b>c</b>", "a <b>c</b>", "html"),
        ("type='TEXT/HTML' mode=' ESCAPED '", "&lt;b>", "<b>", "html"),
        ("type='text/html' mode='xml'", "&lt;b>", "&lt;b&gt;", "html"),
        ("type='application/xml'", "<x xmlns=''/>", "<x/>", "application/xml"),
        ("type='text/html' mode='escaped'", " ", None, None),
        ("type='text/html' mode='base64'", "", None, None),
        ("type='text/html' mode='base64'", "PGI+\n", "<b>", "html"),
        ("mode='base64'", "no base64", "nobase64", "text/plain;base64"),
    ],
)
def test_content_of_atom_03_is_read_by_its_mode_and_type(
    attributes: str, inside: str, content: str | None, content_type: str | None
) -> None:
    entry = read_old_entry(f"<content {attributes}>{inside}</content>")
    assert (entry.content, entry.content_type) == (content, content_type)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\x00b", "￾".encode()])
def test_bytes_that_are_no_text_stay_base64(data: bytes) -> None:
    encoded = base64.b64encode(data).decode()
    entry = read_old_entry(f'<content type="application/x-bytes" mode="base64">{encoded}</content>')
    assert (entry.content, entry.content_type) == (encoded, "application/x-bytes;base64")
