"""fhcrawl's commands, in addition to Scrapy's."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from fhcrawl.exceptions import ArgumentError, ExportError
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from fhcrawl.store import Store

SWITCH: dict[str, Any] = {"action": "store_true", "default": None}
# The options that choose the columns of an export.
OF_COLUMNS: dict[str, dict[str, Any]] = {
    "--fields": {
        "dest": "FHCRAWL_FIELDS",
        "metavar": "NAMES",
        "help": "columns to export, separated by commas; +NAME adds one to the default columns",
    },
    "--profile": {
        "dest": "FHCRAWL_PROFILES",
        "metavar": "NAME",
        "action": "append",
        "help": "add the columns of a profile: podcast or news",
    },
    "--extensions": {
        **SWITCH,
        "dest": "FHCRAWL_EXTENSIONS_ENABLED",
        "help": "add the column `extensions`: everything that has no other column",
    },
    "--excel": {
        **SWITCH,
        "dest": "FHCRAWL_CSV_EXCEL_ENABLED",
        "help": "write CSV for Excel: byte order mark, escaped formulas, times that Excel reads",
    },
}

CSV = "csv"
SPREADSHEETS = {"xlsx", "xls", "ods"}
NOT_CSV = "--excel requires CSV; use -o FILE.csv"

FAIL_ON: dict[str, dict[str, Any]] = {
    "--fail-on": {
        "metavar": "VERDICT",
        "choices": ("incomplete", "lossy", "unknown", "failed"),
        "help": "exit with code 1 if a feed has this verdict or a worse one: incomplete (or never read), "
        "lossy, unknown (anything but complete); failed: if its last read failed, whatever its verdict",
    }
}


def is_failure(verdict: str, limit: str | None) -> bool:
    from fhcrawl.logical_feed import FAILED, WORDS

    if FAILED in (verdict, limit):
        return verdict == limit
    return limit is not None and WORDS.index(verdict) <= WORDS.index(limit)


def no_format(output: str, name: str, formats: Iterable[str]) -> str:
    """Return the message for a value of -o whose format is missing ('') or unknown."""
    if output == "-":
        return "-o -: no format; use -o -:jsonl"
    if name in SPREADSHEETS:
        return f"-o {printable(output)}: spreadsheet programs open CSV; use -o FILE.csv --excel"
    fault, endings = f"unknown format {name!r}" if name else "no format", ", ".join(formats)
    return f"-o {printable(output)}: {fault}; use -o FILE:FORMAT, or a file that ends in one of {endings}"


def end_with_reader() -> None:
    """End the process silently, from now on, when the reader of its output closes the pipe.

    Not for crawls and uploads, which a closed network connection would end too. (libpq ignores SIGPIPE.)
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def typed(argument: str) -> str:
    """Return an argument as text for the store: octets that are not UTF-8 become escapes."""
    return argument.encode("utf-8", "backslashreplace").decode()


def named(store: Store, argument: str) -> str:
    """Return the URL of a feed in the store; the argument if it is not in the store."""
    url = typed(argument)
    return store.feeds.find(url) or url


def stored(store: Store, argument: str) -> str:
    """Return the URL by which the store knows a feed.

    :raises ArgumentError: if it does not
    """
    url = store.feeds.find(typed(argument))
    if url is None:
        raise ArgumentError(f"{typed(argument)} is not in the store; `fhcrawl feeds` lists the feeds in it")
    return url


def parse_time(option: str, value: str | None) -> str:
    """Return the date in an option as a time, '' without one.

    :raises ArgumentError: if it is not a date
    """
    from fhcrawl.documents.dates import utc

    if value is None:
        return ""
    time = utc(value)
    if time is None:
        raise ArgumentError(f"{option} {value} is not a date; use 2003, 2003-12-13 or 2003-12-13T18:30:02Z")
    return time


def print_refused(refused: Collection[str]) -> int:
    for sentence in refused:
        print(sentence, file=sys.stderr)
    return 1 if refused else 0


def print_lines(lines: Iterable[str], as_json: bool = False) -> None:
    """Print lines; characters that the encoding lacks are printed as `\\u2603`.

    :raises ExportError: if they cannot be written
    """
    end_with_reader()
    stdout = sys.stdout
    if stdout is None:
        raise ArgumentError("stdout is closed")
    with contextlib.suppress(AttributeError):  # stdout has been replaced, for example by a test
        # RFC 8259, 8.1: JSON is in UTF-8.
        encoding = "utf-8" if as_json else None
        stdout.reconfigure(encoding=encoding, errors="backslashreplace")  # type: ignore[union-attr]
    try:
        for line in lines:
            print(line)
        stdout.flush()
    except OSError as error:
        # Flushing the rest of the buffer would fail again when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
        raise ExportError(f"Cannot write to stdout ({error.strerror})") from error
