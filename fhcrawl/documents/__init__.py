"""What one feed document says: bytes in, FeedDocument out; no Scrapy, no I/O, no clock."""

from __future__ import annotations

from fhcrawl.documents.bounds import Bounds
from fhcrawl.documents.formats import read
from fhcrawl.documents.model import Enclosure, Entry, FeedDocument, Problem, Rhythm, Tombstone

__all__ = ["Bounds", "Enclosure", "Entry", "FeedDocument", "Problem", "Rhythm", "Tombstone", "read"]
