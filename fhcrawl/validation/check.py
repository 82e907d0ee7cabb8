"""The check of a history: the documents to fetch, one after another, and what the rules yield for them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fhcrawl import documents
from fhcrawl.documents.discovery import feed_links
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.logical_feed import Kind, Role
from fhcrawl.logical_feed.chain import older_document
from fhcrawl.reasons import ReasonKind
from fhcrawl.validation.chain import Chain, Loss, Wanted
from fhcrawl.validation.model import (
    CHAIN_RULES,
    DOCUMENT_RULES,
    Document,
    Fetched,
    Finding,
    Severity,
    Summary,
    read_markup,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from fhcrawl.validation.model import Rule

    Steps = Generator[Wanted, Fetched | Loss, None]

# Links back whose URL is of no document of the chain: they are requested to see where they lead.
MOST_PROBES = 10
BACK = ("next-archive", "current", "previous", "first", "self")
# Findings of a rule in one document, and in all.
MOST_OF_DOCUMENT, MOST_OF_RULE = 20, 1000
ORDER = list(Severity)
INTERRUPTED = Loss("was not read: the check was interrupted", is_limit=True)
TOO_MUCH_MEMORY = Loss("could not be read: parsing it takes more memory than FHCRAWL_READER_MEMORY allows")
WALKED = {
    Kind.ARCHIVED: "The archive was read to its end",
    Kind.PAGED: "The pages were read to their end",
    Kind.COMPLETE: "The feed is in one document",
}


class HistoryCheck:
    """Checks the history of a feed: fetch what is `wanted` and `take` the result, until nothing is wanted.

    :param url: URL of the subscription document
    :param max_documents: maximum number of documents that are read
    :param max_entries: maximum number of entries of one document; 0 means no limit
    """

    def __init__(self, url: str, max_documents: int, max_entries: int = 0) -> None:
        self._max_documents = max_documents
        self._max_entries = max_entries
        self._chain = Chain(url)
        self._findings: list[Finding] = []
        self._counts: Counter[str] = Counter()
        self._steps = self._run()
        self.wanted = next(self._steps, None)

    def take(self, answer: Fetched | Loss) -> None:
        """Take the response to the last request, or why there is none, and choose what is wanted next."""
        try:
            self.wanted = self._steps.send(answer)
        except StopIteration:
            self.wanted = None

    def _run(self) -> Steps:
        yield from self._walk()
        yield from self._follow_links_back()
        # The newest archive represents all of them.
        for document in self._chain.documents[:2]:
            if conditions := document.conditions:
                url = document.response.url
                answer = yield Wanted(url, document.role, document.number, None, conditions)
                if isinstance(answer, Fetched):
                    document.conditional = answer.status

    def _walk(self) -> Steps:
        chain = self._chain
        wanted: Wanted | None = Wanted(chain.url, Role.SUBSCRIPTION, 0)
        while wanted is not None:
            chain.missing = wanted, INTERRUPTED
            following = self._read(wanted, (yield wanted))
            chain.missing = (wanted, following) if isinstance(following, Loss) else None
            wanted = following if isinstance(following, Wanted) else None

    def _follow_links_back(self) -> Steps:
        chain, count = self._chain, 0
        for document in chain.documents:
            for url in filter(None, map(document.links.get, BACK)):
                if count < MOST_PROBES and not chain.is_seen(url):
                    count += 1
                    via = document.response.url
                    chain.note_target(url, (yield Wanted(url, Role.ARCHIVE, len(chain.documents), via)))

    def _read(self, wanted: Wanted, response: Fetched | Loss) -> Wanted | Loss | None:
        chain = self._chain
        if isinstance(response, Loss):
            return response
        if (number := chain.find(response.url)) is not None:
            chain.loop = number, wanted.url
            return None
        try:
            document = self._document(wanted, response)
            for rule, check in DOCUMENT_RULES.items():
                if document.has(rule.needs):
                    self._note(rule, check(document), wanted.url)
            chain.add(document)
        except NotAFeedError as error:
            feeds = ""
            if error.kind is ReasonKind.HTML and (urls := feed_links(response.body, response.url)):
                feeds = f"; it names the feed {urls[0]}"
            return Loss(f"is not a feed: {error}{feeds}")
        except MemoryError:
            return TOO_MUCH_MEMORY
        return self._older(document)

    def _document(self, wanted: Wanted, response: Fetched) -> Document:
        headers = response.headers
        feed = documents.as_feed(
            documents.read(
                response.body,
                response.url,
                headers.get("content-type"),
                response.links,
                headers.get("last-modified"),
                max_entries=self._max_entries,
            )
        )
        return Document(wanted.number, wanted.role, wanted.url, response, feed, read_markup(response))

    def _older(self, document: Document) -> Wanted | None:
        chain, response = self._chain, document.response
        older = older_document(document.feed, document.own)
        if older is None:
            return None
        url = chain.secured(older.url, response)
        number = chain.find(url)
        before, last = [None, *chain.documents][-2:]
        if number is None and before and last and before.digest == last.digest:
            number = before.number
        if number is not None:
            chain.loop = number, url
        elif len(chain.documents) >= self._max_documents:
            chain.limit = self._max_documents
        else:
            return Wanted(url, older.role, document.number + 1, response.url)
        return None

    def finish(self) -> tuple[list[Finding], Summary]:
        """Return the findings, the worst first, and their summary; what is still wanted is not fetched."""
        of_documents, self._findings = self._findings, []
        for rule, check in CHAIN_RULES.items():
            self._note(rule, check(self._chain), None)
        # Links of the chain come first: without them, documents are lost.
        findings = [*self._findings, *of_documents]
        findings.sort(key=lambda finding: ORDER.index(finding.severity))
        return findings, self._summary(findings)

    def _note(self, rule: Rule, findings: Iterable[Finding], url: str | None) -> None:
        for number, finding in enumerate(findings):
            self._counts[rule.name] += 1
            if (number >= MOST_OF_DOCUMENT and url is not None) or self._counts[rule.name] > MOST_OF_RULE:
                return
            document = finding.document or url
            self._findings.append(finding._replace(rule=rule.name, clause=rule.clause, document=document))

    def _summary(self, findings: list[Finding]) -> Summary:
        chain = self._chain
        count = Counter(finding.severity for finding in findings)
        errors, warnings = count[Severity.ERROR], count[Severity.WARNING]
        read, entries = len(chain.documents), chain.entries.number
        walked = WALKED.get(chain.kind or Kind.SINGLE, "The feed has one document")
        if not read:
            walked = "The feed could not be read"
        elif not chain.is_whole:
            walked = "The history was not read to its end"
        sentence = (
            f"{walked}: {_number(read, 'document', 'documents')}, {_number(entries, 'entry', 'entries')}; "
            f"{_number(errors, 'error', 'errors')}, {_number(warnings, 'warning', 'warnings')}"
        )
        return Summary(chain.url, chain.kind, read, entries, chain.is_whole, errors, warnings, sentence)


def _number(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"
