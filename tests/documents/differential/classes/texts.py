"""Classes of differences in texts, authors and categories."""

from __future__ import annotations

import base64
import re
from email.utils import parseaddr
from html import unescape
from typing import TYPE_CHECKING, Any

from tests.documents.differential.classes.readings import (
    WINDOWS_1252,
    bare,
    decoded_again,
    decoded_as_declared,
    decoded_otherwise,
    is_read,
    readings,
    texts_of,
    their_texts,
    unresolved,
)
from tests.documents.differential.classes.registry import is_explained, is_unknown, of
from tests.documents.differential.documents import ROOTS
from tests.documents.differential.expected import persons
from tests.documents.differential.tables import NAMES

if TYPE_CHECKING:
    from tests.documents.differential.comparing import Difference

TEXTS = ("title", "summary", "content", "authors", "categories", "head title")


@of("XML 1.0, 4.6: '&amp;' is '&', in a document that is not well-formed too", *TEXTS, "id", "link")
def escaped_in_sgml(d: Difference) -> bool:
    return d.is_loose and is_read(d, lambda _text: ())


@of("XML 1.0, 2.2: U+0080 to U+009F are characters of their own", *TEXTS)
def controls_are_windows_1252(d: Difference) -> bool:
    return is_read(d, lambda text: {text.translate(WINDOWS_1252)})


@of("XML 1.0, 4.3.3: a document has one encoding; a text is decoded once", *TEXTS)
def decoded_twice(d: Difference) -> bool:
    return is_read(d, lambda text: {decoded_again(text)})


@of(
    "XML 1.0, 4.3.3: a declaration counts, though white space or a comment stands before it",
    *TEXTS,
    "id",
    "link",
    "head links",
)
def declaration_is_ignored(d: Difference) -> bool:
    if not d.document.before or d.document.encoding.codec == "utf-8" or d.theirs is None:
        return False
    if d.field != "head links" and is_read(d, lambda text: decoded_otherwise(d, text)):
        return True
    again = (d._replace(theirs=_as_declared(d, guessed)) for guessed in ("cp1252", "iso-8859-2"))
    return any(is_explained(each, declaration_is_ignored) for each in again)


def _as_declared(d: Difference, guessed: str) -> Any:
    if isinstance(d.theirs, str):
        return decoded_as_declared(d, d.theirs, guessed)
    if isinstance(d.theirs, dict):
        return {name: decoded_as_declared(d, value, guessed) for name, value in d.theirs.items()}
    return [decoded_as_declared(d, one, guessed) for one in d.theirs]


@of("XML 1.0, 4.4.2: a reference to an internal entity is replaced by its text", *TEXTS)
def entity_is_unresolved(d: Difference) -> bool:
    return is_read(d, lambda text: {unresolved(d, text)})


@of("Namespaces in XML 1.0, 4: a prefix stands for its namespace, in malformed documents too", "entries")
def prefix_of_the_root_is_unknown(d: Difference) -> bool:
    own = d.document.namespace
    has_other = own != ROOTS[d.document.format] and own in d.document.namespaces.values()
    return ("" in d.document.prefixes or has_other) and d.theirs == 0


@of("XML 1.0, 4.3.3: a document in UTF-16 has a byte order mark, whatever comes first", "entries")
def nothing_is_read(d: Difference) -> bool:
    return bool(d.document.before) and d.document.encoding.codec.startswith("utf-16") and d.theirs == 0


# -- authors and categories -----------------------------------------------------------------------

AUTHORS = ("author", "dc:creator", "itunes:author", "atom:author")


def _authors(d: Difference) -> set[str]:
    """Return what feedparser may take for an author of an entry."""
    texts = (
        text for says in d.element.says(*AUTHORS) for text in ([says] if isinstance(says, str) else says)
    )
    names = {name for text in texts for name in (text, *parseaddr(text), _comment(text)) if name}
    return {reading for name in names for reading in readings(d, name)}


def _comment(text: str) -> str:
    return text.partition("(")[2].rstrip(")")


@of("RSS 2.0, <author>; Dublin Core, 'creator': the text is the author; it is kept as it is", "authors")
def address_is_split(d: Difference) -> bool:
    has_address = any("@" in text and " " in text for text in d.ours)
    return has_address and len(d.theirs) >= len(d.ours) and set(their_texts(d)) <= _authors(d)


@of("RSS 2.0 and Dublin Core say the same again; the format's own authors come before a module's", "authors")
def every_author_counts(d: Difference) -> bool:
    own, others = d.element.says(*AUTHORS[:2]), d.element.says(*AUTHORS[2:])
    is_repeated = len(own) > len(set(own)) or len(others) > 1
    return (
        (bool(own and others) or is_repeated)
        and len(d.theirs) > len(d.ours)
        and set(their_texts(d)) <= _authors(d)
    )


@of("RFC 4287, 3.2: a person without a name is not the person before it", "authors")
def name_of_another_author(d: Difference) -> bool:
    persons_ = [
        piece.says for piece in d.element.of("author", "atom:author") if not isinstance(piece.says, str)
    ]
    if persons_ and not d.document.is_atom:
        return set(their_texts(d)) <= _authors(d)
    has_name = [bool(says) and says[0] in {name for name, *_ in NAMES} for says in persons_]
    return not all(has_name) and set(their_texts(d)) <= _authors(d)


@of("RFC 4287, 4.2.1: the authors of atom:source, then those of the feed, are the entry's", "authors")
def authors_are_not_inherited(d: Difference) -> bool:
    return d.document.is_atom and not d.theirs and not persons(d.element.of("author"))


@of(
    "RFC 4287, 6.3: Dublin Core's elements are foreign markup in Atom, which has its own",
    "authors",
    "categories",
)
def dublin_core_in_atom(d: Difference) -> bool:
    tag = "dc:creator" if d.field == "authors" else "dc:subject"
    theirs = {
        reading
        for text in d.element.says(tag)
        for one in (text, *parseaddr(text), _comment(text))
        for reading in readings(d, one)
    }
    is_foreign = d.document.format == "atom" or d.field == "authors"
    return (
        d.document.is_atom and is_foreign and {one.strip() for one in their_texts(d)} <= theirs | set(d.ours)
    )


@of(
    "DCMI Metadata Terms: its creator and subject are those of Dublin Core's elements",
    "authors",
    "categories",
)
def terms_are_unknown(d: Difference) -> bool:
    terms = ("dcterms:creator", "dcterms:subject")
    return is_unknown(d, lambda piece: piece.tag in terms, terms_are_unknown)


@of("A category that is said again is no other one", "categories")
def category_is_repeated(d: Difference) -> bool:
    return len(d.theirs) > len(d.ours) and [*dict.fromkeys(their_texts(d))] == d.ours


def _without_keywords(d: Difference) -> list[str]:
    """Return the categories that feedparser finds, each once, without keywords of iTunes."""
    words = {
        reading
        for text in d.element.says("itunes:keywords")
        for word in text.split(",")
        for reading in readings(d, word.strip())
    }
    own = [one for one in their_texts(d) if one in d.ours or one not in words]
    return list(dict.fromkeys(own))


@of("iTunes, <itunes:keywords>: search terms of one directory, no categories of the entry", "categories")
def keywords_are_categories(d: Difference) -> bool:
    return bool(d.element.says("itunes:keywords")) and set(_without_keywords(d)) == set(d.ours)


@of("Atom 0.3 has no atom:category", "categories")
def category_in_atom_03(d: Difference) -> bool:
    return d.document.format == "atom03" and {one.strip() for one in their_texts(d)} - set(d.ours) <= set(
        d.element.says("category")
    )


@of("RFC 4287, 4.2.2.1: the term identifies the category; white space around it does not", "categories")
def space_in_term(d: Difference) -> bool:
    return d.document.is_atom and [*dict.fromkeys(one.strip() for one in d.theirs)] == d.ours


# -- titles, summaries and contents ---------------------------------------------------------------

SUMMARIES = (
    "description",
    "summary",
    "itunes:summary",
    "dc:description",
    "media:description",
    "atom:summary",
)
CONTENTS = ("content", "content:encoded", "atom:content")


def _content(d: Difference) -> str | None:
    """Return what feedparser takes for the content."""
    contents = d.entry.get("content") or [{}]
    value: str | None = contents[0].get("value")
    return value


@of("RFC 4287, 4.1.2, and RSS 2.0: the content is no summary", "summary")
def content_is_summary(d: Difference) -> bool:
    return d.ours is None and bare(d, d.theirs) in texts_of(d, *CONTENTS)


@of("RFC 4287, 4.1.2: no more than one; in RSS, its own element comes first", "summary")
def other_summary_counts(d: Difference) -> bool:
    return len(d.element.anywhere(*SUMMARIES)) > 1 and bare(d, d.theirs) in texts_of(d, *SUMMARIES) | {None}


@of("Media RSS, media:description: what is said of a file is no summary beside a content", "summary")
def description_of_a_file_counts(d: Difference) -> bool:
    return d.ours is None and bare(d, d.theirs) in texts_of(d, "media:description")


@of("RFC 4287, 4.1.2, and RSS 2.0: a second summary is no content", "content", "content_type")
def summary_is_content(d: Difference) -> bool:
    if len(d.element.anywhere(*SUMMARIES)) < 2:
        return False
    return bare(d, _content(d)) in texts_of(d, *SUMMARIES)


@of("RFC 4287, 6.3: elements of RSS's modules are foreign markup in Atom", "content", "content_type")
def module_in_atom(d: Difference) -> bool:
    return d.document.is_atom and bare(d, _content(d)) in texts_of(d, CONTENTS[1])


@of("RFC 4287, 4.1.2: no more than one; in RSS, content:encoded comes first", "content", "content_type")
def other_content_counts(d: Difference) -> bool:
    contents = d.element.of(*CONTENTS)
    # RFC 4287, 4.1.3.2: with "src", the content is elsewhere.
    is_elsewhere = not _content(d) and any(piece.says[:1] == ("src",) for piece in contents)
    return len(contents) > 1 and (is_elsewhere or bare(d, _content(d)) in texts_of(d, *CONTENTS))


@of("RFC 4287, 4.1.3.3: content of another media type is bytes, in base64", "content", "content_type")
def bytes_are_text(d: Difference) -> bool:
    if "base64" not in [piece.form for piece in d.element.of("content")]:
        return False
    if d.field == "content_type":
        return bool(d.ours == f"{d.theirs};base64")
    return d.theirs in readings(d, base64.b64decode(d.ours).decode())


@of("RFC 4287, 4.1.3.3: content of an XML media type is markup", "content")
def markup_is_lost(d: Difference) -> bool:
    return "xml" in [piece.form for piece in d.element.of("content")] and d.theirs == re.sub(
        "<[^>]*>", "", d.ours
    )


@of("XML 1.0, 3.1, and RFC 4287, 3.1.1: the markup is written in another way", *TEXTS)
def markup_is_written_otherwise(d: Difference) -> bool:
    if not isinstance(d.ours, str):
        return False
    ours = bare(d, d.ours)
    return ours is not None and ours in {bare(d, d.theirs), bare(d, unescape(d.theirs or ""))}


@of("RFC 4287, 3.1.1, and Atom 0.3: the type is what the element says", "content_type")
def type_is_guessed(d: Difference) -> bool:
    pieces = d.element.of(*CONTENTS)
    content = _content(d) or ""
    if d.theirs == "html":
        return d.ours == "text" and not d.document.is_atom and bool(re.search("[<&]", content))
    is_unescaped = {"naked", "xml"} & {one.form for one in pieces}
    return d.theirs == "xhtml" and d.ours in ("html", "text/html") and bool(is_unescaped)


@of("RFC 4287, 4.1.3.1: text/html is a media type", "content_type")
def media_type_is_shortened(d: Difference) -> bool:
    return (d.ours, d.theirs) == ("text/html", "html")


TITLES = ("title", "media:title", "dc:title", "atom:title")


@of("RFC 4287, 3.1.1.3: markup in xhtml is no part of a plain text", "title", "head title")
def markup_in_title(d: Difference) -> bool:
    return bool(d.ours == unescape(re.sub("<[^>]*>", "", d.theirs or "")).strip())


@of(
    "RFC 4287, 4.1.2: no more than one; the format's own title comes before a module's", "title", "head title"
)
def other_title_counts(d: Difference) -> bool:
    titles = d.element.anywhere(*TITLES, "itunes:title")
    if d.theirs == "image title":
        return bool(d.element.of("image", "textInput"))
    return len(titles) > 1 and bare(d, d.theirs) in texts_of(d, *TITLES) | {None}


@of("Media RSS, media:title: what is said of one file among several is not the entry's title", "title")
def title_of_a_file_counts(d: Difference) -> bool:
    return d.ours is None and bare(d, d.theirs) in texts_of(d, "media:title")


@of("RSS 2.0, <title> of a channel: the title is the channel's own", "head title")
def title_of_dublin_core_counts(d: Difference) -> bool:
    return d.ours is None and bare(d, d.theirs) in texts_of(d, "dc:title")


@of("iTunes, <itunes:title>: the title of the episode", "title")
def itunes_title_is_none(d: Difference) -> bool:
    return d.theirs is None and d.ours in [one.strip() for one in d.element.says("itunes:title")]
