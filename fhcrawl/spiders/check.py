"""The spider that reads the documents of one feed for the rules of `validation`, without a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy.http import Response

from fhcrawl import documents
from fhcrawl.crawling import requests
from fhcrawl.crawling.context import WalkContext, context_of, header, request_of
from fhcrawl.crawling.failures import document_failure
from fhcrawl.crawling.parser import limited_memory
from fhcrawl.documents.discovery import feed_links
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.logical_feed import Link, Role
from fhcrawl.logical_feed.results import State
from fhcrawl.reasons import ReasonKind
from fhcrawl.validation.model import Document

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator

    from scrapy import Request
    from twisted.python.failure import Failure

    from fhcrawl.logical_feed.results import DocumentFailure
    from fhcrawl.validation import History

    Steps = Generator[Request, Any, None]

# Header fields that the rules read.
FIELDS = ("Content-Type", "Cache-Control", "Expires", "Date", "Age", "ETag", "Last-Modified")
# Links back whose URL is of no document of the chain: they are requested to see where they lead.
MOST_PROBES = 10
BACK = ("next-archive", "current", "previous", "first", "self")
TOO_MUCH_MEMORY = "could not be read: parsing it takes more memory than FHCRAWL_READER_MEMORY allows"


class CheckSpider(Spider):
    """Requests the documents of a check, one at a time, as politely as a crawl.

    It has no name, so that `scrapy list` omits it: the command `check` runs it.

    :param chain: where the documents are added; the command reads its findings when the crawl has ended
    :param max_documents: maximum number of documents that are read
    """

    def __init__(self, chain: History, max_documents: int) -> None:
        super().__init__("check")
        self.feeds = [chain.url]
        self._chain = chain
        self._max_documents = max_documents
        self._walk_context = WalkContext(chain.url, run=0)
        self._steps = self._run()

    async def start(self) -> AsyncIterator[Request]:
        for request in self.take(None):
            yield request

    def parse(self, response: Response, **cb_kwargs: Any) -> list[Request]:
        self._walk_context = context_of(response).walk
        with limited_memory(self.settings.getint("FHCRAWL_READER_MEMORY")):
            return self.take(response)

    def lose(self, failure: Failure) -> list[Request]:
        return self.take(document_failure(failure))

    def take(self, answer: Response | DocumentFailure | None) -> list[Request]:
        """Take the response to the last request, or why there is none; return the next request."""
        try:
            return [self._steps.send(answer)]
        except StopIteration:
            self._chain.is_finished = True
            return []

    def _request(self, url: str, role: Role, number: int, via: str | None = None) -> Request:
        return requests.unstored(
            url, self._walk_context, role, number, via, callback=self.parse, errback=self.lose
        )

    def _run(self) -> Steps:
        yield from self._walk()
        yield from self._follow_links_back()
        # The newest archive represents all of them.
        for document in self._chain.documents[:2]:
            if conditions := document.conditions:
                request = self._request(document.fetch.url, document.fetch.role, document.number)
                request.meta["handle_httpstatus_list"] = [requests.NOT_MODIFIED]
                request.headers.update(conditions)
                answer = yield request
                if isinstance(answer, Response):
                    document.conditional = answer.status

    def _walk(self) -> Steps:
        chain, via = self._chain, None
        link: Link | None = Link(Role.SUBSCRIPTION, chain.url)
        while link is not None:
            chain.expect(link)
            answer = yield self._request(link.url, link.role, len(chain.documents), via)
            if not isinstance(answer, Response):
                chain.missing = link, answer.detail, answer.state is State.KNOWN
                return
            via = answer.url
            if isinstance(number := chain.find(via), int):
                chain.missing, chain.loop = None, (number, link.url)
                return
            try:
                chain.add(self._document(answer))
            except NotAFeedError as error:
                hint = ""
                if error.kind is ReasonKind.HTML and (urls := feed_links(answer.body, via)):
                    hint = f"; it names the feed {urls[0]}"
                chain.missing = link, f"is not a feed: {error}{hint}", False
                return
            except MemoryError:
                chain.missing = link, TOO_MUCH_MEMORY, False
                return
            link = chain.following(self._max_documents)

    def _document(self, response: Response) -> Document:
        headers = {name.lower(): value for name in FIELDS if (value := header(response, name))}
        cache_control = (line.decode("latin-1") for line in response.headers.getlist("Cache-Control"))
        headers["cache-control"] = ", ".join(cache_control)
        document = documents.read(
            response.body,
            response.url,
            headers.get("content-type"),
            requests.links(response),
            headers.get("last-modified"),
            max_entries=self.settings.getint("FHCRAWL_MAX_ENTRIES"),
        )
        return Document(
            fetch=requests.fetch_from_response(response),
            headers=headers,
            redirects=request_of(response).meta.get("redirect_reasons", ()),
            is_cut="dataloss" in response.flags,
            body=response.body,
            feed=documents.as_feed(document),
        )

    def _follow_links_back(self) -> Steps:
        chain, count = self._chain, 0
        for document in chain.documents:
            for url in filter(None, map(document.links.get, BACK)):
                if count < MOST_PROBES and chain.find(url) is None:
                    count += 1
                    number, via = len(chain.documents), document.fetch.url
                    answer = yield self._request(url, Role.ARCHIVE, number, via)
                    if isinstance(answer, Response):
                        chain.note_target(url, answer.url, answer.body)
                    else:
                        chain.targets[url] = answer.detail
