"""Exports as DuckDB, pandas and polars read them."""

import io
import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from fhcrawl.exporters.rows import (
    PROFILES,
    CsvItemExporter,
    JsonItemExporter,
    JsonLinesItemExporter,
    ParquetItemExporter,
    Rows,
    XmlItemExporter,
)
from fhcrawl.items import FIELDS
from tests.servers import library

pytestmark = pytest.mark.slow("needs DuckDB, pandas and polars")

EXPORTERS: dict[str, Any] = {
    "jsonl": JsonLinesItemExporter,
    "json": JsonItemExporter,
    "csv": CsvItemExporter,
    "parquet": ParquetItemExporter,
    "xml": XmlItemExporter,
}
COLUMNS = [*FIELDS, "extensions", *PROFILES["podcast"]]
# More than polars looks at to find out what the columns hold.
NULLS = 150
TITLE = 'Grüße, "=1"\r\n\U0001f600'
LAST = {
    "title": TITLE,
    "published": "2003-12-13T18:30:02.123456789Z",
    "updated": "2003-12-14T18:30:02Z",
    "authors": ["A", "B, C"],
    "enclosures": [{"url": "http://example.org/1.mp3", "type": "audio/mpeg", "length": 10**19 - 1}],
    "original": '<item xmlns:i="http://www.itunes.com/dtds/podcast-1.0.dtd"><i:explicit>no</i:explicit>'
    "<i:duration>1:00:00</i:duration><x:a xmlns:x='urn:x'>1</x:a></item>",
}
TIME = datetime(2003, 12, 13, 18, 30, 2, 123456, tzinfo=timezone.utc)
DAY_LATER = 24 * 60 * 60


def entries() -> list[dict[str, Any]]:
    nothing: dict[str, Any] = {
        **dict.fromkeys(FIELDS),
        **{name: [] for name in ("authors", "categories", "enclosures")},
        "feed": "http://example.org/",
        "document": "http://example.org/",
        "original": "<item/>",
    }
    return [*({**nothing, "id": str(number)} for number in range(NULLS)), {**nothing, "id": "last", **LAST}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of each format, with the same entries, of which the first have nothing but nulls."""
    folder = tmp_path_factory.mktemp("exports")
    for name, exporter_class in EXPORTERS.items():
        file = io.BytesIO()
        exporter = exporter_class(file, fields_to_export=COLUMNS, encoding="utf-8")
        exporter.start_exporting()
        for entry in Rows(COLUMNS, ["podcast"]).complete(entries()):
            exporter.export_item(entry)
        exporter.finish_exporting()
        (folder / f"out.{name}").write_bytes(file.getvalue())
    return folder


def with_duckdb(path: Path) -> list[dict[str, Any]]:
    cursor = library("duckdb").execute(f"SELECT * FROM '{path}'")
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


# As in docs/howto/columns.md: by default, polars infers types from the first 100 lines.
ALL: dict[str, Any] = {"infer_schema_length": None}
READERS: dict[str, Callable[[Path], Any]] = {
    **{f"duckdb {name}": with_duckdb for name in ("jsonl", "json", "csv", "parquet")},
    "pandas jsonl": lambda path: library("pandas").read_json(path, lines=True).to_dict("records"),
    "pandas json": lambda path: library("pandas").read_json(path).to_dict("records"),
    "pandas csv": lambda path: library("pandas").read_csv(path).to_dict("records"),
    "pandas parquet": lambda path: library("pandas").read_parquet(path).to_dict("records"),
    "pandas xml": lambda path: library("pandas").read_xml(path, parser="lxml").to_dict("records"),
    "polars jsonl": lambda path: library("polars").read_ndjson(path, **ALL).to_dicts(),
    "polars json": lambda path: library("polars").read_json(path, **ALL).to_dicts(),
    "polars csv": lambda path: library("polars").read_csv(path, **ALL).to_dicts(),
    "polars parquet": lambda path: library("polars").read_parquet(path).to_dicts(),
}


@pytest.mark.parametrize("reader", READERS)
def test_export_is_read_with_all_columns_and_rows(folder: Path, reader: str) -> None:
    name = reader.split()[1]
    rows = READERS[reader](folder / f"out.{name}")
    assert list(rows[0]) == COLUMNS
    assert len(rows) == NULLS + 1
    last = rows[-1]
    # XML 1.0, 2.11 and RFC 4180 leave the end of a line to the reader.
    assert last["title"].replace("\r\n", "\n") == TITLE.replace("\r\n", "\n")
    assert last["duration"] == DAY_LATER / 24
    # pandas has no Booleans with nulls.
    assert last["explicit"] in (False, "False", "false", 0.0)
    extensions = last["extensions"]
    if isinstance(extensions, str):
        extensions = json.loads(extensions)
    assert extensions["urn:x"]["a"][0]["value"] in ("1", 1)
    if name in ("jsonl", "parquet"):
        assert list(last["authors"]) == LAST["authors"]
        [file] = last["enclosures"]
        assert (file["url"], int(file["length"])) == ("http://example.org/1.mp3", 10**19 - 1)


def test_times_of_parquet_are_computed_with(folder: Path) -> None:
    path = folder / "out.parquet"
    sql = f"SELECT year(published), epoch(updated - published) FROM '{path}' WHERE id = 'last'"
    assert library("duckdb").execute(sql).fetchall() == [(2003, pytest.approx(DAY_LATER - 0.123456))]
    frame = library("pandas").read_parquet(path)
    assert frame["published"].iloc[-1] == TIME
    assert frame["published"].dt.year.iloc[-1] == TIME.year
    assert (frame["updated"] - frame["published"]).iloc[-1].total_seconds() == DAY_LATER - 0.123456
    pl = library("polars")
    table = pl.read_parquet(path)
    assert table.schema["published"] == pl.Datetime("us", "UTC")
    assert table["published"][-1] == TIME
    assert table.select(pl.col("published").dt.year())["published"][-1] == TIME.year
    assert table["published"].null_count() == NULLS


def test_time_that_a_pipeline_has_replaced_is_null_in_parquet() -> None:
    file = io.BytesIO()
    exporter = ParquetItemExporter(file, fields_to_export=["published", "updated"])
    exporter.export_item({"published": "long ago", "updated": TIME})
    exporter.export_item({"published": "0001-01-01T00:00:00Z", "updated": 1})
    exporter.finish_exporting()
    file.seek(0)
    found = library("polars").read_parquet(file).rows()
    assert found == [(None, TIME), (datetime(1, 1, 1, tzinfo=timezone.utc), None)]
