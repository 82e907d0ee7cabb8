"""XML as feeds need it: safe parsing, whole elements of broken documents, text, base URLs, links."""

from __future__ import annotations

import codecs
import contextlib
import copy
import re
from html.entities import html5
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urljoin
from xml.sax.saxutils import escape

from lxml import etree

from fhcrawl.exceptions import NotAFeedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.etree import _Element

ATOM = "{http://www.w3.org/2005/Atom}"
FH = "{http://purl.org/syndication/history/1.0}"
XHTML = "{http://www.w3.org/1999/xhtml}"
XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"

# RFC 4287, 4.2.7.2: "If a name is given, implementations MUST consider the link relation type to be
# equivalent to the same name registered within the IANA Registry".
IANA_RELATION = re.compile(
    r"^https?://www\.iana\.org/assignments/(?:relation|link-relations)/#?", re.IGNORECASE
)
COMMON_RELATIONS = frozenset({"alternate", "enclosure", "self", "related", "prev-archive"})
XML_DECLARATION_ENCODING = re.compile(rb"^\s*<\?xml[^>]*?\bencoding\s*=")
BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
HTML_START = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
HTML_PARTS = frozenset({"html", "head", "body", "HTML", "HEAD", "BODY"})
LONGEST_PROLOG = 65_536
CONTAINERS = frozenset({"rss", "channel", f"{ATOM}feed"})


class Parsed(NamedTuple):
    """A document's root element, and why the document ends before its end (None if it does not)."""

    root: _Element
    fault: str | None


def parse(body: bytes, charset: str | None) -> Parsed:
    """Parse a document; nothing is fetched, no entity expanded.

    Of a document that is cut off or broken, the elements that were whole before the fault are kept.

    :raises NotAFeedError: if there is not even a whole start tag, or if it is an HTML page
    """
    # XML 1.0, 2.8 allows none before the declaration; servers put some there.
    body = body.lstrip()
    if not body:
        raise NotAFeedError("empty", "it is empty")
    options = _parser_options(body, charset)
    try:
        return Parsed(etree.fromstring(body, etree.XMLParser(**options)), None)  # type: ignore[arg-type]
    except etree.XMLSyntaxError as error:
        fault = error.msg or "it is not well-formed"
        root = _whole_elements(body, options)
        if (root is None or local_name(root) in HTML_PARTS) and HTML_START.search(body, 0, 1024):
            raise NotAFeedError("html", "it is an HTML page, not a feed") from error
        if root is None:
            raise NotAFeedError("not-xml", f"it is not XML ({fault})") from error
        return Parsed(root, fault)


def _parser_options(body: bytes, charset: str | None) -> dict[str, object]:
    options: dict[str, object] = {
        "resolve_entities": False,
        "no_network": True,
        "load_dtd": False,
        "remove_pis": True,
        "remove_comments": True,
    }
    in_band = body.startswith(BYTE_ORDER_MARKS) or XML_DECLARATION_ENCODING.match(body)
    if charset and not in_band and _is_known(charset):
        options["encoding"] = charset
    return options


def _is_known(charset: str) -> bool:
    try:
        etree.XMLParser(encoding=charset)
    except (LookupError, ValueError):
        return False
    return True


def _whole_elements(body: bytes, options: dict[str, object]) -> _Element | None:
    """The tree up to the fault, without the element that it cuts; None if no element has begun."""
    parser = etree.XMLPullParser(events=("start", "end"), **options)  # type: ignore[arg-type]
    root: _Element | None = None
    unfinished: list[_Element] = []
    with contextlib.suppress(etree.XMLSyntaxError):
        root, begun = _first_element(parser, body)
        if root is None or _declares_markup(root):
            return root
        unfinished.append(root)
        parser.feed(body[begun:])
        parser.close()
    for event, element in _events(parser):
        root = element if root is None else root
        if event == "start":
            unfinished.append(element)
        else:
            unfinished.pop()
    _prune(unfinished)
    return root


def _events(parser: etree.XMLPullParser) -> Iterator[tuple[str, _Element]]:
    return cast("Iterator[tuple[str, _Element]]", parser.read_events())


def _first_element(parser: etree.XMLPullParser, body: bytes) -> tuple[_Element | None, int]:
    """Feed the parser until the root element begins: that element, and how many bytes it took."""
    for position in range(min(len(body), LONGEST_PROLOG)):
        parser.feed(body[position : position + 1])
        for _event, element in _events(parser):
            return element, position + 1
    return None, 0


# When an entity holds markup that is not well-formed, libxml2 frees nodes that events still refer to.
def _declares_markup(root: _Element) -> bool:
    declarations: Any = root.getroottree().docinfo.internalDTD
    return declarations is not None and any(
        "<" in (entity.content or "") for entity in declarations.iterentities()
    )


def _prune(unfinished: list[_Element]) -> None:
    """Remove the outermost element that has no end and is no container."""
    for element in unfinished:
        parent = element.getparent()
        if parent is not None and element.tag not in CONTAINERS:
            parent.remove(element)
            return


def local_name(element: _Element) -> str:
    """The element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def text(element: _Element) -> str | None:
    """All text inside an element, exactly; None if there is nothing but white space."""
    value = element.text if not len(element) else "".join(_texts(element))
    return value if value and not value.isspace() else None


def _texts(element: _Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if child.tag is etree.Entity:
            yield html5.get((child.text or "")[1:], child.text or "")
        elif isinstance(child.tag, str):
            yield from _texts(child)
        yield child.tail or ""


def line(element: _Element) -> str | None:
    """The text of an element that holds one line (a title, a name, an id), without white space around it."""
    value = text(element)
    return value.strip() if value else None


def markup(element: _Element) -> str | None:
    """What an element contains, as serialised markup; None if it is empty.

    XHTML elements lose their prefix and namespace, so that the markup can be read as HTML too.
    """
    for descendant in element.iter(f"{XHTML}*"):
        if ":" not in local_name(descendant):
            descendant.tag = local_name(descendant)
    inner = escape(element.text or "") + "".join(map(_serialised, element))
    return inner if inner and not inner.isspace() else None


# A copy declares the namespaces that it uses, wherever the feed declared them.
def _serialised(child: _Element) -> str:
    own = copy.deepcopy(child)
    if isinstance(own.tag, str):
        etree.cleanup_namespaces(own)
    return etree.tostring(own, encoding="unicode", with_tail=True)


def base_of(element: _Element, base: str) -> str:
    """The base URL inside an element (RFC 4287, 2; XML Base), given the one around it."""
    own = element.get(XML_BASE)
    return resolve(own, base) if own else base


def resolve(reference: str, base: str) -> str:
    """An absolute URL; a reference that cannot be resolved stays what it is."""
    reference = reference.strip()
    if reference.startswith(("http://", "https://")):
        return reference
    try:
        return urljoin(base, reference)
    except ValueError:
        return reference


def relations(link: _Element) -> list[str]:
    """The short names of a link's relations, in lower case."""
    # RFC 4287, 4.2.7.2: "If the 'rel' attribute is not present, the link element MUST be
    # interpreted as if the link relation type is 'alternate'."
    rel = link.get("rel") or "alternate"
    if rel in COMMON_RELATIONS:
        return [rel]
    return [IANA_RELATION.sub("", name).lower() for name in rel.split()]


def head_links(links: Iterable[_Element], base: str) -> dict[str, str]:
    """Absolute URLs by relation, the first of each, without fragments: two of them name one document."""
    found: dict[str, str] = {}
    for link in links:
        href = link.get("href")
        if not href or not href.strip():
            continue
        url = resolve(href, base_of(link, base)).partition("#")[0]
        for relation in relations(link):
            found.setdefault(relation, url)
    return found
