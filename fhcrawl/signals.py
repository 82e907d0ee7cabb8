"""Signals that fhcrawl sends beside Scrapy's own.

`document_read(visit, response)`: the spider has read a document and is about to yield its entries.
`document_lost(visit)`: a document could not be fetched or read; `visit.loss` says why.
`document_committed(visit, deleted)`: what a document brought is in the store.
`document_unchanged(visit)`: a subscription document is what it was.
"""

from __future__ import annotations

document_read = object()
document_lost = object()
document_committed = object()
document_unchanged = object()
