"""Makes the markup of a malformed entry well-formed, as far as HTML's parsers would read it."""

from __future__ import annotations

import re
from collections import Counter

# Sections, comments, instructions and declarations; then a tag, whose quoted values may have ">"; then a "<"
# that begins neither.
NAME = r"[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?"
TOKEN = re.compile(
    r"(?P<data><!\[CDATA\[.*?\]\]>)|<!--.*?(?:-->|\Z)|<[?!][^<>]*>?"
    rf"|<(?P<end>/?)(?P<name>{NAME})(?P<rest>(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*|[^<>]*)>|(?P<less><)",
    re.ASCII | re.DOTALL,
)
ATTRIBUTE = re.compile(rf"({NAME})(?:\s*=\s*(\"[^\"<]*\"|'[^'<]*'|[^\s\"'<>]+))?", re.ASCII)
# HTML, 13.1.2: void elements have no end tag.
VOID = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img"),
        *("input", "meta", "param", "source", "track", "wbr"),
    )
)
# The children of entries, in lower case: an earlier one without an end tag ends before them. Extensions have
# a prefix, unlike HTML's elements.
FIELDS = frozenset(
    (
        *("title", "link", "description", "guid", "pubdate", "author", "category", "comments"),
        *("enclosure", "source", "id", "updated", "published", "summary", "content", "rights"),
        *("contributor", "issued", "modified", "created"),
    )
)


class Elements:
    """The elements that are open, the entry's child first.

    :param last_ends: the position of the last end tag of each name
    """

    def __init__(self, last_ends: dict[str, int]) -> None:
        self._last_ends = last_ends
        self._open: list[str] = []
        self._number: Counter[str] = Counter()
        self._is_unclosed = False

    def begin(self, name: str, attributes: str, is_empty: bool, position: int) -> str:
        """Return the markup for a start tag: it may end the entry's open child."""
        key = name.lower()
        ended = self.end() if self._open and self._ends_child(key) else ""
        if is_empty or (self._open and key in VOID):
            return f"{ended}<{name}{attributes}/>"
        if not self._open:
            self._is_unclosed = self._last_ends.get(key, -1) < position
        self._open.append(name)
        self._number[key] += 1
        return f"{ended}<{name}{attributes}>"

    def end(self, key: str | None = None) -> str:
        """Return the end tags of the innermost element of a name and of those in it; of all without one."""
        if key is not None and not self._number[key]:
            return ""
        ended: list[str] = []
        while self._open and (not ended or ended[-1].lower() != key):
            ended.append(self._open.pop())
            self._number[ended[-1].lower()] -= 1
        return "".join(f"</{name}>" for name in ended)

    # No child of an entry holds another one of its name.
    def _ends_child(self, key: str) -> bool:
        is_field = self._is_unclosed and (key in FIELDS or ":" in key)
        return is_field or key == self._open[0].lower()


def balanced(entry: str) -> str:
    """Return an entry whose tags are balanced: nothing of its text is lost.

    :param entry: from its start tag to its end tag, with the references and characters already repaired
    """
    tag = TOKEN.match(entry)
    start, end = tag.end() if tag else 0, entry.rindex("<")
    last_ends = {
        match["name"].lower(): match.start() for match in TOKEN.finditer(entry, start, end) if match["end"]
    }
    elements = Elements(last_ends)
    parts = [f"<{tag['name']}{_attributes(tag['rest'])}>" if tag else ""]
    position = start
    for match in TOKEN.finditer(entry, start, end):
        parts += entry[position : match.start()], _token(match, elements)
        position = match.end()
    return "".join([*parts, entry[position:end], elements.end(), entry[end:]])


def _token(match: re.Match[str], elements: Elements) -> str:
    if match["less"]:
        return "&lt;"
    if not match["name"]:
        return match["data"] or ""
    if match["end"]:
        return elements.end(match["name"].lower())
    rest = match["rest"]
    # HTML, 13.1.2.3: without quotes, a slash belongs to the value.
    is_empty = rest.endswith("/") and (rest == "/" or rest[-2] in " \t\r\n\"'")
    attributes = _attributes(rest[:-1] if is_empty else rest)
    return elements.begin(match["name"], attributes, is_empty, match.start())


def _attributes(rest: str) -> str:
    found: dict[str, str] = {}
    for match in ATTRIBUTE.finditer(rest):
        value = match[2] or '""'
        found.setdefault(match[1], value if value[0] in "\"'" else f'"{value}"')
    return "".join(f" {name}={value}" for name, value in found.items())
