"""Reads the data of an entry that the fields of `Entry` lack, from its original, as a tree of plain values.

XML: {prefix: {name: [node, …]}}, with a prefix of `namespaces` or a URI. JSON Feed: {"json": members}.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from lxml.etree import Element, XMLSyntaxError

from fhcrawl.documents.dates import utc
from fhcrawl.documents.formats import atom, rss
from fhcrawl.documents.model import PLACEHOLDER
from fhcrawl.documents.modules import unsigned
from fhcrawl.documents.xml import elements, parsing
from fhcrawl.documents.xml.elements import XML_BASE, XML_LANG
from fhcrawl.documents.xml.namespaces import RSS_PREFIX, prefix_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from lxml.etree import _Element

    Tree = dict[str, Any]
    Children = dict[str, dict[str, list["Node"]]]
    Names = tuple[str, str]

JSON = "json"
# Below this number of levels, an element becomes markup, and a JSON value JSON text: encoders have limits.
DEEPEST = 32
VOCABULARIES = {
    each.entry: each for each in (atom.VOCABULARY, atom.OLD_VOCABULARY, *rss.VOCABULARIES.values())
}
IN_UTC = re.compile(r"(?:Z|\bGMT|\bUTC?|[+-]00:?00)\s*$", re.IGNORECASE)


class Node(TypedDict):
    value: str | None  # the text; as markup if there are elements in it
    attrs: dict[str, str]
    children: Children


class FieldRules(NamedTuple):
    name: str
    once: dict[str, frozenset[str]]  # attributes that fields contain of the first element with a tag
    often: dict[str, Callable[[_Element], bool]]


def read(original: str | bytes | None) -> Tree | None:
    """Return the data of an entry that its fields do not contain; None if its original is not kept."""
    if original is None:
        return None
    octets = original.encode("utf-8", "surrogatepass") if isinstance(original, str) else original
    if octets.startswith(b"{"):
        with suppress(ValueError, RecursionError):
            item = json.loads(octets)
            members = {
                name: _bounded(value, 1)
                for name, value in item.items()
                if not (name in IN_FIELDS and IN_FIELDS[name](value, item))
            }
            return {JSON: members} if members else {}
        return None
    with suppress(XMLSyntaxError):
        return _entry_tree(parsing.parse_strict(octets))
    with suppress(XMLSyntaxError):
        root, _log = parsing.recover(octets)
        return None if root is None else _entry_tree(root)
    return None


def _entry_tree(entry: _Element) -> Tree:
    prefix, _ = _prefix_and_name(entry)
    rules = RSS_RULES if prefix == RSS_PREFIX else ATOM_RULES
    attributes = {name: value for name, value in entry.items() if name not in IGNORED_ATTRIBUTES}
    text = _text_beside(entry)
    tree: Tree = {}
    if attributes or text:
        _add_node(tree, (prefix, rules.name), Node(value=text, attrs=_with_prefixes(attributes), children={}))
    named_children = [
        (child, _prefix_and_name(child)) for child in entry if not elements.has_attribute(child, PLACEHOLDER)
    ]
    vocabulary = VOCABULARIES.get(entry.tag)
    tags = NOTHING if vocabulary is None else vocabulary.fields
    for child, names in _not_in_fields(named_children, rules, prefix, tags):
        _add_node(tree, names, _node(child, 1))
    return tree


def _not_in_fields(
    named_children: list[tuple[_Element, Names]], rules: FieldRules, prefix: str, tags: Container[str]
) -> Iterator[tuple[_Element, Names]]:
    counts = Counter(names for _child, names in named_children)
    has_link = False
    for child, names in named_children:
        name = names[1] if names[0] == prefix else ""
        if child.tag not in tags:
            is_in_field = False
        elif names == ENCODED:
            is_in_field = counts[names] == 1 and not child.attrib
        elif name in rules.once:
            is_in_field = (
                counts[names] + counts[prefix, FIRST.get(name, "")] == 1
                and rules.once[name].issuperset(map(str, child.keys()))
                and (name in WITH_MARKUP or not len(child))
                and (names not in DATES or _is_moment(child.text))
            )
        else:
            is_in_field = name in rules.often and rules.often[name](child)
        if is_in_field and name in rules.often and _is_alternate(child):
            # The field contains only the first.
            is_in_field, has_link = not has_link, True
        if not is_in_field:
            yield child, names


def _is_moment(time: str | None) -> bool:
    # A local time has more information than the field, which is in UTC.
    return not time or (IN_UTC.search(time) is not None and utc(time) is not None)


def _node(element: _Element, depth: int) -> Node:
    attributes = _with_prefixes(dict(element.items()))
    if len(element) and (depth >= DEEPEST or _text_beside(element)):
        return Node(value=elements.markup(element), attrs=attributes, children={})
    children: Children = {}
    for child in element:
        _add_node(children, _prefix_and_name(child), _node(child, depth + 1))
    value = None if len(element) else (element.text or "").strip() or None
    return Node(value=value, attrs=attributes, children=children)


def _text_beside(element: _Element) -> str | None:
    texts = (element.text, *(child.tail for child in element))
    return " ".join(text.strip() for text in texts if text and not text.isspace()) or None


# Tags of documents that are not namespace-well-formed may have a colon, which QName does not accept.
def _prefix_and_name(element: _Element) -> Names:
    namespace, name = _split(str(element.tag))
    return prefix_of(namespace) or namespace, name


def _split(name: str) -> Names:
    namespace, _brace, local_name = name.rpartition("}")
    return namespace[1:], local_name


def _add_node(tree: Children, names: Names, node: Node) -> None:
    prefix, name = names
    tree.setdefault(prefix, {}).setdefault(name, []).append(node)


def _with_prefixes(attributes: dict[Any, Any]) -> dict[str, str]:
    # Names in an unknown namespace keep its URI in braces.
    with_prefixes = {}
    for key, value in attributes.items():
        namespace, name = _split(str(key))
        prefix = prefix_of(namespace) if namespace else None
        with_prefixes[f"{prefix}:{name}" if prefix else str(key)] = str(value)
    return with_prefixes


def _has_only_attributes(element: _Element, *names: str) -> bool:
    has_text = bool(names) and bool((element.text or "").strip())
    return not len(element) and not has_text and set(names).issuperset(map(str, element.keys()))


def _is_alternate(element: _Element) -> bool:
    return elements.local_name(element) == "link" and elements.relations(element) == ["alternate"]


def _is_plain_link(link: _Element) -> bool:
    if _is_alternate(link):
        return _has_only_attributes(link, "rel", "href")
    return elements.relations(link) == ["enclosure"] and _is_plain_file(link, "rel", "href")


def _is_plain_file(element: _Element, *names: str) -> bool:
    length = (element.get("length") or "").strip()
    return _has_only_attributes(element, *names, "type", "length") and (
        not length or unsigned(length) is not None
    )


def _is_named_person(author: _Element) -> bool:
    parts = [(elements.local_name(child), len(child), len(child.attrib)) for child in author]
    has_text = bool(parts) and _text_beside(author) is not None
    return not author.attrib and not has_text and parts in ([], [("name", 0, 0)])


ENCODED = ("content", "encoded")
NOTHING: frozenset[str] = frozenset()
IGNORED_ATTRIBUTES = frozenset({XML_BASE, XML_LANG, rss.ABOUT})
ATOM_RULES = FieldRules(
    "entry",
    {
        **dict.fromkeys(("id", "published", "updated", "issued", "created", "modified"), NOTHING),
        **dict.fromkeys(("title", "summary"), frozenset({"type", "mode"})),
        "content": frozenset({"type", "mode", "src", XML_BASE, XML_LANG}),
    },
    {
        "author": _is_named_person,
        "category": lambda element: _has_only_attributes(element, "term") or _has_only_attributes(element),
        "link": _is_plain_link,
    },
)
RSS_RULES = FieldRules(
    "item",
    dict.fromkeys(("guid", "title", "link", "description", "pubDate"), NOTHING),
    {
        "author": _has_only_attributes,
        "category": _has_only_attributes,
        "enclosure": lambda element: _is_plain_file(element, "url"),
    },
)
# Elements whose markup a field contains, each once.
WITH_MARKUP = frozenset({"summary", "content", "description"})
# Atom 0.3: `created` fills a field if there is no `issued`.
FIRST = {"created": "issued"}
DATES = frozenset(
    _prefix_and_name(Element(tag)) for vocabulary in VOCABULARIES.values() for tag in vocabulary.dates
)


def _bounded(value: Any, depth: int) -> Any:
    if not isinstance(value, (dict, list)):
        return value
    if depth >= DEEPEST:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return [_bounded(item, depth + 1) for item in value]
    return {name: _bounded(item, depth + 1) for name, item in value.items()}


def _is_text(value: Any, item: Any) -> bool:
    return isinstance(value, str)


def _are_objects_with_only(*names: str) -> Callable[[Any, Any], bool]:
    return lambda values, item: (
        isinstance(values, list)
        and all(isinstance(each, dict) and set(names).issuperset(each) for each in values)
    )


# Whether the fields contain all data of a member.
IN_FIELDS: dict[str, Callable[[Any, Any], bool]] = {
    **dict.fromkeys(("id", "url", "title", "summary", "content_html", "language"), _is_text),
    # JSON Feed 1.1: an item can have both; the field has the HTML.
    "content_text": lambda value, item: (
        _is_text(value, item) and not _is_text(item.get("content_html"), item)
    ),
    "tags": lambda value, item: isinstance(value, list) and all(isinstance(each, str) for each in value),
    "authors": _are_objects_with_only("name"),
    "attachments": _are_objects_with_only("url", "mime_type", "size_in_bytes"),
    **dict.fromkeys(
        ("date_published", "date_modified"), lambda value, item: isinstance(value, str) and _is_moment(value)
    ),
}
