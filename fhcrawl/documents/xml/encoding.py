"""Detects the encoding of a document (RFC 7303, 3), and decodes it."""

from __future__ import annotations

import codecs
import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import webencodings
from w3lib.encoding import read_bom, resolve_encoding, to_unicode
from webencodings.labels import LABELS

if TYPE_CHECKING:
    from collections.abc import Iterator

UTF_8 = "utf-8"
WINDOWS_1252 = "cp1252"
DECLARATION = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']\s*([\w.:-]+)\s*["']""")
LONGEST_DECLARATION = 1024
# The declaration of nearly every feed, checked first.
USUAL_DECLARATION = re.compile(rb"""<\?xml version=["']1\.0["'] encoding=["'](?:utf|UTF)-8["']""")
UTF_16 = (
    (re.compile(rb"(?:[ \t\r\n]\0)*<\0"), "utf-16-le"),
    (re.compile(rb"(?:\0[ \t\r\n])*\0<"), "utf-16-be"),
)
SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
# Bytes that begin no character of UTF-8 (RFC 3629, 4); each repetition takes at least 100 bytes of memory.
NO_START = re.compile(rb"(?:[\x80-\xc1\xf5-\xff]+|[\xc2-\xf4](?![\x80-\xbf])){0,1000}")
# What identifies an entry, if it is not ASCII.
ID = re.compile(rb"(<(?:[\w.-]+:)?(?:id|guid|link)\b[^<>]*>)(<!\[CDATA\[)?([^<\x80-\xff]*[\x80-\xff][^<]*)")
MOST_IDS = 200_000
BEYOND_ASCII = bytes(range(0x80, 0x100))
# Encoding Standard, index-windows-1252: bytes missing in Python's table are the controls of that number.
WINDOWS_1252_TABLE = "".join(bytes([byte]).decode(WINDOWS_1252, "ignore") or chr(byte) for byte in range(256))


def _python_name(label: str) -> str | None:
    encoding = webencodings.lookup(label)
    return resolve_encoding(label if encoding is None else encoding.codec_info.name)


# Python's names of https://encoding.spec.whatwg.org/#names-and-labels; others are dangerous.
KNOWN = frozenset(map(_python_name, LABELS.values())) - {"utf-16-le", "utf-16-be"}


def source(body: bytes, charset: str | None) -> tuple[bytes, str | None]:
    """Return a document for the parser, in UTF-8 without a byte order mark, and its repair or None."""
    if charset is None and USUAL_DECLARATION.match(body):
        return body, None
    mark = codecs.BOM_UTF8
    if body.startswith(mark) or (not detect_wide(body) and next(_candidates(body, charset)) == UTF_8):
        return body.removeprefix(mark).lstrip(), None
    decoded, repair = text(body, charset)
    return decoded.encode(UTF_8, "replace"), repair


# RFC 7303, 3: a byte order mark is authoritative, then the parameter, then the declaration.
def text(body: bytes, charset: str | None) -> tuple[str, str | None]:
    """Decode a document with the first declared encoding that fits; return also its repair or None."""
    if wide := detect_wide(body):
        encoding, start = wide
        decoded, repair = body[start:].decode(encoding, "replace"), None
    else:
        mark = body.startswith(codecs.BOM_UTF8)
        # RFC 7303, 3.3: the mark is authoritative. Without it, a declaration of UTF-8 may be false.
        candidates = [UTF_8] if mark else list(_candidates(body, charset))
        decoded, repair = _decode(body.removeprefix(codecs.BOM_UTF8), candidates, mark)
    return decoded.lstrip("\ufeff \t\r\n"), repair


def _decode(body: bytes, candidates: list[str], is_authoritative: bool) -> tuple[str, str | None]:
    claimed = candidates[0]
    if claimed == UTF_8 or _is_single_byte(claimed):
        decoded = _decode_strict(body, UTF_8)
        if decoded is not None:
            return decoded, None
        if is_authoritative or _is_mostly_utf_8(body):
            return _decode_lenient(body, UTF_8)
    for candidate in dict.fromkeys(candidates):
        if (decoded := _decode_strict(body, candidate)) is not None:
            return decoded, None
    if claimed != UTF_8:
        return _decode_lenient(body, claimed)
    fallback = next((candidate for candidate in candidates if candidate != UTF_8), WINDOWS_1252)
    decoded, repair = _decode_lenient(ID.sub(partial(_id_in_encoding, fallback), body, MOST_IDS), fallback)
    read_as = "windows-1252" if fallback == WINDOWS_1252 else fallback
    return decoded, "; ".join(filter(None, (f"it is not UTF-8 and is read as {read_as}", repair)))


# In an encoding of one byte per character, nearly all bytes are characters: only an undefined byte would
# reveal a false declaration, and a single entry would change the ids of all.
@lru_cache(maxsize=64)
def _is_single_byte(encoding: str) -> bool:
    decoded = BEYOND_ASCII.decode(encoding, "replace")
    return len(decoded) == len(BEYOND_ASCII) and not decoded.startswith("\ufffd" * len(decoded))


# Publishers copy entries of several encodings into one document, whose encoding then changes; ids must not.
def _id_in_encoding(encoding: str, match: re.Match[bytes]) -> bytes:
    tag, data, raw = match.groups()
    decoded = raw.decode(UTF_8, "ignore")
    if decoded.encode() != raw:
        return match[0]
    if data:
        inside, _end, behind = decoded.partition("]]>")
        decoded = escape(inside) + behind
    return bytes(tag) + decoded.encode(encoding, "xmlcharrefreplace")


# In windows-1252, an accented letter and a guillemet may be a character of UTF-8. Text in UTF-8 has far more.
def _is_mostly_utf_8(body: bytes) -> bool:
    body = SURROGATE.sub(b"", body)
    valid = body.decode(UTF_8, "ignore")
    octets = len(valid.encode())
    characters = len(valid) - len(body.translate(None, BEYOND_ASCII))
    faults = len(body) - octets
    return characters > faults or not faults


# RFC 7303, 3, and the Encoding Standard, 4.2: labels as in browsers. RFC 7303, 3.2: UTF-8 comes last.
def _candidates(body: bytes, charset: str | None) -> Iterator[str]:
    if charset and (encoding := resolve(charset)):
        yield encoding
    declared = DECLARATION.match(body, 0, LONGEST_DECLARATION)
    if declared and (encoding := resolve(declared[1].decode("latin-1"))):
        yield encoding
    yield UTF_8


@lru_cache(maxsize=64)
def resolve(label: str) -> str | None:
    """Return Python's name for an encoding label of the Encoding Standard; None for UTF-16 too."""
    label = label.strip().lower()
    if not label.isascii() or "\0" in label:
        return None
    encoding = _python_name(label)
    return encoding if encoding in KNOWN else None


# XML 1.0, F.1: the first characters show the encoding. A contradictory declaration is ignored.
def detect_wide(body: bytes) -> tuple[str, int] | None:
    """Return an encoding of two or four bytes per character, and the length of its byte order mark."""
    encoding, mark = read_bom(body)
    if encoding is not None and mark is not None and encoding != UTF_8:
        return encoding, len(mark)
    if 0 in body[:2]:
        return next(((encoding, 0) for start, encoding in UTF_16 if start.match(body)), None)
    return None


def _decode_strict(body: bytes, encoding: str) -> str | None:
    # A truncated character at the end is no evidence against the encoding.
    try:
        return codecs.getincrementaldecoder(encoding)("strict").decode(body, False)
    except UnicodeDecodeError:
        return None


# As browsers do, except that they replace bytes that are not UTF-8 by U+FFFD.
def _decode_lenient(body: bytes, encoding: str) -> tuple[str, str | None]:
    if encoding == WINDOWS_1252:
        return _as_windows_1252(body), None
    if encoding == UTF_8:
        decoded = body.decode(UTF_8, "fhcrawl_windows_1252")
        return decoded, "bytes that are not UTF-8 are read as windows-1252"
    return to_unicode(body, encoding), f"bytes that are not {encoding} are replaced by U+FFFD"


def _read_as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    if SURROGATE.match(error.object, error.start):
        return "", error.start + 3
    match = NO_START.match(error.object, error.end)
    end = match.end() if match else error.end
    return _as_windows_1252(error.object[error.start : end]), end


def _as_windows_1252(octets: bytes) -> str:
    return codecs.charmap_decode(octets, "strict", WINDOWS_1252_TABLE)[0]


codecs.register_error("fhcrawl_windows_1252", _read_as_windows_1252)
