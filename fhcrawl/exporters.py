"""How entries are written: JSON lines and CSV, every field always there, in the order of EntryItem."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy import exporters

if TYPE_CHECKING:
    from io import BytesIO


class JsonLinesItemExporter(exporters.JsonLinesItemExporter):
    """JSON lines; an item that is already a plain dictionary in its order is written as it is."""

    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(file, **kwargs)
        self._plain = json.JSONEncoder(**self._kwargs)

    def export_item(self, item: Any) -> None:
        """Write an item."""
        if type(item) is not dict or self.fields_to_export not in (None, list(item)):
            super().export_item(item)
            return
        line = self._plain.encode(item) + "\n"
        self.file.write(line.encode(self.encoding or "utf-8"))


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
