"""What one feed document says: bytes in, FeedDocument out; no Scrapy, no I/O, no clock."""

from __future__ import annotations

from fhcrawl.documents.detection import read
from fhcrawl.documents.limits import Bounds
from fhcrawl.documents.lists import DocumentList, Listed, as_feed
from fhcrawl.documents.model import Enclosure, Entry, FeedDocument, Problem, Rhythm, Tombstone

__all__ = [
    "Bounds",
    "DocumentList",
    "Enclosure",
    "Entry",
    "FeedDocument",
    "Listed",
    "Problem",
    "Rhythm",
    "Tombstone",
    "as_feed",
    "read",
]
