"""The database of logical feeds and their chains."""

from __future__ import annotations

from fhcrawl.store.chains import CheckedDocument
from fhcrawl.store.feeds import FEEDS_AT_ONCE, Details, Document, LatestEntry, VerdictRecord
from fhcrawl.store.mementos import Memento, TimeMap
from fhcrawl.store.statements import ChainEnd, DocumentRef, Feed, StoredSnapshot, WalkStart
from fhcrawl.store.store import Store

__all__ = [
    "FEEDS_AT_ONCE",
    "ChainEnd",
    "CheckedDocument",
    "Details",
    "Document",
    "DocumentRef",
    "Feed",
    "LatestEntry",
    "Memento",
    "Store",
    "StoredSnapshot",
    "TimeMap",
    "VerdictRecord",
    "WalkStart",
]
