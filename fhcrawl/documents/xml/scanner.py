"""The constructs of XML as regular expressions, for text and for octets in UTF-8."""

from __future__ import annotations

import re
from html.entities import html5
from typing import Any, AnyStr


def octets(pattern: str) -> re.Pattern[bytes]:
    """Compile a pattern for octets; a dot matches line ends too."""
    return re.compile(pattern.encode(), re.DOTALL)


# XML 1.0, 2.4: constructs without tags and references: comments, CDATA sections, processing instructions.
COMPLETE_SECTION = r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>"
# Without an end, they extend to the end of the document.
SECTION = rf"{COMPLETE_SECTION}|<(?:!--|!\[CDATA\[|\?).*"
QUOTED = r"""\"[^\"]*\"|'[^']*'"""
# A value of an attribute of a malformed document ends before the next tag.
VALUE = r"""\"[^\"<]*\"|'[^'<]*'"""
# XML 1.0, 2.8: what may come before a document type declaration, or before the root.
MISC = r"\s+|<!--.*?-->|<\?.*?\?>"
TEXT_MISC, MISC_OCTETS = re.compile(MISC, re.DOTALL), octets(MISC)
DOCTYPE = "<!DOCTYPE"
PREDEFINED = frozenset({"amp", "lt", "gt", "quot", "apos"})  # XML 1.0, 4.6


# A loop, because one expression would backtrack over every division of white space.
def prolog_end(document: AnyStr) -> int:
    """Return the position after the white space, comments and instructions at the start of a document."""
    pattern: Any = TEXT_MISC if isinstance(document, str) else MISC_OCTETS
    position = 0
    while match := pattern.match(document, position):
        position = match.end()
    return position


def html_characters(name: str) -> str | None:
    """Return the characters of one of HTML's entities as references; None if there is no such entity."""
    characters = html5.get(f"{name};")
    return None if characters is None else "".join(f"&#{ord(each)};" for each in characters)
