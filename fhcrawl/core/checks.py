"""Checks of settings, and the config file: settings outside of Scrapy projects, or those of `--config`."""

from __future__ import annotations

import os
import re
from logging import Logger
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, Settings, default_settings

from fhcrawl import settings as defaults
from fhcrawl.crawling.subscriptions import is_number, parse_toml, with_web_archive
from fhcrawl.exceptions import ArgumentError, FhcrawlError
from fhcrawl.exporters import rows
from fhcrawl.items import ALL_FIELDS, COMPUTED_FIELDS
from fhcrawl.logical_feed.polling import LONGEST
from fhcrawl.utils.datadir import ENVIRONMENT, data_dir
from fhcrawl.utils.text import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

SHORTEST_LEASE = 3
# The kernel's limits are 64-bit integers, to which more is added.
LONGEST_INTEGER = 2**62
PREFIXES = ("FHCRAWL_", "DELTAFETCH_")
OURS = [name for name in vars(defaults) if name.startswith(PREFIXES)]
# A setting of scrapy-deltafetch, for other spiders of a project.
OF_OTHERS = {"DELTAFETCH_DIR"}
LEASE = "FHCRAWL_LEASE_SECONDS"
BOUNDS = {
    "FHCRAWL_READER_MEMORY": LONGEST_INTEGER,
    "FHCRAWL_READER_TIMEOUT": LONGEST_INTEGER,
    "FHCRAWL_DUE_MIN_SECONDS": LONGEST,
    "FHCRAWL_DUE_MAX_SECONDS": LONGEST,
}
# Upper bounds of the numeric settings, which may be 0; None for no bound.
OUR_NUMBERS = {name: BOUNDS.get(name) for name in OURS if type(vars(defaults)[name]) is int and name != LEASE}
TABLE = "a table of tables with options"
# How Scrapy reads settings, by their names and the types of their defaults; the first match counts.
SHAPES: tuple[tuple[str, Callable[[BaseSettings, str], object], str], ...] = (
    ("LOG_LEVEL str", lambda s, n: Logger(n).setLevel(s[n]), "DEBUG, INFO, WARNING, ERROR or CRITICAL"),
    ("_CODES list", lambda s, n: [int(code) for code in s.getlist(n)], "a list of status codes"),
    ("^DOWNLOAD_SLOTS ", lambda s, n: [float(v) for t in s[n].values() for v in t.values()], TABLE),
    ("^FEEDS ", lambda s, n: [table.get("format", "").lower() for table in s[n].values()], TABLE),
    (" bool|^TELNETCONSOLE_ENABLED", BaseSettings.getbool, "1 or 0"),
    (r"^D\w+_(DELAY|TIMEOUT) | float", BaseSettings.getfloat, "a number >= 0"),
    (" int", BaseSettings.getint, "an integer >= 0"),
)
OUR_SWITCHES = [name for name, default in vars(defaults).items() if isinstance(default, bool)]
# Without a value, the store decides.
OPTIONAL_SWITCH = "FHCRAWL_KEEP_VERSIONS_ENABLED"


def check_settings(settings: BaseSettings) -> None:
    """:raises ArgumentError: if a setting of fhcrawl cannot be used"""
    from fhcrawl.downloadermiddlewares.guard import allowed_hosts
    from fhcrawl.spiders.stages.rechecks import recheck_budget
    from fhcrawl.store.leases import LONGEST as LONGEST_LEASE

    check_mistyped(settings)
    for name, limit in OUR_NUMBERS.items():
        if not is_number(given := str(settings.get(name))):
            raise ArgumentError(f"{name} must be a number (0 turns it off), not {given!r}")
        if limit is not None and settings.getint(name) > limit:
            raise ArgumentError(f"{name} must be at most {limit}, not {settings.get(name)}")
    lease = str(settings.get(LEASE))
    if not is_number(lease) or not SHORTEST_LEASE <= int(lease) <= LONGEST_LEASE:
        allowed = f"{SHORTEST_LEASE} to {LONGEST_LEASE}"
        raise ArgumentError(f"{LEASE} must be a number of seconds from {allowed}, not {lease!r}")
    for name in [*OUR_SWITCHES, *([] if settings[OPTIONAL_SWITCH] is None else [OPTIONAL_SWITCH])]:
        check_switch(settings, name)
    check_scrapys(settings)
    allowed_hosts(settings)
    with_web_archive({}, settings)
    recheck_budget(settings)
    check_added_fields(settings)
    rows.check(settings)
    has_password = settings.get("HTTPAUTH_USER") or settings.get("HTTPAUTH_PASS")
    if has_password and not settings.get("HTTPAUTH_DOMAIN"):
        raise ArgumentError("HTTPAUTH_DOMAIN is not set; set it to the host that may receive the password")
    if settings.getint("FHCRAWL_DUE_MIN_SECONDS") > settings.getint("FHCRAWL_DUE_MAX_SECONDS"):
        raise ArgumentError("FHCRAWL_DUE_MIN_SECONDS must not be greater than FHCRAWL_DUE_MAX_SECONDS")


def check_added_fields(settings: BaseSettings) -> None:
    names = settings.getlist("FHCRAWL_ADDED_FIELDS")
    for name in names:
        if name in (*ALL_FIELDS, *COMPUTED_FIELDS, *rows.COLUMNS) or names.count(name) > 1:
            raise ArgumentError(
                f"FHCRAWL_ADDED_FIELDS must contain each name only once, and no built-in field; "
                f"remove {str(name)!r}"
            )


def check_mistyped(settings: Iterable[str]) -> None:
    for name in settings:
        if name.startswith(PREFIXES) and name not in OURS and name not in OF_OTHERS:
            # The common prefix would make all names similar.
            prefix = name[: name.index("_") + 1]
            suffixes = [ours.removeprefix(prefix) for ours in OURS if ours.startswith(prefix)]
            near = nearest(name.removeprefix(prefix), suffixes)
            hint = (
                f"did you mean {prefix}{near}?" if near else "docs/reference/settings.md lists all settings"
            )
            raise ArgumentError(f"There is no setting {name}; {hint}")


def check_switch(settings: BaseSettings, name: str) -> None:
    """:raises ArgumentError: if the value is not a Boolean"""
    try:
        settings.getbool(name)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be 1 or 0, not {settings.get(name)!r}") from None


def check_scrapys(settings: BaseSettings) -> None:
    # With another reactor, a crawl ends without requests.
    needed, reactor = default_settings.TWISTED_REACTOR, settings["TWISTED_REACTOR"]
    if reactor != needed and settings.getbool("TWISTED_REACTOR_ENABLED"):
        raise ArgumentError(f"TWISTED_REACTOR must be {needed}, not {reactor!r}")
    check_shapes(settings)


def check_shapes(settings: BaseSettings) -> None:
    """:raises ArgumentError: if a value of Scrapy's settings, or the store's URL, has the wrong shape"""
    for name, default in vars(default_settings).items():
        kind = "" if settings[name] is None else f"{name} {type(default).__name__}"
        for read, words in [(read, words) for end, read, words in SHAPES if re.search(end, kind)][:1]:
            try:
                number = read(settings, name)
                is_wrong = isinstance(number, int | float) and not number >= 0 and "PRIORITY" not in name
            except (AttributeError, OverflowError, TypeError, ValueError):
                is_wrong = True
            if is_wrong:
                raise ArgumentError(f"{name} must be {words}, not {settings.copy_to_dict()[name]!r}")
    if url := settings.get("FHCRAWL_STORE_URL"):
        from fhcrawl.store import opening

        opening.lasting(url)


# Higher than the project's and the spider's settings, lower than the command line.
CONFIG_PRIORITY = (SETTINGS_PRIORITIES["spider"] + SETTINGS_PRIORITIES["cmdline"]) // 2
EXAMPLE = "FHCRAWL_RECHECK = [30, 20]"
# Other components may have settings with similar names.
SIMILAR = 0.85
KINDS: tuple[tuple[type, Any, str], ...] = (
    (str, str, "text in quotes"),
    (list, (list, str), "a list"),
    (dict, dict, "a table"),
)


def read_config(settings: BaseSettings, path: Path, may_be_missing: bool = False) -> Path | None:
    """Add the settings of a file to others, except those that environment variables set.

    :return: the path; None if there is no such file
    :raises ArgumentError: if the file cannot be used
    """
    try:
        table = parse_toml(path.read_bytes())
    except OSError as error:
        if may_be_missing and isinstance(error, FileNotFoundError):
            return None
        raise ArgumentError(f"Cannot read the config file {path} ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        message = f"{path} is not TOML ({error}); write one setting per line, such as {EXAMPLE}"
        raise ArgumentError(message) from error
    # As on the command line.
    joined = {
        name: ",".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in table.items()
    }
    values = {name: joined[name] if name in OURS else value for name, value in table.items()}
    try:
        _check_config(values)
    except FhcrawlError as error:
        raise ArgumentError(f"{path}: {error}") from error
    for name, value in values.items():
        if name not in ENVIRONMENT or not os.environ.get(name):
            settings.set(name, value, CONFIG_PRIORITY)
    return path


def check_assigned(assignments: Iterable[str], is_project: bool) -> None:
    """:raises ArgumentError: if a value of -s has the wrong type, or, outside of projects, a misspelt name"""
    for name, _equals, value in (assignment.partition("=") for assignment in assignments):
        # In a project, components of its own may have settings with similar names.
        if not is_project and (near := _misspelt(name.strip())):
            raise ArgumentError(f"There is no setting {name.strip()}; did you mean {near}?")
        try:
            Settings().set(name, value)
        except (AttributeError, TypeError, ValueError):
            raise ArgumentError(f"{name} must be a JSON object, not {value!r}") from None


def _misspelt(name: str) -> str:
    names = [*filter(str.isupper, vars(default_settings)), *OURS]
    # The names of settings that other components may have cannot be checked.
    is_known = name in names or name.startswith(PREFIXES)
    return "" if is_known else nearest(name.upper(), names, SIMILAR) or ""


def _check_config(values: dict[str, Any]) -> None:
    check_mistyped(values)
    defaults = vars(default_settings)
    for name, value in values.items():
        if (near := _misspelt(name)) or not name.isupper():
            instead = f"did you mean {near}?" if near else f"write {EXAMPLE}"
            raise ArgumentError(f"There is no setting {name}; {instead}")
        for kind, allowed, words in KINDS:
            if isinstance(defaults.get(name), kind) and not isinstance(value, allowed):
                raise ArgumentError(f"{name} must be {words}, not {value!r}")
    settings = Settings()
    settings.setmodule("fhcrawl.settings")
    settings.setdict(values, CONFIG_PRIORITY)
    check_settings(settings)
    if settings["FHCRAWL_DATA_DIR"]:
        data_dir(settings)
