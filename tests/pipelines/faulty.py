"""Pipelines of a user, to stand behind fhcrawl's own."""

import asyncio
import copy
import dataclasses
import os
from typing import Any

from itemadapter import ItemAdapter
from scrapy.exceptions import DropItem

CHOSEN = "TEST_ENTRY"


def settings(name: str) -> dict[str, str]:
    """Settings with one of these pipelines behind fhcrawl's."""
    return {
        "ITEM_PIPELINES": '{"fhcrawl.pipelines.DuplicatesPipeline": 100, '
        f'"tests.pipelines.faulty.{name}": 300}}'
    }


class Raises:
    def process_item(self, item: Any) -> Any:
        if item.id == os.environ.get(CHOSEN):
            raise ValueError("a bug in a pipeline")
        return item


class IsCancelled:
    """Waits for something that is cancelled."""

    async def process_item(self, item: Any) -> Any:
        if item.id == os.environ.get(CHOSEN):
            raise asyncio.CancelledError
        return item


class Drops:
    def process_item(self, item: Any) -> Any:
        if item.id == os.environ.get(CHOSEN):
            raise DropItem("not wanted")
        return item


class DropsUnwanted:
    def process_item(self, item: Any) -> Any:
        if item.summary == "unwanted":
            raise DropItem("not wanted")
        return item


class Nul:
    def process_item(self, item: Any) -> Any:
        if item.id == "nul":
            item.summary = "\0"
        return item


class Enriches:
    async def process_item(self, item: Any) -> Any:
        item.categories = [*item.categories, "enriched"]
        return item


class Delays:
    """Lets the entries whose text is `slow` be overtaken by others."""

    async def process_item(self, item: Any) -> Any:
        if item.summary == "slow":
            await asyncio.sleep(0.3)
        return item


class ReturnsNothing:
    def process_item(self, item: Any) -> None:
        """Forgets `return item`."""


class Copies:
    """What pipelines do with items."""

    def process_item(self, item: Any) -> Any:
        assert ItemAdapter(item).asdict()["id"] == item.id
        assert "pending" not in dataclasses.asdict(item)
        assert copy.copy(item).id == item.id
        copied = copy.deepcopy(item)
        copied.title = "copied"
        return dataclasses.replace(copied, categories=["replaced"])


class NoLists:
    def process_item(self, item: Any) -> Any:
        item.categories = None
        return item


class Legacy:
    def process_item(self, item: Any, spider: Any) -> Any:
        item.title = spider.name
        return item


class Replaces:
    def process_item(self, item: Any) -> Any:
        return {"id": item.id} if item.id == os.environ.get(CHOSEN) else item
