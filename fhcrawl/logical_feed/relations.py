"""The meaning of a document's links for its feed's history, and contradictions between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from fhcrawl.documents import FeedDocument

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class FeedQuirks:
    """The user's settings for a publisher whose links deviate from RFC 5005.

    :param next_is_archive: `next` links lead to archives that do not change
    :param reversed: relations are written backwards: next-archive leads to the older archive, `previous` to
        the older page
    """

    next_is_archive: bool = False
    reversed: bool = False


PLAIN = FeedQuirks()
REVERSED = {
    "prev-archive": "next-archive",
    "next-archive": "prev-archive",
    "next": "previous",
    "previous": "next",
    "first": "last",
    "last": "first",
}


def relations(document: FeedDocument, quirks: FeedQuirks) -> dict[str, str]:
    """Return a document's links by relation, corrected for the feed's quirks."""
    return _meant(document.links, document, quirks)


def contradicted(document: FeedDocument, quirks: FeedQuirks) -> dict[str, list[str]]:
    """Return the URLs that contradict the links of `relations`, by the same relations."""
    return _meant(document.other_links, document, quirks)


def _meant(links: dict[str, Value], document: FeedDocument, quirks: FeedQuirks) -> dict[str, Value]:
    links = dict(links)
    # Outside feed history, `prev` is the older name of `previous`; in a draft's feed it is not.
    if "prev" in links and not document.incremental:
        links.setdefault("previous", links["prev"])
    if quirks.reversed:
        links = {REVERSED.get(name, name): value for name, value in links.items()}
    if quirks.next_is_archive and "next" in links:
        links.setdefault("prev-archive", links["next"])
    return links


class Contradiction(NamedTuple):
    """Links of a document with one relation, of which at most one can be followed.

    :param followed: absolute URL of the link that is followed; None if no link names a document
    :param others: the URLs of the others; '' for a link that names no document
    """

    relation: str
    followed: str | None
    others: list[str]


def contradiction(document: FeedDocument, relation: str | None, quirks: FeedQuirks) -> Contradiction | None:
    """Return the links that contradict the one of a relation, if there are any."""
    others = contradicted(document, quirks).get(relation or "")
    if relation is None or not others:
        return None
    return Contradiction(relation, relations(document, quirks).get(relation), others)


# RFC 5005, 4: prev-archive is "a URI that refers to the immediately preceding archive document": that is one.
# A document that another link names may hold entries that no other document does.
def older_contradiction(document: FeedDocument, quirks: FeedQuirks) -> Contradiction | None:
    """Return the links that contradict the one to the older document; None if fh:complete is set."""
    if document.complete:
        return None
    if found := contradiction(document, "prev-archive", quirks):
        return found
    # RFC 5005, 3: `next` belongs to paged feeds; it has no meaning in an archive.
    is_page = not (document.archive or document.incremental)
    has_archive = "prev-archive" in relations(document, quirks)
    return contradiction(document, "next", quirks) if is_page and not has_archive else None
