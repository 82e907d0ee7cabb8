"""CSV for Excel, and as a spreadsheet reads it."""

import io
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from fhcrawl.exporters import CsvItemExporter
from fhcrawl.exporters.columns import PROFILES, Rows
from tests.servers import leave_out

MARK = b"\xef\xbb\xbf"
COLUMNS = ["title", "published", "summary", "authors", *PROFILES["podcast"]]
ENTRY: dict[str, Any] = {
    "title": "=1+1",
    "published": "2003-12-13T18:30:02.25Z",
    "summary": 'Grüße,\nein "Wort" \U0001f600',
    "authors": ["=1", "B"],
    "document": "http://example.org/",
    "enclosures": [{"url": "http://example.org/ö.mp3", "type": "audio/mpeg", "length": 123}],
    "original": '<item xmlns:i="http://www.itunes.com/dtds/podcast-1.0.dtd"><i:duration>1:00</i:duration>'
    "<i:season>2</i:season><i:explicit>no</i:explicit></item>",
}
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
# Comma, quote, UTF-8: what Excel finds out by the byte order mark, a conversion has to be told.
FILTER = "CSV:44,34,76"


def write(file: io.BytesIO, **options: Any) -> bytes:
    exporter = CsvItemExporter(file, fields_to_export=COLUMNS, **options)
    exporter.start_exporting()
    for entry in Rows(COLUMNS, ["podcast"]).complete([ENTRY]):
        exporter.export_item(entry)
    exporter.finish_exporting()
    return file.getvalue()


def test_csv_for_excel_has_one_mark_escaped_formulas_and_times() -> None:
    assert write(io.BytesIO()).startswith(b"title,")
    file = io.BytesIO()
    text = write(file, excel=True)
    assert text.startswith(MARK + b"title,")
    assert b"\r\n'=1+1,2003-12-13 18:30:02," in text
    assert write(file, excel=True).count(MARK) == 1
    assert write(io.BytesIO(), excel=True, include_headers_line=False).count(MARK) == 0


def cells(path: Path) -> list[dict[str, tuple[str | None, str, str | None]]]:
    """The cells of each row by the first row's texts: type, text and formula."""
    rows = []
    for row in etree.parse(path).iter(f"{TABLE}table-row"):
        found: list[tuple[str | None, str, str | None]] = []
        for cell in row.iter(f"{TABLE}table-cell"):
            paragraphs = ["".join(map(str, child.itertext())) for child in cell]
            kind, formula = cell.get(f"{OFFICE}value-type"), cell.get(f"{TABLE}formula")
            repeated = int(cell.get(f"{TABLE}number-columns-repeated", "1"))
            found += [(kind, "\n".join(paragraphs), formula)] * min(repeated, len(COLUMNS))
        rows.append(found)
    names = [text for _kind, text, _formula in rows[0]]
    return [dict(zip(names, row, strict=False)) for row in rows[1:]]


@pytest.mark.full_lane("it starts LibreOffice")
def test_spreadsheet_reads_numbers_times_and_texts(tmp_path: Path) -> None:
    if (office := shutil.which("soffice")) is None:
        leave_out("there is no LibreOffice here (Debian's libreoffice-calc-nogui)")
    (tmp_path / "out.csv").write_bytes(write(io.BytesIO(), excel=True))
    command = [office, "--headless", f"-env:UserInstallation={(tmp_path / 'user').as_uri()}"]
    command += [f"--infilter={FILTER}", "--convert-to", "fods", "--outdir", str(tmp_path)]
    subprocess.run([*command, str(tmp_path / "out.csv")], check=True, capture_output=True)
    [row] = cells(tmp_path / "out.fods")
    assert row["title"] == ("string", "'=1+1", None)
    kind, shown, _ = row["published"]
    assert (kind, shown[-8:]) == ("date", "18:30:02")
    assert row["summary"] == ("string", ENTRY["summary"], None)
    assert row["authors"] == ("string", '["=1", "B"]', None)
    assert row["audio_url"] == ("string", "http://example.org/ö.mp3", None)
    numbers = [row[name][:2] for name in ("audio_length", "duration", "season")]
    assert numbers == [("float", "123"), ("float", "60"), ("float", "2")]
    assert row["explicit"] == ("boolean", "FALSE", None)
    assert row["episode"][1] == ""
