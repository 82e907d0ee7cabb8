"""Reads lists of the documents of a feed: the index of a snapshot, the files of a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from fhcrawl.documents.model import FeedDocument

URI_LIST = "text/uri-list"
IS_LIST = "it is a list of documents"


class ListedDocument(NamedTuple):
    """A document of a list. Its `key` changes when the document changes."""

    key: str
    url: str


@dataclass(frozen=True, slots=True)
class DocumentList:
    """A list of documents that form one feed.

    :param documents: in the order in which to read them, the newest first
    :param created_at: when a snapshot was made, ISO 8601 in UTC; None if unknown
    :param prefix: the beginning of the ids of a snapshot's entities; None for a folder
    """

    documents: list[ListedDocument]
    created_at: str | None = None
    prefix: str | None = None


def is_folder(url: str, content_type: str | None) -> bool:
    """Return whether a document is the list of a folder's files."""
    return content_type == URI_LIST and url.startswith("file:")


# RFC 2483, 5: one URI per line; lines that begin with # are comments. A fragment identifies the state of a
# file: a file that has changed is another document.
def read_folder(body: bytes, max_documents: int) -> DocumentList:
    """Read the list of the files of a folder.

    :param max_documents: maximum number of documents; 0 is no limit
    :raises NotAFeedError: if it names too many documents
    """
    lines = [line for line in body.decode("ascii").splitlines() if line and not line.startswith("#")]
    check_number(len(lines), max_documents)
    return DocumentList([ListedDocument(line, line.partition("#")[0]) for line in lines])


def check_number(documents: int, limit: int) -> None:
    """:raises NotAFeedError: if a list names more documents than the limit; 0 is no limit"""
    if limit and documents > limit:
        allowed = f"FHCRAWL_MAX_ENTRIES ({limit}) allows"
        raise NotAFeedError(ReasonKind.TOO_LARGE, f"it lists {documents} documents, more than {allowed}")


def as_feed(document: FeedDocument | DocumentList) -> FeedDocument:
    """:raises NotAFeedError: if it is a list of documents"""
    if isinstance(document, DocumentList):
        raise NotAFeedError(ReasonKind.NOT_A_FEED, IS_LIST)
    return document
