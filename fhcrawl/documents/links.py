"""Reads the links of a document and of Link headers (RFC 8288)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from w3lib.url import safe_url_string

from fhcrawl.documents.model import PLACEHOLDER
from fhcrawl.documents.xml import elements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.etree import _Element

# The relations that a walk uses (RFC 5005, 3 and 4): two different URLs are contradictory.
HISTORY = frozenset({"prev-archive", "next-archive", "current", "next", "previous", "prev", "first", "last"})
MOST_OTHERS = 10
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
ESCAPED = re.compile("%[0-9A-Fa-f]{2}")
UNRESERVED = re.compile("[A-Za-z0-9._~-]")  # RFC 3986, 2.3
# RFC 8288, 3: link-value = "<" URI-Reference ">" *( OWS ";" OWS link-param ). Some producers omit brackets.
SEPARATORS = re.compile(r"[\s,]*")
TARGET = re.compile(r'<([^<>]*)>|<?([^\s;,<>"]+)')
# RFC 8288, 3: link-param = token BWS [ "=" BWS ( token / quoted-string ) ]; B.3, for values without quotes.
PARAMETER = re.compile(
    r'\s*;\s*([^\s=;,]*)(?:\s*=\s*(?:"([^"\\]*(?:\\.[^"\\]*)*)"[^;,]*|([^;,]*)))?', re.DOTALL
)
QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)


@dataclass(slots=True)
class Links:
    """The first absolute URL of each short relation.

    `others` are the URLs that contradict it, for relations of HISTORY; '' is a link without a URL.
    """

    first: dict[str, str] = field(default_factory=dict)
    others: dict[str, list[str]] = field(default_factory=dict)

    def add(self, relation: str, url: str) -> None:
        """Add a link; the URL is absolute and without a fragment, or '' if the link has none."""
        first = self.first.setdefault(relation, url) if url else None
        if url == first or relation not in HISTORY:
            return
        urls = self.others.get(relation, [])
        if url in urls or len(urls) == MOST_OTHERS:
            return
        if first is None or _normalized(url) != _normalized(first):
            self.others[relation] = [*urls, url]

    def of(self, relation: str) -> list[str]:
        first = [self.first[relation]] if relation in self.first else []
        return first + self.others.get(relation, [])


# RFC 3986, 6.2.2 and 6.2.3; RFC 9110, 4.2.3: equivalent URLs may differ in this.
@lru_cache(maxsize=16)
def _normalized(url: str) -> str:
    try:
        parts = urlsplit(safe_url_string(url))
    except ValueError:
        return url
    authority = parts.netloc.lower().removesuffix(DEFAULT_PORTS.get(parts.scheme, ":"))
    spelled = parts._replace(netloc=authority, path=parts.path or "/").geturl()
    return ESCAPED.sub(_unescaped, spelled)


def _unescaped(match: re.Match[str]) -> str:
    character = chr(int(match[0][1:], 16))
    return character if UNRESERVED.fullmatch(character) else match[0].upper()


def head_links(links: Iterable[_Element], base: str) -> Links:
    """Return links by relation, without fragments, which do not distinguish documents."""
    by_relation = Links()
    for link in links:
        if elements.has_attribute(link, PLACEHOLDER):
            continue
        href = (link.get("href") or "").strip()
        url = elements.target(link, href, base).partition("#")[0] if href else ""
        for relation in elements.relations(link):
            by_relation.add(relation, url)
    return by_relation


def header_links(values: Iterable[str], url: str) -> Links:
    """Read Link headers like `head_links`."""
    links, documents = Links(), dict[str, str]()
    for relation, target in header_targets(values, url):
        # The relations of a link share one string.
        links.add(relation, documents.setdefault(target, target.partition("#")[0]))
    return links


def header_targets(values: Iterable[str], url: str) -> Iterator[tuple[str, str]]:
    """Yield each relation of Link headers with its absolute target, including the fragment; '' for none."""
    base = url.partition("#")[0]
    for value in values:
        for target, parameters in link_values(value):
            # RFC 8288, 3.2: with "anchor", the link's context is another resource than the response.
            anchor = parameters.get("anchor")
            # RFC 8288, 3.3: several relation types are separated by white space, and compared without case.
            names = parameters.get("rel", "").split()
            if names and (not anchor or elements.resolve(anchor, base) == base):
                absolute = "" if target is None else elements.resolve(target, base)
                for name in names:
                    yield elements.IANA_RELATION.sub("", name).lower(), absolute


# RFC 8288, B.2, which stops at the first malformed link; this continues after the next comma.
def link_values(value: str) -> Iterator[tuple[str | None, dict[str, str]]]:
    """Yield the target, unresolved or None, and the parameters of each link of a header value."""
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
