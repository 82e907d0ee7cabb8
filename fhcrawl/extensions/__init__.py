"""The extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.exceptions import ArgumentError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self


class Component:
    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        """:raises ArgumentError: if the setting EXTENSIONS lacks the extension"""
        extension = crawler.get_extension(cls)
        if extension is None:
            path = f"{cls.__module__}.{cls.__name__}"
            raise ArgumentError(f"EXTENSIONS must contain {path}: ADDONS = {{'fhcrawl.Addon': 500}} adds it")
        return extension
