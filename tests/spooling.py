"""Documents that come in pieces, without being large."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from fhcrawl.crawling import spool

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def in_pieces(entries: int | None) -> Iterator[None]:
    """Let all documents that this process reads come in pieces of so many entries; None: as ever."""
    with pytest.MonkeyPatch.context() as changed:
        if entries is not None:
            changed.setattr(spool, "LARGE", 0)
            changed.setattr(spool, "ENTRIES_AT_ONCE", entries)
        yield
