"""Reads the head section of a document, by one rule for all XML formats."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents import head_source, history, misplaced, modules
from fhcrawl.documents.dates import utc
from fhcrawl.documents.history import DELETED_ENTRY
from fhcrawl.documents.model import FeedDocument, UpdateSchedule
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.layout import ENTRIES
from fhcrawl.documents.xml.namespaces import braced

# OpenSearch 1.1 Draft 6, 'The "totalResults" element': "The number of search results available for the
# current search." Blogger's and others' feeds have it in the namespace of version 1.0 (RSS) or of 1.1.
TOTALS = tuple(
    f"{{http://a9.com/-/spec/{version}/}}totalResults" for version in ("opensearch/1.1", "opensearchrss/1.0")
)
# Apple's tag for podcasts: "The new podcast RSS Feed URL".
NEW_URL = f"{modules.ITUNES}new-feed-url"
NUMBER = re.compile(r"[0-9]{1,9}")
# Update schedules: elements of RSS 2.0, and of RSS 1.0's syndication module.
SY = braced("sy")
PERIOD, FREQUENCY, BASE = f"{SY}updatePeriod", f"{SY}updateFrequency", f"{SY}updateBase"
HOUR = 60 * 60
DAY = 24 * HOUR
# Syndication module, updatePeriod: "Acceptable values are: hourly, daily, weekly, monthly, yearly."
PERIODS = {"hourly": HOUR, "daily": DAY, "weekly": 7 * DAY, "monthly": 30 * DAY, "yearly": 365 * DAY}
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
EMPTY = UpdateSchedule()

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.model import Entry, HeadSource, Problem
    from fhcrawl.documents.modules import FieldReader
    from fhcrawl.documents.xml.elements import Head
    from fhcrawl.documents.xml.parsed import Parsed


class Vocabulary(NamedTuple):
    """The names of a format in one namespace.

    :param format: as in FeedDocument
    :param namespace: namespace of the format's own elements, in braces
    :param entry: tag of entries
    :param fields: the readers of an entry's children, by tag
    :param dates: the children that are dates, as for `modules.date_problems`
    :param update_times: tags of elements with the update time of the document, in order of precedence
    :param link: tag of links, besides atom:link
    :param line: reads an element that holds one line
    :param has_entries_anywhere: whether entries are read in any element of the document: foreign markup has
        a namespace, so an RSS item without one is an entry anywhere
    :param escaped: tags of an entry's children with escaped markup
    :param substitutes: the readers of children that count where no other child has filled their field, in
        order of precedence
    """

    format: str
    namespace: str
    entry: str
    fields: dict[str, FieldReader]
    dates: dict[str, tuple[str, str]]
    update_times: tuple[str, ...]
    link: str = history.LINK
    line: Callable[[_Element], str | None] = elements.line
    has_entries_anywhere: bool = False
    escaped: frozenset[str] = frozenset()
    substitutes: dict[str, FieldReader] = {}  # noqa: RUF012 - a plain value, which nobody changes


def read(
    parsed: Parsed,
    head: Head,
    base: str,
    vocabulary: Vocabulary,
    entries: list[Entry],
    problems: list[Problem],
    beside: Head | None = None,
) -> FeedDocument:
    """Read the head section of a document whose entries have been read.

    :param head: all children of the head section
    :param base: base URL of the head section
    :param problems: problems of the entries; those of the head section are added
    :param beside: siblings of the head section: deleted entries, or entries of another format
    """
    namespace = vocabulary.namespace
    for section in (head, beside or {}):
        lost = _misplaced(section, vocabulary, ENTRIES)
        problems.extend(misplaced.problems(lost))
    titles = map(vocabulary.line, head.get(f"{namespace}title", ()))
    deleted = [*head.get(DELETED_ENTRY, ()), *(beside or {}).get(DELETED_ENTRY, ())]
    document = FeedDocument(
        format=vocabulary.format,
        title=next(filter(None, titles), None),
        updated=_update_time(head, vocabulary.update_times),
        links={},
        archive=False,
        complete=False,
        entries=entries,
        problems=problems,
        fault=parsed.fault,
        tombstones=history.read_tombstones(deleted, problems),
        update_schedule=_update_schedule(head, namespace),
        total=_total(head),
        new_url=elements.line_of(head, NEW_URL),
    )
    history.read(document, head, base, vocabulary.link)
    if parsed.keeps_head:
        document.head = _source(parsed, vocabulary, problems)
    return document


def _source(parsed: Parsed, vocabulary: Vocabulary, problems: list[Problem]) -> HeadSource | None:
    """Return the head section as it came; the elements of the document are changed by this."""
    channel = elements.first(parsed.root, f"{vocabulary.namespace}channel")
    section = parsed.root if channel is None else channel
    # RSS 1.0, 5.3.5: the channel's items are a table of contents.
    tags = (*ENTRIES, vocabulary.entry, f"{vocabulary.namespace}items")
    return head_source.from_xml(parsed.root, section, tags, vocabulary.update_times, problems)


# RFC 4287, 6.3: foreign markup is no error. But an entry of another format is not meant as foreign markup.
def _misplaced(section: Head, vocabulary: Vocabulary, tags: frozenset[str]) -> Iterator[_Element]:
    """Yield the entries of other formats in a section, which are not read."""
    if not vocabulary.has_entries_anywhere:
        yield from (child for tag in section if tag in tags for child in section[tag])
        return
    for child in (child for children in section.values() for child in children):
        yield from (entry for entry in misplaced.inside(child, tags) if entry.tag != vocabulary.entry)


def _total(head: Head) -> int | None:
    found = (elements.line(element) or "" for tag in TOTALS for element in head.get(tag, ()))
    return next((int(text) for text in found if NUMBER.fullmatch(text)), None)


def _update_time(head: Head, tags: Iterable[str]) -> str | None:
    times = (utc(element.text or "") for tag in tags for element in head.get(tag, ()))
    return next(filter(None, times), None)


def _update_schedule(head: Head, namespace: str) -> UpdateSchedule | None:
    """Read the update schedule in a head section's children; return None if there is none.

    :param namespace: namespace of RSS's own elements, in braces
    """
    period = _period(head)
    schedule = UpdateSchedule(
        ttl=_number(elements.line_of(head, f"{namespace}ttl")),
        period=period,
        base=None if period is None else _schedule_base(head),
        skip_hours=sorted(set(_hours(head, namespace))),
        skip_days=sorted(set(_days(head, namespace))),
    )
    return None if schedule == EMPTY else schedule


def _number(text: str | None) -> int | None:
    return (int(text) or None) if text and NUMBER.fullmatch(text) else None


# Syndication module, updateFrequency: "A positive integer indicates how many times in that period the channel
# is updated."
def _period(head: Head) -> int | None:
    if not head.keys() & {PERIOD, FREQUENCY, BASE}:
        return None
    # updatePeriod: "If omitted, daily is assumed."
    period = PERIODS.get((elements.line_of(head, PERIOD) or "daily").lower())
    # updateFrequency: "If omitted a value of 1 is assumed."
    frequency = _number(elements.line_of(head, FREQUENCY)) or 1
    return None if period is None else max(1, period // frequency)


def _schedule_base(head: Head) -> str | None:
    base = utc(elements.line_of(head, BASE) or "")
    return None if base is None else f"{base.rstrip('Z').partition('.')[0]}Z"


# RSS 2.0, skipHours: "a number between 0 and 23, representing a time in GMT". Some feeds count from 1 to 24.
def _hours(head: Head, namespace: str) -> Iterator[int]:
    for text in _children(head, f"{namespace}skipHours", "hour"):
        if text.isascii() and text.isdecimal() and len(text) <= len("24") and int(text) <= 24:  # noqa: PLR2004
            yield int(text) % 24


def _days(head: Head, namespace: str) -> Iterator[int]:
    for text in _children(head, f"{namespace}skipDays", "day"):
        if text.lower() in DAYS:
            yield DAYS.index(text.lower())


def _children(head: Head, tag: str, name: str) -> Iterator[str]:
    for element in head.get(tag, ())[:1]:
        for child in element:
            if elements.local_name(child) == name and (text := elements.line(child)):
                yield text
