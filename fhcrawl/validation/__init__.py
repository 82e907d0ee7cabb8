"""Validates published histories: the rules of RFC 5005, RFC 4287 and RSS, over all documents of a chain.

Pure: responses in, findings out; no Scrapy, no I/O, no clock. `HistoryCheck` names the documents to fetch,
and gives them to the rules: those of one document (`history`, `formats`, `serving`), and those of the chain
(`chain`).
"""

from __future__ import annotations

from fhcrawl.validation import chain, formats, history, serving
from fhcrawl.validation.check import HistoryCheck, Purpose, Wanted
from fhcrawl.validation.model import (
    CHAIN_RULES,
    DOCUMENT_RULES,
    Fetched,
    Finding,
    Needs,
    Rule,
    Severity,
    Summary,
)

__all__ = [
    "CHAIN_RULES",
    "DOCUMENT_RULES",
    "Fetched",
    "Finding",
    "HistoryCheck",
    "Needs",
    "Purpose",
    "Rule",
    "Severity",
    "Summary",
    "Wanted",
    "chain",
    "formats",
    "history",
    "serving",
]
