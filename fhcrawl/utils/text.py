"""Text from feeds and servers, made fit for a log or a terminal."""

from __future__ import annotations

import logging
import re

LONGEST = 300


def printable(text: str) -> str:
    """A text without control characters, so that it cannot forge log lines or drive a terminal."""
    return escaped(text if len(text) <= LONGEST else text[:LONGEST] + "…")


def escaped(text: str) -> str:
    """A text with every character that is not printable as Python would write it: `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


# Unicode's controls, line and paragraph separators, and what turns the direction of text.
UNFIT = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def json_escaped(line: str) -> str:
    """JSON that means the same, without what drives a terminal; JSON itself escapes what is below a space."""
    return UNFIT.sub(lambda match: f"\\u{ord(match[0]):04x}", line)


class PrintableFormatter(logging.Formatter):
    """A formatter after which no record drives a terminal or begins a line as if it were another record.

    Scrapy, Twisted and the user's own pipelines put into their records and tracebacks what they want.
    """

    def __init__(self, formatter: logging.Formatter | None) -> None:
        super().__init__()
        self._formatter = formatter or logging.Formatter()

    def format(self, record: logging.LogRecord) -> str:
        """Format a record; its second line and those behind it are indented."""
        return "\n  ".join(escaped(line) for line in self._formatter.format(record).split("\n"))
