"""Reads the head section of a document, by one rule for all XML formats."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents import history, tombstones, update_schedule
from fhcrawl.documents.dates import utc
from fhcrawl.documents.model import FeedDocument, Problem
from fhcrawl.documents.tombstones import DELETED_ENTRY
from fhcrawl.documents.xml import elements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lxml.etree import _Element

    from fhcrawl.documents.model import Entry
    from fhcrawl.documents.modules import FieldReader
    from fhcrawl.documents.xml.elements import Head
    from fhcrawl.documents.xml.parsed import Parsed

MISPLACED = "it has the namespace of another format than its document, and is not read"


class Vocabulary(NamedTuple):
    """The names of a format in one namespace.

    :param format: as in FeedDocument
    :param namespace: of the format's own elements, in braces
    :param entry: the tag of entries
    :param fields: what reads the children of an entry, by their tags
    :param dates: which of these are dates, as for `modules.unreadable_dates`
    :param update_times: the tags of elements with the update time of the document, the best first
    :param link: the tag of links, beside atom:link
    :param line: reads an element that holds one line
    """

    format: str
    namespace: str
    entry: str
    fields: dict[str, FieldReader]
    dates: dict[str, tuple[str, str]]
    update_times: tuple[str, ...]
    link: str = history.LINK
    line: Callable[[_Element], str | None] = elements.line


def read(
    parsed: Parsed,
    head: Head,
    base: str,
    vocabulary: Vocabulary,
    entries: Sequence[Entry],
    problems: list[Problem],
    beside: Iterable[_Element] = (),
) -> FeedDocument:
    """Read the head section of a document whose entries are read.

    :param head: the children of the head section, all of them
    :param base: the base URL of the head section
    :param problems: of the entries; those of the head section are added
    :param beside: elements beside the head section that may be deleted entries, or entries of another format
    """
    namespace = vocabulary.namespace
    problems.extend(_misplaced((child for tag in head for child in head[tag]), parsed))
    problems.extend(_misplaced((child for child in beside if child.tag != vocabulary.entry), parsed))
    links = history.read(head, base, vocabulary.link)
    titles = head.get(f"{namespace}title")
    deleted = chain(head.get(DELETED_ENTRY, ()), (child for child in beside if child.tag == DELETED_ENTRY))
    return FeedDocument(
        format=vocabulary.format,
        title=vocabulary.line(titles[0]) if titles else None,
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
    )


# RFC 4287, 6.3: foreign markup is no error. But an entry that stands where entries stand is meant as one.
def _misplaced(children: Iterable[_Element], parsed: Parsed) -> Iterator[Problem]:
    """Yield a problem for each entry of another format than the document, within the bounds."""
    misplaced = (child for child in children if child.tag in parsed.layout.entries)
    for number, _entry in enumerate(islice(misplaced, parsed.bounds.entries), 1):
        yield Problem("entry-lost", f"foreign entry {number}", MISPLACED)


def _update_time(head: Head, tags: Iterable[str]) -> str | None:
    times = (utc(elements.line_of(head, tag) or "") for tag in tags if tag in head)
    return next(filter(None, times), None)
