"""A downloader middleware for a test: no two requests have the same headers."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request


class VaryingMiddleware:
    def __init__(self) -> None:
        self._numbers = count()

    def process_request(self, request: Request) -> None:
        request.headers["X-Number"] = str(next(self._numbers))
