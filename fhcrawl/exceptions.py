"""Everything that fhcrawl raises."""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest


class FhcrawlError(Exception):
    """The root of fhcrawl's exceptions; `str()` of one is a sentence for the user."""


class NotAFeedError(FhcrawlError):
    """A response body that is no feed document at all.

    :param kind: why, as a reason of the verdict names it: `empty`, `html`, `not-xml`, `not-a-feed`
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ArgumentError(FhcrawlError):
    """A spider argument or a setting that cannot be used; says what to write instead."""


class StoreError(FhcrawlError):
    """The store cannot be opened, read or written; carries the URL (without password) and the cause."""


class ExportError(FhcrawlError):
    """An export cannot be written; its changes stay undelivered."""


class LimitReached(FhcrawlError, IgnoreRequest):  # noqa: N818
    """A request beyond a limit that the user has set."""
