"""Keeps passwords out of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

SECRETS = (
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "FTP_PASSWORD",
    "HTTPAUTH_PASS",
    "TELNETCONSOLE_PASSWORD",
)


class Secret(str):
    """A string that is not shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Three stars."""
        return "'***'"


class SecretsExtension:
    """Scrapy logs each setting that is not as by default, passwords too: here they become `Secret`."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Before the settings are logged."""
        settings = crawler.settings
        for name in SECRETS:
            if settings.get(name):
                settings.set(name, Secret(settings[name]), settings.getpriority(name) or 0)
        return cls()
