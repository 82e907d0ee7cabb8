"""The namespaces that fhcrawl knows, and the canonical URI of one that is written in another way."""

from __future__ import annotations

import re
from functools import lru_cache

# Canonical URIs by their usual prefix.
KNOWN = {
    "atom": "http://www.w3.org/2005/Atom",
    "atom03": "http://purl.org/atom/ns#",
    "at": "http://purl.org/atompub/tombstones/1.0",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dc10": "http://purl.org/dc/elements/1.0/",
    "dcterms": "http://purl.org/dc/terms/",
    "fh": "http://purl.org/syndication/history/1.0",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "media": "http://search.yahoo.com/mrss/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rss10": "http://purl.org/rss/1.0/",
    "slash": "http://purl.org/rss/1.0/modules/slash/",
    "sy": "http://purl.org/rss/1.0/modules/syndication/",
    "thr": "http://purl.org/syndication/thread/1.0",
    "wfw": "http://wellformedweb.org/CommentAPI/",
    "xhtml": "http://www.w3.org/1999/xhtml",
}
# Other canonical URIs: of RSS 0.9x, which has several.
OTHERS = (
    "http://backend.userland.com/rss",
    "http://backend.userland.com/rss091",
    "http://backend.userland.com/rss092",
    "http://backend.userland.com/rss2",
    "http://blogs.law.harvard.edu/tech/rss",
    "http://channel.netscape.com/rdf/simple/0.9/",
    "http://my.netscape.com/rdf/simple/0.9/",
)
SCHEME = re.compile("https?://", re.IGNORECASE)


def _spelling(uri: str) -> str:
    return SCHEME.sub("", uri.strip(), count=1).rstrip("/#").lower()


CANONICAL = {_spelling(uri): uri for uri in (*KNOWN.values(), *OTHERS)}


# Namespaces in XML 1.0, 2.3: "The two IRIs are treated as strings, and they are identical if and only if the
# strings are identical". Publishers know them as addresses, of which these are spellings of one.
@lru_cache(maxsize=256)
def canonical(uri: str) -> str:
    """Return the canonical URI of a namespace: as another scheme, case, or end names a known one.

    :param uri: as the document has it; returned unchanged if it is unknown
    """
    return CANONICAL.get(_spelling(uri), uri)
