"""What the store knows of a chain at one of its documents."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from fhcrawl.logical_feed import Role
from fhcrawl.store.prepared import Prepared
from fhcrawl.store.statements import END_OF, FIND_DOCUMENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Dialect

    from fhcrawl.logical_feed.results import DocumentResult
    from fhcrawl.store.pipeline import Batch
    from fhcrawl.store.prepared import Executes


class What(Enum):
    """What can be asked: the document itself, or where the chain from there ends."""

    DOCUMENT = "document"
    END = "end"


class Question(NamedTuple):
    """:param key: of the document"""

    what: What
    feed: str
    key: str


class Chains:
    """What is asked of chains; it can be asked ahead of time."""

    def __init__(self, dialect: Dialect) -> None:
        self._statements = {
            What.DOCUMENT: Prepared(FIND_DOCUMENT, dialect),
            What.END: Prepared(END_OF, dialect),
        }
        self._asked: list[Question] = []
        self._known: dict[Question, Any] = {}

    def execute(self, connection: Executes, feed_id: int, question: Question) -> Any:
        """Ask the database."""
        names = {"feed_id": feed_id, "key": question.key}
        return self._statements[question.what].execute(connection, names)

    def ask_ahead(self, batch: Batch, feed_id: int, result: DocumentResult) -> None:
        """Prefetch the rows of the older document."""
        self._asked = _questions(result)
        for question in self._asked:
            self.execute(batch, feed_id, question)

    def note(self, found: Sequence[Sequence[Any]]) -> None:
        """Note the answers: the rows of each."""
        for question, found_rows in zip(self._asked, found, strict=True):
            self._known[question] = found_rows[0] if found_rows else None

    def forget(self) -> None:
        """Something may have changed."""
        self._known.clear()

    def knows(self, question: Question) -> bool:
        """Whether it has been asked."""
        return question in self._known

    def row(self, question: Question) -> Any:
        """What the answer was; None if the document is not known."""
        return self._known[question]


def _questions(result: DocumentResult) -> list[Question]:
    if result.older_document is None:
        return []
    feed, older = result.fetch.feed, result.older_document
    end = Question(What.END, feed, older.url)
    if older.role is not Role.PAGE:
        return [end]
    return [end, *(Question(What.DOCUMENT, feed, key) for key in (older.url, result.fetch.key))]
