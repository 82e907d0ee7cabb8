"""Each rule finds its fault, at its document and line, and nothing in a history without one."""

import pytest

from fhcrawl.validation import CHAIN_RULES, DOCUMENT_RULES, Finding, Severity
from tests.validation import chain_cases, document_cases, histories
from tests.validation.cases import ADVICE, ERROR, GOOD, LINK_TO_2, WARNING, Case
from tests.validation.histories import (
    ARCHIVE,
    ATOM_SET,
    JSON_PAGES,
    PAGES,
    RSS_SET,
    SITE,
    WHOLE,
    check,
    served,
)

CASES = [*document_cases.CASES, *chain_cases.CASES]


def found_by(rule: str, findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.rule == rule and finding.severity is not GOOD]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.words}")
def test_rule_finds_a_fault(case: Case) -> None:
    findings, _summary = check(case.responses())
    there = [
        finding for finding in found_by(case.rule, findings) if case.words.replace("@", SITE) in finding.text
    ]
    assert [(f.severity, f.document, f.line) for f in there] == [
        (case.severity, f"{SITE}/{case.document}", case.line)
    ]
    assert there[0].clause
    assert there[0].fix


@pytest.mark.parametrize("history", [ATOM_SET, RSS_SET, PAGES, WHOLE, JSON_PAGES])
def test_nothing_is_wrong_with_a_history_without_a_fault(history: dict[str, str]) -> None:
    findings, summary = check(served(history))
    is_paged = history in (PAGES, JSON_PAGES)
    assert [f.rule for f in findings if f.severity is not GOOD] == ["says-its-history"] * is_paged
    assert summary.is_whole


def test_history_whose_links_have_http_is_read_with_https() -> None:
    plain = {
        path: text.replace(f'href="{SITE}/', 'href="http://example.org/') for path, text in ATOM_SET.items()
    }
    findings, summary = check(served(plain))
    assert summary.is_whole
    assert {f.rule for f in findings if f.severity is WARNING} == {"secure-links"}


def test_what_is_good_is_said() -> None:
    findings, _summary = check(served(ATOM_SET))
    assert {f.rule for f in findings} == {
        "walk-ends",
        "archive-marks",
        "next-archive",
        "current",
        "conditional-requests",
        "one-newest-version",
        "no-hole",
    }


# -- rules that need another history ----------------------------------------------------------------


def said_of(history: dict[str, str], rule: str) -> list[tuple[Severity, str | None]]:
    findings, _summary = check(served(history))
    return [(f.severity, f.document) for f in findings if f.rule == rule]


def test_archives_in_the_wrong_order_are_found() -> None:
    turned = {
        **ATOM_SET,
        "2": histories.atom(4, [3, 2, 1], ARCHIVE, current="index", prev_archive="1"),
        "1": histories.atom(6, [6, 5, 4], ARCHIVE, current="index", next_archive="2"),
    }
    assert said_of(turned, "order-of-dates") == [(WARNING, f"{SITE}/1")]
    assert said_of(ATOM_SET, "order-of-dates") == []


def test_hole_between_subscription_document_and_newest_archive_is_found() -> None:
    index = histories.atom(28, [28, 27, 26, 25], self="index", prev_archive="2")
    assert said_of({**ATOM_SET, "index": index}, "no-hole") == [(ADVICE, f"{SITE}/2")]
    # As far apart as entries are within the documents.
    index = histories.atom(28, [28, 18, 9], self="index", prev_archive="2")
    assert said_of({**ATOM_SET, "index": index}, "no-hole") == []
    assert said_of(ATOM_SET, "no-hole") == [(GOOD, None)]


def test_version_without_a_document_that_is_newer_is_an_error() -> None:
    # RFC 5005, 4.2: neither the entries' times nor the documents' decide.
    index = ATOM_SET["index"].replace("Text 7.", "Another text.").replace("09T18", "07T18")
    assert said_of({**ATOM_SET, "index": index}, "one-newest-version") == [(ERROR, f"{SITE}/2")]


def test_newer_version_with_a_later_time_is_good() -> None:
    index = ATOM_SET["index"].replace("Text 7.", "Another text.").replace("07T12", "08T12")
    assert said_of({**ATOM_SET, "index": index}, "one-newest-version") == [(GOOD, None)]


def test_check_stops_at_a_number_of_documents() -> None:
    findings, summary = check(served(ATOM_SET), max_documents=2)
    assert [f.text for f in findings if f.rule == "walk-ends"] == [
        "The check has stopped at 2 documents: what is older was not checked."
    ]
    assert (summary.documents, summary.is_whole, summary.warnings) == (2, False, 1)


def test_archive_is_told_to_be_no_subscription_document_and_nothing_else_of_it() -> None:
    findings, _summary = check(served(ATOM_SET), f"{SITE}/2")
    assert [(f.rule, f.severity) for f in findings if f.severity is not GOOD] == [
        ("subscription-mark", ERROR)
    ]
    assert not {f.rule for f in findings} & {"current", "no-hole"}


def test_source_of_an_entry_is_another_feeds_head_section() -> None:
    source = f"<source><id>urn:other</id>{ARCHIVE}{LINK_TO_2}</source>"
    index = ATOM_SET["index"].replace("</entry>", f"{source}</entry>")
    assert said_of({**ATOM_SET, "index": index}, "in-head-section") == []


def test_link_to_the_same_document_at_another_url_comes_back() -> None:
    archive = ATOM_SET["1"].replace(
        'rel="current" href="https://example.org/index"', 'rel="current" href="/feed"'
    )
    same = {**ATOM_SET, "1": archive, "feed": ATOM_SET["index"]}
    assert said_of(same, "current") == [(GOOD, None)]


def test_page_of_a_site_names_its_feed() -> None:
    page = '<html><head><link rel="alternate" type="application/atom+xml" href="/feed"/></head></html>'
    findings, _summary = check(served({"index": page}))
    assert [f.text for f in findings] == [
        "It is not a feed: it is an HTML page; it names the feed https://example.org/feed."
    ]


def test_page_that_repeats_itself_is_a_loop() -> None:
    page = histories.atom(9, [6, 5], '<link rel="next" href="more/"/>')
    findings, summary = check(served({**PAGES, "2": page, "more/": page, "more/more/": page}))
    assert [f.document for f in found_by("walk-ends", findings)] == [f"{SITE}/more/"]
    assert not summary.is_whole


def test_history_with_a_document_that_is_cut_off_is_not_whole() -> None:
    archive = ATOM_SET["1"]
    findings, summary = check(served({**ATOM_SET, "1": archive[: archive.rindex("</entry>")]}))
    assert found_by("well-formed", findings)
    assert not summary.is_whole
    assert summary.sentence.startswith("The history was not walked to its end: ")


def test_each_rule_has_a_case() -> None:
    tested = {case.rule for case in CASES} | {"order-of-dates", "no-hole"}
    assert tested == {rule.name for rule in (*DOCUMENT_RULES, *CHAIN_RULES)}


def test_each_rule_has_a_clause_and_a_sentence() -> None:
    for rule in (*DOCUMENT_RULES, *CHAIN_RULES):
        assert any(character.isdigit() for character in rule.clause)
        assert rule.summary.endswith(".")
