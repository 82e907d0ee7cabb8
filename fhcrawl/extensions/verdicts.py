"""Says at the end of a run what can be claimed of each feed: in the stats, the log and the store.

The store is told too when the feed is due again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals

from fhcrawl.clock import now
from fhcrawl.exceptions import StoreError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Reason, Verdict
from fhcrawl.logs import printable
from fhcrawl.schedule import Limits

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from fhcrawl.visit import Loss

logger = logging.getLogger(__name__)


class VerdictsExtension:
    """Counts, logs and stores the verdict of each feed of the run when the spider closes."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        get = crawler.settings.getint
        self._limits = Limits(get("FHCRAWL_DUE_MIN_SECONDS"), get("FHCRAWL_DUE_MAX_SECONDS"))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to the end of the spider."""
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_closed(self) -> None:
        """Count, log and store the verdicts."""
        extension = StoreExtension.of(self._crawler)
        untold = dict(extension.untold)
        try:
            self._tell_stored(extension, untold)
        except StoreError as error:
            extension.fail(error)
        for url, loss in untold.items():
            self._tell(url, Verdict.UNKNOWN, 0, [printable(loss.detail)])

    def _tell_stored(self, extension: StoreExtension, untold: dict[str, Loss]) -> None:
        for feed in extension.store.feeds(extension.run):
            verdict, reasons = feed.verdict, feed.reasons
            loss = untold.pop(feed.feed, None)
            if loss is not None:
                verdict = Verdict.INCOMPLETE
                detail = f"has a document that {loss.detail}"
                reasons = [*reasons, Reason(loss.kind, feed.feed, detail, now())]
            self._note(extension, feed.feed, verdict, reasons)
            said = [f"{printable(reason.url)} {printable(reason.detail)}" for reason in reasons]
            self._tell(feed.feed, verdict, feed.entries, said)

    def _note(self, extension: StoreExtension, url: str, verdict: Verdict, reasons: list[Reason]) -> None:
        # A store that has failed keeps none: NULL claims nothing.
        if extension.has_failed:
            return
        try:
            extension.store.note_verdict(url, extension.run, verdict, reasons, self._limits)
        except StoreError as error:
            extension.fail(error)

    def _tell(self, url: str, verdict: Verdict, entries: int, reasons: list[str]) -> None:
        self._crawler.stats.inc_value(f"fhcrawl/feed/{verdict.value}")
        level = logging.INFO if verdict is Verdict.COMPLETE else logging.WARNING
        said = "".join(f"; {reason}" for reason in reasons)
        logger.log(level, "%s: %s, entries: %d%s", printable(url), verdict.value, entries, said)
