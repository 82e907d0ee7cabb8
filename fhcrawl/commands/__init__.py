"""fhcrawl's commands, in addition to Scrapy's."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy.settings import Settings

UTF_8 = "utf-8"  # RFC 8259, 8.1: the encoding of JSON
# Options that stand for settings, with the words of their help.
SettingOptions = dict[str, tuple[str, dict[str, Any]]]
SWITCH = {"action": "store_true", "default": None}
# The options that choose the columns of an export.
OF_COLUMNS: SettingOptions = {
    "--fields": (
        "FHCRAWL_FIELDS",
        {
            "metavar": "NAMES",
            "help": "the columns, separated by commas; +NAME adds one to those that exports have anyway",
        },
    ),
    "--profile": (
        "FHCRAWL_PROFILES",
        {"metavar": "NAME", "action": "append", "help": "add the columns of a profile: podcast or news"},
    ),
    "--extensions": (
        "FHCRAWL_EXTENSIONS_ENABLED",
        {**SWITCH, "help": "add the column extensions: what entries say beyond the fields"},
    ),
    "--excel": (
        "FHCRAWL_CSV_EXCEL_ENABLED",
        {
            **SWITCH,
            "help": "of csv: write it for Excel: UTF-8 with a mark, formulas escaped, times that it can read",
        },
    ),
}


def add_setting_options(parser: argparse.ArgumentParser, options: SettingOptions) -> None:
    """Add options that stand for settings; the parser puts their values under the settings' names."""
    for option, (name, words) in options.items():
        parser.add_argument(option, dest=name, **words)
    # --profile replaces Scrapy's option of that name, for cProfile; Scrapy reads `profile`.
    parser.set_defaults(profile=None)


def set_from_options(settings: Settings, opts: argparse.Namespace, options: SettingOptions) -> None:
    """Set the settings that options stand for, where they are given."""
    for name, _words in options.values():
        value = getattr(opts, name)
        if value is not None:
            settings.set(name, ",".join(value) if isinstance(value, list) else value, "cmdline")


def end_with_reader() -> None:
    """End the process silently, from now on, when the reader of its output closes the pipe.

    Not for crawls and uploads, which a closed network connection would end too. (libpq ignores SIGPIPE.)
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def typed(argument: str) -> str:
    """Return an argument as text for the store: octets that are not UTF-8 become escapes."""
    return argument.encode("utf-8", "backslashreplace").decode()


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
