"""What the publishers write: versions of entries, in Atom and RSS documents."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

BEGIN = datetime(2020, 1, 1, tzinfo=timezone.utc)
FUTURE = "2999-01-01T00:00:00Z"
NAMESPACES = (
    'xmlns:atom="http://www.w3.org/2005/Atom" xmlns:fh="http://purl.org/syndication/history/1.0"'
    ' xmlns:at="http://purl.org/atompub/tombstones/1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:content="http://purl.org/rss/1.0/modules/content/"'
)


class Version(NamedTuple):
    """A version of an entry, as its publisher published it.

    :param number: the publisher's changes, counted: the greater is the newer
    :param tick: when, by the publisher's clock
    :param text: None if the entry was deleted
    :param born: tick of its first version
    :param from_future: its time is later than the publisher's clock
    """

    id: str
    number: int
    tick: int
    text: str | None
    born: int
    from_future: bool = False


@dataclass(frozen=True)
class Style:
    """How a publisher writes.

    :param form: `atom` or `rss`
    :param times: which times are written: `own` and `coarse` (of the entries, and of documents), `document`
        (only of documents), `none`
    :param says_archive: whether archives have fh:archive
    """

    form: str
    times: str
    states_archive: bool = True

    def updated(self, version: Version) -> str | None:
        if self.times not in ("own", "coarse"):
            return None
        return FUTURE if version.from_future else iso(version.tick)


@dataclass(frozen=True)
class Document:
    """A feed document.

    :param head: elements without content, `fh:archive` or `fh:complete`
    """

    title: str
    tick: int
    versions: tuple[Version, ...]
    links: dict[str, str] = field(default_factory=dict)
    head: str = ""


def iso(tick: int) -> str:
    return (BEGIN + timedelta(minutes=tick)).strftime("%Y-%m-%dT%H:%M:%SZ")


def http_date(tick: int) -> str:
    return format_datetime(BEGIN + timedelta(minutes=tick), usegmt=True)


def expected(version: Version, style: Style) -> dict[str, Any]:
    """The fields of a version as they are exported, written down from DESIGN.md, not from fhcrawl."""
    text, link = version.text, f"http://example.org/{version.id}"
    return {
        "id": version.id,
        "title": f"{version.id} & {text}",
        "link": link,
        "published": iso(version.born),
        "updated": style.updated(version),
        "authors": ["Ann", f"Editor of {text}"],
        "categories": [f"about {text}"],
        "summary": f"A summary, {text}",
        "content": f"<p>{text} &lt; more</p>",
        "content_type": "html",
        "enclosures": [{"url": f"{link}.mp3", "type": "audio/mpeg", "length": len(text or "")}],
        "operation": None,
    }


def render(document: Document, style: Style) -> bytes:
    is_atom = style.form == "atom"
    write, time = (_atom_entry, iso) if is_atom else (_rss_item, http_date)
    live = "".join(write(version, style) for version in document.versions if version.text is not None)
    element = "updated" if is_atom else "lastBuildDate"
    updated = "" if style.times == "none" else f"<{element}>{time(document.tick)}</{element}>"
    title = f"<title>{escape(document.title)}</title>"
    parts = f"{updated}{document.head}{_links(document)}{_tombstones(document)}\n{live}"
    if is_atom:
        root = f'<feed xmlns="http://www.w3.org/2005/Atom" {NAMESPACES}>\n{title}<id>urn:feed</id>'
        text = f"{root}{parts}</feed>\n"
    else:
        root = f'<rss version="2.0" {NAMESPACES}><channel>\n{title}<link>http://example.org/</link>'
        text = f"{root}<description>d</description>{parts}</channel></rss>\n"
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}'.encode()


def _links(document: Document) -> str:
    links = document.links.items()
    return "".join(f"<atom:link rel={quoteattr(rel)} href={quoteattr(url)}/>" for rel, url in links)


def _tombstones(document: Document) -> str:
    deleted = [version for version in document.versions if version.text is None]
    return "".join(f'<at:deleted-entry ref="{v.id}" when="{iso(v.tick)}"/>' for v in deleted)


def _atom_entry(version: Version, style: Style) -> str:
    stated = {name: _escaped(value) for name, value in expected(version, style).items()}
    [enclosure] = expected(version, style)["enclosures"]
    updated = style.updated(version)
    return (
        f"<entry><id>{stated['id']}</id><title>{stated['title']}</title><link href='{stated['link']}'/>"
        f"<published>{stated['published']}</published>"
        + (f"<updated>{updated}</updated>" if updated else "")
        + "".join(f"<author><name>{name}</name></author>" for name in stated["authors"])
        + f"<category term='{stated['categories'][0]}'/><summary>{stated['summary']}</summary>"
        f"<content type='html'>{stated['content']}</content><link rel='enclosure' href='{enclosure['url']}'"
        f" type='audio/mpeg' length='{enclosure['length']}'/></entry>\n"
    )


def _rss_item(version: Version, style: Style) -> str:
    stated = {name: _escaped(value) for name, value in expected(version, style).items()}
    [enclosure] = expected(version, style)["enclosures"]
    updated = style.updated(version)
    return (
        f"<item><guid isPermaLink='false'>{stated['id']}</guid><title>{stated['title']}</title>"
        f"<link>{stated['link']}</link><pubDate>{http_date(version.born)}</pubDate>"
        + (f"<atom:updated>{updated}</atom:updated>" if updated else "")
        + "".join(f"<dc:creator>{name}</dc:creator>" for name in stated["authors"])
        + f"<category>{stated['categories'][0]}</category><description>{stated['summary']}</description>"
        f"<content:encoded>{stated['content']}</content:encoded><enclosure url='{enclosure['url']}'"
        f" type='audio/mpeg' length='{enclosure['length']}'/></item>\n"
    )


def _escaped(value: Any) -> Any:
    if isinstance(value, list):
        return [_escaped(one) for one in value]
    return escape(value) if isinstance(value, str) else value
