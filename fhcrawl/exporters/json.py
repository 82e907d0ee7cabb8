"""Exports entries as one JSON list: Scrapy's exporter, safe for terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import exporters

from fhcrawl.exporters.entry_fields import with_all_fields
from fhcrawl.exporters.terminal import shown

if TYPE_CHECKING:
    from io import BytesIO


class JsonItemExporter(exporters.JsonItemExporter):
    """A JSON list of objects; an entry has all fields."""

    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(shown(file), **kwargs)

    def export_item(self, item: Any) -> None:
        """Write an item."""
        super().export_item(with_all_fields(item, self.fields_to_export))
