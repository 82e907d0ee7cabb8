"""The namespaces that fhcrawl knows: their spellings in documents, and their prefixes in extensions."""

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
    "podcast": "https://podcastindex.org/namespace/1.0",
    "podcast0": "https://github.com/Podcastindex-org/podcast-namespace/blob/main/docs/1.0.md",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rss10": "http://purl.org/rss/1.0/",
    "slash": "http://purl.org/rss/1.0/modules/slash/",
    "sy": "http://purl.org/rss/1.0/modules/syndication/",
    "thr": "http://purl.org/syndication/thread/1.0",
    "wfw": "http://wellformedweb.org/CommentAPI/",
    "xhtml": "http://www.w3.org/1999/xhtml",
}
# RSS 0.91, 0.92 and 2.0 have no namespace, but some feeds declare one of these.
RSS = (
    "http://backend.userland.com/rss2",
    "http://backend.userland.com/rss",
    "http://backend.userland.com/rss091",
    "http://backend.userland.com/rss092",
    "http://blogs.law.harvard.edu/tech/rss",
)
RSS_090 = ("http://my.netscape.com/rdf/simple/0.9/", "http://channel.netscape.com/rdf/simple/0.9/")
SCHEME = re.compile("https?://", re.IGNORECASE)


def comparable_uri(uri: str) -> str:
    return SCHEME.sub("", uri.strip(), count=1).rstrip("/#").lower()


CANONICAL = {comparable_uri(uri): uri for uri in (*KNOWN.values(), *RSS, *RSS_090)}


# Namespaces in XML 1.0, 2.3: "The two IRIs are treated as strings, and they are identical if and only if the
# strings are identical". Publishers treat them as addresses, and write several spellings of the same address.
@lru_cache(maxsize=256)
def canonical(uri: str) -> str:
    """Return the canonical URI of a namespace; an unknown one is returned unchanged."""
    return CANONICAL.get(comparable_uri(uri), uri)


def braced(prefix: str) -> str:
    """Return the namespace of a prefix in braces, as tags of lxml begin with it."""
    return f"{{{KNOWN[prefix]}}}"


# --- the prefixes of namespaces in extensions: a table, because feeds declare any prefix

# Versions of one vocabulary have the same prefix.
SAME = {"atom03": "atom", "dc10": "dc", "podcast0": "podcast", "rss10": "rss"}
RSS_PREFIX = "rss"
# Namespaces that fields are not read from.
OTHERS = """
acast https://schema.acast.com/1.0/
admin http://webns.net/mvcb/
ag http://purl.org/rss/1.0/modules/aggregation/
annotate http://purl.org/rss/1.0/modules/annotate/
app http://www.w3.org/2007/app http://purl.org/atom/app#
blogChannel http://backend.userland.com/blogChannelModule
blogger http://schemas.google.com/blogger/2008 http://schemas.google.com/blogger/2018
cc http://web.resource.org/cc/ http://creativecommons.org/ns#
creativeCommons http://backend.userland.com/creativeCommonsRssModule
creativeCommons http://cyber.law.harvard.edu/rss/creativeCommonsRssModule.html
ev http://purl.org/rss/1.0/modules/event/
feedburner http://rssnamespace.org/feedburner/ext/1.0
foaf http://xmlns.com/foaf/0.1/
g http://base.google.com/ns/1.0
gd http://schemas.google.com/g/2005
geo http://www.w3.org/2003/01/geo/wgs84_pos#
georss http://www.georss.org/georss http://www.georss.org/georss/10
gml http://www.opengis.net/gml http://www.opengis.net/gml/3.2
googleplay http://www.google.com/schemas/play-podcasts/1.0
math http://www.w3.org/1998/Math/MathML
openSearch http://a9.com/-/spec/opensearch/1.1/ http://a9.com/-/spec/opensearchrss/1.0/
pheedo http://www.pheedo.com/namespace/pheedo
prism http://prismstandard.org/namespaces/basic/2.0/ http://prismstandard.org/namespaces/1.2/basic/
prism http://purl.org/rss/1.0/modules/prism/
psc http://podlove.org/simple-chapters
rawvoice http://www.rawvoice.com/rawvoiceRssModule/
rdfs http://www.w3.org/2000/01/rdf-schema#
snf http://www.smartnews.be/snf
spotify http://www.spotify.com/ns/rss
svg http://www.w3.org/2000/svg
taxo http://purl.org/rss/1.0/modules/taxonomy/
trackback http://madskills.com/public/xml/rss/module/trackback/ http://media.tangent.org/rss/1.0/
webfeeds http://webfeeds.org/rss/1.0
xlink http://www.w3.org/1999/xlink
xml http://www.w3.org/XML/1998/namespace
yt http://www.youtube.com/xml/schemas/2015 http://gdata.youtube.com/schemas/2007
"""
PREFIXES = {
    **{comparable_uri(uri): RSS_PREFIX for uri in ("", *RSS, *RSS_090, KNOWN["rss10"])},
    **{
        comparable_uri(uri): prefix
        for prefix, *uris in map(str.split, OTHERS.strip().split("\n"))
        for uri in uris
    },
    **{comparable_uri(uri): SAME.get(name, name) for name, uri in KNOWN.items()},
}


@lru_cache(maxsize=1000)
def prefix_of(uri: str) -> str | None:
    """Return the prefix of a namespace in any spelling (see `canonical`); None if unknown."""
    return PREFIXES.get(comparable_uri(uri))
