"""The registry of rules, the findings that they yield, and the documents that they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, cast

from lxml import etree

from fhcrawl.documents import detection
from fhcrawl.documents.formats import jsonfeed
from fhcrawl.documents.links import HISTORY
from fhcrawl.documents.xml import elements, encoding, parsing, repair
from fhcrawl.documents.xml.elements import ENTRIES
from fhcrawl.logical_feed import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.etree import _Element

    from fhcrawl.documents import FeedDocument
    from fhcrawl.logical_feed import Kind
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
    """What a rule yields.

    :param rule, clause: '' until the check sets them
    :param document: URL; None for the chain, and for the document that a rule receives
    :param line: from 1; None if it is unknown, or the complete document is meant
    :param text: a sentence
    :param fix: what the publisher can do, as a sentence; '' for nothing
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
    """

    url: str
    kind: Kind | None
    documents: int
    entries: int
    is_whole: bool
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
    """A rule, without its function.

    :param needs: a document without it is not checked; for a rule of the chain, it is needed to report what
        is missing
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
    """The elements of an XML document as written, with their lines; none without a root.

    :ivar head: atom:feed, or RSS's channel
    :ivar entries: in document order
    :ivar feed_id: the atom:id of the head section
    :ivar link_lines: the lines of the head section's links, by the relations that matter for history
    :ivar fault_line: where the document is not well-formed
    """

    def __init__(self, root: _Element | None, fault_line: int | None = None) -> None:
        self.is_known = root is not None
        self.fault_line = fault_line
        self.root = etree.Element("none") if root is None else root
        channel = next(self.root.iterchildren(*CHANNELS), None)
        self.head = self.root if channel is None else channel
        self.entries = [*self.root.iter(*ENTRIES)]
        self.head_line = line(self.head)
        feed_id = next(self.in_head(f"{elements.ATOM}id"), None)
        self.feed_id = None if feed_id is None else elements.identifier(feed_id)
        self.link_lines: dict[str, int | None] = {}
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


def read_markup(body: bytes, content_type: str | None) -> Markup:
    """Return the elements of a document; none if it is not well-formed XML.

    :param body: accepted by `documents.read`, which checks more
    """
    if detection.boundary(content_type) or jsonfeed.is_json(body):
        return Markup(None)
    # With the reader's namespaces, but without its repairs, which change lines.
    source, _repair = encoding.source(body, detection.declared(content_type)[1] or None)
    try:
        return Markup(parsing.parse_strict(repair.canonicalise(source)[0]))
    except etree.XMLSyntaxError as error:
        return Markup(None, error.lineno or None)


@dataclass(slots=True)
class Document:
    """A document of the chain; `Chain.add` sets the fields with defaults, and drops what they replace.

    :param headers: by names in lower case
    :param redirects: the statuses of the redirects that led to it
    :param is_cut: whether it is shorter than announced
    :param links: the head section's links that matter for history, by relation, as a crawl follows them
    :param digest: of its body
    :param oldest, newest: the times of its oldest and its newest entry; None if no entry has one
    :param widest: the longest time between two consecutive entries, in seconds
    :param shared: number of its entries that the next newer document has too
    :param conditional: the status of the response to a conditional request; None if none was made
    """

    fetch: Fetch
    headers: dict[str, str]
    redirects: Sequence[int]
    is_cut: bool
    body: bytes
    feed: FeedDocument
    markup: Markup
    links: dict[str, str] = field(default_factory=dict)
    digest: bytes = b""
    entries: int = 0
    oldest: str | None = None
    newest: str | None = None
    widest: int = 0
    shared: int = 0
    conditional: int | None = None

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
        """Whether it has header fields of HTTP."""
        return self.fetch.url.startswith(("http:", "https:"))

    @property
    def is_archive(self) -> bool:
        """Whether it was reached by a prev-archive link."""
        return self.fetch.role is Role.ARCHIVE

    @property
    def is_whole(self) -> bool:
        """Whether it has the announced length, and no fault that cuts it: it contains all its entries."""
        return self.feed.fault is None and not self.is_cut

    @property
    def conditions(self) -> dict[str, str]:
        """Header fields of a conditional request."""
        fields = (("If-None-Match", "etag"), ("If-Modified-Since", "last-modified"))
        return {name: value for name, key in fields if (value := self.headers.get(key))}

    def has(self, needs: Needs) -> bool:
        """Return whether the document has what a rule needs; JSON has no elements to check."""
        if needs is Needs.MARKUP:
            return self.markup.is_known or self.feed.format in ("activitystreams", "json", "multipart")
        return needs is Needs.NOTHING or self.is_whole
