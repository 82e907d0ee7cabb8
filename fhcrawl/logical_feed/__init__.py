"""The rules of a logical feed: identity, order of versions, chains, verdicts.

Pure: values in, values out.
"""

from __future__ import annotations

from fhcrawl.logical_feed.chain import FIRST_WALK, ChainPosition, Kind, Link, Role
from fhcrawl.logical_feed.results import Outcome, Version, Winner
from fhcrawl.logical_feed.verdicts import FAILED, WORDS, Reason, Verdict, in_words, shown_verdict, words

__all__ = [
    "FAILED",
    "FIRST_WALK",
    "WORDS",
    "ChainPosition",
    "Kind",
    "Link",
    "Outcome",
    "Reason",
    "Role",
    "Verdict",
    "Version",
    "Winner",
    "in_words",
    "shown_verdict",
    "words",
]
