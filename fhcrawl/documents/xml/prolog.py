"""Removes what scripts write before a document: warnings, comments, another declaration."""

from __future__ import annotations

import re
from codecs import BOM_UTF8

LONGEST_JUNK = 65_536  # octets
SPACE = BOM_UTF8 + b" \t\r\n"
COMMENT = re.compile(rb"<!--(?:.*?-->|.*)", re.DOTALL)
# XML 1.0, 2.8: a declaration, and the start of a document type declaration or of the feed.
DECLARATION = re.compile(rb"<\?xml\s[^<>]*>")
DOCUMENT = re.compile(rb"<!(?i:doctype)\s|<(?:[A-Za-z_][\w.-]*:)?(?:rss|feed|RDF)[\s>]")
INSTRUCTION = re.compile(rb"<\?[^<>]*\?>")
TAG = re.compile(rb"<([A-Za-z!][\w:.-]*)")
# The elements in messages of PHP and other programs. Others, before a feed, belong to another document.
OF_MESSAGES = frozenset(
    b"a b br code div em font hr i p pre small span strong table tbody td th tr u".split()
)


def without_junk(body: bytes) -> bytes | None:
    """Return a malformed document with nothing but the last XML declaration before it.

    Return None if there are only comments and instructions behind that declaration, if no feed begins in the
    first LONGEST_JUNK octets, or if what comes before it is no message.
    """
    # A comment may have the text of anything: it is blanked, so that positions stay the same.
    start = COMMENT.sub(lambda match: b" " * len(match[0]), body[:LONGEST_JUNK])
    document = DOCUMENT.search(start)
    if document is None:
        return None
    before = start[: document.start()]
    if not {tag.lower() for tag in TAG.findall(before)} <= OF_MESSAGES:
        return None
    declaration = next(reversed([*DECLARATION.finditer(before)]), None)
    begin, end = declaration.span() if declaration else (0, 0)
    behind = INSTRUCTION.sub(b"", before[end:].removeprefix(BOM_UTF8))
    if not body[:begin].strip(SPACE) and not behind.strip():
        return None
    return body[begin:end] + body[document.start() :]
