"""The columns of exports: which ones the settings choose, and the values of those that the store has not."""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import chain
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from fhcrawl.exceptions import ArgumentError
from fhcrawl.items import ALL_FIELDS, COMPUTED_FIELDS, EXTENSIONS, FORMER_IDS, OPTIONAL_FIELDS, ORIGINAL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from scrapy.settings import BaseSettings

FIELDS = "FHCRAWL_FIELDS"
PROFILES = "FHCRAWL_PROFILES"
EXTENSIONS_ENABLED = "FHCRAWL_EXTENSIONS_ENABLED"
ADDED_FIELDS = "FHCRAWL_ADDED_FIELDS"
KEEP_XML = "FHCRAWL_KEEP_XML_ENABLED"
PLUS = "+"
EMPTY: tuple[object, ...] = (None, "", [], {})


def chosen(fields: list[str] | dict[str, str], settings: BaseSettings) -> list[str] | dict[str, str]:
    """Return the columns of exports.

    :param fields: those of FEED_EXPORT_FIELDS; a dictionary has the headings of columns
    """
    given = settings.getlist(FIELDS)
    names = [name for name in given if not name.startswith(PLUS)] or list(fields)
    names += [name.removeprefix(PLUS) for name in given if name.startswith(PLUS)]
    names += [EXTENSIONS] if settings.getbool(EXTENSIONS_ENABLED) else []
    names += chain.from_iterable(_profiles(settings.getlist(PROFILES)).values())
    unique = list(dict.fromkeys(names))
    return {name: fields.get(name, name) for name in unique} if isinstance(fields, dict) else unique


def _profiles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    from fhcrawl.exporters import profiles

    return {name: profiles.PROFILES[name] for name in names if name in profiles.PROFILES}


def check(settings: BaseSettings) -> None:
    """Check the settings that choose columns.

    :raises ArgumentError: if one names a column or a profile that does not exist, or needs another setting
    """
    from fhcrawl.exporters import profiles

    names = [name.removeprefix(PLUS) for name in settings.getlist(FIELDS)]
    known = [*ALL_FIELDS, *COMPUTED_FIELDS, *profiles.COLUMNS, *settings.getlist(ADDED_FIELDS)]
    _check_names("field", names, known)
    _check_names("profile", settings.getlist(PROFILES), list(profiles.PROFILES))
    if settings.getbool(EXTENSIONS_ENABLED) and not settings.getbool(KEEP_XML):
        raise ArgumentError(f"{EXTENSIONS_ENABLED} requires the original entries; set {KEEP_XML}=1")


def _check_names(what: str, names: list[str], known: list[str]) -> None:
    for name in names:
        if name not in known:
            near = get_close_matches(name.lower(), known, 1, 0) or known
            raise ArgumentError(f"There is no {what} {name!r}; did you mean {near[0]!r}?")


def only(fields: list[str] | dict[str, str], names: Collection[str]) -> list[str] | dict[str, str]:
    """Return those of the columns that are named, in their order; a dictionary has their headings."""
    kept = [name for name in fields if name in names]
    return {name: fields[name] for name in kept} if isinstance(fields, dict) else kept


@contextmanager
def spooled(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[set[str], Iterator[dict[str, Any]]]]:
    """Read rows into a temporary file; give the names of the columns that one fills, and the rows."""
    filled: set[str] = set()
    count = 0
    with TemporaryFile() as file:
        for row in rows:
            count += 1
            filled.update(name for name, value in row.items() if value not in EMPTY)
            pickle.dump(row, file)
        file.seek(0)
        yield filled, (pickle.load(file) for _ in range(count))  # noqa: S301 - it was written above


class Rows:
    """Adds to the entries of the store the columns that exports have beside its fields.

    `need_details`: the entries of the store have to be read with details.

    :param names: the columns of all exports of the run
    :param profiles: names of profiles, whose columns replace fields of the same name
    """

    def __init__(self, names: Iterable[str], profiles: Iterable[str]) -> None:
        from fhcrawl.exporters.profiles import COLUMNS

        self._names = frozenset(names)
        of_profiles = {name: c for columns in _profiles(profiles).values() for name, c in columns.items()}
        others = {name: column for name, column in COLUMNS.items() if name not in ALL_FIELDS}
        self._columns = {name: c for name, c in (others | of_profiles).items() if name in self._names}
        self._replaced = frozenset(of_profiles)
        self.need_details = bool(self._columns) or not self._names.isdisjoint(
            (*OPTIONAL_FIELDS, *COMPUTED_FIELDS)
        )

    def complete(self, entries: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield entries with their columns.

        :param entries: as the store yields them
        """
        return map(self._completed, entries) if self.need_details else (dict(entry) for entry in entries)

    def _completed(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        from fhcrawl.documents import extensions
        from fhcrawl.exporters.profiles import Entry

        fields = dict(entry)
        original = fields.pop(ORIGINAL, None)
        tree = extensions.read(original)
        computed = {ORIGINAL: original, EXTENSIONS: tree, FORMER_IDS: fields.pop(FORMER_IDS, [])}
        read = Entry(fields, tree or {})
        # A pipeline of the user's may have added a field of such a name.
        others = {
            name: read.value(column)
            for name, column in self._columns.items()
            if name in self._replaced or name not in fields
        }
        unwanted = [name for name in OPTIONAL_FIELDS if name not in self._names]
        for name in unwanted:
            fields.pop(name, None)
        return fields | {name: value for name, value in computed.items() if name in self._names} | others
