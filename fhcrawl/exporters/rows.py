"""Exports entries as rows: CSV, JSON, JSON lines, XML (all of them safe for terminals) and Parquet.

Each row has all fields, in the order of EntryItem.
"""

from __future__ import annotations

import io
import json
import re
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any
from xml.sax.saxutils import XMLGenerator

import orjson
from scrapy import exporters
from scrapy.exceptions import NotConfigured

from fhcrawl.exporters.columns import COLUMNS
from fhcrawl.exporters.documents import cleaned
from fhcrawl.items import ALL_FIELDS, EXTENSIONS, FORMER_IDS
from fhcrawl.utils.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BytesIO

    import pyarrow as pa
    from pyarrow import parquet
    from scrapy.crawler import Crawler
    from typing_extensions import Self


class Terminal(io.RawIOBase):
    """A terminal to which control and other unprintable characters are written as escapes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, octets: Any) -> int:
        text = bytes(octets).decode("utf-8", "backslashreplace").replace("\r\n", "\n")
        self._file.write("\n".join(map(escaped, text.split("\n"))).encode())
        return len(octets)


def shown(file: Any) -> Any:
    return Terminal(file) if file.isatty() else file


# The fields that are times: ISO 8601 in UTC, with all digits that the feed has.
TIMES = ("published", "updated", "document_updated")


def with_all_fields(item: Any, fields: Any) -> Any:
    """Return an entry, a plain dictionary, with all fields in their order; other items as they are."""
    if type(item) is not dict or not isinstance(fields, list) or fields == list(item):
        return item
    return {name: item.get(name) for name in fields}


EXCEL = "FHCRAWL_CSV_EXCEL_ENABLED"
# Excel takes UTF-8 for the encoding of its country, unless the file begins with a byte order mark.
SECONDS = len("2003-12-13T18:30:02")
UTF_8, WITH_MARK = "utf-8", "utf-8-sig"
# What spreadsheets read as the beginning of a formula, with full-width forms and leading white space.
FORMULA = re.compile(r"'|[\t\r\n]|[\s\0\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]")


class CsvItemExporter(exporters.CsvItemExporter):
    """CSV; lists are JSON text, null is an empty cell. No header is written to a file that is not empty.

    :param excel: FHCRAWL_CSV_EXCEL_ENABLED: begin a file with a byte order mark, write times as Excel reads
        them, without fractions, and put an apostrophe before a cell that a spreadsheet would run, and before
        one that begins with an apostrophe, so that removing the first apostrophe gives the value
    """

    def __init__(
        self, file: BytesIO, include_headers_line: bool = True, excel: bool = False, **kwargs: Any
    ) -> None:
        include = include_headers_line and not (file.seekable() and file.tell())
        if excel:
            kwargs["encoding"] = WITH_MARK if include else UTF_8
        super().__init__(shown(file), include_headers_line=include, **kwargs)
        self._excel = excel

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: BytesIO, **kwargs: Any) -> Self:
        return cls(file, **{"excel": crawler.settings.getbool(EXCEL), **kwargs})

    def finish_exporting(self) -> None:
        if self._headers_not_written and self.fields_to_export:
            self._write_headers_and_set_fields_to_export(None)
        super().finish_exporting()

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        if isinstance(value, (list, tuple, dict, bool)):
            return json.dumps(value, ensure_ascii=False)
        if self._excel and name in TIMES and isinstance(value, str):
            return value[:SECONDS].replace("T", " ")
        if self._excel and isinstance(value, str) and FORMULA.match(value):
            return f"'{value}"
        return "" if value is None else value


class JsonItemExporter(exporters.JsonItemExporter):
    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(shown(file), **kwargs)

    def export_item(self, item: Any) -> None:
        super().export_item(with_all_fields(item, self.fields_to_export))


class JsonLinesItemExporter(exporters.JsonLinesItemExporter):
    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(shown(file), **kwargs)

    def export_item(self, item: Any) -> None:
        item = with_all_fields(item, self.fields_to_export)
        if type(item) is dict and self.fields_to_export in (None, list(item)) and self.encoding == "utf-8":
            self.file.write(orjson.dumps(item, option=orjson.OPT_APPEND_NEWLINE))
        else:
            super().export_item(item)


class Generator(XMLGenerator):
    """The standard library's generator; it keeps U+000D and replaces characters that XML does not allow."""

    # XML 1.0, 2.11: a parser normalises U+000D to a line feed unless it is a character reference.
    def characters(self, content: str) -> None:
        first, *others = cleaned(content).split("\r")
        super().characters(first)
        for text in others:
            self.ignorableWhitespace("&#13;")
            super().characters(text)


class XmlItemExporter(exporters.XmlItemExporter):
    """XML; see `Generator`. Extensions are JSON text, because URIs of namespaces cannot name elements."""

    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(shown(file), **kwargs)
        self.xg = Generator(self.stream, encoding=self.encoding or "utf-8")

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        if name == EXTENSIONS and value is not None:
            return json.dumps(value, ensure_ascii=False)
        return super().serialize_field(field, name, value)


ARROW_KINDS = {
    **dict.fromkeys(TIMES, "time"),
    **dict.fromkeys(("authors", "categories", FORMER_IDS), "list"),
    "enclosures": "enclosures",
}
NEEDS = "Parquet requires pyarrow: run pip install pyarrow"
MICROSECONDS = 6  # digits
# Limits of a row group, which is held in memory: this many entries, or this many characters and one entry.
ROWS_AT_ONCE = 10_000
CHARACTERS_AT_ONCE = 16_000_000
OF_EACH = 50  # characters; the overhead of a string in Python


class ParquetItemExporter(exporters.BaseItemExporter):
    """Parquet, in row groups: a column for each field; lists and objects are nested types.

    Times have microseconds; other formats have all digits that the feed has. Extensions are JSON text. Fields
    that pipelines add are strings: their values in other entries may be of other types.

    :raises NotConfigured: if pyarrow is not installed, or if the file is not empty
    """

    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise NotConfigured(NEEDS) from error
        if file.seekable() and file.tell():
            raise NotConfigured("A Parquet file cannot be appended to; use -o with another file")
        self._file = file
        self._writer: parquet.ParquetWriter | None = None
        self._rows: list[dict[str, Any]] = []
        self._characters = 0

    def export_item(self, item: Any) -> None:
        fields = self.get_serialized_fields(item, default_value=None, include_empty=True)
        row = {name: CONVERTERS.get(_kind(name), lambda same: same)(value) for name, value in fields}
        self._rows.append(row)
        self._characters += sum(map(_length, row.values()))
        if len(self._rows) >= ROWS_AT_ONCE or self._characters >= CHARACTERS_AT_ONCE:
            self._write()

    def finish_exporting(self) -> None:
        self._write()
        if self._writer is not None:
            self._writer.close()

    def _write(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        if self._writer is None:
            schema = _schema(list(self._rows[0]) if self._rows else list(self.fields_to_export or ()))
            # A file object of Python, since it may be a pipe, or a temporary file that is uploaded later.
            self._writer = parquet.ParquetWriter(self._file, schema, compression="zstd")
        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._writer.schema))
        self._rows.clear()
        self._characters = 0


def _json(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _length(value: Any) -> int:
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        return sum(OF_EACH + _length(each) for each in value)
    return len(value) if isinstance(value, str) else 0


def _schema(names: list[str]) -> pa.Schema:
    import pyarrow as pa

    text = pa.string()
    # A length has up to 19 digits, which can exceed a signed 64-bit integer.
    enclosure = pa.struct([("url", text), ("type", text), ("length", pa.uint64())])
    types = {
        "list": pa.list_(text),
        "enclosures": pa.list_(enclosure),
        "time": pa.timestamp("us", tz="UTC"),
        "integer": pa.int64(),
        "seconds": pa.int64(),
        "boolean": pa.bool_(),
        "files": pa.list_(pa.struct([("url", text), ("type", text), ("language", text)])),
    }
    return pa.schema([(name, types.get(_kind(name), text)) for name in names])


def _kind(name: str) -> str:
    if name in ARROW_KINDS or name in ALL_FIELDS:
        return ARROW_KINDS.get(name, "text")
    return COLUMNS[name].kind if name in COLUMNS else "text"


# A pipeline may have replaced a time by something else.
def _time(value: Any) -> datetime | None:
    if not isinstance(value, str):
        return value if isinstance(value, datetime) else None
    seconds, _, fraction = value.removesuffix("Z").partition(".")
    try:
        return datetime.fromisoformat(f"{seconds}.{fraction[:MICROSECONDS]:0<{MICROSECONDS}}+00:00")
    except ValueError:
        return None


# The functions that make a value of Arrow of a field's value, for kinds whose values are not the same.
CONVERTERS: dict[str, Callable[[Any], Any]] = {"time": _time, "text": _json, "url": _json}
