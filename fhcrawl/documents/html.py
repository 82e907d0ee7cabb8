"""What an HTML page says of the feeds that belong to it."""

from __future__ import annotations

from lxml import etree, html

from fhcrawl.documents.xml import resolve

FEED_TYPES = frozenset(
    {
        "application/atom+xml",
        "application/rss+xml",
        "application/rdf+xml",
        "application/feed+json",
        "application/xml",
        "text/xml",
    }
)


# A page of links takes many times its size in memory; what names its feeds stands in its head.
LONGEST_HEAD = 1024**2


# HTML, 4.6.6.1 (link type 'alternate'): "If the keyword is used with the type attribute set to the value
# application/rss+xml or the value application/atom+xml, it indicates that the referenced document is a feed".
def feed_links(body: bytes, url: str) -> list[str]:
    """Absolute URLs of the feeds that a page names, in its order.

    :param url: where the page came from; relative references are resolved against its base element, or this
    """
    try:
        page = html.document_fromstring(body[:LONGEST_HEAD])
    except (etree.ParserError, ValueError):
        return []
    base = next((resolve(b.get("href", ""), url) for b in page.iter("base")), url)
    return [resolve(link.get("href", ""), base) for link in page.iter("link") if _is_feed(link)]


def _is_feed(link: html.HtmlElement) -> bool:
    media_type = (link.get("type") or "").partition(";")[0].strip().lower()
    relations = (link.get("rel") or "").lower().split()
    return "alternate" in relations and media_type in FEED_TYPES and bool((link.get("href") or "").strip())
