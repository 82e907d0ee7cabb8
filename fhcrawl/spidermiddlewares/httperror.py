"""Keeps from the spider what is no document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.spidermiddlewares import httperror

if TYPE_CHECKING:
    from scrapy.http import Response

# RFC 9110, 15.3.7: 206 is the answer to a request for a range. RFC 3229, 10.4.1: 226 is the answer to a
# request that names a difference as what it accepts. fhcrawl asks for neither: what it has is not all of it.
PARTS = (206, 226)


class HttpErrorMiddleware(httperror.HttpErrorMiddleware):
    """Scrapy's, for which every 2xx is a success."""

    def process_spider_input(self, response: Response) -> None:  # type: ignore[override]
        """Let a response pass.

        :raises HttpError: if it is an error, or a part of a document
        """
        if response.status in PARTS:
            raise httperror.HttpError(response, "a part of a document")
        super().process_spider_input(response)
