"""What people write today: a loop of urllib, feedparser and a dict. Arguments: URL, output."""

import json
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import feedparser


def crawl(feed: str) -> dict[str, dict[str, Any]]:
    newest: dict[str, dict[str, Any]] = {}
    url: str | None = feed
    while url:
        with urlopen(url) as response:  # noqa: S310
            document = feedparser.parse(response.read())
        for entry in document.entries:
            item = fields(feed, url, document.feed, entry)
            before = newest.get(item["id"])
            if before is None or before["updated"] < item["updated"]:
                newest[item["id"]] = item
        url = next((link.href for link in document.feed.links if link.rel == "prev-archive"), None)
    return newest


def fields(feed: str, url: str, head: Any, entry: Any) -> dict[str, Any]:
    contents = entry.get("content") or [{}]
    return {
        "feed": feed,
        "id": entry.id,
        "title": entry.get("title"),
        "link": entry.get("link"),
        "published": entry.get("published"),
        "updated": entry.get("updated", ""),
        "authors": [author.get("name") for author in entry.get("authors", [])],
        "categories": [tag.get("term") for tag in entry.get("tags", [])],
        "summary": entry.get("summary"),
        "content": contents[0].get("value"),
        "content_type": contents[0].get("type"),
        "enclosures": entry.get("enclosures", []),
        "operation": None,
        "document": url,
        "document_updated": head.get("updated"),
    }


def main(feed: str, output: str) -> None:
    items = crawl(feed)
    with Path(output).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(item, ensure_ascii=False) + "\n" for item in items.values())


if __name__ == "__main__":
    main(*sys.argv[1:])
