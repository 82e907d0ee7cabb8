"""Entries of a document that are in memory, or are read in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from fhcrawl.documents.model import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

# Takes the entries of a document while they are read, and returns them as a sequence.
EntrySink = Callable[[Iterable[Entry]], Sequence[Entry]]


class EntryBatches(Sequence[Entry]):
    """Entries of a large document: iteration keeps only one batch of them in memory.

    :param read: yields the entries in batches, on each call
    :param number: number of entries
    """

    def __init__(self, read: Callable[[], Iterator[list[Entry]]], number: int) -> None:
        self._read = read
        self._number = number
        self._changes: list[Callable[[Entry], None]] = []

    def __len__(self) -> int:
        """Return the number of entries."""
        return self._number

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries one by one."""
        return chain.from_iterable(self.batches())

    def __getitem__(self, index: Any) -> Any:
        """Return one entry, or a slice; reads all entries."""
        return list(self)[index]

    def batches(self) -> Iterator[list[Entry]]:
        """Yield batches of entries with all changes applied."""
        for batch in self._read():
            for change in self._changes:
                for entry in batch:
                    change(entry)
            yield batch

    def change(self, change: Callable[[Entry], None]) -> None:
        """Apply a function to each entry whenever it is read."""
        self._changes.append(change)


def change_entries(entries: Sequence[Entry], change: Callable[[Entry], None]) -> None:
    """Apply a function to each entry: at once, or whenever it is read."""
    if isinstance(entries, EntryBatches):
        entries.change(change)
        return
    for entry in entries:
        change(entry)


def batches_of(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Yield entries in batches; those in memory are one batch."""
    return entries.batches() if isinstance(entries, EntryBatches) else iter([entries])
