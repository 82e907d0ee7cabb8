"""Handles Ctrl-C: prints one sentence, and exits with the code of a process that SIGINT has ended."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

# The exit code that shells report for a process that a signal has ended.
SIGNAL_CODE = 128
EXIT_CODE = SIGNAL_CODE + signal.SIGINT
SENTENCE = "Interrupted. Committed data is kept, and the next run continues from there."


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

    def note(self, handler: Callable[[int, Any], None], signum: int, frame: Any) -> None:
        self.number += 1
        if signum == signal.SIGINT or self.number > 1:
            self.code = SIGNAL_CODE + signum
        handler(signum, frame)
