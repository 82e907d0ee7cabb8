"""Captures: responses in WARC files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import literal, select

from fhcrawl.store.rows import Capture
from fhcrawl.store.schema import Keyed, captures
from fhcrawl.store.session import Repository

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement


class Captures(Repository):
    """The captures in WARC files: `store.captures`."""

    def find(self, url: str) -> Capture | None:
        """Return the last capture of a URL; None if there is none."""
        return self._find(Keyed(captures.c.url) == Keyed(literal(url)))

    def find_body(self, digest: str) -> Capture | None:
        """Return a capture whose body has a digest; None if there is none."""
        return self._find(captures.c.digest == digest)

    def _find(self, where: ColumnElement[bool]) -> Capture | None:
        with self._database.snapshot() as connection:
            row = connection.execute(select(captures).where(where).limit(1)).first()
        return None if row is None else Capture(*row)

    def add(self, capture: Capture) -> None:
        """Store the last capture of a URL."""
        with self._database.transaction() as connection:
            connection.execute(self._session.upserts.capture, capture._asdict())
