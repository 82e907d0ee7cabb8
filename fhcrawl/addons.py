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
