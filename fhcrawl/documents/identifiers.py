"""Ids of entries: what is around them is no part of them, and characters that cannot be stored stay apart."""

from __future__ import annotations

import re

# XML 1.0, 2.3: S; RFC 8259, 2 has the same. Whatever Python calls white space besides may be part of an id.
WHITE_SPACE = " \t\r\n"
# XML 1.0, 2.2 allows none of them; databases and UTF-8 do not either.
NO_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def identifier(value: str | None) -> str | None:
    """An id as it is stored: without XML's white space around it; None if it is nothing but white space.

    Characters that cannot be stored, each as U+FFFD and its number in braces, stay apart from each other.
    Such an id stays as it is when it is exported and read again.
    """
    if value is None or value.isspace():
        return None
    return NO_CHARACTERS.sub(lambda match: f"\ufffd{{{ord(match[0]):04X}}}", value.strip(WHITE_SPACE)) or None
