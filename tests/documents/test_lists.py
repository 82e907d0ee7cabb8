import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fhcrawl import documents
from fhcrawl.documents import FeedDocument
from fhcrawl.documents.formats import jsonfeed, multipart
from fhcrawl.documents.lists import (
    NAMESPACE,
    URI_LIST,
    DocumentList,
    _id_prefix,
    read_snapshot,
    snapshot_page,
    snapshot_prefix,
)
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


def read_json(value: object, most: int = 0) -> DocumentList | None:
    return read_snapshot(jsonfeed.parse(json.dumps(value).encode()).members, LOCATION, most)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ({**INDEX, "createdAt": "2023-11-27T20:52:17+01:00"}, "2023-11-27T19:52:17Z"),
        # One time is no substitute for another.
        *(({**INDEX, "createdAt": other}, None) for other in ("soon", "", None, 1435019805885)),
        *(({**DRAFT, "started": other}, None) for other in (10**20, 1e300, float("nan"), "1", True, None)),
        ({**INDEX, "uris": ["/x"], "started": 0, "next": None}, INDEX["createdAt"]),
        ({**DRAFT, "started": 0}, "1970-01-01T00:00:00.000Z"),
        ({**DRAFT, "started": -1}, "1969-12-31T23:59:59.999Z"),
        ({**DRAFT, "started": 1435019805885.4}, "2015-06-23T00:36:45.885Z"),
    ],
)
def test_time_of_an_index_is_of_its_creation_or_its_start_in_milliseconds(
    index: dict[str, Any], expected: str | None
) -> None:
    snapshot = read_json(index)
    assert snapshot is not None
    assert snapshot.created_at == expected


@pytest.mark.parametrize(
    "index",
    [
        *({key: value for key, value in INDEX.items() if key != name} for name in INDEX),
        *({**INDEX, "id": other} for other in (None, " ", True, 1.5, ["1"], "\ud800")),
        *({**INDEX, "pages": other} for other in (None, "https://x.example/", {"0": "u"}, [{"url": "u"}])),
        *({**INDEX, "pages": other} for other in (["https://feeds.example/", ""], ["\udfff"])),
        {"version": "https://jsonfeed.org/version/1.1", "items": []},
    ],
)
def test_index_without_a_property_of_the_right_type_is_json_of_another_kind(index: dict[str, Any]) -> None:
    assert read_json(index) is None


@pytest.mark.parametrize(
    "index",
    [
        *({**INDEX, "pages": ["a"] * 4}, {**DRAFT, "uris": ["a"] * 4}),
        *({**INDEX, "id": "x" * 1001}, {**INDEX, "pages": ["a" * 12 * 1024**2] * 3}),
    ],
    ids=range(4),
)
def test_index_beyond_a_bound_is_an_error(index: dict[str, Any]) -> None:
    most = 3
    assert read_json({**INDEX, "id": "x" * 1000, "pages": ["a"] * 3}, most) is not None
    with pytest.raises(NotAFeedError) as caught:
        read_json(index, most)
    assert caught.value.kind == "too-large"


def entity(snapshot_id: str, page: int, position: int) -> str:
    return f"{_id_prefix(snapshot_id)}{page}:{position}"


def test_identity_is_made_of_the_index_and_the_positions() -> None:
    assert entity("2015-06-23T00:36:45.885Z", 0, 1) == "urn:snapshot:2015-06-23T00:36:45.885Z:0:1"
    assert entity("a b/é", 2, 30) == "urn:snapshot:a%20b%2F%C3%A9:2:30"


def test_entities_of_a_page_are_numbered_in_its_order() -> None:
    body = b"--b\n\nfirst\n--b\nContent-ID: <own@x>\n\nsecond\n--b\n\nthird\n--b--"
    links = ['<http://feeds.example/>; rel="next"']
    read_page = snapshot_page(
        multipart.read(body, LOCATION, "multipart/mixed; boundary=b", links), "urn:snapshot:1:7"
    )
    assert [(entry.id, entry.content) for entry in read_page.entries] == [
        *(("urn:snapshot:1:7:2", "third"), ("own@x", "second"), ("urn:snapshot:1:7:0", "first")),
    ]
    assert read_page.problems == []
    assert read_page.links == {}


def test_only_pages_of_snapshots_have_a_prefix() -> None:
    assert snapshot_prefix("file:///a/1.atom#16-3") is None
    assert snapshot_prefix(f"{NAMESPACE}a:b:3") == f"{NAMESPACE}a:b:"


KEYS = st.tuples(st.text(max_size=5), st.integers(0, 20), st.integers(0, 20))


# Those of one snapshot, and of no other, have two positions behind its prefix.
@example(one=("", 0, 0), other=(":", 0, 0))
@given(one=KEYS, other=KEYS)
def test_two_entities_never_have_one_identity(one: tuple[str, int, int], other: tuple[str, int, int]) -> None:
    assert (entity(*one) == entity(*other)) == (one == other)
    assert entity(*one).isascii()
    prefix = snapshot_prefix(f"{_id_prefix(one[0])}{one[1]}")
    assert prefix is not None
    prefixed, behind = entity(*other).startswith(prefix), entity(*other)[len(prefix) :]
    assert (prefixed and behind.count(":") == 1) == (one[0] == other[0])


DATA = Path(__file__).parent.parent / "data" / "lists"
TYPES = {".index": "application/json", ".uris": URI_LIST}
LISTS = sorted(path for path in DATA.iterdir() if path.suffix in TYPES)


def read_file(path: Path, location: str) -> DocumentList | FeedDocument:
    return documents.read(path.read_bytes(), location, TYPES[path.suffix])


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_list_gives_the_expected_document(path: Path) -> None:
    listed = read_file(path, "file:///feeds/" if path.suffix == ".uris" else LOCATION)
    assert isinstance(listed, DocumentList)
    expected = json.loads(path.with_suffix(".json").read_text("utf-8"))
    assert json.loads(json.dumps(asdict(listed))) == expected


def test_list_is_no_feed_and_one_of_uris_a_folders_or_none() -> None:
    with pytest.raises(NotAFeedError, match="a list of documents"):
        documents.as_feed(documents.read(json.dumps(INDEX).encode(), LOCATION))
    with pytest.raises(NotAFeedError):
        read_file(DATA / "folder.uris", LOCATION)


def test_folder_of_too_many_files_is_an_error() -> None:
    body, most = b"file:///feeds/a\r\n" * 3, 3
    assert isinstance(documents.read(body, "file:///feeds/", URI_LIST, max_entries=most), DocumentList)
    with pytest.raises(NotAFeedError) as caught:
        documents.read(body + body, "file:///feeds/", URI_LIST, max_entries=most)
    assert caught.value.kind == "too-large"
