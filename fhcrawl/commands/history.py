"""`scrapy history`: lists the versions of an entry and the document of each."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from fhcrawl.commands import UTF_8, check_options, printing, typed
from fhcrawl.exceptions import FhcrawlError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from fhcrawl.store.rows import KeptVersion

# Not compared: the id is the same in all versions, and the document of each version is listed anyway.
NOT_OF_ENTRY = ("id", "document", "document_updated")
LINE = "{:<10}  {:<20}  {}"
SETTING = "FHCRAWL_KEEP_VERSIONS_ENABLED"


class Command(ScrapyCommand):
    """Lists the versions of an entry."""

    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012

    def syntax(self) -> str:
        """Return the usage for `scrapy history --help`."""
        return "[--json] FEED ID"

    def short_desc(self) -> str:
        """Return the line in the list of commands."""
        return "Show all versions of an entry that the store has, and where each came from"

    def long_desc(self) -> str:
        """Return the text for `scrapy history --help`."""
        return (
            "Show what an entry of a feed is, and what it was: the newest version first, each with the "
            f"document that it came from. Only crawls with {SETTING}=1 keep what an entry was. Examples: "
            "'scrapy crawl history -a feed=https://example.org/index.atom -s "
            f"{SETTING}=1'; 'scrapy history https://example.org/index.atom tag:example.org,2003:1'; "
            "'scrapy history --json https://example.org/index.atom tag:example.org,2003:1 | jq .content'."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add --json."""
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print a JSON object a line, with all fields")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Print the versions.

        :raises UsageError: if the arguments or the store cannot be used, or there is no such entry
        """
        from fhcrawl.extensions.store import store_url
        from fhcrawl.store import Store

        if len(args) != 2 or self.settings is None:  # noqa: PLR2004
            check_options(args, "scrapy history")
            raise UsageError(
                "write scrapy history FEED ID: the feed's URL and the entry's id", print_help=False
            )
        feed, entry_id = map(typed, args)
        try:
            with closing(Store.open_to_read(store_url(self.settings))) as store:
                if not store.feeds.has(feed):
                    raise UsageError(
                        f"{feed}: not in the store; `scrapy feeds` lists what is", print_help=False
                    )
                versions = store.entries.read_kept_versions(feed, entry_id)
        except FhcrawlError as error:
            raise UsageError(str(error), print_help=False) from error
        if not versions:
            raise UsageError(
                f"{feed} has no entry {entry_id}: ids are compared character by character; "
                f"scrapy export --feed {feed} -o -:jsonl has them all",
                print_help=False,
            )
        with printing(UTF_8 if opts.json else None):
            for line in (as_json if opts.json else as_text)(feed, versions):
                print(line)


def as_json(feed: str, versions: list[KeptVersion]) -> Iterator[str]:
    """Yield a JSON object for each version."""
    from fhcrawl.utils.text import json_escaped

    for version, changed in _with_changes(versions):
        said = {"state": version.state, "feed": feed, **version.fields, "captured": version.captured}
        said["then_changed"] = changed
        yield json_escaped(json.dumps(said, ensure_ascii=False))


def as_text(feed: str, versions: list[KeptVersion]) -> Iterator[str]:
    """Yield two lines for each version, and a third with the fields that changed after it."""
    from fhcrawl.utils.text import printable

    for version, changed in _with_changes(versions):
        fields = version.fields
        time = fields["updated"] or fields["published"] or fields["document_updated"] or "-"
        yield LINE.format(version.state, printable(time), printable(fields["title"] or "(no title)"))
        captured = f", captured {version.captured}" if version.captured else ""
        yield LINE.format("", "", f"from {printable(fields['document'] or '-')}{captured}")
        if changed:
            yield LINE.format("", "", f"then changed: {', '.join(changed)}")
    if len(versions) == 1:
        yield f"No other version is kept; with {SETTING}=1, crawls keep what they find from then on"


def _with_changes(versions: list[KeptVersion]) -> Iterator[tuple[KeptVersion, list[str] | None]]:
    """Yield each version with the names of the fields that the next newer version changed.

    Deletions have no fields and are not compared.
    """
    after: KeptVersion | None = None
    for version in versions:
        if version.state == "deleted":
            yield version, None
            continue
        yield version, None if after is None else _differing(version.fields, after.fields)
        after = version


def _differing(fields: dict[str, Any], others: dict[str, Any]) -> list[str]:
    return [name for name, value in fields.items() if name not in NOT_OF_ENTRY and others[name] != value]
