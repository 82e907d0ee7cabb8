"""The registry of rules, the findings that they yield, and the chain of documents that they are given."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, cast

from lxml import etree

from fhcrawl.documents import detection
from fhcrawl.documents.dates import elapsed
from fhcrawl.documents.formats import jsonfeed
from fhcrawl.documents.links import HISTORY
from fhcrawl.documents.xml import elements, encoding, parsing, repair
from fhcrawl.documents.xml.elements import ENTRIES
from fhcrawl.logical_feed import Kind, Link, Role, chain, results
from fhcrawl.logical_feed.results import comparable
from fhcrawl.utils.addresses import secured
from fhcrawl.utils.text import numbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lxml.etree import _Element

    from fhcrawl.documents import FeedDocument
    from fhcrawl.logical_feed.results import Fetch

# -- findings and rules --------------------------------------------------------------------------------


class Severity(str, Enum):
    """The worst first."""

    ERROR = "error"  # violates a MUST, or the history cannot be rebuilt
    WARNING = "warning"  # violates a SHOULD, or the history may be rebuilt wrongly
    ADVICE = "advice"
    GOOD = "good"


class Needs(Enum):
    """What a rule needs of a document, to check it or to report that something is missing."""

    NOTHING = "nothing"
    ALL = "all"  # the complete document, without a fault that ends it
    MARKUP = "markup"  # the elements as they were written


class Finding(NamedTuple):
    """What a rule yields; `History` sets the rule, its clause, and the document that the rule received.

    :param document: URL; None for the chain
    :param line: None if it is unknown, or the complete document is meant
    :param fix: what the publisher can do, as a sentence; '' for nothing
    """

    severity: Severity
    rule: str
    clause: str
    document: str | None
    line: int | None
    text: str
    fix: str


class Totals(NamedTuple):
    url: str
    kind: Kind | None  # None if its document cannot be read
    documents: int
    entries: int
    is_whole: bool  # the chain was walked to its end
    errors: int
    warnings: int
    sentence: str


def _finding(
    severity: Severity, text: str, line: int | None = None, fix: str = "", document: Document | None = None
) -> Finding:
    url = None if document is None else document.requested_url
    return Finding(severity, "", "", url, line, text, fix)


# Findings: a sentence, its line, what to do, and, from rules of the chain, the document.
error = partial(_finding, Severity.ERROR)
warning = partial(_finding, Severity.WARNING)
advice = partial(_finding, Severity.ADVICE)
good = partial(_finding, Severity.GOOD)

Report = Callable[..., Finding]
# A function of a document, or of the chain.
Check = Callable[..., Iterator[Finding]]


class Rule(NamedTuple):
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


# Decorators that register a rule about one document, or about the chain, with its clause.
of_document = partial(_register, DOCUMENT_RULES)
of_chain = partial(_register, CHAIN_RULES)

# -- documents -----------------------------------------------------------------------------------------

PERMANENT = (301, 308)


CHANNELS = tuple(f"{namespace}channel" for namespace in (*elements.RSS_NAMESPACES, *elements.RDF_NAMESPACES))
# Of one document, for each rule.
MOST_ELEMENTS = 1000
LONGEST_REL = 1000  # characters


class Markup:
    """The elements of a document as written, with their lines; none if it is not well-formed XML.

    :param body: accepted by `documents.read`, which checks more
    """

    def __init__(self, body: bytes, content_type: str | None) -> None:
        root = None
        self.fault_line: int | None = None
        if not detection.boundary(content_type) and not jsonfeed.is_json(body):
            # With the reader's namespaces, but without its repairs, which change lines.
            source, _repair = encoding.source(body, detection.declared(content_type)[1] or None)
            try:
                root = parsing.parse_strict(repair.canonicalise(source)[0])
            except etree.XMLSyntaxError as error:
                self.fault_line = error.lineno or None
        self.is_known = root is not None
        self.root = etree.Element("none") if root is None else root
        channel = next(self.root.iterchildren(*CHANNELS), None)
        self.head = self.root if channel is None else channel
        self.entries = [*self.root.iter(*ENTRIES)]
        self.head_line = line(self.head)
        feed_id = next(self.in_head(f"{elements.ATOM}id"), None)
        self.feed_id = None if feed_id is None else elements.identifier(feed_id)
        self.link_lines: dict[str, int | None] = {}  # by the relations that matter for history
        for link in self.in_head("{*}link"):
            for relation in relations(link):
                if relation in HISTORY or relation == "self":
                    self.link_lines.setdefault(relation, line(link))

    def in_head(self, *tags: str) -> Iterator[_Element]:
        return islice(self.head.iterchildren(*tags), MOST_ELEMENTS)

    def everywhere(self, *tags: str) -> Iterator[_Element]:
        return islice(self.root.iter(*tags), MOST_ELEMENTS)

    def line_of(self, name: str) -> int | None:
        """Return the line of an entry by its name in a `Problem`: its id, or its position."""
        kind, _, number = name.rpartition(" ")
        if kind in ("entry", "item") and number.isdecimal() and 0 < int(number) <= len(self.entries):
            return line(self.entries[int(number) - 1])
        for entry in self.entries:
            if name in (elements.identifier(child) for child in entry):
                return line(entry)
        return None

    def drop_elements(self) -> None:
        self.root = self.head = etree.Element("none")
        self.entries = []


def relations(link: _Element) -> list[str]:
    """Return the short names of the relations of a link; [] if the attribute is too long."""
    return elements.relations(link) if len(link.get("rel") or "") <= LONGEST_REL else []


def line(element: _Element | None) -> int | None:
    return None if element is None else cast("int | None", element.sourceline)


@dataclass(slots=True)
class Document:
    """A document of the chain, which drops its body, entries and elements once it is checked.

    :param headers: by names in lower case
    :param redirects: the statuses of the redirects that led to it
    :param is_cut: whether it is shorter than announced
    """

    fetch: Fetch
    headers: dict[str, str]
    redirects: Sequence[int]
    is_cut: bool
    body: bytes
    feed: FeedDocument
    markup: Markup = field(init=False)
    links: dict[str, str] = field(default_factory=dict)  # of the history, as a crawl follows them
    digest: bytes = b""
    entries: int = 0
    oldest: str | None = None  # the time of an entry
    newest: str | None = None
    widest: int = 0  # the longest time between two consecutive entries, in seconds
    shared: int = 0  # entries that the next newer document has too
    conditional: int | None = None  # status of the response to a conditional request

    def __post_init__(self) -> None:
        feed = self.feed
        self.markup = Markup(self.body, self.headers.get("content-type"))
        times = sorted(filter(None, (e.published or e.updated for e in feed.entries)), key=comparable)
        if times:
            self.oldest, self.newest = times[0], times[-1]
            self.widest = max(map(elapsed, times, times[1:]), default=0)
        names = {*HISTORY, "self"} & feed.links.keys()
        self.links = {name: self.secured(feed.links[name]) for name in names}
        self.digest = _sha256(self.body)
        self.entries = len(feed.entries)

    # A crawl does the same; a rule on links reports those with http:.
    def secured(self, url: str) -> str:
        return secured(url, [self.fetch.feed], [self.fetch.feed, self.fetch.url])

    @property
    def number(self) -> int:
        """Its place in the chain; 0 is the subscription document, 1 the document that it links to, …"""
        return -self.fetch.position.step

    @property
    def requested_url(self) -> str:
        return self.fetch.requested_url

    @property
    def own(self) -> tuple[str, str]:
        """Its URLs, before and after redirects."""
        return self.fetch.requested_url, self.fetch.url

    @property
    def is_moved(self) -> bool:
        """Whether it has moved permanently (RFC 9110, 15.4.2 and 15.4.9)."""
        return bool(self.redirects) and all(status in PERMANENT for status in self.redirects)

    @property
    def link_url(self) -> str:
        """The URL that links to it should have: the one it has moved to, else the requested one."""
        return self.own[self.is_moved]

    @property
    def is_http(self) -> bool:
        return self.fetch.url.startswith(("http:", "https:"))

    @property
    def is_archive(self) -> bool:
        return self.fetch.role is Role.ARCHIVE

    @property
    def is_whole(self) -> bool:
        """Whether it has the announced length, and no fault that cuts it: it contains all its entries."""
        return self.feed.fault is None and not self.is_cut

    @property
    def conditions(self) -> dict[str, str]:
        fields = (("If-None-Match", "etag"), ("If-Modified-Since", "last-modified"))
        return {name: value for name, key in fields if (value := self.headers.get(key))}

    def has(self, needs: Needs) -> bool:
        """Return whether the document has what a rule needs; JSON has no elements to check."""
        if needs is Needs.MARKUP:
            return self.markup.is_known or self.feed.format in ("activitystreams", "json", "multipart")
        return needs is Needs.NOTHING or self.is_whole


# -- the chain --------------------------------------------------------------------------------------------

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
# A document, and the hashes of an entry's update time (0 without one) and content.
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
        versions: dict[int, Version] = {}
        for position, entry in enumerate(feed.entries):
            identity = results.identity(entry, feed)
            if identity is None:
                self.number += 1
                continue
            line_number = line(elements[position]) if has_lines else None
            key = hash(identity)
            if key not in versions:
                content = hash(entry.digest or results.digest(entry))
                versions[key] = document, hash(comparable(entry.updated)), content
                if seen := self._seen.get(key):
                    (newer, time, newer_content), updated = seen, versions[key][1]
                    self.repeated += 1
                    document.shared += newer.number == document.number - 1
                    has_other_content = time == updated and newer_content != content
                    if has_other_content and len(self.clashes) < MOST_CLASHES:
                        self.clashes.append((identity, newer, document, line_number, bool(updated)))
                else:
                    self.number += 1
            if entry.id is not None and entry.link is not None:
                self._note_link(entry.link, key, document, line_number)
        self.is_full = self.is_full or len(versions) > MOST_ENTRIES - len(self._seen)
        if not self.is_full:
            self._seen.update(versions)

    def _note_link(self, link: str, key: int, document: Document, line_number: int | None) -> None:
        first_id = self._links.get(link_hash := hash(link))
        if first_id is None and not self.is_full:
            self._links[link_hash] = key
        elif first_id not in (None, key) and len(self.changed_ids) < MOST_CLASHES:
            self.changed_ids.append((link, document, line_number))


@dataclass(slots=True)
class History:
    """All documents of a walk, from the subscription document to the oldest one, and what the rules find.

    :param missing: the document at which the chain breaks, why, as a sentence without its subject, and
        whether a limit of the user excluded it
    :param loop: number of the document that the oldest one leads back to or equals, and the URL of that link
    :param limit: the number of documents at which the walk was stopped
    :param targets: for each URL that was requested, the number of the document that it leads to, OTHER if
        that is outside the chain, or why it could not be fetched
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
        for rule, check in DOCUMENT_RULES.items():
            if document.has(rule.needs):
                self._note(rule, check(document), document.requested_url)
        self.entries.add(document)
        self.kind = self.kind or chain.kind(document.feed)
        document.body = b""
        document.feed = replace(document.feed, entries=[], problems=[], tombstones=[])
        document.markup.drop_elements()
        self.documents.append(document)
        for url in document.own:
            self.targets.setdefault(url, document.number)
        self._digests.setdefault(document.digest, document.number)
        self.missing = None

    def following(self, max_documents: int) -> Link | None:
        """Return the link of the last document to the next older one, unless the walk ends here."""
        newer, last = [None, *self.documents][-2:]
        older = last and chain.older_document(last.feed, last.own)
        if not older or not last:
            return None
        older = older._replace(url=last.secured(older.url))
        number = self.find(older.url)
        if number is None and newer and newer.digest == last.digest:
            number = newer.number
        if isinstance(number, int):
            self.loop = number, older.url
        elif len(self.documents) >= max_documents:
            self.limit = max_documents
        return None if self.loop or self.limit else older

    def note_target(self, url: str, target: str, body: bytes) -> None:
        number = self.find(target)
        if not isinstance(number, int):
            number = self._digests.get(_sha256(body), OTHER)
        self.targets[url] = number

    def find(self, url: str | None) -> int | str | None:
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

    def finish(self) -> tuple[list[Finding], Totals]:
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

    def _summary(self, findings: list[Finding]) -> Totals:
        count = Counter(finding.severity for finding in findings)
        errors, warnings = count[Severity.ERROR], count[Severity.WARNING]
        read, entries = len(self.documents), self.entries.number
        walked = WALKED.get(self.kind or Kind.SINGLE, "The feed has one document")
        if not read:
            walked = "The feed could not be read"
        elif not self.is_whole:
            walked = "The history was not read to its end"
        sentence = (
            f"{walked}: {numbered(read, 'document', 'documents')}, {numbered(entries, 'entry', 'entries')}; "
            f"{numbered(errors, 'error', 'errors')}, {numbered(warnings, 'warning', 'warnings')}"
        )
        return Totals(self.url, self.kind, read, entries, self.is_whole, errors, warnings, sentence)


def _sha256(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()
