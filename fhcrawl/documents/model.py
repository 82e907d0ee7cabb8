"""Plain values that the readers of all formats return."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict
from urllib.parse import quote

EXPORT = "{urn:x-fhcrawl:export}"  # the namespace of what `fhcrawl export` adds to documents
OWN_ID = f"{EXPORT}id"  # attribute: an id that is not an IRI
# Attribute of elements that the publisher's feed does not have: those that RFC 4287 requires, a link to a
# document that does not exist, an entry that stands for a gap. The value names their source.
PLACEHOLDER = f"{EXPORT}stands-in"
VERDICT, REASON = f"{EXPORT}verdict", f"{EXPORT}reason"  # elements: why an exported feed is not complete
URN = "urn:x-fhcrawl:id:"
# RFC 3987, 2.2: IRI = scheme ":" ihier-part …; RFC 9110, 4.2: http(s) has an authority.
IRI = re.compile(
    r"(?!https?:(?!//[^/?#]))[a-z][a-z0-9+.-]*:"
    r"(?:[^\x00-\x20\x7f-\xa0<>\"{}|\\^`%\u2028\u2029\ufff0-\uffff]|%[0-9a-f]{2})+",
    re.ASCII | re.IGNORECASE,
)
# XML 1.0, 2.3: S; RFC 8259, 2 has the same. Other white space may be part of an id.
WHITE_SPACE = " \t\r\n"
# Characters that XML 1.0, 2.2, databases and UTF-8 do not allow.
NO_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def identifier(value: str | None) -> str | None:
    """Return an id as it is stored, without XML's white space around it; None if it is empty.

    A character that cannot be stored becomes U+FFFD and its number in braces, so that different ids stay
    different.
    """
    if value is None or value.isspace():
        return None
    value = value.strip(WHITE_SPACE)
    if not value.isprintable():
        value = NO_CHARACTERS.sub(lambda match: f"\ufffd{{{ord(match[0]):04X}}}", value)
    return value or None


# RFC 4287, 4.2.6: "Its content MUST be an IRI". Feed readers resolve any other id against xml:base.
def iri_of(value: str) -> str:
    """Return the id itself if it is an IRI, else a URN that contains it."""
    return value if IRI.fullmatch(value) else URN + quote(value, safe="", errors="surrogatepass")


def digest(title: str | None, published: str | None, summary: str | None) -> str | None:
    """Return an id for an entry without an id and a link; None if it has no title and no summary."""
    if not (title or summary):
        return None
    parts = (title, published, summary)
    return f"urn:sha256:{hashlib.sha256(json.dumps(parts).encode()).hexdigest()}"


class Enclosure(TypedDict):
    """A file that belongs to an entry (RFC 4287, 4.2.7.2 'enclosure'; RSS 2.0 <enclosure>)."""

    url: str
    type: str | None
    length: int | None


# Fields of an entry that do not count as its content.
DETAILS = ("title_type", "summary_type", "base", "language", "shared_id")


@dataclass(slots=True)
class Entry:
    """An entry of one document. Strings are unchanged, and never ''; times are ISO 8601 in UTC ending in `Z`.

    :param title_type, summary_type: like `content_type`; None if the format does not define it
    :param base, language: of the content, or of the entry; a `base` that is too long is None, a `language`
        that is declared as unknown is ''
    :param original: the element or the JSON object of the entry, in UTF-8
    :param digest: the result of `logical_feed.results.digest`, once it has been computed
    """

    id: str | None = None
    title: str | None = None
    link: str | None = None
    published: str | None = None
    updated: str | None = None
    authors: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    summary: str | None = None
    content: str | None = None
    content_type: str | None = None
    enclosures: list[Enclosure] = field(default_factory=list)
    operation: str | None = None
    title_type: str | None = None
    summary_type: str | None = None
    base: str | None = None
    language: str | None = None
    original: bytes | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault of an entry or of the document, or a repair; a fault of one entry never affects another one.

    :param kind: of an entry `no-id`, `no-title`, `unreadable-date`, `interpreted-date`, `nonstandard`,
        `repaired`, `entry-lost`, `no-file`, `no-operation`, `backwards`; of a tombstone `no-ref`; of the
        document `repaired`, `disagrees`, `backwards`, `unresolved-entities`, `head-cut`, `too-many`
    :param entry: the id, title or position of the entry; '' for the document
    """

    kind: str
    entry: str
    detail: str


class HeadSource(NamedTuple):
    """The XML or JSON of a document without its entries; `digest` is of it without its update times."""

    original: str
    digest: str


class Tombstone(NamedTuple):
    """A deleted entry (RFC 6721, 3: at:deleted-entry); `when` is ISO 8601 in UTC, None if unreadable."""

    ref: str
    when: str | None


class DeclaredVerdict(NamedTuple):
    """The verdict on an exported feed that is not complete, and its first reasons, in words."""

    verdict: str
    reasons: str


@dataclass(frozen=True, slots=True)
class UpdateSchedule:
    """When a feed changes, as one of its documents declares it.

    :param ttl: minutes for which the document can be cached (RSS 2.0)
    :param period: seconds from one update to the next (RSS 1.0's syndication module)
    :param base: the time of one of these updates, ISO 8601 in UTC, without fractions
    :param skip_hours: hours of the day in UTC, 0 to 23, without requests
    :param skip_days: days of the week, 0 is Monday, without requests
    """

    ttl: int | None = None
    period: int | None = None
    base: str | None = None
    skip_hours: list[int] = field(default_factory=list)
    skip_days: list[int] = field(default_factory=list)


@dataclass(slots=True)
class FeedDocument:
    """A feed document. The readers translate the terms of drafts and of other formats into RFC 5005's.

    :param format: `activitystreams`, `atom`, `ghost`, `rss`, `json` or `multipart`
    :param updated: the document's own update time (RFC 5005, 4.2), ISO 8601 in UTC
    :param links: the first absolute URL of each link relation
    :param other_links: the URLs that contradict these, for links of the history
    :param entries: in document order; after a `fault`, the complete ones before it
    :param problems: faults and repairs, those of the document first
    :param fault: why the document is incomplete or not well-formed, as a sentence
    :param incremental: whether the document belongs to an archived feed by RFC 5005's drafts; without a
        `prev-archive` link it is the oldest document of the feed
    :param total: number of entries of all pages of the feed, as the document declares
    :param new_url: URL to which the feed has moved (itunes:new-feed-url)
    :param head: None if it is not kept, or if the format has none
    :param site: URL of the web page that an RSS channel belongs to
    :param declared: None if the document does not say that entries are missing, or may be missing
    """

    format: str
    title: str | None = None
    updated: str | None = None
    links: dict[str, str] = field(default_factory=dict)
    archive: bool = False
    complete: bool = False
    entries: list[Entry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    fault: str | None = None
    tombstones: list[Tombstone] = field(default_factory=list)
    incremental: bool = False
    update_schedule: UpdateSchedule | None = None
    other_links: dict[str, list[str]] = field(default_factory=dict)
    total: int | None = None
    new_url: str | None = None
    head: HeadSource | None = None
    site: str | None = None
    declared: DeclaredVerdict | None = None
