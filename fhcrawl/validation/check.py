"""Walks a chain, one document at a time: says which one to fetch, and gives each to the rules."""

from __future__ import annotations

import hashlib
from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl import documents, logical_feed
from fhcrawl.documents.dates import elapsed
from fhcrawl.documents.links import HISTORY
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.logical_feed import Kind, Role
from fhcrawl.logical_feed.versions import comparable
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.addresses import secured
from fhcrawl.validation import markup
from fhcrawl.validation.entries import EntryIndex
from fhcrawl.validation.model import (
    CHAIN_RULES,
    DOCUMENT_RULES,
    Chain,
    CheckedDocument,
    Finding,
    KeptDocument,
    Missing,
    Probe,
    Severity,
    Summary,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fhcrawl.documents import FeedDocument
    from fhcrawl.validation.model import Fetched, Rule

MOST_DOCUMENTS = 1000
# The links back that name no URL of a document of the chain, and are requested to see where they lead.
MOST_PROBES = 10
BACK = ("next-archive", "current", "previous", "first", "self")
# Findings of one rule in one document, and in all.
MOST_OF_DOCUMENT, MOST_OF_RULE = 20, 1000
OLDER = {Role.ARCHIVE: "prev-archive", Role.PAGE: "next"}
ORDER = list(Severity)


class Purpose(Enum):
    """Why a document is fetched: to check it, to see where a link leads, to see if it answers with 304."""

    READ = "read"
    PROBE = "probe"
    CONDITION = "condition"


class Wanted(NamedTuple):
    """A document to fetch next.

    :param number: its place in the chain, for READ and CONDITION
    :param via: URL of the document that names it
    :param headers: header fields that make the request conditional
    """

    purpose: Purpose
    url: str
    role: Role
    number: int
    via: str | None = None
    headers: dict[str, str] = {}  # noqa: RUF012 - a plain value, which nobody changes


class HistoryCheck:
    """Checks the history of a feed: fetch what is `wanted`, and `take` it or `lose` it, until nothing is.

    :param url: URL of the subscription document
    :param max_documents: how many documents are read
    :param max_entries: maximum number of entries of one document; 0 is no limit
    """

    def __init__(self, url: str, max_documents: int = MOST_DOCUMENTS, max_entries: int = 0) -> None:
        self._url = url
        self._max_documents = max_documents
        self._max_entries = max_entries
        self._chain = Chain(EntryIndex())
        self._findings: list[Finding] = []
        self._counts: Counter[str] = Counter()
        self._conditions: dict[int, dict[str, str]] = {}
        self.wanted: Wanted | None = Wanted(Purpose.READ, url, Role.SUBSCRIPTION, 0)

    def take(self, response: Fetched) -> None:
        """Take the response to what was wanted, and choose what is wanted next."""
        wanted = self.wanted
        if wanted is None:
            return
        if wanted.purpose is Purpose.PROBE:
            self._chain.probes[wanted.url] = Probe(response.url, _sha(response.body))
        elif wanted.purpose is Purpose.CONDITION:
            self._chain.documents[wanted.number].conditional = response.status
        else:
            self._read(wanted, response)
            return
        self._want_more()

    def lose(self, detail: str, is_limit: bool = False) -> None:
        """Note that what was wanted could not be fetched, and choose what is wanted next.

        :param detail: why, as a sentence without its subject
        :param is_limit: whether a limit of the user has left it out
        """
        wanted = self.wanted
        if wanted is None:
            return
        if wanted.purpose is Purpose.PROBE:
            self._chain.probes[wanted.url] = Probe(wanted.url, b"", detail)
        elif wanted.purpose is Purpose.READ:
            via = wanted.number - 1 if wanted.number else None
            self._chain.missing = Missing(wanted.url, OLDER.get(wanted.role, ""), via, detail, is_limit)
        self._want_more()

    # -- one document -------------------------------------------------------------------------------

    def _read(self, wanted: Wanted, response: Fetched) -> None:
        if (known := self._chain.find(response.url)) is not None:
            self._chain.loop = known, wanted.url
            self._want_more()
            return
        try:
            feed = self._parse(response)
        except NotAFeedError as error:
            feeds = f"; it names the feed {error.feeds[0]}" if error.feeds else ""
            self.lose(f"is not a feed: {error}{feeds}")
            return
        content_type = response.headers.get("content-type")
        found, fault_line = markup.read(response.body, content_type)
        document = CheckedDocument(wanted.number, wanted.role, wanted.url, response, feed, found, fault_line)
        for rule, check in DOCUMENT_RULES.items():
            if document.has(rule.needs):
                self._note(rule, check(document), wanted.url)
        self._keep(document)
        self._follow(document)

    def _parse(self, response: Fetched) -> FeedDocument:
        """:raises NotAFeedError: if it is no feed document"""
        from fhcrawl.documents.discovery import feed_links

        headers = response.headers
        try:
            found = documents.read(
                response.body,
                response.url,
                headers.get("content-type"),
                response.links,
                headers.get("last-modified"),
                max_entries=self._max_entries,
            )
        except NotAFeedError as error:
            if error.kind is ReasonKind.HTML:
                error.feeds = feed_links(response.body, response.url)
            raise
        return documents.as_feed(found)

    def _keep(self, document: CheckedDocument) -> None:
        feed, response, found = document.feed, document.response, document.markup
        # The reader can have left out an entry: then the elements are others.
        is_same = len(found.entries) == len(feed.entries)
        shared = self._chain.entries.add(
            document.number, feed, [markup.line(entry) for entry in found.entries] if is_same else []
        )
        times = sorted(filter(None, (e.published or e.updated for e in feed.entries)), key=comparable)
        self._chain.kind = self._chain.kind or logical_feed.kind(feed)
        self._chain.add(
            KeptDocument(
                number=document.number,
                role=document.role,
                requested_url=document.requested_url,
                url=response.url,
                link_url=response.url if response.is_moved else document.requested_url,
                digest=_sha(response.body),
                links={
                    name: self._secured(url, response)
                    for name, url in feed.links.items()
                    if name in HISTORY or name == "self"
                },
                lines=found.link_lines(),
                head_line=markup.line(found.head),
                archive=feed.archive,
                updated=feed.updated,
                feed_id=found.feed_id(),
                entries=len(feed.entries),
                oldest=next(iter(times), None),
                newest=next(reversed(times), None),
                shared=shared,
                widest=max(map(elapsed, times, times[1:]), default=0),
                has_validators=bool(validators := _conditions(response)),
                is_whole=document.is_whole,
            )
        )
        # The newest archive stands for all of them.
        if validators and document.number <= 1:
            self._conditions[document.number] = validators

    def _follow(self, document: CheckedDocument) -> None:
        """Want the next older document, unless the walk ends here."""
        own = (document.requested_url, document.response.url)
        older = logical_feed.older_document(document.feed, own)
        chain = self._chain
        if older is None:
            self._want_more()
            return
        older = older._replace(url=self._secured(older.url, document.response))
        if (known := chain.find(older.url)) is not None or (known := chain.same_as_last()) is not None:
            chain.loop = known, older.url
            self._want_more()
        elif len(chain.documents) >= self._max_documents:
            chain.limit = self._max_documents
            self._want_more()
        else:
            self.wanted = Wanted(Purpose.READ, older.url, older.role, document.number + 1, own[1])

    # A crawl does the same; a rule on links says that they have http:.
    def _secured(self, url: str, response: Fetched) -> str:
        return secured(url, [self._url], [self._url, response.url])

    # -- the chain ----------------------------------------------------------------------------------

    def _want_more(self) -> None:
        """Want what the rules of the chain need to know, when the walk has ended."""
        self.wanted = next(self._probes(), None) or next(self._conditional(), None)

    def _probes(self) -> Iterator[Wanted]:
        chain = self._chain
        if len(chain.probes) >= MOST_PROBES:
            return
        for document in chain.documents:
            for relation in BACK:
                url = document.links.get(relation)
                if url and not chain.is_seen(url):
                    yield Wanted(Purpose.PROBE, url, Role.ARCHIVE, len(chain.documents), document.url)

    def _conditional(self) -> Iterator[Wanted]:
        for number in [*self._conditions]:
            document, headers = self._chain.documents[number], self._conditions.pop(number)
            yield Wanted(Purpose.CONDITION, document.url, document.role, number, None, headers)

    # -- the result ---------------------------------------------------------------------------------

    def finish(self) -> list[Finding]:
        """Return what the rules say, the worst first; a document that is still wanted is not fetched."""
        if self.wanted is not None and self.wanted.purpose is Purpose.READ:
            self.lose("was not read: the check was interrupted", is_limit=True)
        of_documents, self._findings = self._findings, []
        for rule, check in CHAIN_RULES.items():
            self._note(rule, check(self._chain), None)
        # The chain's are first: without them, documents are lost.
        findings = [*self._findings, *of_documents]
        return sorted(findings, key=lambda finding: ORDER.index(finding.severity))

    def _note(self, rule: Rule, said: Iterable[Finding], url: str | None) -> None:
        for number, one in enumerate(said):
            self._counts[rule.name] += 1
            if (number >= MOST_OF_DOCUMENT and url is not None) or self._counts[rule.name] > MOST_OF_RULE:
                return
            where = one.document or url
            self._findings.append(one._replace(rule=rule.name, clause=rule.clause, document=where))

    def summary(self, findings: list[Finding]) -> Summary:
        """Return a summary of the findings."""
        chain = self._chain
        count = Counter(finding.severity for finding in findings)
        errors, warnings = count[Severity.ERROR], count[Severity.WARNING]
        found = f"{_number(errors, 'error')}, {_number(warnings, 'warning')}"
        read = f"{_number(len(chain.documents), 'document')}, {_number(chain.entries.number, 'entry')}"
        sentence = f"{_walked(chain)}: {read}; {found}"
        number = len(chain.documents), chain.entries.number
        return Summary(self._url, chain.kind, *number, chain.is_whole, errors, warnings, sentence)


def _walked(chain: Chain) -> str:
    if not chain.documents:
        return "The feed could not be read"
    if not chain.is_whole:
        return "The history was not read to its end"
    words = {
        Kind.ARCHIVED: "The archive was read to its end",
        Kind.PAGED: "The pages were read to their end",
        Kind.COMPLETE: "The feed is in one document",
    }
    return words.get(chain.kind or Kind.SINGLE, "The feed has one document")


def _number(number: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def _conditions(response: Fetched) -> dict[str, str]:
    fields = (("If-None-Match", "etag"), ("If-Modified-Since", "last-modified"))
    return {name: response.headers[field] for name, field in fields if response.headers.get(field)}


def _sha(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()
