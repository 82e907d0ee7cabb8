from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fhcrawl.documents import json_text
from fhcrawl.documents.formats import multipart
from fhcrawl.documents.snapshot import NAMESPACE, Snapshot, entry_id, page, page_key, prefix_of, read
from fhcrawl.exceptions import NotAFeedError

LOCATION = "https://feeds.example/snapshots/latest"
INDEX: dict[str, Any] = {
    "id": "12345678",
    "createdAt": "2023-11-27T20:52:17.000Z",
    "pages": ["https://feeds.example/snapshots/12345678/0", "https://cdn.example/1"],
}
DRAFT: dict[str, Any] = {
    "uris": ["/snapshot/2015-06-23T00:36:45.885Z/0", "1#x"],
    "completed": 1435019872400,
    "started": 1435019805885,
    "id": "2015-06-23T00:36:45.885Z",
}


def read_bytes(body: bytes, most: int = 0) -> Snapshot | None:
    return read(json_text.parse(body).members, LOCATION, most)


def read_json(value: object, most: int = 0) -> Snapshot | None:
    return read_bytes(json.dumps(value).encode(), most)


def test_index_is_read() -> None:
    assert read_json(INDEX) == Snapshot(INDEX["id"], "2023-11-27T20:52:17.000Z", INDEX["pages"])


def test_index_of_the_2015_draft_is_read_from_when_it_was_started() -> None:
    pages = ["https://feeds.example/snapshot/2015-06-23T00:36:45.885Z/0", "https://feeds.example/snapshots/1"]
    assert read_json(DRAFT) == Snapshot("2015-06-23T00:36:45.885Z", "2015-06-23T00:36:45.885Z", pages)


def test_other_properties_may_stand_beside_them() -> None:
    assert read_json({**INDEX, "uris": ["/x"], "started": 0, "next": None}) == read_json(INDEX)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_index_is_read_in_every_encoding_of_json(encoding: str) -> None:
    assert read_bytes(json.dumps(INDEX).encode(encoding)) == read_json(INDEX)


@pytest.mark.parametrize(
    ("created", "expected"),
    [
        ("2023-11-27T20:52:17+01:00", "2023-11-27T19:52:17Z"),
        ("Mon, 27 Nov 2023 20:52:17 GMT", "2023-11-27T20:52:17Z"),
        ("soon", None),
        ("", None),
        (None, None),
        (1435019805885, None),
    ],
)
def test_time_of_creation_is_given_in_utc(created: object, expected: str | None) -> None:
    snapshot = read_json({**INDEX, "createdAt": created})
    assert snapshot is not None
    assert snapshot.created_at == expected


@pytest.mark.parametrize(
    ("started", "expected"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1435019805885.4, "2015-06-23T00:36:45.885Z"),
        (10**20, None),
        (1e300, None),
        (float("nan"), None),
        ("1435019805885", None),
        (True, None),
        (None, None),
    ],
)
def test_start_of_the_2015_draft_is_in_milliseconds(started: object, expected: str | None) -> None:
    snapshot = read_json({**DRAFT, "started": started})
    assert snapshot is not None
    assert snapshot.created_at == expected


def test_time_of_completion_is_no_substitute_for_the_start() -> None:
    snapshot = read_json({"id": 7, "uris": [], "completed": 1435019872400})
    assert snapshot == Snapshot("7", None, [])


@pytest.mark.parametrize("name", ["id", "createdAt", "pages"])
def test_index_without_a_required_property_is_json_of_another_kind(name: str) -> None:
    assert read_json({key: value for key, value in INDEX.items() if key != name}) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": None},
        {"id": " "},
        {"id": True},
        {"id": 1.5},
        {"id": ["1"]},
        {"id": "\ud800"},
        {"pages": None},
        {"pages": "https://feeds.example/"},
        {"pages": {"0": "https://feeds.example/"}},
        {"pages": [{"url": "https://feeds.example/"}]},
        {"pages": ["https://feeds.example/", ""]},
        {"pages": ["\udfff"]},
    ],
)
def test_index_with_a_property_of_another_type_is_json_of_another_kind(wrong: dict[str, object]) -> None:
    assert read_json({**INDEX, **wrong}) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'"x"',
        b"<feed/>",
        b'{"version": "https://jsonfeed.org/version/1.1", "items": []}',
        b"9" * 5_000,
    ],
)
def test_what_is_no_index_is_none(body: bytes) -> None:
    with contextlib.suppress(NotAFeedError):
        assert read_bytes(body) is None


@pytest.mark.parametrize("body", [json.dumps(INDEX).encode()[:-1], b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_an_error(body: bytes) -> None:
    with pytest.raises(NotAFeedError) as caught:
        read_bytes(body)
    assert caught.value.kind == "not-json"


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        ({**INDEX, "pages": ["a"] * 4}, "limit"),
        ({**DRAFT, "uris": ["a"] * 4}, "limit"),
        ({**INDEX, "id": "x" * 1001}, "too-large"),
        ({**INDEX, "pages": ["a" * 12 * 1024**2] * 3}, "too-large"),
    ],
    ids=["pages", "uris", "id", "URLs"],
)
def test_index_beyond_a_bound_is_an_error(index: dict[str, Any], kind: str) -> None:
    most = 3
    assert read_json({**INDEX, "id": "x" * 1000, "pages": ["a"] * 3}, most) is not None
    with pytest.raises(NotAFeedError) as caught:
        read_json(index, most)
    assert caught.value.kind == kind


def entity(snapshot_id: str, page: int, position: int) -> str:
    return entry_id(page_key(Snapshot(snapshot_id, None, []), page), position)


def test_identity_is_made_of_the_index_and_the_positions() -> None:
    assert entity("2015-06-23T00:36:45.885Z", 0, 1) == "urn:snapshot:2015-06-23T00:36:45.885Z:0:1"
    assert entity("a b/é", 2, 30) == "urn:snapshot:a%20b%2F%C3%A9:2:30"


def test_entities_of_a_page_are_numbered_in_its_order() -> None:
    body = b"--b\n\nfirst\n--b\nContent-ID: <own@x>\n\nsecond\n--b\n\nthird\n--b--"
    links = ['<http://feeds.example/>; rel="next"']
    read_page = page(multipart.read(body, LOCATION, "multipart/mixed; boundary=b", links), "urn:snapshot:1:7")
    assert [(entry.id, entry.content) for entry in read_page.entries] == [
        ("urn:snapshot:1:7:2", "third"),
        ("own@x", "second"),
        ("urn:snapshot:1:7:0", "first"),
    ]
    assert read_page.problems == []
    assert read_page.links == {}


def test_only_pages_of_snapshots_have_a_prefix() -> None:
    assert prefix_of("file:///a/1.atom#16-3") is None
    assert prefix_of(f"{NAMESPACE}a:b:3") == f"{NAMESPACE}a:b:"


KEYS = st.tuples(st.text(max_size=5), st.integers(0, 20), st.integers(0, 20))


@given(one=KEYS, other=KEYS)
def test_two_entities_never_have_one_identity(one: tuple[str, int, int], other: tuple[str, int, int]) -> None:
    assert (entity(*one) == entity(*other)) == (one == other)
    assert entity(*one).isascii()


@example(one=("", 0, 0), other=(":", 0, 0))
@given(one=KEYS, other=KEYS)
def test_entities_of_one_snapshot_and_no_other_have_two_positions_behind_its_prefix(
    one: tuple[str, int, int], other: tuple[str, int, int]
) -> None:
    prefix = prefix_of(page_key(Snapshot(one[0], None, []), one[1]))
    assert prefix is not None
    prefixed, behind = entity(*other).startswith(prefix), entity(*other)[len(prefix) :]
    assert (prefixed and behind.count(":") == 1) == (one[0] == other[0])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=3), children, max_size=3)
    ),
    max_leaves=5,
)


@settings(deadline=None, max_examples=200)
@given(
    index=st.fixed_dictionaries(
        {}, optional=dict.fromkeys(["id", "createdAt", "pages", "uris", "started"], JSON)
    )
)
def test_arbitrary_json_raises_nothing(index: dict[str, object]) -> None:
    snapshot = read_json(index)
    if snapshot is not None:
        assert snapshot.id
        assert all(snapshot.pages)


@settings(max_examples=100)
@given(body=st.binary(max_size=50))
def test_arbitrary_bytes_are_no_index(body: bytes) -> None:
    with contextlib.suppress(NotAFeedError):
        assert read_bytes(body) is None
