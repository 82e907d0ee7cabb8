"""The queue of pending requests, by host."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from scrapy_redis.queue import Base

from fhcrawl.cluster.board import Item
from fhcrawl.cluster.extension import ClusterExtension
from fhcrawl.crawling.context import context_of
from fhcrawl.exceptions import ContextError
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from scrapy import Request

    from fhcrawl.cluster.board import Board

logger = logging.getLogger(__name__)


class Next(NamedTuple):
    """A request to send.

    :param asks: what the host has asked another worker for (`PolitenessMiddleware.asks`); '' for nothing
    """

    item: Item
    request: Request
    asks: str


class HostQueue(Base):  # type: ignore[misc]  # scrapy-redis has no types
    """A queue of scrapy-redis that gives a worker only requests that may be sent now.

    Only one worker at a time sends requests to a host, and only one reads a feed: it compares each version of
    an entry with those in the store.
    """

    def __len__(self) -> int:
        """Return the number of requests in the hosts' queues."""
        return self._board.queued()

    def item(self, request: Request) -> Item:
        """Return a request as an item of the board."""
        walk = context_of(request).walk
        host = self.spider.crawler.engine.downloader.get_slot_key(request)
        return Item(walk.feed, host, walk.options.plain(), self._encode_request(request))

    def push(self, request: Request) -> None:
        """Add a request to the queue of its host."""
        self._board.put(self.item(request))

    def pop(self, timeout: int = 0) -> Next | None:
        """Take the next request; None if none can be sent now."""
        taken = self._board.take()
        if taken is None:
            return None
        try:
            request = self._decode_request(taken.item.request)
            context_of(request)
            return Next(taken.item, request, taken.asks)
        except (LookupError, TypeError, ValueError, ContextError) as error:
            # Another version of fhcrawl wrote it. The next run continues the walk from the store's position.
            logger.error("A queued request of %s cannot be read (%r)", printable(taken.item.feed), error)
            self._board.leave_host(taken.item.host, 0, "")
            self._board.release_feed(taken.item.feed)
            return None

    def clear(self) -> None:
        """Do nothing: other workers use the queue; the script REST deletes it at the end of the job."""

    @property
    def _board(self) -> Board:
        return ClusterExtension.of(self.spider.crawler).board
