"""A pipeline of a user that fills a table of its own: a file with a row for each item."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any, ClassVar

from tests.pipelines.faulty import CHOSEN

TABLE = "table.jsonl"


class Fills:
    under_way: ClassVar[int] = 0

    async def process_item(self, item: Any) -> Any:
        type(self).under_way += 1
        row = {**item, "under_way": self.under_way}
        await asyncio.sleep(0.005)
        type(self).under_way -= 1
        if item.id == os.environ.get(CHOSEN):
            raise asyncio.CancelledError
        _append(row)
        return item


def _append(row: dict[str, Any]) -> None:
    with Path(TABLE).open("a") as file:
        file.write(json.dumps(row) + "\n")
