"""`fhcrawl check`: checks how a feed publishes its history, for publishers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

from fhcrawl.commands import SUMMARIES, UTF_8, printing
from fhcrawl.core import command
from fhcrawl.exceptions import ArgumentError

if TYPE_CHECKING:
    import argparse


class Command(command.Command):
    """Checks a feed's history, without a store; `check` is a command of Scrapy's, so it has another name."""

    requires_crawler_process = True
    default_settings: ClassVar[dict[str, object]] = {}
    name = "check"
    usage = "[--json] [--strict] [--max-documents N] URL"
    summary = SUMMARIES["check"]
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

    options: ClassVar[dict[str, dict[str, Any]]] = {
        "--json": {"action": "store_true", "help": "print JSON"},
        "--strict": {"action": "store_true", "help": "exit with code 1 for warnings too"},
        "--max-documents": {
            "metavar": "N",
            "type": int,
            "default": 1000,
            "help": "maximum number of documents to read (default: 1,000)",
        },
    }

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Process Scrapy's options; logging is off unless the user asks for it."""
        super().process_options(args, opts)
        if not opts.loglevel:
            self.settings.set("LOG_ENABLED", False, priority="cmdline")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check the feed, and print what was found."""
        from fhcrawl.commands.crawl import start_crawl
        from fhcrawl.core.checks import check_settings
        from fhcrawl.crawling import subscriptions
        from fhcrawl.reporting import findings as report
        from fhcrawl.reporting.summary import Look
        from fhcrawl.spiders.check import CheckSpider
        from fhcrawl.validation import HistoryCheck

        if len(args) != 1:
            raise ArgumentError("One URL is required: fhcrawl check https://example.org/index.atom")
        if opts.max_documents < 1:
            raise ArgumentError("--max-documents must be 1 or more")
        check_settings(self.settings)
        [url] = subscriptions.from_arguments(args[0], None)
        check = HistoryCheck(url, opts.max_documents, self.settings.getint("FHCRAWL_MAX_ENTRIES"))
        start_crawl(self, CheckSpider, check=check, url=url)
        findings, summary = check.finish()
        with printing(UTF_8 if opts.json else None):
            if opts.json:
                print(report.as_json(findings, summary))
            else:
                for line in report.lines(findings, summary, Look.of(sys.stdout)):
                    print(line)
        is_interrupted = check.wanted is not None
        if is_interrupted or summary.errors or (opts.strict and summary.warnings):
            self.exitcode = 1
