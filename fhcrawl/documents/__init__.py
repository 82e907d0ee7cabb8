"""Reads feed documents: bytes in, FeedDocument out; no Scrapy, no I/O, no clock."""

from __future__ import annotations

from fhcrawl.documents.detection import TOO_MANY, read
from fhcrawl.documents.lists import DocumentList, ListedDocument, as_feed
from fhcrawl.documents.model import (
    Enclosure,
    Entry,
    FeedDocument,
    HeadSource,
    Problem,
    Tombstone,
    UpdateSchedule,
)

__all__ = [
    "TOO_MANY",
    "DocumentList",
    "Enclosure",
    "Entry",
    "FeedDocument",
    "HeadSource",
    "ListedDocument",
    "Problem",
    "Tombstone",
    "UpdateSchedule",
    "as_feed",
    "read",
]
