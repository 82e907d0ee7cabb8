"""Exports the items of a spider's own, which are no entries of feeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured
from scrapy.extensions import feedexport

from fhcrawl.exporters.storages import FileFeedStorage, takes_entries

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class ItemExporter(feedexport.FeedExporter):
    """Exports items as Scrapy does, each at once, to the places of FEEDS whose `item_classes` are no entries.

    `fhcrawl.extensions.feedexport.FeedExporter` exports entries, to all other places.
    """

    def __init__(self, crawler: Crawler) -> None:
        if all(map(takes_entries, crawler.settings.getdict("FEEDS").values())):
            raise NotConfigured
        super().__init__(crawler)
        of_entries = self.settings.getdictorlist("FEED_EXPORT_FIELDS")
        self.feeds = {
            # FEED_EXPORT_FIELDS are the fields of entries; `fields` of a place are its own.
            uri: {**options, "fields": None if options["fields"] == of_entries else options["fields"]}
            for uri, options in self.feeds.items()
            if not takes_entries(options)
        }
        self.storages = {
            scheme: feedexport.FileFeedStorage if storage is FileFeedStorage else storage
            for scheme, storage in self.storages.items()
        }
