"""Exports entries as JSON lines: each object has all fields, in the order of EntryItem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from scrapy import exporters

from fhcrawl.exporters.entry_fields import with_all_fields
from fhcrawl.exporters.terminal import shown

if TYPE_CHECKING:
    from io import BytesIO


class JsonLinesItemExporter(exporters.JsonLinesItemExporter):
    """JSON lines; a plain dictionary with the fields in order is written unchanged."""

    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(shown(file), **kwargs)

    def export_item(self, item: Any) -> None:
        """Write an item; an entry has all fields."""
        item = with_all_fields(item, self.fields_to_export)
        if type(item) is dict and self.fields_to_export in (None, list(item)) and self.encoding == "utf-8":
            self.file.write(orjson.dumps(item, option=orjson.OPT_APPEND_NEWLINE))
        else:
            super().export_item(item)
