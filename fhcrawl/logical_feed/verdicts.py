"""The verdict on a logical feed: whether its stored history is complete."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from fhcrawl.logical_feed.chain import Kind
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a verdict is not `complete`, because of which document, and since when.

    :param url: URL of that document
    :param detail: for people: the rest of a sentence that begins with the URL
    :param since: ISO 8601 in UTC
    """

    kind: ReasonKind
    url: str
    detail: str
    since: str


class Verdict(str, Enum):
    """Whether the stored history of a logical feed is complete."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    LOSSY = "lossy"
    UNKNOWN = "unknown"


SAYS_NOTHING = "says nothing of entries older than those it shows"
HAS_MOVED = "leads to another document: the publisher may have moved its archives while they were walked"
IS_PAGED = "is a paged feed, whose pages change while they are read (RFC 5005, 3)"


def verdict(feed: str, kind: Kind | None, since: str, gaps: Iterable[Reason]) -> tuple[Verdict, list[Reason]]:
    """Return the verdict on a feed, and the reasons why it is not `complete`.

    :param kind: kind of the last subscription document; None if none has been read yet
    :param since: when that document was read, ISO 8601 in UTC
    :param gaps: reasons for missing documents and entries that the feed refers to
    """
    reasons = list(gaps)
    if kind is None or kind is Kind.SINGLE:
        if kind is Kind.SINGLE:
            reasons.append(Reason(ReasonKind.NO_HISTORY, feed, SAYS_NOTHING, since))
        return Verdict.UNKNOWN, reasons
    if kind is Kind.PAGED:
        # RFC 5005, 3: "clients SHOULD NOT present paged feeds as coherent or complete".
        return Verdict.LOSSY, [*reasons, Reason(ReasonKind.PAGED, feed, IS_PAGED, since)]
    return (Verdict.INCOMPLETE if reasons else Verdict.COMPLETE), reasons
