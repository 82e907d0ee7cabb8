"""Profiles: tables of columns that exports can have beside the fields, each with paths to its value.

A path leads through the tree of `documents.extensions`: `media:group/media:thumbnail@url` is an attribute of
an element, `atom:source/atom:title` its text, `json:image` a member of JSON Feed's item. A path that begins
without a prefix leads through the fields: `enclosures/url`. `[type=audio/*]` chooses elements or objects by
an attribute or member. A column's value is the first value of its kind to which its paths lead.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from fhcrawl.documents.extensions import JSON
from fhcrawl.documents.xml.elements import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fhcrawl.documents.extensions import Tree


class Column(NamedTuple):
    """A column.

    :param kind: a name of KINDS
    :param paths: where its value is, the best one first
    :param text: what it holds, for the documentation
    """

    kind: str
    paths: tuple[str, ...]
    text: str


# Objects that several columns are of: the first one found, the best path first. Some feeds give audio files
# no type, or another one.
OBJECTS = {
    "audio": (
        "enclosures[type=audio/*]",
        *(f"enclosures[url=*.{end}*]" for end in ("mp3", "m4a", "aac", "ogg", "oga", "opus", "flac", "wav")),
    ),
}
PROFILES: dict[str, dict[str, Column]] = {
    "podcast": {
        "audio_url": Column("url", ("audio/url",), "URL of the first audio enclosure"),
        "audio_type": Column("text", ("audio/type",), "media type of that enclosure"),
        "audio_length": Column("integer", ("audio/length",), "its length in octets"),
        "duration": Column(
            "seconds",
            ("itunes:duration", "media:content@duration", "json:attachments/duration_in_seconds"),
            "duration of the episode in seconds, from `itunes:duration` in any form, Media RSS or JSON Feed",
        ),
        "season": Column("integer", ("itunes:season", "podcast:season"), "season number"),
        "episode": Column("integer", ("itunes:episode", "podcast:episode"), "episode number"),
        "episode_type": Column("text", ("itunes:episodeType",), "`full`, `trailer` or `bonus`"),
        "image": Column(
            "url",
            (
                *("itunes:image@href", "googleplay:image@href", "media:thumbnail@url"),
                *("media:group/media:thumbnail@url", "json:image", "json:banner_image"),
            ),
            "URL of the episode's own image",
        ),
        "explicit": Column(
            "boolean",
            ("itunes:explicit", "googleplay:explicit"),
            "whether the episode is explicit (`yes`, `true`, `explicit`) or not (`no`, `false`, `clean`)",
        ),
        "transcripts": Column(
            "files",
            ("podcast:transcript@*",),
            "a list of objects with `url`, `type` and `language` (`podcast:transcript`)",
        ),
        "chapters": Column("url", ("podcast:chapters@url",), "URL of the chapter file (`podcast:chapters`)"),
    },
    "news": {
        "link": Column(
            "url",
            ("feedburner:origLink", "pheedo:origLink", "link"),
            "URL of the article itself (`feedburner:origLink`) if `link` leads through a tracker",
        ),
        "thumbnail": Column(
            "url",
            (
                *(
                    "media:thumbnail@url",
                    "media:group/media:thumbnail@url",
                    "media:content/media:thumbnail@url",
                ),
                *("media:content[medium=image]@url", "media:content[type=image/*]@url"),
                *("media:group/media:content[medium=image]@url", "json:image", "json:banner_image"),
                *("enclosures[type=image/*]/url", "itunes:image@href"),
            ),
            "URL of an image",
        ),
        "source": Column(
            "text",
            ("rss:source", "atom:source/atom:title", "dc:source", "rss:source@url", "atom:source/atom:id"),
            "source of the article: its name, or else its URL",
        ),
        "comments": Column(
            "url", ("rss:comments", "atom:link[rel=replies]@href"), "URL of the comments page"
        ),
    },
}
COLUMNS = {name: column for columns in PROFILES.values() for name, column in columns.items()}

STEP = re.compile(
    r"(?:(?P<prefix>\w+):)?(?P<name>\w+)(?:\[(?P<key>\w+)=(?P<like>[^\]]+)\])?(?:@(?P<attribute>[\w*]+))?"
)
# [hours:]minutes:seconds, or seconds. Apple: "Different duration formats are accepted".
DURATION = re.compile(r"(?:(?:(\d{1,9}):)?(\d{1,9}):)?(\d{1,9})(?:[.,]\d+)?", re.ASCII)
INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
BOOLEANS = {
    **dict.fromkeys(("yes", "true", "explicit"), True),
    **dict.fromkeys(("no", "false", "clean"), False),
}


class Entry(NamedTuple):
    """What paths lead through.

    :param fields: the fields of the entry
    :param tree: what it says beyond them
    """

    fields: dict[str, Any]
    tree: Tree

    def value(self, column: Column) -> Any:
        """Return the value of a column; None, or [] for a list, if no path leads to one."""
        base = self.fields.get("base") or self.fields.get("document") or ""
        found = (each for path in column.paths for each in self._find(path))
        return KINDS[column.kind](found, base)

    def _find(self, path: str) -> list[Any]:
        """Return what a path leads to: texts, attributes, members."""
        first, *steps = STEP.finditer(path)
        is_xml = first["prefix"] not in (None, JSON)
        found = self._start(first)
        for step in steps:
            found = [each for parent in found for each in _inside(parent, step, is_xml)]
        if not is_xml:
            return found
        attribute = (steps or [first])[-1]["attribute"]
        if attribute is None:
            return [node["value"] for node in found]
        return [node["attrs"] if attribute == "*" else node["attrs"].get(attribute) for node in found]

    def _start(self, step: re.Match[str]) -> list[Any]:
        if step["prefix"] is not None:
            return _chosen(self.tree.get(step["prefix"], {}).get(step["name"]), step)
        if step["name"] in OBJECTS:
            return list(islice((each for path in OBJECTS[step["name"]] for each in self._find(path)), 1))
        return _chosen(self.fields.get(step["name"]), step)


def _inside(parent: Any, step: re.Match[str], is_xml: bool) -> list[Any]:
    if is_xml:
        return _chosen(parent["children"].get(step["prefix"], {}).get(step["name"]), step)
    return _chosen(parent.get(step["name"]), step) if isinstance(parent, dict) else []


def _chosen(found: Any, step: re.Match[str]) -> list[Any]:
    """Return the elements, objects or values that a step leads to."""
    several = found if isinstance(found, list) else [] if found is None else [found]
    key, like = step["key"], step["like"]
    if key is None:
        return several
    members = (each.get("attrs", each) if isinstance(each, dict) else {} for each in several)
    return [
        each
        for each, named in zip(several, members, strict=True)
        if fnmatchcase(str(named.get(key) or "").lower(), like)
    ]


def _texts(found: Iterable[Any]) -> Iterator[str]:
    return (
        text for each in found if not isinstance(each, (dict, list)) and (text := str(each or "").strip())
    )


def _text(found: Iterable[Any], base: str) -> str | None:
    return next(_texts(found), None)


def _url(found: Iterable[Any], base: str) -> str | None:
    reference = _text(found, base)
    return reference and resolve(reference, base)


def _integer(found: Iterable[Any], base: str) -> int | None:
    return next((int(text) for text in _texts(found) if INTEGER.fullmatch(text)), None)


def _seconds(found: Iterable[Any], base: str) -> int | None:
    times = (match for text in _texts(found) if (match := DURATION.fullmatch(text)))
    return next((_sum(*match.groups()) for match in times), None)


def _sum(hours: str | None, minutes: str | None, seconds: str) -> int:
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds)


def _boolean(found: Iterable[Any], base: str) -> bool | None:
    known = (BOOLEANS.get(text.lower()) for text in _texts(found))
    return next((each for each in known if each is not None), None)


def _files(found: Iterable[Any], base: str) -> list[dict[str, str | None]]:
    given = [each for each in found if isinstance(each, dict) and (each.get("url") or "").strip()]
    return [
        {"url": resolve(each["url"], base), "type": each.get("type"), "language": each.get("language")}
        for each in given
    ]


KINDS: dict[str, Callable[[Iterable[Any], str], Any]] = {
    "text": _text,
    "url": _url,
    "integer": _integer,
    "seconds": _seconds,
    "boolean": _boolean,
    "files": _files,
}
