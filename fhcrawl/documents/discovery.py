"""Finds feeds in documents that are none: in HTML pages, OPDS catalogues and subscription lists (OPML)."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from fhcrawl.documents.xml import encoding, parsing
from fhcrawl.documents.xml.elements import ATOM, LONGEST_URL, base_of, local_name, resolve, target
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lxml.etree import _Element

FEED_TYPES = frozenset(
    {
        *(f"application/{kind}" for kind in ("atom+xml", "rss+xml", "rdf+xml", "feed+json", "xml")),
        "text/xml",
    }
)
LONGEST_HEAD = 1024**2  # octets; a page takes many times its size in memory
MOST_FEEDS = 100
OPDS = b"profile=opds-catalog"
HOST = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:)?//[^/?#]*", re.IGNORECASE)
# Words in the titles and paths of feeds other than the main feed.
PARTS = tuple(
    re.compile(rf"(?<![a-z])(?:{words})(?![a-z])", re.IGNORECASE)
    for words in ("category|categories|tags?|author", "comments?")
)


# HTML, 4.6.6.1: link type 'alternate'.
def feed_links(body: bytes, url: str) -> list[str]:
    """Return the absolute URLs of the first feeds that a page links to, comment feeds last."""
    head = _Head()
    try:
        etree.fromstring(body[:LONGEST_HEAD], etree.HTMLParser(target=head))  # type: ignore[arg-type]
    except (etree.ParseError, ValueError):
        return []
    base = url if head.base is None else resolve(head.base, url)
    links = islice(filter(_is_feed, head.links), MOST_FEEDS)
    fitting = [link for link in links if len(link["href"]) <= LONGEST_URL]
    return [resolve(link["href"], base) for link in sorted(fitting, key=_rank)]


# The main feed comes first, then feeds of categories and authors, then those of comments.
def _rank(link: dict[str, str]) -> int:
    texts = link.get("title") or "", HOST.sub("", link["href"])
    return max((rank for rank, pattern in enumerate(PARTS, 1) if any(map(pattern.search, texts))), default=0)


# No tree is built: libxml2 searches all attributes of an element whenever it adds another.
class _Head:
    def __init__(self) -> None:
        self.base: str | None = None
        self.links: list[dict[str, str]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "link":
            self.links.append(dict(attributes))
        elif tag == "base" and self.base is None:
            self.base = attributes.get("href") or ""

    def close(self) -> None:
        """Called by lxml."""


def _is_feed(link: dict[str, str]) -> bool:
    media_type = (link.get("type") or "").partition(";")[0].strip().lower()
    relations = (link.get("rel") or "").lower().split()
    return "alternate" in relations and media_type in FEED_TYPES and bool((link.get("href") or "").strip())


# --- OPDS


# OPDS 1.2, 2.2 and 6: entries of a navigation feed link to catalogue feeds, and have no acquisition links.
def catalogue_feeds(body: bytes, url: str) -> list[str]:
    """Return the feeds that an OPDS navigation feed links to, acquisition feeds alone if it names any.

    :return: absolute URLs; [] if an entry does not link to a catalogue feed
    """
    root, feeds = parsing.parse(body, None).root, dict[str, bool]()
    for entry in root.iterchildren(f"{ATOM}entry"):
        base, links = base_of(entry, base_of(root, url)), entry.findall(f"{ATOM}link")
        types = ((link, "".join((link.get("type") or "").lower().split())) for link in links)
        found = [(link, kind) for link, kind in types if OPDS.decode() in kind and "type=entry" not in kind]
        if not found:
            return []
        feeds |= {
            target(link, link.get("href", ""), base): "kind=acquisition" in kind for link, kind in found
        }
    return [feed for feed, is_acquisition in feeds.items() if is_acquisition] or list(feeds)


# --- OPML

XML_URL = re.compile(r"""\bxmlUrl\s*=\s*(["'])([^"'<>]*)\1""", re.IGNORECASE)


class Fault(NamedTuple):
    """A fault that is not repaired; `url` is the xmlUrl if its line has exactly one outline, else ''."""

    message: str
    url: str = ""


class Outline(NamedTuple):
    """An outline of an OPML document; its start tag ends on `line`, attribute names are in lower case."""

    line: int
    attributes: dict[str, str]
    is_leaf: bool

    @property
    def title(self) -> str:
        """The text, else the title; '' if it has neither."""
        texts = (" ".join(self.attributes.get(name, "").split()) for name in ("text", "title"))
        return next(filter(None, texts), "")


def read_opml(content: bytes) -> tuple[list[Outline], dict[int, Fault]]:
    """Read the outlines of a document, and the faults that are not repaired, by line.

    :raises NotAFeedError: if it is not OPML
    """
    parsed = parsing.parse(content, None)
    root, faults = parsed.root, dict[int, Fault]()
    if parsed.fault is not None:
        root, faults = _read_despite_faults(content, parsed.root, parsed.fault)
    elements = [element for element in root.iter(etree.Element) if _lower_name(element) == "outline"]
    if not elements and (faults or _lower_name(root) != "opml"):
        why = parsed.fault or f"its root element is {local_name(root)}"
        raise NotAFeedError(ReasonKind.NOT_A_FEED, why)
    outlines: list[Outline] = []
    comments: set[_Element] = set()
    for element in elements:
        outline = _outline(element)
        # OPML 2.0: all outlines below a comment are comments.
        if outline.attributes.get("iscomment", "").lower() == "true" or element.getparent() in comments:
            comments.add(element)
        else:
            outlines.append(outline)
    return outlines, faults


# The strict parser reads no outline after a fault.
def _read_despite_faults(content: bytes, root: _Element, fault: str) -> tuple[_Element, dict[int, Fault]]:
    text = parsing.repaired(encoding.text(content, None)[0])[0]
    if "<!ENTITY" in text:
        return root, {1: Fault(fault)}
    recovered, log = parsing.recover(text.encode())
    if recovered is None:
        raise NotAFeedError(ReasonKind.NOT_A_FEED, fault)
    lines = text.split("\n")
    # Later faults of a line are consequences of its first.
    messages = {error.line: error.message for error in reversed(log)}
    faults = {}
    for line, message in messages.items():
        urls = [match[2] for text in lines[line - 1 : line] for match in XML_URL.finditer(text)]
        faults[line] = Fault(message, urls[0] if len(urls) == 1 else "")
    return recovered, faults


def _outline(element: _Element) -> Outline:
    attributes: dict[str, str] = {}
    for name, value in element.items():
        attributes.setdefault(str(name).lower(), str(value))
    is_leaf = all(_lower_name(child) != "outline" for child in element.iterchildren(etree.Element))
    line: Any = element.sourceline
    return Outline(line, attributes, is_leaf)


def _lower_name(element: _Element) -> str:
    return local_name(element).lower()
