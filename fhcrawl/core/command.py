"""The base class of fhcrawl's commands, for `fhcrawl` and for `scrapy`."""

from __future__ import annotations

import asyncio
import logging
import sys
import textwrap
from abc import abstractmethod
from argparse import RawDescriptionHelpFormatter
from contextlib import closing
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand, ScrapyHelpFormatter
from scrapy.exceptions import UsageError

from fhcrawl.core import MODULES, SUMMARIES
from fhcrawl.core.addons import add_settings
from fhcrawl.core.checks import check_shapes
from fhcrawl.exceptions import ArgumentError, ClusterError, ExportError, FhcrawlError, StoreError
from fhcrawl.utils import interrupts
from fhcrawl.utils.text import nearest, printable

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from scrapy import Spider
    from scrapy.crawler import AsyncCrawlerProcess, Crawler
    from scrapy.settings import BaseSettings, Settings

    from fhcrawl.store import Store

logger = logging.getLogger(__name__)

WIDTH = 79


def no_option(unknown: list[str], parser: argparse.ArgumentParser, program: str) -> str:
    options = parser._option_string_actions
    names = [arg.partition("=")[0] for arg in unknown]
    if misplaced := next((name for name in names if name in options), ""):
        return f"{misplaced} must come after the command"
    # The dashes would make short names similar.
    by_bare_name = {option.lstrip("-"): option for option in options}
    near = next(filter(None, (nearest(name.lstrip("-"), by_bare_name) for name in names)), "")
    guess = f"did you mean {by_bare_name[near]}? " if near else ""
    shown = " or ".join(map(printable, unknown))
    return f"There is no option {shown}; {guess}`{program} --help` lists all options"


# Scrapy's formatter would join the lines of descriptions, whose examples are to be copied.
class PageFormatter(RawDescriptionHelpFormatter, ScrapyHelpFormatter):
    pass


class Command(ScrapyCommand):
    """A command that is described by attributes, and needs no crawl.

    `operand` is the name and the help of its positional arguments; None if it has none. `options` are names,
    and the arguments of `add_argument`; an option whose `dest` is the name of a setting sets it.
    """

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, object]] = {"LOG_ENABLED": False}
    # Both are set before a command runs.
    settings: Settings
    crawler_process: AsyncCrawlerProcess
    config: Path | None = None  # the config file that was read

    usage: ClassVar[str]
    description: ClassVar[str]
    examples: ClassVar[tuple[str, ...]]
    operand: ClassVar[tuple[str, str] | None] = None
    options: ClassVar[dict[str, dict[str, Any]]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.signals = interrupts.SignalCount()
        module = type(self).__module__.rpartition(".")[2]
        self.name = next((name for name, other in MODULES.items() if other == module), module)
        self.summary = SUMMARIES.get(self.name, "")

    def syntax(self) -> str:
        return self.usage

    def short_desc(self) -> str:
        return self.summary

    def long_desc(self) -> str:
        paragraph = textwrap.fill(self.description, WIDTH, break_long_words=False, break_on_hyphens=False)
        return "\n".join([paragraph, "", "Examples:", *(f"  {example}" for example in self.examples)])

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        self._parser = parser
        parser.formatter_class = PageFormatter
        for names, words in self.options.items():
            parser.add_argument(*names.split(), **words)
        # Scrapy reads `profile`, the value of an option that --profile of some commands replaces.
        parser.set_defaults(profile=None)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Process Scrapy's options.

        :raises UsageError: if there is an option that does not exist, which Scrapy passes as an argument,
            or an argument where none is allowed
        """
        unknown = [arg for arg in args if arg.startswith("-")]
        if unknown:
            raise UsageError(no_option(unknown, self._parser, f"fhcrawl {self.name}"), print_help=False)
        if args and self.operand is None:
            raise UsageError(f"Unexpected argument: {printable(args[0])}", print_help=False)
        super().process_options(args, opts)
        try:
            check_shapes(self.settings)
        except ArgumentError as error:
            raise UsageError(str(error), print_help=False) from error
        for name in (words.get("dest", "") for words in self.options.values()):
            value = getattr(opts, name, None)
            if name.startswith("FHCRAWL_") and value is not None:
                self.settings.set(name, ",".join(value) if isinstance(value, list) else value, "cmdline")
        if not self.requires_crawler_process:
            add_settings(self.settings)  # a crawl does it by itself, if its spider is fhcrawl's

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the command; its exit code is 130 if Ctrl-C has ended it, 1 if the system failed.

        :raises UsageError: if an argument or a setting cannot be used
        """
        try:
            self.execute(args, opts)
        except FhcrawlError as error:
            # Errors of a disk, a database or a server have a cause; the command line need not be changed.
            if error.__cause__ is None or not isinstance(error, StoreError | ClusterError | ExportError):
                raise UsageError(str(error), print_help=False) from error
            sys.stderr.write(f"fhcrawl {self.name}: error: {error}\n")
            self.exitcode = 1
        except KeyboardInterrupt:
            interrupts.tell()
            self.exitcode = interrupts.EXIT_CODE
        if self.signals.code is not None:
            self.exitcode = self.signals.code

    def run_crawl(self, spider: Crawler | type[Spider], **arguments: Any) -> None:
        """Crawl until it ends; the exit code is 1 if the crawl could not begin."""
        from fhcrawl.crawling.compat import check_private_names

        check_private_names()
        # Scrapy installs its handlers of signals just before the loop starts.
        loop = asyncio.get_event_loop()
        loop.call_soon(self.signals.watch, loop)
        crawl = self.crawler_process.crawl(spider, **arguments)
        if isinstance(crawl, asyncio.Task):
            crawl.add_done_callback(_log_error)
        self.crawler_process.start()
        if self.crawler_process.bootstrap_failed:
            self.exitcode = 1
        if self.signals.number > 1:
            # A crawl that is ended at once has no summary.
            interrupts.tell()

    @abstractmethod
    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the command; an `FhcrawlError` is printed without a traceback."""

    def opened_store(self, to_write: bool = False, settings: BaseSettings | None = None) -> closing[Store]:
        """Open the store of the settings; `with` closes it after its block.

        :param to_write: create it if it does not exist
        :param settings: those of a crawl; None: the command's
        :raises FhcrawlError: if it cannot be opened
        """
        from fhcrawl.extensions.store import store_url
        from fhcrawl.store import Store

        url = store_url(settings or self.settings)
        return closing(Store.open(url) if to_write else Store.open_to_read(url))


# asyncio would log the error later, and errors of fhcrawl with a traceback.
def _log_error(crawl: asyncio.Task[None]) -> None:
    error = None if crawl.cancelled() else crawl.exception()
    if isinstance(error, FhcrawlError):
        logger.error("Cannot start the crawl: %s", error)
    elif error is not None:
        logger.error("Cannot start the crawl", exc_info=error)
