from __future__ import annotations

import pytest

from fhcrawl.documents.xml import elements, namespaces
from fhcrawl.documents.xml.namespaces import canonical

CONTENT = "http://purl.org/rss/1.0/modules/content/"


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
    ],
)
def test_other_spelling_of_a_known_namespace_names_it(written: str, meant: str) -> None:
    assert canonical(written) == meant


@pytest.mark.parametrize("uri", ["", "urn:example", "https://elsewhere.example/", "http://purl.org/rss/1.1/"])
def test_unknown_namespace_stays_as_it_is(uri: str) -> None:
    assert canonical(uri) == uri


def test_canonical_uris_have_different_spellings() -> None:
    uris = {*namespaces.KNOWN.values(), *namespaces.RSS, *namespaces.RSS_090}
    assert set(namespaces.CANONICAL.values()) == uris


@pytest.mark.parametrize("uri", [elements.ATOM, elements.OLD_ATOM, elements.FH, elements.XHTML])
def test_namespaces_of_the_readers_are_canonical(uri: str) -> None:
    assert uri[1:-1] in namespaces.KNOWN.values()
