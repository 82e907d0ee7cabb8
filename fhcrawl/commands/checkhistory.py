"""`fhcrawl check`: checks how a feed publishes its history, for publishers."""

from __future__ import annotations

import json
import sys
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from fhcrawl.commands import print_lines
from fhcrawl.core import command
from fhcrawl.exceptions import ArgumentError
from fhcrawl.reporting.summary import BOLD, INDENT, RED, Look, cut_in_middle
from fhcrawl.utils.text import LONGEST_SENTENCE, json_escaped, printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from fhcrawl.validation import Finding, Totals

HEADINGS = {
    "error": ("Errors", RED),
    "warning": ("Warnings", "33"),
    "advice": ("Advice", BOLD),
    "good": ("Good", "32"),
}
# How many are printed: sentences of a rule and severity, fixes of a sentence, documents of a fix. --json
# prints all.
MOST_SENTENCES, MOST_FIXES, MOST_DOCUMENTS = 5, 3, 3


class Command(command.Command):
    requires_crawler_process = True
    default_settings: ClassVar[dict[str, object]] = {}
    usage = "[--json] [--strict] [--max-documents N] URL"
    description = (
        "Read a feed's documents back to the oldest one, and report errors in its history (with clause, "
        "document and line), possible improvements, and what is correct. "
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
            "help": "read at most N documents (default: 1,000)",
        },
    }

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        if not opts.loglevel:
            self.settings.set("LOG_ENABLED", False, priority="cmdline")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from fhcrawl.core.checks import check_settings
        from fhcrawl.crawling import subscriptions
        from fhcrawl.spiders.check import CheckSpider
        from fhcrawl.validation import History

        if len(args) != 1:
            raise ArgumentError("One URL is required: fhcrawl check https://example.org/index.atom")
        if opts.max_documents < 1:
            raise ArgumentError("--max-documents must be 1 or more")
        check_settings(self.settings)
        [url] = subscriptions.from_arguments(args[0], None)
        chain = History(url)
        self.run_crawl(CheckSpider, chain=chain, max_documents=opts.max_documents)
        findings, summary = chain.finish()
        text = [as_json(findings, summary)] if opts.json else lines(findings, summary, Look.of(sys.stdout))
        print_lines(text, opts.json)
        if not chain.is_finished or summary.errors or (opts.strict and summary.warnings):
            self.exitcode = 1


def lines(findings: Sequence[Finding], summary: Totals, look: Look) -> Iterator[str]:
    for severity, group in groupby(findings, key=lambda finding: finding.severity.value):
        heading, colour = HEADINGS[severity]
        yield look.paint(heading, colour)
        by_rule: dict[str, dict[str, list[Finding]]] = {}
        for finding in group:
            by_rule.setdefault(finding.rule, {}).setdefault(finding.text, []).append(finding)
        for sentences in by_rule.values():
            for findings_of_text in list(sentences.values())[:MOST_SENTENCES]:
                yield from _sentence(findings_of_text, look)
            if len(sentences) > MOST_SENTENCES:
                yield f"- and {len(sentences) - MOST_SENTENCES:,} more of this kind (--json lists all)"
        yield ""
    yield from (look.paint(line, BOLD) for line in look.wrap(summary.sentence))


def _sentence(findings: Sequence[Finding], look: Look) -> Iterator[str]:
    yield from look.wrap(f"{printable(findings[0].text, LONGEST_SENTENCE)} [{findings[0].clause}]", "-")
    by_fix: dict[str, list[Finding]] = {}
    for finding in findings:
        by_fix.setdefault(finding.fix, []).append(finding)
    groups = list(by_fix.items())
    for fix, group in groups[:MOST_FIXES]:
        yield from (f"{INDENT}{place}" for place in _places(group, look))
        if fix:
            yield from look.wrap(printable(fix, LONGEST_SENTENCE), f"{INDENT}To do:")
    if left_out := sum(len(group) for _fix, group in groups[MOST_FIXES:]):
        yield from look.wrap(f"and {left_out:,} more, with other fixes (--json lists all)", INDENT[1:])


def _places(findings: Iterable[Finding], look: Look) -> Iterator[str]:
    documents = [(finding.document, finding.line) for finding in findings if finding.document is not None]
    for document, number in documents[:MOST_DOCUMENTS]:
        suffix = "" if number is None else f", line {number}"
        url = printable(document)
        yield (
            url if look.width is None else cut_in_middle(url, look.width - len(suffix) - len(INDENT))
        ) + suffix
    if len(documents) > MOST_DOCUMENTS:
        yield f"and {len(documents) - MOST_DOCUMENTS:,} more"


def as_json(findings: Sequence[Finding], summary: Totals) -> str:
    values = {**summary._asdict(), "findings": [finding._asdict() for finding in findings]}
    return json_escaped(json.dumps(values, ensure_ascii=False))
