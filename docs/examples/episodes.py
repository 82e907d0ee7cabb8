"""Downloads the enclosures of exported entries: `scrapy runspider episodes.py -a entries=podcast.jsonl`."""

import json
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from scrapy import Spider
from scrapy.pipelines.files import FilesPipeline


class EpisodesPipeline(FilesPipeline):
    """Scrapy's pipeline, with names that people can read: `2003-02-01-1.mp3`."""

    def file_path(self, request, response=None, info=None, *, item=None):
        """Return the path of a file below FILES_STORE."""
        name = PurePosixPath(unquote(urlsplit(request.url).path)).name or "episode"
        return f"{(item['published'] or 'undated')[:10]}-{name}"


class EpisodesSpider(Spider):
    """Yields an item for each entry with enclosures; the pipeline downloads them."""

    name = "episodes"
    custom_settings = {
        "ITEM_PIPELINES": {EpisodesPipeline: 1},
        "FILES_STORE": "episodes",
        "FILES_EXPIRES": 10_000,  # days after which a file that is there is downloaded again
        "MEDIA_ALLOW_REDIRECTS": True,
        "DOWNLOAD_MAXSIZE": 0,
        "DOWNLOAD_WARNSIZE": 0,
        "DOWNLOAD_DELAY": 1,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "CONCURRENT_ITEMS": 1,  # so that Ctrl-C waits for a few files only
        "ROBOTSTXT_OBEY": True,
        "LOG_LEVEL": "WARNING",
    }

    def __init__(self, entries, **arguments):
        """Begin with the export of a crawl, a file of this machine."""
        super().__init__(**arguments)
        self.start_urls = [Path(entries).absolute().as_uri()]

    def parse(self, response):
        """Yield the entries with enclosures, until the spider is stopped."""
        for line in response.body.splitlines():
            if not self.crawler.crawling:
                return
            entry = json.loads(line)
            if entry["enclosures"]:
                urls = [enclosure["url"] for enclosure in entry["enclosures"]]
                yield {**entry, "file_urls": urls}
