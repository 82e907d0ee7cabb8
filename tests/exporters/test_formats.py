"""Formats that are written as they come: exact, and never silently cut; and CSV as a spreadsheet reads it."""

import io
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from fhcrawl.exporters import rows, storages
from fhcrawl.exporters.documents import xml_file
from fhcrawl.exporters.rows import PROFILES, CsvItemExporter, ParquetItemExporter, Rows, XmlItemExporter
from tests.servers import leave_out

TEXTS = ["a\rb", "a\r\nb\r", "\r", " <&>\"' ]]> ", "\u2028\x85\t\n", "\U0001f600"]


def test_xml_has_every_text_as_it_is() -> None:
    file = io.BytesIO()
    exporter = XmlItemExporter(file)
    exporter.start_exporting()
    for text in TEXTS:
        exporter.export_item({"text": text, "list": [text]})
    exporter.export_item({"text": "a\0b\ufffe\ud800", "list": []})
    exporter.finish_exporting()
    root = etree.fromstring(file.getvalue())
    assert [item.findtext("text") for item in root] == [*TEXTS, "a\ufffdb\ufffd\ufffd"]
    assert [item.findtext("list/value") for item in root] == [*TEXTS, None]


class Failing(io.BytesIO):
    """Fails once, from a number of octets on, and could be written to after that."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self._left = left

    def write(self, octets: Any) -> int:
        self._left -= len(octets)
        if self._left < 0:
            self._left = 1 << 30
            raise OSError(28, "full")
        return super().write(octets)


# lxml buffers some of it until the end of the document, and does not report an error then.
@pytest.mark.parametrize(("left", "pieces"), [(0, 0), (0, 1), (0, 4), (5000, 4), (12_000, 4)])
def test_error_in_any_piece_of_an_xml_document_is_one(left: int, pieces: int) -> None:
    def write() -> None:
        with xml_file(Failing(left)) as output, output.element("a"):
            for _ in range(pieces):
                output.write(etree.fromstring(f"<b>{'x' * 3000}</b>"))

    with pytest.raises(OSError, match="full"):
        write()


def test_lists_count_for_what_parquet_has_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "CHARACTERS_AT_ONCE", 1000)
    file = io.BytesIO()
    exporter = ParquetItemExporter(file)
    row = {"categories": ["c"] * 5, "enclosures": [{"url": "u" * 400, "type": None, "length": 1}]}
    written = []
    for _ in range(2):
        exporter.export_item(row)
        written.append(file.tell())
    assert written[0] == 0 < written[1]
    exporter.finish_exporting()


def test_file_that_does_not_fit_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in the buffer fails once more when the file is closed."""
    fdopen = os.fdopen

    def full(number: int, *args: Any) -> Any:
        fdopen(number, *args).close()
        return Path("/dev/full").open("wb")

    monkeypatch.setattr(os, "fdopen", full)
    path = tmp_path / "out.jsonl"
    path.write_text("before")
    with pytest.raises(OSError, match="No space"), storages.replacing(path) as file:
        file.write(b"x")
    assert [(left.name, left.read_text()) for left in tmp_path.iterdir()] == [("out.jsonl", "before")]


def test_link_to_itself_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.symlink_to(path)
    with pytest.raises(OSError, match="symbolic links"):
        storages.FileFeedStorage(str(path), feed_options={}).open()


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
    table = []
    for row in etree.parse(path).iter(f"{TABLE}table-row"):
        found: list[tuple[str | None, str, str | None]] = []
        for cell in row.iter(f"{TABLE}table-cell"):
            paragraphs = ["".join(map(str, child.itertext())) for child in cell]
            kind, formula = cell.get(f"{OFFICE}value-type"), cell.get(f"{TABLE}formula")
            repeated = int(cell.get(f"{TABLE}number-columns-repeated", "1"))
            found += [(kind, "\n".join(paragraphs), formula)] * min(repeated, len(COLUMNS))
        table.append(found)
    names = [text for _kind, text, _formula in table[0]]
    return [dict(zip(names, row, strict=False)) for row in table[1:]]


@pytest.mark.slow("it starts LibreOffice")
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
