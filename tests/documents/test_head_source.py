"""The head section of a document as it came."""

import json

import pytest

from fhcrawl.documents import HeadSource
from fhcrawl.documents.head import LARGEST
from tests.feeds import E, atom, read, rss, tombstone

URL = "http://example.org/feed"


def head(document: str) -> HeadSource:
    found = read(document.encode(), URL, keep_head=True).head
    assert found is not None
    return found


def test_head_is_only_kept_on_demand() -> None:
    assert read(atom([E("1")]).encode(), URL).head is None


@pytest.mark.parametrize("write", [atom, rss])
def test_entries_and_tombstones_are_left_out(write: object) -> None:
    document = write([E("1", "text")], head=tombstone("2", None) + "<x:y xmlns:x='urn:x'>z</x:y>")  # type: ignore[operator]
    found = head(document).original
    assert "z</x:y>" in found
    assert not any(part in found for part in ("text", "entry", "<item"))


def test_items_anywhere_are_left_out() -> None:
    document = "<rss><channel><w><item><guid>1</guid></item></w></channel><item/><x>y</x></rss>"
    assert head(document).original == "<rss><channel><w/></channel><x>y</x></rss>"


def test_table_of_contents_is_left_out() -> None:
    rdf = 'xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"'
    document = (
        f"<r:RDF {rdf}><channel><title>t</title><items><r:Seq/></items></channel><image/><item/></r:RDF>"
    )
    assert head(document).original == f"<r:RDF {rdf}><channel><title>t</title></channel><image/></r:RDF>"


@pytest.mark.parametrize("write", [atom, rss])
def test_update_times_do_not_change_the_digest(write: object) -> None:
    documents = [write([E("1")], updated=time) for time in ("2003-12-13T18:30:02Z", "2004-12-13T18:30:02Z")]  # type: ignore[operator]
    assert head(documents[0]).digest == head(documents[1]).digest
    assert head(documents[0]).original != head(documents[1]).original


def test_every_other_change_changes_the_digest() -> None:
    reported = ("<a/>", "<a b='1'/>", "<a>1</a>", "")
    assert len({head(atom([], head=one)).digest for one in reported}) == len(reported)


def test_members_of_json_besides_items() -> None:
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "t", "_x": {"y": [1]}}
    found = head(json.dumps({**feed, "items": [{"id": "1"}]}))
    assert json.loads(found.original) == {**feed, "_x": {"y": ["1"]}}


@pytest.mark.parametrize("kind", ["atom", "json"])
def test_head_that_is_too_long_keeps_what_fits(kind: str) -> None:
    long = "x" * (LARGEST - 100)
    if kind == "atom":
        document = atom([E("1")], head=f"<a>1</a><long>{long}</long><longer>{long}</longer><z>2</z>")
    else:
        feed = {"version": "https://jsonfeed.org/version/1.1", "a": "1", "longer": long * 2, "z": "2"}
        document = json.dumps({**feed, "items": [{"id": "1"}]})
    found = read(document.encode(), URL, keep_head=True)
    assert found.head is not None
    assert len(found.head.original) < LARGEST * 1.1
    assert "longer" not in found.head.original
    assert '"a": "1"' in found.head.original or "<a>1</a>" in found.head.original
    assert [problem.kind for problem in found.problems] == ["head-cut"]
    assert len(found.entries) == 1
