"""Shares what a server asks one worker for (Retry-After) with all workers."""

from __future__ import annotations

import json
from time import monotonic, time

from fhcrawl.downloadermiddlewares import politeness


class PolitenessMiddleware(politeness.PolitenessMiddleware):
    """fhcrawl's middleware; it passes on what a host has asked for with the claim of the host.

    The queue keeps the delay between requests, and all workers share the robots.txt. What is left is a server
    that asks for a longer delay (Retry-After) than FHCRAWL_MAX_WAIT allows.
    """

    def asks(self, host: str) -> str:
        """Return what a host has asked for, as text for other workers; '' for nothing."""
        if host not in self._refused:
            return ""
        asks, until = self._refused[host]
        return json.dumps([asks, until and time() + until - monotonic()])

    def learn(self, host: str, said: str) -> None:
        """Apply the text that `asks` has returned in another worker."""
        asks, until = json.loads(said)
        self._refused[host] = asks, until and monotonic() + until - time()
