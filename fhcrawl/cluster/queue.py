"""The requests that wait, one queue a host."""

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
    """A request that is to be made.

    :param asks: what its host has asked another worker for, as that has put it; '' for nothing
    """

    item: Item
    request: Request
    asks: str


class HostQueue(Base):  # type: ignore[misc]  # scrapy-redis has no types
    """scrapy-redis's, from which a worker gets only what may be sent now.

    A host is asked by one worker at a time, and a feed is read by one: a version of an entry is compared with
    those that the store has.
    """

    def __len__(self) -> int:
        """How many requests wait for hosts."""
        return self._board.queued()

    def item(self, request: Request) -> Item:
        """A request as it waits."""
        walk = context_of(request).walk
        host = self.spider.crawler.engine.downloader.get_slot_key(request)
        return Item(walk.feed, host, walk.options.plain(), self._encode_request(request))

    def push(self, request: Request) -> None:
        """Let a request wait."""
        self._board.put(self.item(request))

    def pop(self, timeout: int = 0) -> Next | None:
        """The next request; None if none can be sent now."""
        taken = self._board.take()
        if taken is None:
            return None
        try:
            request = self._decode_request(taken.item.request)
            context_of(request)
            return Next(taken.item, request, taken.asks)
        except (LookupError, TypeError, ValueError, ContextError) as error:
            # Another fhcrawl has written it. The next run begins where the walk has come to.
            logger.error("A request of %s cannot be read (%r)", printable(taken.item.feed), error)
            self._board.leave_host(taken.item.host, 0, "")
            self._board.release_feed(taken.item.feed)
            return None

    def clear(self) -> None:
        """Leave it to the other workers; the last one takes all away."""

    @property
    def _board(self) -> Board:
        return ClusterExtension.of(self.spider.crawler).board
