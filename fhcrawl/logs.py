"""Text from feeds and servers, made fit for a log or a terminal."""

from __future__ import annotations

LONGEST = 300


def printable(text: str) -> str:
    """A text without control characters, so that it cannot forge log lines or drive a terminal."""
    shown = text if len(text) <= LONGEST else text[:LONGEST] + "…"
    if shown.isprintable():
        return shown
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in shown)
