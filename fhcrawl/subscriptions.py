"""Lists of feeds: URLs a line, or OPML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lxml import etree

from fhcrawl.exceptions import ArgumentError
from fhcrawl.logs import printable

if TYPE_CHECKING:
    from collections.abc import Iterator


def from_arguments(feed: str | None, feeds: str | None) -> list[str]:
    """The feeds that the spider's arguments name, each once, in their order.

    :param feed: URLs, separated by white space
    :param feeds: path of a list
    :raises ArgumentError: if there is none, if one is no URL, or if the list cannot be read
    """
    if not feed and not feeds:
        raise ArgumentError(
            "No feed to crawl: write -a feed=https://example.org/index.atom, or -a feeds=subscriptions.txt"
        )
    urls = dict.fromkeys(_checked(url, "-a feed") for url in (feed or "").split())
    if feeds:
        urls.update(dict.fromkeys(from_file(Path(feeds))))
    if not urls:
        raise ArgumentError(f"There is no feed in {printable(feeds or '')}: write a URL a line")
    return list(urls)


def from_file(path: Path) -> Iterator[str]:
    """The URLs of a list: a URL a line (# begins a comment), or the xmlUrl attributes of OPML.

    :raises ArgumentError: if it cannot be read, or if one of them is no URL
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ArgumentError(
            f"The list of feeds cannot be read: {path} ({error.strerror}); "
            f"write -a feeds=PATH of a text file with a URL a line, or of an OPML file"
        ) from error
    if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        yield from _from_opml(content, path)
    else:
        yield from _from_lines(content, path)


def _from_lines(content: bytes, path: Path) -> Iterator[str]:
    for number, line in enumerate(content.decode("utf-8-sig", "replace").splitlines(), 1):
        url = line.partition(" #")[0].strip()
        if url and not url.startswith("#"):
            yield _checked(url, f"{path}, line {number}")


# OPML 2.0, 'Subscription lists': outlines with a required attribute xmlUrl.
def _from_opml(content: bytes, path: Path) -> Iterator[str]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise ArgumentError(f"{path} is neither a list of URLs nor OPML: {error.msg}") from error
    for outline in root.iter("outline"):
        url = (outline.get("xmlUrl") or "").strip()
        if url:
            yield _checked(url, f"{path}, line {outline.sourceline}")


def _checked(url: str, where: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        parts, host = None, None
    if parts is None or parts.scheme not in ("http", "https") or not host:
        shown = printable(url)
        guess = "https://example.org/index.atom" if "://" in url else f"https://{shown}"
        raise ArgumentError(f"{where}: {shown} is not the URL of a feed; write {guess}")
    return url
