"""Pipelines of a user that add fields to entries."""

import copy
from dataclasses import asdict, dataclass
from typing import Any

from fhcrawl.items import EntryItem


@dataclass
class Episode(EntryItem):
    minutes: int | None = None


class SetsAttribute:
    def process_item(self, item: Any) -> Any:
        item.minutes = len(item.summary)
        return item


class ReturnsSubclass:
    def process_item(self, item: Any) -> Any:
        return Episode(**asdict(item), minutes=len(item.summary))


class Copies(SetsAttribute):
    def process_item(self, item: Any) -> Any:
        return copy.deepcopy(super().process_item(item))


class SetsObject:
    def process_item(self, item: Any) -> Any:
        item.minutes = object()
        return item
