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
        """Write UTF-8."""
        text = bytes(octets).decode("utf-8", "backslashreplace").replace("\r\n", "\n")
        self._file.write("\n".join(map(escaped, text.split("\n"))).encode())
        return len(octets)


def shown(file: Any) -> Any:
    """Return the file for an exporter: a `Terminal` if it is one, else the file itself."""
    return Terminal(file) if file.isatty() else file
