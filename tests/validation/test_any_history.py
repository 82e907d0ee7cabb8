"""What holds for the check of any history, however its documents link to each other."""

from hypothesis import given
from hypothesis import strategies as st

from fhcrawl.validation import Severity
from tests.validation import histories
from tests.validation.histories import (
    ARCHIVE,
    ATOM_SET,
    COMPLETE,
    FEED,
    RSS_SET,
    SITE,
    check,
    response,
    served,
)

PATHS = ("index", "1", "2", "3", "missing")
RELATIONS = ("prev_archive", "next_archive", "current", "self", "next", "previous", "first", "last")
LINKS = st.dictionaries(st.sampled_from(RELATIONS), st.sampled_from(PATHS), max_size=4)
DOCUMENT = st.builds(
    lambda day, numbers, mark, links: histories.atom(day, numbers, mark, **links),
    st.integers(1, 28),
    st.lists(st.integers(1, 9), max_size=4),
    st.sampled_from(["", ARCHIVE, COMPLETE]),
    LINKS,
)
HISTORY = st.fixed_dictionaries(dict.fromkeys(PATHS[:-1], DOCUMENT))


@given(HISTORY)
def test_check_of_any_links_ends_and_does_not_contradict_itself(history: dict[str, str]) -> None:
    findings, summary = check(served(history))
    by_severity = {s: {f.rule for f in findings if f.severity is s} for s in Severity}
    # What is good is not wrong in another document.
    assert not by_severity[Severity.GOOD] & (by_severity[Severity.ERROR] | by_severity[Severity.WARNING])
    walks = "walk-ends" in by_severity[Severity.ERROR]
    assert summary.is_whole is not walks
    assert {f.document for f in findings} <= {None, *(f"{SITE}/{path}" for path in PATHS[:-1])}


ARCHIVES = ("1", "2", "3", "4")
LEADS_TO = st.sampled_from(["", "index", "missing", *ARCHIVES])
HEAD = {"next_archive": LEADS_TO, "current": LEADS_TO, "mark": st.sampled_from(["", ARCHIVE])}
DAMAGED = st.fixed_dictionaries(dict.fromkeys(ARCHIVES, st.fixed_dictionaries(HEAD)))


def chain_of(archives: dict[str, dict[str, str]]) -> dict[str, str]:
    """A subscription document, and the archives 4 to 1, with right prev-archive links."""
    found = {"index": histories.atom(20, [20, 19], self="index", prev_archive="4")}
    for name, head in archives.items():
        number = int(name)
        links = {relation: there for relation, there in head.items() if relation != "mark" and there}
        if number > 1:
            links["prev_archive"] = str(number - 1)
        found[name] = histories.atom(4 * number, [4 * number, 4 * number - 1], head["mark"], **links)
    return found


@given(DAMAGED)
def test_following_the_advice_of_a_check_leaves_no_findings(
    archives: dict[str, dict[str, str]],
) -> None:
    findings, _summary = check(served(chain_of(archives)))
    for finding in findings:
        head = archives.get((finding.document or "").removeprefix(f"{SITE}/"), {})
        there = finding.fix.rpartition(f"{SITE}/")[2].rstrip(".")
        if finding.rule == "archive-marks" and "Add <fh:archive/>" in finding.fix:
            head["mark"] = ARCHIVE
        elif finding.rule in ("next-archive", "current") and finding.fix:
            is_removed = finding.fix.startswith("Remove")
            assert is_removed or finding.fix.startswith(("Link to", "Add "))
            head[finding.rule.replace("-", "_")] = "" if is_removed else there
    assert archives == {
        name: {"next_archive": "" if name == "4" else str(int(name) + 1), "current": "index", "mark": ARCHIVE}
        for name in ARCHIVES
    }


@given(
    st.sampled_from([ATOM_SET["1"], RSS_SET["1"]]),
    st.integers(0, 2000),
    st.integers(0, 30),
    st.binary(max_size=8),
)
def test_check_of_any_octets_ends(document: str, at: int, length: int, octets: bytes) -> None:
    body = document.encode()
    body = body[:at] + octets + body[at + length :]
    findings, _summary = check({FEED: response(FEED, body)})
    assert findings
