"""Reads the post of a web page as an entry, with trafilatura."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin, urlsplit

from htmldate import find_date
from trafilatura import extract, extract_metadata
from trafilatura.utils import load_html
from w3lib.encoding import html_to_unicode

from fhcrawl.documents import Entry, FeedDocument
from fhcrawl.documents.dates import utc
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.logical_feed.listings import LONGEST_URL
from fhcrawl.reasons import ReasonKind

# Without guesses from the text.
DATES: dict[str, Any] = {"extensive_search": False, "outputformat": "%Y-%m-%dT%H:%M:%S%z"}
INCLUDED = ("include_formatting", "include_images", "include_links")
CONTENT: dict[str, Any] = {**dict.fromkeys(INCLUDED, True), "include_comments": False}


def read_page(body: bytes, url: str, content_type: str | None) -> FeedDocument:
    """Return a document with the entry of a page; with none if the page is no post: no title and no date.

    :raises NotAFeedError: if the page cannot be parsed
    """
    text, document = html_to_unicode(content_type, body)[1], FeedDocument("html")
    try:
        tree = load_html(text)
        if tree is None:
            return document
        canonical = _canonical(tree, url)
        found = extract_metadata(text, default_url=url, date_config={**DATES, "original_date": True})
        modified = find_date(text, original_date=False, **DATES)
        content = extract(text, url=url, output_format="html", **CONTENT)
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        raise NotAFeedError(ReasonKind.NOT_A_FEED, f"it cannot be read as a post: {error}") from error
    published, updated = utc(found.date or ""), utc(modified or "")
    if not (found.title or published):
        return document
    inner = (content or "").partition("<body>")[2].rpartition("</body>")[0].strip() or None
    entry = Entry(canonical, found.title or None, canonical, published, base=url)
    entry.updated = None if updated == published else updated
    entry.authors = [name for name in (found.author or "").split("; ") if name]
    entry.categories = [*dict.fromkeys([*(found.categories or ()), *(found.tags or ())])]
    entry.summary, entry.content, entry.content_type = found.description or None, inner, inner and "html"
    entry.title_type, entry.summary_type = entry.title and "text", entry.summary and "text"
    document.entries.append(entry)
    return document


# A page of another host is another page.
def _canonical(tree: Any, url: str) -> str:
    for link in tree.xpath('//link[@rel="canonical"]/@href | //meta[@property="og:url"]/@content'):
        canonical = urljoin(url, str(link).strip())
        if len(canonical) <= LONGEST_URL and urlsplit(canonical).hostname == urlsplit(url).hostname:
            return canonical
    return url
