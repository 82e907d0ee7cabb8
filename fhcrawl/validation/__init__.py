"""Validates published histories: the rules of RFC 5005, RFC 4287 and RSS, over all documents of a chain.

Pure: documents in, findings out; no Scrapy, no I/O, no clock. `spiders.check` requests the documents; `Chain`
gives them to the rules: those of one document (`document_rules`), and those of the chain (`chain_rules`).
"""

from __future__ import annotations

from fhcrawl.validation import chain_rules, document_rules
from fhcrawl.validation.chain import Chain
from fhcrawl.validation.model import CHAIN_RULES, DOCUMENT_RULES, Finding, Needs, Severity, Summary

__all__ = [
    "CHAIN_RULES",
    "DOCUMENT_RULES",
    "Chain",
    "Finding",
    "Needs",
    "Severity",
    "Summary",
    "chain_rules",
    "document_rules",
]
