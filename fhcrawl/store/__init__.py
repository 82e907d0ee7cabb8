"""The logical feeds and chains on disk."""

from __future__ import annotations

from fhcrawl.store.details import Details, Document
from fhcrawl.store.rows import End, Feed, Step, StoredSnapshot, Subscription
from fhcrawl.store.store import FEEDS_AT_ONCE, Store
from fhcrawl.store.verdicts import Said

__all__ = [
    "FEEDS_AT_ONCE",
    "Details",
    "Document",
    "End",
    "Feed",
    "Said",
    "Step",
    "Store",
    "StoredSnapshot",
    "Subscription",
]
