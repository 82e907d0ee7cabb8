"""Signals that fhcrawl sends in addition to Scrapy's.

They only notify: nothing depends on who listens. `result` is a `logical_feed.results.DocumentResult`, `batch`
the `logical_feed.results.CommitBatch` of its entries.

`document_read(result, batch, response)`: the spider has read a document and is about to yield its entries.
`document_lost(result)`: a document could not be fetched or read; see `result.failure`.
`document_committed(result, batch, deleted)`: a document and its entries are in the store.
`document_unchanged(result)`: a document that was requested again has not changed.
"""

from __future__ import annotations

document_read = object()
document_lost = object()
document_committed = object()
document_unchanged = object()
