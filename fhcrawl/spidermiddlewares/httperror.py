"""Passes only complete documents on to the spider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.spidermiddlewares import httperror

from fhcrawl.crawling.context import feed_of

if TYPE_CHECKING:
    from scrapy.http import Response

# RFC 9110, 15.3.7: 206 is the answer to a request for a range. RFC 3229, 10.4.1: 226 is the answer to a
# request that accepts a difference (A-IM). fhcrawl requests neither: such a response is not complete.
PARTS = (206, 226)


class HttpErrorMiddleware(httperror.HttpErrorMiddleware):
    """Treats 206 and 226 as errors in a walk; Scrapy accepts every 2xx."""

    def process_spider_input(self, response: Response) -> None:  # type: ignore[override]
        """Check the status of a response.

        :raises HttpError: if it is an error, or the status of a part of a document
        """
        if response.status in PARTS and feed_of(response) is not None:
            raise httperror.HttpError(response, "a part of a document")
        super().process_spider_input(response)
