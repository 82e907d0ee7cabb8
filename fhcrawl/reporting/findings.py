"""The findings of a check, as lines for people and as JSON for programs."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING

from fhcrawl.reporting.summary import BOLD, INDENT, RED, cut_in_middle
from fhcrawl.utils.text import LONGEST_SENTENCE, json_escaped, printable
from fhcrawl.validation import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fhcrawl.reporting.summary import Look
    from fhcrawl.validation import Finding, Summary

HEADINGS = {
    Severity.ERROR: ("Errors", RED),
    Severity.WARNING: ("Warnings", "33"),
    Severity.ADVICE: ("Advice", BOLD),
    Severity.GOOD: ("Good", "32"),
}
# Sentences of one rule and severity, what one sentence says to do, and documents of that, that are printed;
# --json has all.
MOST_SENTENCES, MOST_FIXES, MOST_DOCUMENTS = 5, 3, 3


def lines(findings: Sequence[Finding], summary: Summary, look: Look) -> Iterator[str]:
    """Yield the findings by their severity, each sentence once with its documents, and the summary.

    What to do stands below the documents that it is meant for.

    :param findings: the worst first
    """
    for severity, group in groupby(findings, key=lambda finding: finding.severity):
        heading, colour = HEADINGS[severity]
        yield look.paint(heading, colour)
        by_rule: dict[str, dict[str, list[Finding]]] = {}
        for finding in group:
            by_rule.setdefault(finding.rule, {}).setdefault(finding.text, []).append(finding)
        for sentences in by_rule.values():
            for same in list(sentences.values())[:MOST_SENTENCES]:
                yield from _sentence(same, look)
            if len(sentences) > MOST_SENTENCES:
                yield f"- and {len(sentences) - MOST_SENTENCES:,} more of this kind (--json lists all)"
        yield ""
    yield from (look.paint(line, BOLD) for line in look.wrap(summary.sentence))


def _sentence(same: Sequence[Finding], look: Look) -> Iterator[str]:
    yield from look.wrap(f"{printable(same[0].text, LONGEST_SENTENCE)} [{same[0].clause}]", "-")
    by_fix: dict[str, list[Finding]] = {}
    for finding in same:
        by_fix.setdefault(finding.fix, []).append(finding)
    groups = list(by_fix.items())
    for fix, group in groups[:MOST_FIXES]:
        yield from (f"{INDENT}{place}" for place in _places(group, look))
        if fix:
            yield from look.wrap(printable(fix, LONGEST_SENTENCE), f"{INDENT}To do:")
    if others := sum(len(group) for _fix, group in groups[MOST_FIXES:]):
        yield from look.wrap(f"and {others:,} more, with other fixes (--json lists all)", INDENT[1:])


def _places(same: Iterable[Finding], look: Look) -> Iterator[str]:
    found = [finding for finding in same if finding.document is not None]
    for finding in found[:MOST_DOCUMENTS]:
        at = "" if finding.line is None else f", line {finding.line}"
        url = printable(finding.document or "")
        yield (url if look.width is None else cut_in_middle(url, look.width - len(at) - len(INDENT))) + at
    if len(found) > MOST_DOCUMENTS:
        yield f"and {len(found) - MOST_DOCUMENTS:,} more"


def as_json(findings: Sequence[Finding], summary: Summary) -> str:
    """Return the summary, with the list of findings, as a JSON object."""
    found = {**summary._asdict(), "findings": [finding._asdict() for finding in findings]}
    return json_escaped(json.dumps(found, ensure_ascii=False))
