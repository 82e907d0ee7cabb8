"""What depends on the versions of Scrapy and Twisted: differences between them, and private names."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

import scrapy
import twisted
from scrapy.core.downloader import Slot

from fhcrawl.exceptions import ArgumentError

if TYPE_CHECKING:
    from scrapy.core.engine import ExecutionEngine
    from scrapy.core.scheduler import BaseScheduler

# The attribute of a downloader's slot, also in DOWNLOAD_SLOTS, that makes delays exact.
EXACT_DELAY: dict[str, float] = {"jitter": 0.0} if hasattr(Slot, "jitter") else {"randomize_delay": False}

HTTP, UNLIMITED = "scrapy.core.downloader.handlers.http11", "addresses and sizes cannot be limited"
# All private names and undocumented attributes that fhcrawl uses, by their owner, and what is impossible
# without them.
PRIVATE = (
    ("scrapy.core.engine.ExecutionEngine", "_slot", "feeds cannot end"),
    ("scrapy.core.downloader.Downloader", "_wait_for_download", "requests to a host cannot be limited"),
    ("scrapy.core.scraper.Scraper", "_check_if_closing", "stored entries cannot be sent through pipelines"),
    ("scrapy.core.scheduler.Scheduler", "_dq _dqpush", "a crawl with a JOBDIR cannot continue"),
    ("scrapy.exporters.CsvItemExporter", "csv_writer", "an empty export cannot have a header"),
    ("scrapy.exporters.XmlItemExporter", "stream xg", "XML cannot be written"),
    (f"{HTTP}.HTTP11DownloadHandler", "_pool", UNLIMITED),
    (f"{HTTP}._LenientHTTP11ClientFactory", "_quiescentCallback", UNLIMITED),
    (f"{HTTP}._LenientHTTP11ClientProtocol", "_giveUp _parser", UNLIMITED),
    (f"{HTTP}._ResponseReader", "_bodybuf _finished _request", UNLIMITED),
    (f"{HTTP}._ScrapyAgent", "_headers_from_twisted_response", UNLIMITED),
    ("twisted.web.client.HTTPConnectionPool", "_factory _timeouts", UNLIMITED),
    ("twisted.web._newclient", "HEADER STATUS", UNLIMITED),
    ("argparse.ArgumentParser", "_action_groups _actions _option_string_actions", "options cannot be listed"),
)


def check_private_names() -> None:
    """:raises ArgumentError: if this version of Scrapy or Twisted lacks a private name"""
    for path, names, consequence in PRIVATE:
        for name in names.split():
            if not _has_name(path, name):
                versions = f"Scrapy {scrapy.__version__} and Twisted {twisted.__version__}"
                raise ArgumentError(f"With {versions}, {consequence}: {path}.{name} is missing")


def _has_name(path: str, name: str) -> bool:
    try:
        owner = resolve_name(path)
    except (ImportError, AttributeError):
        return False
    # The attributes that constructors set are among the names of their code.
    codes = [getattr(base.__init__, "__code__", None) for base in getattr(owner, "__mro__", ())]
    return hasattr(owner, name) or any(code is not None and name in code.co_names for code in codes)


def is_closing(engine: ExecutionEngine | None) -> bool:
    return engine is None or engine._slot is None or engine._slot.closing is not None


async def process_item(engine: ExecutionEngine | None, item: object) -> None:
    """Send an item through the item pipelines, without a response; Scrapy waits for it when it stops."""
    if engine is not None:
        await engine.scraper.start_itemproc_async(item, response=None)
        engine.scraper._check_if_closing()


def scheduler_of(engine: ExecutionEngine | None) -> BaseScheduler | None:
    """Return the scheduler, None before the spider has started; `engine.scheduler` is new in Scrapy 2.19."""
    return None if engine is None or engine._slot is None else engine._slot.scheduler
