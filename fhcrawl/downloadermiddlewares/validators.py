"""Asks for a subscription document only if it has changed, at the URL where it was read."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from fhcrawl.crawling import responses
from fhcrawl.crawling.context import context_of, find_context, with_context
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
        context = find_context(request)
        if context is None or context.last_reading is None:
            return
        for name in responses.VALIDATED:
            request.headers.pop(name, None)
        request.headers.update(responses.conditions(request))

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """The response; or, if only the charset has changed, a request for the whole document."""
        if response.status != responses.NOT_MODIFIED or not responses.conditions(request):
            return response
        context = context_of(request)
        if context.last_reading is None or context.body_digest is None:
            return response
        if not responses.corrects_charset(response, context.body_digest):
            return response
        logger.info("%s has not changed, but its charset has: reading it again", printable(request.url))
        last = replace(context.last_reading, validated_url=None, etag=None, last_modified=None)
        return with_context(request, replace(context, last_reading=last))
