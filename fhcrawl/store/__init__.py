"""The logical feeds and chains on disk."""

from __future__ import annotations

from fhcrawl.store.store import Feed, Step, Store, Subscription

__all__ = ["Feed", "Step", "Store", "Subscription"]
