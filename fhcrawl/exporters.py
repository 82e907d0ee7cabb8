"""How entries are written: JSON lines and CSV, every field always there, in the order of EntryItem."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson
from scrapy import exporters

if TYPE_CHECKING:
    from io import BytesIO


class JsonLinesItemExporter(exporters.JsonLinesItemExporter):
    """JSON lines; an item that is already a plain dictionary in its order is written as it is."""

    def export_item(self, item: Any) -> None:
        """Write an item."""
        if type(item) is dict and self.fields_to_export in (None, list(item)) and self.encoding == "utf-8":
            self.file.write(orjson.dumps(item, option=orjson.OPT_APPEND_NEWLINE))
        else:
            super().export_item(item)


class CsvItemExporter(exporters.CsvItemExporter):
    """CSV; lists as JSON text, null as an empty cell. A file that is not empty has its header already."""

    def __init__(self, file: BytesIO, include_headers_line: bool = True, **kwargs: Any) -> None:
        include = include_headers_line and not (file.seekable() and file.tell())
        super().__init__(file, include_headers_line=include, **kwargs)

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        """A list as JSON text, None as ''."""
        if isinstance(value, (list, tuple)):
            return json.dumps(value, ensure_ascii=False)
        return "" if value is None else value
