"""What must hold, from what the publishers know: written from DESIGN.md, without fhcrawl's rules.

What no document holds any more and no crawl saw cannot be known. So the publishers of archived feeds keep
the newest version of each entry, or its deletion, in a document that can be had; then the feed is just these.
A complete feed is its last document. What the pages of a paged feed hold now must be there as it is; what has
left them may be there, if any document ever held it.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fhcrawl.store import Feed
from tests.chaos.documents import Version, expected
from tests.chaos.publishers import Publisher

CONTENT = ("title", "link", "authors", "categories", "summary", "content", "content_type", "enclosures")

Entries = dict[str, dict[str, Any]]


class BrokenPromise(AssertionError):  # noqa: N818
    pass


def demand(holds: bool, promise: str, *what: object) -> None:
    if not holds:
        raise BrokenPromise(f"{promise}: {' | '.join(str(one) for one in what)}")


def text_of(entry: dict[str, Any]) -> str:
    return str(entry["summary"]).rpartition(", ")[2]


def check_claim(publisher: Publisher, feed: Feed, entries: Entries) -> None:
    """After any run, killed or not: `complete` only if nothing is missing of what was read."""
    demand(feed.entries == len(entries), "entries are counted", publisher.name, feed.entries, len(entries))
    check_known(publisher, entries)
    if feed.verdict.value != "complete":
        demand(bool(feed.reasons), "a verdict has reasons", publisher.name, feed.verdict)
        return
    if publisher.kind == "paged":
        check_paged(publisher, feed, entries)
        return
    # The title names the revision of the subscription document that was read last.
    revision = int(str(feed.title).rpartition(" ")[2])
    if revision in publisher.incomplete:
        return
    read = publisher.snapshots[revision]
    for version in read.values():
        check_not_missing(publisher, version, entries.get(version.id))
    if publisher.kind == "complete":
        live = {version.id for version in read.values() if version.text is not None}
        demand(set(entries) == live, "what a complete feed no longer has is no more", set(entries) ^ live)


def check_paged(publisher: Publisher, feed: Feed, entries: Entries) -> None:
    """The pages had nothing that is missing at a moment when the first one was as it was last read."""
    first = _first_page(publisher, publisher.held[int(str(feed.title).rpartition(" ")[2])])
    if feed.complete_as_of != feed.crawled:
        # The claim is about an earlier moment, and so about an earlier revision.
        earlier = publisher.held[: int(str(feed.title).rpartition(" ")[2]) + 1]
        was_feed = any({version.id for version in held} <= entries.keys() for held in earlier)
        demand(was_feed, "the pages were the feed once", publisher.name, feed)
        return
    moments = [held for held in publisher.held if _first_page(publisher, held) == first]
    was_feed = any({version.id for version in held} <= entries.keys() for held in moments)
    demand(was_feed, "the pages were the feed once", publisher.name, feed)


def _first_page(publisher: Publisher, held: list[Version]) -> list[tuple[str, str | None]]:
    return [(version.id, version.text) for version in held[: publisher.size]]


def check_known(publisher: Publisher, entries: Entries) -> None:
    held = {(entry_id, text) for _url, _time, entry_id, text in publisher.shown}
    for entry_id, entry in entries.items():
        demand((entry_id, text_of(entry)) in held, "nothing is invented", publisher.name, entry)


def check_not_missing(publisher: Publisher, version: Version, entry: dict[str, Any] | None) -> None:
    text = None if entry is None else text_of(entry)
    if text == version.text:
        return
    if version.id in publisher.unknowable:
        return
    # A stale copy comes last, and its versions lose by their own times.
    if publisher.kind == "archived" or publisher.style.times == "own":
        later = [v.text for v in publisher.all_versions[version.id] if v.number > version.number]
        if text in later:
            return
    demand(False, "complete, but something is missing", publisher.name, version, entry)


def check_complete(publisher: Publisher, feed: Feed, entries: Entries) -> None:
    """When the faults have ended, after one more run: exactly the logical feed."""
    unknowable = publisher.unknowable
    wanted = {v.id: expected(v, publisher.style) for v in publisher.present() if v.id not in unknowable}
    missing = {name for name in wanted if name not in entries}
    demand(not missing, "nothing is lost", publisher.name, sorted(missing), feed)
    if publisher.kind != "paged":
        left = set(entries) - set(wanted) - unknowable
        demand(not left, "deleted is deleted", sorted(left))
    for name, fields in wanted.items():
        # The same text again, at a later time, is no change.
        reported = [expected(v, publisher.style) for v in publisher.all_versions[name] if v.text is not None]
        times = {one["updated"] for one in reported if one["summary"] == fields["summary"]}
        demand(entries[name]["updated"] in times, "a time of this text", times, entries[name])
        for field, value in fields.items():
            if field != "updated":
                demand(entries[name][field] == value, "field by field", field, value, entries[name])
    for entry in entries.values():
        source = (entry["document"], entry["document_updated"], entry["id"], text_of(entry))
        demand(source in publisher.shown, "a version comes from its document", source)
        demand(entry["feed"] == publisher.feed, "of its feed", entry)
    check_verdict(publisher, feed)


def check_verdict(publisher: Publisher, feed: Feed) -> None:
    """When the faults have ended: what can be claimed is claimed, and every healed gap has gone."""
    # Whether two walks have read the same pages, depends on the changes; `check_claim` has looked into it.
    verdicts: dict[str, list[str]] = {"complete": []}
    if publisher.kind == "paged":
        verdicts |= {"lossy": ["paged"], "unknown": ["paged"]}
    demand(feed.verdict.value in verdicts, "the verdict", publisher.name, feed)
    reasons = [reason.kind for reason in feed.reasons]
    demand(reasons == verdicts[feed.verdict.value], "healed gaps disappear", feed)


class Reader:
    """Somebody who takes the exports, one after the other, and has the logical feeds from them alone."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], dict[str, Any]] = {}

    def take(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._apply(json.loads(line))

    def _apply(self, entry: dict[str, Any]) -> None:
        key, change = (entry["feed"], entry["id"]), entry["change"]
        before = self.entries.get(key)
        demand((change == "new") == (before is None), "new is what was not there", entry, before)
        if change == "deleted":
            del self.entries[key]
            return
        demand(before is None or _content(before) != _content(entry), "no version twice in a row", entry)
        self.entries[key] = entry

    def check(self, entries: Iterable[dict[str, Any]]) -> None:
        complete = {(entry["feed"], entry["id"]): _content(entry) for entry in entries}
        taken = {key: _content(entry) for key, entry in self.entries.items()}
        differ = {key for key in {*complete, *taken} if complete.get(key) != taken.get(key)}
        demand(not differ, "the exports hold the logical feeds", differ)


def _content(entry: dict[str, Any]) -> list[Any]:
    return [entry[name] for name in CONTENT]


def read_lines(path: Path) -> list[str]:
    """Return the lines of an export, all of them complete; none if there is no file."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    demand(not text or text.endswith("\n"), "an export is whole", path)
    return text.splitlines()


def check_once(lines: list[str], path: Path) -> None:
    keys = [(entry["feed"], entry["id"]) for entry in map(json.loads, lines)]
    demand(len(set(keys)) == len(keys), "each entry once", path)
