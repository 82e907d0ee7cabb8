"""Content, links and problems of multipart pages."""

from __future__ import annotations

import pytest

from fhcrawl.documents.model import Problem
from tests.documents.formats.test_multipart import LOCATION, links_of, problems_of, read_body, read_entity

# --- content


@pytest.mark.parametrize(
    ("media_type", "body", "content", "content_type"),
    [
        ("text/plain", b"Caf\xc3\xa9", "Café", "text/plain"),
        ("application/json; x=y", b"{}", "{}", "application/json; x=y"),
        ("text/plain; charset=iso-8859-1", b"Caf\xe9\x80", "Café€", "text/plain; charset=iso-8859-1"),
        ('text/plain; charset="UTF-16LE"', b"a\0b\0", "ab", 'text/plain; charset="UTF-16LE"'),
        ("text/plain; charset=x-unknown", b"Caf\xc3\xa9", "Café", "text/plain; charset=x-unknown"),
        ("text/plain; charset=base64", b"YQ==", "WVE9PQ==", "text/plain; charset=base64;base64"),
        (
            "text/plain; charset=unicode_escape",
            b"\\q\\ud800",
            "\\q\\ud800",
            "text/plain; charset=unicode_escape",
        ),
        ("text/plain; charset=idna", b"xn--a", "xn--a", "text/plain; charset=idna"),
        ("text/plain; charset=utf-7", b"+ADw-", "+ADw-", "text/plain; charset=utf-7"),
        ("text/plain", b"Caf\xe9", "Q2Fm6Q==", "text/plain;base64"),
        ("text/plain; charset=us-ascii", b"\x81", "gQ==", "text/plain; charset=us-ascii;base64"),
        ("application/octet-stream", b"text", "text", "application/octet-stream"),
        ("application/octet-stream", b"\x00\x01", "AAE=", "application/octet-stream;base64"),
        ("text/plain", b"a\x00b", "YQBi", "text/plain;base64"),
        ("text/plain; charset=utf-16", b"\xff\xfea\x00", "a", "text/plain; charset=utf-16"),
        ("text/plain", b" \t", " \t", "text/plain"),
        (None, b"text", "text", "text/plain"),
        (None, b"\xff", "/w==", "application/octet-stream;base64"),
        ("text/plain", b"", None, None),
        (
            "application/xml",
            b'<?xml version="1.0" encoding="iso-8859-2"?><a>\xb1</a>',
            '<?xml version="1.0" encoding="iso-8859-2"?><a>ą</a>',
            "application/xml",
        ),
        ("application/x+xml;v=1", b"\xff\xfe<\x00/\x00", "\ufeff</", "application/x+xml;v=1"),
        (
            "text/xml; charset=utf-8",
            b'<?xml version="1.0" encoding="iso-8859-2"?><a>\xc4\x85</a>',
            '<?xml version="1.0" encoding="iso-8859-2"?><a>ą</a>',
            "text/xml; charset=utf-8",
        ),
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


SELF = "<http://feeds.example/2>; rel=self"
PREV, NEXT = "<http://feeds.example/1>; rel=prev", "<http://feeds.example/3>; rel=next"


@pytest.mark.parametrize(
    ("values", "links", "archive"),
    [
        ((), {}, False),
        ((SELF,), {"self": "http://feeds.example/2"}, False),
        ((SELF, PREV), {"self": "http://feeds.example/2", "prev-archive": "http://feeds.example/1"}, False),
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
    assert links_of(*values) == (links, archive)


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


@pytest.mark.parametrize("link", [PREV, NEXT])
def test_page_with_neighbours_is_one_of_a_feed(link: str) -> None:
    assert problems_of("X: y", links=(link,)) == [("no-id", "entity 1"), ("no-operation", "entity 1")]


def test_page_with_no_more_than_a_link_to_itself_may_be_one_of_a_snapshot() -> None:
    assert problems_of("X: y", links=(SELF,)) == []


def test_problem_says_what_is_wrong() -> None:
    document = read_body(f"--b\n{dated('10')}\n--b\n{dated('09')}\n--b--".encode())
    detail = "its Last-Modified goes backwards: 2023-10-05T03:00:09Z, behind 2023-10-05T03:00:10Z"
    assert document.problems == [Problem("backwards", "at 09", detail)]
