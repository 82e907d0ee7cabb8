"""The commands beside Scrapy's own."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

UTF_8 = "utf-8"  # RFC 8259, 8.1: what JSON is in


def end_with_reader() -> None:
    """From now on, this process ends without a word when nobody reads its output any more.

    Not for a crawl, nor an upload: a server that hangs up would end it too. (libpq sees to that itself.)
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def typed(argument: str) -> str:
    """An argument as the store may have it: octets that are no UTF-8 as escapes."""
    return argument.encode("utf-8", "backslashreplace").decode()


@contextlib.contextmanager
def printing(encoding: str | None = None) -> Iterator[None]:
    """What is printed inside is written when it ends; what the encoding does not know, as `\\u2603`.

    :param encoding: of what is printed; None: the one that the environment asks for
    :raises UsageError: if it cannot be written
    """
    end_with_reader()
    stdout = sys.stdout
    if stdout is None:
        raise UsageError("there is no stdout that could be written to", print_help=False)
    with contextlib.suppress(AttributeError):  # somebody else's, as in a test
        stdout.reconfigure(encoding=encoding, errors="backslashreplace")  # type: ignore[union-attr]
    try:
        yield
        stdout.flush()
    except OSError as error:
        # What is still in the buffer would fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
        raise UsageError(f"stdout cannot be written ({error.strerror})", print_help=False) from error
