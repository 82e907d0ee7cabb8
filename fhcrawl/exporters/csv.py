"""Entries as CSV: every field always there, in the order of EntryItem."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from scrapy import exporters

from fhcrawl.exporters.terminal import shown

if TYPE_CHECKING:
    from io import BytesIO

    from scrapy.crawler import Crawler
    from typing_extensions import Self

FORMULAS_ESCAPED = "FHCRAWL_CSV_FORMULAS_ESCAPED"
# What spreadsheets take for the beginning of a formula, full-width forms and white space before it too.
FORMULA = re.compile(r"'|[\t\r\n]|[\s\0\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]")


class CsvItemExporter(exporters.CsvItemExporter):
    """CSV; lists as JSON text, null as an empty cell. A file that is not empty has its header already.

    :param formulas_escaped: FHCRAWL_CSV_FORMULAS_ESCAPED: a cell that a spreadsheet would run has an
        apostrophe before it, and so has one that begins with an apostrophe: without the first one, a cell
        is what it was
    """

    def __init__(
        self,
        file: BytesIO,
        include_headers_line: bool = True,
        formulas_escaped: bool = False,
        **kwargs: Any,
    ) -> None:
        include = include_headers_line and not (file.seekable() and file.tell())
        super().__init__(shown(file), include_headers_line=include, **kwargs)
        self._formulas_escaped = formulas_escaped

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: BytesIO, **kwargs: Any) -> Self:
        """Read the setting."""
        return cls(file, **{"formulas_escaped": crawler.settings.getbool(FORMULAS_ESCAPED), **kwargs})

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        """A list as JSON text, None as ''."""
        if isinstance(value, (list, tuple)):
            return json.dumps(value, ensure_ascii=False)
        if value and self._formulas_escaped and FORMULA.match(value):
            return f"'{value}"
        return "" if value is None else value
