"""The links of a head section and of Link headers: the first of each relation, and what contradicts it."""

from __future__ import annotations

from dataclasses import dataclass, field

# The relations that a walk follows, or decides by (RFC 5005, 3 and 4): there, two URLs contradict each other.
# Of other relations (alternate, self, …) a document may have any number of links.
HISTORY = frozenset(
    {"prev-archive", "next-archive", "current", "next", "previous", "prev", "first", "last"},
)
MOST_OTHERS = 10  # more say nothing new


@dataclass(slots=True)
class HeadLinks:
    """The links of a document.

    :param first: absolute URLs by short relation, the first of each
    :param others: by the relations of HISTORY, the URLs that differ from the first; '' for a link without one
    """

    first: dict[str, str] = field(default_factory=dict)
    others: dict[str, list[str]] = field(default_factory=dict)

    def add(self, relation: str, url: str) -> None:
        """Add a link.

        :param relation: its short name, in lower case
        :param url: absolute, without a fragment; '' if the link has none
        """
        if url == (self.first.setdefault(relation, url) if url else None):
            return
        if relation in HISTORY:
            others = self.others.setdefault(relation, [])
            if url not in others and len(others) < MOST_OTHERS:
                others.append(url)

    def update(self, links: HeadLinks) -> None:
        """Add the links of another place, which come second."""
        for relation, url in links.first.items():
            self.add(relation, url)
        for relation, others in links.others.items():
            for url in others:
                self.add(relation, url)
