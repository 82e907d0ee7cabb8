"""What a failed run says."""

from __future__ import annotations

from fhcrawl.reporting.advice import FAILURES, failures


def test_whatever_makes_the_exit_code_1_is_said_in_a_sentence() -> None:
    for begin, said in FAILURES.items():
        assert failures(["fhcrawl/feed/complete", f"{begin}Somewhere"]) == [said]
    assert failures(["fhcrawl/feed/complete"]) == []
