"""The pipelines of the project."""

from typing import Any

from fhcrawl.items import EntryItem


class WordsPipeline:
    """Adds a field to entries: the number of words."""

    def process_item(self, item: Any) -> Any:
        """Return the item."""
        if isinstance(item, EntryItem):
            item.words = len((item.content or item.summary or "").split())
        return item
