"""A page of WordPress's list of posts, also from a server that lies."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fhcrawl.documents.post_list import LINK, MOST_OCTETS, Post, PostList, read

POST = {
    "id": 7,
    "guid": {"rendered": "http://x/?post_type=a&#038;p=7"},
    "link": "http://x/seven/",
    "modified_gmt": "2020-01-02T03:04:05",
}


def test_posts_are_read_with_the_ids_that_feeds_have() -> None:
    expected = Post(7, "http://x/?post_type=a&p=7", "2020-01-02T03:04:05")
    assert read(json.dumps([POST]).encode(), "12") == PostList(12, [expected])
    expected = Post(7, "http://x/seven/", "2020-01-02T03:04:05")
    assert read(json.dumps([POST]).encode(), "12", LINK) == PostList(12, [expected])
    assert read(b"[]", "0") == PostList(0, [])


@pytest.mark.parametrize("total", [None, "", "-1", "1e9", "9999999999", "\u0663", "12, 12"])
def test_total_is_a_number(total: str | None) -> None:
    assert read(json.dumps([POST]).encode(), total) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[" * 100_000,
        b"[1]",
        json.dumps([POST] * 101).encode(),
        json.dumps([POST | {"id": True}]).encode(),
        json.dumps([POST | {"id": "7"}]).encode(),
        json.dumps([POST | {"modified_gmt": None}]).encode(),
        json.dumps([POST | {"modified_gmt": "now"}]).encode(),
        json.dumps([POST | {"guid": {}}]).encode(),
        json.dumps([POST | {"guid": {"rendered": " "}}]).encode(),
        b"[" + b" " * MOST_OCTETS + b"]",
    ],
    ids=str,
)
def test_other_bodies_are_no_list(body: bytes) -> None:
    assert read(body, "1") is None


def test_ids_have_the_characters_of_ids_in_the_store() -> None:
    body = json.dumps([POST | {"guid": {"rendered": " a\0b\n"}}]).encode()
    assert read(body, "1") == PostList(1, [Post(7, "a\ufffd{0000}b", "2020-01-02T03:04:05")])


@given(
    st.binary()
    | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps).map(str.encode)
)
def test_any_body_is_read_or_refused(body: bytes) -> None:
    found = read(body, "1")
    assert found is None or found.total == 1
