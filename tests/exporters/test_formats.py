"""Formats that are written as they come: exact, and never silently cut."""

import io
import os
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from fhcrawl.exporters import ParquetItemExporter, XmlItemExporter, rows, storages
from fhcrawl.exporters.documents import xml_file

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


def write_some(file: io.BytesIO, pieces: int) -> None:
    with xml_file(file) as output, output.element("a"):
        for _ in range(pieces):
            output.write(etree.fromstring(f"<b>{'x' * 3000}</b>"))


# lxml keeps some of it until the end of the document, and says nothing of an error then.
@pytest.mark.parametrize(("left", "pieces"), [(0, 0), (0, 1), (0, 4), (5000, 4), (12_000, 4)])
def test_error_in_any_piece_of_an_xml_document_is_one(left: int, pieces: int) -> None:
    with pytest.raises(OSError, match="full"):
        write_some(Failing(left), pieces)


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
