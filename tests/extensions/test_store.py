"""The extension that opens the store of a crawl."""

from pathlib import Path

import pytest
from scrapy.utils.test import get_crawler

from fhcrawl.exceptions import ArgumentError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.spiders.history import HistorySpider

pytestmark = pytest.mark.any_store("subscriptions are read")


# Without fhcrawl's command, nothing else refuses it.
def test_crawl_without_feeds_does_not_begin(tmp_path: Path) -> None:
    settings = {"FHCRAWL_STORE_URL": f"sqlite:///{tmp_path}/store.sqlite", "TWISTED_REACTOR_ENABLED": False}
    crawler = get_crawler(HistorySpider, {**settings, "ADDONS": {}})
    crawler.spider = HistorySpider.from_crawler(crawler)
    with pytest.raises(ArgumentError, match="No feed to crawl"):
        StoreExtension(crawler)
    crawler.spider = HistorySpider.from_crawler(crawler, feed="http://a.test/")
    StoreExtension(crawler).store.close()
