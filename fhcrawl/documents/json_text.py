"""Parses JSON within limits; the items of large documents are decoded one by one."""

from __future__ import annotations

import json
import re
import sys
from contextlib import contextmanager
from itertools import islice
from json.decoder import JSONDecoder, scanstring  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, NamedTuple

from fhcrawl.documents import limits
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fhcrawl.documents.limits import Bounds

Object = dict[str, Any]

# Characters. The items of a longer document are never all in memory.
LARGE = 8 * 1024**2
SHORTEST_VALUE = len("0,")
ITEMS = "items"
QUOTED_ITEMS = f'"{ITEMS}"'
# A string without escapes; else a quote, a bracket or a brace; else another value.
TOKEN = re.compile(r'"[^"\\]*"|["\[\]{}]|[^\s"\[\]{},:]+')
SPACE = re.compile(r"[ \t\n\r]*")
BEGIN, END = frozenset("[{"), frozenset("]}")


# Stands for an item with a text that is too long to be decoded.
LONG = object()


class Number(str):
    """The digits of a number as they are written."""

    __slots__ = ()


class Json(NamedTuple):
    """A JSON object.

    :param members: all members except `items`, if that is an array
    :param items: the elements of `items`, at most one more than the limit of entries; LONG for one with a
        text that is too long; None if `items` is no array
    :param lost: number of items in earlier members named `items`, which are not read
    """

    members: Object
    items: Iterable[Any] | None
    lost: int = 0


_decoder = JSONDecoder(parse_int=Number, parse_float=Number)


def parse(body: bytes, bounds: Bounds) -> Json:
    """Parse a JSON document that begins with a brace.

    Items of a large document are decoded during iteration, which may raise the same errors.

    :raises NotAFeedError: `not-json` if it is truncated or malformed; `limits.TOO_MANY_ELEMENTS` if it
        would have more values in memory at once than allowed
    """
    with _errors():
        # RFC 8259, 8.1: JSON is UTF-8; browsers replace other bytes by U+FFFD. So does this module in texts,
        # but not in ids, which may differ in these bytes only.
        encoding = json.detect_encoding(body)
        text = body.decode(encoding, "surrogateescape" if encoding.startswith("utf-8") else "surrogatepass")
        if len(text) >= LARGE or text.count(QUOTED_ITEMS) > 1 or _may_have_more(text, bounds):
            return _Scanner(text, bounds).read()
        found = _decoder.decode(text)
    members: Object = found if isinstance(found, dict) else {}
    items = members.pop(ITEMS) if isinstance(members.get(ITEMS), list) else None
    return Json(members, items if items is None else islice(items, bounds.entries + 1))


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise NotAFeedError(ReasonKind.NOT_JSON, f"it is cut off or not JSON ({error})") from error
    except RecursionError as error:
        raise NotAFeedError(ReasonKind.NOT_JSON, "it is JSON with too many levels") from error


# Commas in texts are counted too: this is an upper bound of the number of values.
def _may_have_more(text: str, bounds: Bounds) -> bool:
    if len(text) // SHORTEST_VALUE <= bounds.elements:
        return False
    return text.count(",") + text.count("[") + text.count("{") >= bounds.elements


class _Scanner:
    """Finds the values of a text before decoding them; raises ValueError if it is not JSON."""

    def __init__(self, text: str, bounds: Bounds) -> None:
        self._text = text
        self._bounds = bounds
        self._position = 0
        # The number of values that are still allowed outside of the items.
        self._left = bounds.elements
        self._has_long_text = False

    def read(self) -> Json:
        """Read the document."""
        members: Object = {}
        begins: list[int | None] | None = None
        lost = 0
        self._expect("{")
        while self._has_more("}", is_first=not members and begins is None):
            name = self._name()
            # RFC 8259, 4: of members of the same name, many implementations report the last one only.
            if name == ITEMS:
                lost += len(begins or ())
                begins = None
            if name == ITEMS and self._next() == "[":
                members.pop(name, None)
                begins = self._begins()
            else:
                members[name] = self._value()
        if self._next():
            raise ValueError(f"more behind its end: char {self._position}")
        return Json(members, None if begins is None else self._items(begins), lost)

    def _next(self) -> str:
        """Skip white space; return the next character, '' at the end."""
        match = SPACE.match(self._text, self._position)
        self._position = match.end() if match else self._position
        return self._text[self._position : self._position + 1]

    def _expect(self, character: str) -> None:
        if self._next() != character:
            raise ValueError(f"Expecting {character!r}: char {self._position}")
        self._position += 1

    def _has_more(self, end: str, is_first: bool) -> bool:
        """Skip the comma before the next value, or the end of the array or object."""
        if self._next() == end:
            self._position += 1
            return False
        if not is_first:
            self._expect(",")
        return True

    def _name(self) -> str:
        self._expect('"')
        name: str
        name, self._position = scanstring(self._text, self._position, True)
        self._expect(":")
        return name

    def _value(self) -> Any:
        self._next()
        begin = self._position
        self._left -= 1 + self._pass_value(self._left)
        return self._decoded(begin)

    def _begins(self) -> list[int | None]:
        """Return the positions of the items to be read; None for an item with a text that is too long."""
        begins: list[int | None] = []
        self._expect("[")
        is_first = True
        while self._has_more("]", is_first):
            is_first = False
            self._next()
            if len(begins) > self._bounds.entries:
                self._pass_value(sys.maxsize, depth=1)
                break
            begin, self._has_long_text = self._position, False
            self._pass_value(self._bounds.elements)
            begins.append(None if self._has_long_text else begin)
        return begins

    def _items(self, begins: list[int | None]) -> Iterator[Any]:
        for begin in begins:
            with _errors():
                item = LONG if begin is None else self._decoded(begin)
            yield item

    def _decoded(self, begin: int) -> Any:
        value, self._position = _decoder.raw_decode(self._text, begin)
        return value

    def _pass_value(self, max_values: int, depth: int = 0) -> int:
        """Skip a value; return the number of values in it, itself included.

        :param depth: number of open arrays and objects to skip too, without a check of their commas
        :raises NotAFeedError: if they are more than `max_values`
        """
        count = 0
        while True:
            match = TOKEN.search(self._text, self._position)
            if match is None:
                raise ValueError("it ends within a value")
            self._position = match.end()
            first = self._text[match.start()]
            if first in END:
                depth -= 1
            else:
                count += 1
                depth += first in BEGIN
            if first == '"' and match.end() == match.start() + 1:
                _, self._position = scanstring(self._text, self._position, True)
            if self._position - match.start() > self._bounds.text:
                self._has_long_text |= self._is_longer(match.start())
            if count > max_values:
                detail = f"it has more than {max_values} values at once"
                raise limits.beyond(limits.TOO_MANY_ELEMENTS, detail)
            if depth <= 0:
                return count

    # RFC 8259, 7: a character takes six characters with one backslash at most, or twelve with two.
    def _is_longer(self, begin: int) -> bool:
        """Return whether a skipped text is longer than allowed, with any number of escapes."""
        escapes = self._text.count("\\", begin, self._position)
        return 2 * (self._position - begin) - 11 * escapes > 2 * self._bounds.text + 4
