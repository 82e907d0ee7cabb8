"""The data directory, and the base of relative paths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_config_path, user_data_path

from fhcrawl.exceptions import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

# The settings that environment variables of the same name set, instead of a settings module.
ENVIRONMENT = ("FHCRAWL_DATA_DIR", "FHCRAWL_STORE_URL")
# Scrapyd passes the id of a job as an argument of the spider.
SCRAPYD_JOB = "_job"


def data_dir(settings: BaseSettings) -> Path:
    """Return FHCRAWL_DATA_DIR, else the project's .scrapy; outside projects, the user's data folder.

    The folder of fhcrawl's source does not count as a project.
    """
    from scrapy.exceptions import NotConfigured
    from scrapy.utils.project import project_data_dir

    configured = settings["FHCRAWL_DATA_DIR"]
    if configured:
        if not Path(configured).is_absolute():
            raise ArgumentError(
                f"FHCRAWL_DATA_DIR must be an absolute path such as /var/lib/fhcrawl, not {configured}"
            )
        return Path(configured)
    try:
        folder = Path(project_data_dir())
    except NotConfigured:
        return user_data_dir()
    return user_data_dir() if is_source(folder.parent) else folder


def is_source(folder: Path) -> bool:
    return (folder / "fhcrawl" / "__init__.py").exists()


def user_data_dir() -> Path:
    """`~/.local/share/fhcrawl` on Linux; the data directory outside of projects."""
    return user_data_path("fhcrawl", appauthor=False)


def user_config_file() -> Path:
    """`~/.config/fhcrawl/config.toml` on Linux."""
    return user_config_path("fhcrawl", appauthor=False) / "config.toml"


def data_file(settings: BaseSettings, name: str) -> Path:
    """Return a path in the data directory, which is created.

    :raises ArgumentError: if it cannot be created
    """
    folder = data_dir(settings)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(
            f"Cannot create the data directory {folder!s} ({error.strerror}); "
            "set FHCRAWL_DATA_DIR to another folder"
        ) from error
    return folder / name


def base_of(settings: BaseSettings, arguments: Mapping[str, object]) -> Path:
    """Return the base of relative paths: the working directory; on Scrapyd, the data directory."""
    return data_dir(settings) if SCRAPYD_JOB in arguments else Path()
