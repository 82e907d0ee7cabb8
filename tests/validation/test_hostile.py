"""Documents that are made to use up time or memory, or to make a rule fail."""

import pytest

from fhcrawl.spiders.check import MOST_PROBES
from fhcrawl.validation import model
from fhcrawl.validation.model import MOST_OF_DOCUMENT
from tests.validation import histories
from tests.validation.histories import ARCHIVE, ATOM_SET, RSS_SET, SITE, check, served

HEADS = {
    "an address that is none": '<link rel="prev-archive" href="http://[::"/><link rel="self" href="http://["/>',
    "very long relations": f'<link rel="{"prev-archive " * 40_000}" href="2"/>',
    "very long relations of a link that no reader reads": f'<x><link rel="{"a " * 60_000}" href="2"/></x>',
    "very many links": '<link rel="next-archive" href="2"/>' * 10_000,
    "very many elements of RFC 5005": "<fh:prev>2</fh:prev><fh:x/>" * 10_000,
    "a very long URL": f'<link rel="prev-archive" href="{"x" * 100_000}"/>',
    "control characters": '<link rel="prev-archive" href="http://example.org/&#x85;&#x9b;2J"/>',
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_check_comes_to_its_end(head: str) -> None:
    document = histories.atom(9, [9], head)
    findings, summary = check(served({**ATOM_SET, "index": document, "2": document}))
    assert summary.documents
    assert len(findings) < 30 * MOST_OF_DOCUMENT


def test_not_a_feed_is_an_error() -> None:
    for body in ("", "{}", "<a/>", "\0", "<feed", '{"items": ['):
        findings, summary = check(served({**ATOM_SET, "2": body}))
        assert [f.document for f in findings if f.rule == "walk-ends"] == [f"{SITE}/index"]
        assert (summary.documents, summary.is_whole) == (1, False)


def test_findings_of_a_document_are_limited() -> None:
    document = histories.atom(9, list(range(1, 99))).replace("<id>urn:", "<id>")
    findings, _summary = check(served({"index": document}))
    assert sum(f.rule == "id-is-a-uri" for f in findings) == MOST_OF_DOCUMENT


def test_probes_of_back_links_are_limited() -> None:
    number = MOST_PROBES + 5
    chain = {
        str(n): histories.atom(
            1, [1], ARCHIVE, current=f"other/{n}", prev_archive=str(n - 1), next_archive=str(n + 1)
        )
        for n in range(1, number)
    }
    index = histories.atom(9, [9], self="index", prev_archive=str(number - 1))
    findings, _summary = check(served({**chain, "index": index, "0": histories.atom(1, [1], ARCHIVE)}))
    reported = [f for f in findings if f.rule == "current" and "leads to" in f.text]
    assert 0 < len(reported) <= MOST_PROBES


def test_entries_that_are_remembered_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_ENTRIES", 5)
    # Entry 4 of the archive before it is not remembered.
    changed = RSS_SET["1"].replace("Text 4.", "Another text.")
    findings, _summary = check(served({**RSS_SET, "1": changed}))
    reported = [f.text for f in findings if f.rule == "one-newest-version" and f.severity != "good"]
    assert [text[: len("Only ")] for text in reported] == ["Only "]
