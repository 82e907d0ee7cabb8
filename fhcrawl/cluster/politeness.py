"""What servers ask one worker for, all workers do."""

from __future__ import annotations

import json
from time import monotonic, time

from fhcrawl.downloadermiddlewares import politeness


class PolitenessMiddleware(politeness.PolitenessMiddleware):
    """fhcrawl's; what a host has asked one worker for goes with the host from worker to worker.

    The time between requests is kept by the queue, and the robots.txt is known to all: what is left is a
    server that asks for more time (Retry-After) than the user has.
    """

    def asks(self, host: str) -> str:
        """What others have to know of a host; '' for nothing."""
        if host not in self._refused:
            return ""
        asks, until = self._refused[host]
        return json.dumps([asks, until and time() + until - monotonic()])

    def learn(self, host: str, said: str) -> None:
        """Take what `asks` has given in another worker."""
        asks, until = json.loads(said)
        self._refused[host] = asks, until and monotonic() + until - time()
