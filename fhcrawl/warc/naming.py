"""The paths of WARC files: FHCRAWL_WARC, and the spider's argument `warc`."""

from __future__ import annotations

import importlib.util
import re
import zlib
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from fhcrawl.exceptions import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scrapy import Spider

SERIAL = re.compile(r"%\(serial\)")
ENDING = re.compile(r"(\.warc(?:\.gz)?)$")
READ = re.compile(r"\.w?arc(?:\.gz)?(?:\.open)?$")
# The beginning of a WARC file or an ARC file (whose first URL begins with filedesc:). Gzip data that cannot
# be decompressed is accepted, because damaged files are read up to the damage.
BEGINS = re.compile(rb"WARC/|[a-z]+:\S* \S+ \d{14} |filedesc:|\x1f\x8b", re.IGNORECASE)
LOOKED_AT = 4096
GZIP_ONLY = zlib.MAX_WBITS | 16
NEEDED = "needs warcio: run pip install '.[warc]' in the folder of fhcrawl's source"


def check_library(what: str) -> None:
    """Check that warcio is installed.

    :param what: the setting or argument that needs it
    :raises ArgumentError: if it is not
    """
    if importlib.util.find_spec("warcio") is None:
        raise ArgumentError(f"{what} {NEEDED}")


class Parameters(dict[str, Any]):
    """The values for placeholders of FHCRAWL_WARC: those of Scrapy's FEEDS, and `serial`.

    The spider's attributes are read only when needed, because some of them query the store.
    """

    def __init__(self, spider: Spider | type[Spider], more: Mapping[str, Any] | None = None) -> None:
        time = datetime.now(timezone.utc).replace(microsecond=0)
        super().__init__({**(more or {}), "time": time.isoformat().replace(":", "-"), "serial": 1})
        self._spider = spider

    def __missing__(self, name: str) -> Any:
        """Return an attribute of the spider."""
        try:
            return getattr(self._spider, name)
        except AttributeError as error:
            raise KeyError(name) from error


def template_of(path: str) -> str:
    """Return FHCRAWL_WARC with a placeholder for the serial number, which is added if there is none.

    :raises ArgumentError: if it does not end in .warc or .warc.gz
    """
    if not ENDING.search(path):
        raise ArgumentError(f"FHCRAWL_WARC is {path!r}: use a path that ends in .warc.gz, or in .warc")
    return path if SERIAL.search(path) else ENDING.sub(r"-%(serial)05d\1", path)


def check(path: str, named: Parameters) -> None:
    """Check FHCRAWL_WARC, and that warcio is installed.

    :param named: the values for its placeholders
    :raises ArgumentError: if it cannot be used
    """
    check_library("FHCRAWL_WARC")
    template = template_of(path)
    try:
        template % named
    except (KeyError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"FHCRAWL_WARC is {path!r}, which has an unknown placeholder ({error}): "
            f"use captures/%(name)s-%(time)s-%(serial)05d.warc.gz"
        ) from error


def files(argument: str, base: Path) -> list[str]:
    """Return the files of `-a warc`: paths of files and folders, separated by white space; or one path.

    :param base: base of relative paths
    :raises ArgumentError: if there are no files, or if a named file begins as neither WARC nor ARC files do
    """
    check_library("--warc")
    given = [argument] if (base / argument).exists() else argument.split()
    found = [str(file) for path in given for file in _files(base / path)]
    if not found:
        raise ArgumentError("--warc requires a file: use --warc captures.warc.gz, or a folder")
    return found


def _files(path: Path) -> list[Path]:
    if path.is_file():
        if not BEGINS.match(_begin(path)):
            raise ArgumentError(
                f"--warc: {path} is not a WARC or ARC file; use the path of one, or of a folder of them"
            )
        return [path]
    if not path.is_dir():
        raise ArgumentError(f"--warc: {path} does not exist; use the path of a WARC file, or a folder")
    return sorted(file for file in path.rglob("*") if READ.search(file.name) and file.is_file())


def _begin(path: Path) -> bytes:
    """Return the first octets of a file, decompressed if they are gzip."""
    try:
        with path.open("rb") as file:
            begin = file.read(LOOKED_AT)
    except OSError as error:
        raise ArgumentError(
            f"--warc: {path} cannot be read ({error.strerror}); use the path of a WARC file, or a folder"
        ) from error
    try:
        return zlib.decompressobj(GZIP_ONLY).decompress(begin, LOOKED_AT) or begin
    except zlib.error:
        return begin
