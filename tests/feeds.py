"""Writes feed documents for tests."""

from dataclasses import asdict, dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from fhcrawl import documents
from fhcrawl.crawling import parser
from fhcrawl.crawling.parser import Job
from fhcrawl.documents import FeedDocument
from fhcrawl.documents.model import DETAILS

URL = "http://feeds.example/dir/feed"
ATOM = "http://www.w3.org/2005/Atom"


def feed_of(found: object) -> FeedDocument:
    assert isinstance(found, FeedDocument)
    return found


def read(body: bytes, url: str, *args: Any, **options: Any) -> FeedDocument:
    """Read a document that is a feed; the parameters are those of `documents.read`."""
    return documents.as_feed(documents.read(body, url, *args, **options))


def read_feed(job: Job) -> FeedDocument:
    return feed_of(parser.read(job))


@dataclass(frozen=True)
class E:
    """An entry; None leaves an element out."""

    id: str | None
    text: str = "text"
    updated: str | None = "2003-12-13T18:30:02Z"
    title: str | None = "title"
    link: str | None = None


def tombstone(ref: str, when: str | None) -> str:
    at = ' xmlns:at="http://purl.org/atompub/tombstones/1.0"'
    when_attribute = "" if when is None else f" when={quoteattr(when)}"
    return f"<at:deleted-entry{at} ref={quoteattr(ref)}{when_attribute}/>"


def atom_link(rel: str, href: str) -> str:
    return f'<link xmlns="http://www.w3.org/2005/Atom" rel={quoteattr(rel)} href={quoteattr(href)}/>'


def atom(
    entries: list[E],
    *,
    prev: str | None = None,
    updated: str | None = "2003-12-13T18:30:02Z",
    links: dict[str, str] | None = None,
    head: str = "",
    title: str = "Example Feed",
) -> str:
    all_links = {**(links or {}), **({"prev-archive": prev} if prev else {})}
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<feed xmlns="http://www.w3.org/2005/Atom"'
        ' xmlns:fh="http://purl.org/syndication/history/1.0">\n'
        f"<title>{escape(title)}</title><id>urn:feed</id>{_element('updated', updated)}{head}\n"
        + "".join(f"<link rel={quoteattr(rel)} href={quoteattr(href)}/>\n" for rel, href in all_links.items())
        + "".join(
            f"<entry>{_element('id', e.id)}{_element('title', e.title)}"
            f"{_element('updated', e.updated)}{_element('summary', e.text)}"
            f"{atom_link('alternate', e.link) if e.link else ''}</entry>\n"
            for e in entries
        )
        + "</feed>\n"
    )


def rss(
    entries: list[E],
    *,
    prev: str | None = None,
    updated: str | None = "Sat, 13 Dec 2003 18:30:02 GMT",
    links: dict[str, str] | None = None,
    head: str = "",
) -> str:
    """An RSS 2.0 document; an entry's time is its atom:updated."""
    all_links = {**(links or {}), **({"prev-archive": prev} if prev else {})}
    return (
        '<?xml version="1.0"?>\n<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"'
        ' xmlns:fh="http://purl.org/syndication/history/1.0"><channel>\n'
        "<title>Example</title><link>http://example.org/</link><description>d</description>"
        f"{_element('lastBuildDate', updated)}{head}\n"
        + "".join(
            f"<atom:link rel={quoteattr(rel)} href={quoteattr(href)}/>\n" for rel, href in all_links.items()
        )
        + "".join(
            f"<item>{_element('guid', e.id)}{_element('title', e.title)}"
            f"{_element('atom:updated', e.updated)}{_element('description', e.text)}</item>\n"
            for e in entries
        )
        + "</channel></rss>\n"
    )


def _element(name: str, text: str | None) -> str:
    return "" if text is None else f"<{name}>{escape(text)}</{name}>"


def reported(document: FeedDocument) -> dict[str, Any]:
    """Return a document's fields as the expectations in tests/data have them; of entries, their content."""
    fields = asdict(document)
    del fields["head"]
    del fields["site"]
    for name in ("update_schedule", "other_links", "total", "new_url", "declared"):
        if not fields[name]:
            del fields[name]
    for entry in fields["entries"]:
        for name in ("original", "digest", *DETAILS):
            entry.pop(name, None)
    return fields


def atom_feed(inside: str, attributes: str = "", before: str = "") -> bytes:
    return f'{before}<feed xmlns="{ATOM}" {attributes}>{inside}</feed>'.encode()


def read_atom(inside: str, attributes: str = "", before: str = "", **options: Any) -> FeedDocument:
    return read(atom_feed(inside, attributes, before), URL, **options)


def ids(document: FeedDocument) -> list[str | None]:
    return [entry.id for entry in document.entries]


def kinds(document: FeedDocument) -> list[str]:
    return [problem.kind for problem in document.problems]
