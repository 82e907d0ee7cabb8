"""What the spider yields."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fhcrawl.documents import Enclosure
    from fhcrawl.logical_feed import Version, Visit


@dataclass
class EntryItem:
    """An entry, as exported. The fields are described in README.md, 'What an entry looks like'."""

    feed: str
    id: str
    title: str | None
    link: str | None
    published: str | None
    updated: str | None
    authors: list[str]
    categories: list[str]
    summary: str | None
    content: str | None
    content_type: str | None
    enclosures: list[Enclosure]
    operation: str | None
    document: str
    document_updated: str | None
    change: str | None = None


FIELDS = [f.name for f in fields(EntryItem)]


@dataclass
class EntryVersion(EntryItem):
    """An entry on its way through the pipelines: with the version that it is, and where it was read.

    Neither is exported.
    """

    version: Version = field(kw_only=True, repr=False, compare=False)
    visit: Visit = field(kw_only=True, repr=False, compare=False)
