"""Exports entries as rows: CSV, JSON, JSON lines, XML (all of them safe for terminals) and Parquet.

Each row has all fields, in the order of EntryItem, and the columns that the settings choose.

A profile is a table of columns beside the fields, each with paths to its value. A path leads through the tree
of `documents.extensions`: `media:group/media:thumbnail@url` is an attribute of an element,
`atom:source/atom:title` its text, `json:image` a member of JSON Feed's item. A path that begins without a
prefix leads through the fields: `enclosures/url`. `[type=audio/*]` chooses elements or objects by
an attribute or member. A column's value is the first value of its kind to which its paths lead.
"""

from __future__ import annotations

import io
import json
import pickle
import re
from contextlib import contextmanager
from datetime import datetime
from fnmatch import fnmatchcase
from itertools import chain, islice
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import XMLGenerator

import orjson
from scrapy import exporters
from scrapy.exceptions import NotConfigured

from fhcrawl.documents import extensions
from fhcrawl.documents.extensions import JSON
from fhcrawl.documents.xml.elements import resolve
from fhcrawl.exceptions import ArgumentError
from fhcrawl.exporters.documents import cleaned
from fhcrawl.items import (
    ALL_FIELDS,
    COMPUTED_FIELDS,
    EXTENSIONS,
    FORMER_IDS,
    OPTIONAL_FIELDS,
    ORIGINAL,
    STORED_FIELDS,
    STORED_TIMES,
)
from fhcrawl.utils.text import escaped, how_to_install, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from io import BytesIO

    import pyarrow as pa
    from pyarrow import parquet
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

    from fhcrawl.documents.extensions import Tree


class Column(NamedTuple):
    kind: str  # see KINDS
    paths: str  # to its value, best first
    text: str  # its documentation


# Objects that several columns describe, best path first. Some feeds give audio files no type, or another one.
OBJECTS = {
    "audio": (
        "enclosures[type=audio/*]",
        *(f"enclosures[url=*.{end}*]" for end in ("mp3", "m4a", "aac", "ogg", "oga", "opus", "flac", "wav")),
    ),
}


PROFILES: dict[str, dict[str, Column]] = {
    "podcast": {
        "audio_url": Column("url", "audio/url", "URL of the first audio enclosure"),
        "audio_type": Column("text", "audio/type", "media type of that enclosure"),
        "audio_length": Column("integer", "audio/length", "its length in octets"),
        "duration": Column(
            "seconds",
            "itunes:duration media:content@duration json:attachments/duration_in_seconds",
            "duration in seconds, written in any form",
        ),
        "season": Column("integer", "itunes:season podcast:season", "season number"),
        "episode": Column("integer", "itunes:episode podcast:episode", "episode number"),
        "episode_type": Column("text", "itunes:episodeType", "`full`, `trailer` or `bonus`"),
        "image": Column(
            "url",
            "itunes:image@href googleplay:image@href media:thumbnail@url media:group/media:thumbnail@url "
            "json:image json:banner_image",
            "URL of the episode's own image",
        ),
        "explicit": Column(
            "boolean",
            "itunes:explicit googleplay:explicit",
            "true (`yes`, `true`, `explicit`) or false (`no`, `false`, `clean`)",
        ),
        "transcripts": Column(
            "files",
            "podcast:transcript@*",
            "a list of objects with `url`, `type` and `language`",
        ),
        "chapters": Column("url", "podcast:chapters@url", "URL of the chapter file"),
    },
    "news": {
        "link": Column(
            "url",
            "feedburner:origLink pheedo:origLink link",
            "URL of the article itself, if `link` leads through a tracker",
        ),
        "thumbnail": Column(
            "url",
            "media:thumbnail@url media:group/media:thumbnail@url media:content/media:thumbnail@url "
            "media:content[medium=image]@url media:content[type=image/*]@url "
            "media:group/media:content[medium=image]@url json:image json:banner_image "
            "enclosures[type=image/*]/url itunes:image@href",
            "URL of an image",
        ),
        "source": Column(
            "text",
            "rss:source atom:source/atom:title dc:source rss:source@url atom:source/atom:id",
            "source of the article: its name, or else its URL",
        ),
        "comments": Column("url", "rss:comments atom:link[rel=replies]@href", "URL of the comments page"),
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


class EntryRow(NamedTuple):
    fields: dict[str, Any]
    tree: Tree

    def value(self, column: Column) -> Any:
        base = self.fields.get("base") or self.fields.get("document") or ""
        values = chain.from_iterable(map(self._follow, column.paths.split()))
        if column.kind == FILES:
            return [
                _file(value, base) for value in values if isinstance(value, dict) and _text(value.get("url"))
            ]
        converted = (KINDS[column.kind](text, base) for text in map(_text, values) if text)
        return next((value for value in converted if value is not None), None)

    def _follow(self, path: str) -> list[Any]:
        steps = list(STEP.finditer(path))
        prefix, name = steps[0]["prefix"], steps[0]["name"]
        is_xml = prefix not in (None, JSON)
        nodes: list[Any] = [
            {"children": self.tree} if is_xml else self.tree.get(JSON) if prefix else self.fields
        ]
        if prefix is None and name in OBJECTS:
            nodes = list(
                islice((node for object_path in OBJECTS[name] for node in self._follow(object_path)), 1)
            )
            del steps[0]
        for step in steps:
            nodes = [child for node in nodes for child in _children(node, step, is_xml)]
        if not is_xml:
            return nodes
        attribute = steps[-1]["attribute"]
        if attribute is None:
            return [node["value"] for node in nodes]
        return [node["attrs"] if attribute == "*" else node["attrs"].get(attribute) for node in nodes]


def _children(node: Any, step: re.Match[str], is_xml: bool) -> list[Any]:
    if is_xml:
        value = node["children"].get(step["prefix"], {}).get(step["name"])
    else:
        value = node.get(step["name"]) if isinstance(node, dict) else None
    nodes = value if isinstance(value, list) else [] if value is None else [value]
    key = step["key"]
    if key is None:
        return nodes
    members = (node.get("attrs", node) if isinstance(node, dict) else {} for node in nodes)
    return [
        node
        for node, attributes in zip(nodes, members, strict=True)
        if fnmatchcase(str(attributes.get(key) or "").lower(), step["like"])
    ]


def _text(value: Any) -> str:
    return "" if isinstance(value, (dict, list)) else str(value or "").strip()


def _seconds(text: str, base: str) -> int | None:
    if (match := DURATION.fullmatch(text)) is None:
        return None
    hours, minutes, seconds = (int(number or 0) for number in match.groups())
    return hours * 3600 + minutes * 60 + seconds


def _file(value: dict[str, Any], base: str) -> dict[str, str | None]:
    return {"url": resolve(value["url"], base), "type": value.get("type"), "language": value.get("language")}


# The kinds of columns; the functions return None for a text that is not of the kind.
FILES = "files"
KINDS: dict[str, Callable[[str, str], Any]] = {
    "text": lambda text, base: text,
    "url": resolve,
    "integer": lambda text, base: int(text) if INTEGER.fullmatch(text) else None,
    "seconds": _seconds,
    "boolean": lambda text, base: BOOLEANS.get(text.lower()),
}


FIELDS = "FHCRAWL_FIELDS"
CHOSEN_PROFILES = "FHCRAWL_PROFILES"
EXTENSIONS_ENABLED = "FHCRAWL_EXTENSIONS_ENABLED"
ADDED_FIELDS = "FHCRAWL_ADDED_FIELDS"
KEEP_XML = "FHCRAWL_KEEP_XML_ENABLED"
PLUS = "+"
EMPTY: tuple[object, ...] = (None, "", [], {})


def chosen(fields: list[str] | dict[str, str], settings: BaseSettings) -> list[str] | dict[str, str]:
    """Return the columns of exports, from those of FEED_EXPORT_FIELDS (a dictionary has their headings)."""
    chosen_names = settings.getlist(FIELDS)
    names = [name for name in chosen_names if not name.startswith(PLUS)] or list(fields)
    names += [name.removeprefix(PLUS) for name in chosen_names if name.startswith(PLUS)]
    names += [EXTENSIONS] if settings.getbool(EXTENSIONS_ENABLED) else []
    names += chain.from_iterable(PROFILES.get(name, ()) for name in settings.getlist(CHOSEN_PROFILES))
    unique = list(dict.fromkeys(names))
    return {name: fields.get(name, name) for name in unique} if isinstance(fields, dict) else unique


def check(settings: BaseSettings) -> None:
    """:raises ArgumentError: if a setting names an unknown column or profile, or requires another setting"""
    names = [name.removeprefix(PLUS) for name in settings.getlist(FIELDS)]
    columns = [*ALL_FIELDS, *COMPUTED_FIELDS, *COLUMNS, *settings.getlist(ADDED_FIELDS)]
    _check_names("field", names, columns)
    _check_names("profile", settings.getlist(CHOSEN_PROFILES), list(PROFILES))
    if settings.getbool(EXTENSIONS_ENABLED) and not settings.getbool(KEEP_XML):
        raise ArgumentError(f"{EXTENSIONS_ENABLED} requires the original entries; set {KEEP_XML}=1")


def _check_names(what: str, names: list[str], valid: list[str]) -> None:
    for name in names:
        if name not in valid:
            near = nearest(name.lower(), valid)
            hint = f"did you mean {near!r}?" if near else f"choose from: {', '.join(valid)}"
            raise ArgumentError(f"There is no {what} {name!r}; {hint}")


def only(fields: list[str] | dict[str, str], names: Collection[str]) -> list[str] | dict[str, str]:
    kept = [name for name in fields if name in names]
    return {name: fields[name] for name in kept} if isinstance(fields, dict) else kept


@contextmanager
def spooled(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[set[str], Iterator[dict[str, Any]]]]:
    """Copy rows to a temporary file; yield the names of the columns that are not empty, and the rows."""
    filled: set[str] = set()
    count = 0
    with TemporaryFile() as file:
        for count, row in enumerate(rows, 1):  # noqa: B007
            filled.update(name for name, value in row.items() if value not in EMPTY)
            pickle.dump(row, file)
        file.seek(0)
        yield filled, (pickle.load(file) for _ in range(count))  # noqa: S301 - it was written above


class Rows:
    """Adds the columns of exports to the entries of the store.

    :param names: the columns of all exports of the run
    :param profiles: names of profiles, whose columns replace fields of the same name
    """

    def __init__(self, names: Iterable[str], profiles: Iterable[str]) -> None:
        self._names = frozenset(names)
        tables = (PROFILES.get(name, {}) for name in profiles)
        self._profile_columns = {name: column for table in tables for name, column in table.items()}
        plain = {name: column for name, column in COLUMNS.items() if name not in ALL_FIELDS}
        columns = plain | self._profile_columns
        self._columns = {name: column for name, column in columns.items() if name in self._names}
        # Whether the entries must be read from the store with details.
        self.need_details = bool(self._columns) or not self._names.isdisjoint(
            (*OPTIONAL_FIELDS, *COMPUTED_FIELDS)
        )

    def complete(self, entries: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        return map(self._with_columns if self.need_details else dict, entries)

    def _with_columns(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        fields = dict(entry)
        original = fields.pop(ORIGINAL, None)
        tree = extensions.read(original)
        computed = {ORIGINAL: original, EXTENSIONS: tree, FORMER_IDS: fields.pop(FORMER_IDS, [])}
        computed |= {name: fields.pop(name, None) for name in STORED_FIELDS}
        columns = {
            name: EntryRow(fields, tree or {}).value(column)
            for name, column in self._columns.items()
            # A pipeline may have added a field with this name.
            if name in self._profile_columns or name not in fields
        }
        left_out = {*OPTIONAL_FIELDS} - self._names
        return {
            **{name: value for name, value in fields.items() if name not in left_out},
            **{name: value for name, value in computed.items() if name in self._names},
            **columns,
        }


# -- exporters -------------------------------------------------------------------------------------------


# Control and other unprintable characters are written as escapes.
class Terminal(io.RawIOBase):
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, octets: Any) -> int:
        text = bytes(octets).decode("utf-8", "backslashreplace").replace("\r\n", "\n")
        self._file.write("\n".join(map(escaped, text.split("\n"))).encode())
        return len(octets)


def shown(file: Any) -> Any:
    return Terminal(file) if file.isatty() else file


# The fields that are times: ISO 8601 in UTC, with all digits that the feed has.
TIMES = ("published", "updated", "document_updated", *STORED_TIMES)


# Only entries are plain dictionaries.
def _with_all_fields(item: Any, fields: Any) -> Any:
    if type(item) is not dict or not isinstance(fields, list) or fields == list(item):
        return item
    return {name: item.get(name) for name in fields}


EXCEL = "FHCRAWL_CSV_EXCEL_ENABLED"
SECONDS = len("2003-12-13T18:30:02")
# What spreadsheets read as a formula, with full-width forms and leading white space.
FORMULA = re.compile(r"'|[\t\r\n]|[\s\0\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]")


class CsvItemExporter(exporters.CsvItemExporter):
    """CSV; lists are JSON text, null is an empty cell. No header is written to a file that is not empty.

    :param excel: FHCRAWL_CSV_EXCEL_ENABLED: begin a file with a byte order mark, write times as Excel reads
        them, without fractions, and put an apostrophe before a cell that a spreadsheet would run, and before
        one that begins with an apostrophe, so that removing the first apostrophe gives the value
    """

    def __init__(
        self, file: BytesIO, include_headers_line: bool = True, excel: bool = False, **kwargs: Any
    ) -> None:
        include = include_headers_line and not (file.seekable() and file.tell())
        if excel:
            # Excel reads UTF-8 in its regional encoding unless the file begins with a byte order mark.
            kwargs["encoding"] = "utf-8-sig" if include else "utf-8"
        super().__init__(shown(file), include_headers_line=include, **kwargs)
        self._excel, self._is_empty = excel, True

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: BytesIO, **kwargs: Any) -> Self:
        return cls(file, **{"excel": crawler.settings.getbool(EXCEL), **kwargs})

    def export_item(self, item: Any) -> None:
        self._is_empty = False
        super().export_item(item)

    def finish_exporting(self) -> None:
        fields = self.fields_to_export
        if self._is_empty and self.include_headers_line and fields:
            self.csv_writer.writerow(fields.values() if isinstance(fields, dict) else fields)
        super().finish_exporting()

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        if isinstance(value, (list, tuple, dict, bool)):
            return json.dumps(value, ensure_ascii=False)
        if self._excel and name in TIMES and isinstance(value, str):
            return value[:SECONDS].replace("T", " ")
        if self._excel and isinstance(value, str) and FORMULA.match(value):
            return f"'{value}"
        return "" if value is None else value


class JsonItemExporter(exporters.JsonItemExporter):
    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(shown(file), **kwargs)

    def export_item(self, item: Any) -> None:
        super().export_item(_with_all_fields(item, self.fields_to_export))


class JsonLinesItemExporter(exporters.JsonLinesItemExporter):
    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(shown(file), **kwargs)

    def export_item(self, item: Any) -> None:
        item = _with_all_fields(item, self.fields_to_export)
        if type(item) is dict and self.fields_to_export in (None, list(item)) and self.encoding == "utf-8":
            self.file.write(orjson.dumps(item, option=orjson.OPT_APPEND_NEWLINE))
        else:
            super().export_item(item)


class Generator(XMLGenerator):
    """The standard library's generator; it keeps U+000D and replaces characters that XML does not allow."""

    # XML 1.0, 2.11: a parser normalises U+000D to a line feed unless it is a character reference.
    def characters(self, content: str) -> None:
        first, *rest = cleaned(content).split("\r")
        super().characters(first)
        for text in rest:
            self.ignorableWhitespace("&#13;")
            super().characters(text)


class XmlItemExporter(exporters.XmlItemExporter):
    """XML; see `Generator`. Extensions are JSON text, because URIs of namespaces cannot name elements."""

    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(shown(file), **kwargs)
        self.xg = Generator(self.stream, encoding=self.encoding or "utf-8")

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        if name == EXTENSIONS and value is not None:
            return json.dumps(value, ensure_ascii=False)
        return super().serialize_field(field, name, value)


ARROW_KINDS = {
    **{name: column.kind for name, column in COLUMNS.items()},
    **dict.fromkeys(ALL_FIELDS, "text"),
    **dict.fromkeys(TIMES, "time"),
    **dict.fromkeys(("authors", "categories", FORMER_IDS), "list"),
    "enclosures": "enclosures",
}
NEEDS = f"Parquet requires pyarrow: {how_to_install('parquet', 'pyarrow')}"
MICROSECONDS = 6  # digits
# Limits of a row group, which is kept in memory: this many entries, or this many characters and one entry.
ROWS_AT_ONCE = 10_000
CHARACTERS_AT_ONCE = 16_000_000
OF_EACH = 50  # characters; the overhead of a string in Python


class ParquetItemExporter(exporters.BaseItemExporter):
    """Parquet, in row groups: a column for each field; lists and objects are nested types.

    Times have microseconds; other formats have all digits that the feed has. Extensions are JSON text. Fields
    that pipelines add are strings: their values in other entries may be of other types.

    :raises NotConfigured: if pyarrow is not installed, or if the file is not empty
    """

    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise NotConfigured(NEEDS) from error
        if file.seekable() and file.tell():
            raise NotConfigured("A Parquet file cannot be appended to; use -o with another file")
        self._file = file
        self._writer: parquet.ParquetWriter | None = None
        self._rows: list[dict[str, Any]] = []
        self._characters = 0

    def export_item(self, item: Any) -> None:
        fields = self.get_serialized_fields(item, default_value=None, include_empty=True)
        row = {name: _arrow_value(ARROW_KINDS.get(name, "text"), value) for name, value in fields}
        self._rows.append(row)
        self._characters += sum(map(_length, row.values()))
        if len(self._rows) >= ROWS_AT_ONCE or self._characters >= CHARACTERS_AT_ONCE:
            self._write()

    def finish_exporting(self) -> None:
        self._write()
        if self._writer is not None:
            self._writer.close()

    def _write(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        if self._writer is None:
            schema = _schema(list(self._rows[0]) if self._rows else list(self.fields_to_export or ()))
            # A file object of Python, since it may be a pipe, or a temporary file that is uploaded later.
            self._writer = parquet.ParquetWriter(self._file, schema, compression="zstd")
        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._writer.schema))
        self._rows.clear()
        self._characters = 0


def _arrow_value(kind: str, value: Any) -> Any:
    if kind == "time":
        return _time(value)
    is_same = kind not in ("text", "url") or value is None or isinstance(value, str)
    return value if is_same else json.dumps(value, ensure_ascii=False)


def _length(value: Any) -> int:
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        return sum(OF_EACH + _length(each) for each in value)
    return len(value) if isinstance(value, str) else 0


def _schema(names: list[str]) -> pa.Schema:
    import pyarrow as pa

    text = pa.string()
    # A length has up to 19 digits, which can exceed a signed 64-bit integer.
    enclosure = pa.struct([("url", text), ("type", text), ("length", pa.uint64())])
    types = {
        "list": pa.list_(text),
        "enclosures": pa.list_(enclosure),
        "time": pa.timestamp("us", tz="UTC"),
        "integer": pa.int64(),
        "seconds": pa.int64(),
        "boolean": pa.bool_(),
        "files": pa.list_(pa.struct([("url", text), ("type", text), ("language", text)])),
    }
    return pa.schema([(name, types.get(ARROW_KINDS.get(name, "text"), text)) for name in names])


# A pipeline may have replaced a time by something else.
def _time(value: Any) -> datetime | None:
    if not isinstance(value, str):
        return value if isinstance(value, datetime) else None
    seconds, _, fraction = value.removesuffix("Z").partition(".")
    try:
        return datetime.fromisoformat(f"{seconds}.{fraction[:MICROSECONDS]:0<{MICROSECONDS}}+00:00")
    except ValueError:
        return None
