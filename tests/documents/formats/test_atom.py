import base64

import pytest

from fhcrawl.documents import Entry, FeedDocument, Problem
from tests.feeds import read

LOCATION = "http://feeds.example/dir/feed"


def read_atom(inside: str) -> FeedDocument:
    body = (
        '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:fh="http://purl.org/syndication/history/1.0">'
        f"{inside}</feed>"
    )
    return read(body.encode(), LOCATION)


def read_entry(inside: str) -> Entry:
    document = read_atom(f"<entry><id>urn:1</id><title>t</title>{inside}</entry>")
    (entry,) = document.entries
    return entry


# RFC 4287, 4.2.6.1: ids are compared character by character, so that none is ever changed.
@pytest.mark.parametrize(
    "id_", ["http://Example.ORG:80/%7Ea/../b#c", "relative", "urn:UUID:A  B", "HTTP://x"]
)
def test_id_is_kept_as_it_is_but_for_white_space_around_it(id_: str) -> None:
    document = read_atom(
        f'<entry xml:base="http://base.example/"><id>\n {id_}\t</id><title>t</title></entry>'
    )
    assert [entry.id for entry in document.entries] == [id_]


@pytest.mark.parametrize(
    ("links", "link"),
    [
        ('<link href="a"/>', "http://feeds.example/dir/a"),
        ('<link rel="ALTERNATE" href="a#b"/>', "http://feeds.example/dir/a#b"),
        ('<link rel="related alternate" href="a"/>', "http://feeds.example/dir/a"),
        ('<link rel="self" href="a"/><link rel="alternate" href="b"/>', "http://feeds.example/dir/b"),
        ('<link href=""/><link/><link href="b"/>', "http://feeds.example/dir/b"),
        ('<link rel="via" href="a"/>', None),
    ],
)
def test_link_of_an_entry_is_its_first_alternate(links: str, link: str | None) -> None:
    entry = read_entry(links)
    assert entry.link == link
    assert entry.enclosures == []


@pytest.mark.parametrize("type_", ["", 'type=""', 'type=" "', 'type="text"'])
def test_content_without_a_type_is_text(type_: str) -> None:
    entry = read_entry(f"<content {type_}>x</content>")
    assert (entry.content, entry.content_type) == ("x", "text")


@pytest.mark.parametrize("source", ["", " "])
def test_content_with_an_empty_source_is_no_enclosure(source: str) -> None:
    assert read_entry(f'<content src="{source}">x</content>').enclosures == []


NO_LENGTHS = ("", "-1", "1.5", "1k", "٣", "²", "9" * 5000)


@pytest.mark.parametrize(("length", "expected"), [(" 12 ", 12), ("007", 7), *((n, None) for n in NO_LENGTHS)])
def test_length_of_an_enclosure_is_a_number_or_says_nothing(length: str, expected: int | None) -> None:
    (enclosure,) = read_entry(f'<link rel="enclosure" href="a" length="{length}"/>').enclosures
    assert enclosure["length"] == expected


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
    document = read(f'<feed xmlns="{namespace}">{entry}</feed>'.encode(), LOCATION)
    detail = rf"its atom:{name} is not a date: 'soon\x7f\u202e'"
    assert document.problems == [Problem("unreadable-date", "urn:1", detail)]


def test_problem_of_an_entry_without_a_name_says_its_position() -> None:
    document = read_atom("<entry><id>1</id><title>t</title></entry><entry/>")
    assert {problem.entry for problem in document.problems} == {"entry 2"}


# RFC 4287, 4.1.3.3, 6: content of other media types is base64, with white space anywhere.
@pytest.mark.parametrize(
    ("media_type", "content", "expected"),
    [
        ("image/png", " iVBO\n Rw0K ", ("iVBORw0K", "image/png;base64")),
        ("application/json", '{"a": 1}', ('{"a": 1}', "application/json")),
        ("application/json", "eyJhIjogMX0=", ("eyJhIjogMX0=", "application/json;base64")),
        ("text/markdown", "abcd", ("abcd", "text/markdown")),
        ("TEXT/plain", "abcd", ("abcd", "TEXT/plain")),
        ("markdown", "abcd", ("abcd", "markdown")),
        ("image/svg+xml", "abcd", ("abcd", "image/svg+xml")),
        ("image/png", " ", (None, None)),
    ],
)
def test_base64_is_marked_in_the_content_type(
    media_type: str, content: str, expected: tuple[str | None, str | None]
) -> None:
    entry = read_entry(f"<content type='{media_type}'>{content}</content>")
    assert (entry.content, entry.content_type) == expected


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


@pytest.mark.parametrize(
    ("type_", "content", "content_type"),
    [
        *(("XHTML", "<b>a</b>", "xhtml"), (" xhtml ", "<b>a</b>", "xhtml")),
        *(("HTML", "<div><b>a</b></div>", "html"), ("Text/HTML", "<div><b>a</b></div>", "Text/HTML")),
    ],
)
def test_type_may_be_in_another_case(type_: str, content: str, content_type: str) -> None:
    inside = '<div xmlns="http://www.w3.org/1999/xhtml"><b>a</b></div>'
    entry = read_entry(
        f'<content type="{type_}">{inside}</content><summary type="{type_}">{inside}</summary>'
    )
    assert (entry.content, entry.content_type) == (content, content_type)
    assert entry.summary in (content, "<div><b>a</b></div>")


def test_xhtml_without_its_namespace_gets_no_other_one() -> None:
    assert read_entry('<content type="xhtml"><p>a<br/></p></content>').content == "<p>a<br/></p>"


# --- Atom 0.3


def read_old_entry(inside: str) -> Entry:
    body = f'<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry>{inside}</entry></feed>'.encode()
    (entry,) = read(body, LOCATION).entries
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
