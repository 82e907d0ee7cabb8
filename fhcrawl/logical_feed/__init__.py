"""The rules of a logical feed: identity, order of versions, chains, verdicts.

Pure: values in, values out.
"""

from __future__ import annotations

from fhcrawl.logical_feed.chain import (
    CHAIN,
    FIRST_WALK,
    ChainPosition,
    Kind,
    Link,
    Role,
    captured_at,
    is_archive,
    kind,
    older_document,
    position_of_capture,
)
from fhcrawl.logical_feed.results import (
    Outcome,
    Version,
    Winner,
    absence,
    decide,
    deletion,
    digest,
    identity,
)
from fhcrawl.logical_feed.verdicts import (
    HAS_MOVED,
    WORDS,
    Evidence,
    Reason,
    Verdict,
    in_words,
    is_not_read,
    shown_verdict,
    verdict,
)

__all__ = [
    "CHAIN",
    "FIRST_WALK",
    "HAS_MOVED",
    "WORDS",
    "ChainPosition",
    "Evidence",
    "Kind",
    "Link",
    "Outcome",
    "Reason",
    "Role",
    "Verdict",
    "Version",
    "Winner",
    "absence",
    "captured_at",
    "decide",
    "deletion",
    "digest",
    "identity",
    "in_words",
    "is_archive",
    "is_not_read",
    "kind",
    "older_document",
    "position_of_capture",
    "shown_verdict",
    "verdict",
]
