"""Entries as Parquet: a column for each field of EntryItem, lists and enclosures as nested types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import exporters
from scrapy.exceptions import NotConfigured

if TYPE_CHECKING:
    from io import BytesIO

    import pyarrow as pa
    from pyarrow import parquet

LISTS = ("authors", "categories")
# What is in memory at once, at most: a row group of so many entries, or of so many characters and one entry.
ROWS_AT_ONCE = 10_000
CHARACTERS_AT_ONCE = 16_000_000
OF_EACH = 50  # characters; what Python takes for a string besides them


class ParquetItemExporter(exporters.BaseItemExporter):
    """Parquet, in row groups; times are strings, because feeds have more digits than timestamps.

    :raises NotConfigured: if there is no pyarrow, or if the file has something in it already
    """

    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise NotConfigured("Parquet needs pyarrow: pip install 'fhcrawl[parquet]'") from error
        if file.seekable() and file.tell():
            raise NotConfigured("Nothing can be appended to a Parquet file: write -O in place of -o")
        self._file = file
        self._writer: parquet.ParquetWriter | None = None
        self._rows: list[dict[str, Any]] = []
        self._characters = 0

    def export_item(self, item: Any) -> None:
        """Add an item to the row group."""
        fields = self.get_serialized_fields(item, default_value=None, include_empty=True)
        row = dict(fields)
        self._rows.append(row)
        self._characters += sum(map(_length, row.values()))
        if len(self._rows) >= ROWS_AT_ONCE or self._characters >= CHARACTERS_AT_ONCE:
            self._write()

    def finish_exporting(self) -> None:
        """Write what is left, and the end of the file."""
        self._write()
        if self._writer is not None:
            self._writer.close()

    def _write(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        if self._writer is None:
            schema = _schema(list(self._rows[0]) if self._rows else list(self.fields_to_export or ()))
            # Python's own file may be a pipe, or one that is put elsewhere when it is whole.
            self._writer = parquet.ParquetWriter(self._file, schema, compression="zstd")
        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._writer.schema))
        self._rows.clear()
        self._characters = 0


def _length(value: Any) -> int:
    """About how much memory a value takes, in characters; a list of many short strings takes much."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        return sum(OF_EACH + _length(each) for each in value)
    return len(value) if isinstance(value, str) else 0


def _schema(names: list[str]) -> pa.Schema:
    import pyarrow as pa

    texts = pa.list_(pa.string())
    # A length has up to 19 digits, which may be more than a signed number of 64 bits holds.
    enclosure = pa.struct([("url", pa.string()), ("type", pa.string()), ("length", pa.uint64())])
    types = {**dict.fromkeys(LISTS, texts), "enclosures": pa.list_(enclosure)}
    return pa.schema([(name, types.get(name, pa.string())) for name in names])
