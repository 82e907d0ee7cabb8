"""Says at the end of a run what can be claimed of each feed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals

from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Verdict
from fhcrawl.logs import printable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from fhcrawl.store import Feed
    from fhcrawl.visit import Loss

logger = logging.getLogger(__name__)


class VerdictsExtension:
    """Counts and logs the verdict of each feed of the run when the spider closes."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to the end of the spider."""
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_closed(self) -> None:
        """Count and log the verdicts."""
        extension = StoreExtension.of(self._crawler)
        for feed in extension.store.feeds(extension.run):
            self._tell(feed, extension.untold.get(feed.feed))

    def _tell(self, feed: Feed, untold: Loss | None) -> None:
        verdict = feed.verdict
        reasons = [f"{printable(r.url)} {printable(r.detail)}" for r in feed.reasons]
        if untold is not None:
            verdict = Verdict.INCOMPLETE
            reasons.append(f"a document {printable(untold.detail)}")
        self._crawler.stats.inc_value(f"fhcrawl/feed/{verdict.value}")
        level = logging.INFO if verdict is Verdict.COMPLETE else logging.WARNING
        said = "".join(f"; {reason}" for reason in reasons)
        logger.log(level, "%s: %s, entries: %d%s", printable(feed.feed), verdict.value, feed.entries, said)
