"""Exports entries as CSV: each row has all fields, in the order of EntryItem."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from scrapy import exporters

from fhcrawl.exporters.entry_fields import TIMES
from fhcrawl.exporters.terminal import shown

if TYPE_CHECKING:
    from io import BytesIO

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

EXCEL = "FHCRAWL_CSV_EXCEL_ENABLED"
# Excel takes UTF-8 for the encoding of its country, unless the file begins with a byte order mark.
SECONDS = len("2003-12-13T18:30:02")
UTF_8, WITH_MARK = "utf-8", "utf-8-sig"
# What spreadsheets read as the beginning of a formula, with full-width forms and leading white space.
FORMULA = re.compile(r"'|[\t\r\n]|[\s\0\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]")


def options(settings: BaseSettings) -> dict[str, bool]:
    """Return the options of the exporter that settings stand for."""
    return {"excel": settings.getbool(EXCEL)}


class CsvItemExporter(exporters.CsvItemExporter):
    """CSV; lists are JSON text, null is an empty cell. No header is written to a file that is not empty.

    :param excel: FHCRAWL_CSV_EXCEL_ENABLED: begin a file with a byte order mark, write times as Excel reads
        them, without fractions, and put an apostrophe before a cell that a spreadsheet would run, and before
        one that begins with an apostrophe, so that removing the first apostrophe gives the value
    """

    def __init__(
        self,
        file: BytesIO,
        include_headers_line: bool = True,
        excel: bool = False,
        **kwargs: Any,
    ) -> None:
        include = include_headers_line and not (file.seekable() and file.tell())
        if excel:
            kwargs["encoding"] = WITH_MARK if include else UTF_8
        super().__init__(shown(file), include_headers_line=include, **kwargs)
        self._excel = excel

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: BytesIO, **kwargs: Any) -> Self:
        """Create an exporter with the crawler's settings."""
        return cls(file, **{**options(crawler.settings), **kwargs})

    def finish_exporting(self) -> None:
        """Write the header if there were no items, and flush."""
        if self._headers_not_written and self.fields_to_export:
            self._write_headers_and_set_fields_to_export(None)
        super().finish_exporting()

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        """Return a list, dictionary or Boolean as JSON text, None as '', and escape formulas."""
        if isinstance(value, (list, tuple, dict, bool)):
            return json.dumps(value, ensure_ascii=False)
        if self._excel and name in TIMES and isinstance(value, str):
            return value[:SECONDS].replace("T", " ")
        if self._excel and isinstance(value, str) and FORMULA.match(value):
            return f"'{value}"
        return "" if value is None else value
