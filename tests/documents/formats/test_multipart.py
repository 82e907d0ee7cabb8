from __future__ import annotations

import json
import re
from email import message_from_bytes
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from fhcrawl.documents.formats.multipart import is_multipart, parameter, read
from fhcrawl.exceptions import NotAFeedError
from tests.feeds import said

if TYPE_CHECKING:
    from fhcrawl.documents.model import Entry, FeedDocument

DATA = Path(__file__).parents[2] / "data" / "multipart"
PAGES = sorted(DATA.glob("*.http"))
LOCATION = "http://feeds.example/dir/"
KINDS = {"empty", "no-boundary", "no-parts"}
UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
TYPE = "multipart/mixed; boundary=b"


class Response(NamedTuple):
    """A file of tests/data/multipart: the headers of a response, an empty line, and exactly its body."""

    body: bytes
    content_type: str
    links: list[str]
    last_modified: str


def response_of(path: Path) -> Response:
    head, _, body = path.read_bytes().partition(b"\n\n")
    headers = message_from_bytes(head)
    return Response(
        body, headers["Content-Type"], headers.get_all("Link", failobj=[]), headers["Last-Modified"]
    )


def read_page(path: Path, size: int | None = None) -> FeedDocument:
    response = response_of(path)
    return read(
        response.body[:size],
        LOCATION + path.stem,
        response.content_type,
        response.links,
        response.last_modified,
    )


def read_body(body: bytes, content_type: str | None = TYPE) -> FeedDocument:
    return read(body, LOCATION, content_type, [])


def read_entity(part: bytes) -> Entry:
    document = read_body(b"--b\n" + part + b"\n--b--")
    (entry,) = document.entries
    assert document.fault is None
    return entry


def problems_of(*headers: str, links: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    body = "".join(f"--b\n{header}\n\n" for header in headers) + "--b--"
    document = read(body.encode(), LOCATION, TYPE, links)
    return [(problem.kind, problem.entry) for problem in document.problems]


def links_of(*values: str) -> tuple[dict[str, str], bool]:
    document = read(b"--b\n\nx\n--b--", LOCATION, TYPE, values)
    return document.links, document.archive


def first_entity(path: Path) -> int:
    """Where the first entity of a page begins, behind the line end of its first boundary."""
    body, content_type, *_ = response_of(path)
    line = b"--" + parameter(content_type, "boundary").encode()
    return next(end.end() for end in re.finditer(rb"(?m)^(.*)\n", body) if end[1].rstrip() == line)


def name_of(path: Path) -> str:
    return path.stem


# --- pages and what they must give


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_page_gives_what_the_file_beside_it_says(path: Path) -> None:
    assert said(read_page(path)) == json.loads(path.with_suffix(".json").read_text("utf-8"))


def test_every_expectation_belongs_to_one_page() -> None:
    assert sorted(path.stem for path in DATA.glob("*.json")) == [path.stem for path in PAGES]


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_page_cut_at_any_byte_keeps_entities_from_its_beginning(path: Path) -> None:
    whole = read_page(path).entries[::-1]
    kept = 0
    for cut in range(first_entity(path), len(response_of(path).body)):
        document = read_page(path, cut)
        assert document.fault or len(document.entries) == len(whole)
        assert document.entries[::-1] == whole[: len(document.entries)]
        assert kept <= len(document.entries)
        kept = len(document.entries)


# --- the boundary


@pytest.mark.parametrize(
    ("content_type", "boundary"),
    [
        ("multipart/mixed; boundary=b", "b"),
        ('multipart/mixed; boundary="b"', "b"),
        ("multipart/mixed; boundary=<random-boundary>", "<random-boundary>"),
        ('multipart/mixed; boundary="<random-boundary>"', "<random-boundary>"),
        ("multipart/package;BOUNDARY=a:b", "a:b"),
        ("  multipart/mixed  ;  boundary=test boundary  ", "test boundary"),
        ('Multipart; bounDArY = "---;==;---"', "---;==;---"),
        ('multipart/mixed; x="; boundary=no"; boundary=b; y=z', "b"),
        ('multipart/mixed; boundary="a\\"\\\\b"', 'a"\\b'),
        ('multipart/mixed; boundary="unterminated', "unterminated"),
        ("multipart/mixed; boundary=a=b?(c).*+[d]", "a=b?(c).*+[d]"),
        ("multipart/mixed; boundary=first; boundary=second", "first"),
        ('multipart/mixed; boundary="ends with a space "', "ends with a space"),
        ("multipart/mixed; boundary=\xe9", "\xe9"),
        ("multipart/mixed; boundary=--", "--"),
    ],
)
def test_boundary_is_read_whatever_it_is_made_of(content_type: str, boundary: str) -> None:
    body = f"--{boundary}\r\nContent-ID: 1\r\n\r\nx\r\n--{boundary}--\r\n".encode("latin-1")
    document = read_body(body, content_type)
    assert [entry.id for entry in document.entries] == ["1"]
    assert document.fault is None


def test_boundary_that_no_header_can_carry_is_looked_for_all_the_same() -> None:
    assert (
        len(read_body("--\u20ac\n\nx\n--\u20ac--".encode(), "multipart/mixed; boundary=\u20ac").entries) == 1
    )


@pytest.mark.parametrize(
    "content_type", [None, "", "multipart/mixed", 'multipart/mixed; boundary=""', TYPE[:-1]]
)
def test_page_without_a_boundary_in_its_header_is_refused(content_type: str | None) -> None:
    with pytest.raises(NotAFeedError) as caught:
        read_body(b"--b\n\nx\n--b--", content_type)
    assert caught.value.kind == "no-boundary"


@pytest.mark.parametrize(
    "body", [b"<html>", b"--b", b"--b-", b"x--b\n\nx\n", b" --b--", b"--B\n\n--B--", b"--bb\n\nx\n", b"-b\n"]
)
def test_body_without_the_boundary_is_refused(body: bytes) -> None:
    with pytest.raises(NotAFeedError) as caught:
        read_body(body)
    assert caught.value.kind == "no-parts"


def test_boundary_that_is_no_text_is_nowhere() -> None:
    with pytest.raises(NotAFeedError, match="nowhere"):
        read_body(b"--b\n\nx\n--b--", "multipart/mixed; boundary=\ud800")


@pytest.mark.parametrize("body", [b"", b"\r\n \t"])
def test_empty_body_is_refused(body: bytes) -> None:
    with pytest.raises(NotAFeedError) as caught:
        read_body(body)
    assert caught.value.kind == "empty"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("multipart/mixed; boundary=b", True),
        (" MULTIPART/x-anything", True),
        ("multipart/package;boundary=b", True),
        ("Multipart; boundary=b", True),
        ("multipart", True),
        ("multiparty/mixed", False),
        ("text/plain; x=multipart/mixed", False),
        ("", False),
        (None, False),
    ],
)
def test_every_subtype_of_multipart_is_multipart(header: str | None, expected: bool) -> None:
    assert is_multipart(header) is expected


def test_parameter_is_found_by_its_name_in_any_case() -> None:
    assert parameter("text/plain; a=1; CharSet=UTF-8", "charset") == "UTF-8"
    assert parameter("text/plain; a=1", "charset") == ""


# --- where parts begin and end


@pytest.mark.parametrize(
    ("page", "bodies"),
    [
        (b"--b--", []),
        (b"--b--\r\n", []),
        (b"preamble\n--b--\nepilogue", []),
        (b"--b\n--b--", []),
        (b"--b\r\n\r\n--b--", []),
        (b"--b\n\n\n--b--", []),
        (b"--b\n\nx\n--b--", ["x"]),
        (b"--b\r\n\r\nx\r\n--b--\r\n", ["x"]),
        (b"--b\r\n\nx\r\n--b--\n", ["x"]),
        (b"--b\n\r\nx\n--b--\r", ["x"]),
        (b"--b \t\r\n\r\nx\r\n--b-- \t\r\n", ["x"]),
        (b"--b\n\n\n\nx\n\n\n--b--", ["\n\nx\n\n"]),
        (b"--b\r\n\r\n\r\nx\r\n\r\n--b--", ["\r\nx\r\n"]),
        (b"--b\n\nx\r\n\n--b--", ["x\r\n"]),
        (b"--b\n\nx\n\r\n--b--", ["x\n"]),
        (b"--b\n\nx\r\r\n--b--", ["x\r"]),
        (b"--b\n\nx--b\n--b--", ["x--b"]),
        (b"--b\n\n --b\n--b--", [" --b"]),
        (b"--b\n\n--bb\n--b--b\n--b -\n-\n--b--", ["--bb\n--b--b\n--b -\n-"]),
        (b"--b\n\nx\r--b\ry\n--b--", ["x\r--b\ry"]),
        (b"--b\n\n-----b\n--b--", ["-----b"]),
        (b"--b\n\nx\n--b--\n--b\n\ny\n--b--", ["x"]),
        (b"\xef\xbb\xbf--b\n\nx\n--b--", ["x"]),
        (b"--b\n\n\xef\xbb\xbf--b\n--b--", ["\ufeff--b"]),
        (b"\xef\xbb\xbf", None),
        (b"\xef\xbb\xbfx--b--", None),
        (b"\n\xef\xbb\xbf--b--", None),
        (b"abc--b--", None),
    ],
)
def test_body_is_kept_exactly_between_its_boundaries(page: bytes, bodies: list[str] | None) -> None:
    if bodies is None:
        with pytest.raises(NotAFeedError):
            read_body(page)
        return
    document = read_body(page)
    assert [entry.content for entry in reversed(document.entries)] == bodies
    assert document.fault is None


@pytest.mark.parametrize("length", ["0", "1", "-1", "99", "x"])
def test_content_length_is_never_believed(length: str) -> None:
    assert read_entity(f"Content-Length: {length}\n\nabc\n--c\ndef".encode()).content == "abc\n--c\ndef"


@pytest.mark.parametrize(
    "end", [b"", b"\n", b"\n--b", b"\n--b-", b"\n--b\r", b"\n--b \t", b"\n--b--x", b"--b--"]
)
def test_page_without_its_closing_boundary_keeps_what_came_before(end: bytes) -> None:
    document = read_body(b"--b\nContent-ID: 1\n\nx\n--b\nContent-ID: 2\n\ny" + end)
    assert [entry.id for entry in document.entries] == ["1"]
    assert document.fault == "it is cut off: its closing boundary is missing"


def test_page_that_ends_in_an_open_boundary_is_cut_off_behind_its_entity() -> None:
    document = read_body(b"--b\nContent-ID: 1\n\nx\n--b\n")
    assert [entry.id for entry in document.entries] == ["1"]
    assert document.fault


def test_entries_are_from_newer_to_older() -> None:
    document = read_body(b"--b\n\n1\n--b\n\n2\n--b\n\n3\n--b--")
    assert [entry.content for entry in document.entries] == ["3", "2", "1"]


# --- headers


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-ID: 1",
        b"content-id:1",
        b"CONTENT-ID  :\t1 ",
        b"Content-ID:\r\n 1",
        b"Content-ID:\n\t \n\t1",
        b"X: y\nContent-ID: 1\nContent-ID: 2",
        b"Content-ID:\nContent-ID: 1",
        b"no header\nContent-ID: 1",
        b"  Content-ID: 1",
        b"Content-ID: <1>",
        b"Content-ID: < 1 >",
    ],
)
@pytest.mark.parametrize("rest", [b"", b"\n", b"\r\n\r\n\r\nx"])
def test_header_is_read_however_it_is_written(headers: bytes, rest: bytes) -> None:
    assert read_entity(headers + rest).id == "1"


@pytest.mark.parametrize(
    ("value", "id_"),
    [
        ("<1-A@random-content-id>", "1-A@random-content-id"),
        ("a-random-content-id-or-hash", "a-random-content-id-or-hash"),
        ("<unfinished", "<unfinished"),
        ("<a> <b>", "<a> <b>"),
        ("a:b", "a:b"),
        ("<<a>>", "<<a>>"),
        ("<>", None),
        ("< >", None),
        ("", None),
    ],
)
def test_id_is_what_stands_between_the_angle_brackets(value: str, id_: str | None) -> None:
    assert read_entity(f"Content-ID: {value}\n\nx".encode()).id == id_


@pytest.mark.parametrize(("value", "id_"), [("é".encode(), "é"), ("é".encode("latin-1"), "é")])
def test_header_is_utf_8_or_else_latin_1(value: bytes, id_: str) -> None:
    assert read_entity(b"Link: </" + value + b">; rel=about").link == f"http://feeds.example/{id_}"


@pytest.mark.parametrize(
    ("value", "id_"),
    [
        ("é\xa0".encode(), "é\xa0"),
        (b"\xe9", "\ufffd{DCE9}"),
        (b"<\xa01\0>", "\ufffd{DCA0}1\ufffd{0000}"),
        (b"\x1f1\r2\r", "\ufffd{001F}1\r2"),
        ("\ufffd{0000}\ufffd".encode(), "\ufffd{0000}\ufffd"),
    ],
)
def test_octets_of_an_id_that_are_no_characters_stay_apart(value: bytes, id_: str) -> None:
    assert read_entity(b"Content-ID: " + value).id == id_


@pytest.mark.parametrize(
    ("header", "operation"),
    [
        ("Operation-Type: http-equiv=PUT", "PUT"),
        ("operation-type: HTTP-EQUIV = delete", "DELETE"),
        ('Operation-Type: http-equiv="PATCH"', "PATCH"),
        ("Operation-Type: PUT", "PUT"),
        ("Event-Type: http-equiv=POST", "POST"),
        ("Event-Type: http-equiv=POST\nOperation-Type: http-equiv=PUT", "PUT"),
        ("Operation-Type: http-equiv=GET", None),
        ("Operation-Type: http-equiv=PUTS", None),
        ("Operation-Type: http-equiv=", None),
        ("Operation-Type: x-equiv=PUT", None),
        ("X-Operation-Type: http-equiv=PUT", None),
    ],
)
def test_operation_is_one_of_four_methods(header: str, operation: str | None) -> None:
    assert read_entity(header.encode()).operation == operation


@pytest.mark.parametrize(
    ("value", "updated"),
    [
        ("Thu, 5 Oct 2023 03:00:13 GMT", "2023-10-05T03:00:13Z"),
        ("Thu, 05 Oct 2023 03:00:13 GMT", "2023-10-05T03:00:13Z"),
        # RFC 9110, 5.6.7: the two obsolete forms
        ("Thursday, 05-Oct-23 03:00:13 GMT", "2023-10-05T03:00:13Z"),
        ("Thu Oct  5 03:00:13 2023", "2023-10-05T03:00:13Z"),
        ("2023-10-05T03:00:13Z", "2023-10-05T03:00:13Z"),
        ("soon", None),
        ("", None),
    ],
)
def test_last_modified_is_the_update_time(value: str, updated: str | None) -> None:
    assert read_entity(f"Last-Modified: {value}\n\nx".encode()).updated == updated
    assert read(b"--b--", LOCATION, TYPE, [], value).updated == updated


@pytest.mark.parametrize(
    ("headers", "link"),
    [
        ('Link: </products/1>;rel="about"', "http://feeds.example/products/1"),
        ("Link: <1#part>; rel=ABOUT", "http://feeds.example/dir/1#part"),
        ("Link: </a>; rel=self\nLink: </b>; rel=about\nLink: </c>; rel=about", "http://feeds.example/b"),
        ("Link: </a>; rel=self, <gkh:1>; rel=about", "gkh:1"),
        ("Link: </a>; rel=alternate", None),
        ("X-Link: </a>; rel=about", None),
    ],
)
def test_link_of_an_entry_is_what_the_event_is_about(headers: str, link: str | None) -> None:
    assert read_entity(headers.encode()).link == link
