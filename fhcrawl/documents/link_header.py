"""Parses Link headers (RFC 8288) of responses and of the parts of multipart pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fhcrawl.documents.head_links import HeadLinks
from fhcrawl.documents.xml.elements import IANA_RELATION, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# RFC 8288, 3: link-value = "<" URI-Reference ">" *( OWS ";" OWS link-param ). Some producers omit the angle
# brackets, or one of them; then the target ends at a space, a comma or a semicolon.
SEPARATORS = re.compile(r"[\s,]*")
TARGET = re.compile(r'<([^<>]*)>|<?([^\s;,<>"]+)')
# RFC 8288, 3: link-param = token BWS [ "=" BWS ( token / quoted-string ) ]; B.3: a value without quotes goes
# up to the next ";" or ",".
PARAMETER = re.compile(
    r'\s*;\s*([^\s=;,]*)(?:\s*=\s*(?:"([^"\\]*(?:\\.[^"\\]*)*)"[^;,]*|([^;,]*)))?', re.DOTALL
)
QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)


def read(values: Iterable[str], url: str) -> HeadLinks:
    """Read the links of Link headers, without fragments: URLs that differ in the fragment name one document.

    :param values: in the order of the response; each may hold several links
    :param url: URL of the response; relative targets are resolved against it
    """
    links = HeadLinks()
    for relation, target in _links(values, url):
        links.add(relation, target.partition("#")[0])
    return links


def links(values: Iterable[str], url: str) -> Iterator[tuple[str, str]]:
    """Yield each relation of Link headers with its absolute target, fragment included, in document order."""
    return ((relation, target) for relation, target in _links(values, url) if target)


def _links(values: Iterable[str], url: str) -> Iterator[tuple[str, str]]:
    """Yield like `links`, but '' for a link without a target."""
    base = url.partition("#")[0]
    for value in values:
        for target, parameters in link_values(value):
            # RFC 8288, 3.3: several relation types are separated by white space, and compared without case.
            names = parameters.get("rel", "").split()
            if not names:
                continue
            # RFC 8288, 3.2: with "anchor", the link's context is another resource than the response.
            anchor = parameters.get("anchor")
            if anchor and resolve(anchor, base) != base:
                continue
            absolute = "" if target is None else resolve(target, base)
            for name in names:
                yield IANA_RELATION.sub("", name).lower(), absolute


# RFC 8288, B.2, which stops at the first malformed link; this continues after the next comma.
def link_values(value: str) -> Iterator[tuple[str | None, dict[str, str]]]:
    """Yield the target and the parameters of each link of a value, as it has them; None for no target."""
    position = _next_link(value, 0)
    while position < len(value):
        match = TARGET.match(value, position)
        parameters, position = _parameters(value, match.end() if match else position)
        if match or parameters:
            yield (match[1] or match[2] or "") if match else None, parameters
        position = _next_link(value, value.find(",", position))


def _next_link(value: str, position: int) -> int:
    separators = SEPARATORS.match(value, position) if position >= 0 else None
    return separators.end() if separators else len(value)


def _parameters(value: str, position: int) -> tuple[dict[str, str], int]:
    parameters: dict[str, str] = {}
    while match := PARAMETER.match(value, position):
        name, quoted, plain = match.groups()
        content = (plain or "").strip(' \t"') if quoted is None else QUOTED_PAIR.sub(r"\1", quoted)
        # RFC 8288, 3.3: "occurrences after the first MUST be ignored by parsers".
        parameters.setdefault(name.lower(), content)
        position = match.end()
    return parameters, position
