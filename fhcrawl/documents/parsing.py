"""XML of feeds, parsed safely: large documents in pieces, broken ones mended, or up to the fault."""

from __future__ import annotations

import contextlib
import re
from collections import deque
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from xml.sax.saxutils import quoteattr

from lxml import etree

from fhcrawl.documents import bounds, encoding, repair
from fhcrawl.documents.bounds import Bounds
from fhcrawl.documents.encoding import Text
from fhcrawl.documents.model import Problem
from fhcrawl.documents.xml import (
    ATOM,
    RDF_NAMESPACES,
    RSS_NAMESPACES,
    XML_BASE,
    XML_LANG,
    base_of,
    first,
    inherited,
    local_name,
    with_own_namespaces,
    without_entities,
)
from fhcrawl.exceptions import NotAFeedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lxml.etree import _Element

    from fhcrawl.documents.model import Entry
    from fhcrawl.documents.xml import Head

    Collect = Callable[[Iterable[Entry]], Sequence[Entry]]

HTML_START = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
HTML_PARTS = frozenset({"html", "head", "body", "HTML", "HEAD", "BODY"})
LONGEST_PROLOG = 65_536
# More than these in a document are counted for each element; no element of a feed has more than the others.
MANY_NAMESPACES = 1000
MOST_NAMESPACES = 64
SMALL = 8192  # bytes; there is no harm in such a document
NAMESPACE = re.compile(rb"""xmlns(?::[^\s=<>:"']+)?\s*=\s*(?:"[^"<]*|'[^'<]*)""")
LONGEST_NAMESPACE = 500
TAG_AND_TEXT = re.compile(rb"<[^<]*")
# How many times as much as the document may be parsed to find its broken entries.
MOST_PARSED_AGAIN = 20
CONTAINERS = frozenset(
    {"rss", f"{ATOM}feed", *(f"{namespace}channel" for namespace in (*RSS_NAMESPACES, *RDF_NAMESPACES))}
)
# A document of more bytes is read while it is parsed, in pieces of so many.
LARGE = 1024**2
# Each original repeats the namespaces that are declared around it; of more characters, only those it uses.
NAMESPACES = 2000
SERIALISE = partial(etree.tostring, encoding="unicode", with_tail=False)
PIECE = 65_536
# Where the entries of such a document stand: their tag, and those of the elements around them.
PLACES = {
    f"{ATOM}entry": [f"{ATOM}feed"],
    **{f"{namespace}item": [f"{namespace}channel", f"{namespace}rss"] for namespace in RSS_NAMESPACES},
}


class Parsed(NamedTuple):
    """A document's root element.

    :param fault: why the document ends before its end; None if it does not
    :param problems: what had to be repaired or left out to read it
    :param coming: the entries of a document that is still being parsed: what stands behind the first one
        is not there before the last one has been asked for
    :param originals: the entries that were asked for, each as XML that stands by itself; None if they are not
        to be kept
    :param most: what the document may hold
    :param beyond: gets what `entries` leaves out because it is beyond that
    :param collect: keeps what the entries that were asked for are read into, while they come
    """

    root: _Element
    fault: str | None
    problems: tuple[Problem, ...] = ()
    coming: Iterator[_Element] | None = None
    originals: deque[str] | None = None
    most: Bounds = Bounds()
    beyond: list[Problem] | None = None
    collect: Collect = list

    def entries(self, parent: _Element, tag: str, head: Head) -> Iterator[_Element]:
        """The children of an element that are entries; a large document's are gone when the next one comes.

        At most one more than there may be. Those with too many levels are left out.

        :param head: the others are added to it; they are all there when the last entry is
        :raises lxml.etree.XMLSyntaxError: if the document is still being parsed, and is not well-formed
        """
        found = self._entries(parent, tag, head)
        if self.coming is not None or bounds.may_have_more(parent, self.most):
            found = self._within_bounds(found)
        return found if self.originals is None else _kept(found, parent, self.originals)

    def _within_bounds(self, coming: Iterator[_Element]) -> Iterator[_Element]:
        for number, entry in enumerate(islice(coming, self.most.entries + 1), 1):
            if self.beyond is not None and bounds.is_deeper(entry, self.most):
                detail = f"it has more than {self.most.depth} levels of elements and is left out"
                self.beyond.append(Problem(bounds.TOO_DEEP, f"entry {number}", detail))
            else:
                yield entry
        # What stands behind the entries is read all the same.
        deque(coming, maxlen=0)

    def _entries(self, parent: _Element, tag: str, head: Head) -> Iterator[_Element]:
        if self.coming is not None:
            yield from self.coming
        for child in parent:
            if child.tag != tag:
                head.setdefault(child.tag, []).append(child)
            elif self.coming is None:
                yield child


def _kept(entries: Iterator[_Element], parent: _Element, originals: deque[str]) -> Iterator[_Element]:
    base, language = inherited(parent)
    declares = parent.getroottree().docinfo.internalDTD is not None
    is_crowded = sum(map(len, parent.nsmap.values())) > NAMESPACES
    serialise = with_own_namespaces if is_crowded else SERIALISE
    for entry in entries:
        if base:
            entry.set(XML_BASE, base_of(entry, base))
        if language and entry.get(XML_LANG) is None:
            entry.set(XML_LANG, language)
        original = serialise(entry)
        originals.append(without_entities(original) if declares else original)
        yield entry


def parse(body: bytes, charset: str | None) -> Parsed:
    """Parse a document; nothing is fetched, no entity expanded.

    What is not well-formed is repaired, or loses the entry that it stands in. Where that does not give a
    whole document, the elements that were whole before the fault are kept.

    :param charset: the charset parameter of the Content-Type header
    :raises NotAFeedError: if there is not even a whole start tag, if it is an HTML page, or if it
        declares too many namespaces, or too long ones
    """
    source = encoding.source(body, charset)
    if not source.body:
        raise NotAFeedError("empty", "it is empty")
    _check_namespaces(source.body)
    try:
        return Parsed(_strictly(source.body), None, _repaired([source.repair]))
    except etree.XMLSyntaxError as error:
        root = _whole_elements(source.body)
        if (root is None or local_name(root) in HTML_PARTS) and HTML_START.search(source.body, 0, 1024):
            raise NotAFeedError("html", "it is an HTML page, not a feed") from error
        fault = error.msg or "it is not well-formed"
        broken = None if root is None else Parsed(root, fault, _repaired([source.repair]))
        text = Text(source.body.decode(), source.repair) if source.decoded else encoding.text(body, charset)
        parsed = _mended(text, broken)
        if parsed is None:
            raise NotAFeedError("not-xml", f"it is not XML ({fault})") from error
        return parsed


def begin(body: bytes, charset: str | None, most: Bounds) -> Parsed | None:
    """Begin to parse a large document; None if it is none, or has to be parsed as a whole.

    :param charset: the charset parameter of the Content-Type header
    :raises lxml.etree.XMLSyntaxError: if it is not well-formed
    :raises NotAFeedError: if it declares too many namespaces, or too long ones
    :raises NotAFeedError: here or while the entries come, if too many elements are in memory at once
    """
    if len(body) < LARGE:
        return None
    source = encoding.source(body, charset)
    _check_namespaces(source.body)
    piece = source.body[:PIECE]
    # Entities: see _declares_markup.
    if b"<!DOCTYPE" in piece:
        return None
    events = ("start", "end")
    parser = etree.XMLPullParser(events=events, tag=list(PLACES), **_parser_options())  # type: ignore[arg-type]
    parser.feed(piece)
    _event, entry = next(_events(parser), (None, None))
    if entry is None or not _is_in_place(entry):
        return None
    root = entry.getroottree().getroot()
    return Parsed(root, None, _repaired([source.repair]), _coming(parser, source.body, entry, most))


# libxml2 looks at one namespace after the other for each element that it copies, and each copy declares
# those that it uses.
def _check_namespaces(body: bytes) -> None:
    declared = NAMESPACE.findall(body) if len(body) > SMALL else []
    if max(map(len, declared), default=0) > LONGEST_NAMESPACE:
        raise NotAFeedError("too-large", "the name of a namespace in it is too long")
    if len(declared) > MANY_NAMESPACES:
        most = max(tag[0].count(b"xmlns:") for tag in TAG_AND_TEXT.finditer(body))
        if most > MOST_NAMESPACES:
            raise NotAFeedError("too-large", f"one of its elements declares {most} namespaces")


def _is_in_place(entry: _Element) -> bool:
    around = list(entry.iterancestors())
    if [element.tag for element in around] != PLACES[entry.tag]:
        return False
    # Of several channels, the first one is the feed.
    return all(first(outer, inner.tag) is inner for inner, outer in pairwise(around))


# An element can go when the next one is whole: to the text behind the last one, libxml2 still adds.
def _coming(parser: etree.XMLPullParser, body: bytes, entry: _Element, most: Bounds) -> Iterator[_Element]:
    tag, parent = entry.tag, next(entry.iterancestors())
    before: _Element | None = None
    for event, element in _remaining(parser, body, parent, most):
        if event == "end" and element.tag == tag and element.getparent() is parent:
            if before is not None:
                parent.remove(before)
            before = element
            yield element


def _remaining(
    parser: etree.XMLPullParser, body: bytes, parent: _Element, most: Bounds
) -> Iterator[tuple[str, _Element]]:
    yield from _events(parser)
    for position in range(PIECE, len(body), PIECE):
        parser.feed(body[position : position + PIECE])
        yield from _events(parser)
        bounds.check_tree(parent, most)
    parser.close()


def _mended(text: Text, broken: Parsed | None) -> Parsed | None:
    """A document that is not well-formed: whole after repairs, or as much of it as can be had."""
    mended, repairs = repair.repair(text.text)
    problems = _repaired([text.repair, *repairs])
    body = mended.encode()
    parser = _parser()
    try:
        return Parsed(etree.fromstring(body, parser), None, problems)
    except etree.XMLSyntaxError as error:
        if _is_of_namespaces(parser) and not repair.declares_entities(mended):
            problems = _repaired([text.repair, *repairs, "names that are no qualified names are kept"])
            return Parsed(etree.fromstring(body, _parser(recover=True)), None, problems)
        root = _whole_elements(body)
        fault = error.msg or "it is not well-formed"
    if whole := _without_broken_entries(mended, problems):
        return whole
    if root is None or (broken is not None and not _says_more(root, problems, broken)):
        return broken
    return Parsed(root, fault, problems)


def _without_broken_entries(text: str, problems: tuple[Problem, ...]) -> Parsed | None:
    """A document without the entries that are not well-formed by themselves; None if that does not help."""
    parts = repair.entries(text)
    if parts is None:
        return None
    try:
        start = _start_tag(_strictly(parts.head.encode()))
        if len(start) * len(parts.entries) > MOST_PARSED_AGAIN * len(text):
            return None
        faults = {
            number: fault
            for number, entry in enumerate(parts.entries)
            if (fault := _fault(f"{start}{entry}</_>")) is not None
        }
        root = _strictly(repair.without(text, parts.spans, faults.__contains__).encode())
    except etree.XMLSyntaxError:
        return None
    lost = [
        Problem(
            bounds.kind_of_fault(fault, "entry-lost"),
            f"entry {number + 1}",
            f"it is not well-formed and is left out: {fault}",
        )
        for number, fault in faults.items()
    ]
    return Parsed(root, None, (*problems, *lost))


def _start_tag(root: _Element) -> str:
    """A start tag with the namespaces that are declared around entries."""
    declared = {prefix: uri for element in (root, *list(root)[:1]) for prefix, uri in element.nsmap.items()}
    attributes = (
        f" xmlns{f':{prefix}' if prefix else ''}={quoteattr(uri)}" for prefix, uri in declared.items()
    )
    return f"<_{''.join(attributes)}>"


def _fault(text: str) -> str | None:
    """What is wrong with an entry, without the place: it is not that in the document."""
    try:
        _strictly(text.encode())
    except etree.XMLSyntaxError as error:
        return (error.msg or "it ends early").partition(", line ")[0]
    return None


# A parser that recovers leaves things out behind a fault, but not behind one of namespaces: there libxml2
# goes on anyway, and the parser's log (the exception's has other documents' faults too) names any other one.
def _is_of_namespaces(parser: etree.XMLParser) -> bool:
    return all(entry.domain == etree.ErrorDomains.NAMESPACE for entry in parser.error_log)


def _repaired(repairs: Iterable[str | None]) -> tuple[Problem, ...]:
    sentence = "; ".join(filter(None, repairs))
    return (Problem("repaired", "", f"it is not well-formed: {sentence}"),) if sentence else ()


def _says_more(root: _Element, problems: tuple[Problem, ...], broken: Parsed) -> bool:
    size, broken_size = (sum(1 for _ in each.iter()) for each in (root, broken.root))
    return size > broken_size or (size == broken_size and problems != broken.problems)


def _strictly(body: bytes) -> _Element:
    return etree.fromstring(body, STRICT)


def _parser(recover: bool = False) -> etree.XMLParser:
    return etree.XMLParser(recover=recover, **_parser_options())  # type: ignore[arg-type]


def _parser_options() -> dict[str, object]:
    return {
        "encoding": encoding.UTF_8,
        "resolve_entities": False,
        "no_network": True,
        "load_dtd": False,
        "remove_pis": True,
        "remove_comments": True,
    }


# Parsers can be used again, also by several threads (they lock); with small documents a new one can be felt.
STRICT = _parser()


def _whole_elements(body: bytes) -> _Element | None:
    """The tree up to the fault, without the element that it cuts; None if no element has begun."""
    parser = etree.XMLPullParser(events=("start", "end"), **_parser_options())  # type: ignore[arg-type]
    root: _Element | None = None
    unfinished: list[_Element] = []
    with contextlib.suppress(etree.XMLSyntaxError):
        root, begun = _first_element(parser, body)
        if root is None or _declares_markup(root):
            return root
        unfinished.append(root)
        for position in range(begun, len(body), PIECE):
            parser.feed(body[position : position + PIECE])
            _follow(parser, unfinished)
        parser.close()
    _follow(parser, unfinished)
    _prune(unfinished)
    return root


def _follow(parser: etree.XMLPullParser, unfinished: list[_Element]) -> None:
    for event, element in _events(parser):
        if event == "start":
            unfinished.append(element)
        else:
            unfinished.pop()


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
