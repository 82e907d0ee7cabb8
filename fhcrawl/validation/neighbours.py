"""Rules about the entries of neighbouring documents: what is in two of them, and what may be in none."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from fhcrawl.documents.dates import elapsed
from fhcrawl.logical_feed import Kind, Role
from fhcrawl.logical_feed.versions import comparable
from fhcrawl.validation.entries import MOST_ENTRIES
from fhcrawl.validation.rules import advice, error, good, of_chain, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fhcrawl.validation.entries import Clash
    from fhcrawl.validation.model import Chain, Said

SHOWN = 100  # characters of an id
DAY = 24 * 60 * 60
# A silence that is so many times as long as the longest one within the documents is worth a look.
UNUSUAL = 3
FEWEST = 5  # entries that tell what is usual


# RFC 5005, 4.1: "Publishers SHOULD construct their feed documents in such a way as to make duplicate removal
# unambiguous"; 4.2: the entry's update time decides, else the document's. Between two archives, which do not
# change, a version that differs has another update time (RFC 4287, 4.2.15).
@of_chain("RFC 5005, 4.1 and 4.2")
def one_newest_version(chain: Chain) -> Iterator[Said]:
    """Of an entry in several documents, it is clear which version is the newest."""
    for clash in chain.entries.clashes:
        yield _clash(chain, clash)
    if chain.entries.repeated and not chain.entries.clashes:
        yield good("Of each entry in several documents, it is clear which version is the newest.")
    if chain.entries.is_full:
        yield warning(f"Only {MOST_ENTRIES:,} entries were compared with those of other documents.")


def _clash(chain: Chain, clash: Clash) -> Said:
    newer, older = chain.documents[clash.newer], chain.documents[clash.older]
    text = f"The entry {clash.id[:SHOWN]} differs from that in {newer.requested_url}"
    fix, where = "Give the newer version, or its document, a later update time.", older.requested_url
    if comparable(newer.updated) <= comparable(older.updated):
        return error(f"{text}, and no time says which of them is the newer one.", clash.line, fix, where)
    if not clash.is_timed:
        return advice(f"{text}; only the documents' times say which is newer.", clash.line, fix, where)
    say = error if newer.role is Role.ARCHIVE else warning
    return say(f"{text}, with the same atom:updated.", clash.line, fix, where)


# RFC 4287, 4.2.6: an atom:id "MUST NOT change over time"; RSS 2.0, guid: it "uniquely identifies the item".
@of_chain("RFC 4287, 4.2.6; RSS 2.0, guid")
def ids_stay(chain: Chain) -> Iterator[Said]:
    """An entry has the same id in all documents."""
    for changed in chain.entries.changed_ids:
        where = chain.documents[changed.number].requested_url
        text = f"Entries with the link {changed.link[:SHOWN]} have different ids: is it one entry?"
        yield advice(text, changed.line, "Keep the id of an entry for ever.", where)


# RFC 4287, 4.2.6: atom:id is "a permanent, universally unique identifier for an entry or feed".
@of_chain("RFC 4287, 4.2.6")
def one_feed(chain: Chain) -> Iterator[Said]:
    """All documents of Atom have one feed's atom:id."""
    first = next(iter(chain.documents), None)
    for document in chain.documents[1:]:
        if (
            first is not None
            and None not in (first.feed_id, document.feed_id)
            and document.feed_id != first.feed_id
        ):
            text = (
                f"Its atom:id is {document.feed_id}, and that of the subscription document {first.feed_id}."
            )
            fix = "Give all documents of the feed the same atom:id."
            yield warning(text, document.head_line, fix, document.requested_url)


# RFC 5005, 4: "Archive documents are feed documents that contain less recent entries in the feed."
@of_chain("RFC 5005, 4")
def order_of_dates(chain: Chain) -> Iterator[Said]:
    """A document that prev-archive names has older entries."""
    for newer, older in pairwise(chain.documents):
        if comparable(older.oldest) > comparable(newer.newest) != "":
            text = f"All its entries are newer than those of {newer.requested_url}, which names it as older."
            fix = "Turn the links round, if prev-archive leads to newer archives."
            yield warning(text, None, fix, older.requested_url)


# RFC 5005, 4.2: of entries with one update time, "the entry sourced from the most recently updated feed
# document SHOULD replace all other duplicates".
@of_chain("RFC 5005, 4.2")
def order_of_documents(chain: Chain) -> Iterator[Said]:
    """No archive is updated later than the document that names it."""
    for newer, older in pairwise(chain.documents):
        if chain.kind is Kind.ARCHIVED and comparable(older.updated) > comparable(newer.updated) != "":
            text = f"Its update time, {older.updated}, is later than that of {newer.requested_url}."
            fix = (
                "Give an archive the time of its last change: of equal versions, the later document's counts."
            )
            yield advice(text, older.head_line, fix, older.requested_url)


# RFC 5005, 4: archived feeds "enable clients to do this without losing entries". That no entry was lost
# between two documents is certain only if they share one.
@of_chain("RFC 5005, 4")
def no_hole(chain: Chain) -> Iterator[Said]:
    """The newest archive begins where the subscription document ends."""
    if chain.kind is not Kind.ARCHIVED or chain.begins_with_archive or not chain.documents[1:]:
        return
    newer, older = chain.documents[:2]
    if older.shared:
        yield good("The newest archive and the subscription document share entries: none is lost between.")
    elif newer.oldest is not None and older.newest is not None and newer.entries + older.entries >= FEWEST:
        seconds = elapsed(older.newest, newer.oldest)
        if seconds > max(UNUSUAL * max(newer.widest, older.widest), DAY):
            text = (
                f"Its newest entry is {seconds // DAY} days older than the oldest one of the subscription "
                "document, a longer silence than any within them: no entry may be lost between."
            )
            fix = "Let the subscription document keep entries until an archive has them."
            yield advice(text, None, fix, older.requested_url)
