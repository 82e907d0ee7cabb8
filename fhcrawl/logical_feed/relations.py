"""What the links of a document mean to its feed's history, and which of them contradict each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from fhcrawl.documents import FeedDocument

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class FeedQuirks:
    """What the user says of an odd publisher.

    :param next_is_archive: `next` links lead to archives that do not change
    :param reversed: relations are written backwards: next-archive leads to the older archive, `previous` to
        the page behind
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
    """A document's links, as its publisher means them."""
    return _meant(document.links, document, quirks)


def contradicted(document: FeedDocument, quirks: FeedQuirks) -> dict[str, list[str]]:
    """The URLs of links that contradict those of `relations`, by the same names."""
    return _meant(document.other_links, document, quirks)


def _meant(links: dict[str, Value], document: FeedDocument, quirks: FeedQuirks) -> dict[str, Value]:
    links = dict(links)
    # What is not history (a draft's `prev`) is the older name of `previous`.
    if "prev" in links and not document.incremental:
        links.setdefault("previous", links["prev"])
    if quirks.reversed:
        links = {REVERSED.get(name, name): value for name, value in links.items()}
    if quirks.next_is_archive and "next" in links:
        links.setdefault("prev-archive", links["next"])
    return links


class Contradiction(NamedTuple):
    """Links of a document with one relation, of which at most one can be followed.

    :param followed: its absolute URL; None if no link names a document
    :param others: the URLs of the others; '' for a link that names no document
    """

    relation: str
    followed: str | None
    others: list[str]


def contradiction(document: FeedDocument, relation: str | None, quirks: FeedQuirks) -> Contradiction | None:
    """The links of a document that contradict the one that is followed, if there are any."""
    others = contradicted(document, quirks).get(relation or "")
    if relation is None or not others:
        return None
    return Contradiction(relation, relations(document, quirks).get(relation), others)


# RFC 5005, 4: prev-archive is "a URI that refers to the immediately preceding archive document": that is one.
# What another link names may hold entries that no other document does.
def older_contradiction(document: FeedDocument, quirks: FeedQuirks) -> Contradiction | None:
    """What contradicts the link to the document behind a document; fh:complete wins over all of them."""
    if document.complete:
        return None
    if found := contradiction(document, "prev-archive", quirks):
        return found
    # RFC 5005, 3: a paged feed's pages; an archive's `next` says nothing.
    is_page = not (document.archive or document.incremental)
    has_archive = "prev-archive" in relations(document, quirks)
    return contradiction(document, "next", quirks) if is_page and not has_archive else None
