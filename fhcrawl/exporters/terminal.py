"""Output that somebody sees right away."""

from __future__ import annotations

import io
from typing import IO, Any

from fhcrawl.utils.text import escaped


class Terminal(io.RawIOBase):
    """A terminal, to which control characters and the like are written as escapes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, octets: Any) -> int:
        """Write UTF-8."""
        text = bytes(octets).decode("utf-8", "backslashreplace").replace("\r\n", "\n")
        self._file.write("\n".join(map(escaped, text.split("\n"))).encode())
        return len(octets)


def shown(file: Any) -> Any:
    """A file for an exporter: as it is, unless somebody sees it right away."""
    return Terminal(file) if file.isatty() else file
