"""Makes requests of walks for tests."""

from typing import Any

from scrapy import Request

from fhcrawl.crawling.context import RequestContext, WalkContext, cb_kwargs_of
from fhcrawl.crawling.subscriptions import FeedOptions
from fhcrawl.logical_feed import ChainPosition, Role


def walk_request(
    url: str,
    feed: str,
    role: Role = Role.SUBSCRIPTION,
    via: str | None = None,
    options: FeedOptions | None = None,
    special_hosts: dict[str, bool] | None = None,
    **kwargs: Any,
) -> Request:
    """A request of a feed's walk.

    :param kwargs: other arguments of the request
    """
    walk = WalkContext(feed, 1, options or FeedOptions(), special_hosts=special_hosts or {})
    context = RequestContext(walk, url, role, ChainPosition(1, 0), via=via)
    return Request(url, cb_kwargs=cb_kwargs_of(context), **kwargs)
