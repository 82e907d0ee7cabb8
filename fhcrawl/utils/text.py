"""Escapes text from feeds and servers for logs and terminals."""

from __future__ import annotations

import logging
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 300
LONGEST_SENTENCE = 2_000
LONGEST_LINE = 10_000


def printable(text: str, longest: int = LONGEST) -> str:
    """Return text without control characters, so that it cannot forge log lines or control a terminal."""
    if len(text) > longest:
        text = f"{text[: longest // 2]}…{text[-longest // 2 :]}"
    return escaped(text)


def numbered(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


def how_to_install(extra: str, packages: str) -> str:
    """Return how to install an extra of fhcrawl; `packages` are the names of its packages, for pipx."""
    return f"run pip install 'fhcrawl[{extra}]', or with pipx: pipx inject fhcrawl {packages}"


def escaped(text: str) -> str:
    """Return text with unprintable characters escaped as in Python: `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def nearest(word: str, words: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the most similar of some words; '' if none has a ratio of `cutoff`."""
    return next(iter(get_close_matches(word, list(words), 1, cutoff)), "")


# Unicode's control characters, line and paragraph separators, and characters that change the text direction.
UNFIT = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def json_escaped(line: str) -> str:
    """Return equivalent JSON without characters that control a terminal; JSON escapes those below U+0020."""
    return UNFIT.sub(lambda match: f"\\u{ord(match[0]):04x}", line)


class PrintableFormatter(logging.Formatter):
    """A formatter whose records cannot control a terminal or contain a line that looks like a record."""

    def __init__(self, formatter: logging.Formatter | None) -> None:
        super().__init__()
        self._formatter = formatter or logging.Formatter()

    def format(self, record: logging.LogRecord) -> str:
        lines = self._formatter.format(record).split("\n")
        return "\n  ".join(printable(line, LONGEST_LINE) for line in lines)
