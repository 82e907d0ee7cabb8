"""Documents that list a feed's documents: the index of a snapshot, the content of a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from fhcrawl.documents import snapshot

URI_LIST = "text/uri-list"


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


def read(body: bytes, url: str, content_type: str | None) -> DocumentList | None:
    """Read a list; None if the body is none.

    :param url: where it came from
    :param content_type: the Content-Type header; a folder's is `text/uri-list`
    """
    if content_type == URI_LIST and url.startswith("file:"):
        return _folder(body)
    index = snapshot.read(body, url)
    if index is None:
        return None
    pages = [Listed(snapshot.page_key(index, number), page) for number, page in enumerate(index.pages)]
    return DocumentList(pages, index.created_at, index.prefix)


# RFC 2483, 5: a URI a line; lines that begin with # are comments. The fragments say what the files are at
# the moment: a file that has changed is another document.
def _folder(body: bytes) -> DocumentList:
    lines = [line for line in body.decode("ascii").splitlines() if line and not line.startswith("#")]
    return DocumentList([Listed(line, line.partition("#")[0]) for line in lines])
