"""Metadata of a feed, from its head section."""

import pytest

from fhcrawl.documents.metadata import Person, person_of


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ed@example.org (Ed)", Person("Ed", "ed@example.org")),
        ("Ed <ed@example.org>", Person("Ed", "ed@example.org")),
        ("ed@example.org", Person(None, "ed@example.org")),
        ("Ed", Person("Ed")),
    ],
)
def test_name_and_mail_address_of_a_person_are_told_apart(line: str, expected: Person) -> None:
    assert person_of(line) == expected


# With a pattern that tries every position for the middle of an address, each takes minutes.
@pytest.mark.parametrize("part", ["@", "a", "a <", "@ ("])
def test_long_line_of_a_person_is_read(part: str) -> None:
    line = part * 100_000
    assert person_of(line) == Person(line)
