"""The config file, `config.toml`: settings outside of Scrapy projects, or those of `--config`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES, Settings, default_settings

from fhcrawl.core.addons import ENVIRONMENT
from fhcrawl.core.checks import OURS, PREFIXES, check_mistyped, check_settings
from fhcrawl.crawling.subscriptions import parse_toml
from fhcrawl.exceptions import ArgumentError, FhcrawlError
from fhcrawl.utils.datadir import data_dir
from fhcrawl.utils.text import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from scrapy.settings import BaseSettings

# After the project's and the spider's settings, before the command line.
PRIORITY = (SETTINGS_PRIORITIES["spider"] + SETTINGS_PRIORITIES["cmdline"]) // 2
EXAMPLE = "FHCRAWL_RECHECK = [30, 20]"
# Other components may have settings with similar names.
SIMILAR = 0.85
KINDS: tuple[tuple[type, Any, str], ...] = (
    (str, str, "text in quotes"),
    (list, (list, str), "a list"),
    (dict, dict, "a table"),
)


def read(settings: BaseSettings, path: Path, may_be_missing: bool = False) -> tuple[Path | None, str]:
    """Add the settings of a file to others, except those that environment variables set.

    :return: its path, None if it was not read; and why it cannot be used, '' if it can
    """
    try:
        values = _read(path)
    except ArgumentError as error:
        is_missing = isinstance(error.__cause__, FileNotFoundError)
        return None, "" if is_missing and may_be_missing else str(error)
    for name, value in values.items():
        if name not in ENVIRONMENT or not os.environ.get(name):
            settings.set(name, value, PRIORITY)
    return path, ""


def _read(path: Path) -> dict[str, Any]:
    try:
        given = parse_toml(path.read_bytes())
    except OSError as error:
        raise ArgumentError(f"Cannot read the config file {path} ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        said = f"{path} is not TOML ({error}); write one setting per line, such as {EXAMPLE}"
        raise ArgumentError(said) from error
    values = {name: _as_on_command_line(value) if name in OURS else value for name, value in given.items()}
    try:
        _check(values)
    except FhcrawlError as error:
        raise ArgumentError(f"{path}: {error}") from error
    return values


def fault_of(given: Iterable[str]) -> str:
    """Return a sentence about the first misspelt name in values of -s; '' if there is none."""
    for word in given:
        name = word.partition("=")[0].strip()
        if near := _misspelt(name):
            return f"There is no setting {name}; did you mean {near}?"
    return ""


def _misspelt(name: str) -> str:
    """Return the name that is meant; '' if there is such a setting, or no similar one."""
    known = [*filter(str.isupper, vars(default_settings)), *OURS]
    # The names of settings that other components may have cannot be checked.
    is_known = name in known or name.startswith(PREFIXES)
    return "" if is_known else nearest(name.upper(), known, SIMILAR) or ""


def _as_on_command_line(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _check(values: dict[str, Any]) -> None:
    check_mistyped(values)
    defaults = vars(default_settings)
    for name, value in values.items():
        near = _misspelt(name)
        if near or not name.isupper():
            instead = f"did you mean {near}?" if near else f"write {EXAMPLE}"
            raise ArgumentError(f"There is no setting {name}; {instead}")
        for kind, allowed, words in KINDS:
            if isinstance(defaults.get(name), kind) and not isinstance(value, allowed):
                raise ArgumentError(f"{name} must be {words}, not {value!r}")
    settings = Settings()
    settings.setmodule("fhcrawl.settings")
    settings.setdict(values, PRIORITY)
    check_settings(settings)
    if settings["FHCRAWL_DATA_DIR"]:
        data_dir(settings)
    if settings["FHCRAWL_STORE_URL"]:
        from fhcrawl.store import opening

        opening.parsed(settings["FHCRAWL_STORE_URL"])
