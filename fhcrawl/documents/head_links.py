"""Links of a head section and of Link headers: the first of each relation, and contradicting ones."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import urlsplit

from w3lib.url import safe_url_string

# The relations that a walk uses (RFC 5005, 3 and 4): two URLs of one of them are contradictory. Of other
# relations (alternate, self, …) a document may have any number of links.
HISTORY = frozenset({"prev-archive", "next-archive", "current", "next", "previous", "prev", "first", "last"})
MOST_OTHERS = 10
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
ESCAPED = re.compile("%[0-9A-Fa-f]{2}")
UNRESERVED = re.compile("[A-Za-z0-9._~-]")  # RFC 3986, 2.3


@dataclass(slots=True)
class HeadLinks:
    """The links of a document.

    :param first: absolute URLs by short relation, the first of each
    :param others: the URLs of other resources, by relations of HISTORY; '' for a link without a URL
    """

    first: dict[str, str] = field(default_factory=dict)
    others: dict[str, list[str]] = field(default_factory=dict)

    def add(self, relation: str, url: str) -> None:
        """Add a link.

        :param relation: its short name, in lower case
        :param url: absolute, without a fragment; '' if the link has none
        """
        first = self.first.setdefault(relation, url) if url else None
        if url == first or relation not in HISTORY:
            return
        others = self.others.get(relation, [])
        if url in others or len(others) == MOST_OTHERS:
            return
        if first is None or _spelling(url) != _spelling(first):
            self.others[relation] = [*others, url]

    def update(self, links: HeadLinks) -> None:
        """Add links with a lower precedence than the present ones."""
        for relation, url in links.first.items():
            self.add(relation, url)
        for relation, others in links.others.items():
            for url in others:
                self.add(relation, url)


# RFC 3986, 6.2.2 and 6.2.3; RFC 9110, 4.2.3: the URLs of one resource may differ in this. With another scheme
# or an additional slash, they name different ones.
@lru_cache(maxsize=16)
def _spelling(url: str) -> str:
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
