"""The Scrapy add-on: ADDONS = {"fhcrawl.Addon": 500} lets a project run `history` and its subclasses."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from scrapy.settings import BaseSettings, default_settings
from scrapy.utils.misc import load_object

from fhcrawl import settings as ours
from fhcrawl.core.components import PRIORITY, add_components, check_components, merge, remove_store
from fhcrawl.utils.datadir import ENVIRONMENT

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self


PREFIX = "FHCRAWL_"
PACKAGE = "fhcrawl."
CLUSTER = "fhcrawl.cluster"
EXPORTED = "FEED_EXPORT_FIELDS"
# Settings that name a project and its modules, or that are read before add-ons change them.
OF_A_PROJECT = ("ADDONS", "BOT_NAME", "COMMANDS_MODULE", "NEWSPIDER_MODULE", "SPIDER_MODULES")
OURS = {name: value for name, value in vars(ours).items() if name.isupper() and name not in OF_A_PROJECT}
# The settings that are dictionaries by format or place, to which projects add their own.
MERGED = frozenset(name for name in OURS if hasattr(default_settings, f"{name}_BASE"))
# Scrapy's components that do nothing while the setting is off.
MIDDLEWARES = "DOWNLOADER_MIDDLEWARES"
SWITCHED = {
    "COOKIES_ENABLED": (MIDDLEWARES, "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"),
    "HTTPCACHE_ENABLED": (MIDDLEWARES, "scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware"),
    "REMOTE_CONTROL_ENABLED": ("EXTENSIONS", "scrapy.extensions.remote_control.RemoteControl"),
    "TELNETCONSOLE_ENABLED": ("EXTENSIONS", "scrapy.extensions.telnet.TelnetConsole"),
}
SECRETS = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "FTP_PASSWORD",
    "HTTPAUTH_PASS",
    "TELNETCONSOLE_PASSWORD",
]


class Addon:
    """Gives fhcrawl's settings to the crawls of `HistorySpider` and its subclasses, to checks and downloads.

    They have the priority of add-ons: what the project, the spider or the command line sets wins.
    """

    def __init__(self, is_of_history: bool, is_check: bool) -> None:
        self._is_of_history, self._is_check = is_of_history, is_check

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        from fhcrawl.spiders.check import CheckSpider
        from fhcrawl.spiders.enclosures import EnclosuresSpider
        from fhcrawl.spiders.history import HistorySpider

        is_check = issubclass(crawler.spidercls, (CheckSpider, EnclosuresSpider))
        return cls(is_check or issubclass(crawler.spidercls, HistorySpider), is_check)

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        # The spider of a cluster has the same name.
        if CLUSTER not in settings.getlist("SPIDER_MODULES"):
            for module in ours.SPIDER_MODULES:
                settings.add_to_list("SPIDER_MODULES", module)
        for name, value in OURS.items():
            if name.startswith(PREFIX):
                settings.set(name, value, PRIORITY)
        # Scrapy's commands check the formats before there is a crawl, for any spider.
        base = settings["FEED_EXPORTERS_BASE"]
        formats = {name: path for name, path in ours.FEED_EXPORTERS.items() if name not in base}
        merge(settings["FEED_EXPORTERS"], formats)

    def update_settings(self, settings: BaseSettings) -> None:
        if self._is_of_history:
            from fhcrawl.core.checks import check_settings

            add_settings(settings)
            add_components(settings)
            check_settings(settings)
            if self._is_check:
                check_components(settings)
                remove_store(settings)
            _remove_disabled(settings)
            _mask_secrets(settings)
        elif settings["ITEM_PROCESSOR"] == ours.ITEM_PROCESSOR:
            _remove_components(settings)


def add_settings(settings: BaseSettings) -> None:
    """Add the settings of `fhcrawl.settings`, except those that a project or a user has set."""
    add_environment(settings)
    for name, value in OURS.items():
        if name in MERGED:
            merge(settings[name], value)
        else:
            settings.set(name, value, PRIORITY)
    from fhcrawl.exporters import rows

    fields = settings.getdictorlist(EXPORTED)
    if settings[EXPORTED] == ours.FEED_EXPORT_FIELDS:
        fields = [*ours.FEED_EXPORT_FIELDS, *settings.getlist(rows.ADDED_FIELDS)]
    if chosen := rows.chosen(fields, settings):
        settings.set(EXPORTED, chosen, settings.getpriority(EXPORTED) or PRIORITY)


def add_environment(settings: BaseSettings) -> None:
    for name in ENVIRONMENT:
        if value := os.environ.get(name):
            settings.set(name, value, "project")


def has_addon(settings: BaseSettings) -> bool:
    addons = settings.getdict("ADDONS").items()
    return Addon in (load_object(addon) for addon, order in addons if order is not None)


def is_missing(settings: BaseSettings) -> bool:
    return settings["ITEM_PROCESSOR"] != ours.ITEM_PROCESSOR and not has_addon(settings)


# A project whose settings module is made of `fhcrawl.settings` gives them to each of its spiders: replace
# fhcrawl's components by Scrapy's own, and export all fields of items.
def _remove_components(settings: BaseSettings) -> None:
    for name in list(settings):
        value = settings[name]
        if isinstance(value, BaseSettings):
            for key in [key for key in value if _is_path_of_fhcrawl(key) or _is_path_of_fhcrawl(value[key])]:
                del value[key]
        elif _is_path_of_fhcrawl(value) or (name == EXPORTED and value == ours.FEED_EXPORT_FIELDS):
            default = getattr(default_settings, name, None)
            settings.set(name, default, settings.getpriority(name) or 0)


def _is_path_of_fhcrawl(value: object) -> bool:
    return isinstance(value, str) and value.startswith(PACKAGE)


# Scrapy imports components to learn that they are off, even where they are set to None. Their own imports (a
# web server, lists of domains, a shell) take a quarter of the time of a crawl of an unchanged feed.
def _remove_disabled(settings: BaseSettings) -> None:
    for switch, (components, path) in SWITCHED.items():
        if not settings.getbool(switch):
            settings[f"{components}_BASE"].pop(path, None)


class Secret(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


# Scrapy logs each setting that differs from its default.
def _mask_secrets(settings: BaseSettings) -> None:
    for name in SECRETS:
        if settings.get(name):
            settings.set(name, Secret(settings[name]), settings.getpriority(name) or 0)
