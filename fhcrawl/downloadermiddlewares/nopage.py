"""Returns errors that say that a page does not exist as 404s, for the software that answers so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.crawling.context import find_context
from fhcrawl.logical_feed.platforms import NAMED, NOT_FOUND

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response


class NoPageMiddleware:
    """Returns a 500 that says that a page does not exist as the 404 that it means.

    It is not to be retried. Every other 500 is, and is an error.
    """

    def process_response(self, request: Request, response: Response) -> Response:
        """Return the response, or a 404 in its place."""
        context = find_context(request)
        row = None if context is None else NAMED.get(context.platform or "")
        if context is None or row is None:
            return response
        is_none = row.is_denied(context.requested_url, response.status, response.body)
        return response.replace(status=NOT_FOUND) if is_none else response
