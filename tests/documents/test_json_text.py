import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fhcrawl.documents.formats.jsonfeed import Json, parse
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
    return found.members, found.items


@given(members=MEMBERS)
def test_members_are_those_of_the_object(members: dict[str, Any]) -> None:
    found, items = plain(parse(json.dumps(members).encode()))
    assert found.keys() == members.keys() - ({"items"} if isinstance(members.get("items"), list) else set())
    assert (items is not None) == isinstance(members.get("items"), list)


@given(text=TEXTS.map("{{{}".format) | TEXTS.map('{{"items":{}'.format))
@example('{"items":[1,]}')
@example('{"items":[1 2]}')
@example('{"items":[1],}')
@example('{"a":[}')
@example("{" + '"a":[' * 50_000)
def test_what_is_no_json_is_an_error(text: str) -> None:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        with pytest.raises(NotAFeedError) as caught:
            parse(text.encode("utf-8", "surrogatepass"))
        assert caught.value.kind == "not-json"


def test_what_stands_behind_too_many_items_is_read() -> None:
    document = read((FEED + '"items":[1,2,3,4],"title":"t"}').encode(), LOCATION, max_entries=2)
    assert (document.title, len(document.entries)) == ("t", 2)
    assert document.problems[-1].kind == "too-many"
