"""Decides when an entry that no document of a chain holds any more is gone at its publisher.

Pure: numbers of walks in, numbers of walks out; so clocks do not matter.

Entries move from document to document: to an older page when others are added, to a newer page when others
are deleted, from the subscription document to an archive. An entry that no document held when it was read can
have moved from a document that was read later to one that was read before. So each document has to be seen
twice, with the same content. Let there be a walk such that every archive (or page) was first seen as it is
now in an earlier walk, and was last seen so in this walk, or later. Then all of them were so at the moment
when this walk read the subscription document: what none of them holds, nor the subscription document, was not
published at that moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class Seen(NamedTuple):
    """When a document was seen, as it is known.

    :param changed: number of the walk that first saw it so; None if that is not known
    :param checked: number of the last walk that saw it so
    """

    changed: int | None
    checked: int | None


def snapshot_walk(documents: Collection[Seen], subscription: Seen) -> int | None:
    """Return the last walk at whose beginning all documents of a chain were as they are known; None for none.

    :param documents: the documents of the chain without the subscription document, all of them
    :param subscription: the subscription document; it may have changed since that walk
    """
    changed = [one.changed for one in documents if one.changed is not None]
    checked = [one.checked for one in (*documents, subscription) if one.checked is not None]
    if not documents or len(changed) < len(documents) or len(checked) <= len(documents):
        return None
    last = min(checked)
    return last if max(changed) < last else None


def is_gone(missed: int, snapshot: int | None) -> bool:
    """Return whether an entry is gone that no document holds.

    :param missed: number of a walk since which no subscription document that was read had it
    :param snapshot: what `snapshot_walk` returns
    """
    return snapshot is not None and missed <= snapshot


def missed_since(missed: int, looked: int, changed: int | None, walk: int) -> int:
    """Return since which walk no subscription document that was read had an entry that no document holds now.

    A walk that was killed has read a subscription document that nobody has looked at.

    :param missed: the same when the entry was last looked for
    :param looked: number of the walk in which it was last looked for
    :param changed: number of the walk that first saw the subscription document as it is
    :param walk: number of this walk
    """
    return missed if changed is not None and changed <= looked + 1 else walk


def unconfirmed(documents: Sequence[Seen], missed: int) -> list[int]:
    """Return the indexes of the documents to be seen again before it is known that an entry is gone.

    :param missed: see `is_gone`
    """
    since = max([missed, *(one.changed + 1 for one in documents if one.changed is not None)])
    return [index for index, one in enumerate(documents) if one.checked is None or one.checked < since]
