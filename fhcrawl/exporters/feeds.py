"""Writes feeds of the store: complete documents, archive sets, and lists of feeds."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sqlite3
from dataclasses import dataclass
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from fhcrawl.documents.head import DELETED_ENTRY, deleted_id
from fhcrawl.documents.links import head_links
from fhcrawl.documents.lists import NAMESPACE
from fhcrawl.documents.model import EXPORT, PLACEHOLDER
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, FH, XML_BASE
from fhcrawl.exceptions import ExportError
from fhcrawl.exporters import documents
from fhcrawl.exporters.documents import PARSER, READ_AGAIN, FeedHead, Head, cleaned, parsed_anew, xml_file
from fhcrawl.exporters.storages import replacing
from fhcrawl.items import FIELDS
from fhcrawl.logical_feed import Verdict
from fhcrawl.logical_feed.results import comparable, latest_time
from fhcrawl.utils.clock import now
from fhcrawl.utils.locks import locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from lxml.etree import _Element

    from fhcrawl.exporters.documents import DocumentFormat
    from fhcrawl.store import Feed, Store
    from fhcrawl.store.entries import StoredVersion


class Selection(NamedTuple):
    # Bounds of an entry's update time, or of its publication time if it has none; ISO 8601 in UTC, "" for no
    # bound. An entry with neither time matches no bound.
    since: str = ""
    until: str = ""  # exclusive
    categories: frozenset[str] = frozenset()  # of which an entry must have one; empty for no condition
    gaps: bool = False  # a pseudo-entry for each reason why the feed is not complete
    tombstones: bool = False

    def has(self, fields: dict[str, Any]) -> bool:
        if self.categories and self.categories.isdisjoint(fields["categories"]):
            return False
        if not (self.since or self.until):
            return True
        time = comparable(fields["updated"] or fields["published"])
        is_early_enough = not self.until or time < comparable(self.until)
        return bool(time) and time >= comparable(self.since or None) and is_early_enough


GAP_CATEGORY = "fhcrawl-gap"
GAP_TITLE = "Some entries may be missing"


# RFC 5005, 4.2: "Clients SHOULD warn users when they are not able to reconstruct the entire logical feed
# (e.g., by alerting the user that an archive document is unavailable, or displaying pseudo-entries that
# inform the user that some entries may be missing)."
def gap_entries(feed: Feed) -> Iterator[dict[str, Any]]:
    """Yield an entry for each reason of a feed's verdict; its id is the same in each export."""
    for reason in (reason for reason in feed.reasons if reason.last_read is None):
        name = "\n".join((feed.feed, reason.kind, reason.url))
        text = f"{reason.url} {reason.detail} (since {reason.since})"
        yield {
            **dict.fromkeys(FIELDS),
            "feed": feed.feed,
            "id": f"urn:sha256:{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}",
            "title": GAP_TITLE,
            "link": reason.url,
            "published": reason.since,
            "updated": reason.since,
            "authors": [],
            "categories": [GAP_CATEGORY],
            "summary": text,
            "enclosures": [],
            "document": feed.feed,
        }


def write_document(file: IO[bytes], store: Store, feed: Feed, form: DocumentFormat, wanted: Selection) -> int:
    """Write a complete feed (RFC 5005, 2), newest entry first; return the number of its elements.

    A feed whose verdict is not `complete` is not marked as complete, but declares its verdict.
    """
    since, latest = store.feeds.read_times(feed.feed)
    head = _head_of(store, feed, latest or since)._replace(mark="complete")
    entries, gaps = _elements(store, feed, form, wanted, head.updated), _gaps(feed, form, wanted)
    return form.write(file, head, chain(gaps, entries)) - len(gaps)


def _elements(
    store: Store, feed: Feed, form: DocumentFormat, wanted: Selection, updated: str
) -> Iterator[_Element]:
    for version in store.entries.read_versions(feed.feed, newest_first=True):
        if version.is_deleted:
            if wanted.tombstones:
                when = f"{version.time}Z" if version.time else updated
                yield form.tombstone(version.fields["id"], when)
        elif wanted.has(version.fields):
            yield form.entry_element(version.fields, version.original)


def _head_of(store: Store, feed: Feed, updated: str) -> Head:
    head = store.feeds.read_heads([feed.feed]).get(feed.feed)
    source = FeedHead() if head is None else FeedHead(head.original, head.document)
    return Head(feed.feed, feed.title, updated, source=source, verdict=feed.verdict, reasons=feed.reasons)


def _gaps(feed: Feed, form: DocumentFormat, wanted: Selection) -> list[_Element]:
    gaps = [form.entry_element(fields, None) for fields in gap_entries(feed)] if wanted.gaps else []
    for gap in gaps:
        gap.set(PLACEHOLDER, "gap")
    return gaps


# RFC 5005, 4: an archive set. The archives are numbered from the oldest; their entries never change, and no
# state is kept outside of the folder. Entries that are new or that differ from those of the archives are
# written to the subscription document, and to a new archive once they are more than the size of an archive.
# Archives that are written anew get new numbers: readers do not read a document again under the same name.
INDEX = "index"
ARCHIVE = "archive-{:06}"
NUMBERED = re.compile(r"archive-([0-9]{6,18})\.", re.ASCII)
PREV_ARCHIVE = "prev-archive"


def write_archives(
    folder: Path, base: str, size: int, store: Store, feed: Feed, form: DocumentFormat, wanted: Selection
) -> int:
    """Write a feed's archive set to a folder; return the number of archives.

    :raises ExportError: if the folder contains documents of another set under the same names
    """
    since, _latest = store.feeds.read_times(feed.feed)
    archives = ArchiveSet(folder, base, form, _head_of(store, feed, since), size, wanted)
    return archives.write(lambda: store.entries.read_versions(feed.feed), _gaps(feed, form, wanted))


# An entry, or its tombstone, that no archive contains yet, and its update time; '' for none.
Event = tuple["_Element", str]
# An entry's state in the archives: digest of its version (b'' if deleted), and comparable time.
ArchivedState = tuple[bytes, str]


class WriteAnewError(Exception):
    """A version in the archives cannot be replaced by a newer document."""


@dataclass
class ArchiveSet:
    folder: Path
    base: str  # URL of the folder, ending in a slash
    form: DocumentFormat
    head: Head  # of the feed, with the update time of documents whose entries have none
    size: int  # number of entries in an archive
    wanted: Selection

    def write(self, versions: Callable[[], Iterable[StoredVersion]], gaps: Sequence[_Element] = ()) -> int:
        """Write new and changed entries; return the number of archives.

        :param versions: returns the newest versions of the feed's entries, oldest first
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = locked(self.folder.resolve() / INDEX)
        # SQLite keeps a database without a name in memory until it is large, then in a temporary file.
        with lock, contextlib.closing(sqlite3.connect("")) as self._index:
            self._index.execute(
                "CREATE TABLE known (id TEXT PRIMARY KEY, mark BLOB, time TEXT) WITHOUT ROWID"
            )
            self._read_archives()
            try:
                return self._add_versions(versions(), gaps)
            except WriteAnewError:
                self._begin_anew()
                return self._add_versions(versions(), gaps)

    # Without a number: of the subscription document.
    def _name(self, number: int | None) -> str:
        return f"{INDEX if number is None else ARCHIVE.format(number)}.{self.form.name}"

    def _path(self, number: int | None) -> Path:
        return self.folder / self._name(number)

    def _url(self, number: int | None) -> str:
        return self.base + self._name(number)

    def _numbers(self) -> list[int]:
        matches = filter(None, (NUMBERED.match(path.name) for path in self.folder.iterdir()))
        return sorted(number for match in matches if match.string == self._name(number := int(match[1])))

    def _read_archives(self) -> None:
        self._begin_at(1)
        # The update time of the subscription document that is replaced.
        index = self._path(None)
        self._replaced_time = (
            comparable(self._head(None).findtext(f"{ATOM}updated")) if index.exists() else ""
        )
        is_complete = True
        for number in self._numbers():
            head = self._head(number)
            if PREV_ARCHIVE not in _links_of(head):
                self._begin_at(number)
                is_complete = _ends_with_gap(head) is (self.head.verdict is not Verdict.COMPLETE)
            is_complete = is_complete and number == self._number + 1
            self._read_archive(number, head)
        if not is_complete:
            self._begin_anew()

    # RFC 5005, 4: "The set of entries contained in an archive document published at a particular URI SHOULD
    # NOT change over time."
    def _begin_anew(self) -> None:
        self._begin_at(max(self._numbers(), default=0) + 1)

    def _begin_at(self, number: int) -> None:
        # Archives are numbered from the one after `_last_obsolete`; lower numbers are obsolete files.
        self._last_obsolete = self._number = number - 1
        self._latest = ""
        self._index.execute("DELETE FROM known")

    def _read_archive(self, number: int, head: _Element) -> None:
        updated = comparable(head.findtext(f"{ATOM}updated"))
        for child in head.iterchildren(self.form.entry_tag, DELETED_ENTRY):
            if child.tag == DELETED_ENTRY:
                row = (deleted_id(child) or "", b"", comparable(child.get("when")))
            else:
                entry = self.form.read(parsed_anew(child))
                row = (entry.id or "", self._mark(child), comparable(entry.updated) or updated)
            # Archives are read from the oldest on, so that the newest version of an entry remains.
            self._index.execute("INSERT OR REPLACE INTO known VALUES (?, ?, ?)", row)
        self._number, self._latest = number, max(self._latest, updated)

    def _mark(self, element: _Element) -> bytes:
        entry, compared = self.form.read(parsed_anew(element)), parsed_anew(element)
        # xml:base and placeholders depend on the document of the entry, which may differ between crawls.
        compared.attrib.pop(XML_BASE, "")
        # The id is a field.
        for child in [
            child for child in compared if child.get(PLACEHOLDER) is not None or child.tag == f"{ATOM}id"
        ]:
            compared.remove(child)
        digest = hashlib.blake2b(digest_size=16)
        digest.update(json.dumps([getattr(entry, name) for name in READ_AGAIN]).encode())
        digest.update(etree.tostring(compared, method="c14n", exclusive=True, with_tail=False))
        return digest.digest()

    def _head(self, number: int | None) -> _Element:
        path = self._path(number)
        try:
            root = etree.parse(path, PARSER).getroot()
        except etree.XMLSyntaxError:
            raise ExportError(f"{path} is not a document of this feed; choose another folder") from None
        head = root
        for tag, _attributes in self.form.around[1:]:
            inner = head.find(tag)
            head = root if inner is None else inner
        feed = head.find(documents.FEED)
        links = _links_of(head)
        expected = self._links(number, PREV_ARCHIVE in links)
        if (
            feed is None
            or elements.line(feed) != cleaned(self.head.feed)
            or (number is not None and any(links.get(rel) != url for rel, url in expected))
            or (number is not None and head.find(f"{FH}archive") is None)
        ):
            raise ExportError(
                f"{path} belongs to another feed, or was written with another --base; choose another "
                f"folder, or empty this one"
            )
        return head

    def _links(self, number: int | None, has_older: bool) -> list[tuple[str, str]]:
        links = [("self", self._url(number)), *([] if number is None else [("current", self._url(None))])]
        older_number = self._number if number is None else number - 1
        return [*links, (PREV_ARCHIVE, self._url(older_number))] if has_older else links

    def _add_versions(self, versions: Iterable[StoredVersion], gaps: Sequence[_Element]) -> int:
        waiting: list[Event] = []
        for event in chain(self._events(versions), self._replaced_entities()):
            waiting.append(event)
            if len(waiting) > self.size:
                number = self._number + 1
                self._latest = self._write_file(number, waiting[: self.size])
                if self._number > self._last_obsolete:
                    self._link_to_newer(self._number, number)
                self._number = number
                del waiting[: self.size]
        self._write_file(None, waiting, gaps)
        for number in self._numbers():
            if number <= self._last_obsolete:
                self._path(number).unlink(missing_ok=True)
        return self._number - self._last_obsolete

    def _events(self, versions: Iterable[StoredVersion]) -> Iterator[Event]:
        for version in versions:
            archived = self._pop_archived_state(cleaned(version.fields["id"]))
            is_live = not version.is_deleted and self.wanted.has(version.fields)
            event = self._entry(version, archived) if is_live else self._deletion(version, archived)
            if event is not None:
                yield event

    def _pop_archived_state(self, entry_id: str) -> ArchivedState | None:
        statement = "SELECT mark, time FROM known WHERE id = ?"
        row: ArchivedState | None = self._index.execute(statement, (entry_id,)).fetchone()
        self._index.execute("DELETE FROM known WHERE id = ?", (entry_id,))
        return row

    # The store forgets the entities of a snapshot when two later ones have replaced it. Other entries that it
    # does not know stay in the archives.
    def _replaced_entities(self) -> Iterator[Event]:
        statement = "SELECT * FROM known WHERE mark != x'' AND substr(id, 1, ?) = ?"
        rows = self._index.execute(statement, (len(NAMESPACE), NAMESPACE)).fetchall()
        for entry_id, mark, time in rows:
            yield self._tombstone(entry_id, "", (mark, time))

    def _entry(self, version: StoredVersion, archived: ArchivedState | None) -> Event | None:
        element = self.form.entry_element(version.fields, version.original)
        if archived is not None:
            mark, archived_time = archived
            if self._mark(element) == mark:
                return None
            # RFC 5005, 4.2; RFC 6721, 4: a deletion with the same time counts as newer. An entry without an
            # update time has its document's, which may be that of the archives.
            time = comparable(version.fields["updated"]) or max(self._latest, version.time)
            if time and (time < archived_time or (time == archived_time and not mark)):
                raise WriteAnewError
        return element, version.time

    def _deletion(self, version: StoredVersion, archived: ArchivedState | None) -> Event | None:
        if archived is None and not (self.wanted.tombstones and version.is_deleted):
            return None
        updated = _unless_future(version.fields["updated"])
        time = updated or _unless_future(version.fields["document_updated"])
        if archived and not archived[0] and archived[1] >= time:
            return None
        # For readers, an entry without a time has that of the subscription document that contained it.
        seen_until = time if updated else max(time, self._replaced_time)
        return self._tombstone(version.fields["id"], max(version.time, seen_until), archived)

    def _tombstone(self, entry_id: str, version_time: str, archived: ArchivedState | None) -> Event:
        time = max(version_time, self._latest, archived[1] if archived else "")
        when = f"{time}Z" if time else self.head.updated
        return self.form.tombstone(entry_id, when), version_time

    def _write_file(self, number: int | None, events: list[Event], gaps: Sequence[_Element] = ()) -> str:
        # RFC 5005, 4.2: of versions with one update time, that of the most recently updated document wins.
        # Readers may have an earlier version from the subscription document that is replaced.
        times = (self._latest, self._replaced_time, *(time for _element, time in events))
        # `_read_archive` reads this value back from the document, also if none of its entries has a time.
        latest = max(times) or comparable(self.head.updated)
        has_older = self._number > self._last_obsolete
        # RFC 5005, 2: without archives, the subscription document contains the complete feed.
        mark = "archive" if number is not None else "" if has_older else "complete"
        links = tuple(self._links(number, has_older))
        # RFC 5005, 4.2: "the end of the archive is indicated by a missing prev-archive link relation".
        has_end = has_older or self.head.verdict is Verdict.COMPLETE
        missing = "" if has_end else f"{self.base}missing.{self.form.name}"
        head = self.head._replace(updated=f"{latest}Z", links=links, mark=mark, missing=missing)
        with replacing(self._path(number)) as file:
            self.form.write(file, head, (*gaps, *(element for element, _time in reversed(events))))
        return latest

    # RFC 5005, 4: "Archive documents SHOULD also have a "next-archive" link relation, unless there are no
    # following archives available." It is added to an archive once the following one has been written; after
    # that, the archive does not change.
    def _link_to_newer(self, number: int, following: int) -> None:
        head = self._head(number)
        links = list(head.iterchildren(f"{ATOM}link"))
        if any("next-archive" in elements.relations(link) for link in links):
            return
        link = documents.link("next-archive", self._url(following))
        link.tail = links[-1].tail
        links[-1].addnext(link)
        with replacing(self._path(number)) as file:
            head.getroottree().write(file, encoding="utf-8", xml_declaration=True)


def _unless_future(time: str | None) -> str:
    comparable_time = comparable(time)
    return comparable_time if comparable_time <= latest_time(now()) else ""


def _ends_with_gap(head: _Element) -> bool:
    return any(elements.has_attribute(link, PLACEHOLDER) for link in head.iterchildren(f"{ATOM}link"))


def _links_of(head: _Element) -> dict[str, str]:
    return head_links(head.iterchildren(f"{ATOM}link"), "").first


# OPML 2.0, 'Subscription lists': outlines with type, text and xmlUrl; other attributes need a namespace
# ('Extending OPML').
def write_opml(file: IO[bytes], feeds: Iterable[Feed]) -> int:
    count, nsmap = 0, {"fx": EXPORT[1:-1]}
    with xml_file(file) as output:
        output.write_declaration()
        with output.element("opml", {"version": "2.0"}, nsmap=nsmap):
            output.write(etree.fromstring("<head><title>Feeds of fhcrawl</title></head>"))
            with output.element("body"):
                for count, feed in enumerate(feeds, 1):  # noqa: B007
                    reasons = (f"{reason.url} {reason.detail}" for reason in feed.reasons)
                    attributes = {
                        "type": "rss",
                        "text": feed.title or feed.feed,
                        "title": feed.title,
                        "xmlUrl": feed.feed,
                        f"{EXPORT}verdict": feed.verdict.value,
                        f"{EXPORT}kind": feed.kind and feed.kind.value,
                        f"{EXPORT}reasons": "; ".join(reasons),
                        f"{EXPORT}entries": str(feed.entries),
                        f"{EXPORT}crawled": feed.crawled,
                    }
                    present = {name: cleaned(value) for name, value in attributes.items() if value}
                    output.write("\n")
                    output.write(etree.Element("outline", present, nsmap=nsmap))
                output.write("\n")
    return count


# By their names in `fhcrawl export`: the functions that write lists of feeds.
LIST_FORMATS = {"opml": write_opml}
