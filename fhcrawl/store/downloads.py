"""The files of enclosures that were downloaded."""

from __future__ import annotations

from typing import NamedTuple

from fhcrawl.store.database import Repository
from fhcrawl.store.statements import execute, insertion, overwritten


class Download(NamedTuple):
    """The file of an enclosure, or an attempt to download it.

    :param key: digest of the entry's id and of the enclosure's first URL
    :param id: of the entry
    :param name: of the file; None until it was complete once
    :param size: octets; before the file is complete, as announced by the server
    :param digest: SHA-256 of the complete file
    :param time: when it was complete
    """

    key: str
    id: str
    url: str
    name: str | None = None
    size: int | None = None
    digest: str | None = None
    time: str | None = None
    etag: str | None = None
    last_modified: str | None = None


COLUMNS = ", ".join(Download._fields)
WRITE = f"""
{insertion("downloads", ("feed_id", *Download._fields))}
ON CONFLICT (feed_id, key) DO UPDATE SET {overwritten(Download._fields[2:])}
"""


class Downloads(Repository):
    """The downloaded files: `store.downloads`."""

    def read(self, feed: str) -> list[Download]:
        rows = self._select(f"SELECT {COLUMNS} FROM downloads WHERE feed_id = :feed_id", feed)
        return [Download._make(row) for row in rows]

    def write(self, feed: str, download: Download) -> None:
        with self._database.transaction() as connection:
            feed_id = self._database.find_id(connection, feed)
            execute(connection, WRITE, {"feed_id": feed_id, **download._asdict()})
