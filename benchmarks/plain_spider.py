"""What somebody who knows Scrapy writes: entries to JSON lines, no store and no deduplication.

Arguments: `feed`, a URL; or `polls`, the path of a JSON object with the ETag of each URL.
"""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from lxml import etree
from lxml.etree import _Element
from scrapy import Request, Spider
from scrapy.http import Response

ATOM = "{http://www.w3.org/2005/Atom}"


class PlainSpider(Spider):
    name = "plain"
    handle_httpstatus_list = (304,)

    def __init__(self, feed: str = "", polls: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.feed = feed
        self.polls: dict[str, str] = json.loads(Path(polls).read_text()) if polls else {}

    async def start(self) -> AsyncIterator[Request]:
        if self.feed:
            yield Request(self.feed)
        for url, etag in self.polls.items():
            yield Request(url, headers={"If-None-Match": etag})

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request | dict[str, Any]]:
        if response.status == 304:
            return
        root = etree.fromstring(response.body)
        before = root.find(f"{ATOM}link[@rel='prev-archive']")
        if before is not None:
            yield response.follow(before.get("href", ""))
        updated = root.findtext(f"{ATOM}updated")
        for entry in root.iterchildren(f"{ATOM}entry"):
            yield {"feed": self.feed, **_fields(entry), "document": response.url, "document_updated": updated}


def _fields(entry: _Element) -> dict[str, Any]:
    content = entry.find(f"{ATOM}content")
    links = entry.findall(f"{ATOM}link")
    return {
        "id": entry.findtext(f"{ATOM}id"),
        "title": entry.findtext(f"{ATOM}title"),
        "link": next((link.get("href") for link in links if link.get("rel") == "alternate"), None),
        "published": entry.findtext(f"{ATOM}published"),
        "updated": entry.findtext(f"{ATOM}updated"),
        "authors": [name.text for name in entry.iterfind(f"{ATOM}author/{ATOM}name")],
        "categories": [category.get("term") for category in entry.iterfind(f"{ATOM}category")],
        "summary": entry.findtext(f"{ATOM}summary"),
        "content": None if content is None else content.text,
        "content_type": None if content is None else content.get("type"),
        "enclosures": [_enclosure(link) for link in links if link.get("rel") == "enclosure"],
        "operation": None,
    }


def _enclosure(link: _Element) -> dict[str, Any]:
    length = link.get("length")
    return {"url": link.get("href"), "type": link.get("type"), "length": int(length) if length else None}
