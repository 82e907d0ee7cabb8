from __future__ import annotations

import tracemalloc

import pytest

from fhcrawl.documents import Bounds
from fhcrawl.exceptions import NotAFeedError
from tests.documents.test_proportion import LOCATION, SOUND, feed
from tests.feeds import read


@pytest.mark.parametrize("more", ["", " " * 2**20], ids=["whole", "in pieces"])
def test_element_with_many_attributes_is_refused(more: str) -> None:
    def document(count: int) -> bytes:
        attributes = " ".join(f"a{number}='>'" for number in range(count))
        return feed(f"{SOUND}<entry><id>1</id><content {attributes}/></entry>{more}")

    assert len(read(document(9_999), LOCATION).entries) == 2
    with pytest.raises(NotAFeedError, match="more than 10000 attributes"):
        read(document(10_001), LOCATION)


def test_attributes_of_a_document_in_one_piece_are_counted_and_those_in_texts_are_none() -> None:
    entry = "<entry><id a='b' c='d=>'>a=b</id></entry>"
    body = feed(entry * 20)
    assert len(read(body, LOCATION, bounds=Bounds(elements=61)).entries) == 20
    with pytest.raises(NotAFeedError, match="more than 60 attributes"):
        read(body, LOCATION, bounds=Bounds(elements=60))


def test_references_to_entities_count_as_elements() -> None:
    def document(count: int) -> bytes:
        return feed(f"<title>{'&a;&lt;' * count}</title>", before='<!DOCTYPE feed [<!ENTITY a "b">]>')

    most = Bounds(elements=104)
    assert read(document(100), LOCATION, bounds=most).fault is None
    with pytest.raises(NotAFeedError, match="more than 104 elements"):
        read(document(101), LOCATION, bounds=most)


def test_links_with_too_many_relations_are_refused() -> None:
    def document(count: int) -> bytes:
        return feed("".join(f"<link href='a' rel='{' '.join(map(str, range(count)))}'/>" for _ in range(2)))

    assert len(read(document(50_000), LOCATION).links) == 50_000
    with pytest.raises(NotAFeedError, match="more than 50000 relations"):
        read(document(50_001), LOCATION)


@pytest.mark.parametrize("where", ["", " " * 2**20], ids=["whole", "in pieces"])
def test_tombstones_are_as_many_as_entries(where: str) -> None:
    body = feed(
        f"<at:deleted-entry ref='a'/>{where}" * 3, "xmlns:at='http://purl.org/atompub/tombstones/1.0'"
    )
    document = read(body, LOCATION, bounds=Bounds(entries=2))
    assert len(document.tombstones) == 2
    assert [problem.kind for problem in document.problems if problem.kind == "too-many"] == ["too-many"]


def test_headers_of_a_part_are_as_long_as_those_of_a_response() -> None:
    def document(count: int) -> bytes:
        return b"--b\nContent-ID: a\n" + b"Header: b\n" * count + b"\nx\n--b--"

    content_type = "multipart/mixed; boundary=b"
    assert [entry.id for entry in read(document(10_000), LOCATION, content_type).entries] == ["a"]
    with pytest.raises(NotAFeedError, match="headers of more than 128 KiB"):
        read(document(14_000), LOCATION, content_type)


def test_parts_beyond_the_bound_take_no_memory() -> None:
    body = b"--b\r\n\r\n\r\n" * 50_000 + b"--b--"
    tracemalloc.start()
    try:
        document = read(body, LOCATION, "multipart/mixed; boundary=b", bounds=Bounds(entries=10))
        assert tracemalloc.get_traced_memory()[1] < len(body)
    finally:
        tracemalloc.stop()
    assert document.fault is None
