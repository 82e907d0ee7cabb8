"""Profiles: the values of their columns."""

import json
from typing import Any

import pytest

from fhcrawl.documents import extensions
from fhcrawl.exporters.columns import KINDS, OBJECTS, PROFILES, STEP, Entry
from fhcrawl.items import FIELDS

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


def row(profile: str, inner: str | dict[str, Any], **fields: Any) -> dict[str, Any]:
    original = json.dumps(inner) if isinstance(inner, dict) else f"<item {DECLARED}>{inner}</item>"
    entry = Entry({"document": BASE, **fields}, extensions.read(original) or {})
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
    assert row("podcast", inner, enclosures=files) == {
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


def test_entry_that_is_no_episode_has_empty_columns() -> None:
    empty: dict[str, Any] = {name: [] if name == "transcripts" else None for name in PROFILES["podcast"]}
    assert row("podcast", "", enclosures=[enclosure("http://x/c.pdf", "application/pdf", 1)]) == empty


def test_columns_of_a_file_are_of_the_same_file() -> None:
    files = [enclosure("http://x/a.mp3?q=1", None, None), enclosure("http://x/b.mp3", None, 5)]
    found = row("podcast", "", enclosures=files)
    assert (found["audio_url"], found["audio_length"]) == ("http://x/a.mp3?q=1", None)


@pytest.mark.parametrize(
    ("profile", "inner", "column", "value"),
    [
        *(("podcast", f"<i:duration>{text}</i:duration>", "duration", value) for text, value in DURATIONS),
        *(
            ("podcast", f"<i:explicit>{written}</i:explicit>", "explicit", value)
            for written, value in EXPLICIT
        ),
        # The first one of the kind counts.
        ("podcast", "<i:season>two</i:season><p:season>2</p:season>", "season", 2),
        ("news", "", "link", "http://example.org/1"),
        ("news", "<a:source><a:title>S</a:title></a:source>", "source", "S"),
        ("news", "<a:link rel='replies' href='r'/>", "comments", "http://example.org/feed/r"),
    ],
)
def test_value_of_a_column(profile: str, inner: str, column: str, value: object) -> None:
    assert row(profile, inner, link="http://example.org/1")[column] == value


def test_episode_of_json_feed() -> None:
    item = {"attachments": [{"url": "u", "duration_in_seconds": "60"}], "image": "/i.png"}
    found = row("podcast", item)
    assert (found["duration"], found["image"]) == (60, "http://example.org/i.png")


def test_article_has_all_columns() -> None:
    inner = (
        "<f:origLink>http://example.org/article</f:origLink><comments>/c</comments>"
        "<source url='http://other.example/'>Other</source>"
        "<m:content url='v.mp4' medium='video'/><m:content url='p.png' medium='image'/>"
    )
    assert row("news", inner, link="http://tracker.example/1") == {
        "link": "http://example.org/article",
        "thumbnail": "http://example.org/feed/p.png",
        "source": "Other",
        "comments": "http://example.org/c",
    }


def test_tables_are_readable() -> None:
    for columns in PROFILES.values():
        for column in columns.values():
            assert column.kind in KINDS
            for path in (*column.paths, *(p for paths in OBJECTS.values() for p in paths)):
                assert "/".join(match[0] for match in STEP.finditer(path)) == path
                first = path.split("/")[0].split("[")[0]
                assert ":" in first or first in (*FIELDS, *OBJECTS)
