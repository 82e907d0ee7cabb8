"""Any page that can be written, cut or damaged, gives its entities or is refused."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fhcrawl.documents.formats.multipart import read
from fhcrawl.exceptions import NotAFeedError
from tests.documents.formats.test_multipart import KINDS, LOCATION, PAGES, TYPE, UTC, read_body, response_of

if TYPE_CHECKING:
    from pathlib import Path

    from fhcrawl.documents.model import Entry, FeedDocument


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


@settings(deadline=None, max_examples=200)
@given(written=pages())
def test_written_page_gives_back_its_parts(written: Written) -> None:
    document = read_body(written.page)
    entries = document.entries[::-1]
    assert [entry.id for entry in entries] == [str(number) for number in range(len(written.bodies))]
    assert [octets_of(entry) for entry in entries] == written.bodies
    assert document.fault is None


@settings(deadline=None, max_examples=40)
@given(written=pages())
def test_written_page_cut_at_any_byte_keeps_exactly_the_entities_before_the_cut(written: Written) -> None:
    whole = read_body(written.page).entries[::-1]
    for cut in range(written.begin, len(written.page)):
        document = read_body(written.page[:cut])
        kept = sum(end <= cut for end in written.ends)
        assert document.entries[::-1] == whole[:kept], written.page[:cut]
        assert bool(document.fault) == (cut < written.ends[-1])


@settings(deadline=None, max_examples=40)
@given(written=pages())
def test_page_cut_before_its_first_entity_is_refused(written: Written) -> None:
    for cut in range(written.begin):
        with pytest.raises(NotAFeedError):
            read_body(written.page[:cut])


# --- anything else


def read_or_refuse(
    body: bytes, content_type: str | None, links: list[str], last_modified: str | None
) -> FeedDocument | NotAFeedError:
    try:
        return read(body, LOCATION, content_type, links, last_modified)
    except NotAFeedError as error:
        return error


def check(document: FeedDocument | NotAFeedError) -> None:
    if isinstance(document, NotAFeedError):
        assert document.kind in KINDS
        assert str(document)
        return
    assert not {"next", "prev", "previous"} & document.links.keys()
    assert document.archive == ("next-archive" in document.links)
    for entry in document.entries:
        assert "" not in [entry.id, entry.link, entry.content, entry.content_type]
        assert (entry.content is None) == (entry.content_type is None)
        assert "\0" not in f"{entry.id}{entry.link}{entry.content}{entry.content_type}"
        assert entry.updated is None or UTC.match(entry.updated)
        json.dumps(asdict(entry), ensure_ascii=False).encode()


HEADER_TEXTS = st.lists(
    st.one_of(
        st.sampled_from([TYPE, "boundary", "=", ";", '"', "b", "<", ">", ",", "rel", "next", "//["]),
        st.text(max_size=4),
    ),
    max_size=6,
).map("".join)
EDITS = st.lists(
    st.tuples(st.integers(0, 3000), st.integers(0, 30), st.one_of(TOKENS, st.binary(max_size=8))),
    min_size=1,
    max_size=4,
)


@settings(deadline=None, max_examples=200)
@given(
    body=st.lists(
        st.one_of(TOKENS, st.sampled_from([b"--b\n", b"\n--b--\n"]), st.binary(max_size=8)), max_size=12
    ).map(b"".join),
    content_type=st.one_of(st.just(TYPE), st.none(), HEADER_TEXTS),
    links=st.lists(HEADER_TEXTS, max_size=3),
    last_modified=st.one_of(st.none(), st.text(max_size=8)),
)
def test_arbitrary_responses_raise_nothing_but_not_a_feed(
    body: bytes, content_type: str | None, links: list[str], last_modified: str | None
) -> None:
    check(read_or_refuse(body, content_type, links, last_modified))


@settings(deadline=None, max_examples=300)
@given(path=st.sampled_from(PAGES), edits=EDITS)
def test_mutated_pages_raise_nothing_but_not_a_feed(path: Path, edits: list[tuple[int, int, bytes]]) -> None:
    body, content_type, links, last_modified = response_of(path)
    for position, removed, added in edits:
        start = position % (len(body) + 1)
        body = body[:start] + added + body[start + removed :]
    check(read_or_refuse(body, content_type, links, last_modified))
