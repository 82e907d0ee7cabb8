"""The prefixes of namespaces in extensions: a table, because feeds declare any prefix."""

from __future__ import annotations

from functools import lru_cache

from fhcrawl.documents.xml.elements import RDF_NAMESPACES, RSS_NAMESPACES
from fhcrawl.documents.xml.namespaces import KNOWN, spelling

REMEMBERED = 1000

# Versions of one vocabulary have the same prefix.
SAME = {"atom03": "atom", "dc10": "dc", "rss10": "rss"}
RSS = "rss"
# Namespaces that fields are not read from.
OTHERS: dict[str, tuple[str, ...]] = {
    "acast": ("https://schema.acast.com/1.0/",),
    "admin": ("http://webns.net/mvcb/",),
    "ag": ("http://purl.org/rss/1.0/modules/aggregation/",),
    "annotate": ("http://purl.org/rss/1.0/modules/annotate/",),
    "app": ("http://www.w3.org/2007/app", "http://purl.org/atom/app#"),
    "blogChannel": ("http://backend.userland.com/blogChannelModule",),
    "blogger": ("http://schemas.google.com/blogger/2008", "http://schemas.google.com/blogger/2018"),
    "cc": ("http://web.resource.org/cc/", "http://creativecommons.org/ns#"),
    "creativeCommons": (
        "http://backend.userland.com/creativeCommonsRssModule",
        "http://cyber.law.harvard.edu/rss/creativeCommonsRssModule.html",
    ),
    "ev": ("http://purl.org/rss/1.0/modules/event/",),
    "feedburner": ("http://rssnamespace.org/feedburner/ext/1.0",),
    "foaf": ("http://xmlns.com/foaf/0.1/",),
    "g": ("http://base.google.com/ns/1.0",),
    "gd": ("http://schemas.google.com/g/2005",),
    "geo": ("http://www.w3.org/2003/01/geo/wgs84_pos#",),
    "georss": ("http://www.georss.org/georss", "http://www.georss.org/georss/10"),
    "gml": ("http://www.opengis.net/gml", "http://www.opengis.net/gml/3.2"),
    "googleplay": ("http://www.google.com/schemas/play-podcasts/1.0",),
    "math": ("http://www.w3.org/1998/Math/MathML",),
    "openSearch": ("http://a9.com/-/spec/opensearch/1.1/", "http://a9.com/-/spec/opensearchrss/1.0/"),
    "pheedo": ("http://www.pheedo.com/namespace/pheedo",),
    "podcast": (
        "https://podcastindex.org/namespace/1.0",
        "https://github.com/Podcastindex-org/podcast-namespace/blob/main/docs/1.0.md",
    ),
    "prism": (
        "http://prismstandard.org/namespaces/basic/2.0/",
        "http://prismstandard.org/namespaces/1.2/basic/",
        "http://purl.org/rss/1.0/modules/prism/",
    ),
    "psc": ("http://podlove.org/simple-chapters",),
    "rawvoice": ("http://www.rawvoice.com/rawvoiceRssModule/",),
    "rdfs": ("http://www.w3.org/2000/01/rdf-schema#",),
    "snf": ("http://www.smartnews.be/snf",),
    "spotify": ("http://www.spotify.com/ns/rss",),
    "svg": ("http://www.w3.org/2000/svg",),
    "taxo": ("http://purl.org/rss/1.0/modules/taxonomy/",),
    "trackback": (
        "http://madskills.com/public/xml/rss/module/trackback/",
        "http://media.tangent.org/rss/1.0/",
    ),
    "webfeeds": ("http://webfeeds.org/rss/1.0",),
    "xlink": ("http://www.w3.org/1999/xlink",),
    "xml": ("http://www.w3.org/XML/1998/namespace",),
    "yt": ("http://www.youtube.com/xml/schemas/2015", "http://gdata.youtube.com/schemas/2007"),
}


PREFIXES = {
    **{spelling(namespace[1:-1]): RSS for namespace in (*RSS_NAMESPACES, *RDF_NAMESPACES)},
    **{spelling(uri): prefix for prefix, uris in OTHERS.items() for uri in uris},
    **{spelling(uri): SAME.get(name, name) for name, uri in KNOWN.items()},
}


@lru_cache(REMEMBERED)
def prefix_of(uri: str) -> str | None:
    """Return the prefix of a namespace, in any spelling (see `namespaces.canonical`); None if unknown."""
    return PREFIXES.get(spelling(uri))
