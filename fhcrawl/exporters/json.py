"""Exports entries as one JSON list: Scrapy's exporter, safe for terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import exporters

from fhcrawl.exporters.terminal import shown

if TYPE_CHECKING:
    from io import BytesIO


class JsonItemExporter(exporters.JsonItemExporter):
    """A JSON list of objects."""

    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(shown(file), **kwargs)
