"""Reads the head section of a document, by one rule for all XML formats."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents import head_source, history, misplaced, modules, tombstones, update_schedule
from fhcrawl.documents.dates import utc
from fhcrawl.documents.model import FeedDocument
from fhcrawl.documents.tombstones import DELETED_ENTRY
from fhcrawl.documents.xml import elements

# OpenSearch 1.1 Draft 6, 'The "totalResults" element': "The number of search results available for the
# current search." Blogger's and others' feeds have it in the namespace of version 1.0 (RSS) or of 1.1.
TOTALS = tuple(
    f"{{http://a9.com/-/spec/{version}/}}totalResults" for version in ("opensearch/1.1", "opensearchrss/1.0")
)
# Apple's tag for podcasts: "The new podcast RSS Feed URL".
NEW_URL = f"{modules.ITUNES}new-feed-url"
NUMBER = re.compile(r"[0-9]{1,9}")

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
        lost = _misplaced(section, vocabulary, parsed.layout.entries)
        problems.extend(misplaced.problems(lost, parsed.bounds.entries))
    links = history.read(head, base, vocabulary.link)
    titles = map(vocabulary.line, head.get(f"{namespace}title", ()))
    deleted = [*head.get(DELETED_ENTRY, ()), *(beside or {}).get(DELETED_ENTRY, ())]
    document = FeedDocument(
        format=vocabulary.format,
        title=next(filter(None, titles), None),
        updated=_update_time(head, vocabulary.update_times),
        links=links.links,
        other_links=links.other_links,
        archive=links.archive,
        complete=links.complete,
        entries=entries,
        problems=problems,
        fault=parsed.fault,
        tombstones=tombstones.read(deleted, problems, parsed.bounds),
        incremental=links.incremental,
        update_schedule=update_schedule.read(head, namespace),
        total=_total(head),
        new_url=elements.line_of(head, NEW_URL),
    )
    if parsed.keeps_head:
        document.head = _source(parsed, vocabulary, problems)
    return document


def _source(parsed: Parsed, vocabulary: Vocabulary, problems: list[Problem]) -> HeadSource | None:
    """Return the head section as it came; the elements of the document are changed by this."""
    channel = elements.first(parsed.root, f"{vocabulary.namespace}channel")
    section = parsed.root if channel is None else channel
    # RSS 1.0, 5.3.5: the channel's items are a table of contents.
    tags = (*parsed.layout.entries, vocabulary.entry, f"{vocabulary.namespace}items")
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
