"""Parses JSON documents."""

from __future__ import annotations

import json
from json.decoder import JSONDecoder
from typing import TYPE_CHECKING, Any, NamedTuple

from fhcrawl.documents.identifiers import NO_CHARACTERS
from fhcrawl.documents.model import Problem
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Iterator

Object = dict[str, Any]

ITEMS = "items"
LOST = None  # the key, which no other member has, of the number of lost items


class Number(str):
    """The digits of a number as they are written."""

    __slots__ = ()


class Json(NamedTuple):
    """A JSON object.

    :param members: without `items`, if that is an array
    :param items: the elements of `items`; None if it is no array
    :param lost: number of items in earlier members named `items`, which are not read
    """

    members: Object
    items: list[Any] | None
    lost: int = 0


# RFC 8259, 4: of members of the same name, many implementations report the last one only.
def _with_lost(pairs: list[tuple[str, Any]]) -> dict[str | None, Any]:
    arrays = [value for name, value in pairs if name == ITEMS]
    return {**dict(pairs), LOST: sum(len(value) for value in arrays[:-1] if isinstance(value, list))}


_decoder = JSONDecoder(parse_int=Number, parse_float=Number)
_decoder_with_lost = JSONDecoder(parse_int=Number, parse_float=Number, object_pairs_hook=_with_lost)


def parse(body: bytes) -> Json:
    """Parse a JSON document that begins with a brace.

    :raises NotAFeedError: `not-json` if it is truncated or malformed
    """
    # RFC 8259, 8.1: JSON is UTF-8; browsers replace other bytes by U+FFFD. So does this module in texts,
    # but not in ids, which may differ in these bytes only.
    encoding = json.detect_encoding(body)
    try:
        text = body.decode(encoding, "surrogateescape" if encoding.startswith("utf-8") else "surrogatepass")
        value = _decoder.decode(text)
        lost = _decoder_with_lost.decode(text)[LOST] if text.count(f'"{ITEMS}"') > 1 else 0
    except ValueError as error:
        raise NotAFeedError(ReasonKind.NOT_JSON, f"it is truncated or not JSON ({error})") from error
    except RecursionError as error:
        raise NotAFeedError(ReasonKind.NOT_JSON, "it is JSON with too many nesting levels") from error
    members: Object = value if isinstance(value, dict) else {}
    items = members.pop(ITEMS) if isinstance(members.get(ITEMS), list) else None
    return Json(members, items, lost)


def lost_items(document: Json) -> Iterator[Problem]:
    """Yield the problem that reports the lost items, if there are any."""
    if document.lost:
        detail = "it has several lists of items, and only the last one is read; skipped items"
        yield Problem("entry-lost", "", f"{detail}: {document.lost}")


def array(holder: Object, name: str) -> list[Any]:
    """Return a member that is an array; [] for another one."""
    value = holder.get(name)
    return value if isinstance(value, list) else []


def string(holder: Object, name: str) -> str | None:
    """Return a member that is a string or a number; None if it is neither, or blank."""
    value = holder.get(name)
    return clean(value) if isinstance(value, str) and value and not value.isspace() else None


def line(holder: Object, name: str) -> str | None:
    """Return what `string` does, without white space around it."""
    value = string(holder, name)
    return value.strip() if value else None


def clean(value: str) -> str:
    """Return a string without characters that cannot be stored."""
    return NO_CHARACTERS.sub("\ufffd", value)


def original(item: Object) -> bytes:
    """Return the JSON of an item, as it is kept."""
    return clean(json.dumps(item, ensure_ascii=False)).encode()
