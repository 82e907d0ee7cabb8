"""Each rule finds its fault, at its document and line, and nothing in a history without one."""

from dataclasses import replace

import pytest

from fhcrawl.validation import CHAIN_RULES, DOCUMENT_RULES, Finding, HistoryCheck, Needs, Severity
from tests.validation import histories
from tests.validation.cases import (
    ADVICE,
    CHAIN_CASES,
    DOCUMENT_CASES,
    ERROR,
    GOOD,
    LINK_TO_2,
    WARNING,
    Case,
)
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

CASES = [*DOCUMENT_CASES, *CHAIN_CASES]


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


def said_of(history: dict[str, str], rule: str) -> list[tuple[Severity, str | None]]:
    findings, _summary = check(served(history))
    return [(f.severity, f.document) for f in findings if f.rule == rule]


def newest(*numbers: int) -> str:
    return histories.atom(numbers[0], list(numbers), self="index", prev_archive="2")


TURNED = {
    "2": histories.atom(4, [3, 2, 1], ARCHIVE, current="index", prev_archive="1"),
    "1": histories.atom(6, [6, 5, 4], ARCHIVE, current="index", next_archive="2"),
}
INDEX, ONE = ATOM_SET["index"], ATOM_SET["1"]
NEWER = INDEX.replace("Text 7.", "Another text.")
SOURCE = f"<source><id>urn:other</id>{ARCHIVE}{LINK_TO_2}</source></entry>"
TO_INDEX = 'rel="current" href="https://example.org/index"'


@pytest.mark.parametrize(
    ("rule", "changed", "said"),
    [
        ("order-of-dates", TURNED, [(WARNING, f"{SITE}/1")]),
        ("order-of-dates", {}, []),
        # Between the subscription document and the newest archive.
        ("no-hole", {"index": newest(28, 27, 26, 25)}, [(ADVICE, f"{SITE}/2")]),
        # As far apart as entries are within the documents.
        ("no-hole", {"index": newest(28, 18, 9)}, []),
        ("no-hole", {}, [(GOOD, None)]),
        # RFC 5005, 4.2: neither the entries' times nor the documents' decide.
        ("one-newest-version", {"index": NEWER.replace("09T18", "07T18")}, [(ERROR, f"{SITE}/2")]),
        ("one-newest-version", {"index": NEWER.replace("07T12", "08T12")}, [(GOOD, None)]),
        # An entry's source has the head section of another feed.
        ("in-head-section", {"index": INDEX.replace("</entry>", SOURCE)}, []),
        # The same document at another URL.
        (
            "current",
            {"1": ONE.replace(TO_INDEX, 'rel="current" href="/feed"'), "feed": INDEX},
            [(GOOD, None)],
        ),
        # A link that may be behind a fault is neither missing nor good, and entries are not said to be clear.
        ("next-archive", {"1": ONE.partition('  <link rel="next-archive"')[0]}, []),
        ("one-newest-version", {"1": ONE[: ONE.rindex("</entry>")]}, []),
        ("walk-ends", {"1": ONE[: ONE.rindex("</entry>")]}, []),
        ("says-its-history", {"index": INDEX.partition('  <link rel="prev-archive"')[0]}, []),
    ],
)
def test_rule_of_other_histories(
    rule: str, changed: dict[str, str], said: list[tuple[Severity, str | None]]
) -> None:
    assert said_of({**ATOM_SET, **changed}, rule) == said


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
    assert summary.sentence.startswith("The history was not read to its end: ")


def archives(**next_archive: str) -> dict[str, str]:
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
    findings, _summary = check(served(history), url)
    return {
        (f.document or "").removeprefix(f"{SITE}/"): f.fix.replace(SITE, "@")
        for f in found_by(rule, findings)
    }


def replaced(path: str, old: str, new: str) -> dict[str, str]:
    return {**archives(), path: archives()[path].replace(old, new, 1)}


ADD = {str(number): f"Add a next-archive link to @/{number + 1}." for number in (3, 2, 1)}
LINK = {str(number): f"Link to @/{number + 1}." for number in (3, 2, 1)}
REMOVE = {"4": "Remove the link: there is no newer archive."}
OLDER = (
    "If that is an archive older than @/4, let prev-archive links lead from there to it, and from "
    "it to @/2; else link to @/4."
)
NEWER_ARCHIVE = (
    "If that is a newer archive, and finished, let prev-archive links lead from @/index to it, and "
    "from it to @/3; else remove the link."
)
END = "Link to the older document, or remove the link if there is none."


@pytest.mark.parametrize(
    ("history", "rule", "path", "fixes"),
    [
        (archives(of_1="", of_2="", of_3=""), "next-archive", "index", ADD),
        (archives(of_1="3", of_2="1", of_3="missing"), "next-archive", "index", LINK),
        *((archives(of_4=there), "next-archive", "index", REMOVE) for there in ("4", "2", "missing")),
        # An archive that prev-archive leaves out is kept in the chain.
        (
            replaced("4", 'prev-archive" href="https://example.org/3', 'prev-archive" href="/2'),
            *("next-archive", "index", {"2": OLDER}),
        ),
        (
            {**archives(of_3="4"), "index": archives()["index"].replace("/4", "/3")},
            *("next-archive", "index", {"3": NEWER_ARCHIVE}),
        ),
        # No archive is told to link to a subscription document that is marked wrongly.
        (replaced("index", "<entry>", f"{ARCHIVE}<entry>"), "next-archive", "index", {}),
        (archives(of_3=""), "next-archive", "4", {"3": ADD["3"]}),
        (replaced("1", "next-archive", "prev-archive"), "walk-ends", "index", {"1": END}),
        # The page that was given is not told that it is the first one.
        (PAGES, "pages", "2", {}),
    ],
)
def test_what_a_rule_says_to_do(history: dict[str, str], rule: str, path: str, fixes: dict[str, str]) -> None:
    assert to_do(history, rule, f"{SITE}/{path}") == fixes


def test_archives_in_the_wrong_order_are_not_told_to_link_to_what_names_them() -> None:
    whole = archives()
    turned = {number: whole[str(5 - int(number))] for number in "1234"}
    for number, text in turned.items():
        own = [f'<link rel="{name}-archive"' for name in ("prev", "next")]
        lines = [line for line in text.splitlines() if not line.strip().startswith(tuple(own))]
        link = f'<link rel="prev-archive" href="{SITE}/{int(number) - 1}"/>' if number != "1" else ""
        turned[number] = "\n".join(lines).replace(ARCHIVE, f"{ARCHIVE}{link}")
    found = to_do({**turned, "index": whole["index"]}, "next-archive")
    assert len(found) == 3
    assert all("prev-archive to the one before" in fix for fix in found.values())


def test_links_are_to_name_where_a_document_has_moved_for_good() -> None:
    whole = served(archives(of_3=""))
    for statuses, there in (((301, 308), "moved"), ((302,), "4"), ((301, 302), "4")):
        moved = replace(whole[f"{SITE}/4"], url=f"{SITE}/moved", redirects=statuses)
        findings, _summary = check({**whole, f"{SITE}/4": moved})
        assert [f.fix for f in found_by("next-archive", findings)] == [
            f"Add a next-archive link to {SITE}/{there}."
        ]


@pytest.mark.parametrize("there", ["index", "2"])
def test_link_that_redirects_to_a_document_that_was_read_is_a_loop(there: str) -> None:
    whole = served({**PAGES, "1": PAGES["index"]})
    to = whole[f"{SITE}/{there}"]
    findings, summary = check({**whole, f"{SITE}/1": replace(to, redirects=(301,))})
    assert [(f.document, f.text, f.fix) for f in found_by("walk-ends", findings)] == [
        (
            f"{SITE}/2",
            f"Its next link leads to {SITE}/1, which redirects to {SITE}/{there}, which has been read "
            "already: the chain forms a loop.",
            "Link to the older document, or remove the link if there is none.",
        )
    ]
    assert (summary.documents, summary.is_whole) == (2, False)


def test_gzip_is_to_be_declared() -> None:
    gzip = {"content-type": "application/gzip"}
    findings, _summary = check(served(WHOLE, gzip))
    assert [f.fix for f in found_by("media-type", findings)] == [
        "Serve it as application/atom+xml, with Content-Encoding: gzip."
    ]


def test_feed_that_was_not_fetched_since_the_check_was_interrupted_is_to_be_checked_again() -> None:
    [finding] = found_by("walk-ends", HistoryCheck(histories.FEED).finish())
    assert finding.fix.startswith("Check it again")
    findings, _summary = check({histories.FEED: "is behind a browser challenge (403)"})
    assert [f.fix for f in found_by("walk-ends", findings)] == [
        "Give the URL of a feed, and make sure that its server responds with the feed."
    ]


def skipped_in(history: dict[str, str], path: str) -> str:
    findings, _summary = check(served(history))
    [text] = [
        f.text
        for f in findings
        if (f.rule, f.severity, f.document) == ("well-formed", WARNING, f"{SITE}/{path}")
    ]
    return text


@pytest.mark.parametrize("history", [ATOM_SET, RSS_SET])
def test_document_that_is_repaired_says_which_rules_were_skipped(history: dict[str, str]) -> None:
    broken = {**history, "1": history["1"].replace("A Feed", "A & B")}
    said, names = skipped_in(broken, "1").split(" Not checked, or only in part: ")
    assert said == "Its links and entries were checked as readers recover them."
    assert names.rstrip(".").split(", ") == [
        rule.name for rule in (*DOCUMENT_RULES, *CHAIN_RULES) if rule.needs is Needs.MARKUP
    ]


def test_rules_that_need_the_elements_are_those_that_are_said_to_be_skipped() -> None:
    for case in DOCUMENT_CASES:
        rule = next(rule for rule in DOCUMENT_RULES if rule.name == case.rule)
        url, responses = f"{SITE}/{case.document}", case.responses()
        is_xml = b"<title>" in responses[url].body
        broken = replace(responses[url], body=responses[url].body.replace(b"A Feed", b"A & B"))
        findings, _summary = check({**responses, url: broken})
        found = {f.rule for f in findings if f.document == url}
        if is_xml and rule.name != "well-formed":
            assert (rule.name in found) is (rule.needs is not Needs.MARKUP), case


def test_nothing_is_said_to_be_missing_or_good_that_may_be_behind_the_fault() -> None:
    head = ATOM_SET["2"].partition("  <fh:archive/>")[0].partition('  <link rel="current"')[0]
    findings, summary = check(served({**ATOM_SET, "2": head}))
    assert not summary.is_whole
    assert {f.rule for f in findings if f.document == f"{SITE}/2"} == {"well-formed"}
    assert {f.rule for f in findings if f.severity is GOOD} == {"conditional-requests"}
    text = skipped_in({**ATOM_SET, "2": head}, "2")
    assert text.startswith("Its links and entries were checked as readers recover them, up to the error. ")
    for name in ("relation-name", "walk-ends", "archive-marks", "next-archive", "current", "one-feed"):
        assert f" {name}," in text.replace(".", ",")


def test_each_rule_has_a_case() -> None:
    tested = {case.rule for case in CASES} | {"order-of-dates", "no-hole"}
    assert tested == {rule.name for rule in (*DOCUMENT_RULES, *CHAIN_RULES)}


def test_each_rule_has_a_clause_and_a_sentence() -> None:
    for rule in (*DOCUMENT_RULES, *CHAIN_RULES):
        assert any(character.isdigit() for character in rule.clause)
        assert rule.summary.endswith(".")
