"""The components of fhcrawl's crawls, and what a user may change about them."""

from __future__ import annotations

from inspect import isclass
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name
from scrapy.utils.reactor import install_reactor, is_reactor_installed

from fhcrawl.exceptions import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy.settings import BaseSettings

PRIORITY = "addon"
# None disables a component of Scrapy; most are replaced by the component above them.
COMPONENTS: dict[str, dict[str, int | None]] = {
    "DOWNLOADER_MIDDLEWARES": {
        # Before the guard, so that refused documents of a list count too.
        "fhcrawl.downloadermiddlewares.limits.LimitsMiddleware": 54,
        "fhcrawl.downloadermiddlewares.guard.GuardMiddleware": 55,
        # Also before middlewares that return responses; it processes responses after decompression.
        "fhcrawl.downloadermiddlewares.limits.OctetsMiddleware": 61,
        # Scrapy's middleware would allow everything if robots.txt is unreachable.
        "fhcrawl.downloadermiddlewares.politeness.RobotsTxtMiddleware": 100,
        "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
        # Next to RetryMiddleware, between the engine and HttpCompressionMiddleware.
        "fhcrawl.downloadermiddlewares.responses.CutOffMiddleware": 555,
        # After decompression, and before RetryMiddleware sees the response.
        "fhcrawl.downloadermiddlewares.responses.NoPageMiddleware": 565,
        # Scrapy's middleware would return a part of a truncated compressed body.
        "fhcrawl.downloadermiddlewares.responses.HttpCompressionMiddleware": 590,
        "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
        # After RobotsTxtMiddleware, whose signal it handles, and before RetryMiddleware sees the response.
        "fhcrawl.downloadermiddlewares.politeness.PolitenessMiddleware": 560,
        # Scrapy's middleware would send the headers of a feed to another host.
        "fhcrawl.downloadermiddlewares.responses.RedirectMiddleware": 600,
        "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
        # Before RedirectMiddleware: a captured redirect or error is not the archive's own response.
        "fhcrawl.downloadermiddlewares.responses.MementosMiddleware": 605,
        # After RedirectMiddleware, which copies header fields.
        "fhcrawl.downloadermiddlewares.responses.ValidatorsMiddleware": 610,
    },
    "SPIDER_MIDDLEWARES": {
        # Scrapy's middleware would accept a part of a document (206, 226) as a complete one.
        "fhcrawl.spidermiddlewares.commit.HttpErrorMiddleware": 50,
        "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,
        # Nearer to the engine than any middleware that changes entries: it gets what the pipelines get.
        "fhcrawl.spidermiddlewares.commit.CommitMiddleware": 60,
        "fhcrawl.spidermiddlewares.deltafetch.DeltaFetch": 100,
        # The depth of a chain is not limited, and the spider does not copy meta.
        "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
        "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,
    },
    "ITEM_PIPELINES": {
        "fhcrawl.pipelines.DuplicatesPipeline": 100,
    },
    "EXTENSIONS": {
        "fhcrawl.extensions.store.StoreExtension": -100,
        "fhcrawl.extensions.reader.ReaderExtension": 0,
        "fhcrawl.extensions.warc.WarcExtension": 0,
        # Before the extensions that write to the terminal at the end.
        "fhcrawl.extensions.progress.ProgressExtension": -50,
        # ProgressExtension logs feeds, documents and entries.
        "scrapy.extensions.logstats.LogStats": None,
        "fhcrawl.extensions.verdicts.VerdictsExtension": 0,
        # Scrapy's extension exports each item at once, and can leave an incomplete file.
        "fhcrawl.extensions.feedexport.FeedExporter": 0,
        "scrapy.extensions.feedexport.FeedExporter": None,
        "fhcrawl.extensions.feedexport.ItemExporter": 0,
    },
}
HANDLERS = "DOWNLOAD_HANDLERS"
DOWNLOAD_HANDLERS = {
    # HTTP11DownloadHandler connects to any address that a name resolves to.
    "http": "fhcrawl.downloadhandlers.GuardedDownloadHandler",
    "https": "fhcrawl.downloadhandlers.GuardedDownloadHandler",
    # FileDownloadHandler does not support folders.
    "file": "fhcrawl.downloadhandlers.FolderDownloadHandler",
}
# Components that cannot be disabled, with the reason.
ESSENTIAL = {
    "fhcrawl.downloadermiddlewares.guard.GuardMiddleware": "links could lead to any address",
    "fhcrawl.downloadermiddlewares.responses.MementosMiddleware": (
        "captures from web archives would be treated as current documents"
    ),
    "fhcrawl.downloadermiddlewares.responses.HttpCompressionMiddleware": (
        "compressed documents could not be read"
    ),
    "fhcrawl.downloadermiddlewares.responses.RedirectMiddleware": "redirects would not be followed",
    "fhcrawl.spidermiddlewares.commit.HttpErrorMiddleware": "error pages would be read as documents",
    "fhcrawl.spidermiddlewares.commit.CommitMiddleware": "nothing would be stored",
    "fhcrawl.spidermiddlewares.deltafetch.DeltaFetch": (
        "chains would not be tracked (to fetch every document again, set DELTAFETCH_ENABLED=0)"
    ),
    "fhcrawl.pipelines.DuplicatesPipeline": "old versions of entries would replace new ones",
    "fhcrawl.extensions.store.StoreExtension": "nothing would be stored",
    "fhcrawl.extensions.reader.ReaderExtension": "documents would not be parsed",
    "fhcrawl.extensions.verdicts.VerdictsExtension": "feeds would have no verdict",
    "fhcrawl.extensions.feedexport.FeedExporter": "-o and FEEDS would receive no entries",
    "fhcrawl.extensions.feedexport.ItemExporter": "FEEDS would receive no other items of the spider",
}


def add_components(settings: BaseSettings) -> None:
    """Add fhcrawl's components, except those that the user's dictionaries have, or have a subclass of."""
    for name, components in COMPONENTS.items():
        configured = settings[name]
        custom = {key: order for key, order in configured.items() if key not in components}
        if custom:
            _prepare_imports(settings)
        loaded = [(_load(name, key), order) for key, order in custom.items()]
        missing = {
            path: order
            for path, order in components.items()
            if path not in configured and not (loaded and _is_replaced(load_object(path), order, loaded))
        }
        configured.update(missing, PRIORITY)
    merge(settings[HANDLERS], DOWNLOAD_HANDLERS)


# Scrapy does this a moment later. A module of the user's may import the reactor, which would install another
# one than the crawl's.
def _prepare_imports(settings: BaseSettings) -> None:
    is_needed = settings.getbool("TWISTED_REACTOR_ENABLED") and settings["TWISTED_REACTOR"]
    if is_needed and not is_reactor_installed():
        install_reactor(settings["TWISTED_REACTOR"], settings["ASYNCIO_EVENT_LOOP"])


def _load(name: str, key: Any) -> Any:
    try:
        return load_object(key)
    except Exception as error:  # code of the user's
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        raise ArgumentError(f"Cannot load {key!s} in {name} ({cause})") from error


# Replaced by the class itself, or by an enabled subclass.
def _is_replaced(component: type, order: int | None, custom: Iterable[tuple[Any, Any]]) -> bool:
    return any(
        configured is component
        or (order is not None and its_order is not None and _is_subclass(configured, component))
        for configured, its_order in custom
    )


def _is_subclass(component: object, base: type) -> bool:
    return isclass(component) and issubclass(component, base)


def check_components(settings: BaseSettings) -> None:
    """:raises ArgumentError: if a crawl lacks a component that it needs"""
    for name, components in COMPONENTS.items():
        if dict(settings[name]) == components:
            continue
        enabled = [_load(name, key) for key, order in settings[name].items() if order is not None]
        for path, reason in ESSENTIAL.items():
            if path in components and not any(
                _is_subclass(component, load_object(path)) for component in enabled
            ):
                raise ArgumentError(f"{name} must contain {path}; without it, {reason}")
    for scheme, path in DOWNLOAD_HANDLERS.items():
        configured = settings.getwithbase(HANDLERS)[scheme]
        if configured not in (None, path) and not _is_subclass(
            _load(HANDLERS, configured), load_object(path)
        ):
            shown = global_object_name(configured) if isclass(configured) else str(configured)
            raise ArgumentError(
                f"{HANDLERS} has {shown} for {scheme}; remove it, or make it a subclass of {path}"
            )


def merge(settings: BaseSettings, values: Mapping[str, Any]) -> None:
    """Add values to a dictionary setting; values of the user have precedence."""
    settings.update({key: value for key, value in values.items() if key not in settings}, PRIORITY)


# The components that need a store, or serve one; all extensions and pipelines do.
WITHOUT = {
    "DOWNLOADER_MIDDLEWARES": ("fhcrawl.downloadermiddlewares.limits.DiskMiddleware",),
    "SPIDER_MIDDLEWARES": (
        "fhcrawl.spidermiddlewares.commit.CommitMiddleware",
        "fhcrawl.spidermiddlewares.deltafetch.DeltaFetch",
    ),
    "ITEM_PIPELINES": tuple(COMPONENTS["ITEM_PIPELINES"]),
    "EXTENSIONS": tuple(path for path, order in COMPONENTS["EXTENSIONS"].items() if order is not None),
}
REPLACED = {
    # Sequential requests cannot exceed a limit; fhcrawl's classes need the store.
    "DOWNLOADER": "scrapy.core.downloader.Downloader",
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "ITEM_PROCESSOR": "scrapy.pipelines.ItemPipelineManager",
}


def remove_store(settings: BaseSettings) -> None:
    """Remove the store, and the components that use it, from the settings of a crawl."""
    for name, paths in WITHOUT.items():
        for path in paths:
            settings[name].set(path, None, "cmdline")
    for name, path in REPLACED.items():
        settings.set(name, path, "cmdline")
    settings.set("FEEDS", {}, "cmdline")
