import json
from base64 import b64decode
from email import message_from_bytes
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fhcrawl.documents.formats.multipart import is_multipart, read
from fhcrawl.documents.model import Entry, FeedDocument
from fhcrawl.exceptions import NotAFeedError
from tests.documents.test_detection import EDIT, edited
from tests.feeds import reported
from tests.fuzz.readers import READERS

DATA = Path(__file__).parents[2] / "data" / "multipart"
PAGES = sorted(DATA.glob("*.http"))
LOCATION = "http://feeds.example/dir/"
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


def read_page(path: Path) -> FeedDocument:
    body, content_type, links, last_modified = response_of(path)
    return read(body, LOCATION + path.stem, content_type, links, last_modified)


def read_body(body: bytes, content_type: str | None = TYPE) -> FeedDocument:
    return read(body, LOCATION, content_type, [])


def read_entity(part: bytes) -> Entry:
    document = read_body(b"--b\n" + part + b"\n--b--")
    (entry,) = document.entries
    assert document.fault is None
    return entry


def read_entities(*headers: str, links: tuple[str, ...] = ()) -> FeedDocument:
    body = "".join(f"--b\n{header}\n\n" for header in headers) + "--b--"
    return read(body.encode(), LOCATION, TYPE, links)


def problems_of(*headers: str, links: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    return [(problem.kind, problem.entry) for problem in read_entities(*headers, links=links).problems]


def name_of(path: Path) -> str:
    return path.stem


# --- pages and what they must give


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_page_gives_the_expected_document(path: Path) -> None:
    assert reported(read_page(path)) == json.loads(path.with_suffix(".json").read_text("utf-8"))


def test_every_expectation_belongs_to_one_page() -> None:
    assert sorted(path.stem for path in DATA.glob("*.json")) == [path.stem for path in PAGES]


# --- the boundary


@pytest.mark.parametrize(
    ("content_type", "boundary"),
    [
        *(("multipart/mixed; boundary=b", "b"), ('multipart/mixed; boundary="b"', "b")),
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
        *(("multipart/mixed; boundary=\xe9", "\xe9"), ("multipart/mixed; boundary=--", "--")),
    ],
)
def test_boundary_is_read_whatever_it_is_made_of(content_type: str, boundary: str) -> None:
    body = f"--{boundary}\r\nContent-ID: 1\r\n\r\nx\r\n--{boundary}--\r\n".encode("latin-1")
    document = read_body(body, content_type)
    assert [entry.id for entry in document.entries] == ["1"]
    assert document.fault is None


BODY = b"--b\n\nx\n--b--"
NO_PARTS = (b"<html>", b"--b", b"--b-", b"x--b\n\nx\n", b" --b--", b"--B\n\n--B--", b"--bb\n\nx\n", b"-b\n")


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        *((BODY, header, "no-boundary") for header in (None, "", "multipart/mixed", TYPE[:-1])),
        (BODY, 'multipart/mixed; boundary=""', "no-boundary"),
        *((body, TYPE, "no-parts") for body in NO_PARTS),
        # No header can carry these characters.
        *((BODY, f"multipart/mixed; boundary={each}", "no-parts") for each in "\u20ac\ud800"),
        *((body, TYPE, "empty") for body in (b"", b"\r\n \t")),
    ],
)
def test_body_without_a_boundary_is_refused(body: bytes, content_type: str | None, kind: str) -> None:
    with pytest.raises(NotAFeedError) as caught:
        read_body(body, content_type)
    assert caught.value.kind == kind


MULTIPARTS = (" MULTIPART/x-anything", "multipart/package;boundary=b", "multipart")
OTHERS = ("multiparty/mixed", "text/plain; x=multipart/mixed", "", None)


@pytest.mark.parametrize("header", [*MULTIPARTS, *OTHERS])
def test_every_subtype_of_multipart_is_multipart(header: str | None) -> None:
    assert is_multipart(header) is (header in MULTIPARTS)


# --- where parts begin and end


@pytest.mark.parametrize(
    ("page", "bodies"),
    [
        (b"preamble\n--b--\nepilogue", []),
        (b"--b\n--b--", []),
        (b"--b\n\n\n--b--", []),
        (b"--b\n\nx\n--b--", ["x"]),
        (b"--b\r\n\r\nx\r\n--b--\r\n", ["x"]),
        (b"--b\r\n\nx\r\n--b--\n", ["x"]),
        (b"--b\n\r\nx\n--b--\r", ["x"]),
        (b"--b \t\r\n\r\nx\r\n--b-- \t\r\n", ["x"]),
        (b"--b\n\n\n\nx\n\n\n--b--", ["\n\nx\n\n"]),
        (b"--b\n\nx\r\n\n--b--", ["x\r\n"]),
        (b"--b\n\nx\n\r\n--b--", ["x\n"]),
        (b"--b\n\nx\r\r\n--b--", ["x\r"]),
        (b"--b\n\nx--b\n--b--", ["x--b"]),
        (b"--b\n\n --b\n--b--", [" --b"]),
        (b"--b\n\n--bb\n--b--b\n--b -\n-\n--b--", ["--bb\n--b--b\n--b -\n-"]),
        (b"--b\n\nx\r--b\ry\n--b--", ["x\r--b\ry"]),
        (b"--b\n\n-----b\n--b--", ["-----b"]),
        (b"--b\n\nx\n--b--\n--b\n\ny\n--b--", ["x"]),
        (b"--b\n\n1\n--b\n\n2\n--b\n\n3\n--b--", ["1", "2", "3"]),
        (b"\xef\xbb\xbf--b\n\nx\n--b--", ["x"]),
        (b"--b\n\n\xef\xbb\xbf--b\n--b--", ["\ufeff--b"]),
        *((b"\xef\xbb\xbf", None), (b"\xef\xbb\xbfx--b--", None), (b"\n\xef\xbb\xbf--b--", None)),
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
    assert document.fault == "it is truncated: its closing boundary is missing"


# --- headers


@pytest.mark.parametrize(
    "headers",
    [
        *(b"content-id:1", b"CONTENT-ID  :\t1 ", b"Content-ID:\r\n 1", b"Content-ID:\n\t \n\t1"),
        *(b"X: y\nContent-ID: 1\nContent-ID: 2", b"Content-ID:\nContent-ID: 1", b"no header\nContent-ID: 1"),
        *(b"  Content-ID: 1", b"Content-ID: <1>", b"Content-ID: < 1 >"),
    ],
)
@pytest.mark.parametrize("rest", [b"", b"\n", b"\r\n\r\n\r\nx"])
def test_header_is_read_however_it_is_written(headers: bytes, rest: bytes) -> None:
    assert read_entity(headers + rest).id == "1"


@pytest.mark.parametrize(
    ("value", "id_"),
    [
        ("<1-A@random-content-id>", "1-A@random-content-id"),
        *(("<unfinished", "<unfinished"), ("<a> <b>", "<a> <b>"), ("a:b", "a:b"), ("<<a>>", "<<a>>")),
        *(("<>", None), ("< >", None), ("", None)),
    ],
)
def test_id_is_what_stands_between_the_angle_brackets(value: str, id_: str | None) -> None:
    assert read_entity(f"Content-ID: {value}\n\nx".encode()).id == id_


@pytest.mark.parametrize("codec", ["utf-8", "latin-1"])
def test_header_is_utf_8_or_else_latin_1(codec: str) -> None:
    assert read_entity("Link: </é>; rel=about".encode(codec)).link == "http://feeds.example/é"


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


NO_OPERATIONS = ("http-equiv=GET", "http-equiv=PUTS", "http-equiv=", "x-equiv=PUT")


@pytest.mark.parametrize(
    ("header", "operation"),
    [
        *(("Operation-Type: http-equiv=PUT", "PUT"), ("operation-type: HTTP-EQUIV = delete", "DELETE")),
        *(('Operation-Type: http-equiv="PATCH"', "PATCH"), ("Operation-Type: PUT", "PUT")),
        ("Event-Type: http-equiv=POST", "POST"),
        ("Event-Type: http-equiv=POST\nOperation-Type: http-equiv=PUT", "PUT"),
        *((f"Operation-Type: {value}", None) for value in NO_OPERATIONS),
        ("X-Operation-Type: http-equiv=PUT", None),
    ],
)
def test_operation_is_one_of_four_methods(header: str, operation: str | None) -> None:
    assert read_entity(header.encode()).operation == operation


@pytest.mark.parametrize(
    ("value", "updated"),
    [
        ("Thu, 5 Oct 2023 03:00:13 GMT", "2023-10-05T03:00:13Z"),
        # RFC 9110, 5.6.7: the two obsolete forms
        ("Thursday, 05-Oct-23 03:00:13 GMT", "2023-10-05T03:00:13Z"),
        *(("Thu Oct  5 03:00:13 2023", "2023-10-05T03:00:13Z"), ("soon", None), ("", None)),
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


# --- content


LATIN_2 = '<?xml version="1.0" encoding="iso-8859-2"?>'


@pytest.mark.parametrize(
    ("media_type", "body", "content", "content_type"),
    [
        ("text/plain", b"Caf\xc3\xa9", "Café", "text/plain"),
        ("application/json; x=y", b"{}", "{}", "application/json; x=y"),
        ("text/plain; charset=iso-8859-1", b"Caf\xe9\x80", "Café€", "text/plain; charset=iso-8859-1"),
        ('text/plain; charset="UTF-16LE"', b"a\0b\0", "ab", 'text/plain; charset="UTF-16LE"'),
        ("text/plain; charset=x-unknown", b"Caf\xc3\xa9", "Café", "text/plain; charset=x-unknown"),
        ("text/plain; charset=base64", b"YQ==", "WVE9PQ==", "text/plain; charset=base64;base64"),
        # Python has these, and browsers do not.
        *(
            (f"text/plain; charset={name}", octets.encode(), octets, f"text/plain; charset={name}")
            for name, octets in (("unicode_escape", "\\q\\ud800"), ("idna", "xn--a"), ("utf-7", "+ADw-"))
        ),
        ("text/plain", b"Caf\xe9", "Q2Fm6Q==", "text/plain;base64"),
        ("text/plain; charset=us-ascii", b"\x81", "gQ==", "text/plain; charset=us-ascii;base64"),
        ("application/octet-stream", b"text", "text", "application/octet-stream"),
        ("application/octet-stream", b"\x00\x01", "AAE=", "application/octet-stream;base64"),
        ("text/plain", b"a\x00b", "YQBi", "text/plain;base64"),
        ("text/plain; charset=utf-16", b"\xff\xfea\x00", "a", "text/plain; charset=utf-16"),
        *(("text/plain", b" \t", " \t", "text/plain"), (None, b"text", "text", "text/plain")),
        *((None, b"\xff", "/w==", "application/octet-stream;base64"), ("text/plain", b"", None, None)),
        ("application/xml", LATIN_2.encode() + b"<a>\xb1</a>", f"{LATIN_2}<a>ą</a>", "application/xml"),
        ("application/x+xml;v=1", b"\xff\xfe<\x00/\x00", "\ufeff</", "application/x+xml;v=1"),
        ("text/xml; charset=utf-8", f"{LATIN_2}ą".encode(), f"{LATIN_2}ą", "text/xml; charset=utf-8"),
        ("text/html", b'<meta charset="iso-8859-2">\xb1', '<meta charset="iso-8859-2">ą', "text/html"),
        ("text/html", b"\xc4\x85", "ą", "text/html"),
        ("text/plain", b'<meta charset="iso-8859-2">\xc4\x85', '<meta charset="iso-8859-2">ą', "text/plain"),
    ],
)
def test_content_is_text_in_its_charset_or_else_base64(
    media_type: str | None, body: bytes, content: str | None, content_type: str | None
) -> None:
    header = b"" if media_type is None else f"Content-Type: {media_type}\n".encode()
    entry = read_entity(b"X: y\n" + header + b"\n" + body)
    assert (entry.content, entry.content_type) == (content, content_type)


# --- links


SELF = "<http://feeds.example/2>; rel=self"
PREV, NEXT = "<http://feeds.example/1>; rel=prev", "<http://feeds.example/3>; rel=next"


@pytest.mark.parametrize(
    ("values", "links", "archive"),
    [
        ((), {}, False),
        (
            (f"{PREV}, {NEXT}",),
            {"prev-archive": "http://feeds.example/1", "next-archive": "http://feeds.example/3"},
            True,
        ),
        ((NEXT,), {"next-archive": "http://feeds.example/3"}, True),
        (("</n>; rel=next-archive",), {"next-archive": "http://feeds.example/n"}, True),
        ((PREV, "</a>; rel=prev-archive"), {"prev-archive": "http://feeds.example/a"}, False),
        ((NEXT, "</a>; rel=next-archive"), {"next-archive": "http://feeds.example/a"}, True),
        (("</a>; rel=previous",), {"prev-archive": "http://feeds.example/a"}, False),
        (("</a>; rel=previous", PREV), {"prev-archive": "http://feeds.example/1"}, False),
        (
            ("</a>; rel=current, <b>; rel=license",),
            {"current": "http://feeds.example/a", "license": f"{LOCATION}b"},
            False,
        ),
    ],
)
def test_links_of_a_page_are_history_and_never_paging(
    values: tuple[str, ...], links: dict[str, str], archive: bool
) -> None:
    document = read_entities("", links=values)
    assert (document.links, document.archive) == (links, archive)


# --- problems


PUT = "Operation-Type: http-equiv=PUT"
AT = "Last-Modified: Thu, 5 Oct 2023 03:00:{} GMT"


def dated(second: str) -> str:
    return f"Content-ID: at {second}\n{PUT}\n{AT.format(second)}"


@pytest.mark.parametrize(
    ("headers", "problems"),
    [
        ((f"Content-ID: 1\n{PUT}",), []),
        (("Content-ID: 1",), [("no-operation", "1")]),
        (("Content-ID: 1\nOperation-Type: http-equiv=GET",), [("no-operation", "1")]),
        ((PUT,), [("no-id", "entity 1")]),
        (("X: y", "X: y"), []),
        (("X: y", PUT), [("no-id", "entity 1"), ("no-operation", "entity 1"), ("no-id", "entity 2")]),
        (("Operation-Type: x",), [("no-id", "entity 1"), ("no-operation", "entity 1")]),
        (("Last-Modified: soon",), [("unreadable-date", "entity 1")]),
        (("Last-Modified:",), []),
        ((dated("10"), dated("10"), dated("11")), []),
        ((dated("10"), dated("09")), [("backwards", "at 09")]),
        ((dated("10"), f"Content-ID: 1\n{PUT}", dated("09"), dated("10")), [("backwards", "at 09")]),
        (
            (dated("10"), dated("09"), dated("08"), dated("09")),
            [("backwards", "at 09"), ("backwards", "at 08")],
        ),
        ((AT.format(10), AT.format("09")), [("backwards", "entity 2")]),
        (("Last-Modified: 2023-10-05T03:00:10.5Z", "Last-Modified: 2023-10-05T03:00:10.50Z"), []),
    ],
)
def test_faults_of_entities_are_problems_and_lose_nothing(
    headers: tuple[str, ...], problems: list[tuple[str, str]]
) -> None:
    assert problems_of(*headers) == problems


@pytest.mark.parametrize(("link", "is_one"), [(PREV, True), (NEXT, True), (SELF, False)])
def test_page_with_neighbours_is_one_of_a_feed_and_needs_ids(link: str, is_one: bool) -> None:
    expected = [("no-id", "entity 1"), ("no-operation", "entity 1")] if is_one else []
    assert problems_of("X: y", links=(link,)) == expected


# --- any page that can be written, cut or damaged, gives its entities or is refused


class Written(NamedTuple):
    """A page, what was put into it, and after which byte each entity is complete."""

    page: bytes
    bodies: list[bytes]
    ends: list[int]
    begin: int


TOKENS = st.sampled_from(
    [b"--b", b"--b--", b"--", b"-", b"b", b"\r\n", b"\n", b"\r", b" ", b":", b"\x00", b"\xc3\xa9", b"\xff"]
)
BODIES = st.lists(st.one_of(TOKENS, st.binary(max_size=6)), max_size=8).map(b"".join)
LINE_ENDS = st.sampled_from([b"\r\n", b"\n"])


def holds_no_boundary(body: bytes) -> bool:
    lines = body.split(b"\n")
    return not any(line.startswith(b"--b--") or line.rstrip(b" \t\r") == b"--b" for line in lines)


@st.composite
def pages(draw: st.DrawFn) -> Written:
    page = draw(st.sampled_from([b"", b"preamble\r\n", b"\n", b"--bb\n"])) + b"--b"
    bodies: list[bytes] = []
    ends: list[int] = []
    begin = 0
    for body in draw(st.lists(BODIES.filter(holds_no_boundary), min_size=1, max_size=4)):
        page += draw(st.sampled_from([b"", b" "])) + draw(LINE_ENDS)
        begin = begin or len(page)
        ends += [len(page)] if bodies else []
        page += b"Content-ID: %d" % len(bodies) + draw(LINE_ENDS) + draw(LINE_ENDS) + body
        # A CR in front of a bare LF is taken for its line end, and not for the body's last byte.
        page += (b"\r\n" if body.endswith(b"\r") else draw(LINE_ENDS)) + b"--b"
        bodies.append(body)
    page += b"--"
    return Written(
        page + draw(st.sampled_from([b"", b"\r\n", b"\nepilogue"])), bodies, [*ends, len(page)], begin
    )


def octets_of(entry: Entry) -> bytes:
    if entry.content is None:
        return b""
    return b64decode(entry.content) if entry.content_type != "text/plain" else entry.content.encode()


@settings(max_examples=40)
@given(written=pages())
def test_written_page_cut_at_any_byte_keeps_exactly_the_entities_before_the_cut(written: Written) -> None:
    complete = read_body(written.page).entries[::-1]
    assert [entry.id for entry in complete] == [str(number) for number in range(len(written.bodies))]
    assert [octets_of(entry) for entry in complete] == written.bodies
    for cut in range(written.begin):
        with pytest.raises(NotAFeedError):
            read_body(written.page[:cut])
    for cut in range(written.begin, len(written.page)):
        document = read_body(written.page[:cut])
        kept = sum(end <= cut for end in written.ends)
        assert document.entries[::-1] == complete[:kept], written.page[:cut]
        assert bool(document.fault) == (cut < written.ends[-1])


# --- anything else


@settings(max_examples=300)
@given(path=st.sampled_from(PAGES), edits=st.lists(EDIT, min_size=1, max_size=4))
def test_mutated_pages_raise_nothing_but_not_a_feed(path: Path, edits: list[tuple[int, int, bytes]]) -> None:
    READERS["response"](edited(path.read_bytes(), edits))
