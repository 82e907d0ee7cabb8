"""The state of the store that the commit of a document depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.results import DocumentFailure, State, has_changes
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import coverage, lists, rows, statements

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from fhcrawl.logical_feed import Winner
    from fhcrawl.logical_feed.coverage import Coverage
    from fhcrawl.logical_feed.results import CommitBatch, DocumentResult

ENDS_EARLIER = DocumentFailure(State.KNOWN, ReasonKind.KNOWN, "leads to no page any more as it did before")


class StoredState(NamedTuple):
    """The state of the store that a commit depends on.

    :param whole: the newest versions of all entries of the feed, by id, if the document is a complete feed's
    :param unlisted: ids of documents that an earlier version of the list named, and this one does not
    :param ends_earlier: a page has lost its link to the older one, and is to be read again
    :param covered: for how long a plain feed is covered; None if it never was read
    :param head: digest of the feed's head, if it is in memory
    """

    feed_id: int
    whole: dict[str, Winner]
    unlisted: list[int]
    ends_earlier: bool = False
    covered: Coverage | None = None
    head: str | None = None

    @staticmethod
    def matters(result: DocumentResult) -> bool:
        """Return whether the commit of a document depends on any of this; most do not."""
        has_one = (result.present, result.parts, result.shown)
        return any(one is not None for one in has_one) or _is_last_page(result)

    @classmethod
    def read(
        cls, connection: Connection, feed_id: int, result: DocumentResult, batch: CommitBatch
    ) -> StoredState:
        """Read the state."""
        whole, unlisted = {}, []
        if result.present is not None and result.failure is None:
            found = connection.execute(statements.WINNERS, {"feed_id": feed_id})
            whole = rows.winners(found, result.fetch.latest)
        if result.parts is not None:
            unlisted = lists.unlisted(connection, feed_id, result.parts)
        ends_earlier = False
        if _is_last_page(result):
            known = rows.find_document(connection, feed_id, result.fetch.key)
            if known is not None and known.behind_id is not None and known.role == Role.PAGE.value:
                ends_earlier = has_changes(result, batch.stored) or known.detail != ENDS_EARLIER.detail
        covered = None
        if result.shown is not None:
            covered = coverage.read(connection, [feed_id]).get(feed_id)
        return cls(feed_id, whole, unlisted, ends_earlier, covered)


# The link may be missing for a while only, and the older pages may never have been read, even if this page
# has no changes. The next run reads it again: if it still has none, it is the last page.
def _is_last_page(result: DocumentResult) -> bool:
    """Return whether a page links to no older one."""
    return result.fetch.role is Role.PAGE and result.older_document is None and result.failure is None
