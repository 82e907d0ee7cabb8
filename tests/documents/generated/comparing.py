"""Compares what fhcrawl reads of generated documents with what they say."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from fhcrawl.documents import Entry, FeedDocument
from fhcrawl.exceptions import NotAFeedError
from tests.documents.generated.documents import LOCATION, Document, Element
from tests.documents.generated.expected import expected, markup
from tests.documents.generated.generator import generate
from tests.feeds import read

# An id that fhcrawl makes of an entry that has none.
MADE = "urn:sha256:"
FRACTION = re.compile(r"\.\d+Z$")


class Difference(NamedTuple):
    """A field that fhcrawl reads wrongly.

    :param found: what it reads; None for nothing
    """

    document: Document
    field: str
    found: Any
    expected: Any

    def __str__(self) -> str:
        lines = (
            f"{self.field}: {self.found!r}, expected {self.expected!r}",
            f"{self.document.encoding}",
            self.document.text(),
        )
        return "\n".join(lines)


def cut_fraction(time: str | None) -> str | None:
    return FRACTION.sub("Z", time) if time else None


# fhcrawl keeps white space around markup, where it may matter (RFC 4287, 3.1.1.2).
def _fields(entry: Entry) -> dict[str, Any]:
    same = ("title", "link", "authors", "categories", "content_type")
    return {
        **{name: getattr(entry, name) for name in same},
        "id": None if (entry.id or "").startswith(MADE) else entry.id,
        "published": cut_fraction(entry.published),
        "updated": cut_fraction(entry.updated),
        "summary": markup(entry.summary),
        "content": markup(entry.content),
        "enclosures": [(one["url"], one["type"], one["length"]) for one in entry.enclosures],
    }


def _head(document: FeedDocument) -> dict[str, Any]:
    return {
        "head title": document.title,
        "head updated": cut_fraction(document.updated),
        "head links": document.links,
    }


def differences(document: Document) -> Iterator[Difference]:
    """Yield the fields that fhcrawl reads wrongly."""
    charset = document.encoding.charset
    try:
        found = read(document.body(), LOCATION, f"application/xml; charset={charset}" if charset else None)
    except NotAFeedError as error:
        yield Difference(document, "entries", str(error), len(document.entries))
        return
    if len(found.entries) != len(document.entries):
        yield Difference(document, "entries", len(found.entries), len(document.entries))
        return
    parts: list[tuple[Element, dict[str, Any]]] = [(document.head, _head(found))]
    parts += zip(document.entries, map(_fields, found.entries), strict=True)
    for element, fields in parts:
        for field, value in fields.items():
            right = expected(document, element, field)
            if value != right:
                yield Difference(document, field, value, right)


def hunt(seeds: Iterable[int]) -> Iterator[str]:
    """Yield a report of each difference in the documents of some seeds."""
    for seed in seeds:
        for difference in differences(generate(seed)):
            yield f"document {seed}, {difference}"
