"""Values of a check (what was fetched, what is kept, what the rules say), and the registry of rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.validation.markup import NONE

if TYPE_CHECKING:
    from fhcrawl.documents import FeedDocument
    from fhcrawl.logical_feed import Kind, Role
    from fhcrawl.validation.entries import EntryIndex
    from fhcrawl.validation.markup import Markup


class Severity(str, Enum):
    """How bad a finding is, the worst first.

    A specification says MUST, or the history cannot be rebuilt; it says SHOULD, or the history may be rebuilt
    wrongly; nothing is wrong, but could be better; it is as it should be.
    """

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"
    GOOD = "good"


class Needs(Enum):
    """What a rule needs to know of a document, to say anything, or to say that something is missing.

    What readers recover of the document; that, and nothing that is lost behind a fault; its elements as they
    were written.
    """

    NOTHING = "nothing"
    ALL = "all"
    MARKUP = "markup"


class Finding(NamedTuple):
    """What a rule says.

    :param rule, clause: of the rule; '' until the check has added them
    :param document: URL of the document; None for the chain, and for the document that a rule is given
    :param line: line of the document, from 1; None if it is not known, or the whole document is meant
    :param text: a sentence
    :param fix: what the publisher can do, as a sentence; '' if that is nothing
    """

    severity: Severity
    rule: str
    clause: str
    document: str | None
    line: int | None
    text: str
    fix: str


class Summary(NamedTuple):
    """What was checked.

    :param kind: how the feed publishes its history; None if its document cannot be read
    :param is_whole: whether the chain was walked to its end
    :param sentence: the result as a sentence
    """

    url: str
    kind: Kind | None
    documents: int
    entries: int
    is_whole: bool
    errors: int
    warnings: int
    sentence: str


PERMANENT = (301, 308)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response.

    :param url: its URL, after redirects
    :param headers: its header fields, by their names in lower case
    :param links: the values of the Link headers
    :param redirects: the statuses of the redirects that led to it
    :param fetched: when it was fetched, ISO 8601 in UTC; '' if that does not matter
    :param is_cut: whether it is shorter than announced
    """

    url: str
    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    redirects: tuple[int, ...] = ()
    fetched: str = ""
    is_cut: bool = False

    @property
    def is_moved(self) -> bool:
        """Whether it has moved to `url` for good (RFC 9110, 15.4.2 and 15.4.9)."""
        return bool(self.redirects) and all(status in PERMANENT for status in self.redirects)


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """A document while the rules look at it.

    :param number: its place in the chain; 0 is the subscription document, 1 the document that it names, …
    :param markup: its elements; `markup.NONE` if it is not XML, or not well-formed
    :param fault_line: where it is not well-formed
    """

    number: int
    role: Role
    requested_url: str
    response: Fetched
    feed: FeedDocument
    markup: Markup
    fault_line: int | None

    @property
    def is_archive(self) -> bool:
        """Whether the document is an archive: a prev-archive link has led to it."""
        return self.role.value == "archive"

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is lost: it has no fault that ends it, and the announced length."""
        return self.feed.fault is None and not self.response.is_cut

    def has(self, needs: Needs) -> bool:
        """Return whether the document has what a rule needs; JSON has no elements to check."""
        if needs is Needs.MARKUP:
            return self.markup is not NONE or self.feed.format in ("activitystreams", "json", "multipart")
        return needs is Needs.NOTHING or self.is_whole


@dataclass(slots=True)
class KeptDocument:
    """What is kept of a document, for the rules of the chain.

    :param link_url: what links to it should name: the URL that it has moved to, else the requested one
    :param links: the head section's links by relation, those that matter for history
    :param lines: the lines of these links, as far as they are known
    :param head_line: the line of the head section
    :param feed_id: its atom:id
    :param oldest, newest: the times of its oldest and its newest entry; None if no entry has one
    :param shared: how many of its entries are in the next newer document too
    :param widest: the longest time between two entries that follow each other, in seconds
    :param has_validators: whether its response has ETag or Last-Modified
    :param is_whole: whether nothing of it is lost: what is not found in it, is not there
    :param conditional: the status of the answer to a conditional request; None if it was not made
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
    has_validators: bool
    is_whole: bool
    conditional: int | None = None


class Missing(NamedTuple):
    """A document that could not be read.

    :param via: number of the document that names it; None for the subscription document
    :param detail: why, as a sentence without its subject
    :param is_limit: whether a limit of the user has left it out
    """

    url: str
    relation: str
    via: int | None
    detail: str
    is_limit: bool = False


class Probe(NamedTuple):
    """Where a link back has led to.

    :param url: the URL after redirects
    :param digest: of the body
    :param failure: why it could not be read, as a sentence without its subject; '' if it could
    """

    url: str
    digest: bytes
    failure: str = ""


@dataclass(slots=True)
class Chain:
    """All documents of a walk, from the subscription document to the oldest one.

    :param missing: the document at which the chain is cut
    :param loop: a document that the oldest one leads back to, also by a redirect, or is the same as, and the
        URL of that link
    :param limit: the number of documents at which the walk was stopped
    :param probes: where links back lead that name no URL of a document of the chain
    """

    entries: EntryIndex
    kind: Kind | None = None
    documents: list[KeptDocument] = field(default_factory=list)
    missing: Missing | None = None
    loop: tuple[int, str] | None = None
    limit: int | None = None
    probes: dict[str, Probe] = field(default_factory=dict)
    _urls: dict[str, int] = field(default_factory=dict)
    _digests: dict[bytes, int] = field(default_factory=dict)

    def add(self, document: KeptDocument) -> None:
        """Add the next older document."""
        self.documents.append(document)
        for url in (document.requested_url, document.url):
            self._urls.setdefault(url, document.number)
        self._digests.setdefault(document.digest, document.number)

    @property
    def is_whole(self) -> bool:
        """Whether the walk came to the chain's end, through documents that are whole."""
        if self.missing or self.loop or self.limit:
            return False
        return all(document.is_whole for document in self.documents)

    @property
    def archives(self) -> list[KeptDocument]:
        """The archive documents, the newest first."""
        return [document for document in self.documents if document.role.value == "archive"]

    @property
    def begins_with_archive(self) -> bool:
        """Whether an archive's URL was given: nothing is known of the subscription document then."""
        return any(one.archive or "next-archive" in one.links for one in self.documents[:1])

    def find(self, url: str) -> int | None:
        """Return the number of the document that a URL leads to; None if that is none of the chain."""
        probe = self.probes.get(url)
        if url in self._urls or probe is None or probe.failure:
            return self._urls.get(url)
        return self._urls.get(probe.url, self._digests.get(probe.digest))

    def is_seen(self, url: str) -> bool:
        """Return whether it is known where a URL leads to."""
        return url in self._urls or url in self.probes

    def is_other(self, url: str) -> bool:
        """Return whether a URL leads to a document that is not of the chain."""
        probe = self.probes.get(url)
        return probe is not None and not probe.failure and self.find(url) is None

    def same_as_last(self) -> int | None:
        """Return the number of the document before the last, if the two are the same."""
        *_others, before, last = [None, *self.documents]
        return before.number if before and last and before.digest == last.digest else None


# A function of a document, or of the chain.
Check = Callable[..., Iterator[Finding]]


class Rule(NamedTuple):
    """A rule, without its function.

    :param name: the name of its function, with hyphens
    :param clause: the specification's clause
    :param summary: what it checks, as the first line of the function's docstring says it
    :param needs: a document that does not have it is not checked; by a rule of the chain, for what is missing
    """

    name: str
    clause: str
    summary: str
    needs: Needs


DOCUMENT_RULES: dict[Rule, Check] = {}
CHAIN_RULES: dict[Rule, Check] = {}


def _register(
    rules: dict[Rule, Check], clause: str, needs: Needs = Needs.NOTHING
) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        summary = (check.__doc__ or "").partition("\n")[0]
        rules[Rule(check.__name__.replace("_", "-"), clause, summary, needs)] = check
        return check

    return register


# Decorators: they register a rule about one document, or about all documents of a chain, with its clause.
of_document = partial(_register, DOCUMENT_RULES)
of_chain = partial(_register, CHAIN_RULES)


def _finding(
    severity: Severity, text: str, line: int | None = None, fix: str = "", document: str | None = None
) -> Finding:
    return Finding(severity, "", "", document, line, text, fix)


# What rules yield: a sentence, its line, what to do, and, from rules of the chain, the document's URL.
error = partial(_finding, Severity.ERROR)
warning = partial(_finding, Severity.WARNING)
advice = partial(_finding, Severity.ADVICE)
good = partial(_finding, Severity.GOOD)
