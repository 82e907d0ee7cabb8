"""The current time."""

from __future__ import annotations

from datetime import datetime, timezone


def now() -> str:
    """Return the current time: ISO 8601 in UTC, whole seconds, ending in `Z`."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
