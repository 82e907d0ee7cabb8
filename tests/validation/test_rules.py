"""Each rule finds its fault, at its document and line, and nothing in a history without one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from fhcrawl.validation import CHAIN_RULES, DOCUMENT_RULES, Severity
from tests.validation import histories
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

if TYPE_CHECKING:
    from fhcrawl.validation import Fetched, Finding

ERROR, WARNING, ADVICE, GOOD = Severity
LINK_TO_2 = '<link rel="prev-archive" href="https://example.org/2"/>'
RSS_TO_2 = LINK_TO_2.replace("link", "atom:link", 1)
NEXT_TO_2 = '<link rel="next-archive" href="https://example.org/2"/>'
CURRENT = '<link rel="current" href="https://example.org/index"/>'
ID_9 = "<id>urn:9</id>"
HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Case:
    """A fault in a history: what is replaced in one of its documents, or how that is served.

    :param document: its path; '' for a finding about the chain
    :param line: the line of the fault; None if the finding has none
    :param words: words of the sentence
    """

    rule: str
    severity: Severity
    words: str
    document: str = "index"
    old: str = ""
    new: str = ""
    line: int | None = None
    history: dict[str, str] = field(default_factory=lambda: ATOM_SET)
    headers: dict[str, str] = field(default_factory=dict)
    changed: str | None = None  # the path of the document that is changed, if it is another one
    redirects: tuple[int, ...] = ()
    is_cut: bool = False
    leads_to: str = ""  # where a redirect leads

    def responses(self) -> dict[str, Fetched]:
        path = self.document if self.changed is None else self.changed
        assert self.old in self.history[path]
        text = (
            self.history[path].replace(self.old, self.new, 1) if self.old else self.history[path] + self.new
        )
        found = served({**self.history, path: text})
        url = f"{SITE}/{path}"
        here = replace(found[url], redirects=self.redirects, is_cut=self.is_cut, url=self.leads_to or url)
        return {**found, url: replace(here, headers={**here.headers, **self.headers})}


OLD_ENTRY = histories.ENTRY.format(number=4)
CASES = [
    # history.py
    Case(
        "subscription-mark",
        ERROR,
        "marked with fh:archive",
        old=LINK_TO_2,
        new=f"{LINK_TO_2}\n{ARCHIVE}",
        line=8,
    ),
    Case(
        "subscription-mark",
        ERROR,
        "has a next-archive link",
        old=LINK_TO_2,
        new=f"{LINK_TO_2}{NEXT_TO_2}",
        line=6,
    ),
    Case(
        "one-type",
        ERROR,
        "fh:complete, and a prev-archive",
        old=LINK_TO_2,
        new=f"{LINK_TO_2}\n<fh:complete/>",
        line=7,
    ),
    Case("one-type", ERROR, "fh:complete and fh:archive", "2", ARCHIVE, f"{ARCHIVE}<fh:complete/>", 9),
    Case(
        "one-type",
        WARNING,
        "which is for paged ones",
        "2",
        ARCHIVE,
        f'{ARCHIVE}<link rel="next" href="1"/>',
        9,
    ),
    Case(
        "one-link",
        ERROR,
        "to https://example.org/2 and to https://example.org/1",
        old=LINK_TO_2,
        new=f'{LINK_TO_2}<link rel="prev-archive" href="/1"/>',
        line=7,
    ),
    Case(
        "link-target",
        ERROR,
        "prev-archive link has no URL",
        "1",
        ARCHIVE,
        '<link rel="prev-archive" href=""/>',
        9,
    ),
    Case(
        "relation-name", ERROR, "'previous-archive'", old='"prev-archive"', new='"previous-archive"', line=7
    ),
    Case(
        "in-head-section",
        ERROR,
        "'prev-archive' is not in the head",
        old=ID_9,
        new=f"{ID_9}{LINK_TO_2}",
        line=9,
    ),
    Case(
        "in-head-section",
        ERROR,
        "fh:archive is not in the head",
        "2",
        "<item>",
        f"<item>{ARCHIVE}",
        10,
        RSS_SET,
    ),
    Case(
        "link-namespace",
        ERROR,
        "'prev-archive' is not in Atom's",
        old="<atom:link",
        new="<link",
        line=7,
        history=RSS_SET,
    ),
    Case(
        "history-namespace",
        ERROR,
        "in the namespace http://example.org/history",
        "2",
        ARCHIVE,
        '<archive xmlns="http://example.org/history"/>',
        9,
    ),
    Case(
        "history-elements",
        WARNING,
        "fh:prev is of a draft",
        old=LINK_TO_2,
        new=f"{LINK_TO_2}<fh:prev>2</fh:prev>",
        line=7,
    ),
    Case("history-elements", ERROR, "fh:archived is no element", "2", ARCHIVE, f"{ARCHIVE}<fh:archived/>", 9),
    Case(
        "history-elements",
        WARNING,
        "fh:archive is not empty",
        "2",
        ARCHIVE,
        "<fh:archive>true</fh:archive>",
        9,
    ),
    Case(
        "relative-links",
        ADVICE,
        "'prev-archive' is relative",
        old="https://example.org/2",
        new="2",
        line=7,
        history=RSS_SET,
    ),
    Case(
        "secure-links",
        WARNING,
        "from https: to http:",
        old='href="https://example.org/2"',
        new='href="http://example.org/2"',
        line=7,
    ),
    Case(
        "secure-links",
        ADVICE,
        "another host, example.net",
        old='href="https://example.org/2"',
        new='href="https://example.net/2"',
        line=7,
    ),
    Case("says-its-history", ADVICE, "where its older entries are", old=LINK_TO_2, line=2),
    Case("says-its-history", ADVICE, "It is paged", history=PAGES),
    # formats.py
    Case("well-formed", ERROR, "not well-formed", "1", "</feed>", "", 39),
    Case("well-formed", ERROR, "is read as http://purl.org/syndication", "1", "history/1.0", "history/1.0/"),
    Case("well-formed", ERROR, "before the length", "1", is_cut=True),
    Case("entries-are-read", ERROR, "It is lost to readers", "1", "<entry>", '<entry xmlns="">'),
    Case("entry-id", ERROR, "it has no atom:id", old=ID_9, line=8),
    Case("entry-id", WARNING, "no guid", old="<guid>https://example.org/9</guid>", line=8, history=RSS_SET),
    Case("entry-title", ERROR, "it has no atom:title", old="<title>Entry 9</title>", line=8),
    Case("id-is-a-uri", ERROR, "'9' is no absolute IRI", old=ID_9, new="<id>9</id>", line=9),
    Case(
        "id-is-a-uri",
        ERROR,
        "'9' is a permalink",
        old="https://example.org/9",
        new="9",
        line=9,
        history=RSS_SET,
    ),
    Case("unique-ids", WARNING, "urn:4 is twice", "1", OLD_ENTRY, f"{OLD_ENTRY}\n{OLD_ENTRY}", 17),
    Case(
        "update-times",
        ERROR,
        "feed has no atom:updated",
        old="<updated>2003-12-09T18:00:00Z</updated>",
        line=2,
    ),
    Case(
        "update-times",
        ERROR,
        "entry has no atom:updated",
        old="<updated>2003-12-09T12:00:00Z</updated>",
        line=8,
    ),
    Case(
        "archive-time",
        ADVICE,
        "no lastBuildDate",
        "1",
        "<lastBuildDate>04 Dec 2003 18:00:00 GMT</lastBuildDate>",
        line=4,
        history=RSS_SET,
    ),
    Case("dates", ERROR, "is not a date", old="2003-12-09T12:00:00Z", new="yesterday", line=8),
    Case(
        "times-are-past",
        WARNING,
        "entry's update time is in the future",
        old="2003-12-09T12:00:00Z",
        new="2033-12-09T12:00:00Z",
        line=8,
    ),
    Case(
        "times-are-past",
        WARNING,
        "feed's update time is in the future",
        old="2003-12-09T18:00:00Z",
        new="2033-12-09T18:00:00Z",
    ),
    Case("feed-head", ERROR, "no atom:id", old="<id>urn:feed</id>", line=2),
    Case(
        "feed-head",
        WARNING,
        "no self link",
        old='<link rel="self" href="https://example.org/index"/>',
        line=2,
    ),
    Case(
        "standard-form",
        WARNING,
        "its link is an attribute",
        old="<title>Entry 9</title>",
        new='<link href="https://example.org/a"/>',
        line=8,
        history=RSS_SET,
    ),
    # serving.py
    Case("media-type", ERROR, "Its Content-Type is text/html.", headers={"content-type": HTML}),
    Case("media-type", WARNING, "Its Content-Type is text/plain.", headers={"content-type": "text/plain"}),
    Case("media-type", ADVICE, "Its Content-Type is text/xml.", headers={"content-type": "text/xml"}),
    Case(
        "one-encoding",
        WARNING,
        "Content-Type says cp1252, but its XML",
        line=1,
        headers={"content-type": "application/atom+xml; charset=latin1"},
    ),
    Case("archive-url", WARNING, "redirects (301)", "2", redirects=(301,), leads_to=f"{SITE}/two"),
    Case("archive-url", ADVICE, "redirects (302)", "2", redirects=(302,), leads_to=f"{SITE}/two"),
    Case("caching", ADVICE, "for 0 seconds", "2", headers={"cache-control": "no-cache"}),
    Case("caching", ADVICE, "does not say how long", "2", headers={"cache-control": ""}),
    Case("size", ADVICE, "It has 1.1 MiB.", new="\n" * 1_150_000),
    # chain.py
    Case(
        "walk-ends",
        ERROR,
        "/3, which is not there (404)",
        old="https://example.org/2",
        new=f"{SITE}/3",
        line=7,
    ),
    Case("walk-ends", ERROR, "the chain is a loop", "1", ARCHIVE, LINK_TO_2, 9),
    Case("walk-ends", ERROR, "is not a feed: it is an HTML page", old=ATOM_SET["index"], new="<html></html>"),
    Case("archive-marks", WARNING, "no fh:archive", "1", ARCHIVE, line=2),
    Case(
        "next-archive",
        ERROR,
        "leads to https://example.org/3, which is not there (404).",
        "1",
        NEXT_TO_2,
        NEXT_TO_2.replace("/2", "/3"),
        8,
    ),
    Case(
        "next-archive",
        ERROR,
        "leads to https://example.org/1, and not to https://example.org/2.",
        "1",
        NEXT_TO_2,
        NEXT_TO_2.replace("/2", "/1"),
        8,
    ),
    Case("next-archive", WARNING, "no next-archive link", "1", NEXT_TO_2, line=2),
    Case(
        "next-archive",
        ERROR,
        "next-archive link leads to https://example.org/3, which is not there",
        "2",
        ARCHIVE,
        f"{ARCHIVE}{NEXT_TO_2}".replace("g/2", "g/3"),
        9,
    ),
    Case(
        "next-archive",
        WARNING,
        "to the subscription document",
        "2",
        ARCHIVE,
        f"{ARCHIVE}{NEXT_TO_2}".replace("g/2", "g/index"),
        9,
    ),
    Case(
        "current", ERROR, "not to the subscription document", "1", CURRENT, CURRENT.replace("index", "2"), 7
    ),
    Case("current", ERROR, "/3, which is not there (404)", "1", CURRENT, CURRENT.replace("index", "3"), 7),
    Case("current", WARNING, "no current link", "1", CURRENT, line=2),
    Case(
        "self-link",
        WARNING,
        "leads to https://example.org/index, and not to https://example.org/1.",
        "1",
        'rel="self" href="https://example.org/1"',
        'rel="self" href="https://example.org/index"',
        6,
    ),
    Case(
        "self-link",
        WARNING,
        "leads to https://example.org/feed, which is not there (404).",
        old='rel="self" href="https://example.org/index"',
        new='rel="self" href="https://example.org/feed"',
        line=6,
    ),
    Case(
        "pages",
        ERROR,
        "previous link leads to https://example.org/1",
        "2",
        'rel="previous" href="https://example.org/index"',
        'rel="previous" href="https://example.org/1"',
        8,
        PAGES,
    ),
    Case("conditional-requests", ADVICE, "neither ETag nor", headers={"etag": ""}),
    Case("conditional-requests", ADVICE, "answered with 200", headers={"x-forgets": "1"}),
    # neighbours.py
    Case("one-newest-version", ERROR, "with the same atom:updated", "1", "Text 4.", "Another text.", 10),
    Case("one-newest-version", WARNING, "with the same atom:updated", "2", "Text 7.", "Another text.", 10),
    Case(
        "one-newest-version",
        ADVICE,
        "only the documents' times",
        "1",
        "Text 4.",
        "Another text.",
        10,
        RSS_SET,
    ),
    Case(
        "ids-stay",
        ADVICE,
        "https://example.org/4 have different ids",
        "1",
        "<id>urn:4</id>",
        "<id>urn:other</id>",
        10,
    ),
    Case("one-feed", WARNING, "Its atom:id is urn:other", "1", "<id>urn:feed</id>", "<id>urn:other</id>", 2),
    Case(
        "order-of-documents",
        ADVICE,
        "is later than that of",
        "2",
        "2003-12-07T18:00:00Z",
        "2003-12-09T18:00:01Z",
        2,
    ),
]


def found_by(rule: str, findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.rule == rule and finding.severity is not GOOD]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.words}")
def test_rule_finds_a_fault(case: Case) -> None:
    findings, _summary = check(case.responses())
    there = [finding for finding in found_by(case.rule, findings) if case.words in finding.text]
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
    findings, summary = check(served(ATOM_SET), most=2)
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


def test_each_rule_has_a_case() -> None:
    tested = {case.rule for case in CASES} | {"order-of-dates", "no-hole"}
    assert tested == {rule.name for rule in (*DOCUMENT_RULES, *CHAIN_RULES)}


def test_each_rule_has_a_clause_and_a_sentence() -> None:
    for rule in (*DOCUMENT_RULES, *CHAIN_RULES):
        assert any(character.isdigit() for character in rule.clause)
        assert rule.summary.endswith(".")
