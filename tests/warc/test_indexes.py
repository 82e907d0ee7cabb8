"""What web archives say of their captures: CDX in two dialects, and TimeMaps."""

import json
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fhcrawl.exceptions import ArgumentError, NoIndexError
from fhcrawl.warc import indexes
from fhcrawl.warc.indexes import IndexPage, Listed

URL = "https://example.org/feed"
CDX, TIMEMAP = None, "https://archive.example/t/link/x"
NAMES = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"]
FIRST, SECOND = "2009-01-02T03:04:05Z", "2010-01-01T00:00:00Z"


def array(*rows: list[str]) -> bytes:
    return json.dumps([NAMES, *rows]).encode()


def row(stamp: str = "20090102030405", url: str = URL, mime: str = "x/y", status: str = "200") -> list[str]:
    return ["org,example)/feed", stamp, url, mime, status, "DIGEST", "375"]


def lines(*rows: dict[str, Any]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def line(stamp: str = "20090102030405", **more: Any) -> dict[str, Any]:
    return {"timestamp": stamp, "url": URL, "mime": "x/y", "status": "200", "digest": "DIGEST", **more}


def test_both_dialects_of_cdx() -> None:
    found = [Listed(URL, FIRST, "DIGEST")]
    for body in (array(row()), lines(line())):
        assert indexes.read(body, CDX, URL) == IndexPage(found, "20090102030405")
    # The Wayback Machine's "[]" and pywb's empty body: there are none.
    for body in (b"[]\n", b"[]", b"", b"\n"):
        assert indexes.read(body, CDX, URL) == IndexPage([])


SAME_URLS = (
    *("http://example.org/feed", "http://example.org:80/feed", "https://www.example.org/feed"),
    "https://EXAMPLE.org/Feed/",
)
OTHER_URLS = (
    *("https://example.org/feed#x", "https://example.org/\ud800", "https://u:p@example.org/feed"),
    *("ftp://example.org/feed", "https://example.com/feed", "https://example.org/feed/2"),
    *("file:///etc/passwd", "", "https://[", "x" * 10**6),
)
NO_STAMPS = ("2009", "20091302030405", "20090102030405x", "\uff12\uff10090102030405", "")


@pytest.mark.parametrize(
    ("body", "captures"),
    [
        *((array(row(url=url)), [Listed(url, FIRST, "DIGEST")]) for url in SAME_URLS),
        *((array(row(url=url)), []) for url in OTHER_URLS),
        *((array(row(stamp)), []) for stamp in NO_STAMPS),
        *((array(row(status=status)), []) for status in ("301", "404", "503")),
        *((lines(line(status=status)), []) for status in ("301", "404", "503")),
        *(
            (lines(line(mime="warc/revisit", status=status)), [Listed(URL, FIRST, "DIGEST", is_revisit=True)])
            for status in ("200", "304", "-", None)
        ),
        *(
            (lines(line(digest=digest)), [Listed(URL, FIRST, f"{FIRST} {URL}")])
            for digest in (None, "", "-", "x" * 129, "ä", 5, "a\n")
        ),
    ],
    ids=count(),
)
def test_rows_with_captures_of_the_url(body: bytes, captures: list[Listed]) -> None:
    assert indexes.read(body, CDX, URL).captures == captures


def test_long_answer_may_have_more() -> None:
    many = [row(f"2009010203{number // 60:02}{number % 60:02}") for number in range(1000)]
    assert not indexes.read(array(*many[:999]), CDX, URL).has_more
    found = indexes.read(array(*many), CDX, URL)
    assert (found.has_more, found.last) == (True, "20090102031639")
    assert indexes.read(array(row(), [], ["org%2Cexample+2009%21"]), CDX, URL).has_more
    assert indexes.query(0, "https://a.example/web", URL, "2009").endswith(
        "&from=2009&fl=timestamp%2Coriginal%2Cmimetype%2Cstatuscode%2Cdigest&showResumeKey=true"
    )


@pytest.mark.parametrize("body", [array(row(), row("20100101000000")), lines(line(), line("20100101000000"))])
def test_answer_that_is_cut_off_counts_as_far_as_it_goes(body: bytes) -> None:
    complete = indexes.read(body, CDX, URL, is_cut=True)
    assert [one.time for one in complete.captures] == [FIRST, SECOND]
    for length in range(len(body) - 1):
        try:
            found = indexes.read(body[:length], CDX, URL, is_cut=True)
        except NoIndexError:
            continue
        assert found.captures == complete.captures[: len(found.captures)]
        assert found.has_more


@pytest.mark.parametrize(
    "body",
    [
        *(b"<html>Sorry</html>", b'{"message": "blocked"}', b"[[1, 2]]", b"[1]", b'"x"'),
        *(b"[" * 1_000_000, b"x" * 5_000_000, b"\xff\xfe"),
    ],
    ids=range(8),
)
def test_what_is_no_index(body: bytes) -> None:
    for query in (CDX, TIMEMAP):
        try:
            found = indexes.read(body, query, URL)
        except NoIndexError:
            continue
        assert (found.captures, query, body[:9]) == ([], CDX, b"[" * 9)


@pytest.mark.parametrize("end", ["", ",", ', ["20100101000000", "https:\\\\example.org"]]', ", {]"])
def test_array_without_an_end_has_more(end: str) -> None:
    body = array(row(), row("20100101000000"))[:-1] + end.replace("\\\\", "\\e").encode()
    found = indexes.read(body, CDX, URL)
    assert ([one.time for one in found.captures], found.has_more) == ([FIRST, SECOND], True)


@pytest.mark.parametrize("junk", [b"x\n", lines(line()), b"{}\n"])
def test_index_beyond_the_row_limit_is_not_read(junk: bytes) -> None:
    found = indexes.read(lines(line()) + junk * 100_000, CDX, URL)
    assert len(found.captures) + found.unread == indexes.MOST_ROWS
    assert found.has_more


def test_rows_that_cannot_be_read_are_counted() -> None:
    bad = b"{" * 100_000 + b'\n{"timestamp": "' + b"1" * 10_000_000 + b'"}\nnull\n'
    for body, unread in (
        (lines(line()) + bad + lines(line()), 3),
        (array(row(), ["too", "short"], row()), 1),
    ):
        found = indexes.read(body, CDX, URL)
        assert (len(found.captures), found.unread) == (2, unread)


# RFC 7089, 5: "<http://a.example.org>;rel="original", …"
def test_timemaps() -> None:
    body = b"""<https://example.org/feed>;rel="original",
 <https://archive.example/t/link/x>;rel="self";type="application/link-format",
 </t/link/2/x>; rel="timemap";type="application/link-format",
 <http://archive.example/web/20090102030405/https://example.org/feed>;rel="first memento";datetime="x",
 <web/20100101000000mp_/http://example.org/feed>;rel="memento",
 <http://archive.example/web/20110101000000/https://example.com/other>;rel="memento",
 <http://archive.example/abc123>;rel="last memento";datetime="Tue, 20 Jun 2000 18:02:59 GMT"
"""
    found = indexes.read(body, TIMEMAP, URL)
    assert found.captures == [
        Listed("https://example.org/feed", FIRST, f"{FIRST} https://example.org/feed"),
        Listed("http://example.org/feed", SECOND, f"{SECOND} http://example.org/feed"),
    ]
    assert (found.pages, found.unread) == (("https://archive.example/t/link/2/x",), 1)
    assert (found.has_more, indexes.read(body, TIMEMAP, URL, is_cut=True).has_more) == (False, True)
    many = b",".join(b'</%d>;rel="timemap"' % number for number in range(1000))
    assert len(indexes.read(many, TIMEMAP, URL).pages) == indexes.MOST_PAGES


@given(st.binary(max_size=300), st.booleans())
def test_any_octets_are_an_index_or_none(body: bytes, is_timemap: bool) -> None:
    try:
        found = indexes.read(body, TIMEMAP if is_timemap else CDX, URL)
    except NoIndexError:
        return
    assert all(indexes.key(one.url) == indexes.key(URL) for one in found.captures)


values = st.none() | st.text(max_size=20) | st.just(URL) | st.integers() | st.lists(st.text(max_size=3))


@given(st.lists(st.lists(values)))
def test_any_rows_are_read(given: list[list[Any]]) -> None:
    found = indexes.read(json.dumps([NAMES, *given]).encode(), CDX, URL)
    assert len(found.captures) <= len(given)


def test_names_of_archives() -> None:
    assert indexes.archive_of("wayback", "x") == "https://web.archive.org/web"
    assert indexes.archive_of("http://127.0.0.1:8080/coll/", "x") == "http://127.0.0.1:8080/coll"
    assert indexes.archive_of("https://archive.example", "x") == "https://archive.example"
    bad = ("Wayback", "", "file:///x", "https://", "https://u:p@a.example", "https://a.example/?x")
    for name in (*bad, "https://[", "https://a b/"):
        sentence = r"^--x is .*, which is not a web archive: use wayback, or the part"
        with pytest.raises(ArgumentError, match=sentence):
            indexes.archive_of(name, "--x")


def test_urls_of_requests() -> None:
    archive, url = "https://archive.example/coll", "https://example.org/feed?a=1&b=ü#c"
    assert indexes.capture_url(archive, FIRST, URL) == f"{archive}/20090102030405id_/{URL}"
    queries = [indexes.query(way, archive, url) for way in range(indexes.KINDS)]
    for query, begin in zip(
        queries, ("https://archive.example/cdx/search/cdx", f"{archive}/cdx"), strict=False
    ):
        assert query.partition("?")[0] == begin
        assert "url=https%3A%2F%2Fexample.org%2Ffeed%3Fa%3D1%26b%3D%C3%BC%23c&" in query
    assert queries[2] == f"{archive}/timemap/link/https://example.org/feed?a=1&b=%C3%BC%23c"
