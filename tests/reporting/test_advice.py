"""What a failed run says, and what to do about what is missing."""

from __future__ import annotations

from fhcrawl.logical_feed import Reason
from fhcrawl.reasons import ReasonKind
from fhcrawl.reporting.summary import FAILURES, Advised, ByAdvice, failures, with_kind_of_advice


def test_whatever_makes_the_exit_code_1_is_said_in_a_sentence() -> None:
    for begin, said in FAILURES.items():
        assert failures(["fhcrawl/feed/complete", f"{begin}Somewhere"]) == [said]
    assert failures(["fhcrawl/feed/complete"]) == []


def test_each_advice_is_said_once_and_the_first_of_its_problems_are_kept() -> None:
    problems: ByAdvice[str] = ByAdvice(2)
    for kind, problem in [("paged", "a"), ("html", "b"), ("http-404", "c"), ("not-xml", "d"), ("html", "e")]:
        problems.add(ReasonKind(kind), problem)
    assert list(problems) == [
        Advised(ReasonKind.HTML.advice, True, ["b", "d"], 1),
        Advised(ReasonKind.HTTP_404.advice, True, ["c"], 0),
        # What cannot be helped comes last.
        Advised(ReasonKind.PAGED.advice, False, ["a"], 0),
    ]


def test_advice_where_no_feed_was_found_is_that_on_unreachable_feeds() -> None:
    unreachable, captured, missing, password, failed, known = (
        Reason(ReasonKind(kind), "http://example.org/a", "", "")
        for kind in ("unreachable", "only-captures", "http-404", "http-401", "timeout", "known-feed")
    )
    assert list(with_kind_of_advice([unreachable, missing])) == [(missing, ReasonKind.UNREACHABLE)]
    both = [(unreachable, ReasonKind.UNREACHABLE), (failed, ReasonKind.TIMEOUT)]
    assert list(with_kind_of_advice([unreachable, failed])) == both
    # There is a feed, and the address is right.
    for there in (password, known):
        assert list(with_kind_of_advice([unreachable, there])) == [(there, there.kind)]
    assert list(with_kind_of_advice([captured, missing])) == [(missing, ReasonKind.ONLY_CAPTURES)]
    assert list(with_kind_of_advice([missing])) == [(missing, ReasonKind.HTTP_404)]
