"""Turns the responses of web archives into captured documents (RFC 7089)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fhcrawl import logical_feed
from fhcrawl.crawling.context import find_context, header, is_of_web_archive, set_context
from fhcrawl.crawling.failures import NotACapture
from fhcrawl.documents.dates import utc
from fhcrawl.documents.links import header_targets
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
    """Sets the time and the URL of a capture.

    An archive may serve another capture than the requested one: the time of the response counts. This
    middleware precedes retries and redirects: an archived 302 or 404 is not the archive's own response.
    """

    def process_response(self, request: Request, response: Response) -> Response:
        """Return the captured document.

        :raises NotACapture: if the response is not a capture, or if it is a captured error
        """
        context = find_context(request)
        if context is None or context.role is not Role.CAPTURE or not is_of_web_archive(context):
            return response
        if "Memento-Datetime" not in response.headers and response.status != OK:
            return response
        time = utc(header(response, "Memento-Datetime") or "")
        if time is None:
            raise NotACapture("is not a capture: the web archive does not say when it was made")
        if response.status != OK:
            raise NotACapture(f"is not a document, but a captured response with status {response.status}")
        captured = min(f"{time[:TO_THE_SECOND]}Z", now())
        position = logical_feed.position_of_capture(captured, -context.position.step)
        set_context(request, replace(context, fetched=captured, position=position))
        headers = response.headers.copy()
        link_headers = headers.pop("Link", [])
        url = context.requested_url
        if of_document := [value for value in link_headers if not _is_of_archive(value, url)]:
            headers.setlist("Link", of_document)
        return response.replace(url=url, headers=headers)


# The next capture is not the next page.
def _is_of_archive(link_header: bytes, url: str) -> bool:
    return any(relation in OWN for relation, _ in header_targets([link_header.decode("latin-1")], url))
