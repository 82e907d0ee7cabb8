"""The exceptions of fhcrawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.utils.text import LONGEST_SENTENCE, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from fhcrawl.reasons import ReasonKind


class FhcrawlError(Exception):
    """The base class of fhcrawl's exceptions; `str()` returns a sentence without control characters."""

    # The message may contain text from feeds, servers and arguments.
    def __str__(self) -> str:
        return printable(super().__str__(), LONGEST_SENTENCE)


class NotAFeedError(FhcrawlError):
    """A response body is not a feed document; the message names what it is instead.

    :param kind: kind of the reason; `LIMIT` for a list of too many documents
    :param feeds: absolute URLs of the feeds that an HTML page links to
    """

    def __init__(self, kind: ReasonKind, message: str, feeds: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.kind, self.feeds = kind, feeds

    # By default, only the message is pickled.
    def __reduce__(self) -> tuple[type[Self], tuple[ReasonKind, str, Sequence[str]]]:
        return type(self), (self.kind, str(self), self.feeds)


class TimeIsOverError(NotAFeedError):
    """The time of a feed was over before a document was parsed; the kind is `LIMIT`."""


class NoIndexError(FhcrawlError):
    """The response of a web archive is not an index of captures; the message names the fault."""


class ArgumentError(FhcrawlError):
    """A spider argument or a setting is invalid; the message names a valid one."""


class ContextError(FhcrawlError):
    """A request lacks the context of a walk; the message names the missing keys."""


class StoreError(FhcrawlError):
    """The store cannot be opened, read or written; the message names the cause."""


class LeaseError(StoreError):
    """A feed or a delivery belongs to another crawl; the message names that crawl."""


class UnsettledError(LeaseError):
    """An export of a feed was interrupted and has not been recovered; until then the feed must not change."""


class ClusterError(FhcrawlError):
    """The Redis of a cluster cannot be used; the message names the cause."""


class ExportError(FhcrawlError):
    """An export cannot be written; the message names the place and the cause."""
