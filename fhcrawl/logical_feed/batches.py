"""The entries of one document that are being committed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fhcrawl.logical_feed import Winner

if TYPE_CHECKING:
    from fhcrawl.logical_feed import Version


@dataclass(slots=True)
class CommitBatch:
    """What the pipelines have made of a document's entries, on its way to the store.

    :param stored: the newest versions in the store of the entries that the document holds, by id
    :param winners: the same, with those of this document that have won since
    :param pieces: how many pieces of its document have begun to be yielded; a document in memory is one
    :param accepted: entries to be stored, by id: the version and its fields
    :param written: what was accepted of earlier pieces and is stored, by id, without originals
    :param superseded: older versions, for a store that keeps them, by id and digest: version and fields
    :param confirmed: versions that hold nothing new but are newer than the stored ones, by id
    :param counts: what the crawl's stats are to have more of, when the document is committed, or pieces of it
    :param counted: what of that they have
    """

    stored: dict[str, Winner] = field(default_factory=dict)
    winners: dict[str, Winner] = field(default_factory=dict)
    pieces: int = 0
    accepted: dict[str, tuple[Version, dict[str, object]]] = field(default_factory=dict)
    written: dict[str, Version] = field(default_factory=dict)
    superseded: dict[tuple[str, str], tuple[Version, dict[str, object]]] = field(default_factory=dict)
    confirmed: dict[str, tuple[Version, dict[str, object]]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    counted: Counter[str] = field(default_factory=Counter)

    def compare(self, stored: dict[str, Winner], deletions: list[Version]) -> None:
        """Begin with what the store has; deletions win over that before entries are compared with it."""
        self.stored = stored
        self.winners = dict(stored)
        for version in deletions:
            winner = self.winners.get(version.id)
            if winner is None or version.order > winner.order:
                self.winners[version.id] = Winner(version.order, "")

    def accept(self, version: Version, fields: dict[str, object]) -> None:
        """Take an entry that is through the pipelines; the newest of several versions wins."""
        new = version, fields
        before = self.accepted.get(version.id)
        if before is not None:
            new, older = (new, before) if before[0].order < version.order else (before, new)
            self.supersede(*older)
        self.accepted[version.id] = new

    def supersede(self, version: Version, fields: dict[str, object]) -> None:
        """Keep a version that is older than another one."""
        self.superseded.setdefault((version.id, version.digest), (version, fields))

    def note_written(self) -> None:
        """Forget the texts of what is stored."""
        for entry_id, (version, _fields) in self.accepted.items():
            self.written[entry_id] = version._replace(original=None)
        for stored in (self.accepted, self.superseded, self.confirmed):
            stored.clear()

    def count(self) -> Counter[str]:
        """Return what the stats do not have yet; they have it from now on."""
        new = self.counts - self.counted
        self.counted = self.counts.copy()
        return new
