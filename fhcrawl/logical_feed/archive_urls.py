"""Predicts the next URLs of a chain, if its last ones changed by the same step each time.

A step is a change of months (across years) or of counters, in the path or in the query, zero-padded or not.
The rest of the URL must stay the same; where a number can be written in two ways, nothing is predicted.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The host does not change; nor do percent-encoded octets. Longer numbers are split.
HEAD = re.compile(r"[^:/?#]+://[^/?#]*")
NUMBER = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])([0-9]{1,18})")
YEAR = re.compile(r"(?:19|20)[0-9]{2}")
MONTH = re.compile(r"0?[1-9]|1[0-2]")
YEAR_AND_MONTH = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])")
DATE = re.compile(r"((?:19|20)[0-9]{2}(?:0[1-9]|1[0-2]))(0[1-9]|[12][0-9]|3[01])")
# The first step, and two more that were predicted from it and came true.
ENOUGH = 4
MONTHS = 12
URLS_REMEMBERED = 1000


class Unit(NamedTuple):
    """Numbers of a URL that change together, by their indexes.

    :param year: index of the year; None: the unit is a counter; `last`: one number is year and month
    :param last: index of the month, or of the counter
    :param again: indexes of other numbers that are the same year: /2003/archive-2003-11
    """

    year: int | None
    last: int
    again: tuple[int, ...] = ()

    def value(self, numbers: Sequence[str]) -> int:
        """Return the value of a counter, or the months since the year 0."""
        number = int(numbers[self.last])
        if self.year is None:
            return number
        year, month = divmod(number, 100) if self.year == self.last else (int(numbers[self.year]), number)
        return year * MONTHS + month - 1

    def numbers(self, value: int) -> dict[int, int]:
        """Return the unit's numbers for a value, by index."""
        if self.year is None:
            return {self.last: value}
        year, month = divmod(value, MONTHS)
        years = dict.fromkeys(self.again, year)
        if self.year == self.last:
            return {**years, self.last: year * 100 + month + 1}
        return {**years, self.year: year, self.last: month + 1}


class Parts(NamedTuple):
    """A URL split into texts and the numbers between them."""

    texts: tuple[str, ...]
    numbers: tuple[str, ...]

    def is_like(self, other: Parts) -> bool:
        """Return whether two URLs differ in their numbers only."""
        return self.texts == other.texts


class UrlStep(NamedTuple):
    """The change from one URL to the next, by unit."""

    texts: tuple[str, ...]
    changes: tuple[tuple[Unit, int], ...]


def ahead(seen: Sequence[str], limit: int) -> list[str]:
    """Return the URLs that will probably be requested next, in that order.

    :param seen: the requested URLs of a chain, the latest last. The last four give the step;
        the others show whether numbers are zero-padded
    :param limit: maximum number of URLs
    :return: none before two predictions in a row have come true; fewer where a counter or a day would
        fall below 1, or where it is unknown whether a 9 after a 10 is written 09
    """
    if limit < 1 or len(seen) < ENOUGH:
        return []
    parts = [_split(url) for url in seen]
    first, *others = (_step(*pair) for pair in pairwise(parts[-ENOUGH:]))
    if first is None or any(other != first for other in others):
        return []
    like = [one for one in parts if one.is_like(parts[-1])]
    return list(_following(first, like, limit))


@lru_cache(URLS_REMEMBERED)
def _split(url: str) -> Parts:
    head = HEAD.match(url)
    end = head.end() if head else 0
    found = NUMBER.split(url[end:])
    texts = [url[:end] + found[0]]
    numbers: list[str] = []
    for number, text in zip(found[1::2], found[2::2], strict=True):
        date = DATE.fullmatch(number)
        if date:
            numbers += date.groups()
            texts += ["", text]
        else:
            numbers.append(number)
            texts.append(text)
    return Parts(tuple(texts), tuple(numbers))


def _step(one: Parts, other: Parts) -> UrlStep | None:
    units = _units(one.numbers)
    if not one.is_like(other) or _units(other.numbers) != units:
        return None
    changes = tuple((unit, unit.value(other.numbers) - unit.value(one.numbers)) for unit in units)
    return UrlStep(one.texts, changes) if any(change for _unit, change in changes) else None


def _units(numbers: tuple[str, ...]) -> list[Unit]:
    months = _months(numbers)
    if months:
        # Another number that is the same year goes with it: /2003/archive-2003-11
        year = numbers[months[0].year or 0][:4]
        again = tuple(i for i in _others(numbers, months) if numbers[i] == year)
        months[0] = months[0]._replace(again=again)
    return [*months, *(Unit(None, index) for index in _others(numbers, months))]


def _months(numbers: tuple[str, ...]) -> list[Unit]:
    pairs = list(enumerate(pairwise(numbers)))
    found = [Unit(i, i) for i, number in enumerate(numbers) if YEAR_AND_MONTH.fullmatch(number)]
    found += [Unit(i, i + 1) for i, (one, other) in pairs if YEAR.fullmatch(one) and MONTH.fullmatch(other)]
    return found or [
        Unit(i + 1, i) for i, (one, other) in pairs if MONTH.fullmatch(one) and YEAR.fullmatch(other)
    ]


def _others(numbers: tuple[str, ...], units: list[Unit]) -> list[int]:
    covered = {index for unit in units for index in (unit.year, unit.last, *unit.again)}
    return [index for index in range(len(numbers)) if index not in covered]


def _following(step: UrlStep, like: list[Parts], limit: int) -> Iterator[str]:
    numbers = like[-1].numbers
    for _ in range(limit):
        values = _values(step, numbers)
        written = [_write(values[i], number, i, like) for i, number in enumerate(numbers)] if values else []
        if not written or None in written:
            return
        numbers = tuple(number for number in written if number is not None)
        like = [*like, Parts(like[-1].texts, numbers)]
        ends = [*numbers, ""]
        yield "".join(part for pair in zip(like[-1].texts, ends, strict=True) for part in pair)


def _values(step: UrlStep, numbers: tuple[str, ...]) -> dict[int, int] | None:
    """Return the numbers after a step, by index; None if one would fall below 1."""
    values: dict[int, int] = {}
    for unit, change in step.changes:
        value = unit.value(numbers) + change
        if change and value < 1:
            return None
        values |= unit.numbers(value)
    return values


def _write(value: int, before: str, index: int, like: list[Parts]) -> str | None:
    """Return a number as these URLs write it; None if they do not show whether they pad it."""
    digits = str(value)
    if value == int(before):
        return before
    if len(digits) >= len(before):
        return digits
    widths = {len(one.numbers[index]) for one in like}
    if any(one.numbers[index].startswith("0") for one in like):
        return digits.zfill(len(before))
    return digits if len(widths) > 1 else None
