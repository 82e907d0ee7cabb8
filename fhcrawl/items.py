"""The items that the spider yields."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fhcrawl.crawling.pending import PendingDocument
    from fhcrawl.documents import Enclosure
    from fhcrawl.logical_feed import Version


@dataclass
class EntryItem:
    """An entry, as exported. The fields are described in README.md, 'What an entry looks like'."""

    feed: str
    id: str
    title: str | None
    link: str | None
    published: str | None
    updated: str | None
    authors: list[str]
    categories: list[str]
    summary: str | None
    content: str | None
    content_type: str | None
    enclosures: list[Enclosure]
    operation: str | None
    document: str
    document_updated: str | None
    change: str | None = None


FIELDS = [f.name for f in fields(EntryItem)]


class EntryVersion(EntryItem):
    """An entry that passes through the item pipelines.

    It refers to its version and its document; these are not fields of the item, so that pipelines may copy
    it, turn it into a dictionary or replace it by another EntryItem. Pipelines may also set attributes, which
    are fields that they add: see `added_fields`.
    """

    version: Version
    pending: PendingDocument

    def __deepcopy__(self, memo: dict[int, Any]) -> EntryItem:
        """Return an EntryItem with a copy of the fields."""
        copied = EntryItem(**{name: deepcopy(getattr(self, name), memo) for name in FIELDS})
        vars(copied).update(deepcopy(added_fields(self), memo))
        return copied


KNOWN = frozenset({*FIELDS, *EntryVersion.__annotations__})


def added_fields(item: EntryItem) -> dict[str, Any]:
    """Return the fields that pipelines have added to an item, as attributes or as fields of a subclass."""
    return {name: value for name, value in vars(item).items() if name not in KNOWN}
