import pytest

from fhcrawl.documents.xml import elements, namespaces, repair
from fhcrawl.documents.xml.namespaces import canonical
from tests.feeds import URL, ids, kinds, read

CONTENT = "http://purl.org/rss/1.0/modules/content/"


UNKNOWN = ("", "urn:example", "https://elsewhere.example/", "http://purl.org/rss/1.1/")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (CONTENT, CONTENT),
        ("https://purl.org/rss/1.0/modules/content/", CONTENT),
        ("http://purl.org/rss/1.0/modules/content", CONTENT),
        ("HTTP://PURL.ORG/RSS/1.0/Modules/Content/#", CONTENT),
        (" http://purl.org/rss/1.0/modules/content/\n", CONTENT),
        ("https://www.w3.org/2005/atom/", "http://www.w3.org/2005/Atom"),
        ("http://purl.org/atom/ns", "http://purl.org/atom/ns#"),
        ("http://www.itunes.com/DTDs/PodCast-1.0.dtd", "http://www.itunes.com/dtds/podcast-1.0.dtd"),
        ("http://search.yahoo.com/mrss", "http://search.yahoo.com/mrss/"),
        ("http://purl.org/rss/1.0", "http://purl.org/rss/1.0/"),
        *((uri, uri) for uri in UNKNOWN),
    ],
)
def test_other_spelling_of_a_known_namespace_names_it(written: str, meant: str) -> None:
    assert canonical(written) == meant


def test_canonical_uris_have_different_spellings() -> None:
    uris = {*namespaces.KNOWN.values(), *namespaces.RSS, *namespaces.RSS_090}
    assert set(namespaces.CANONICAL.values()) == uris
    of_readers = (elements.ATOM, elements.OLD_ATOM, elements.FH, elements.XHTML)
    assert {uri[1:-1] for uri in of_readers} <= uris


@pytest.mark.parametrize("end", ["</feed>", "<oops></feed>", ""])
@pytest.mark.parametrize(
    "root", ["<feed>", '<feed xmlns="https://www.w3.org/2005/Atom">', "<feed lang='en' >"]
)
def test_atom_root_in_another_spelling_or_without_a_namespace_is_read(root: str, end: str) -> None:
    entry = "<entry><id>a</id><title>t</title></entry><entry><id>b</id><title/></entry>"
    document = read(f'<?xml version="1.0"?>\n<!-- <feed> -->\n{root}{entry}{end}'.encode(), URL)
    assert (ids(document), kinds(document)) == (["a", "b"], ["repaired"])


TEXT = '<a xmlns="https://www.w3.org/2005/Atom">'


@pytest.mark.parametrize(
    ("uri", "inside", "title"),
    [
        # those of authors are no fault; those in text are text
        ("http://search.yahoo.com/mrss", "<m:title>t</m:title>", "t"),
        ("http://www.itunes.com/DTDs/Podcast-1.0.dtd", "<m:title>t</m:title>", "t"),
        ("urn:m", f"<!-- {TEXT} --><title><![CDATA[{TEXT}]]></title>", TEXT),
    ],
)
def test_other_spelling_is_no_fault_where_it_names_nothing_else(uri: str, inside: str, title: str) -> None:
    body = f'<rss xmlns:m="{uri}"><channel><item><guid>a</guid>{inside}</item></channel></rss>'
    document = read(body.encode(), URL)
    assert ([entry.title for entry in document.entries], document.problems) == ([title], [])


def test_root_that_is_cut_off_after_many_attributes_is_read() -> None:
    # With a pattern that splits what it repeats in several ways, this takes longer than the universe has.
    body = b'<feed version="0.3" ' + b"a " * 10_000
    assert repair.canonicalise(body) == (body, ())


def test_patterns_for_tags_are_bounded() -> None:
    # Each repetition takes memory.
    root = b"<feed " + b"a " * 50_000 + b"><entry></entry></feed>"
    assert repair.canonicalise(root) == (root, ())
    tag = repair.START_TAG.match(b"<a " + b'""' * 100_000)
    assert tag is not None
    assert tag.end() < 100_000
