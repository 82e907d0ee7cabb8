"""The commands beside Scrapy's own."""

from __future__ import annotations

import signal


def end_with_reader() -> None:
    """From now on, this process ends without a word when nobody reads its output any more.

    Not for a crawl, nor an upload: a server that hangs up would end it too. (libpq sees to that itself.)
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
