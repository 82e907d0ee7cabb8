"""Exporters: one module for each format, and the destinations of exports."""

from fhcrawl.exporters.csv import CsvItemExporter
from fhcrawl.exporters.json import JsonItemExporter
from fhcrawl.exporters.jsonlines import JsonLinesItemExporter
from fhcrawl.exporters.parquet import ParquetItemExporter
from fhcrawl.exporters.xml import XmlItemExporter

__all__ = [
    "CsvItemExporter",
    "JsonItemExporter",
    "JsonLinesItemExporter",
    "ParquetItemExporter",
    "XmlItemExporter",
]
