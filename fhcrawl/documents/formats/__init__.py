"""Readers of feed formats, one module each, and the registry of the XML formats among them."""

from fhcrawl.documents.formats import atom, atom03, rss

XML_FORMATS = (
    atom.FORMAT,
    atom03.FORMAT,
    rss.FORMAT,
    rss.RDF_FORMAT,
)
