"""The progress of one worker: it counts its own work, since walks move between workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.extensions import progress as extension
from fhcrawl.reporting import progress

if TYPE_CHECKING:
    from scrapy import Request

    from fhcrawl.reporting.progress import Counts


class Progress(progress.Progress):
    """fhcrawl's progress, of the feeds that this worker has owned."""

    def ask(self, feed: str, url: str, role: str) -> None:
        """Count a document that this worker fetches."""
        super().ask(feed, url, role)
        self.feeds = self._begun

    def of(self, feed: str) -> Counts | None:
        """Return None: other workers may have read documents of the feed too."""
        return None


class ProgressExtension(extension.ProgressExtension):
    """fhcrawl's extension; it does not count scheduled requests, which other workers may send."""

    progress_class = Progress

    def request_scheduled(self, request: Request) -> None:
        """Do nothing: the worker that fetches the document counts it."""

    def request_reached_downloader(self, request: Request) -> None:
        """Count a document that is being fetched."""
        super().request_scheduled(request)
        super().request_reached_downloader(request)
