"""Readers of feed formats, one module each, and the registry that `documents.detection` chooses from."""

from fhcrawl.documents.formats import activitystreams, atom, jsonfeed, rss
from fhcrawl.documents.xml.elements import RDF_ROOT, RSS_NAMESPACES

# By the tag of the root.
XML_FORMATS = {
    atom.ROOT: atom.read,
    atom.OLD_ROOT: atom.read,
    **{f"{namespace}rss": rss.read for namespace in RSS_NAMESPACES},
    RDF_ROOT: rss.read,
}
JSON_FORMATS = (jsonfeed.read, activitystreams.read, jsonfeed.read_ghost)
