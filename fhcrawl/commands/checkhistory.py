"""`fhcrawl check`: checks how a feed publishes its history, for publishers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, ClassVar

from fhcrawl.commands import UTF_8, printing
from fhcrawl.core import command
from fhcrawl.exceptions import ArgumentError

if TYPE_CHECKING:
    import argparse

    from fhcrawl.validation import HistoryCheck


class Command(command.Command):
    """Checks a feed's history, without a store; `check` is a command of Scrapy's, so it has another name."""

    requires_crawler_process = True
    default_settings: ClassVar[dict[str, object]] = {}
    name = "check"
    usage = "[--json] [--strict] [--max-documents N] URL"
    summary = "Check the history of a feed that you publish"
    description = (
        "Read a feed's documents back to the oldest one, and report errors in its history (with the clause "
        "of the specification, the document and the line), possible improvements, and what is correct. "
        "Nothing is stored. The exit code is 1 if there are errors."
    )
    examples = (
        "fhcrawl check https://example.org/index.atom",
        "fhcrawl check --strict --json https://example.org/index.atom | jq .findings",
    )
    operand = ("URL", "URL of the feed to which readers subscribe")

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options."""
        from fhcrawl.validation.check import MOST_DOCUMENTS

        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")
        parser.add_argument("--strict", action="store_true", help="exit with code 1 for warnings too")
        parser.add_argument(
            "--max-documents",
            metavar="N",
            type=int,
            default=MOST_DOCUMENTS,
            help=f"maximum number of documents to read (default: {MOST_DOCUMENTS:,})",
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Process Scrapy's options; logging is off unless the user asks for it."""
        super().process_options(args, opts)
        if not opts.loglevel:
            self.settings.set("LOG_ENABLED", False, priority="cmdline")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the feed, and print what was found."""
        from fhcrawl.core.checks import check_settings
        from fhcrawl.crawling import subscriptions

        if len(args) != 1:
            raise ArgumentError("One URL is required: fhcrawl check https://example.org/index.atom")
        if opts.max_documents < 1:
            raise ArgumentError("--max-documents must be 1 or more")
        check_settings(self.settings)
        [url] = subscriptions.from_arguments(args[0], None)
        self._report(self._crawl(url, opts.max_documents), opts)

    def _crawl(self, url: str, max_documents: int) -> HistoryCheck:
        from fhcrawl.commands.crawl import start_crawl
        from fhcrawl.spiders.check import CheckSpider
        from fhcrawl.validation import HistoryCheck

        check = HistoryCheck(url, max_documents, self.settings.getint("FHCRAWL_MAX_ENTRIES"))
        start_crawl(self, CheckSpider, check=check, url=url)
        return check

    def _report(self, check: HistoryCheck, opts: argparse.Namespace) -> None:
        from fhcrawl.reporting import findings as shown
        from fhcrawl.reporting.table import Look

        if check.wanted is not None:  # it was interrupted
            self.exitcode = 1
        findings, summary = check.finish()
        with printing(UTF_8 if opts.json else None):
            if opts.json:
                print(shown.as_json(findings, summary))
            else:
                for line in shown.lines(findings, summary, Look.of(sys.stdout)):
                    print(line)
        if summary.errors or (opts.strict and summary.warnings):
            self.exitcode = 1
