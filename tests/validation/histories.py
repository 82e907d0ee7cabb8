"""Histories without a fault, by URL, and a check of them without a network."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from scrapy import Request
from scrapy.http import Response
from scrapy.settings import Settings

from fhcrawl.crawling.context import context_of
from fhcrawl.logical_feed.results import DocumentFailure, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.spiders.check import MOST_PROBES, CheckSpider
from fhcrawl.validation import Chain, Finding, Summary

SITE = "https://example.org"
FEED = f"{SITE}/index"
TYPES = {b"<feed": "application/atom+xml", b"<rss": "application/rss+xml", b"{": "application/feed+json"}
NOW = "2004-01-01T00:00:00Z"

ATOM = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:fh="http://purl.org/syndication/history/1.0">
  <title>A Feed</title>
  <id>urn:feed</id>
  <updated>{updated}</updated>
{head}
{entries}
</feed>
"""
ENTRY = """  <entry>
    <id>urn:{number}</id>
    <title>Entry {number}</title>
    <link href="https://example.org/{number}"/>
    <updated>2003-12-{number:02}T12:00:00Z</updated>
    <summary>Text {number}.</summary>
  </entry>"""
RSS = """<?xml version="1.0"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"
     xmlns:fh="http://purl.org/syndication/history/1.0">
<channel>
  <title>A Feed</title><link>https://example.org/</link><description>A feed.</description>
  <lastBuildDate>{updated}</lastBuildDate>
{head}
{entries}
</channel>
</rss>
"""
ITEM = """  <item>
    <guid>https://example.org/{number}</guid>
    <title>Entry {number}</title>
    <pubDate>{number:02} Dec 2003 12:00:00 GMT</pubDate>
    <description>Text {number}.</description>
  </item>"""
JSON = """{"version": "https://jsonfeed.org/version/1.1", "title": "A Feed",
"feed_url": "https://example.org/index", "next_url": "https://example.org/2",
"items": [{"id": "1", "content_text": "Text 1.", "date_published": "2003-12-01T12:00:00Z"}]}
"""


@dataclass(frozen=True)
class Fetched:
    url: str
    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    redirects: tuple[int, ...] = ()
    is_cut: bool = False

    def response(self, request: Request) -> Response:
        """The response to a request, as Scrapy's middlewares pass it to a spider."""
        meta = {**request.meta, "redirect_reasons": list(self.redirects)}
        headers = {name: value for name, value in self.headers.items() if value}
        flags = ["dataloss"] * self.is_cut
        return Response(self.url, self.status, headers, self.body, flags, request.replace(meta=meta))


def _links(prefix: str = "", **links: str) -> str:
    names = {name.replace("_", "-"): path for name, path in links.items()}
    lines = (f'  <{prefix}link rel="{name}" href="{SITE}/{path}"/>' for name, path in names.items())
    return "\n".join(lines)


def atom(day: int, numbers: list[int], mark: str = "", **links: str) -> str:
    entries = "\n".join(ENTRY.format(number=number) for number in numbers)
    head = "\n".join(filter(None, [_links(**links), mark]))
    return ATOM.format(updated=f"2003-12-{day:02}T18:00:00Z", head=head, entries=entries)


def rss(day: int, numbers: list[int], mark: str = "", **links: str) -> str:
    entries = "\n".join(ITEM.format(number=number) for number in numbers)
    head = "\n".join(filter(None, [_links("atom:", **links), mark]))
    return RSS.format(updated=f"{day:02} Dec 2003 18:00:00 GMT", head=head, entries=entries)


ARCHIVE, COMPLETE = "  <fh:archive/>", "  <fh:complete/>"
ATOM_SET = {
    "index": atom(9, [9, 8, 7], self="index", prev_archive="2"),
    "2": atom(7, [7, 6, 5, 4], ARCHIVE, self="2", current="index", prev_archive="1"),
    "1": atom(4, [4, 3, 2, 1], ARCHIVE, self="1", current="index", next_archive="2"),
}
RSS_SET = {
    "index": rss(9, [9, 8, 7], prev_archive="2"),
    "2": rss(7, [7, 6, 5, 4], ARCHIVE, current="index", prev_archive="1"),
    "1": rss(4, [4, 3, 2, 1], ARCHIVE, current="index", next_archive="2"),
}
PAGES = {
    "index": atom(9, [9, 8, 7], self="index", next="2", last="1"),
    "2": atom(10, [6, 5, 4], self="2", first="index", previous="index", next="1", last="1"),
    "1": atom(9, [3, 2, 1], self="1", first="index", previous="2"),
}
WHOLE = {"index": atom(9, [9, 8], COMPLETE, self="index")}
JSON_PAGES = {"index": JSON, "2": JSON.replace("next_url", "home_page_url").replace("index", "2")}


def served(history: Mapping[str, str], headers: Mapping[str, str] | None = None) -> dict[str, Fetched]:
    """The responses of a server that does everything right, by URL."""
    return {
        f"{SITE}/{path}": response(f"{SITE}/{path}", text.encode(), headers) for path, text in history.items()
    }


def response(url: str, body: bytes, headers: Mapping[str, str] | None = None) -> Fetched:
    media_type = next((name for start, name in TYPES.items() if start in body[:200]), "text/html")
    usual = {
        "content-type": media_type,
        "etag": f'"{hashlib.sha256(body).hexdigest()[:8]}"',
        "cache-control": "max-age=31536000, immutable",
    }
    return Fetched(url, body, headers={**usual, **(headers or {})})


def check(
    responses: Mapping[str, Fetched | str], url: str = FEED, max_documents: int = 100
) -> tuple[list[Finding], Summary]:
    """Check a history; a response that is a text is the reason why there is none."""
    chain = Chain(url)
    spider = CheckSpider(chain, max_documents)
    spider.settings = Settings()
    wanted, requested = spider.take(None), 0
    while wanted:
        requested += 1
        answer = responses.get(context_of(wanted[0]).requested_url, "is missing (404)")
        if isinstance(answer, str):
            wanted = spider.take(DocumentFailure(State.FAILED, ReasonKind.DOWNLOAD_ERROR, answer))
            continue
        if "handle_httpstatus_list" in wanted[0].meta and answer.headers.get("x-forgets") is None:
            answer = replace(answer, status=304, body=b"")
        wanted = spider.parse(answer.response(wanted[0]))
    assert chain.is_finished
    assert requested <= len(chain.documents) + 1 + MOST_PROBES + 2
    return chain.finish()
