"""Escapes exports that are written to a terminal."""

from __future__ import annotations

import io
from typing import IO, Any

from fhcrawl.utils.text import escaped


class Terminal(io.RawIOBase):
    """A terminal to which control and other unprintable characters are written as escapes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, octets: Any) -> int:
        """Write UTF-8, with unprintable characters escaped."""
        text = bytes(octets).decode("utf-8", "backslashreplace").replace("\r\n", "\n")
        self._file.write("\n".join(map(escaped, text.split("\n"))).encode())
        return len(octets)


def shown(file: Any) -> Any:
    """Return a file for an exporter, wrapped in `Terminal` if it is a terminal."""
    return Terminal(file) if file.isatty() else file
