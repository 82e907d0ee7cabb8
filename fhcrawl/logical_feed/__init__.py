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
    captured,
    is_archive,
    kind,
    kind_of_list,
    may_be_another,
    older_document,
    position_of_capture,
    subscription_link,
    subscription_relation,
)
from fhcrawl.logical_feed.continuity import (
    NewerPage,
    as_newer_page,
    begins_after,
    disagreements,
    is_before,
    reaches,
)
from fhcrawl.logical_feed.verdicts import (
    HAS_MOVED,
    WORDS,
    Evidence,
    Reason,
    Verdict,
    in_words,
    is_unreachable,
    verdict,
)
from fhcrawl.logical_feed.versions import (
    Outcome,
    Version,
    Winner,
    absence,
    decide,
    deletion,
    digest,
    identity,
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
    "NewerPage",
    "Outcome",
    "Reason",
    "Role",
    "Verdict",
    "Version",
    "Winner",
    "absence",
    "as_newer_page",
    "begins_after",
    "captured",
    "decide",
    "deletion",
    "digest",
    "disagreements",
    "identity",
    "in_words",
    "is_archive",
    "is_before",
    "is_unreachable",
    "kind",
    "kind_of_list",
    "may_be_another",
    "older_document",
    "position_of_capture",
    "reaches",
    "subscription_link",
    "subscription_relation",
    "verdict",
]
