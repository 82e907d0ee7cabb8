"""Asks for a subscription document only if it has changed, at the URL where it was read."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from fhcrawl.crawling import responses
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

logger = logging.getLogger(__name__)


class ValidatorsMiddleware:
    """Sends ETag and Last-Modified back to the URL whose response brought them, and to no other one.

    A request that has them may be redirected, and one that has none may be redirected to that URL.
    """

    def process_request(self, request: Request) -> None:
        """Make a request for a subscription document conditional, or not."""
        if "validators" not in request.cb_kwargs:
            return
        for name in responses.VALIDATED:
            request.headers.pop(name, None)
        request.headers.update(responses.conditions(request))

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """The response; or, if only the charset has changed, a request for the whole document."""
        known = request.cb_kwargs.get("body_digest")
        if response.status != responses.NOT_MODIFIED or known is None or not responses.conditions(request):
            return response
        if not responses.corrects_charset(response, known):
            return response
        logger.info("%s has not changed, but its charset has: reading it again", printable(request.url))
        return request.replace(cb_kwargs={**request.cb_kwargs, "validators": None})
