"""The documents of a walk, as far as the rules of the chain need them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl import logical_feed
from fhcrawl.documents.dates import elapsed
from fhcrawl.documents.head_links import HISTORY
from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.versions import comparable
from fhcrawl.utils.addresses import secured
from fhcrawl.validation.model import line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fhcrawl.documents import Entry, FeedDocument
    from fhcrawl.logical_feed import Kind
    from fhcrawl.validation.model import CheckedDocument, Fetched

MOST_ENTRIES = 300_000
MOST_CLASHES = 1000


class Wanted(NamedTuple):
    """A document to fetch.

    :param number: its place in the chain
    :param via: URL of the document that names it
    :param headers: header fields that make the request conditional
    """

    url: str
    role: Role
    number: int
    via: str | None = None
    headers: dict[str, str] = {}  # noqa: RUF012 - a plain value, which nobody changes


class Loss(NamedTuple):
    """Why a document could not be fetched or read, as a sentence without its subject.

    :param is_limit: whether a limit of the user has left it out
    """

    detail: str
    is_limit: bool = False


class Clash(NamedTuple):
    """Two versions of an entry with the same update time, or without one, and with different contents.

    :param newer, older: the numbers of the documents
    :param line: in the older document
    """

    id: str
    newer: int
    older: int
    line: int | None
    is_timed: bool


class ChangedId(NamedTuple):
    """Two entries with the same link and different ids; number and line are those of the older entry."""

    link: str
    number: int
    line: int | None


@dataclass(slots=True)
class EntryIndex:
    """The entries of a chain, by digests, whose documents are added from the newest to the oldest.

    :param number: how many entries there are, each counted once
    :param repeated: how many entries are in more than one document
    :param is_full: whether there are more entries than are remembered
    """

    clashes: list[Clash] = field(default_factory=list)
    changed_ids: list[ChangedId] = field(default_factory=list)
    number: int = 0
    repeated: int = 0
    is_full: bool = False
    # For each id: the document, and the digests of update time (0 without one) and content.
    _seen: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    _links: dict[int, int] = field(default_factory=dict)

    def add(self, number: int, feed: FeedDocument, lines: Sequence[int | None]) -> int:
        """Add the entries of a document; return how many of them are in the document before it too.

        :param lines: the lines of the entries; [] if they are unknown
        """
        shared = 0
        own: dict[int, tuple[int, int, int]] = {}
        for position, entry in enumerate(feed.entries):
            identity = logical_feed.identity(entry, feed)
            if identity is None:
                self.number += 1
                continue
            at = lines[position] if lines else None
            key, updated = _digest(identity), _digest(comparable(entry.updated))
            content = _digest(entry.digest or logical_feed.digest(entry))
            before = self._seen.get(key)
            if key not in own:
                self.number += before is None
                self.repeated += before is not None
                own[key] = number, updated, content
                if before is not None:
                    shared += before[0] == number - 1
                    is_clash = before[1] == updated and before[2] != content
                    if is_clash and len(self.clashes) < MOST_CLASHES:
                        self.clashes.append(Clash(identity, before[0], number, at, bool(updated)))
            self._note_link(entry, key, number, at)
        self.is_full = self.is_full or len(own) > MOST_ENTRIES - len(self._seen)
        if not self.is_full:
            self._seen.update(own)
        return shared

    def _note_link(self, entry: Entry, key: int, number: int, at: int | None) -> None:
        if entry.id is None or entry.link is None:
            return
        first = self._links.get(link := _digest(entry.link))
        if first is None and not self.is_full:
            self._links[link] = key
        elif first not in (None, key) and len(self.changed_ids) < MOST_CLASHES:
            self.changed_ids.append(ChangedId(entry.link, number, at))


def _digest(text: str) -> int:
    if not text:
        return 0
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
    )


@dataclass(slots=True)
class KeptDocument:
    """What is kept of a document.

    :param link_url: what links to it should name: the URL that it has moved to, else the requested one
    :param links: the head section's links that matter for history, by relation; as a crawl follows them
    :param lines: the lines of these links, as far as they are known
    :param feed_id: its atom:id
    :param oldest, newest: the times of its oldest and its newest entry; None if no entry has one
    :param shared: how many of its entries are in the next newer document too
    :param widest: the longest time between two entries that follow each other, in seconds
    :param validators: header fields of a conditional request
    :param is_whole: `CheckedDocument.is_whole`: what is not found in it, is not there
    :param conditional: the status of the response to a conditional request; None if it was not made
    """

    number: int
    role: Role
    requested_url: str
    url: str
    link_url: str
    digest: bytes
    links: dict[str, str]
    lines: dict[str, int]
    head_line: int | None
    archive: bool
    updated: str | None
    feed_id: str | None
    entries: int
    oldest: str | None
    newest: str | None
    shared: int
    widest: int
    validators: dict[str, str]
    is_whole: bool
    conditional: int | None = None


@dataclass(slots=True)
class Chain:
    """All documents of a walk, from the subscription document to the oldest one.

    :param url: the URL that is checked
    :param missing: the document at which the chain is cut
    :param loop: a document that the oldest one leads back to, also by a redirect, or is the same as, and the
        URL of that link
    :param limit: the number of documents at which the walk was stopped
    :param elsewhere: links that lead to no document of the chain: why the target could not be fetched; ''
        if it could
    """

    url: str
    entries: EntryIndex = field(default_factory=EntryIndex)
    kind: Kind | None = None
    documents: list[KeptDocument] = field(default_factory=list)
    missing: tuple[Wanted, Loss] | None = None
    loop: tuple[int, str] | None = None
    limit: int | None = None
    elsewhere: dict[str, str] = field(default_factory=dict)
    _urls: dict[str, int] = field(default_factory=dict)
    _digests: dict[bytes, int] = field(default_factory=dict)

    def add(self, document: CheckedDocument) -> None:
        """Add the next older document."""
        feed, response, markup = document.feed, document.response, document.markup
        # The reader can have left out an entry: then the elements are others.
        is_same = len(markup.entries) == len(feed.entries)
        shared = self.entries.add(document.number, feed, list(map(line, markup.entries)) if is_same else [])
        times = sorted(filter(None, (e.published or e.updated for e in feed.entries)), key=comparable)
        digest = _sha256(response)
        fields = (("If-None-Match", "etag"), ("If-Modified-Since", "last-modified"))
        self.kind = self.kind or logical_feed.kind(feed)
        self.documents.append(
            KeptDocument(
                number=document.number,
                role=document.role,
                requested_url=document.requested_url,
                url=response.url,
                link_url=response.url if response.is_moved else document.requested_url,
                digest=digest,
                links={
                    name: self.secured(url, response)
                    for name, url in feed.links.items()
                    if name in HISTORY or name == "self"
                },
                lines=markup.link_lines(),
                head_line=line(markup.head),
                archive=feed.archive,
                updated=feed.updated,
                feed_id=markup.feed_id(),
                entries=len(feed.entries),
                oldest=times[0] if times else None,
                newest=times[-1] if times else None,
                shared=shared,
                widest=max(map(elapsed, times, times[1:]), default=0),
                validators={name: value for name, key in fields if (value := response.headers.get(key))},
                is_whole=document.is_whole,
            )
        )
        for url in document.own:
            self._urls.setdefault(url, document.number)
        self._digests.setdefault(digest, document.number)

    # A crawl does the same; a rule on links reports those with http:.
    def secured(self, url: str, response: Fetched) -> str:
        """Return the URL of a link in a document, with https: if it is on a host that was reached with it."""
        return secured(url, [self.url], [self.url, response.url])

    def note_target(self, url: str, answer: Fetched | Loss) -> None:
        """Note where a link leads that names no URL of a document of the chain."""
        if isinstance(answer, Loss):
            self.elsewhere[url] = answer.detail
            return
        number = self._urls.get(answer.url, self._digests.get(_sha256(answer)))
        if number is None:
            self.elsewhere[url] = ""
        else:
            self._urls[url] = number

    def find(self, url: str) -> int | None:
        """Return the number of the document that a URL leads to; None if that is none of the chain."""
        return self._urls.get(url)

    def is_seen(self, url: str) -> bool:
        """Return whether it is known where a URL leads to."""
        return url in self._urls or url in self.elsewhere

    def is_other(self, url: str) -> bool:
        """Return whether a URL leads to a document that is not of the chain."""
        return self.elsewhere.get(url) == ""

    @property
    def is_whole(self) -> bool:
        """Whether the walk came to the chain's end, through complete documents."""
        is_cut = self.missing or self.loop or self.limit
        return not is_cut and all(document.is_whole for document in self.documents)

    @property
    def archives(self) -> list[KeptDocument]:
        """The archive documents, the newest first."""
        return [document for document in self.documents if document.role is Role.ARCHIVE]

    @property
    def begins_with_archive(self) -> bool:
        """Whether an archive's URL was given: the subscription document is unknown then."""
        return any(first.archive or "next-archive" in first.links for first in self.documents[:1])


def _sha256(response: Fetched) -> bytes:
    return hashlib.sha256(response.body).digest()
