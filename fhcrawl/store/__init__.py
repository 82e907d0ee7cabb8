"""The logical feeds and chains on disk."""

from __future__ import annotations

from fhcrawl.store.details import Details, Document
from fhcrawl.store.rows import End, Feed, Step, StoredSnapshot, Subscription
from fhcrawl.store.store import Store

__all__ = ["Details", "Document", "End", "Feed", "Step", "Store", "StoredSnapshot", "Subscription"]
