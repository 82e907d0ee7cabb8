"""Reads the head section of a document, by one rule for all XML formats, and keeps it as it came."""

from __future__ import annotations

import hashlib
import json
import re
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from fhcrawl.documents import modules
from fhcrawl.documents.dates import utc
from fhcrawl.documents.links import head_links
from fhcrawl.documents.model import (
    NO_CHARACTERS,
    OWN_ID,
    REASON,
    VERDICT,
    DeclaredVerdict,
    FeedDocument,
    HeadSource,
    Problem,
    Tombstone,
    UpdateSchedule,
    identifier,
)
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, ENTRIES, FH
from fhcrawl.documents.xml.namespaces import braced

# OpenSearch 1.1 Draft 6, totalResults; Blogger's feeds have it in the namespace of 1.0 (RSS) or of 1.1.
TOTALS = tuple(
    f"{{http://a9.com/-/spec/{version}/}}totalResults" for version in ("opensearch/1.1", "opensearchrss/1.0")
)
NEW_URL = f"{modules.ITUNES}new-feed-url"
NUMBER = re.compile(r"[0-9]{1,9}")
SY = braced("sy")
PERIOD, FREQUENCY, BASE = f"{SY}updatePeriod", f"{SY}updateFrequency", f"{SY}updateBase"
DAY = 24 * 60 * 60
# Syndication module, updatePeriod: "Acceptable values are: hourly, daily, weekly, monthly, yearly."
PERIODS = {"hourly": DAY // 24, "daily": DAY, "weekly": 7 * DAY, "monthly": 30 * DAY, "yearly": 365 * DAY}
# RSS 2.0, skipHours: "a number between 0 and 23, representing a time in GMT". Some feeds count to 24.
HOURS = {text: hour % 24 for hour in range(25) for text in (str(hour), f"{hour:02}")}
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DAYS = {name: number for number, name in enumerate(WEEKDAYS)}
EMPTY = UpdateSchedule()
LINK = f"{ATOM}link"
ARCHIVE, COMPLETE, PREV = f"{FH}archive", f"{FH}complete", f"{FH}prev"
DELETED_ENTRY = f"{braced('at')}deleted-entry"
FLAGS = (f"{FH}stateful", f"{FH}incremental")
INCREMENTAL = {"1": True, "true": True, "0": False, "false": False}
# Entries in these elements are not lost: a deleted entry, the entries of another feed.
NOT_MISPLACED = (DELETED_ENTRY, f"{elements.ATOM}feed")
MOST_REASONS = 10
LARGEST = 1024**2  # characters; of a longer head section, the elements or members that fit are kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.formats.jsonfeed import Object
    from fhcrawl.documents.model import Entry
    from fhcrawl.documents.modules import FieldReader
    from fhcrawl.documents.xml.elements import Head
    from fhcrawl.documents.xml.parsing import Parsed


class Vocabulary(NamedTuple):
    """The names of a format in one namespace, and the readers of its elements, in order of precedence.

    :param dates: the children that are dates, with the field that each fills, and its name in problems
    :param link: tag of links, besides atom:link
    :param has_entries_anywhere: entries are read anywhere: RSS items have no namespace, unlike foreign markup
    :param escaped: tags of an entry's children that contain escaped markup
    :param substitutes: children used if no other child has filled their field
    """

    format: str
    namespace: str
    entry: str
    fields: dict[str, FieldReader]
    dates: dict[str, tuple[str, str]]
    update_times: tuple[str, ...]
    link: str = LINK
    line: Callable[[_Element], str | None] = elements.line
    has_entries_anywhere: bool = False
    escaped: frozenset[str] = frozenset()
    substitutes: dict[str, FieldReader] = {}  # noqa: RUF012 - never modified


def read(
    parsed: Parsed,
    head: Head,
    base: str,
    vocabulary: Vocabulary,
    entries: list[Entry],
    problems: list[Problem],
    beside: Head | None = None,
) -> FeedDocument:
    """Read the head section of a document whose entries are already read; `beside` are its siblings."""
    namespace = vocabulary.namespace
    for section in (head, beside or {}):
        detail = "it is outside of where this format has entries, and is skipped"
        for number, _entry in enumerate(_misplaced(section, vocabulary), 1):
            problems.append(Problem("entry-lost", f"misplaced entry {number}", detail))
    times = (utc(each.text or "") for tag in vocabulary.update_times for each in head.get(tag, ()))
    totals = (elements.line(each) or "" for tag in TOTALS for each in head.get(tag, ()))
    new_url = elements.line_of(head, NEW_URL)
    titles = map(vocabulary.line, head.get(f"{namespace}title", ()))
    deleted = [*head.get(DELETED_ENTRY, ()), *(beside or {}).get(DELETED_ENTRY, ())]
    document = FeedDocument(
        format=vocabulary.format,
        title=next(filter(None, titles), None),
        updated=next(filter(None, times), None),
        entries=entries,
        problems=problems,
        fault=parsed.fault,
        tombstones=_read_tombstones(deleted, problems),
        update_schedule=_update_schedule(head, namespace),
        total=next((int(text) for text in totals if NUMBER.fullmatch(text)), None),
        new_url=elements.resolve(new_url, base) if new_url else None,
    )
    _read_history(document, head, base, vocabulary.link)
    if parsed.keeps_head:
        document.head = _source_of_xml(parsed.root, vocabulary, problems)
    return document


def _read_history(document: FeedDocument, head: Head, base: str, link_tag: str) -> None:
    own_links = head.get(link_tag, []) if link_tag != LINK else []
    links = head_links([*own_links, *head.get(LINK, [])], base)
    # draft-nottingham-atompub-feed-history-00, 3: fh:stateful is 0 or 1; 04: fh:incremental is false or true.
    texts = (elements.text(head[tag][0]) or "" for tag in FLAGS if tag in head)
    flags = {INCREMENTAL.get("".join(text.split()).lower()) for text in texts}
    document.incremental = True in flags
    # Draft 00, 4: "prev" is "the previous representation of the feed"; elsewhere it is paging (RFC 5005, 3).
    for element in head.get(PREV, ()):
        reference = elements.line(element)
        url = elements.target(element, reference, base).partition("#")[0] if reference else ""
        links.add("prev-archive", url)
    for url in links.of("prev") if document.incremental else ():
        links.add("prev-archive", url)
    document.links, document.other_links = links.first, links.others
    document.archive = ARCHIVE in head
    document.declared = _declared_verdict(head)
    # With contradictory flags, it is not complete, because that would delete entries.
    is_marked = COMPLETE in head or (False in flags and not document.incremental)
    document.complete = is_marked and document.declared is None


def _declared_verdict(head: Head) -> DeclaredVerdict | None:
    for element in head.get(VERDICT, ()):
        reasons = islice(element.iterchildren(REASON), MOST_REASONS)
        words = "; ".join(f"{reason.get('url', '')} {reason.get('detail', '')}" for reason in reasons)
        return DeclaredVerdict(element.get("value", ""), words)
    return None


# RFC 6721, 3: an at:deleted-entry must have a ref and a when; the links inside it are not the feed's.
def _read_tombstones(deleted: Iterable[_Element], problems: list[Problem]) -> list[Tombstone]:
    tombstones: list[Tombstone] = []
    for number, element in enumerate(deleted, 1):
        ref = identifier(deleted_id(element))
        if ref is None:
            problems.append(Problem("no-ref", f"deleted entry {number}", "its at:deleted-entry has no ref"))
            continue
        when = utc(element.get("when") or "")
        if when is None:
            detail = f"the when attribute of its at:deleted-entry is not a date: {element.get('when')!r}"
            problems.append(Problem("unreadable-date", ref, detail))
        tombstones.append(Tombstone(ref, when))
    return tombstones


def deleted_id(element: _Element) -> str | None:
    return element.get(OWN_ID) or element.get("ref")


# RFC 4287, 6.3: foreign markup is no error. But an entry of another format is not intended as foreign markup.
def _misplaced(section: Head, vocabulary: Vocabulary) -> Iterator[_Element]:
    if not vocabulary.has_entries_anywhere:
        yield from (child for tag in section if tag in ENTRIES for child in section[tag])
        return
    for child in (child for children in section.values() for child in children):
        yield from (entry for entry in entries_inside(child, ENTRIES) if entry.tag != vocabulary.entry)


def entries_inside(element: _Element, tags: frozenset[str]) -> Iterator[_Element]:
    """Yield the entries inside an element, or the element itself; entries inside entries are skipped."""
    if not len(element):
        yield from (element,) if element.tag in tags else ()
        return
    walk = etree.iterwalk(element, events=("start",), tag=(*tags, *NOT_MISPLACED))
    for _event, entry in walk:
        walk.skip_subtree()
        if entry.tag in tags:
            yield entry


def _update_schedule(head: Head, namespace: str) -> UpdateSchedule | None:
    period = None
    if head.keys() & {PERIOD, FREQUENCY, BASE}:
        # Syndication module, updatePeriod: "If omitted, daily is assumed."
        period = PERIODS.get((elements.line_of(head, PERIOD) or "daily").lower())
        # updateFrequency: "how many times in that period the channel is updated. If omitted a value of 1".
        frequency = _number(elements.line_of(head, FREQUENCY)) or 1
        period = max(1, period // frequency) if period else None
    base = utc(elements.line_of(head, BASE) or "") if period else None
    schedule = UpdateSchedule(
        ttl=_number(elements.line_of(head, f"{namespace}ttl")),
        period=period,
        base=f"{base.rstrip('Z').partition('.')[0]}Z" if base else None,
        skip_hours=_skipped(head, f"{namespace}skipHours", "hour", HOURS),
        skip_days=_skipped(head, f"{namespace}skipDays", "day", DAYS),
    )
    return None if schedule == EMPTY else schedule


def _number(text: str | None) -> int | None:
    return (int(text) or None) if text and NUMBER.fullmatch(text) else None


def _skipped(head: Head, tag: str, name: str, numbers: dict[str, int]) -> list[int]:
    children = (child for element in head.get(tag, ())[:1] for child in element)
    texts = (elements.line(child) or "" for child in children if elements.local_name(child) == name)
    return sorted({numbers[text.lower()] for text in texts if text.lower() in numbers})


_serialized = partial(etree.tostring, encoding="unicode", with_tail=False)


def _source_of_xml(root: _Element, vocabulary: Vocabulary, problems: list[Problem]) -> HeadSource | None:
    channel = elements.first(root, f"{vocabulary.namespace}channel")
    section = root if channel is None else channel
    # RSS 1.0, 5.3.5: the channel's items are a table of contents.
    tags = frozenset((*ENTRIES, vocabulary.entry, f"{vocabulary.namespace}items", DELETED_ENTRY))
    children = [
        child for parent in dict.fromkeys((root, section)) for child in parent if child is not section
    ]
    for entry in [entry for child in children for entry in entries_inside(child, tags)]:
        if (parent := entry.getparent()) is not None:
            elements.remove(entry, parent)
    original = _serialized(root)
    if len(original) > LARGEST:
        length = number_lost = 0
        for child in children:
            if (parent := child.getparent()) is None:
                continue
            child_length = len(_serialized(child))
            if length + child_length <= LARGEST:
                length += child_length
            else:
                elements.remove(child, parent)
                number_lost += 1
        problems.append(_cut_problem(number_lost))
        original = _serialized(root)
    # A new update time does not count as a change.
    for child in [child for tag in vocabulary.update_times for child in section.iterchildren(tag)]:
        elements.remove(child, section)
    return _head_source(original, _serialized(root))


def source_of_json(members: Object, problems: list[Problem]) -> HeadSource | None:
    """Return the members of a feed's object except its items; numbers become strings."""
    kept, length = {}, 0
    for name, value in members.items():
        member_length = len(json.dumps({name: value}, ensure_ascii=False))
        if length + member_length <= LARGEST:
            kept[name], length = value, length + member_length
    if len(kept) < len(members):
        problems.append(_cut_problem(len(members) - len(kept)))
    original = NO_CHARACTERS.sub("\ufffd", json.dumps(kept, ensure_ascii=False))
    return _head_source(original, original)


def _cut_problem(lost: int) -> Problem:
    detail = f"its head section has more than {LARGEST} characters; parts that are not kept: {lost}"
    return Problem("head-cut", "", detail)


def _head_source(original: str, compared: str) -> HeadSource | None:
    if len(original) > LARGEST * 2:
        return None
    digest = hashlib.blake2b(compared.encode("utf-8", "surrogatepass"), digest_size=16)
    return HeadSource(original, digest.hexdigest())
