"""fhcrawl's commands, in addition to Scrapy's."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

UTF_8 = "utf-8"  # RFC 8259, 8.1: the encoding of JSON


def end_with_reader() -> None:
    """End the process silently, from now on, when the reader of its output closes the pipe.

    Not for crawls and uploads, which a closed network connection would end too. (libpq ignores SIGPIPE.)
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def typed(argument: str) -> str:
    """Return an argument as text for the store: octets that are not UTF-8 become escapes."""
    return argument.encode("utf-8", "backslashreplace").decode()


def check_options(args: list[str], command: str) -> None:
    """Check that there are no unknown options among a command's arguments, where Scrapy leaves them.

    :raises UsageError: if there are
    """
    unknown = [printable(typed(arg)) for arg in args if arg.startswith("-")]
    if unknown:
        raise UsageError(
            f"There is no option {' or '.join(unknown)}: `{command} --help` lists all", print_help=False
        )


@contextlib.contextmanager
def printing(encoding: str | None = None) -> Iterator[None]:
    """Flush what the block prints at its end; characters that the encoding lacks are printed as `\\u2603`.

    :param encoding: encoding of the output; None: the environment's
    :raises UsageError: if the output cannot be written
    """
    end_with_reader()
    stdout = sys.stdout
    if stdout is None:
        raise UsageError("there is no stdout that could be written to", print_help=False)
    with contextlib.suppress(AttributeError):  # replaced, as in a test
        stdout.reconfigure(encoding=encoding, errors="backslashreplace")  # type: ignore[union-attr]
    try:
        yield
        stdout.flush()
    except OSError as error:
        # Flushing the rest of the buffer would fail again when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
        raise UsageError(f"stdout cannot be written ({error.strerror})", print_help=False) from error
