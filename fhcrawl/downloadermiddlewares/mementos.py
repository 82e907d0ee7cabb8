"""Makes captured documents of the responses of web archives (RFC 7089)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fhcrawl import logical_feed
from fhcrawl.crawling import responses
from fhcrawl.crawling.context import context_of, find_context, is_of_web_archive, set_context
from fhcrawl.crawling.failures import NotACapture
from fhcrawl.documents.dates import utc
from fhcrawl.documents.link_header import links
from fhcrawl.logical_feed import Role
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

OK = 200
# The relations of an archive's own links: RFC 7089, 2.2.
OWN = frozenset({"original", "timegate", "timemap", "memento"})
TO_THE_SECOND = len("2003-12-13T18:30:02")


class MementosMiddleware:
    """Gives a capture the time at which it was made, and the URL of the document that was captured.

    An archive may serve another capture than the one that was asked for: the time of the response counts. A
    captured error or redirect is no error of the archive: no middleware that retries or redirects may see it.
    """

    def process_response(self, request: Request, response: Response) -> Response:
        """Return the captured document.

        :raises NotACapture: if the response is none, or if it is a captured error
        """
        if not is_of_web_archive(find_context(request)):
            return response
        is_capture = "Memento-Datetime" in response.headers
        context = context_of(request)
        if context.role is not Role.CAPTURE or not (is_capture or response.status == OK):
            return response
        time = utc(responses.header(response, "Memento-Datetime") or "")
        if time is None:
            raise NotACapture("is not a capture: the web archive does not say when it was made")
        if response.status != OK:
            raise NotACapture(f"is not a document, but a captured response with status {response.status}")
        captured = min(f"{time[:TO_THE_SECOND]}Z", now())
        place = logical_feed.position_of_capture(captured, -context.position.step)
        set_context(request, replace(context, fetched=captured, position=place))
        return _as_captured(response.replace(url=context.requested_url))


def _as_captured(response: Response) -> Response:
    """Return a response without what is the archive's in its headers: the next capture is no next page."""
    headers = response.headers.copy()
    values = headers.getlist("Link")
    of_document = [
        value
        for value in values
        if OWN.isdisjoint(relation for relation, _ in links([value.decode("latin-1")], response.url))
    ]
    headers.pop("Link", None)
    if of_document:
        headers.setlist("Link", of_document)
    return response.replace(headers=headers)
