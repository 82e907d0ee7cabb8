"""Generates feed documents of all XML formats from a seed."""

import codecs
import random
from dataclasses import replace
from random import Random

from tests.documents.generated import pieces
from tests.documents.generated.documents import NAMESPACES, ROOTS, Document, Element, Encoding

FORMATS = ("atom", "atom", "rss", "rss", "rss", "rdf", "atom03")
VERSIONS = {"atom": ("",), "atom03": ("0.3",), "rdf": ("",), "rss": ("2.0", "2.0", "0.91", "0.92", "")}
RSS_NAMESPACES = ("http://backend.userland.com/rss2", "http://blogs.law.harvard.edu/tech/rss")
PREFIXES = {"dc": "d", "content": "c", "atom": "a10", "media": "m", "itunes": "it"}
ENCODINGS = (
    *[Encoding()] * 12,
    Encoding(declared=None, has_declaration=False),
    Encoding(declared=None),
    Encoding(mark=codecs.BOM_UTF8),
    Encoding("utf-16-le", "utf-16", mark=codecs.BOM_UTF16_LE),
    Encoding("utf-16-be", "utf-16", mark=codecs.BOM_UTF16_BE),
    Encoding("cp1252", "windows-1252"),
    Encoding("latin-1", "iso-8859-1"),
    Encoding("cp1252", "utf-8"),
    Encoding("cp1252", None, has_declaration=False),
    Encoding("utf-8", "iso-8859-1", charset="utf-8"),
    Encoding("shift_jis", "Shift_JIS"),
    Encoding("koi8-r", "koi8-r", has_declaration=False, charset="koi8-r"),
    Encoding("gb18030", "gb2312"),
)
# How often items stand beside the channel.
BESIDE = {"rdf": 0.9, "rss": 0.03}
DOCTYPES = (
    *[""] * 20,
    "<!-- a comment --><?xml-stylesheet href='a.css'?>\n",
    '<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN"'
    ' "http://my.netscape.com/publish/formats/rss-0.91.dtd">\n',
    "<!DOCTYPE feed [<!ENTITY eacute '&#233;'><!ENTITY own 'an own text'>]>\n",
)


def generate(seed: object) -> Document:
    """Return the document of a seed."""
    rng = random.Random(str(seed))  # noqa: S311
    format_ = rng.choice(FORMATS)
    document = Document(
        format=format_,
        namespace=_namespace(rng, format_),
        version=rng.choice(VERSIONS[format_]),
        namespaces={name: _spelled(rng, uri) for name, uri in NAMESPACES.items()},
        prefixes=_prefixes(rng, format_),
        head=Element((), _attributes(rng, 0.05)),
        entries=(),
        root_attributes=_attributes(rng, 0.1),
        encoding=rng.choice(ENCODINGS),
        before=rng.choice((*[""] * 30, "\n", "<!-- a comment -->\n")),
        doctype=rng.choice(DOCTYPES),
        beside=rng.random() < BESIDE.get(format_, 0),
        is_faulty=rng.random() < 0.1,
    )
    if document.is_atom:
        document = replace(document, head=Element(()))
    if not document.namespace:
        # Namespaces in XML 1.0, 5: a prefix has to be declared.
        document = replace(document, prefixes={name: own for name, own in document.prefixes.items() if name})
    writer = pieces.Writer(rng, document)
    document = replace(document, head=replace(document.head, pieces=writer.head()))
    if document.is_faulty and rng.random() < 0.3:
        document = replace(document, namespaces=_without_a_usual_one(rng, document))
    entries = []
    for number in range(rng.choice((1, 1, 2, 3))):
        attributes = _attributes(rng, 0.08)
        if format_ == "rdf" and rng.random() < 0.8:
            attributes += (("rdf:about", f"http://example.org/about/{number}"),)
        entry = Element((), attributes)
        entries.append(replace(entry, pieces=writer.entry(entry, number)))
    return replace(document, entries=tuple(entries))


def _namespace(rng: Random, format_: str) -> str:
    if format_ == "rss":
        return rng.choice(("", "", "", "", "", "", "", "", "", *RSS_NAMESPACES))
    if format_ == "atom" and rng.random() < 0.03:
        return ""
    return _spelled(rng, ROOTS[format_])


def _spelled(rng: Random, uri: str) -> str:
    """Return a namespace as a publisher may have written it."""
    if rng.random() < 0.95:
        return uri
    other = uri.removesuffix("/").removesuffix("#") if uri.endswith(("/", "#")) else uri + "/"
    return rng.choice((uri.replace("http:", "https:"), other, uri.lower(), uri.upper()))


def _without_a_usual_one(rng: Random, document: Document) -> dict[str, str]:
    """Return the namespaces of a document that does not declare one of the usual prefixes."""
    name = rng.choice(("content", "dc", "media", "itunes"))
    is_usual = document.prefixes[name] == name
    return {other: uri for other, uri in document.namespaces.items() if other != name or not is_usual}


def _prefixes(rng: Random, format_: str) -> dict[str, str]:
    own = {name: PREFIXES.get(name, name) if rng.random() < 0.08 else name for name in NAMESPACES}
    return {**own, "": "x"} if format_.startswith("atom") and rng.random() < 0.05 else own


def _attributes(rng: Random, probability: float) -> tuple[tuple[str, str], ...]:
    found = []
    if rng.random() < probability:
        found.append(("xml:base", rng.choice(pieces.BASES)))
    if rng.random() < probability:
        found.append(("xml:lang", rng.choice(("de", "en-US", ""))))
    return tuple(found)
