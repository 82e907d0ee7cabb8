"""Keeps entries of large documents in files."""

from __future__ import annotations

import pickle
import weakref
from functools import partial
from operator import attrgetter
from typing import IO, TYPE_CHECKING

from fhcrawl.documents import Entry
from fhcrawl.documents.entry_batches import EntryBatches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Octets; smaller documents are kept in memory.
LARGE = 16 * 1024**2
# A piece ends when it has so many entries, or so many characters of text (octets of originals).
ENTRIES_AT_ONCE = 1000
TEXT_AT_ONCE = 1024**2
BUFFER = 1 << 18  # octets
FIELDS_OF = attrgetter(*Entry.__dataclass_fields__)


def collect(entries: Iterable[Entry]) -> EntryBatches:
    """Write entries to an unnamed file as they are parsed.

    :raises OSError: if it cannot be written
    """
    file = _new_file()
    try:
        number = sum(_dump(piece, file) for piece in _cut(entries))
    except BaseException:
        file.close()
        raise
    return _owned(file, number)


def write(entries: Sequence[Entry], file: IO[bytes]) -> None:
    """Write entries to a file, at its position."""
    for piece in _cut(entries):
        _dump(piece, file)


def read(file: IO[bytes], number: int) -> Sequence[Entry]:
    """Return the entries that `write` wrote at the position of a file; many, as EntryBatches.

    :param number: how many entries
    """
    begin = file.tell()
    if file.seek(0, 2) - begin < LARGE:
        return [entry for piece in _read(file, begin, number) for entry in piece]
    file.seek(begin)
    own = _new_file()
    try:
        own.writelines(iter(partial(file.read, BUFFER), b""))
    except BaseException:
        own.close()
        raise
    return _owned(own, number)


def _new_file() -> IO[bytes]:
    """Return an unnamed file, which `_owned` closes."""
    # `tempfile` is imported here, since few documents are large: the parser process starts sooner without it.
    import tempfile

    return tempfile.TemporaryFile()


def _owned(file: IO[bytes], number: int) -> EntryBatches:
    """Return the entries at the beginning of a file, which is closed when they are garbage-collected."""
    entries = EntryBatches(lambda: _read(file, 0, number), number)
    weakref.finalize(entries, file.close)
    return entries


# Pickling columns takes a quarter of the time of pickling objects.
def _dump(entries: Sequence[Entry], file: IO[bytes]) -> int:
    columns = tuple(zip(*map(FIELDS_OF, entries), strict=True))
    pickle.dump(columns, file, pickle.HIGHEST_PROTOCOL)
    return len(entries)


def _read(file: IO[bytes], position: int, number: int) -> Iterator[list[Entry]]:
    while number > 0:
        # Another iterator may have moved the position.
        file.seek(position)
        columns = pickle.load(file)  # noqa: S301 - our own process wrote it
        position = file.tell()
        piece = list(map(Entry, *columns))
        number -= len(piece)
        yield piece


def _cut(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    piece: list[Entry] = []
    text = 0
    for entry in entries:
        piece.append(entry)
        text += len(entry.original or b"") + len(entry.content or "") + len(entry.summary or "")
        if len(piece) == ENTRIES_AT_ONCE or text >= TEXT_AT_ONCE:
            yield piece
            piece, text = [], 0
    if piece:
        yield piece
