from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fhcrawl.documents import Bounds, json_text
from fhcrawl.documents.json_text import Json, parse
from fhcrawl.exceptions import NotAFeedError
from tests.feeds import read

LOCATION = "http://feeds.example/dir/feed.json"
FEED = '{"version":"https://jsonfeed.org/version/1.1",'
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=5), inside, max_size=3),
    max_leaves=8,
)
MEMBERS = st.dictionaries(st.sampled_from(("a", "items", "version", "\\", '"')), VALUES)
TEXTS = st.text(alphabet='{}[],:"\\ 1aeéu\n\N{GRINNING FACE}', max_size=20)


def plain(found: Json) -> tuple[dict[str, Any], list[Any] | None]:
    return found.members, None if found.items is None else list(found.items)


def outcome(text: str) -> object:
    try:
        return plain(parse(text.encode("utf-8", "surrogatepass"), Bounds()))
    except NotAFeedError as error:
        return error.kind


def in_pieces(text: str) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_text, "LARGE", 0)
        return outcome(text)


@given(text=MEMBERS.map(json.dumps) | TEXTS.map("{{{}".format) | TEXTS.map('{{"items":{}'.format))
@example('{"items":1,"items":[1],"a":2}')
@example('{"items":[1],"items":2}')
@example('{"items":[1,]}')
@example('{"items":[1 2]}')
@example('{"items":[1],}')
@example('{"a":[}')
@example('{"a":"\\\\","items":["\\"]"]}x')
@example('{"a":1,"items":[],"b":"\\u00e9"}')
@example("{" + '"a":[' * 5000 + "]" * 5000 + "}")
def test_large_document_is_what_a_small_one_is(text: str) -> None:
    assert in_pieces(text) == outcome(text)


def test_items_are_decoded_when_they_are_asked_for() -> None:
    found = parse((FEED + '"items":[1,' + " " * json_text.LARGE + "nothing]}").encode(), Bounds())
    assert found.items is not None
    items = iter(found.items)
    assert next(items) == "1"
    with pytest.raises(NotAFeedError, match="not JSON"):
        next(items)


@pytest.mark.parametrize(
    "members",
    [
        '"a":[1,2,3]',
        '"a":{"a":"b","c":[]}',
        '"a":1,"b":2,"c":3',
        '"items":[1,[1,2,3]]',
        '"items":[{"a":"","b":[]}]',
    ],
)
def test_values_that_are_in_memory_at_once_are_counted(members: str) -> None:
    body = ("{" + members + "}").encode()
    plain(parse(body, Bounds(elements=6)))
    with pytest.raises(NotAFeedError) as caught:
        plain(parse(body, Bounds(elements=3)))
    assert caught.value.bound == "too-many-elements"


def test_items_may_be_more_than_values_at_once_and_commas_in_texts_are_none() -> None:
    text = ", [{" * 1000
    body = (
        FEED + '"items":[' + ",".join(json.dumps({"id": str(n), "summary": text}) for n in range(20)) + "]}"
    )
    document = read(body.encode(), LOCATION, bounds=Bounds(elements=10))
    assert [entry.id for entry in document.entries] == [str(n) for n in range(20)]
    assert {entry.summary for entry in document.entries} == {text}
    assert document.problems == []


def test_what_stands_behind_too_many_items_is_read() -> None:
    document = read((FEED + '"items":[1,2,3,4],"title":"t"}').encode(), LOCATION, bounds=Bounds(2, 3))
    assert document.title == "t"
    assert [problem.kind for problem in document.problems] == ["no-id", "no-id", "no-id", "too-many"]


@pytest.mark.parametrize("value", ["{}", "[]", '"ab"', "10", '{"a":0}'])
def test_too_many_values_take_no_memory(value: str) -> None:
    body = ('{"a":[' + f"{value}," * 500_000 + "0]}").encode()
    tracemalloc.start()
    try:
        with pytest.raises(NotAFeedError) as caught:
            parse(body, Bounds(elements=1000))
        assert tracemalloc.get_traced_memory()[1] < 3 * len(body)
    finally:
        tracemalloc.stop()
    assert caught.value.bound == "too-many-elements"


@pytest.mark.parametrize("field", ["content_text", "_extension"])
def test_item_with_a_text_that_is_too_long_is_left_out_without_being_decoded(field: str) -> None:
    items = [{"id": "1"}, {"id": "2", field: "\N{GRINNING FACE}" + "x" * json_text.LARGE}, {"id": "3"}]
    body = (FEED + '"items":' + json.dumps(items) + "}").encode()
    document = read(body, LOCATION, keep_originals=True, bounds=Bounds(text=1000))
    assert [entry.id for entry in document.entries] == ["1", "3"]
    assert [(problem.kind, problem.entry) for problem in document.problems] == [("too-long", "entry 2")]


@pytest.mark.parametrize("character", ["\N{GRINNING FACE}", "\u00e9", "\n", "x"])
def test_length_of_a_text_is_that_of_its_characters_and_not_of_their_escapes(character: str) -> None:
    items = [{"id": "1", "content_text": character * 999 + "."}]
    body = (FEED + '"items":' + json.dumps(items) + " " * json_text.LARGE + "}").encode()
    document = read(body, LOCATION, bounds=Bounds(text=1000))
    assert [entry.id for entry in document.entries] == ["1"]
