"""Documents that list a feed's documents: the index of a snapshot, the content of a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents import limits, snapshot
from fhcrawl.exceptions import NotAFeedError

if TYPE_CHECKING:
    from fhcrawl.documents.json_text import Json
    from fhcrawl.documents.limits import Bounds
    from fhcrawl.documents.model import FeedDocument

URI_LIST = "text/uri-list"
IS_LIST = "it is a list of documents"


class Listed(NamedTuple):
    """A document of a list.

    :param key: what names it: another one if it has changed since the list was last read
    """

    key: str
    url: str


@dataclass(frozen=True, slots=True)
class DocumentList:
    """A list of documents, which are one feed.

    :param documents: in the order in which they are to be read, the newest first
    :param created_at: when a snapshot was made, ISO 8601 in UTC; None for none that can be read
    :param prefix: what the ids of a snapshot's entities begin with; None for a folder
    """

    documents: list[Listed]
    created_at: str | None = None
    prefix: str | None = None


def is_folder(url: str, content_type: str | None) -> bool:
    """Whether a document is the list of what is in a folder."""
    return content_type == URI_LIST and url.startswith("file:")


# RFC 2483, 5: a URI a line; lines that begin with # are comments. The fragments say what the files are at
# the moment: a file that has changed is another document.
def read_folder(body: bytes, bounds: Bounds) -> DocumentList:
    """Read the list of what is in a folder.

    :raises NotAFeedError: if it names more documents than it may
    """
    lines = [line for line in body.decode("ascii").splitlines() if line and not line.startswith("#")]
    if len(lines) > bounds.entries:
        raise NotAFeedError(limits.TOO_MANY_DOCUMENTS, f"it names more than {bounds.entries} documents")
    return DocumentList([Listed(line, line.partition("#")[0]) for line in lines])


def read_index(found: Json, url: str, bounds: Bounds) -> DocumentList | None:
    """Read a snapshot's index; None if the document is none.

    :param url: where it came from
    :raises NotAFeedError: if it names more pages than it may, or its id or their URLs are too long
    """
    index = snapshot.read(found.members, url, bounds)
    if index is None:
        return None
    pages = [Listed(snapshot.page_key(index, number), page) for number, page in enumerate(index.pages)]
    return DocumentList(pages, index.created_at, index.prefix)


def as_feed(found: FeedDocument | DocumentList) -> FeedDocument:
    """Return a feed document.

    :raises NotAFeedError: if it is a list of documents
    """
    if isinstance(found, DocumentList):
        raise NotAFeedError("not-a-feed", IS_LIST)
    return found
