"""Exports entries as Parquet: a column for each field; times are timestamps, lists and objects nested types.

Extensions are JSON text. Fields that pipelines add are strings: their values in other entries may be of other
types.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from scrapy import exporters
from scrapy.exceptions import NotConfigured

from fhcrawl.exporters.columns import COLUMNS
from fhcrawl.exporters.rows import TIMES
from fhcrawl.items import ALL_FIELDS, FORMER_IDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BytesIO

    import pyarrow as pa
    from pyarrow import parquet

KINDS = {
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
    """Parquet, in row groups. Times have microseconds; other formats have all digits that the feed has.

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
        """Add an item to the row group."""
        fields = self.get_serialized_fields(item, default_value=None, include_empty=True)
        row = {name: CONVERTERS.get(_kind(name), lambda same: same)(value) for name, value in fields}
        self._rows.append(row)
        self._characters += sum(map(_length, row.values()))
        if len(self._rows) >= ROWS_AT_ONCE or self._characters >= CHARACTERS_AT_ONCE:
            self._write()

    def finish_exporting(self) -> None:
        """Write the last row group and the file's footer."""
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


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _length(value: Any) -> int:
    """Estimate the memory of a value, in characters, with the overhead of each string in a list."""
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
    if name in KINDS or name in ALL_FIELDS:
        return KINDS.get(name, "text")
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
CONVERTERS: dict[str, Callable[[Any], Any]] = {"time": _time, "text": _text, "url": _text}
