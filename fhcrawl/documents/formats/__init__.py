"""Readers of feed formats, one module each, and the registry that `documents.detection` chooses from."""

from fhcrawl.documents.formats import atom, atom03, jsonfeed, rss

XML_FORMATS = (atom.FORMAT, atom03.FORMAT, rss.FORMAT, rss.RDF_FORMAT)
JSON_FORMATS = (jsonfeed.read,)
