"""Changes of a crawl's settings, made by the add-on after the user's settings are loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

# Scrapy's components that do nothing while the setting is off.
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


# Scrapy imports components to learn that they are off, even where they are set to None. Their own imports (a
# web server, lists of domains, a shell) take a quarter of the time of a crawl of an unchanged feed.
def remove_disabled(settings: BaseSettings) -> None:
    """Remove the components that a setting switches off, so that Scrapy does not import them."""
    for switch, (components, path) in SWITCHED.items():
        if not settings.getbool(switch):
            settings[f"{components}_BASE"].pop(path, None)


class Secret(str):
    """A string whose repr is masked."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return '***' in quotes."""
        return "'***'"


def mask_secrets(settings: BaseSettings) -> None:
    """Wrap passwords in `Secret`, because Scrapy logs each setting that differs from its default."""
    for name in SECRETS:
        if settings.get(name):
            settings.set(name, Secret(settings[name]), settings.getpriority(name) or 0)
