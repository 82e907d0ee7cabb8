"""WARC files (ISO 28500:2017, WARC 1.1): writes responses to them, and reads old captures.

This module has their paths: FHCRAWL_WARC, and the spider's argument `warc`.
"""

from __future__ import annotations

import importlib.util
import re
import zlib
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from fhcrawl.exceptions import ArgumentError
from fhcrawl.utils.text import how_to_install

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
BEGIN_OCTETS = 4096
GZIP_ONLY = zlib.MAX_WBITS | 16


def _check_library(option: str) -> None:
    if importlib.util.find_spec("warcio") is None:
        raise ArgumentError(f"{option} requires warcio: {how_to_install('warc', 'warcio')}")


class Placeholders(dict[str, Any]):
    def __init__(self, spider: Spider | type[Spider], more: Mapping[str, Any] | None = None) -> None:
        time = datetime.now(timezone.utc).replace(microsecond=0)
        super().__init__({**(more or {}), "time": time.isoformat().replace(":", "-"), "serial": 1})
        self._spider = spider

    # Some of the spider's attributes query the store, so that they are read only when needed.
    def __missing__(self, name: str) -> Any:
        try:
            return getattr(self._spider, name)
        except AttributeError as error:
            raise KeyError(name) from error


def check_template(path: str, placeholders: Placeholders) -> str:
    """Check FHCRAWL_WARC; return it with the placeholder for the serial number, which is added if missing.

    :raises ArgumentError: if it cannot be used, or if warcio is not installed
    """
    _check_library("FHCRAWL_WARC")
    if not ENDING.search(path):
        raise ArgumentError(f"FHCRAWL_WARC is {path!r}: use a path that ends in .warc.gz, or in .warc")
    template = path if SERIAL.search(path) else ENDING.sub(r"-%(serial)05d\1", path)
    try:
        template % placeholders
    except (KeyError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"FHCRAWL_WARC is {path!r}, which has an unknown placeholder ({error}): "
            f"use captures/%(name)s-%(time)s-%(serial)05d.warc.gz"
        ) from error
    return template


def warc_files(argument: str, base: Path) -> list[str]:
    """Return the files of `-a warc`: paths of files and folders, separated by white space; or one path.

    :param base: base of relative paths
    :raises ArgumentError: if there are no files, or if a named file is neither a WARC file nor an ARC file
    """
    _check_library("--warc")
    paths = [argument] if (base / argument).exists() else argument.split()
    files = [str(file) for path in paths for file in _files(base / path)]
    if not files:
        raise ArgumentError("--warc requires a file: use --warc captures.warc.gz, or a folder")
    return files


def _files(path: Path) -> list[Path]:
    if path.is_file():
        if not BEGINS.match(_decompressed_begin(path)):
            raise ArgumentError(
                f"--warc: {path} is not a WARC or ARC file; use the path of one, or of a folder of them"
            )
        return [path]
    if not path.is_dir():
        raise ArgumentError(f"--warc: {path} does not exist; use the path of a WARC file, or a folder")
    return sorted(file for file in path.rglob("*") if READ.search(file.name) and file.is_file())


def _decompressed_begin(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            begin = file.read(BEGIN_OCTETS)
    except OSError as error:
        raise ArgumentError(
            f"--warc: {path} cannot be read ({error.strerror}); use the path of a WARC file, or a folder"
        ) from error
    try:
        return zlib.decompressobj(GZIP_ONLY).decompress(begin, BEGIN_OCTETS) or begin
    except zlib.error:
        return begin
