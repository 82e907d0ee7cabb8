"""Exporters of rows and of feeds, and the destinations of exports."""

from fhcrawl.exporters.rows import (
    CsvItemExporter,
    JsonItemExporter,
    JsonLinesItemExporter,
    ParquetItemExporter,
    XmlItemExporter,
)

__all__ = [
    "CsvItemExporter",
    "JsonItemExporter",
    "JsonLinesItemExporter",
    "ParquetItemExporter",
    "XmlItemExporter",
]
