"""Entries of large documents in files."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import pytest

from fhcrawl import documents, logical_feed
from fhcrawl.crawling import parser, spool
from fhcrawl.crawling.parser import Job
from fhcrawl.documents import Bounds, Entry
from fhcrawl.documents.entry_batches import EntryBatches, batches_of
from tests.feeds import E, atom, feed_of, read_feed, rss
from tests.spooling import in_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

URL = "https://example.org/feed"
AUTHOR = "<author><name>Ann</name></author>"
MANY = [E(str(number), text="x" * 500, title=None if number % 7 else "title") for number in range(2500)]


def job(body: str, most: Bounds | None = None) -> Job:
    return Job(body.encode(), URL, None, [], None, True, most or Bounds())


def sizes(entries: Sequence[Entry]) -> list[int]:
    return [len(piece) for piece in batches_of(entries)]


def sent(document: documents.FeedDocument) -> documents.FeedDocument:
    """What comes of a document out of another process."""
    with tempfile.TemporaryFile() as file:
        parser.put_answer(file.fileno(), document)
        return feed_of(parser.take_answer(file.fileno()))


def test_pieces_of_what_was_in_memory_have_no_more_text_than_others() -> None:
    found = read_feed(job(atom([E(str(number), text="x" * 20_000) for number in range(900)])))
    # As those of JSON are, and of multipart pages.
    found.entries = list(found.entries)
    assert max(sizes(sent(found).entries)) < 60


@pytest.mark.parametrize(
    "body",
    [
        atom(MANY),
        # The feed's author stands behind the entries.
        atom(MANY).replace("</feed>", f"{AUTHOR}</feed>"),
        rss(MANY),
        atom(MANY).replace("</feed>", "<entry><id>&oops;</id></entry>"),
        atom([]),
        f'<feed xmlns="http://purl.org/atom/ns#">{AUTHOR}<entry><id>1</id></entry><entry/></feed>',
    ],
    ids=["Atom", "author", "RSS", "broken", "empty", "Atom 0.3"],
)
def test_entries_in_pieces_are_those_in_memory(body: str) -> None:
    whole = read_feed(job(body))
    with in_pieces(700):
        found = read_feed(job(body))
        assert isinstance(found.entries, EntryBatches)
        assert [list(found.entries), list(sent(found).entries)] == [whole.entries] * 2
        assert len(found.entries) == len(whole.entries)
        found.entries = whole.entries
        assert found == whole


def test_piece_has_no_more_entries_and_hardly_more_text_than_it_may() -> None:
    texts = ["x" * 10] * 5 + ["x" * spool.TEXT_AT_ONCE, "x" * 10] * 2
    entries = [Entry(summary=text) for text in texts]
    with in_pieces(3):
        assert sizes(spool.collect(entries)) == [3, 3, 2, 1]


@pytest.mark.parametrize("field", ["summary", "content", "original"])
def test_every_long_text_counts(field: str) -> None:
    entries = [Entry(**{field: "x" * spool.TEXT_AT_ONCE}) for _ in range(2)]  # type: ignore[arg-type]
    assert sizes(spool.collect(entries)) == [1, 1]


def test_entries_can_be_read_by_several_at_once() -> None:
    with in_pieces(1):
        entries = spool.collect([Entry(id=str(number)) for number in range(3)])
    pairs = [(one.id, other.id) for one in entries for other in entries]
    assert pairs == [(one, other) for one in "012" for other in "012"]


def test_small_documents_are_lists() -> None:
    assert isinstance(read_feed(job(atom(MANY))).entries, list)
    assert isinstance(sent(read_feed(job(atom(MANY)))).entries, list)


def test_large_document_of_another_process_comes_in_pieces() -> None:
    document = read_feed(job(atom([E(str(number), text="x" * 2**20) for number in range(17)])))
    assert sizes(document.entries) == [1] * 17
    taken = sent(document)
    assert sizes(taken.entries) == [1] * 17
    assert taken.entries[16] == document.entries[16]
    assert taken.entries[3].digest == logical_feed.digest(taken.entries[3])


def test_bounds_hold_for_entries_in_pieces() -> None:
    body = atom([E("1"), E("2", text="x" * 300), E("3"), E("4"), E("5")])
    most = Bounds(entries=3, text=200)
    whole = read_feed(job(body, most))
    with in_pieces(1):
        found = read_feed(job(body, most))
        assert [entry.id for entry in found.entries] == ["1", "3"]
    assert found.problems == whole.problems
    assert [problem.kind for problem in found.problems] == ["too-long", "too-many"]


def test_document_that_breaks_off_leaves_no_file_open() -> None:
    """Which would be a warning, and so an error."""
    broken = atom([E(str(number), text="x" * 10_000) for number in range(120)])
    with in_pieces(1):
        assert len(read_feed(job(broken.replace("</feed>", ""))).entries) == 120
