"""The documents of a walk, as far as the rules of the chain need them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents.dates import elapsed
from fhcrawl.documents.links import HISTORY
from fhcrawl.logical_feed import chain, results
from fhcrawl.logical_feed.results import comparable
from fhcrawl.utils.addresses import secured
from fhcrawl.validation.model import Document, line

if TYPE_CHECKING:
    from fhcrawl.logical_feed import Kind, Role
    from fhcrawl.validation.model import Fetched

MOST_ENTRIES = 300_000
MOST_CLASHES = 1000


class Wanted(NamedTuple):
    """A document to fetch.

    :param number: its place in the chain
    :param via: URL of the document that links to it
    :param headers: header fields that make the request conditional
    """

    url: str
    role: Role
    number: int
    via: str | None = None
    headers: dict[str, str] = {}  # noqa: RUF012 - never modified


class Loss(NamedTuple):
    """Why a document could not be fetched or read, as a sentence without its subject.

    :param is_limit: whether a limit of the user excluded it
    """

    detail: str
    is_limit: bool = False


class Clash(NamedTuple):
    """Two versions of an entry with the same update time, or without one, and with different contents.

    :param line: in the older document
    """

    id: str
    newer: Document
    older: Document
    line: int | None
    is_timed: bool


# A document, and the digests of an entry's update time (0 without one) and content.
Version = tuple[Document, int, int]


class EntryIndex:
    def __init__(self) -> None:
        self.clashes: list[Clash] = []
        # Entries that have the link of a newer one but another id: link, document and line.
        self.changed_ids: list[tuple[str, Document, int | None]] = []
        self.number = self.repeated = 0  # distinct entries; those in more than one document
        self.is_full = False  # there are more entries than are remembered
        self._seen: dict[int, Version] = {}
        self._links: dict[int, int] = {}

    def add(self, document: Document) -> None:
        feed, elements = document.feed, document.markup.entries
        # If the reader has dropped an entry, the elements do not match the entries.
        has_lines = len(elements) == len(feed.entries)
        own: dict[int, Version] = {}
        for position, entry in enumerate(feed.entries):
            identity = results.identity(entry, feed)
            if identity is None:
                self.number += 1
                continue
            at = line(elements[position]) if has_lines else None
            key = _digest(identity)
            if key not in own:
                content = _digest(entry.digest or results.digest(entry))
                own[key] = document, _digest(comparable(entry.updated)), content
                if before := self._seen.get(key):
                    self._compare(identity, before, own[key], at)
                else:
                    self.number += 1
            if entry.id is not None and entry.link is not None:
                self._note_link(entry.link, key, document, at)
        self.is_full = self.is_full or len(own) > MOST_ENTRIES - len(self._seen)
        if not self.is_full:
            self._seen.update(own)

    def _compare(self, identity: str, before: Version, version: Version, at: int | None) -> None:
        (newer, time, newer_content), (document, updated, content) = before, version
        self.repeated += 1
        document.shared += newer.number == document.number - 1
        if time == updated and newer_content != content and len(self.clashes) < MOST_CLASHES:
            self.clashes.append(Clash(identity, newer, document, at, bool(updated)))

    def _note_link(self, link: str, key: int, document: Document, at: int | None) -> None:
        first = self._links.get(digest := _digest(link))
        if first is None and not self.is_full:
            self._links[digest] = key
        elif first not in (None, key) and len(self.changed_ids) < MOST_CLASHES:
            self.changed_ids.append((link, document, at))


def _digest(text: str) -> int:
    if not text:
        return 0
    octets = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(octets, "big")


@dataclass(slots=True)
class Chain:
    """All documents of a walk, from the subscription document to the oldest one.

    :param missing: the document at which the chain breaks
    :param loop: number of the document that the oldest one leads back to (also by a redirect) or equals, and
        the URL of that link
    :param limit: the number of documents at which the walk was stopped
    :param elsewhere: links to documents outside the chain, with why the target could not be fetched, or ''
    """

    url: str
    entries: EntryIndex = field(default_factory=EntryIndex)
    kind: Kind | None = None
    documents: list[Document] = field(default_factory=list)
    missing: tuple[Wanted, Loss] | None = None
    loop: tuple[int, str] | None = None
    limit: int | None = None
    elsewhere: dict[str, str] = field(default_factory=dict)
    _urls: dict[str, int] = field(default_factory=dict)
    _digests: dict[bytes, int] = field(default_factory=dict)

    def add(self, document: Document) -> None:
        """Add the next older document, and drop its entries and elements."""
        feed, response = document.feed, document.response
        times = sorted(filter(None, (e.published or e.updated for e in feed.entries)), key=comparable)
        if times:
            document.oldest, document.newest = times[0], times[-1]
            document.widest = max(map(elapsed, times, times[1:]), default=0)
        document.links = {
            name: self.secured(url, response)
            for name, url in feed.links.items()
            if name in HISTORY or name == "self"
        }
        document.digest = _sha256(response)
        document.entries = len(feed.entries)
        self.entries.add(document)
        self.kind = self.kind or chain.kind(feed)
        document.response = replace(response, body=b"")
        document.feed = replace(feed, entries=[], problems=[], tombstones=[])
        document.markup.drop_elements()
        self.documents.append(document)
        for url in document.own:
            self._urls.setdefault(url, document.number)
        self._digests.setdefault(document.digest, document.number)

    # A crawl does the same; a rule on links reports those with http:.
    def secured(self, url: str, response: Fetched) -> str:
        """Return the URL of a link in a document, with https: if its host was reached with it."""
        return secured(url, [self.url], [self.url, response.url])

    def note_target(self, url: str, answer: Fetched | Loss) -> None:
        if isinstance(answer, Loss):
            self.elsewhere[url] = answer.detail
            return
        number = self._urls.get(answer.url, self._digests.get(_sha256(answer)))
        if number is None:
            self.elsewhere[url] = ""
        else:
            self._urls[url] = number

    def find(self, url: str | None) -> int | None:
        return self._urls.get(url or "")

    def is_seen(self, url: str) -> bool:
        return url in self._urls or url in self.elsewhere

    def is_other(self, url: str) -> bool:
        """Return whether a URL leads to a document outside the chain."""
        return self.elsewhere.get(url) == ""

    @property
    def is_whole(self) -> bool:
        """Whether the walk reached the end of the chain, and all documents are complete."""
        is_cut = self.missing or self.loop or self.limit
        return not is_cut and all(document.is_whole for document in self.documents)

    @property
    def archives(self) -> list[Document]:
        return [document for document in self.documents if document.is_archive]

    @property
    def begins_with_archive(self) -> bool:
        """Whether the walk started at an archive: the subscription document is unknown then."""
        return any(first.feed.archive or "next-archive" in first.links for first in self.documents[:1])


def _sha256(response: Fetched) -> bytes:
    return hashlib.sha256(response.body).digest()
