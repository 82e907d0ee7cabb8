"""What a failed run says, and what to do about what is missing."""

from __future__ import annotations

from fhcrawl.reasons import ReasonKind
from fhcrawl.reporting.advice import FAILURES, Advised, ByAdvice, failures


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
