"""What somebody who knows Scrapy writes: entries to JSON lines, no store and no deduplication."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from lxml import etree
from lxml.etree import _Element
from scrapy import Request, Spider
from scrapy.http import Response

ATOM = "{http://www.w3.org/2005/Atom}"


class PlainSpider(Spider):
    name = "plain"

    def __init__(self, feed: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.feed = feed

    async def start(self) -> AsyncIterator[Request]:
        yield Request(self.feed)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request | dict[str, Any]]:
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
