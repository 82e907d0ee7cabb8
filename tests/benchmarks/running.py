"""How the benchmarks run crawls, and what they look for in what a crawl leaves."""

import argparse
import importlib.metadata
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.measuring import LOG, ROOT

HERE = Path(__file__).parent
OUTPUT = "out.jsonl"
STORE = ".scrapy/fhcrawl.sqlite"
FEEDS = "feeds.txt"
# As fhcrawl has them; everything else is Scrapy's default.
PLAIN_SETTINGS = {"LOG_LEVEL": "INFO", "ROBOTSTXT_OBEY": True, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}


def conditions(rounds: int) -> str:
    """Where and with what a benchmark runs; the load is that of everybody."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("Scrapy", "lxml"))
    return (
        f"{rounds} rounds; Python {platform.python_version()}, {versions}, {os.cpu_count()} CPUs, "
        f"load {os.getloadavg()[0]:.1f}"
    )


def arguments(description: str | None, **given: tuple[float, str]) -> argparse.ArgumentParser:
    """A parser of options that are numbers: their default values, and what they are."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, (default, what) in given.items():
        parser.add_argument(
            f"--{name}", type=type(default), default=default, help=f"{what} (default: {default})"
        )
    return parser


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that is there for a time."""
    with tempfile.TemporaryDirectory(prefix="fhcrawl-benchmark-") as name:
        yield Path(name)


@contextmanager
def project() -> Iterator[Path]:
    """The same, where fhcrawl's commands work."""
    with folder() as path:
        shutil.copy(ROOT / "scrapy.cfg", path)
        yield path


def command(*words: str) -> list[str]:
    """A command of fhcrawl's."""
    return ["-m", "scrapy", *words]


def fhcrawl(feed: str, settings: Mapping[str, object] | None = None) -> list[str]:
    """The command that crawls a feed."""
    return command("crawl", "history", "-a", f"feed={feed}", "-o", OUTPUT, *_given(settings or {}))


def fhcrawl_list(urls: list[str], project: Path, settings: Mapping[str, object] | None = None) -> list[str]:
    """The command that crawls feeds, whose list it writes into the project's folder."""
    (project / FEEDS).write_text("\n".join(urls))
    return command("crawl", "history", "-a", f"feeds={FEEDS}", "-o", OUTPUT, *_given(settings or {}))


def plain(spider: str, *arguments: str) -> list[str]:
    """The command that runs a plain Scrapy spider of this folder."""
    given = [part for argument in arguments for part in ("-a", argument)]
    return ["-m", "scrapy", "runspider", str(HERE / spider), *given, *_given(PLAIN_SETTINGS)]


def _given(settings: Mapping[str, object]) -> list[str]:
    return [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]


def lines(folder: Path) -> int:
    """How many lines the export in a folder has."""
    path = folder / OUTPUT
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(1 for _ in file)


def stat(folder: Path, name: str) -> int:
    """A number among the stats that the last run in a folder has logged; 0 if it is not there."""
    found = re.search(rf"'{name}': (\d+)", (folder / LOG).read_text(errors="replace"))
    return int(found[1]) if found else 0


def expect_stat(what: str, folder: Path, name: str, number: int) -> None:
    """Look for a number among the stats that the last run in a folder has logged.

    :raises SystemExit: if it is not there
    """
    if stat(folder, name) != number:
        raise SystemExit(f"{what}: its log does not say that {name} is {number}")


def expect_lines(what: str, folder: Path, number: int) -> None:
    """Count the lines of the export in a folder.

    :raises SystemExit: if they are not so many
    """
    if (found := lines(folder)) != number:
        raise SystemExit(f"{what}: {found} entries instead of {number}")
