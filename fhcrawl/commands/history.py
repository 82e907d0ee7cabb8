"""`fhcrawl history`: lists the versions of an entry and the document of each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from fhcrawl.commands import print_lines, stored, typed
from fhcrawl.core import command
from fhcrawl.exceptions import ArgumentError
from fhcrawl.utils.text import json_escaped, printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from fhcrawl.store.entries import KeptVersion

# Not compared: the id is the same in all versions, and the document of each version is listed anyway.
NOT_OF_ENTRY = ("id", "document", "document_updated")
LINE = "{:<10}  {:<20}  {}"
SETTING = "FHCRAWL_KEEP_VERSIONS_ENABLED"


class Command(command.Command):
    usage = "[--json] FEED ID"
    description = (
        "Show the current version and earlier versions of an entry, newest first, each with the document "
        "that it came from. Earlier versions are kept only by crawls with FHCRAWL_KEEP_VERSIONS_ENABLED=1."
    )
    examples = (
        "fhcrawl crawl https://example.org/index.atom -s FHCRAWL_KEEP_VERSIONS_ENABLED=1",
        "fhcrawl history https://example.org/index.atom tag:example.org,2003:1",
        "fhcrawl history --json https://example.org/index.atom tag:example.org,2003:1 | jq .content",
    )
    operand = ("FEED ID", "URL of the feed, and id of the entry")
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "--json": {"action": "store_true", "help": "print one JSON object per line, with all fields"}
    }

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 2:  # noqa: PLR2004
            raise ArgumentError("The feed's URL and the entry's id are required: fhcrawl history FEED ID")
        with self.opened_store() as store:
            feed, entry_id = stored(store, args[0]), typed(args[1])
            versions = store.entries.read_kept_versions(feed, entry_id)
        if not versions:
            raise ArgumentError(
                f"{feed} has no entry with the id {entry_id} (the id must match exactly); "
                f"fhcrawl export --feed {feed} -o -:jsonl lists all entries"
            )
        print_lines((_as_json if opts.json else _as_text)(feed, versions), opts.json)


def _as_json(feed: str, versions: list[KeptVersion]) -> Iterator[str]:
    for version, changed in _with_changes(versions):
        row = {"state": version.state, "feed": feed, **version.fields, "captured": version.captured}
        yield json_escaped(json.dumps({**row, "then_changed": changed}, ensure_ascii=False))


def _as_text(feed: str, versions: list[KeptVersion]) -> Iterator[str]:
    for version, changed in _with_changes(versions):
        fields = version.fields
        time = fields["updated"] or fields["published"] or fields["document_updated"] or "-"
        yield LINE.format(version.state, printable(time), printable(fields["title"] or "(no title)"))
        captured = f", captured {version.captured}" if version.captured else ""
        yield LINE.format("", "", f"from {printable(fields['document'] or '-')}{captured}")
        if changed:
            yield LINE.format("", "", f"changed afterwards: {', '.join(changed)}")
    if len(versions) == 1:
        yield f"No other version is stored; crawl with {SETTING}=1 to keep versions from now on"


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
