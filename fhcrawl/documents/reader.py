"""Chooses the format of a feed document by its root element."""

from __future__ import annotations

from email.message import Message
from typing import TYPE_CHECKING

from fhcrawl.documents import atom, rss, xml
from fhcrawl.exceptions import NotAFeedError

if TYPE_CHECKING:
    from fhcrawl.documents.model import FeedDocument

FORMATS = {atom.ROOT: atom.read, rss.ROOT: rss.read}


def read(body: bytes, url: str, content_type: str | None = None) -> FeedDocument:
    """Read a feed document.

    :param body: the bytes of the response
    :param url: where they came from; relative references are resolved against it
    :param content_type: the Content-Type header, as it came; only its parameters are believed
    :raises NotAFeedError: if the body is empty, HTML, not XML, or XML of another kind
    """
    parsed = xml.parse(body, charset_of(content_type))
    try:
        reader = FORMATS[parsed.root.tag]
    except KeyError:
        name = xml.local_name(parsed.root)
        if name.lower() == "html":
            raise NotAFeedError("html", "it is an HTML page, not a feed") from None
        raise NotAFeedError(
            "not-a-feed", f"it is XML, but not a feed: its root element is <{name}>"
        ) from None
    return reader(parsed, url)


def charset_of(content_type: str | None) -> str | None:
    """The charset parameter of a Content-Type header."""
    header = Message()
    header["Content-Type"] = content_type or ""
    return header.get_content_charset()
