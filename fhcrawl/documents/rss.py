"""RSS 2.0 with RFC 5005's extensions (appendix B)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from fhcrawl.documents import xml
from fhcrawl.documents.atom import enclosure
from fhcrawl.documents.dates import utc
from fhcrawl.documents.model import Entry, FeedDocument, Problem
from fhcrawl.documents.xml import ATOM, FH

if TYPE_CHECKING:
    from lxml.etree import _Element

ROOT = "rss"
CONTENT = "{http://purl.org/rss/1.0/modules/content/}"
DC = "{http://purl.org/dc/elements/1.1/}"
DCTERMS = "{http://purl.org/dc/terms/}"


def read(parsed: xml.Parsed, url: str) -> FeedDocument:
    """Read an rss element; one without a channel is an empty feed that is not whole."""
    rss = parsed.root
    channel = rss.find("channel")
    fault = parsed.fault
    if channel is None:
        channel = etree.Element("channel")
        fault = fault or "it has no <channel>"
    base = xml.base_of(channel, xml.base_of(rss, url))
    problems: list[Problem] = []
    title = channel.find("title")
    return FeedDocument(
        format="rss",
        title=None if title is None else xml.line(title),
        updated=_update_time(channel),
        links=xml.head_links(channel.iterchildren(f"{ATOM}link"), base),
        archive=channel.find(f"{FH}archive") is not None,
        complete=channel.find(f"{FH}complete") is not None,
        entries=[
            read_item(item, base, problems, number)
            for number, item in enumerate(channel.iterchildren("item"), 1)
        ],
        problems=problems,
        fault=fault,
    )


# RFC 5005, B: "the feed-level update time can be determined by the lastBuildDate element, if
# present"; draft-nottingham-atompub-feed-history-08 said pubDate, which feeds without the other have.
def _update_time(channel: _Element) -> str | None:
    for tag in (f"{ATOM}updated", "lastBuildDate", "pubDate"):
        element = channel.find(tag)
        if element is not None and (time := utc(element.text or "")):
            return time
    return None


def read_item(element: _Element, base: str, problems: list[Problem], number: int) -> Entry:
    """Read an item; what is wrong with it is added to `problems`."""
    base = xml.base_of(element, base)
    entry = Entry()
    permalink: str | None = None
    for child in element:
        if child.tag == "guid":
            entry.id = entry.id or xml.line(child)
            # RSS 2.0: isPermaLink is true by default.
            if (child.get("isPermaLink") or "true").strip().lower() == "true":
                permalink = entry.id
            continue
        fill = FIELDS.get(child.tag)
        if fill is not None:
            fill(entry, child, base)
    if entry.link is None and permalink and permalink.startswith(("http://", "https://")):
        entry.link = permalink
    _check(entry, element, problems, number)
    return entry


def _check(entry: Entry, element: _Element, problems: list[Problem], number: int) -> None:
    name = entry.id or entry.link or entry.title or f"item {number}"
    date = element.find("pubDate")
    if entry.published is None and date is not None:
        problems.append(Problem("unreadable-date", name, f"its pubDate is not a date: {date.text!r}"))
    # RSS 2.0: "All elements of an item are optional, however at least one of title or description
    # must be present."
    if not (entry.id or entry.link or entry.title or entry.summary):
        problems.append(Problem("no-id", name, "it has no guid, no link, no title and no description"))


def _title(entry: Entry, element: _Element, base: str) -> None:
    entry.title = xml.line(element)


def _link(entry: Entry, element: _Element, base: str) -> None:
    if entry.link is None and (link := xml.line(element)):
        entry.link = xml.resolve(link, xml.base_of(element, base))


def _description(entry: Entry, element: _Element, base: str) -> None:
    entry.summary = xml.text(element)


def _content(entry: Entry, element: _Element, base: str) -> None:
    entry.content = xml.text(element)
    entry.content_type = "html" if entry.content is not None else None


def _published(entry: Entry, element: _Element, base: str) -> None:
    entry.published = utc(element.text or "") or entry.published


def _dc_date(entry: Entry, element: _Element, base: str) -> None:
    entry.published = entry.published or utc(element.text or "")


# RFC 5005, B: "The update time of an entry is not defined by RSS 2.0", unless another vocabulary gives it.
def _updated(entry: Entry, element: _Element, base: str) -> None:
    entry.updated = entry.updated or utc(element.text or "")


def _author(entry: Entry, element: _Element, base: str) -> None:
    if name := xml.line(element):
        entry.authors.append(name)


def _category(entry: Entry, element: _Element, base: str) -> None:
    if term := xml.line(element):
        entry.categories.append(term)


def _enclosure(entry: Entry, element: _Element, base: str) -> None:
    if url := (element.get("url") or "").strip():
        entry.enclosures.append(
            enclosure(
                xml.resolve(url, xml.base_of(element, base)),
                element.get("type"),
                element.get("length"),
            )
        )


FIELDS = {
    "title": _title,
    "link": _link,
    "description": _description,
    f"{CONTENT}encoded": _content,
    "pubDate": _published,
    f"{DC}date": _dc_date,
    f"{ATOM}updated": _updated,
    f"{DCTERMS}modified": _updated,
    "author": _author,
    f"{DC}creator": _author,
    "category": _category,
    "enclosure": _enclosure,
}
