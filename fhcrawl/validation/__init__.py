"""Validates published histories: the rules of RFC 5005, RFC 4287 and RSS, over all documents of a chain.

Pure: documents in, findings out; no Scrapy, no I/O, no clock. `spiders.check` requests the documents;
`History` gives them to the rules.
"""

from fhcrawl.validation import rules
from fhcrawl.validation.model import CHAIN_RULES, DOCUMENT_RULES, Finding, History, Needs, Severity, Totals

__all__ = ["CHAIN_RULES", "DOCUMENT_RULES", "Finding", "History", "Needs", "Severity", "Totals", "rules"]
