"""Writes a feed as an archive set in a folder (RFC 5005, 4): a subscription document and its archives.

The archives are numbered from the oldest; their entries never change, and no state is kept outside of the
folder. Entries that are new or that differ from those of the archives are written to the subscription
document, and to a new archive once they are more than the size of an archive. Archives that are written anew
get new numbers: readers do not read again what they have read under a name.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sqlite3
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from fhcrawl.documents.formats.atom import PLACEHOLDER
from fhcrawl.documents.history import DELETED_ENTRY, deleted_id
from fhcrawl.documents.snapshot import NAMESPACE
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, FH, XML_BASE
from fhcrawl.exceptions import ExportError
from fhcrawl.exporters import delivery, documents
from fhcrawl.exporters.documents import PARSER, READ_AGAIN, Head
from fhcrawl.logical_feed.versions import comparable, latest_time
from fhcrawl.utils.clock import now
from fhcrawl.utils.locks import locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from sqlite3 import Connection

    from lxml.etree import _Element

    from fhcrawl.exporters.documents import DocumentFormat, FeedHead
    from fhcrawl.exporters.selection import Selection
    from fhcrawl.store.rows import StoredVersion

INDEX = "index"
ARCHIVE = "archive-{:06}"
NUMBERED = re.compile(r"archive-([0-9]{6,18})\.", re.ASCII)
PREV_ARCHIVE = "prev-archive"


class Target(NamedTuple):
    """The folder of an archive set, and the values that all of its documents share.

    :param base: URL of the folder, ending in a slash
    :param feed: URL of the feed
    :param since: the update time of documents whose entries have none, ISO 8601 in UTC
    :param size: number of entries in an archive
    :param source: the head section of the feed; None if it is not known
    """

    folder: Path
    base: str
    form: DocumentFormat
    feed: str
    title: str | None
    since: str
    size: int
    source: FeedHead | None = None

    def _name(self, number: int | None) -> str:
        return f"{INDEX if number is None else ARCHIVE.format(number)}.{self.form.suffix}"

    def path(self, number: int | None) -> Path:
        """Return the path of an archive, or of the subscription document (None)."""
        return self.folder / self._name(number)

    def url(self, number: int | None) -> str:
        """Return the URL of an archive, or of the subscription document (None)."""
        return self.base + self._name(number)

    def numbers(self) -> list[int]:
        """Return the numbers of the archives in the folder, in ascending order."""
        found = filter(None, (NUMBERED.match(path.name) for path in self.folder.iterdir()))
        return sorted(number for match in found if match.string == self._name(number := int(match[1])))


# An entry, or its tombstone, that no archive contains yet, and its update time; '' for none.
Event = tuple["_Element", str]
# An entry's state in the archives: digest of its version (b'' if deleted), and comparable time.
Known = tuple[bytes, str]


class WriteAnewError(Exception):
    """A version in the archives cannot be replaced by a newer document."""


def write(
    target: Target,
    versions: Callable[[], Iterable[StoredVersion]],
    chosen: Selection,
    gaps: Sequence[_Element] = (),
    tombstones: bool = False,
) -> int:
    """Write new and changed entries to an archive set.

    :param versions: returns the newest versions of the feed's entries, oldest first
    :param chosen: selects the entries of the set
    :param gaps: pseudo-entries for the subscription document
    :param tombstones: write a tombstone for each deleted entry, even if no archive contains the entry
    :return: the number of archives
    :raises ExportError: if the folder contains documents of another set under the same names
    :raises OSError: if a document cannot be written
    """
    target.folder.mkdir(parents=True, exist_ok=True)
    lock = locked(target.folder.resolve() / INDEX)
    # SQLite keeps a database without a name in memory, and in a temporary file when it is large.
    with lock, contextlib.closing(sqlite3.connect("")) as index:
        written = _ArchiveSet(target, chosen, tombstones, index)
        written.read()
        try:
            return written.add(versions(), gaps)
        except WriteAnewError:
            written.begin_anew()
            return written.add(versions(), gaps)


class _ArchiveSet:
    """The documents of an archive set, with an index of the entries in its archives."""

    def __init__(self, target: Target, chosen: Selection, tombstones: bool, index: Connection) -> None:
        self._target = target
        self._chosen = chosen
        self._tombstones = tombstones
        # The numbers of the archives: the oldest is the one after `_left`. Others are left over.
        self._left = 0
        self._number = 0
        self._latest = ""
        # The update time of the subscription document that is replaced.
        self._shown = ""
        self._index = index
        self._index.execute("CREATE TABLE known (id TEXT PRIMARY KEY, mark BLOB, time TEXT) WITHOUT ROWID")

    def read(self) -> None:
        """Index the entries of the archives; forget them all if one is missing."""
        if self._target.path(None).exists():
            self._shown = comparable(self._head(None).findtext(f"{ATOM}updated"))
        is_whole = True
        for number in self._target.numbers():
            head = self._head(number)
            if PREV_ARCHIVE not in _links_of(head):
                self._begin_at(number)
                is_whole = True
            is_whole = is_whole and number == self._number + 1
            self._read_archive(number, head)
        if not is_whole:
            self.begin_anew()

    # RFC 5005, 4: "The set of entries contained in an archive document published at a particular URI SHOULD
    # NOT change over time."
    def begin_anew(self) -> None:
        """Forget the archives, so that all are written again, under new names."""
        self._begin_at(max(self._target.numbers(), default=0) + 1)

    def _begin_at(self, number: int) -> None:
        self._left = self._number = number - 1
        self._latest = ""
        self._index.execute("DELETE FROM known")

    def _read_archive(self, number: int, head: _Element) -> None:
        updated = comparable(head.findtext(f"{ATOM}updated"))
        for child in head.iterchildren(self._target.form.entry.tag, DELETED_ENTRY):
            if child.tag == DELETED_ENTRY:
                row = (deleted_id(child) or "", b"", comparable(child.get("when")))
            else:
                entry = self._target.form.entry.read(_copy(child))
                row = (entry.id or "", self._mark(child), comparable(entry.updated) or updated)
            # Archives are read from the oldest on, so that the newest version of an entry remains.
            self._index.execute("INSERT OR REPLACE INTO known VALUES (?, ?, ?)", row)
        self._number, self._latest = number, max(self._latest, updated)

    def _mark(self, element: _Element) -> bytes:
        entry = self._target.form.entry.read(_copy(element))
        own = _copy(element)
        # xml:base and placeholders depend on the document of the entry, which may differ between crawls.
        own.attrib.pop(XML_BASE, "")
        # The id is a field.
        for child in [c for c in own if c.get(PLACEHOLDER) is not None or c.tag == f"{ATOM}id"]:
            own.remove(child)
        digest = hashlib.blake2b(digest_size=16)
        digest.update(json.dumps([getattr(entry, name) for name in READ_AGAIN]).encode())
        digest.update(etree.tostring(own, method="c14n", exclusive=True, with_tail=False))
        return digest.digest()

    def _head(self, number: int | None) -> _Element:
        """Return the element of a document that contains its head section and its entries."""
        path = self._target.path(number)
        try:
            root = etree.parse(path, PARSER).getroot()
        except etree.XMLSyntaxError as error:
            raise ExportError(f"{path} is not a document of this feed; choose another folder") from error
        head = root
        for tag, _attributes in self._target.form.around[1:]:
            inner = head.find(tag)
            head = root if inner is None else inner
        named = head.find(documents.FEED)
        if named is None:
            named = head.find(self._target.form.named)
        links = _links_of(head)
        expected = self._links(number, PREV_ARCHIVE in links)
        if (
            named is None
            or elements.line(named) != documents.cleaned(self._target.feed)
            or (number is not None and any(links.get(rel) != url for rel, url in expected))
            or (number is not None and head.find(f"{FH}archive") is None)
        ):
            raise ExportError(
                f"{path} belongs to another feed, or was written with another --base; choose another "
                f"folder, or empty this one"
            )
        return head

    def _links(self, number: int | None, has_older: bool) -> list[tuple[str, str]]:
        """Return the permanent links of an archive, or the links of the subscription document (None)."""
        url = self._target.url
        links = [("self", url(number)), *([] if number is None else [("current", url(None))])]
        before = self._number if number is None else number - 1
        return [*links, (PREV_ARCHIVE, url(before))] if has_older else links

    def add(self, versions: Iterable[StoredVersion], gaps: Sequence[_Element]) -> int:
        """Write new archives, then the subscription document; return the number of archives."""
        waiting: list[Event] = []
        for event in chain(self._events(versions), self._replaced()):
            waiting.append(event)
            if len(waiting) > self._target.size:
                number = self._number + 1
                self._latest = self._write(number, waiting[: self._target.size])
                if self._number > self._left:
                    self._link(self._number, number)
                self._number = number
                del waiting[: self._target.size]
        self._write(None, waiting, gaps)
        for number in self._target.numbers():
            if number <= self._left:
                self._target.path(number).unlink(missing_ok=True)
        return self._number - self._left

    def _events(self, versions: Iterable[StoredVersion]) -> Iterator[Event]:
        for version in versions:
            known = self._take(documents.cleaned(version.fields["id"]))
            is_live = not version.is_deleted and self._chosen(version.fields)
            event = self._entry(version, known) if is_live else self._deletion(version, known)
            if event is not None:
                yield event

    def _take(self, entry_id: str) -> Known | None:
        row = self._index.execute("SELECT mark, time FROM known WHERE id = ?", (entry_id,)).fetchone()
        if row is None:
            return None
        self._index.execute("DELETE FROM known WHERE id = ?", (entry_id,))
        return row[0], row[1]

    # The store forgets the entities of a snapshot when two later ones have replaced it. Other entries that it
    # does not know stay in the archives.
    def _replaced(self) -> Iterator[Event]:
        """Yield tombstones for entities of earlier snapshots that are left in the index."""
        statement = "SELECT * FROM known WHERE mark != x'' AND substr(id, 1, ?) = ?"
        left = self._index.execute(statement, (len(NAMESPACE), NAMESPACE)).fetchall()
        for entry_id, mark, time in left:
            yield self._tombstone(entry_id, "", (mark, time))

    def _entry(self, version: StoredVersion, known: Known | None) -> Event | None:
        element = documents.entry_element(version.fields, version.original, self._target.form.entry)
        if known is not None:
            mark, known_time = known
            if self._mark(element) == mark:
                return None
            # RFC 5005, 4.2; RFC 6721, 4: a deletion with the same time counts as newer. An entry without an
            # update time has its document's, which may be that of the archives.
            time = comparable(version.fields["updated"]) or max(self._latest, version.time)
            if time and (time < known_time or (time == known_time and not mark)):
                raise WriteAnewError
        return element, version.time

    def _deletion(self, version: StoredVersion, known: Known | None) -> Event | None:
        """Return a tombstone if one was asked for or if an archive contains the entry; else None."""
        if known is None and not (self._tombstones and version.is_deleted):
            return None
        updated = _counted(version.fields["updated"])
        own = updated or _counted(version.fields["document_updated"])
        if known and not known[0] and known[1] >= own:
            return None
        # For readers, an entry without a time has that of the subscription document that contained it.
        seen = own if updated else max(own, self._shown)
        return self._tombstone(version.fields["id"], max(version.time, seen), known)

    def _tombstone(self, entry_id: str, version_time: str, known: Known | None) -> Event:
        time = max(version_time, self._latest, known[1] if known else "")
        when = f"{time}Z" if time else self._target.since
        return documents.tombstone(entry_id, when, self._target.form), version_time

    def _write(self, number: int | None, events: list[Event], gaps: Sequence[_Element] = ()) -> str:
        """Write a document, newest entry first; return its comparable update time."""
        # RFC 5005, 4.2: of versions with one update time, that of the most recently updated document wins.
        # Readers may have an earlier version from the subscription document that is replaced.
        times = (self._latest, self._shown, *(time for _element, time in events))
        # `_read_archive` reads this value back from the document, also if none of its entries has a time.
        latest = max(times) or comparable(self._target.since)
        # RFC 5005, 2: without archives, the subscription document contains the whole feed.
        has_older = self._number > self._left
        alone = () if has_older else ("complete",)
        head = Head(
            self._target.feed,
            self._target.title,
            f"{latest}Z",
            tuple(self._links(number, has_older)),
            alone if number is None else ("archive",),
            self._target.source,
        )
        with delivery.replacing(self._target.path(number)) as file:
            written = (*gaps, *(element for element, _time in reversed(events)))
            documents.write(file, self._target.form, head, written)
        return latest

    # RFC 5005, 4: "Archive documents SHOULD also have a "next-archive" link relation, unless there are no
    # following archives available." It is added to an archive once the following one has been written; after
    # that, the archive does not change.
    def _link(self, number: int, following: int) -> None:
        head = self._head(number)
        links = list(head.iterchildren(f"{ATOM}link"))
        if any("next-archive" in elements.relations(link) for link in links):
            return
        link = documents.link("next-archive", self._target.url(following))
        link.tail = links[-1].tail
        links[-1].addnext(link)
        with delivery.replacing(self._target.path(number)) as file:
            head.getroottree().write(file, encoding="utf-8", xml_declaration=True)


def _counted(time: str | None) -> str:
    """Return a comparable time; '' for none, and for one that readers do not take into account yet."""
    found = comparable(time)
    return found if found <= latest_time(now()) else ""


def _links_of(head: _Element) -> dict[str, str]:
    return elements.head_links(head.iterchildren(f"{ATOM}link"), "").first


def _copy(element: _Element) -> _Element:
    return etree.fromstring(etree.tostring(element, with_tail=False), PARSER)
