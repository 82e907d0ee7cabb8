"""Exceptions that end a request before there is a document."""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest

from fhcrawl.exceptions import FhcrawlError
from fhcrawl.reasons import ReasonKind


class RefusedUrl(FhcrawlError, IgnoreRequest):  # noqa: N818
    """A URL that came out of a feed and may not be fetched.

    :param kind: of the reason
    """

    def __init__(self, kind: ReasonKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class LimitReached(FhcrawlError, IgnoreRequest):  # noqa: N818
    """A request beyond a limit that the user has set.

    :param wait: for how many seconds the server wants none
    """

    kind = ReasonKind.LIMIT

    def __init__(self, message: str, wait: float = 0) -> None:
        super().__init__(message)
        self.wait = wait


class HeadersTooLarge(FhcrawlError, IgnoreRequest):  # noqa: N818
    """A response whose headers alone are too much."""


class TooManyStreams(FhcrawlError, IgnoreRequest):  # noqa: N818
    """A compressed body that consists of more streams than it may.

    :param most: how many it may
    """

    def __init__(self, most: int) -> None:
        super().__init__(f"consists of more than {most} compressed streams")
