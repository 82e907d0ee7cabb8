"""The columns that settings and profiles choose, and their values."""

import json
from typing import Any

import pytest
from scrapy.settings import Settings

from fhcrawl import settings as ours
from fhcrawl.core.addons import EXPORTED, add_settings
from fhcrawl.core.checks import check_settings
from fhcrawl.documents import extensions
from fhcrawl.exceptions import ArgumentError
from fhcrawl.exporters.rows import FILES, KINDS, OBJECTS, PROFILES, STEP, EntryRow, Rows
from fhcrawl.items import FIELDS
from tests.projects import Project
from tests.server import FeedServer

PODCAST = [*PROFILES["podcast"]]
ENTRY = {name: name for name in FIELDS}
DETAILS = {"title_type": "text", "summary_type": None, "base": "http://example.org/", "language": "en"}
ORIGINAL = "<item xmlns:i='http://www.itunes.com/dtds/podcast-1.0.dtd'><i:season>2</i:season></item>"


def columns(**given: Any) -> Any:
    """The columns of a crawl with settings, which may be added twice."""
    found = Settings()
    found.setmodule(ours)
    found.setdict(given, "project")
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
    ("given", "reported"),
    [
        ({"FHCRAWL_FIELDS": "titel"}, "There is no field 'titel'; did you mean 'title'"),
        ({"FHCRAWL_FIELDS": "id,+Extension"}, "There is no field 'Extension'; did you mean 'extensions'"),
        ({"FHCRAWL_FIELDS": "episodes"}, "There is no field 'episodes'; did you mean 'episode'"),
        ({"FHCRAWL_PROFILES": "pod"}, "There is no profile 'pod'; did you mean 'podcast'"),
        ({"FHCRAWL_ADDED_FIELDS": "original"}, "and no built-in field"),
        ({"FHCRAWL_ADDED_FIELDS": "duration"}, "and no built-in field"),
        ({"FHCRAWL_EXTENSIONS_ENABLED": 1, "FHCRAWL_KEEP_XML_ENABLED": 0}, "set FHCRAWL_KEEP_XML_ENABLED=1"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(given: dict[str, Any], reported: str) -> None:
    with pytest.raises(ArgumentError, match=reported):
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
    # A pipeline has added it.
    assert rows(["season"], [], season="own")["season"] == "own"
    assert rows(["season"], ["podcast"], season="own")["season"] == 2
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


NAMESPACES = {
    "i": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "p": "https://podcastindex.org/namespace/1.0",
    "m": "http://search.yahoo.com/mrss/",
    "f": "http://rssnamespace.org/feedburner/ext/1.0",
    "a": "http://www.w3.org/2005/Atom",
    "d": "http://purl.org/dc/elements/1.1/",
}
DECLARED = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())
BASE = "http://example.org/feed/1"
DURATIONS = [("3723", 3723), ("62:03", 3723), ("01:02:03", 3723), (" 90.5 ", 90), ("PT1H", None), ("", None)]
EXPLICIT = [("true", True), ("clean", False), ("No", False), ("perhaps", None)]


def values(profile: str, inner: str | dict[str, Any], **fields: Any) -> dict[str, Any]:
    original = json.dumps(inner) if isinstance(inner, dict) else f"<item {DECLARED}>{inner}</item>"
    entry = EntryRow({"document": BASE, **fields}, extensions.read(original) or {})
    return {name: entry.value(column) for name, column in PROFILES[profile].items()}


def enclosure(url: str, media_type: str | None = None, length: int | None = None) -> dict[str, Any]:
    return {"url": url, "type": media_type, "length": length}


def test_episode_has_all_columns() -> None:
    inner = (
        "<i:duration>1:02:03</i:duration><i:season>2</i:season><i:episode>7</i:episode>"
        "<i:episodeType>bonus</i:episodeType><i:image href='i.jpg'/><i:explicit>Yes</i:explicit>"
        "<p:transcript url='t.vtt' type='text/vtt' language='en'/><p:transcript url='/t.srt'/>"
        "<p:chapters url='c.json' type='application/json+chapters'/>"
    )
    files = [enclosure("http://x/c.jpg", "image/jpeg"), enclosure("http://x/a.mp3", "audio/mpeg", 5)]
    assert values("podcast", inner, enclosures=files) == {
        "audio_url": "http://x/a.mp3",
        "audio_type": "audio/mpeg",
        "audio_length": 5,
        "duration": 3723,
        "season": 2,
        "episode": 7,
        "episode_type": "bonus",
        "image": "http://example.org/feed/i.jpg",
        "explicit": True,
        "transcripts": [
            {"url": "http://example.org/feed/t.vtt", "type": "text/vtt", "language": "en"},
            {"url": "http://example.org/t.srt", "type": None, "language": None},
        ],
        "chapters": "http://example.org/feed/c.json",
    }


def test_columns_of_a_file_are_of_the_same_file_or_empty() -> None:
    empty: dict[str, Any] = {name: [] if name == "transcripts" else None for name in PROFILES["podcast"]}
    assert values("podcast", "", enclosures=[enclosure("http://x/c.pdf", "application/pdf", 1)]) == empty
    files = [enclosure("http://x/a.mp3?q=1", None, None), enclosure("http://x/b.mp3", None, 5)]
    found = values("podcast", "", enclosures=files)
    assert (found["audio_url"], found["audio_length"]) == ("http://x/a.mp3?q=1", None)


@pytest.mark.parametrize(
    ("profile", "inner", "column", "value"),
    [
        *(("podcast", f"<i:duration>{text}</i:duration>", "duration", value) for text, value in DURATIONS),
        *(("podcast", f"<i:explicit>{text}</i:explicit>", "explicit", value) for text, value in EXPLICIT),
        # The first one of the kind counts.
        ("podcast", "<i:season>two</i:season><p:season>2</p:season>", "season", 2),
        ("news", "", "link", "http://example.org/1"),
        ("news", "<a:source><a:title>S</a:title></a:source>", "source", "S"),
        ("news", "<a:link rel='replies' href='r'/>", "comments", "http://example.org/feed/r"),
    ],
)
def test_value_of_a_column(profile: str, inner: str, column: str, value: object) -> None:
    assert values(profile, inner, link="http://example.org/1")[column] == value


def test_episode_of_json_feed() -> None:
    item = {"attachments": [{"url": "u", "duration_in_seconds": "60"}], "image": "/i.png"}
    found = values("podcast", item)
    assert (found["duration"], found["image"]) == (60, "http://example.org/i.png")


def test_article_has_all_columns() -> None:
    inner = (
        "<f:origLink>http://example.org/article</f:origLink><comments>/c</comments>"
        "<source url='http://other.example/'>Other</source>"
        "<m:content url='v.mp4' medium='video'/><m:content url='p.png' medium='image'/>"
    )
    assert values("news", inner, link="http://tracker.example/1") == {
        "link": "http://example.org/article",
        "thumbnail": "http://example.org/feed/p.png",
        "source": "Other",
        "comments": "http://example.org/c",
    }


def test_tables_are_readable() -> None:
    for columns in PROFILES.values():
        for column in columns.values():
            assert column.kind in (*KINDS, FILES)
            for path in (*column.paths.split(), *(p for paths in OBJECTS.values() for p in paths)):
                assert "/".join(match[0] for match in STEP.finditer(path)) == path
                first = path.split("/")[0].split("[")[0]
                assert ":" in first or first in (*FIELDS, *OBJECTS)
