"""The findings of a check on a terminal, and as JSON."""

import json

from rich.cells import cell_len

from fhcrawl.commands import checkhistory as shown
from fhcrawl.reporting.summary import Look
from fhcrawl.validation import Finding, Severity, Totals

SUMMARY = Totals("https://example.org/", None, 2, 7, True, 1, 0, "The archive was read to its end")
LONG = f"https://example.org/{'x' * 100}/index.atom"


def finding(severity: Severity, text: str, document: str | None = None, line: int | None = None) -> Finding:
    return Finding(
        severity, "a-rule", "RFC 5005, 4", document, line, text, "Mend it." * (document is not None)
    )


def test_findings_with_the_same_text_are_grouped() -> None:
    several = [finding(Severity.WARNING, "It is wrong.", f"https://example.org/{n}", n) for n in range(1, 6)]
    lines = list(shown.lines([*several, finding(Severity.GOOD, "All is well.")], SUMMARY, Look()))
    assert lines == [
        *("Warnings", "- It is wrong. [RFC 5005, 4]", "  https://example.org/1, line 1"),
        *("  https://example.org/2, line 2", "  https://example.org/3, line 3", "  and 2 more"),
        *("  To do: Mend it.", "", "Good", "- All is well. [RFC 5005, 4]", ""),
        "The archive was read to its end",
    ]


def test_what_to_do_stands_below_the_documents_that_it_is_meant_for() -> None:
    several = [
        finding(Severity.ERROR, "It is wrong.", f"https://example.org/{n}")._replace(fix=f"Link to {n // 2}.")
        for n in range(1, 11)
    ]
    lines = list(shown.lines(several, SUMMARY, Look()))
    assert lines == [
        *("Errors", "- It is wrong. [RFC 5005, 4]", "  https://example.org/1", "  To do: Link to 0."),
        *("  https://example.org/2", "  https://example.org/3", "  To do: Link to 1."),
        *("  https://example.org/4", "  https://example.org/5", "  To do: Link to 2."),
        "  and 5 more, with other fixes (--json lists all)",
        *("", "The archive was read to its end"),
    ]
    assert [f["fix"] for f in json.loads(shown.as_json(several, SUMMARY))["findings"]] == [
        f.fix for f in several
    ]


def test_sentences_of_a_rule_are_limited() -> None:
    several = [finding(Severity.ERROR, f"It is wrong: {n}.", "https://example.org/") for n in range(7)]
    lines = list(shown.lines(several, SUMMARY, Look()))
    assert "- and 2 more of this kind (--json lists all)" in lines


def test_lines_fit_a_terminal() -> None:
    long = finding(Severity.ERROR, f"Its link leads to {LONG}, and not back to {LONG}.", LONG, 12)
    lines = list(shown.lines([long], SUMMARY, Look(80)))
    assert max(map(cell_len, lines)) <= 80
    assert any(line.endswith(", line 12") for line in lines)
    # What to do is not shortened.
    fix = f"Link from {LONG} to {LONG}, and from there to {LONG}."
    assert f"  To do: {fix}" in list(shown.lines([long._replace(fix=fix)], SUMMARY, Look()))


def test_text_of_a_feed_cannot_control_a_terminal() -> None:
    text = "Its link leads to \x1b[2J\x9b2J\u202e"
    found = [finding(Severity.ERROR, text, f"https://example.org/{text}")]
    assert all(line.isprintable() for line in shown.lines(found, SUMMARY, Look()))
    assert "\x9b" not in shown.as_json(found, SUMMARY)


def test_json_has_the_summary_and_all_findings() -> None:
    found = json.loads(shown.as_json([finding(Severity.ERROR, "It is wrong.", LONG, 3)], SUMMARY))
    assert found.pop("findings") == [
        {
            "severity": "error",
            "rule": "a-rule",
            "clause": "RFC 5005, 4",
            "document": LONG,
            "line": 3,
            "text": "It is wrong.",
            "fix": "Mend it.",
        }
    ]
    assert found == {**SUMMARY._asdict()}
