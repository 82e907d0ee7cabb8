"""Classes of differences in ids, links, enclosures and times."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from tests.documents.differential.classes.readings import readings
from tests.documents.differential.classes.registry import is_unknown, of
from tests.documents.differential.comparing import their_time
from tests.documents.differential.documents import NAMESPACES

if TYPE_CHECKING:
    from tests.documents.differential.comparing import Difference
    from tests.documents.differential.documents import Piece

# -- ids and links --------------------------------------------------------------------------------


def _ids(d: Difference) -> set[str]:
    """Return all ids of an entry, as they are and resolved."""
    pieces = d.element.of("guid", "id")
    ids = [piece.says if isinstance(piece.says, str) else piece.says[0] for piece in pieces]
    known = {reading for id_ in ids for reading in readings(d, id_)}
    return known | {urljoin(base, id_) for base in _bases(d) for id_ in known}


# feedparser may keep that of an entry before it.
def _bases(d: Difference) -> set[str]:
    return {d.document.bases(entry) for entry in d.document.entries}


def _alternates(d: Difference) -> list[tuple[str, str | None]]:
    """Return the URLs and media types of an element's links; '' for one without a URL."""
    found: list[tuple[str, str | None]] = []
    for piece in d.element.of("link", "atom:link"):
        if isinstance(piece.says, str):
            found.append((piece.says, None))
        elif not piece.says or piece.says[0].lower() == "alternate":
            found.append(piece.says[1:3] if piece.says else ("", None))
    return found


@of("RFC 4287, 4.2.6.1, and RSS 2.0, <guid>: an id is compared as it is, never resolved", "id")
def id_is_resolved(d: Difference) -> bool:
    return d.theirs in {urljoin(base, reading) for base in _bases(d) for reading in readings(d, d.ours or "")}


@of("RFC 4287, 4.1.2: exactly one atom:id; RSS 2.0: a guid is unique: the first one counts", "id")
def last_id_counts(d: Difference) -> bool:
    return len(d.element.of("guid", "id")) > 1 and (d.theirs or "") in _ids(d) - {d.ours}


@of("RSS 1.0, 5.5: an item's rdf:about identifies it; an empty guid does not", "id")
def empty_guid_counts(d: Difference) -> bool:
    return d.theirs is None and d.ours == d.element.attribute("rdf:about") and bool(d.element.of("guid"))


@of("RFC 4287, 4.2.6: an id is not assumed to be dereferencable; a guid is a link if it is a URL", "link")
def id_is_link(d: Difference) -> bool:
    about = d.element.attribute("rdf:about")
    return d.ours in (None, about) and d.theirs in _ids(d) - {about}


@of("RSS 2.0, <guid>, and RSS 1.0, 5.5: RSS's own identifiers that are links come before a module's", "link")
def link_of_a_module_counts(d: Difference) -> bool:
    own = _ids(d) | {d.element.attribute("rdf:about")}
    return d.ours in own and (d.theirs or "").strip() in {url for url, _kind in _alternates(d)}


@of("RSS 2.0, <guid>: only isPermaLink='false' says that it is no link", "link")
def only_true_is_permalink(d: Difference) -> bool:
    spelled = [piece.says[1] for piece in d.element.of("guid") if piece.says[0] == d.ours]
    return spelled[:1] in (["TRUE"], [""]) and (d.theirs is None or d.theirs in _ids(d))


@of("RFC 4287, 4.2.7.1: a link without a URL is none; a guid can be the link", "link")
def empty_link_counts(d: Difference) -> bool:
    return d.theirs is None and d.ours in _ids(d) and {url for url, _kind in _alternates(d)} == {""}


@of("RFC 3987, 2.2: an IRI has no white space; what stands around it is the document's", "link", "head links")
def space_in_reference(d: Difference) -> bool:
    if d.field == "link":
        return bool((d.theirs or "").strip() == d.ours)
    return bool(d.ours == {relation: url.strip() for relation, url in d.theirs.items()})


@of("RFC 4287, 4.2.7.3: a link's type is a hint about what it leads to; any alternate is one", "link")
def only_html_is_link(d: Difference) -> bool:
    links = _alternates(d)
    others = {"", *_ids(d), *(url for url, kind in links if kind != "application/json")}
    return (d.ours, "application/json") in links and (d.theirs or "").strip() in others - {d.ours}


@of("RFC 4287, 4.1.2: no two alternates of a type; the first link counts, in RSS its own", "link")
def last_link_counts(d: Difference) -> bool:
    links = [url for url, _kind in _alternates(d)]
    return d.ours in links and len(links) > 1 and (d.theirs or "").strip() in links


@of("Media RSS, media:player: the page of the file is the link of an entry without another one", "link")
def player_is_no_link(d: Difference) -> bool:
    return d.ours in d.element.says("media:player") and (d.theirs is None or d.theirs in _ids(d))


@of("RSS 1.0, 5.5: an item's rdf:about is its link, where it has none", "link")
def about_is_no_link(d: Difference) -> bool:
    return d.ours == d.element.attribute("rdf:about") and d.theirs is None


@of("RSS 1.0, 6.1, and Dublin Core, 'identifier': it identifies an item that nothing else identifies", "id")
def identifier_is_no_id(d: Difference) -> bool:
    return d.theirs is None and d.ours in [one.strip() for one in d.element.says("dc:identifier")]


# -- times ----------------------------------------------------------------------------------------

# What feedparser takes for one time, whatever the format.
PUBLISHED = ("pubDate", "published", "issued", "atom:published", "dcterms:issued")
UPDATED = ("updated", "modified", "lastBuildDate", "dc:date", "dcterms:modified", "atom:updated")
# The ways of writing a time that feedparser does not read, or reads as another time.
MISREAD = frozenset(
    {
        "no time",  # RFC 3339, 5.7; RFC 5322, 3.3: no such month, day or hour; none rather than a guess
        "American",
        "weekday, American, dash",
        "German",
        "French",
        "a city's zone",
        "Eastern and Pacific time",
        "ISO 8601, basic",  # ISO 8601-1, 4.3.2: the time belongs to it
        "RFC 3339, space and zone",
        "RFC 822, other zones",  # ISO 8601-1, 4.2.5: a name that means one offset says by how much
        "a day, slashes",
        "a day, basic",
        "an ordinal day",
        "24:00",  # ISO 8601-1, 4.2.3: the end of the day
    }
)


def _times(d: Difference) -> list[Piece]:
    return d.element.of(*(PUBLISHED if d.field == "published" else UPDATED))


def _last_read(pieces: list[Piece]) -> str | None:
    """Return what feedparser takes for the time: the last one."""
    return their_time(re.sub(r"<!\[CDATA\[|\]\]>|<[^>]*>", "", pieces[-1].markup)) if pieces else None


TIMES = ("published", "updated", "head updated")
FIELDS = (
    *("title", "link", "authors", "categories", "summary", "content", "content_type"),
    *("enclosures", "head links"),
)


@of("Namespaces in XML 1.0, 1: they name vocabularies, which publishers know as addresses", *FIELDS, *TIMES)
def spelling_of_a_namespace_is_unknown(d: Difference) -> bool:
    odd = {name for name, uri in d.document.namespaces.items() if uri != NAMESPACES[name]}

    def is_odd(piece: Piece) -> bool:
        return piece.tag.partition(":")[0] in odd

    if d.field in TIMES:
        known = [piece for piece in _times(d) if not is_odd(piece)]
        return any(map(is_odd, d.element.pieces)) and bool(d.theirs == _last_read(known))
    return is_unknown(d, is_odd, spelling_of_a_namespace_is_unknown)


@of("RFC 3339, 5.6 and 5.7; RFC 5322, 3.3 and 4.3; ISO 8601-1: what the text means", *TIMES)
def time_is_misread(d: Difference) -> bool:
    pieces = _times(d)
    return len(pieces) == 1 and pieces[0].form in MISREAD and d.theirs == _last_read(pieces)


@of("RFC 4287, 4.1.2: no more than one; in RSS, its own element comes first", *TIMES)
def last_time_counts(d: Difference) -> bool:
    created = d.element.of("dcterms:created", "dcterms:date", "dc:date") if d.field == "published" else []
    pieces = _times(d)
    return bool(pieces) and len([*pieces, *created]) > 1 and d.theirs == _last_read(pieces)


@of("Dublin Core, 'date': of an event in the life of the resource, which is its publication", *TIMES[:2])
def dc_date_is_update_time(d: Difference) -> bool:
    dates = d.element.of("dc:date", "dcterms:date", "dcterms:created")
    if d.field == "published":
        return d.theirs is None and not _times(d) and d.ours in [piece.says for piece in dates]
    return d.ours is None and bool(dates) and d.theirs == _last_read(_times(d))


@of("Atom 0.3, 4.13.7: without atom:issued, atom:created is when the entry came into being", "published")
def created_is_no_publication(d: Difference) -> bool:
    return d.theirs is None and not _times(d) and d.ours in d.element.says("created")


@of(
    "draft-nottingham-atompub-feed-history-08: without lastBuildDate, pubDate is the document's time",
    "head updated",
)
def pub_date_is_no_update_time(d: Difference) -> bool:
    return d.ours in d.element.says("pubDate") and d.theirs == _last_read(_times(d))


# -- enclosures and the head's links --------------------------------------------------------------


def _enclosures(d: Difference) -> list[tuple[str, str | None]]:
    """Return the enclosures that feedparser finds, resolved, without the type that it supposes."""
    base, ours = d.document.bases(d.element), {one[:2] for one in d.ours}
    found = [(urljoin(base, url.strip()), kind) for url, kind, _length in d.theirs if url]
    return [(url, None if kind == "text/html" and (url, kind) not in ours else kind) for url, kind in found]


@of("XML 1.0, 4.3.3: a declaration counts, though white space or a comment stands before it", "enclosures")
def declaration_is_ignored_in_urls(d: Difference) -> bool:
    is_other = bool(d.document.before) and d.document.encoding.codec != "utf-8"
    # feedparser supposes a type.
    ours, theirs = (
        [(kind or "text/html", length) for _url, kind, length in each] for each in (d.ours, d.theirs)
    )
    return is_other and ours == theirs


@of(
    "XML Base, 4; RSS 2.0, <enclosure>: its URL is resolved as all are; RFC 4287, 4.2.7.3: no type is none",
    "enclosures",
)
def enclosure_as_written(d: Difference) -> bool:
    ours = [one[:2] for one in d.ours]
    return Counter(ours) == Counter(_enclosures(d)) or set(ours) == _once(d)


# RSS's own elements come first; a file that one of them and Atom's link name is one.
def _once(d: Difference) -> set[tuple[str, str | None]]:
    ours = {one[:2] for one in d.ours}
    return set({one[0]: one for one in sorted(_enclosures(d), key=ours.__contains__)}.values())


@of(
    "Media RSS, media:content; RFC 4287, 4.1.3.2, src, and 4.2.7.2, enclosure: files of the entry",
    "enclosures",
)
def media_are_no_enclosures(d: Difference) -> bool:
    media = {piece.says[0] for piece in d.element.anywhere("media:content") if piece.says}
    media |= set(d.element.says("media:thumbnail"))
    media |= {piece.says[1] for piece in d.element.of("content", "atom:content") if piece.says[0] == "src"}
    if not d.document.is_atom:
        links = [piece.says for piece in d.element.of("atom:link")]
        media |= {says[1] for says in links if says and says[0].lower() == "enclosure"}
    ours, theirs = [one[:2] for one in d.ours], _once(d)
    return (
        all(one in ours for one in theirs)
        and {url for url, kind in ours if (url, kind) not in theirs} <= media
    )


@of("RSS 2.0, <link> of a channel: the page of the feed, no link of the document", "head links")
def page_is_link(d: Difference) -> bool:
    links = {relation: url.strip() for relation, url in d.theirs.items() if relation != "alternate"}
    return not d.document.is_atom and {r: url for r, url in d.ours.items() if r != "alternate"} == links
