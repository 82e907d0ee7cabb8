"""The columns that settings choose, and their values."""

import json
from typing import Any

import pytest
from scrapy.settings import Settings

from fhcrawl import settings as ours
from fhcrawl.core.addons import EXPORTED, add_settings
from fhcrawl.core.checks import check_settings
from fhcrawl.exceptions import ArgumentError
from fhcrawl.exporters.columns import PROFILES, Rows
from fhcrawl.items import FIELDS
from tests.projects import Project
from tests.server import FeedServer

PODCAST = [*PROFILES["podcast"]]
ENTRY = {name: name for name in FIELDS}
DETAILS = {"title_type": "text", "summary_type": None, "base": "http://example.org/", "language": "en"}
ORIGINAL = "<item xmlns:i='http://www.itunes.com/dtds/podcast-1.0.dtd'><i:season>2</i:season></item>"


def settings_with(**given: Any) -> Settings:
    found = Settings()
    found.setmodule(ours)
    found.setdict(given, "project")
    return found


def columns(**given: Any) -> Any:
    """The columns of a crawl with settings, which may be added twice."""
    found = settings_with(**given)
    add_settings(found)
    once = found[EXPORTED]
    add_settings(found)
    assert found[EXPORTED] == once
    check_settings(found)
    return once


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, FIELDS),
        ({"FHCRAWL_FIELDS": "id,title"}, ["id", "title"]),
        ({"FHCRAWL_FIELDS": ["title", "+original", "id", "title"]}, ["title", "id", "original"]),
        ({"FHCRAWL_FIELDS": "+original,+id"}, [*FIELDS, "original"]),
        ({"FHCRAWL_FIELDS": "id,season"}, ["id", "season"]),
        ({"FHCRAWL_EXTENSIONS_ENABLED": True}, [*FIELDS, "extensions"]),
        ({"FHCRAWL_PROFILES": "podcast"}, [*FIELDS, *PODCAST]),
        ({"FHCRAWL_PROFILES": "podcast", "FHCRAWL_FIELDS": "id"}, ["id", *PODCAST]),
        ({"FHCRAWL_PROFILES": "news"}, [*FIELDS, "thumbnail", "source", "comments"]),
        ({"FHCRAWL_ADDED_FIELDS": "words", "FHCRAWL_FIELDS": "+base"}, [*FIELDS, "words", "base"]),
        ({"FHCRAWL_ADDED_FIELDS": "words", "FHCRAWL_FIELDS": "words"}, ["words"]),
        # FEED_EXPORT_FIELDS stays Scrapy's.
        ({"FEED_EXPORT_FIELDS": ["id", "own"]}, ["id", "own"]),
        ({"FEED_EXPORT_FIELDS": ["id", "own"], "FHCRAWL_FIELDS": "+base"}, ["id", "own", "base"]),
        ({"FEED_EXPORT_FIELDS": {"id": "ID"}, "FHCRAWL_FIELDS": "+base"}, {"id": "ID", "base": "base"}),
    ],
)
def test_settings_choose_columns(given: dict[str, Any], expected: Any) -> None:
    assert columns(**given) == expected


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"FHCRAWL_FIELDS": "titel"}, "There is no field 'titel'; did you mean 'title'"),
        ({"FHCRAWL_FIELDS": "id,+Extension"}, "There is no field 'Extension'; did you mean 'extensions'"),
        ({"FHCRAWL_FIELDS": "episodes"}, "There is no field 'episodes'; did you mean 'episode'"),
        ({"FHCRAWL_PROFILES": "pod"}, "There is no profile 'pod'; did you mean 'podcast'"),
        ({"FHCRAWL_ADDED_FIELDS": "original"}, "and no built-in field"),
        ({"FHCRAWL_ADDED_FIELDS": "duration"}, "and no built-in field"),
        (
            {"FHCRAWL_EXTENSIONS_ENABLED": 1, "FHCRAWL_KEEP_XML_ENABLED": 0},
            "set FHCRAWL_KEEP_XML_ENABLED=1",
        ),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        columns(**given)


def rows(names: list[str], profiles: list[str], **entry: Any) -> dict[str, Any]:
    found = Rows(names, profiles)
    details = {**DETAILS, "original": ORIGINAL} if found.need_details else {}
    [row] = found.complete([{**ENTRY, **details, **entry}])
    return row


def test_rows_have_what_is_chosen_and_nothing_else() -> None:
    assert rows(FIELDS, []) == ENTRY
    assert rows(["id", "language"], []) == {**ENTRY, "language": "en"}
    assert rows(["original", "season"], []) == {**ENTRY, "original": ORIGINAL, "season": 2}
    tree = {"itunes": {"season": [{"value": "2", "attrs": {}, "children": {}}]}}
    assert rows(["extensions"], []) == {**ENTRY, "extensions": tree}
    assert rows(["extensions"], [], original=None) == {**ENTRY, "extensions": None}


def test_field_that_a_pipeline_has_added_stays_unless_a_profile_is_chosen() -> None:
    assert rows(["season"], [], season="own")["season"] == "own"
    assert rows(["season"], ["podcast"], season="own")["season"] == 2


def test_fields_alone_need_no_originals() -> None:
    assert not Rows(FIELDS, []).need_details
    assert Rows(["base"], []).need_details


def episode(season: int, other: str) -> str:
    return (
        '<rss xmlns:i="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel>'
        f"<title>{other}</title><item><guid>1</guid><title>T</title>"
        f"<pubDate>{other}</pubDate><i:season>{season}</i:season></item></channel></rss>"
    )


def test_columns_of_a_crawl_and_of_an_export_are_the_same(server: FeedServer, project: Project) -> None:
    server.serve("/index", episode(1, "a"))
    columns = ("--fields", "id,season,+original", "--profile", "news")
    run = project.crawl(server.url("/index"), args=columns)
    assert run.exit_code == 0
    assert "are not exported" not in run.log
    [item] = run.items
    assert list(item) == ["id", "season", "original", "link", "thumbnail", "source", "comments"]
    assert item["season"] == 1
    assert item["original"].startswith("<item")
    done = project.scrapy("export", "-o", "-:jsonl", *columns)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == item
