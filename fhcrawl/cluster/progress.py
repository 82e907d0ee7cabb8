"""How far one worker has come: what it does itself, since walks go from worker to worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.extensions import progress as extension
from fhcrawl.reporting import progress

if TYPE_CHECKING:
    from scrapy import Request

    from fhcrawl.reporting.progress import Counts


class Progress(progress.Progress):
    """fhcrawl's, of the feeds that this worker has had in hand."""

    def ask(self, feed: str, url: str, role: str) -> None:
        """A document of a feed is being fetched here."""
        super().ask(feed, url, role)
        self.feeds = self._begun

    def of(self, feed: str) -> Counts | None:
        """None: other workers have read documents of it too."""
        return None


class ProgressExtension(extension.ProgressExtension):
    """fhcrawl's; a document that is to be fetched may be another worker's."""

    progress_class = Progress

    def request_scheduled(self, request: Request) -> None:
        """Whoever fetches it counts it."""

    def request_reached_downloader(self, request: Request) -> None:
        """It is the turn of a document."""
        super().request_scheduled(request)
        super().request_reached_downloader(request)
