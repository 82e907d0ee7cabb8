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
from tests.feeds import kinds, said

DATA = Path(__file__).parents[2] / "data" / "multipart"
PAGES = sorted(DATA.glob("*.http"))
LOCATION = "http://feeds.example/dir/"
TYPE = "multipart/mixed; boundary=b"


def read_page(path: Path) -> FeedDocument:
    """Read a file of tests/data/multipart: the headers of a response, an empty line, and exactly its body."""
    head, _, body = path.read_bytes().partition(b"\n\n")
    headers = message_from_bytes(head)
    links = headers.get_all("Link", failobj=[])
    return read(body, LOCATION + path.stem, headers["Content-Type"], links, headers["Last-Modified"])


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


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page_gives_what_the_file_beside_it_says(path: Path) -> None:
    assert said(read_page(path)) == json.loads(path.with_suffix(".json").read_text("utf-8"))


# --- pages and what they must give


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
        # Content-Length is never believed.
        *(
            (b"--b\nContent-Length: %b\n\nabc\n--c\n--b--" % n, ["abc\n--c"])
            for n in (b"0", b"1", b"-1", b"99", b"x")
        ),
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


NO_OPERATIONS = ("http-equiv=GET", "http-equiv=PUTS", "http-equiv=", "x-equiv=PUT")


@pytest.mark.parametrize(
    ("header", "field", "expected"),
    [
        # what is between the angle brackets
        ("Content-ID: <1-A@random-content-id>", "id", "1-A@random-content-id"),
        *((f"Content-ID: {value}", "id", value) for value in ("<unfinished", "<a> <b>", "a:b", "<<a>>")),
        *((f"Content-ID: {value}", "id", None) for value in ("<>", "< >", "")),
        # Octets that are no characters stay apart.
        *(("Content-ID: é\xa0", "id", "é\xa0"), (b"Content-ID: \xe9", "id", "\ufffd{DCE9}")),
        (b"Content-ID: <\xa01\0>", "id", "\ufffd{DCA0}1\ufffd{0000}"),
        (b"Content-ID: \x1f1\r2\r", "id", "\ufffd{001F}1\r2"),
        ("Content-ID: \ufffd{0000}\ufffd", "id", "\ufffd{0000}\ufffd"),
        # one of four methods
        ("Operation-Type: http-equiv=PUT", "operation", "PUT"),
        ("operation-type: HTTP-EQUIV = delete", "operation", "DELETE"),
        ('Operation-Type: http-equiv="PATCH"', "operation", "PATCH"),
        *(("Operation-Type: PUT", "operation", "PUT"), ("Event-Type: http-equiv=POST", "operation", "POST")),
        ("Event-Type: http-equiv=POST\nOperation-Type: http-equiv=PUT", "operation", "PUT"),
        *((f"Operation-Type: {value}", "operation", None) for value in NO_OPERATIONS),
        ("X-Operation-Type: http-equiv=PUT", "operation", None),
        # what the event is about; UTF-8, or else ISO 8859-1
        ('Link: </products/1>;rel="about"', "link", "http://feeds.example/products/1"),
        ("Link: <1#part>; rel=ABOUT", "link", "http://feeds.example/dir/1#part"),
        (
            "Link: </a>; rel=self\nLink: </b>; rel=about\nLink: </c>; rel=about",
            "link",
            "http://feeds.example/b",
        ),
        ("Link: </a>; rel=self, <gkh:1>; rel=about", "link", "gkh:1"),
        *(("Link: </a>; rel=alternate", "link", None), ("X-Link: </a>; rel=about", "link", None)),
        ("Link: </é>; rel=about", "link", "http://feeds.example/é"),
        (b"Link: </\xe9>; rel=about", "link", "http://feeds.example/é"),
    ],
)
def test_header_gives_a_field(header: str | bytes, field: str, expected: str | None) -> None:
    part = header if isinstance(header, bytes) else header.encode()
    assert getattr(read_entity(part), field) == expected


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
def test_content_is_text_in_its_charset_or_else_base64_and_says_so(
    media_type: str | None, body: bytes, content: str | None, content_type: str | None
) -> None:
    header = b"" if media_type is None else f"Content-Type: {media_type}\n".encode()
    entry = read_entity(b"X: y\n" + header + b"\n" + body)
    assert (entry.content, entry.content_type) == (content, content_type)


# --- links


PREV, NEXT = "<http://feeds.example/1>; rel=prev", "<http://feeds.example/3>; rel=next"


@pytest.mark.parametrize(
    ("values", "links", "archive"),
    [
        ((), {}, False),
        ((f"{PREV}, {NEXT}",), {"prev-archive": "/1", "next-archive": "/3"}, True),
        ((NEXT,), {"next-archive": "/3"}, True),
        (("</n>; rel=next-archive",), {"next-archive": "/n"}, True),
        ((PREV, "</a>; rel=prev-archive"), {"prev-archive": "/a"}, False),
        ((NEXT, "</a>; rel=next-archive"), {"next-archive": "/a"}, True),
        (("</a>; rel=previous",), {"prev-archive": "/a"}, False),
        (("</a>; rel=previous", PREV), {"prev-archive": "/1"}, False),
        (("</a>; rel=current, <b>; rel=license",), {"current": "/a", "license": "/dir/b"}, False),
    ],
)
def test_links_of_a_page_are_history_and_never_paging(
    values: tuple[str, ...], links: dict[str, str], archive: bool
) -> None:
    document = read_entities("", links=values)
    expected = {relation: f"http://feeds.example{path}" for relation, path in links.items()}
    assert (document.links, document.archive) == (expected, archive)


# --- problems


PUT, GET = "Operation-Type: http-equiv=PUT", "Operation-Type: http-equiv=GET"
AT = "Last-Modified: Thu, 5 Oct 2023 03:00:{} GMT"


def dated(second: str) -> str:
    return f"Content-ID: at {second}\n{PUT}\n{AT.format(second)}"


@pytest.mark.parametrize(
    ("headers", "problems"),
    [
        ((f"Content-ID: 1\n{PUT}",), []),
        *(((f"Content-ID: 1{other}",), [("no-operation", "1")]) for other in ("", f"\n{GET}")),
        ((PUT,), [("no-id", "entity 1")]),
        (("X: y", "X: y"), []),
        (("X: y", PUT), [("no-id", "entity 1"), ("no-operation", "entity 1"), ("no-id", "entity 2")]),
        (("Operation-Type: x",), [("no-id", "entity 1"), ("no-operation", "entity 1")]),
        *((("Last-Modified: soon",), [("unreadable-date", "entity 1")]), (("Last-Modified:",), [])),
        ((dated("10"), dated("10"), dated("11")), []),
        ((dated("10"), dated("09")), [("backwards", "at 09")]),
        ((dated("10"), f"Content-ID: 1\n{PUT}", dated("09"), dated("10")), [("backwards", "at 09")]),
        (
            [dated(each) for each in ("10", "09", "08", "09")],
            [("backwards", f"at {n}") for n in ("09", "08")],
        ),
        ((AT.format(10), AT.format("09")), [("backwards", "entity 2")]),
        (("Last-Modified: 2023-10-05T03:00:10.5Z", "Last-Modified: 2023-10-05T03:00:10.50Z"), []),
    ],
)
def test_faults_of_entities_are_problems_and_lose_nothing(
    headers: tuple[str, ...], problems: list[tuple[str, str]]
) -> None:
    assert [(each.kind, each.entry) for each in read_entities(*headers).problems] == problems


SELF = "<http://feeds.example/2>; rel=self"


@pytest.mark.parametrize(("link", "is_one"), [(PREV, True), (NEXT, True), (SELF, False)])
def test_page_with_neighbours_is_one_of_a_feed_and_needs_ids(link: str, is_one: bool) -> None:
    assert kinds(read_entities("X: y", links=(link,))) == (["no-id", "no-operation"] if is_one else [])


# --- any page that can be written, cut or damaged, gives its entities or is refused


class Written(NamedTuple):
    """A page, what was put into it, and behind which byte each entity is whole."""

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
    whole = read_body(written.page).entries[::-1]
    assert [entry.id for entry in whole] == [str(number) for number in range(len(written.bodies))]
    assert [octets_of(entry) for entry in whole] == written.bodies
    for cut in range(written.begin):
        with pytest.raises(NotAFeedError):
            read_body(written.page[:cut])
    for cut in range(written.begin, len(written.page)):
        document = read_body(written.page[:cut])
        kept = sum(end <= cut for end in written.ends)
        assert document.entries[::-1] == whole[:kept], written.page[:cut]
        assert bool(document.fault) == (cut < written.ends[-1])
