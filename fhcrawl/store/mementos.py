"""The captures of feeds in web archives and WARC files, and which of them were read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.logical_feed.coverage import WINDOW, CaptureRead, split_marks
from fhcrawl.logical_feed.results import State
from fhcrawl.reasons import ReasonKind
from fhcrawl.store.database import Repository
from fhcrawl.store.statements import execute, execute_all, insertion, overwritten, read_coverage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from fhcrawl.logical_feed.coverage import Coverage
    from fhcrawl.logical_feed.results import DocumentResult


class Capture(NamedTuple):
    """A response in a WARC file; the fields are those of its record.

    :param digest: WARC-Payload-Digest
    :param record: WARC-Record-ID
    :param date: WARC-Date
    :param file: absolute path; ends in `.open` while the file is being written
    :param file_id: WARC-Record-ID of its warcinfo record, which distinguishes files with the same name
    """

    url: str
    digest: str
    record: str
    date: str
    file: str
    file_id: str


WRITE_CAPTURE = f"""
{insertion("captures", Capture._fields)}
ON CONFLICT (KEY(url)) DO UPDATE SET {overwritten(Capture._fields[1:])}
"""
# The web archive that all WARC files are.
WARC_FILES = "file:"


class StoredCaptures(Repository):
    """The captures in WARC files: `store.captures`."""

    def find(self, url: str) -> Capture | None:
        return self._find("KEY(url) = KEY(:value)", url)

    def find_by_digest(self, digest: str) -> Capture | None:
        return self._find("digest = :value", digest)

    def _find(self, condition: str, value: str) -> Capture | None:
        query = f"SELECT {', '.join(Capture._fields)} FROM captures WHERE {condition} LIMIT 1"
        with self._database.snapshot() as connection:
            row = execute(connection, query, {"value": value}).first()
        return None if row is None else Capture(*row)

    def add(self, capture: Capture) -> None:
        with self._database.transaction() as connection:
            execute(connection, WRITE_CAPTURE, capture._asdict())


READ, UNREAD = State.PROCESSED.value, State.KNOWN.value
# The response was truncated; a second truncated response is final.
CUT_OFF, FINAL = State.FAILED.value, State.INVALID.value
# The last request failed: it is requested again after the others.
AGAIN = "again"
POSTPONE = f"UPDATE mementos SET state = '{AGAIN}' WHERE id = :id AND state = '{UNREAD}'"
# If the archive served another capture of the TimeMap instead, that one counts as read, too.
SETTLE = f"""
UPDATE mementos SET captured = :captured, marks = :marks, oldest = :oldest,
    state = CASE WHEN :state = '{CUT_OFF}' AND state = '{CUT_OFF}' THEN '{FINAL}' ELSE :state END
WHERE feed_id = :feed_id AND (id = :id OR (
    timemap_id = (SELECT served.timemap_id FROM mementos AS served
        WHERE served.id = :id AND served.time <> :captured)
    AND time = :captured AND state IN ('{UNREAD}', '{AGAIN}')))
"""
# In place of an earlier one with the same digest that was not read. A revisit does not replace another one.
ADD = f"""
{insertion("mementos", ("feed_id", "timemap_id", "state", "url", "time", "digest"))}
ON CONFLICT (timemap_id, digest) DO UPDATE SET time = excluded.time, url = excluded.url
WHERE mementos.state IN ('{UNREAD}', '{AGAIN}') AND mementos.time < excluded.time AND :is_revisit = 0
"""


TIMEMAP = ("feed_id", "archive", "url", "depth")


class TimeMap(NamedTuple):
    """The captures of a URL in a web archive (RFC 7089, 1.2)."""

    id: int
    url: str
    depth: int  # number of links from a subscription document to the URL
    read: str | None  # when it was last read to its end
    failed: str | None = None  # when its last request failed; None if that was successful


class Memento(NamedTuple):
    id: int
    url: str
    time: str  # by the archive's index
    digest: str  # of its body, by the index
    read: CaptureRead | None  # what it has shown; None if it was not read
    has_failed: bool = False  # when it was last requested


class Mementos(Repository):
    """The captures in web archives, and in WARC files: `store.mementos`.

    Methods that write raise LeaseError if another crawl has taken the feed over.
    """

    def find_timemaps(self, feed: str, archive: str) -> list[TimeMap]:
        """Return the TimeMaps of a feed in an archive; those of the subscription document come first."""
        of_archive = """SELECT id, url, depth, read, failed FROM timemaps
            WHERE feed_id = :feed_id AND archive = :archive ORDER BY depth, id"""
        return [TimeMap._make(row) for row in self._select(of_archive, feed, archive=archive)]

    def add_timemap(self, feed: str, archive: str, url: str, depth: int) -> TimeMap:
        with self._database.transaction() as connection:
            row = {"feed_id": self._leased_feed_id(connection, feed), "archive": archive}
            execute(connection, insertion("timemaps", TIMEMAP), {**row, "url": url, "depth": depth})
            # Nobody else adds one: the feed is locked.
            newest = "SELECT max(id) FROM timemaps WHERE feed_id = :feed_id"
            timemap_id: int = execute(connection, newest, row).scalar_one()
        return TimeMap(timemap_id, url, depth, None)

    def add(
        self, feed: str, timemap: TimeMap, captures: Iterable[tuple[str, str, str, bool]], read: str | None
    ) -> None:
        """Store the captures of an index; of those with the same digest, the latest that is no revisit.

        :param captures: URL, time and digest of each, and whether it is a revisit
        :param read: when the index was read, if this is its end
        """
        # In the dictionary, the last capture of each digest replaces the others.
        latest_last = sorted(captures, key=lambda capture: (not capture[3], capture[1]))
        by_digest = {
            digest: {"url": url, "time": time, "digest": digest, "is_revisit": int(is_revisit)}
            for url, time, digest, is_revisit in latest_last
        }
        with self._database.transaction() as connection:
            feed_id = self._leased_feed_id(connection, feed)
            common = {"feed_id": feed_id, "timemap_id": timemap.id, "state": UNREAD}
            execute_all(connection, ADD, [common | capture for capture in by_digest.values()])
            if read is not None:
                note = "UPDATE timemaps SET read = :read, retry_after = NULL, failed = NULL WHERE id = :id"
                execute(connection, note, {"id": timemap.id, "read": read})

    def note_failure(self, feed: str, timemap: TimeMap, time: str) -> None:
        """Store that a TimeMap could not be read: it is requested after others in the next run."""
        with self._database.transaction() as connection:
            self._leased_feed_id(connection, feed)
            values = {"id": timemap.id, "failed": time}
            execute(connection, "UPDATE timemaps SET failed = :failed WHERE id = :id", values)

    def find_captures(self, timemaps: list[TimeMap]) -> list[Memento]:
        """Return the captures of TimeMaps, the oldest first."""
        of_timemaps = "SELECT * FROM mementos WHERE timemap_id = ANY(:timemaps) ORDER BY time, id"
        captures = []
        with self._database.lookup() as connection:
            for row in execute(connection, of_timemaps, {"timemaps": [timemap.id for timemap in timemaps]}):
                read = None
                if row.state not in (UNREAD, CUT_OFF, AGAIN):
                    marks = None if row.marks is None else split_marks(row.marks)
                    read = CaptureRead(row.captured or row.time, marks, row.oldest)
                has_failed = row.state in (CUT_OFF, AGAIN)
                captures.append(Memento(row.id, row.url, row.time, row.digest, read, has_failed))
        return captures

    def find_coverage(self, feed: str) -> Coverage | None:
        """Return the coverage of a feed by its own reads."""
        with self._database.lookup() as connection:
            feed_id = self._database.find_id(connection, feed)
            return read_coverage(connection, [feed_id]).get(feed_id)

    def find_wait(self, archive: str) -> str | None:
        """Return the end of the pause that an archive requires; None without one."""
        query = "SELECT max(retry_after) FROM timemaps WHERE archive = :archive"
        with self._database.lookup() as connection:
            until: str | None = execute(connection, query, {"archive": archive}).scalar()
        return until

    def note_wait(self, feed: str, archive: str, until: str) -> None:
        note = "UPDATE timemaps SET retry_after = :until WHERE feed_id = :feed_id AND archive = :archive"
        with self._database.transaction() as connection:
            values = {"feed_id": self._leased_feed_id(connection, feed), "archive": archive, "until": until}
            execute(connection, note, values)


def write_capture(connection: Connection, feed_id: int, result: DocumentResult) -> None:
    """Store what a capture has shown, or that it cannot be read; do nothing for other documents."""
    fetch, failure, metadata = result.fetch, result.failure, result.metadata
    if fetch.capture_id is None:
        return
    # A capture that cannot be read is not requested again; one that was cut off is, once.
    if failure is not None and failure.kind is not ReasonKind.CUT_OFF:
        if failure.state is State.FAILED:
            execute(connection, POSTPONE, {"id": fetch.capture_id})
        if failure.state in (State.KNOWN, State.FAILED):
            return
    values = {
        "feed_id": feed_id,
        "id": fetch.capture_id,
        "state": READ if failure is None else failure.state.value,
        "captured": fetch.fetched,
        "marks": None if failure is not None or metadata.shown is None else "".join(metadata.shown[:WINDOW]),
        "oldest": metadata.oldest,
    }
    execute(connection, SETTLE, values)
