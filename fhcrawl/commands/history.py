"""`fhcrawl history`: lists the versions of an entry and the document of each, or a feed's changed entries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from fhcrawl.commands import print_lines, stored, typed
from fhcrawl.core import command
from fhcrawl.exceptions import ArgumentError
from fhcrawl.utils.text import json_escaped, numbered, printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from sqlalchemy import Row

    from fhcrawl.store.entries import KeptVersion

# Not compared: the id is the same in all versions, and the document of each version is listed anyway.
NOT_OF_ENTRY = ("id", "document", "document_updated")
LINE = "{:<10}  {:<20}  {}"
HINT = "; fhcrawl crawl --keep-versions keeps versions from now on"


class Command(command.Command):
    usage = "[--json] FEED [ID]"
    description = (
        "Show the current and earlier versions of an entry, newest first, each with the document "
        "that it came from. Without an id, list the feed's entries that have several versions or are "
        "deleted. Earlier versions are kept after a crawl with --keep-versions."
    )
    examples = (
        "fhcrawl crawl https://example.org/index.atom --keep-versions",
        "fhcrawl history https://example.org/index.atom",
        "fhcrawl history https://example.org/index.atom tag:example.org,2003:1",
        "fhcrawl history --json https://example.org/index.atom tag:example.org,2003:1 | jq .content",
    )
    operand = ("FEED ID", "URL of the feed, and id of an entry")
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "--json": {"action": "store_true", "help": "print one JSON object per line, with all fields"}
    }

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) not in (1, 2):
            raise ArgumentError("The feed's URL is required, and at most one id: fhcrawl history FEED [ID]")
        with self.opened_store() as store:
            feed, hint = stored(store, args[0]), "" if store.keeps_versions else HINT
            if not args[1:]:
                changed = store.entries.read_changed(feed)
                print_lines(
                    _list_as_json(feed, changed) if opts.json else _list_as_text(changed, hint), opts.json
                )
                return
            entry_id = typed(args[1])
            versions = store.entries.read_kept_versions(feed, entry_id)
        if not versions:
            raise ArgumentError(
                f"{feed} has no entry with the id {entry_id} (the id must match exactly); "
                f"fhcrawl export --feed {feed} -o -:jsonl lists all entries"
            )
        print_lines(_as_json(feed, versions) if opts.json else _as_text(versions, hint), opts.json)


# A deletion is not a version.
def _number_of_versions(row: Row[Any]) -> int:
    return int(row.earlier) + (row.deleted is None)


def _list_as_json(feed: str, entries: list[Row[Any]]) -> Iterator[str]:
    for row in entries:
        fields = {"feed": feed, "id": row.id, "title": row.title, "versions": _number_of_versions(row)}
        yield json_escaped(json.dumps({**fields, "deleted": row.deleted}, ensure_ascii=False))


def _list_as_text(entries: list[Row[Any]], hint: str) -> Iterator[str]:
    for row in entries:
        time, title = row.deleted or row.time or "-", row.title or "(no title)"
        yield LINE.format("deleted" if row.deleted else "current", printable(time), printable(title))
        yield LINE.format("", numbered(_number_of_versions(row), "version", "versions"), printable(row.id))
    if not entries:
        yield f"No entry has an earlier version or is deleted{hint}"


def _as_json(feed: str, versions: list[KeptVersion]) -> Iterator[str]:
    for version, changed in _with_changes(versions):
        row = {"state": version.state, "feed": feed, **version.fields, "captured": version.captured}
        yield json_escaped(json.dumps({**row, "then_changed": changed}, ensure_ascii=False))


def _as_text(versions: list[KeptVersion], hint: str) -> Iterator[str]:
    for version, changed in _with_changes(versions):
        fields = version.fields
        time = fields["updated"] or fields["published"] or fields["document_updated"] or "-"
        yield LINE.format(version.state, printable(time), printable(fields["title"] or "(no title)"))
        captured = f", captured {version.captured}" if version.captured else ""
        yield LINE.format("", "", f"from {printable(fields['document'] or '-')}{captured}")
        if changed:
            yield LINE.format("", "", f"changed afterwards: {', '.join(changed)}")
    if len(versions) == 1:
        yield f"No other version is stored{hint}"


# Each version with the names of the fields that the next newer version changed.
def _with_changes(versions: list[KeptVersion]) -> Iterator[tuple[KeptVersion, list[str] | None]]:
    newer: dict[str, Any] | None = None
    for version in versions:
        if version.state == "deleted":  # without fields
            yield version, None
            continue
        fields = {name: value for name, value in version.fields.items() if name not in NOT_OF_ENTRY}
        yield version, None if newer is None else [name for name in fields if fields[name] != newer[name]]
        newer = fields
