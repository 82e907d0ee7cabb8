"""Makes requests for subscription documents conditional, at the URL where they were read."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from fhcrawl.crawling import responses
from fhcrawl.crawling.context import context_of, find_context, with_context

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

logger = logging.getLogger(__name__)


class ValidatorsMiddleware:
    """Sends ETag and Last-Modified only to the URL whose response had them.

    It runs for each redirect: from that URL, which removes them, and to that URL, which adds them.
    """

    def process_request(self, request: Request) -> None:
        """Add the validators to a request for a subscription document, or remove them."""
        context = find_context(request)
        if context is None or context.last_reading is None:
            return
        for name in responses.VALIDATED:
            request.headers.pop(name, None)
        request.headers.update(responses.conditions(request))

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """Return the response; for a 304 that names another charset, return an unconditional request."""
        if response.status != responses.NOT_MODIFIED or not responses.conditions(request):
            return response
        context = context_of(request)
        if context.last_reading is None or context.body_digest is None:
            return response
        if not responses.corrects_charset(response, context.body_digest):
            return response
        logger.info("%s has not changed, but its charset has: reading it again", request.url)
        last = replace(context.last_reading, validated_url=None, etag=None, last_modified=None)
        return with_context(request, replace(context, last_reading=last))
