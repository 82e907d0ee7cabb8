"""The registry of rules. A rule is a function that yields what it has to say, with its clause above it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from fhcrawl.validation.model import Chain, CheckedDocument, Said, Severity

DocumentCheck = Callable[[CheckedDocument], Iterator[Said]]
ChainCheck = Callable[[Chain], Iterator[Said]]


class Rule(NamedTuple):
    """A rule, without its function.

    :param name: the name of its function, with hyphens
    :param clause: the specification's clause
    :param summary: what it checks, as the first line of the function's docstring says it
    """

    name: str
    clause: str
    summary: str


DOCUMENT_RULES: dict[Rule, DocumentCheck] = {}
CHAIN_RULES: dict[Rule, ChainCheck] = {}


def of_document(clause: str) -> Callable[[DocumentCheck], DocumentCheck]:
    """Register a rule about one document."""

    def register(check: DocumentCheck) -> DocumentCheck:
        DOCUMENT_RULES[_rule(check, clause)] = check
        return check

    return register


def of_chain(clause: str) -> Callable[[ChainCheck], ChainCheck]:
    """Register a rule about all documents of a chain."""

    def register(check: ChainCheck) -> ChainCheck:
        CHAIN_RULES[_rule(check, clause)] = check
        return check

    return register


def _rule(check: Callable[..., Iterator[Said]], clause: str) -> Rule:
    summary = (check.__doc__ or "").partition("\n")[0]
    return Rule(check.__name__.replace("_", "-"), clause, summary)


def error(text: str, line: int | None = None, fix: str = "", url: str | None = None) -> Said:
    """Return what breaks a MUST, or the history."""
    return Said(Severity.ERROR, text, line, fix, url)


def warning(text: str, line: int | None = None, fix: str = "", url: str | None = None) -> Said:
    """Return what breaks a SHOULD, or can mislead some readers."""
    return Said(Severity.WARNING, text, line, fix, url)


def advice(text: str, line: int | None = None, fix: str = "", url: str | None = None) -> Said:
    """Return what could be better."""
    return Said(Severity.ADVICE, text, line, fix, url)


def good(text: str) -> Said:
    """Return what is as it should be."""
    return Said(Severity.GOOD, text)
