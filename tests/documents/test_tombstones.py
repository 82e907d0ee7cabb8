import pytest

from fhcrawl.documents import FeedDocument, Problem, Tombstone
from tests.feeds import URL, atom_feed, read, read_atom

AT = 'xmlns:at="http://purl.org/atompub/tombstones/1.0"'
WHEN = "2005-11-29T12:11:12Z"


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ('<feed xmlns="http://www.w3.org/2005/Atom" %s>', "</feed>"),
        ('<feed xmlns="http://purl.org/atom/ns#" %s>', "</feed>"),
        ("<rss %s><channel>", "</channel></rss>"),
        (
            "<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' %s>",
            "<channel xmlns='http://purl.org/rss/1.0/'/></r:RDF>",
        ),
    ],
)
def test_deleted_entry_is_read_in_every_format(start: str, end: str) -> None:
    body = f'{start % AT}<at:deleted-entry ref=" a\n" when="2005-11-29T13:11:12+01:00"/>{end}'
    assert read(body.encode(), URL).tombstones == [Tombstone("a", WHEN)]


def test_all_tombstones_count_in_document_order() -> None:
    document = read_atom("".join(f'<at:deleted-entry ref="{ref}" when="{WHEN}"/>' for ref in "bab"), AT)
    assert document == FeedDocument("atom", tombstones=[Tombstone(ref, WHEN) for ref in "bab"])


@pytest.mark.parametrize(("when", "shown"), [("", "None"), ('when=""', "''"), ('when="s\x7f"', r"'s\x7f'")])
def test_when_that_cannot_be_read_is_a_problem_and_a_tombstone_all_the_same(when: str, shown: str) -> None:
    document = read_atom(f'<at:deleted-entry ref="a" {when}/>', AT)
    assert document.tombstones == [Tombstone("a", None)]
    detail = f"the when attribute of its at:deleted-entry is not a date: {shown}"
    assert document.problems == [Problem("unreadable-date", "a", detail)]


def test_tombstone_without_ref_is_a_problem_and_none() -> None:
    document = read_atom(f'<at:deleted-entry ref="a" when="{WHEN}"/><at:deleted-entry when="{WHEN}"/>', AT)
    assert document.tombstones == [Tombstone("a", WHEN)]
    assert [(problem.kind, problem.entry) for problem in document.problems] == [("no-ref", "deleted entry 2")]


def test_what_is_inside_a_tombstone_is_nobodys() -> None:
    document = read_atom(
        f'<at:deleted-entry ref="a" when="{WHEN}"><link rel="prev-archive" href="x"/><title>t</title>'
        '<fh:complete xmlns:fh="http://purl.org/syndication/history/1.0"/><updated>2005-01-01</updated>'
        f'<entry><id>b</id></entry><at:deleted-entry ref="c" when="{WHEN}"/></at:deleted-entry>',
        AT,
    )
    assert document == FeedDocument("atom", tombstones=[Tombstone("a", WHEN)])


@pytest.mark.parametrize("cut", ["<at:by>", "</at:deleted-entr", ""])
def test_document_cut_inside_a_tombstone_loses_that_one(cut: str) -> None:
    inside = f'<at:deleted-entry ref="a" when="{WHEN}"/><at:deleted-entry ref="b" when="{WHEN}">{cut}'
    document = read(atom_feed(inside, AT).removesuffix(b"</feed>"), URL)
    assert document.tombstones == [Tombstone("a", WHEN)]
    assert document.fault
