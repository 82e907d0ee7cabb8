"""Entries of a document that are in memory, or come into it in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fhcrawl.documents.model import Entry


class InPieces(Sequence["Entry"]):
    """Entries of a large document. Only a piece of them is in memory at once: they are to be iterated over.

    :param read: gives them, in pieces, each time that it is called
    :param number: how many there are
    """

    def __init__(self, read: Callable[[], Iterator[list[Entry]]], number: int) -> None:
        self._read = read
        self._number = number
        self._changes: list[Callable[[Entry], None]] = []

    def __len__(self) -> int:
        """How many there are."""
        return self._number

    def __iter__(self) -> Iterator[Entry]:
        """One after the other."""
        return chain.from_iterable(self.pieces())

    def __getitem__(self, index: Any) -> Any:
        """One of them, or some; all are read for that."""
        return list(self)[index]

    def pieces(self) -> Iterator[list[Entry]]:
        """They as they are read, with all changes."""
        for piece in self._read():
            for change in self._changes:
                for entry in piece:
                    change(entry)
            yield piece

    def change(self, change: Callable[[Entry], None]) -> None:
        """Let something be done to each entry whenever it is read."""
        self._changes.append(change)


def change(entries: Sequence[Entry], change: Callable[[Entry], None]) -> None:
    """Do something to each entry: at once, or as soon as it is in memory."""
    if isinstance(entries, InPieces):
        entries.change(change)
        return
    for entry in entries:
        change(entry)


def pieces(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Entries in pieces; those that are in memory are one."""
    return entries.pieces() if isinstance(entries, InPieces) else iter([entries])
