"""Parses XML safely: repairs malformed documents, or reads them up to the fault."""

from __future__ import annotations

import re

from lxml import etree

from fhcrawl.documents.xml import encoding, entities, namespaces, parsers, prolog
from fhcrawl.documents.xml.elements import local_name
from fhcrawl.documents.xml.parsed import Parsed, repair_problems
from fhcrawl.documents.xml.recovery import recover, whole_elements
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

HTML_START = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
HTML_PARTS = frozenset({"html", "head", "body", "HTML", "HEAD", "BODY"})


def parse(body: bytes, charset: str | None) -> Parsed:
    """Parse a document as a whole; nothing is fetched.

    Faults are repaired, or lose the entry that contains them. If that does not give a complete document, the
    elements that were complete before the fault are kept.

    :param charset: the charset parameter of the Content-Type header
    :raises NotAFeedError: if there is not even a whole start tag, if it is an HTML page, or if its entities
        stand for too much
    """
    source, repair = encoding.source(body, charset)
    if not source:
        raise NotAFeedError(ReasonKind.EMPTY, "it is empty")
    return _parsed(source, repair, body, charset)


def _parsed(source: bytes, repair: str | None, body: bytes, charset: str | None) -> Parsed:
    resolved, unresolved, _repair = entities.resolve(source)
    resolved, renamed = namespaces.canonicalise(resolved)
    problems = (*repair_problems([repair]), *unresolved, *renamed)
    try:
        return Parsed(parsers.parse_strict(resolved), None, problems)
    except etree.XMLSyntaxError as error:
        root = whole_elements(resolved)
        if (root is None or local_name(root) in HTML_PARTS) and HTML_START.search(source, 0, 1024):
            raise NotAFeedError(ReasonKind.HTML, "it is an HTML page") from error
        fault = error.msg or "it is not well-formed"
        broken = None if root is None else Parsed(root, fault, problems)
        if (cleaned := _without_junk(source, body, charset)) is not None:
            return cleaned
        parsed = recover(encoding.text(body, charset), broken)
        if parsed is None:
            raise NotAFeedError(ReasonKind.NOT_XML, f"it is not XML ({fault})") from error
        return parsed


def _without_junk(source: bytes, body: bytes, charset: str | None) -> Parsed | None:
    # XML 1.0, 4.3.3: in UTF-16, a byte order mark takes the place of a declaration.
    is_wide = encoding.detect_wide(body) is not None
    cleaned = prolog.without_junk(source if is_wide else body)
    if cleaned is None:
        return None
    if is_wide:
        cleaned, charset = prolog.DECLARATION.sub(b"", cleaned, count=1), None
    parsed = _parsed(*encoding.source(cleaned, charset), cleaned, charset)
    problems = repair_problems(["text before the document is dropped"])
    return parsed._replace(problems=(*problems, *parsed.problems))
