"""A year of polls, as the documentation has it."""

from pathlib import Path

from tests.benchmarks.holes import PUBLISHERS, line

PAGE = Path(__file__).parent.parent.parent / "docs" / "explanation" / "plain-feeds.md"


def test_documentation_says_how_many_holes_a_year_leaves() -> None:
    table = PAGE.read_text(encoding="utf-8")
    weekly = PUBLISHERS[2]
    assert line(weekly) in table
    assert all(f"| {publisher.name} | {publisher.shown} |" in table for publisher in PUBLISHERS)
