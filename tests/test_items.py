"""Entries in the pipelines of users: attributes, keys, copies."""

import copy
import dataclasses
import json
import pickle
from typing import Any, cast

import pytest
from itemadapter import ItemAdapter

from fhcrawl.items import ALL_FIELDS, EntryItem, added_fields
from fhcrawl.logical_feed import Version
from fhcrawl.pipelines import EntryVersion, PendingDocument

VALUES: dict[str, Any] = {name: [name] if name in ("authors", "categories") else name for name in ALL_FIELDS}


class NotPickled:
    def __reduce__(self) -> Any:
        raise AssertionError("the document of an item was copied")


@pytest.fixture
def item() -> EntryVersion:
    made = EntryVersion(**VALUES)
    made.version, made.pending = cast("Version", NotPickled()), cast("PendingDocument", NotPickled())
    return made


def test_item_adapter_has_added_fields(item: EntryVersion) -> None:
    adapter = ItemAdapter(item)
    adapter["files"] = [{"path": "a"}]
    adapter["title"] = "changed"
    assert (item.title, added_fields(item)) == ("changed", {"files": [{"path": "a"}]})
    assert adapter.asdict() == {**VALUES, "title": "changed", "files": [{"path": "a"}]}
    assert list(adapter.field_names()) == [*ALL_FIELDS, "files"]
    assert (len(adapter), dict(adapter.get_field_meta("files"))) == (len(ALL_FIELDS) + 1, {})
    del adapter["files"]
    assert added_fields(item) == {}
    with pytest.raises(KeyError):
        adapter["pending"] = None


@pytest.mark.parametrize("name", ALL_FIELDS)
def test_each_field_is_an_attribute_and_a_key(item: EntryVersion, name: str) -> None:
    assert item[name] == getattr(item, name) == item.get(name) == VALUES[name]
    assert name in item
    item[name] = "changed"
    assert getattr(item, name) == item[name] == "changed"
    setattr(item, name, "again")
    assert item[name] == "again"


def test_item_needs_a_feed_and_an_id_only() -> None:
    item = EntryItem(feed="https://example.org/feed", id="1")
    assert (item.title, item.authors, item.enclosures, item.document) == (None, [], [], "")
    assert item.authors is not EntryItem(item.feed, "2").authors


def test_item_turns_into_dictionaries(item: EntryVersion) -> None:
    assert dict(item) == {**item} == dataclasses.asdict(item) == ItemAdapter(item).asdict() == VALUES
    assert list(item) == list(item.keys()) == [*ALL_FIELDS]
    assert dict(item.items()) == VALUES
    assert len(item) == len(ALL_FIELDS)
    assert json.loads(json.dumps(dict(item))) == VALUES


def test_fields_can_be_added(item: EntryVersion) -> None:
    item["words"] = 3
    item.minutes = 4  # type: ignore[attr-defined]
    item.update(title="new")
    assert dict(item) == {**VALUES, "words": 3, "minutes": 4, "title": "new"}
    assert added_fields(item) == {"words": 3, "minutes": 4}
    assert item.pop("words") == 3
    assert "words" not in item
    assert item.get("words") is None


def test_fields_of_each_entry_cannot_be_removed(item: EntryVersion) -> None:
    with pytest.raises(TypeError, match="the field title cannot be removed; set it to None"):
        del item["title"]
    assert item.title == "title"


@pytest.mark.parametrize(
    ("name", "is_taken"), [("version", True), ("pending", True), ("keys", False), ("no such", False)]
)
def test_what_is_no_field_is_no_key(item: EntryVersion, name: str, is_taken: bool) -> None:
    assert name not in item
    with pytest.raises(KeyError):
        item[name]
    with pytest.raises(KeyError):
        del item[name]
    if is_taken:
        before = getattr(item, name)
        with pytest.raises(KeyError, match=f"a field cannot have the name {name}"):
            item[name] = 1
        assert getattr(item, name) is before


def test_shallow_copy_is_of_the_same_document(item: EntryVersion) -> None:
    item["words"] = 3
    copied = copy.copy(item)
    copied.title = "copied"
    assert dict(copied) == {**VALUES, "words": 3, "title": "copied"}
    assert (copied.version, copied.pending) == (item.version, item.pending)
    assert item.title == "title"


@pytest.mark.parametrize("protocol", [None, *range(pickle.HIGHEST_PROTOCOL + 1)])
def test_deep_copies_and_pickles_have_the_fields_alone(item: EntryVersion, protocol: int | None) -> None:
    item["words"] = [3]
    copied = copy.deepcopy(item) if protocol is None else pickle.loads(pickle.dumps(item, protocol))  # noqa: S301
    assert type(copied) is EntryItem
    assert dict(copied) == {**VALUES, "words": [3]}
    assert copied["words"] is not item["words"]
    assert copied == copy.deepcopy(copied)


def test_class_has_the_name_by_which_rules_are_chosen(item: EntryVersion) -> None:
    assert type(item).__name__ == "EntryItem"
    assert repr(item).startswith("EntryItem(feed='feed', id='id', ")
