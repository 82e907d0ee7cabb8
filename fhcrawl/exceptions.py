"""Everything that fhcrawl raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from fhcrawl.reasons import ReasonKind


class FhcrawlError(Exception):
    """The root of fhcrawl's exceptions; `str()` of one is a sentence for the user."""


class NotAFeedError(FhcrawlError):
    """A response body that is no feed document at all; `str()` says what it is instead.

    :param kind: of the reason; `LIMIT` if it is beyond a bound, or the feed's time was over
    :param feeds: absolute URLs of the feeds that an HTML page names
    :param bound: one of `fhcrawl.documents.limits.KINDS`, or ''
    """

    def __init__(self, kind: ReasonKind, message: str, feeds: Sequence[str] = (), bound: str = "") -> None:
        super().__init__(message)
        self.kind, self.feeds, self.bound = kind, feeds, bound

    def __reduce__(self) -> tuple[type[Self], tuple[ReasonKind, str, Sequence[str], str]]:
        """What pickle needs, since it would call the class with the message alone."""
        return type(self), (self.kind, str(self), self.feeds, self.bound)


class ArgumentError(FhcrawlError):
    """A spider argument or a setting that cannot be used; says what to write instead."""


class ContextError(FhcrawlError):
    """A request does not carry what one of a walk does; the sentence names the keys."""


class StoreError(FhcrawlError):
    """The store cannot be opened, read or written; the sentence names the cause."""


class LeaseError(StoreError):
    """A feed or a delivery belongs to another crawl; the sentence says to which."""


class BegunError(LeaseError):
    """A feed is crawled by another process of this job."""


class UnsettledError(LeaseError):
    """An export of a feed was cut off, and nobody has made that good; until then nothing of it may change."""


class ClusterError(FhcrawlError):
    """What the processes of a job share cannot be reached; the sentence names the cause."""


class ExportError(FhcrawlError):
    """An export cannot be written; the sentence says where, and why."""
