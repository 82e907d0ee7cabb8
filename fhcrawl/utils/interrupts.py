"""Handles Ctrl-C: prints one sentence, and exits with the code of a process that SIGINT has ended."""

from __future__ import annotations

import logging
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import NoReturn

logger = logging.getLogger(__name__)

# The exit code that shells report for a process that a signal has ended.
SIGNAL_CODE = 128
EXIT_CODE = SIGNAL_CODE + signal.SIGINT
SENTENCE = "Interrupted. Committed data is kept, and the next run continues from there."
STOPPING = "Stopping when the requests in progress are complete; %s again to stop now"
# What the user does to send the signal.
SENDING = {signal.SIGINT: "press Ctrl-C", signal.SIGTERM: "send SIGTERM"}


def tell() -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{SENTENCE}\n")
        sys.stderr.flush()


def end() -> NoReturn:
    tell()
    leave(EXIT_CODE)


def leave(code: int) -> NoReturn:
    """Exit; another Ctrl-C does not change the exit code of an interrupted command."""
    if code == EXIT_CODE:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


class SignalCount:
    """Counts the signals that end a process's crawls; `code` is the exit code for them, or None."""

    def __init__(self) -> None:
        self.code: int | None = None
        self.number = 0

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Count the signals that Scrapy's handlers, which are installed now, and their successors handle."""
        for signum in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(signum)
            if callable(handler) and handler is not signal.default_int_handler:
                signal.signal(signum, partial(self._note, loop, handler))

    def _note(
        self, loop: asyncio.AbstractEventLoop, handler: Callable[[int, Any], Any], signum: int, frame: Any
    ) -> None:
        self.number += 1
        if signum == signal.SIGINT or self.number > 1:
            self.code = SIGNAL_CODE + signum
        if self.number == 1:
            # Not now: the signal may have interrupted a write to the log.
            note = partial(
                logger.info, STOPPING, SENDING[signal.Signals(signum)], extra={"is_for_users": True}
            )
            loop.call_soon_threadsafe(note)
        handler(signum, frame)
        self.watch(loop)
