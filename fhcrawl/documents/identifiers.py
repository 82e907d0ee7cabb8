"""Normalises ids of entries: strips white space and escapes characters that cannot be stored."""

from __future__ import annotations

import hashlib
import json
import re
from urllib.parse import quote

EXPORT = "{urn:x-fhcrawl:export}"  # the namespace of what `fhcrawl export` adds to documents
OWN_ID = f"{EXPORT}id"  # attribute: an id that is no IRI
URN = "urn:x-fhcrawl:id:"
# RFC 3987, 2.2: IRI = scheme ":" ihier-part …; RFC 9110, 4.2: http(s) has an authority.
IRI = re.compile(
    r"(?!https?:(?!//[^/?#]))[a-z][a-z0-9+.-]*:"
    r"(?:[^\x00-\x20\x7f-\xa0<>\"{}|\\^`%\u2028\u2029\ufff0-\uffff]|%[0-9a-f]{2})+",
    re.ASCII | re.IGNORECASE,
)
# XML 1.0, 2.3: S; RFC 8259, 2 has the same. Other white space may be part of an id.
WHITE_SPACE = " \t\r\n"
# Characters that XML 1.0, 2.2, databases and UTF-8 do not allow.
NO_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def identifier(value: str | None) -> str | None:
    """Return an id as it is stored, without XML's white space around it; None if nothing is left.

    A character that cannot be stored becomes U+FFFD and its number in braces: different ids stay different.
    """
    if value is None or value.isspace():
        return None
    value = value.strip(WHITE_SPACE)
    if not value.isprintable():
        value = NO_CHARACTERS.sub(lambda match: f"\ufffd{{{ord(match[0]):04X}}}", value)
    return value or None


# RFC 4287, 4.2.6: "Its content MUST be an IRI". Feed readers resolve what is none against xml:base.
def iri_of(value: str) -> str:
    """Return an id that is an IRI; for another one, a URN that holds it."""
    return value if IRI.fullmatch(value) else URN + quote(value, safe="", errors="surrogatepass")


def digest(title: str | None, published: str | None, summary: str | None) -> str | None:
    """Return an id for an entry without an id and a link; None without a title and a summary."""
    if not (title or summary):
        return None
    parts = (title, published, summary)
    return f"urn:sha256:{hashlib.sha256(json.dumps(parts).encode()).hexdigest()}"
