"""What feedparser reads where a document has a text."""

from __future__ import annotations

import codecs
import re
from html import unescape
from operator import contains
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from tests.documents.differential.comparing import markup
from tests.documents.differential.values import OWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.documents.differential.comparing import Difference

WINDOWS_1252 = {
    code: bytes([code]).decode("cp1252")
    for code in range(0x80, 0xA0)
    if code not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}

ALL, LETTERS = re.compile(".+", re.DOTALL), re.compile(r"[^\W_]+")


def decoded_again(text: str) -> str:
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def decoded_otherwise(d: Difference, text: str) -> set[str]:
    codec = d.document.encoding.codec
    others = {"utf-8", "cp1252", "iso-8859-2"} - {codec} if d.document.before else set()
    found = {reading for other in others for reading in _decoded(text, codec, other)}
    return {*found, *(one.translate(WINDOWS_1252) for one in found)}


def _decoded(text: str, codec: str, other: str) -> tuple[str, str]:
    """Return a text in another encoding: all of it, and with references for all but letters and digits."""

    def decoded(found: re.Match[str]) -> str:
        return found[0].encode(codec, "xmlcharrefreplace").decode(other, "replace")

    return ALL.sub(decoded, text), LETTERS.sub(decoded, text)


def decoded_as_declared(d: Difference, text: str, guessed: str) -> str:
    """Return a text of feedparser's as it would be if it had decoded the document as declared.

    :param guessed: the encoding that it has used
    """
    octets = b"".join(one.encode(guessed, "ignore") or one.encode("latin-1", "ignore") for one in text)
    return octets.decode(d.document.encoding.codec, "differential_octets")


# Characters that the document has as references are none of its octets.
def _octet(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return chr(error.object[error.start]).translate(WINDOWS_1252), error.start + 1


codecs.register_error("differential_octets", _octet)


def unresolved(d: Difference, text: str) -> str:
    """Return a text with the document's own entity, as a reference."""
    return text.replace(OWN, "&own;") if "<!ENTITY own" in d.document.doctype else text


def readings(d: Difference, text: str) -> set[str]:
    """Return what feedparser may read where a document has a text."""
    changed = (text, text.translate(WINDOWS_1252), decoded_again(text), unresolved(d, text))
    return {*changed, *decoded_otherwise(d, text)}


def their_texts(d: Difference) -> list[str]:
    """Return the texts that feedparser reads; references that it keeps in SGML are resolved."""
    texts = [d.theirs] if isinstance(d.theirs, str) else d.theirs or []
    return [unescape(text) for text in texts] if d.is_loose else texts


def is_read(d: Difference, other_readings: Callable[[str], Iterable[str]]) -> bool:
    """Return whether each text of a field is one of its readings."""
    if d.ours is None or d.theirs is None:
        return False
    ours = [d.ours] if isinstance(d.ours, str) else d.ours
    found = ({one, *other_readings(one)} for one in ours)
    expected = [{unescape(one) for one in each} if d.is_loose else each for each in found]
    theirs = their_texts(d)
    return len(expected) == len(theirs) and all(map(contains, expected, theirs))


DIV = re.compile(r'<div[^>]*>|</div>| xmlns="[^"]*"')


def texts_of(d: Difference, *tags: str) -> set[str | None]:
    """Return what feedparser may read where elements have texts."""
    pieces = d.element.anywhere(*tags)
    texts = [piece.says if isinstance(piece.says, str) else piece.says[-1] for piece in pieces]
    found = {reading for text in texts for one in (text, escape(text)) for reading in readings(d, one)}
    return {bare(d, reading) for reading in found}


def bare(d: Difference, text: str | None) -> str | None:
    """Return markup without <div>, around which feedparser and publishers disagree."""
    plain = unescape(text or "") if d.is_loose else text
    return markup(DIV.sub("", plain or ""))
