"""Exceptions for requests that are not sent, and responses that are not read."""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest

from fhcrawl.exceptions import FhcrawlError
from fhcrawl.reasons import ReasonKind


class RefusedUrl(FhcrawlError, IgnoreRequest):  # noqa: N818
    """A URL from a feed that must not be fetched.

    :param kind: the kind of the reason
    """

    def __init__(self, kind: ReasonKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class LimitReached(FhcrawlError, IgnoreRequest):  # noqa: N818
    """A request beyond a limit of the user's settings.

    :param wait: for how many seconds the server asks not to be sent requests
    """

    kind = ReasonKind.LIMIT

    def __init__(self, message: str, wait: float = 0) -> None:
        super().__init__(message)
        self.wait = wait


class NotACapture(FhcrawlError, IgnoreRequest):  # noqa: N818
    """A response of a web archive that is no capture of a document."""


class HeadersTooLarge(FhcrawlError, IgnoreRequest):  # noqa: N818
    """A response with too many octets of headers, or too many content codings."""


class TooManyStreams(FhcrawlError, IgnoreRequest):  # noqa: N818
    """A compressed body that consists of too many streams.

    :param limit: the limit
    """

    def __init__(self, limit: int) -> None:
        super().__init__(f"consists of more than {limit} compressed streams")
