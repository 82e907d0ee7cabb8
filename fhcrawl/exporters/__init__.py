"""Exporters: one module for each format, and the destinations of exports."""

from fhcrawl.exporters.parquet import ParquetItemExporter
from fhcrawl.exporters.rows import CsvItemExporter, JsonItemExporter, JsonLinesItemExporter, XmlItemExporter

__all__ = [
    "CsvItemExporter",
    "JsonItemExporter",
    "JsonLinesItemExporter",
    "ParquetItemExporter",
    "XmlItemExporter",
]
