"""Rules of RFC 5005 about the links between the documents of a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.logical_feed import Kind, Role
from fhcrawl.validation.rules import advice, error, good, of_chain, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fhcrawl.validation.model import Chain, KeptDocument, Said

NOT_MODIFIED = 304
OLDER = {Role.ARCHIVE: "prev-archive", Role.PAGE: "next"}
BREAK = "Correct the link, or bring the document back: what is older cannot be found."


# RFC 5005, 4.2: "This process should be repeated recursively until the client encounters […] (the end of the
# archive is indicated by a missing prev-archive link relation) or an error is encountered."
@of_chain("RFC 5005, 4.2")
def walk_ends(chain: Chain) -> Iterator[Said]:
    """The links lead from document to document, up to the oldest one."""
    documents, missing = chain.documents, chain.missing
    if missing is not None:
        yield from _cut(chain)
    elif chain.loop is not None:
        number, url = chain.loop
        last, first = documents[-1], documents[number]
        relation = "prev-archive" if url == last.links.get("prev-archive") else "next"
        text = f"Its {relation} link leads to {url}, which has been read already: the chain is a loop."
        if url not in first.own:
            text = f"It is the same as {first.requested_url}, which names it."
        yield error(text, last.lines.get(relation), BREAK, last.requested_url)
    elif chain.limit is not None:
        text = f"The check has stopped at {chain.limit:,} documents: what is older was not checked."
        yield warning(text, None, "Check it with a higher --max-documents.")
    elif chain.kind is Kind.ARCHIVED:
        yield good(f"The chain leads to its oldest document, {documents[-1].requested_url}.")


def _cut(chain: Chain) -> Iterator[Said]:
    missing = chain.missing
    if missing is None:
        return
    if missing.via is None:
        yield error(f"It {missing.detail}.", None, "Give the URL of a feed.", missing.url)
        return
    via = chain.documents[missing.via]
    at, where = via.lines.get(missing.relation), via.requested_url
    if missing.is_limit:
        text = f"{missing.url}, which it names, {missing.detail}: what is older was not checked."
        yield warning(text, at, "Raise the limit, and check it again.", where)
        return
    # RFC 5005, 4.1: publishers "may refuse to serve […] or be unable to serve […] an archive document".
    text = f"The chain is cut: its {missing.relation} link leads to {missing.url}, which {missing.detail}."
    yield error(text, at, BREAK, where)


def _elsewhere(chain: Chain, url: str, expected: str) -> str:
    """Return where a link leads that does not lead to the expected document, or why it leads nowhere."""
    probe = chain.probes.get(url)
    return f"{url}, which {probe.failure}" if probe and probe.failure else f"{url}, and not to {expected}"


# RFC 5005, 4: "Archive documents SHOULD also contain an fh:archive element in their head sections".
@of_chain("RFC 5005, 4")
def archive_marks(chain: Chain) -> Iterator[Said]:
    """Every archive has fh:archive."""
    unmarked = [document for document in chain.archives if not document.archive]
    for document in unmarked:
        fix = "Write <fh:archive/> into its head section: readers that find it first know what it is."
        yield warning("The archive has no fh:archive.", document.head_line, fix, document.requested_url)
    if chain.archives and not unmarked:
        yield good("Every archive is marked with fh:archive.")


# RFC 5005, 4: "next-archive" is "the immediately following archive document"; archive documents "SHOULD also
# have a "next-archive" link relation, unless there are no following archives available".
@of_chain("RFC 5005, 4")
def next_archive(chain: Chain) -> Iterator[Said]:
    """The next-archive link of an archive leads back to the archive that names it."""
    archives = chain.archives
    count = 0
    for document in archives:
        is_newest = document is archives[0] and not chain.begins_with_archive
        wrong = list(_following(chain, document, is_newest))
        count += bool(wrong) or not chain.is_seen(document.links.get("next-archive", document.url))
        yield from wrong
    if len(archives) > 1 and not count:
        yield good("Every next-archive link comes back to the archive that names its document.")


def _following(chain: Chain, document: KeptDocument, is_newest: bool) -> Iterator[Said]:
    url, before = document.links.get("next-archive"), chain.documents[document.number - 1]
    at, where = document.lines.get("next-archive"), document.requested_url
    leads_to = None if url is None else chain.find(url)
    if is_newest:
        if url is not None and leads_to == 0:
            fix = "Remove it: the document after the newest archive is named by current."
            yield warning("Its next-archive link leads to the subscription document.", at, fix, where)
        elif url is not None and chain.is_seen(url):
            fix = f"Let {before.requested_url} name that archive, if it is finished; else remove the link."
            to = _elsewhere(chain, url, "an archive that a prev-archive link names")
            text = f"Its next-archive link leads to {to}."
            yield error(text, at, fix, where)
    elif url is None:
        fix = f"Link to {before.requested_url}."
        yield warning("The archive has no next-archive link.", document.head_line, fix, where)
    elif leads_to != before.number and chain.is_seen(url):
        fix = f"Link to {before.requested_url}."
        text = f"Its next-archive link leads to {_elsewhere(chain, url, before.requested_url)}."
        yield error(text, at, fix, where)


# RFC 5005, 4: "Archive documents SHOULD indicate their associated subscription documents using the "current"
# link relation"; it "returns a feed document containing the most recent entries in the feed".
@of_chain("RFC 5005, 4")
def current(chain: Chain) -> Iterator[Said]:
    """The current link of an archive leads to the subscription document."""
    count = 0
    if chain.begins_with_archive:
        return
    for document in chain.archives:
        url, where = document.links.get("current"), document.requested_url
        fix = f"Link to {chain.documents[0].requested_url}."
        if url is not None and chain.find(url) == 0:
            continue
        count += 1
        if url is None:
            yield warning("The archive has no current link.", document.head_line, fix, where)
        if url is None or not chain.is_seen(url):
            continue
        text = f"Its current link leads to {_elsewhere(chain, url, 'the subscription document')}."
        yield error(text, document.lines.get("current"), fix, where)
    if chain.archives and not count:
        yield good("Every archive names the subscription document.")


# RFC 4287, 4.2.7.2: "self" is "a resource equivalent to the containing element".
@of_chain("RFC 4287, 4.2.7.2")
def self_link(chain: Chain) -> Iterator[Said]:
    """A self link leads to its own document."""
    for document in chain.documents:
        url = document.links.get("self")
        if url is None or chain.find(url) == document.number or not chain.is_seen(url):
            continue
        text = f"Its self link leads to {_elsewhere(chain, url, document.url)}."
        fix = f"Write {document.requested_url}."
        yield warning(text, document.lines.get("self"), fix, document.requested_url)


# RFC 5005, 3: "previous" is "the immediately preceding document in a series of documents", "first" "the
# furthest preceding document".
@of_chain("RFC 5005, 3")
def pages(chain: Chain) -> Iterator[Said]:
    """The previous and first links of pages lead back."""
    for document in chain.documents:
        if document.role is not Role.PAGE:
            continue
        for relation, number in (
            ("previous", document.number - 1),
            ("prev", document.number - 1),
            ("first", 0),
        ):
            url = document.links.get(relation)
            if url is not None and chain.find(url) != number and chain.is_seen(url):
                there = chain.documents[number].requested_url
                text = f"Its {relation} link leads to {_elsewhere(chain, url, there)}."
                at = document.lines.get(relation)
                yield error(text, at, f"Link to {there}.", document.requested_url)


# RFC 9110, 8.8 and 13.1: validators let a client ask whether a document has changed.
@of_chain("RFC 9110, 13.1")
def conditional_requests(chain: Chain) -> Iterator[Said]:
    """The server answers 304 if a document has not changed."""
    asked = [document for document in chain.documents[:2] if document.url.startswith("http")]
    for document in asked:
        where = document.requested_url
        if not document.has_validators:
            fix = "Send ETag or Last-Modified: readers then fetch it only when it has changed."
            yield advice("The response has neither ETag nor Last-Modified.", None, fix, where)
        elif document.conditional is not None and document.conditional != NOT_MODIFIED:
            fix = "Answer 304 while it has not changed."
            yield advice(f"A conditional request was answered with {document.conditional}.", None, fix, where)
    if asked and all(document.conditional == NOT_MODIFIED for document in asked):
        yield good("The server answers 304 to whoever has the document already.")
