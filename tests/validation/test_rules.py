"""Each rule finds its fault, at its document and line, and nothing in a history without one."""

from dataclasses import replace

import pytest

from fhcrawl.validation import CHAIN_RULES, DOCUMENT_RULES, Finding, History, Needs, Severity
from tests.validation import histories
from tests.validation.cases import ADVICE, CASES, DECLARED, ERROR, GOOD, LINK_TO_2, WARNING, Case
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
    assert case.fix in there[0].fix


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


GOOD_RULES = {"walk-ends", "archive-marks", "next-archive", "current", "conditional-requests"}


def test_good_history_gets_all_findings_of_good_rules() -> None:
    findings, _summary = check(served(ATOM_SET))
    assert {f.rule for f in findings} == {*GOOD_RULES, "one-newest-version", "no-hole"}


def replaced(path: str, *pairs: tuple[str, str]) -> dict[str, str]:
    """Atom's history with other text in a document."""
    text = ATOM_SET[path]
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return {**ATOM_SET, path: text}


def cut(path: str, before: str) -> dict[str, str]:
    """Atom's history with a document that ends before the last occurrence of a text."""
    return {**ATOM_SET, path: ATOM_SET[path].rpartition(before)[0]}


def with_index(*numbers: int) -> dict[str, str]:
    index = histories.atom(numbers[0], list(numbers), self="index", prev_archive="2")
    return {**ATOM_SET, "index": index}


TURNED = {
    **ATOM_SET,
    "2": histories.atom(4, [3, 2, 1], ARCHIVE, current="index", prev_archive="1"),
    "1": histories.atom(6, [6, 5, 4], ARCHIVE, current="index", next_archive="2"),
}
SOURCE = f"<source><id>urn:other</id>{ARCHIVE}{LINK_TO_2}</source>"
SAME_AT_OTHER_URL = {
    **replaced("1", ('"current" href="https://example.org/index"', '"current" href="/feed"')),
    "feed": ATOM_SET["index"],
}
ANOTHER = ("Text 7.", "Another text.")
NO_LATER = replaced("index", ANOTHER, ("09T18", "07T18"))
# A history, a rule, and the severities and documents of its findings.
FOUND: dict[str, tuple[dict[str, str], str, list[tuple[Severity, str | None]]]] = {
    "archives in the wrong order": (TURNED, "order-of-dates", [(WARNING, f"{SITE}/1")]),
    "archives in order": (ATOM_SET, "order-of-dates", []),
    "a hole": (with_index(28, 27, 26, 25), "no-hole", [(ADVICE, f"{SITE}/2")]),
    "as far apart as entries within documents": (with_index(28, 18, 9), "no-hole", []),
    "overlap": (ATOM_SET, "no-hole", [(GOOD, None)]),
    # RFC 5005, 4.2: neither the entries' times nor the documents' decide.
    "no time is later": (NO_LATER, "one-newest-version", [(ERROR, f"{SITE}/2")]),
    "a later version": (replaced("index", ANOTHER, ("07T12", "08T12")), "one-newest-version", [(GOOD, None)]),
    "source of an entry": (replaced("index", ("</entry>", f"{SOURCE}</entry>")), "in-head-section", []),
    "the same document at another URL": (SAME_AT_OTHER_URL, "current", [(GOOD, None)]),
    # What may be behind a fault is neither missing nor good.
    "a cut link": (cut("1", '  <link rel="next-archive"'), "next-archive", []),
    "a cut subscription document": (cut("index", '  <link rel="prev-archive"'), "says-its-history", []),
    "an export with a gap": (
        replaced("index", (LINK_TO_2, f"{LINK_TO_2}{DECLARED}")),
        "walk-ends",
        [],
    ),
    "cut entries": (cut("1", "</entry>"), "one-newest-version", []),
    "a cut end": (cut("1", "</entry>"), "walk-ends", []),
}


@pytest.mark.parametrize("name", FOUND)
def test_rule_looks_at_the_complete_history(name: str) -> None:
    history, rule, expected = FOUND[name]
    findings, _summary = check(served(history))
    assert [(f.severity, f.document) for f in findings if f.rule == rule] == expected


def test_check_stops_at_a_number_of_documents() -> None:
    findings, summary = check(served(ATOM_SET), max_documents=2)
    assert [f.text for f in findings if f.rule == "walk-ends"] == [
        "The check stopped after 2 documents: older documents were not checked."
    ]
    assert (summary.documents, summary.is_whole, summary.warnings) == (2, False, 1)


def test_archive_is_told_to_be_no_subscription_document_and_nothing_else_of_it() -> None:
    findings, _summary = check(served(ATOM_SET), f"{SITE}/2")
    assert [(f.rule, f.severity) for f in findings if f.severity is not GOOD] == [
        ("subscription-mark", ERROR)
    ]
    assert not {f.rule for f in findings} & {"current", "no-hole"}


def test_page_of_a_site_names_its_feed() -> None:
    page = '<html><head><link rel="alternate" type="application/atom+xml" href="/feed"/></head></html>'
    [finding], _summary = check(served({"index": page}))
    assert finding.text == (
        "It is not a feed: it is an HTML page; it names the feed https://example.org/feed."
    )


def test_page_that_repeats_itself_is_a_loop() -> None:
    page = histories.atom(9, [6, 5], '<link rel="next" href="more/"/>')
    findings, summary = check(served({**PAGES, "2": page, "more/": page, "more/more/": page}))
    assert [f.document for f in found_by("walk-ends", findings)] == [f"{SITE}/more/"]
    assert not summary.is_whole


def test_history_with_a_document_that_is_cut_off_is_not_complete() -> None:
    findings, summary = check(served(cut("1", "</entry>")))
    assert found_by("well-formed", findings)
    assert not summary.is_whole
    assert summary.sentence.startswith("The history was not read to its end: ")


def archives(**next_archive: str) -> dict[str, str]:
    """A chain of the archives 4, 3, 2 and 1, which `current` and these next-archive links lead back from."""
    found = {"index": histories.atom(20, [20, 19], self="index", prev_archive="4")}
    for number in range(4, 0, -1):
        links = {"prev_archive": str(number - 1)} if number > 1 else {}
        there = next_archive.get(f"of_{number}", str(number + 1) if number < 4 else "")
        if there:
            links["next_archive"] = there
        days = [4 * number, 4 * number - 1]
        found[str(number)] = histories.atom(days[0], days, ARCHIVE, current="index", **links)
    return found


def to_do(history: dict[str, str], rule: str, url: str = histories.FEED) -> dict[str, str]:
    """The advice of a rule, by the path of the document."""
    findings, _summary = check(served(history), url)
    return {
        (f.document or "").removeprefix(f"{SITE}/"): f.fix.replace(SITE, "@")
        for f in found_by(rule, findings)
    }


def test_each_archive_is_told_to_link_to_the_one_that_names_it() -> None:
    assert to_do(archives(of_1="", of_2="", of_3=""), "next-archive") == {
        "3": "Add a next-archive link to @/4.",
        "2": "Add a next-archive link to @/3.",
        "1": "Add a next-archive link to @/2.",
    }
    assert to_do(archives(of_1="3", of_2="1", of_3="missing"), "next-archive") == {
        "3": "Link to @/4.",
        "2": "Link to @/3.",
        "1": "Link to @/2.",
    }


@pytest.mark.parametrize("there", ["4", "2", "missing"])
def test_link_of_the_newest_archive_that_leads_to_no_newer_one_is_to_be_removed(there: str) -> None:
    assert to_do(archives(of_4=there), "next-archive") == {"4": "Remove the link: there is no newer archive."}


def test_archive_that_prev_archive_leaves_out_is_kept_in_the_chain() -> None:
    complete = archives()
    skipped = {
        **complete,
        "4": complete["4"].replace('prev-archive" href="https://example.org/3', 'prev-archive" href="/2'),
    }
    assert to_do(skipped, "next-archive") == {
        "2": "If that is an archive older than @/4, let prev-archive links lead from there to it, and from "
        "it to @/2; else link to @/4."
    }
    newest = {**archives(of_3="4"), "index": complete["index"].replace("/4", "/3")}
    assert to_do(newest, "next-archive") == {
        "3": "If that is a newer archive, and finished, let prev-archive links lead from @/index to it, and "
        "from it to @/3; else remove the link."
    }


def test_no_archive_is_told_to_link_to_a_subscription_document_that_is_marked_wrongly() -> None:
    complete = archives()
    marked = {**complete, "index": complete["index"].replace("<entry>", f"{ARCHIVE}<entry>", 1)}
    assert to_do(marked, "subscription-mark")
    assert to_do(marked, "next-archive") == {}
    assert to_do(archives(of_3=""), "next-archive", f"{SITE}/4") == {"3": "Add a next-archive link to @/4."}


def test_archives_in_the_wrong_order_are_not_told_to_link_to_what_names_them() -> None:
    complete = archives()
    turned = {number: complete[str(5 - int(number))] for number in "1234"}
    for number, text in turned.items():
        own = [f'<link rel="{name}-archive"' for name in ("prev", "next")]
        lines = [line for line in text.splitlines() if not line.strip().startswith(tuple(own))]
        link = f'<link rel="prev-archive" href="{SITE}/{int(number) - 1}"/>' if number != "1" else ""
        turned[number] = "\n".join(lines).replace(ARCHIVE, f"{ARCHIVE}{link}")
    found = to_do({**turned, "index": complete["index"]}, "next-archive")
    assert len(found) == 3
    assert all("prev-archive to the one before" in fix for fix in found.values())


def test_links_are_to_name_where_a_document_has_moved_for_good() -> None:
    complete = served(archives(of_3=""))
    for statuses, there in (((301, 308), "moved"), ((302,), "4"), ((301, 302), "4")):
        moved = replace(complete[f"{SITE}/4"], url=f"{SITE}/moved", redirects=statuses)
        findings, _summary = check({**complete, f"{SITE}/4": moved})
        assert [f.fix for f in found_by("next-archive", findings)] == [
            f"Add a next-archive link to {SITE}/{there}."
        ]


@pytest.mark.parametrize("there", ["index", "2"])
def test_link_that_redirects_to_a_document_that_was_read_is_a_loop(there: str) -> None:
    complete = served({**PAGES, "1": PAGES["index"]})
    to = complete[f"{SITE}/{there}"]
    findings, summary = check({**complete, f"{SITE}/1": replace(to, redirects=(301,))})
    assert [(f.document, f.text, f.fix) for f in found_by("walk-ends", findings)] == [
        (
            f"{SITE}/2",
            f"Its next link leads to {SITE}/1, which redirects to {SITE}/{there}, which has been read "
            "already: the chain forms a loop.",
            "Link to the older document, or remove the link if there is none.",
        )
    ]
    assert (summary.documents, summary.is_whole) == (2, False)


def test_feed_that_was_not_fetched_since_the_check_was_interrupted_is_to_be_checked_again() -> None:
    [finding] = found_by("walk-ends", History(histories.FEED).finish()[0])
    assert finding.fix.startswith("Check it again")
    findings, _summary = check({histories.FEED: "is behind a browser challenge (403)"})
    assert [f.fix for f in found_by("walk-ends", findings)] == [
        "Give the URL of a feed, and make sure that its server responds with the feed."
    ]


def test_pages_are_not_told_that_the_page_that_was_given_is_the_first_one() -> None:
    assert to_do(PAGES, "pages", f"{SITE}/2") == {}


def skipped_in(findings: list[Finding], path: str) -> str:
    [finding] = [f for f in found_by("well-formed", findings) if f.severity is WARNING]
    assert finding.document == f"{SITE}/{path}"
    return finding.text


@pytest.mark.parametrize("history", [ATOM_SET, RSS_SET])
def test_repaired_document_lists_the_skipped_rules(history: dict[str, str]) -> None:
    findings, _summary = check(served({**history, "1": history["1"].replace("A Feed", "A & B")}))
    reported, names = skipped_in(findings, "1").split(" Not checked, or only in part: ")
    assert reported == "Its links and entries were checked as readers recover them."
    assert names.rstrip(".").split(", ") == [
        rule.name for rule in (*DOCUMENT_RULES, *CHAIN_RULES) if rule.needs is Needs.MARKUP
    ]


def test_rules_that_need_markup_are_skipped_for_broken_documents() -> None:
    needs = {rule.name: rule.needs for rule in DOCUMENT_RULES}
    for case in CASES:
        if case.rule not in needs:
            continue
        url, responses = f"{SITE}/{case.document}", case.responses()
        is_xml = b"<title>" in responses[url].body
        broken = replace(responses[url], body=responses[url].body.replace(b"A Feed", b"A & B"))
        findings, _summary = check({**responses, url: broken})
        found = {f.rule for f in findings if f.document == url}
        if is_xml and case.rule != "well-formed":
            assert (case.rule in found) is (needs[case.rule] is not Needs.MARKUP), case


def test_elements_after_a_fault_are_neither_missing_nor_good() -> None:
    head = ATOM_SET["2"].partition("  <fh:archive/>")[0].partition('  <link rel="current"')[0]
    findings, summary = check(served({**ATOM_SET, "2": head}))
    assert not summary.is_whole
    assert {f.rule for f in findings if f.document == f"{SITE}/2"} == {"well-formed"}
    assert {f.rule for f in findings if f.severity is GOOD} == {"conditional-requests"}
    text = skipped_in(findings, "2")
    assert text.startswith("Its links and entries were checked as readers recover them, up to the error. ")
    for name in ("relation-name", "walk-ends", "archive-marks", "next-archive", "current", "one-feed"):
        assert f" {name}," in text.replace(".", ",")


def test_each_rule_has_a_case_a_clause_and_a_sentence() -> None:
    tested = {case.rule for case in CASES} | {"order-of-dates", "no-hole"}
    assert tested == {rule.name for rule in (*DOCUMENT_RULES, *CHAIN_RULES)}
    for rule in (*DOCUMENT_RULES, *CHAIN_RULES):
        assert any(character.isdigit() for character in rule.clause)
        assert rule.summary.endswith(".")
