"""Checks of the files that `-o` of a crawl appends to: the result must be valid in the export's format."""

from __future__ import annotations

import csv
import os
import re
from typing import TYPE_CHECKING, Any

from fhcrawl.exceptions import ExportError
from fhcrawl.items import FIELDS

if TYPE_CHECKING:
    from pathlib import Path

WITH_END = frozenset({"json", "xml", "parquet"})
OF_LINES = frozenset({"jsonl", "jsonlines", "jl", "csv"})
LONGEST_HEADER = 10_000  # characters
# Scrapy's placeholders that give each batch its own file.
BATCH = re.compile(r"%\(batch_(id|time)\)")


def check(path: Path, options: dict[str, Any]) -> None:
    """Check that an export can be appended to a file.

    :param options: the feed options of the export, as Scrapy completes those of FEEDS
    :raises ExportError: if the file with the appended export would not be valid in its format
    :raises OSError: if the file cannot be read
    """
    if not path.is_file() or not path.stat().st_size:
        return
    shown = str(path)
    if options["format"] in WITH_END:
        raise ExportError(
            f"nothing can be appended to {shown}, because {options['format']} has an end: write -O in place "
            f"of -o to replace it, or jsonl"
        )
    if options["format"] == "csv" and _is_plain(options) and _header(path, options) != _columns(options):
        raise ExportError(
            f"nothing can be appended to {shown}, because it has other columns: write -O in place of -o to "
            f"replace it, or another file"
        )


def line_end(path: Path, options: dict[str, Any]) -> bytes:
    """Return the line end to write before an appended export if the file's last line has none; else b"".

    :raises OSError: if the file cannot be read
    """
    end = "\n".encode(_encoding(options))
    if options["format"] not in OF_LINES or "postprocessing" in options or end != b"\n" or not path.is_file():
        return b""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
        return b"" if file.read(1) in (b"", end) else end


def has_batches(template: str) -> bool:
    """Return whether each delivery to a destination is a separate file.

    :param template: the URI of the destination, with Scrapy's placeholders
    """
    return BATCH.search(template) is not None


def has_no_end(options: dict[str, Any]) -> bool:
    """Return whether more entries can be appended to an export."""
    return options["format"] in OF_LINES and "postprocessing" not in options


def continued(options: dict[str, Any], is_file: bool) -> dict[str, Any]:
    """Return the options with which an export of lines is continued.

    :param is_file: the earlier part is in a regular file; else it was written to a stream
    """
    if is_file:
        return {**options, "overwrite": False}
    if options["format"] != "csv":
        return options
    # The header has been written with the earlier part; a stream cannot be read to check for it.
    return {**options, "item_export_kwargs": {**options["item_export_kwargs"], "include_headers_line": False}}


def _is_plain(options: dict[str, Any]) -> bool:
    return "postprocessing" not in options and not options.get("item_export_kwargs")


def _encoding(options: dict[str, Any]) -> str:
    return options.get("encoding") or "utf-8"


def _columns(options: dict[str, Any]) -> list[str]:
    fields = options.get("fields") or FIELDS
    return list(fields.values() if isinstance(fields, dict) else fields)


def _header(path: Path, options: dict[str, Any]) -> list[str]:
    encoding = _encoding(options)
    # Spreadsheets save UTF-8 with a byte order mark.
    encoding = "utf-8-sig" if encoding.lower() == "utf-8" else encoding
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        try:
            return next(csv.reader([file.readline(LONGEST_HEADER)]), [])
        except csv.Error:
            return []
