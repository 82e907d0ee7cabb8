"""The entries of one document that are being committed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fhcrawl.logical_feed import Winner

if TYPE_CHECKING:
    from fhcrawl.logical_feed import Version


# The key of an entry's fields under which there are those that pipelines have added: a JSON object.
ADDED = "+"


@dataclass(slots=True)
class CommitBatch:
    """The processed entries of a document, to be stored.

    :param stored: the newest stored versions of the document's entries, by id
    :param winners: the newest versions so far, in the store or in this document, by id
    :param accepted: entries to be stored, by id: the version and its fields
    :param superseded: older versions, for a store that keeps them, by id and digest: version and fields
    :param confirmed: versions with the stored content but a newer order, by id
    :param counts: additions to the crawl's stats, made when the document is committed
    """

    stored: dict[str, Winner] = field(default_factory=dict)
    winners: dict[str, Winner] = field(default_factory=dict)
    accepted: dict[str, tuple[Version, dict[str, object]]] = field(default_factory=dict)
    superseded: dict[tuple[str, str], tuple[Version, dict[str, object]]] = field(default_factory=dict)
    confirmed: dict[str, tuple[Version, dict[str, object]]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def compare(self, stored: dict[str, Winner], deletions: list[Version]) -> None:
        """Start from the stored versions, and apply deletions before entries are compared with them."""
        self.stored = stored
        self.winners = dict(stored)
        for version in deletions:
            winner = self.winners.get(version.id)
            if winner is None or version.order > winner.order:
                self.winners[version.id] = Winner(version.order, "")

    def accept(self, version: Version, fields: dict[str, object]) -> None:
        """Add an entry that has passed the pipelines; the newest of several versions wins."""
        new = version, fields
        before = self.accepted.get(version.id)
        if before is not None:
            new, older = (new, before) if before[0].order < version.order else (before, new)
            self.supersede(*older)
        self.accepted[version.id] = new

    def supersede(self, version: Version, fields: dict[str, object]) -> None:
        """Keep a version that is older than another one."""
        self.superseded.setdefault((version.id, version.digest), (version, fields))
