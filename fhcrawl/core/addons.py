"""Scrapy's add-ons of the project: what changes settings once the user's are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

# Components of Scrapy's that do nothing while their switch is off.
SWITCHED = {
    "COOKIES_ENABLED": ("DOWNLOADER_MIDDLEWARES", "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"),
    "HTTPCACHE_ENABLED": (
        "DOWNLOADER_MIDDLEWARES",
        "scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware",
    ),
    "REMOTE_CONTROL_ENABLED": ("EXTENSIONS", "scrapy.extensions.remote_control.RemoteControl"),
    "TELNETCONSOLE_ENABLED": ("EXTENSIONS", "scrapy.extensions.telnet.TelnetConsole"),
}
SECRETS = (
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "FTP_PASSWORD",
    "HTTPAUTH_PASS",
    "TELNETCONSOLE_PASSWORD",
)


class SwitchedOff:
    """Leaves out the components of Scrapy's that are switched off, so that nothing of them is loaded.

    Scrapy imports them to learn that they are off, also where they are set to None; what they import in turn
    (a web server, lists of domains, a shell) is a quarter of the time that an unchanged feed takes.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Leave them out."""
        for switch, (components, path) in SWITCHED.items():
            if not settings.getbool(switch):
                settings[f"{components}_BASE"].pop(path, None)


class Secret(str):
    """A string that is not shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Three stars."""
        return "'***'"


class Secrets:
    """Lets passwords be `Secret`, since Scrapy logs each setting that is not as by default."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Hide them."""
        for name in SECRETS:
            if settings.get(name):
                settings.set(name, Secret(settings[name]), settings.getpriority(name) or 0)
