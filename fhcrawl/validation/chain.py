"""The documents of a walk, as far as the rules of the chain need them."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fhcrawl import logical_feed
from fhcrawl.documents.dates import elapsed
from fhcrawl.documents.links import HISTORY
from fhcrawl.logical_feed import Kind, Link, Role
from fhcrawl.logical_feed.results import comparable
from fhcrawl.utils.addresses import secured
from fhcrawl.validation.model import (
    CHAIN_RULES,
    DOCUMENT_RULES,
    Document,
    Finding,
    Severity,
    Summary,
    line,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fhcrawl.validation.model import Rule

MOST_ENTRIES = 300_000
MOST_CLASHES = 1000
OTHER = ""
# Findings of a rule in one document, and in all.
MOST_OF_DOCUMENT, MOST_OF_RULE = 20, 1000
ORDER = list(Severity)
WALKED = {
    Kind.ARCHIVED: "The archive was read to its end",
    Kind.PAGED: "The pages were read to their end",
    Kind.COMPLETE: "The feed is in one document",
}


# A document, and the digests of an entry's update time (0 without one) and content.
Version = tuple[Document, int, int]


class EntryIndex:
    def __init__(self) -> None:
        # Entries with one update time, or without one, but with two contents: id, newer and older document,
        # line in that, and whether they have a time.
        self.clashes: list[tuple[str, Document, Document, int | None, bool]] = []
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
            identity = logical_feed.identity(entry, feed)
            if identity is None:
                self.number += 1
                continue
            at = line(elements[position]) if has_lines else None
            key = _digest(identity)
            if key not in own:
                content = _digest(entry.digest or logical_feed.digest(entry))
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
            self.clashes.append((identity, newer, document, at, bool(updated)))

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
    """All documents of a walk, from the subscription document to the oldest one, and what the rules find.

    :param missing: the document at which the chain breaks, why it could not be read, as a sentence without
        its subject, and whether a limit of the user excluded it
    :param loop: number of the document that the oldest one leads back to (also by a redirect) or equals, and
        the URL of that link
    :param limit: the number of documents at which the walk was stopped
    :param targets: for each URL that was requested, the number of the document that it leads to, OTHER if
        that is outside the chain, or why it could not be fetched
    :param is_finished: nothing remains to be requested
    """

    url: str
    entries: EntryIndex = field(default_factory=EntryIndex)
    kind: Kind | None = None
    documents: list[Document] = field(default_factory=list)
    missing: tuple[Link, str, bool] | None = None
    loop: tuple[int, str] | None = None
    limit: int | None = None
    targets: dict[str, int | str] = field(default_factory=dict)
    is_finished: bool = False
    _digests: dict[bytes, int] = field(default_factory=dict)
    _findings: list[Finding] = field(default_factory=list)
    _counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.expect(Link(Role.SUBSCRIPTION, self.url))

    def expect(self, link: Link) -> None:
        self.missing = link, "was not read: the check was interrupted", True

    def add(self, document: Document) -> None:
        """Check the next older document, add it, and drop its body, entries and elements."""
        for rule, check in DOCUMENT_RULES.items():
            if document.has(rule.needs):
                self._note(rule, check(document), document.requested_url)
        feed = document.feed
        times = sorted(filter(None, (e.published or e.updated for e in feed.entries)), key=comparable)
        if times:
            document.oldest, document.newest = times[0], times[-1]
            document.widest = max(map(elapsed, times, times[1:]), default=0)
        document.links = {
            name: self._secured(url, document)
            for name, url in feed.links.items()
            if name in HISTORY or name == "self"
        }
        document.digest = _sha256(document.body)
        document.entries = len(feed.entries)
        self.entries.add(document)
        self.kind = self.kind or logical_feed.kind(feed)
        document.body = b""
        document.feed = replace(feed, entries=[], problems=[], tombstones=[])
        document.markup.drop_elements()
        self.documents.append(document)
        for url in document.own:
            self.targets.setdefault(url, document.number)
        self._digests.setdefault(document.digest, document.number)
        self.missing = None

    # A crawl does the same; a rule on links reports those with http:.
    def _secured(self, url: str, document: Document) -> str:
        return secured(url, [self.url], [self.url, document.fetch.url])

    def following(self, max_documents: int) -> Link | None:
        """Return the link of the last document to the next older one, unless the walk ends here."""
        before, last = [None, *self.documents][-2:]
        older = last and logical_feed.older_document(last.feed, last.own)
        if not older or not last:
            return None
        older = older._replace(url=self._secured(older.url, last))
        number = self.find(older.url)
        if number is None and before and before.digest == last.digest:
            number = before.number
        if isinstance(number, int):
            self.loop = number, older.url
        elif len(self.documents) >= max_documents:
            self.limit = max_documents
        return None if self.loop or self.limit else older

    def note_target(self, url: str, target: str, body: bytes) -> None:
        """Note that a link leads to the document at `target`."""
        number = self.find(target)
        if not isinstance(number, int):
            number = self._digests.get(_sha256(body), OTHER)
        self.targets[url] = number

    def find(self, url: str | None) -> int | str | None:
        """Return where a URL leads, see `targets`; None if it is unknown."""
        return None if url is None else self.targets.get(url)

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

    def finish(self) -> tuple[list[Finding], Summary]:
        """Return the findings, the worst first, and their summary; what is still wanted is not fetched."""
        of_documents, self._findings = self._findings, []
        for rule, check in CHAIN_RULES.items():
            self._note(rule, check(self), None)
        # Links of the chain come first: without them, documents are lost.
        findings = [*self._findings, *of_documents]
        findings.sort(key=lambda finding: ORDER.index(finding.severity))
        return findings, self._summary(findings)

    def _note(self, rule: Rule, findings: Iterable[Finding], url: str | None) -> None:
        for number, finding in enumerate(findings):
            self._counts[rule.name] += 1
            if (number >= MOST_OF_DOCUMENT and url is not None) or self._counts[rule.name] > MOST_OF_RULE:
                return
            document = finding.document or url
            self._findings.append(finding._replace(rule=rule.name, clause=rule.clause, document=document))

    def _summary(self, findings: list[Finding]) -> Summary:
        count = Counter(finding.severity for finding in findings)
        errors, warnings = count[Severity.ERROR], count[Severity.WARNING]
        read, entries = len(self.documents), self.entries.number
        walked = WALKED.get(self.kind or Kind.SINGLE, "The feed has one document")
        if not read:
            walked = "The feed could not be read"
        elif not self.is_whole:
            walked = "The history was not read to its end"
        sentence = (
            f"{walked}: {_number(read, 'document', 'documents')}, {_number(entries, 'entry', 'entries')}; "
            f"{_number(errors, 'error', 'errors')}, {_number(warnings, 'warning', 'warnings')}"
        )
        return Summary(self.url, self.kind, read, entries, self.is_whole, errors, warnings, sentence)


def _sha256(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()


def _number(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"
