"""The extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from fhcrawl.exceptions import ArgumentError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

Extension = TypeVar("Extension")


def required(crawler: Crawler, extension: type[Extension]) -> Extension:
    """Return an extension of a crawl that other components need.

    :raises ArgumentError: if the setting EXTENSIONS leaves it out
    """
    found = crawler.get_extension(extension)
    if found is None:
        path = f"{extension.__module__}.{extension.__name__}"
        raise ArgumentError(f"EXTENSIONS has to hold {path}: ADDONS = {{'fhcrawl.Addon': 500}} adds it")
    return found
