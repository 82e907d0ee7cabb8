"""The logical feeds and chains on disk."""

from __future__ import annotations

from fhcrawl.store.feeds import FEEDS_AT_ONCE, Details, Document, VerdictRecord
from fhcrawl.store.rows import End, Feed, Step, StoredSnapshot, Subscription
from fhcrawl.store.store import Store

__all__ = [
    "FEEDS_AT_ONCE",
    "Details",
    "Document",
    "End",
    "Feed",
    "Step",
    "Store",
    "StoredSnapshot",
    "Subscription",
    "VerdictRecord",
]
