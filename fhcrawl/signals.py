"""Signals that fhcrawl sends beside Scrapy's own.

They only notify: nothing depends on who listens. `result` is a `logical_feed.results.DocumentResult`, `batch`
the `logical_feed.batches.CommitBatch` of its entries.

`document_read(result, batch, response)`: the spider has read a document and is about to yield its entries.
`document_lost(result)`: a document could not be fetched or read; `result.failure` says why.
`document_committed(result, batch, deleted)`: what a document brought is in the store.
`document_unchanged(result)`: a subscription document is what it was.
"""

from __future__ import annotations

document_read = object()
document_lost = object()
document_committed = object()
document_unchanged = object()
