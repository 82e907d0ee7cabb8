"""The places of entries in the documents of XML formats."""

from __future__ import annotations

from fhcrawl.documents.xml.elements import ATOM, OLD_ATOM, RDF_NAMESPACES, RSS_NAMESPACES
from fhcrawl.documents.xml.namespaces import braced

RDF_ROOT = f"{braced('rdf')}RDF"
# The tags of all ancestors of entries.
CONTAINERS = frozenset(
    {
        *(f"{namespace}feed" for namespace in (ATOM, OLD_ATOM)),
        *(f"{namespace}rss" for namespace in RSS_NAMESPACES),
        *(f"{namespace}channel" for namespace in (*RSS_NAMESPACES, *RDF_NAMESPACES)),
        RDF_ROOT,
    }
)
# The tags of entries, with and without a namespace: programs that write XML through a DOM write xmlns=""
# where the parent's namespace is meant.
ENTRIES = frozenset(
    {
        *(f"{namespace}entry" for namespace in ("", ATOM, OLD_ATOM)),
        *(f"{namespace}item" for namespace in (*RSS_NAMESPACES, *RDF_NAMESPACES)),
    }
)
# By the local name of the root: the local name of entries, and whether they have the namespace of the root.
NAMES = {"feed": ("entry", True), "rss": ("item", True), "RDF": ("item", False)}
