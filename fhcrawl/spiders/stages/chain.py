"""The chain of a feed's documents: the first stage of its crawl.

Theory of operation
-------------------
A feed's crawl is a sequence of stages (`stages.STAGES`). One begins when the feed has no request under way:
the scheduler notices that the last one has ended (`core.engine.Scheduler`), and `Stages.follow` looks for the
next stage that has requests to make. The verdict follows the last stage.

| stage     | begins                                  | requests                               |
|-----------|-----------------------------------------|----------------------------------------|
| chain     | with the feed                           | the subscription document, older ones  |
| moves     | the feed says that it has moved         | the document at its new URL            |
| posts     | the publisher has a list of its entries | the list, and the pages that it needs  |
| sitemaps  | those of the feed's site are due        | the sitemaps, once for all of its feeds|
| site posts| with FHCRAWL_SITEMAP_POSTS              | pages that only a sitemap names        |
| rechecks  | documents are due                       | those that this crawl has not read     |
| confirm   | all pages of the feed were read         | the same pages once more               |
| given     | with a URL of the user's (`archive`)    | the document there, and older ones     |
| captures  | with WARC files, or a web archive       | lists of captures, then captures       |

Each request carries a `RequestContext` with its purpose, the document's place in the chain, and what the
store knew of the document when the request was made. Whoever makes a request writes its context; nobody
changes it afterwards, since the request may be stored in a JOBDIR, and its response be processed after a
restart. What a feed's crawl has found out so far is in its `FeedCrawl`.

A response passes `Stages.step`, a failed request `Stages.fail`. Both look up the row of its purpose, whose
functions yield requests and entries. Here, in the chain:

1. The document is parsed, and its result made (`crawling.reading`): its entries, and the link to the older
   document.
2. Its entries are compared with the store, and what the store has behind it is looked up. Now the result is
   final (`CrawlPart._finish`).
3. The request for the older document is yielded first, so that it is downloaded while this one is committed.
   The deltafetch middleware follows it, replaces it by the request for the first document behind it that is
   not processed, or skips it.
4. Then come the entries. `CommitMiddleware` commits the document when the last one has passed the pipelines.
   A document without entries to read (unchanged, missing, failed) is recorded at once.

Documents of one feed are processed one after another, in the order in which their responses arrive.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from fhcrawl.crawling import reading, requests
from fhcrawl.crawling.context import Doubt, LastDocument, Purpose, context_of, request_of
from fhcrawl.crawling.failures import NO_SNAPSHOT, UNEXPECTED_304
from fhcrawl.documents import DocumentList, FeedDocument
from fhcrawl.documents.dates import shift
from fhcrawl.documents.links import header_targets
from fhcrawl.documents.lists import IS_LIST
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.logical_feed import Kind, Role
from fhcrawl.logical_feed.results import State
from fhcrawl.reasons import ReasonKind
from fhcrawl.spiders.stages.names import Names
from fhcrawl.spiders.stages.parts import Parts
from fhcrawl.spiders.stages.stage import Row, Stage
from fhcrawl.utils.addresses import tidied

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from fhcrawl.crawling.feedcrawl import FeedCrawl
    from fhcrawl.logical_feed.results import DocumentFailure, Fetch
    from fhcrawl.spiders.stages.names import BeginElsewhere
    from fhcrawl.spiders.stages.stage import Output, Rows
    from fhcrawl.store.documents import DocumentRef

logger = logging.getLogger(__name__)
# Seconds after which a feed behind a challenge is due: the challenge is meant to keep such requests away.
CHALLENGED_AGAIN = 24 * 60 * 60
# Documents after whose reading a walk can end.
ENDING = (Role.SUBSCRIPTION, Role.PAGE)
# Relation of the Link header to WordPress's API; 304 responses do not have it.
API_RELATION = "https://api.w.org/"


class Chain(Stage):
    """Reads the subscription document, and follows the links to older documents."""

    def __init__(self, crawler: Crawler, begin_elsewhere: BeginElsewhere) -> None:
        super().__init__(crawler)
        self.names = Names(crawler, begin_elsewhere)
        self._parts = Parts(crawler)

    @property
    def rows(self) -> Rows:
        return {
            Purpose.WALK: Row(self._parse, self._give_up),
            Doubt: Row(self._parse_doubted, self._lose_doubted),
            Purpose.PART: Row(self._parts.parse, self._lose_part),
        }

    # The spider makes the first requests: `requests.first`.
    def begin(self, feed: FeedCrawl) -> Iterator[Request]:
        return iter(())

    def _parse(self, feed: FeedCrawl, fetch: Fetch, response: Response) -> Output:
        context = context_of(response)
        last, digest = context.last_reading, context.body_digest
        is_not_modified = response.status == requests.NOT_MODIFIED
        _note_going_on(feed, fetch)
        if is_not_modified and (last is None or not requests.was_conditional(response)):
            self._commits.record_loss(fetch, UNEXPECTED_304)
        elif is_not_modified and digest is None:
            self._commits.record_check(reading.unchanged_result(fetch, response))
            chain_end = self._store.documents.find_end(fetch.feed, fetch.key, fetch.role, fetch.run)
            if chain_end is not None and chain_end.unread is not None and not chain_end.is_loop:
                yield from self._known_older_document(feed, fetch, response, chain_end.unread)
        elif last is not None and digest is not None and requests.is_unchanged(response, digest):
            self._commits.record_unchanged(reading.unchanged_result(fetch, response))
            if last.older_document is None:
                self._note_last(feed, fetch, response, is_unchanged=True)
            else:
                yield from self._known_older_document(feed, fetch, response, last.older_document)
        else:
            yield from self._parse_document(feed, fetch, response)

    def _known_older_document(
        self, feed: FeedCrawl, fetch: Fetch, response: Response, older: DocumentRef
    ) -> Iterator[Request]:
        feed.is_chained = True
        if older.role is Role.PAGE:
            # The middleware may skip it.
            self._note_last(feed, fetch, response, is_unchanged=True)
        yield requests.known_older_document(feed.walk, fetch, response, older)

    def _parse_document(self, feed: FeedCrawl, fetch: Fetch, response: Response) -> Output:
        try:
            document = self._parse_response(response)
        except NotAFeedError as error:
            yield from self._not_a_feed(feed, fetch, response, error)
            return
        if isinstance(document, DocumentList):
            if fetch.role is not Role.SUBSCRIPTION or "dataloss" in response.flags:
                is_list = NotAFeedError(ReasonKind.NOT_A_FEED, IS_LIST)
                yield from self._not_a_feed(feed, fetch, response, is_list)
            else:
                yield from self._parts.begin_list(feed, fetch, response, document)
            return
        if reading.is_snapshot(fetch, response):
            self._commits.record_loss(fetch, NO_SNAPSHOT)
            return
        limit = self._crawler.settings.getint("FHCRAWL_MAX_ARCHIVES")
        subscription = reading.find_subscription(fetch, response, document, limit)
        if subscription is not None:
            logger.info(
                "%s is not the subscription document; trying %s", fetch.requested_url, subscription[0]
            )
            yield requests.subscription_elsewhere(feed.walk, fetch, response, *subscription)
            return
        name = self.names.find(fetch, context_of(response))
        if name == fetch.feed:
            yield from self._read_document(feed, fetch, response, document)
        else:
            yield from self.names.crawl_as(name, feed, response)

    def _read_document(
        self, feed: FeedCrawl, fetch: Fetch, response: Response, document: FeedDocument
    ) -> Output:
        context = context_of(response)
        result, versions, earlier = self._read_of_chain(feed, fetch, response, document)
        if context.is_probe and result.failure is not None:
            # The page is ignored, whatever the failure.
            yield from self._not_a_page(feed, fetch, response, result.failure)
            return
        newer = self._find_repeated(feed, result, document, versions, context.is_probe)
        is_end = None if newer is None else reading.is_end(response, result, newer.role)
        if is_end:
            yield from self._read_document(feed, fetch, response, reading.empty_document())
            return
        if is_end is not None:
            self._commits.record_loss(fetch, reading.REPEATS)
            return
        if fetch.role is Role.SUBSCRIPTION:
            next_location = reading.next_location(fetch, response, document)
            move = None if next_location is None else (fetch.requested_url, next_location)
            feed.walk = replace(feed.walk, page_size=len(result.versions), move=move)
        following = [*self._last_page(feed, response, document, result)]
        if reading.has_hidden_news(response, result, earlier):
            following.append(requests.conditional(feed.walk, response))
        yield from self._finish(feed, response, document, result, versions, earlier, following)
        self._note_end(feed, response)

    def _note_end(self, feed: FeedCrawl, response: Response) -> None:
        result = None if feed.read is None else feed.read.result
        if result is None or result.failure is not None:
            return
        link = result.older_document
        if link is None or link.role is Role.PAGE:
            is_complete = result.kind == Kind.COMPLETE.value
            self._note_last(feed, result.fetch, response, is_complete=is_complete)

    def _note_last(
        self,
        feed: FeedCrawl,
        fetch: Fetch,
        response: Response,
        is_unchanged: bool = False,
        is_complete: bool = False,
    ) -> None:
        if fetch.role not in ENDING:
            return
        context = context_of(response)
        last = context.last_reading
        links = header_targets(requests.links(response), response.url)
        api = next((url for relation, url in links if url and relation == API_RELATION), None)
        is_listed = is_unchanged and last is not None and last.is_listed
        feed.end_at(LastDocument(fetch, context.documents, api, is_unchanged, is_listed, is_complete))

    # -- responses that are no document of the feed -------------------------------------------------------

    def _not_a_feed(self, feed: FeedCrawl, fetch: Fetch, response: Response, error: NotAFeedError) -> Output:
        context, failure = context_of(response), reading.parse_failure(response, error)
        if context.is_probe:
            yield from self._not_a_page(feed, fetch, response, failure)
            return
        api = reading.api_url(response)
        if api is not None:
            yield requests.api(feed.walk, fetch, response, api)
            return
        url = next(map(tidied, filter(requests.is_fetchable, error.feeds)), None)
        is_first = context.referral is None and fetch.feed not in self.names.renamed
        if url is None or not is_first or not context.is_new or fetch.role is not Role.SUBSCRIPTION:
            yield from self._give_up(feed, fetch, request_of(response), failure)
            return
        stored_feed = self._store.feeds.find_at(url, fetch.feed)
        if stored_feed is not None:
            yield from self.names.crawl_as(stored_feed, feed, response)
            return
        logger.info("%s is an HTML page; trying %s", fetch.requested_url, url)
        yield requests.subscription_elsewhere(feed.walk, fetch, response, url, is_page=True)

    # Records that a feed has no numbered pages, unless a later request may find some.
    def _not_a_page(
        self, feed: FeedCrawl, fetch: Fetch, response: Response, failure: DocumentFailure
    ) -> Output:
        if failure.kind is ReasonKind.CUT_OFF or failure.state is State.KNOWN:
            self._commits.record_loss(fetch, replace(failure, state=State.KNOWN))
        else:
            yield from self._read_document(feed, fetch, response, reading.empty_document())

    def _give_up(
        self, feed: FeedCrawl, fetch: Fetch, request: Request, failure: DocumentFailure
    ) -> Iterator[Request]:
        context = context_of(request)
        _note_going_on(feed, fetch)
        if context.is_of_api and failure.state is not State.KNOWN:
            detail = f"{failure.detail}; older entries need {context.platform}'s API"
            failure = replace(failure, detail=detail)
        if failure.kind is ReasonKind.CHALLENGE and fetch.role is Role.SUBSCRIPTION:
            fetch = replace(fetch, retry_after=shift(fetch.fetched, CHALLENGED_AGAIN))
        fallback = context.fallback
        if fallback is not None and not fallback.is_last:
            # The failure at the earlier URL is stored already.
            logger.info("%s %s", fetch.requested_url, failure.detail)
            if fallback.archive is not None:
                yield requests.archive_again(feed.walk, fetch, fallback.archive)
            return
        self._commits.record_loss(fetch, failure)
        if failure.state is not State.KNOWN:
            yield from requests.at_other_url(feed.walk, fetch, context, failure)

    def _lose_part(
        self, feed: FeedCrawl, fetch: Fetch, request: Request, failure: DocumentFailure
    ) -> Iterator[Request]:
        other_requests = list(self._give_up(feed, fetch, request, failure))
        is_left = failure.state is State.KNOWN
        yield from other_requests if is_left else self._parts.next(feed, fetch, context_of(request))

    # -- 304 responses that may be wrong ------------------------------------------------------------------

    def _parse_doubted(self, feed: FeedCrawl, fetch: Fetch, response: Response) -> Iterator[Request]:
        doubt = context_of(response).task
        is_not_modified = response.status == requests.NOT_MODIFIED and requests.was_conditional(response)
        if is_not_modified and isinstance(doubt, Doubt):
            self._commits.record_doubt(fetch, doubt.since)
        return iter(())

    def _lose_doubted(
        self, feed: FeedCrawl, fetch: Fetch, request: Request, failure: DocumentFailure
    ) -> Iterator[Request]:
        # 304 responses may or may not have hidden changes.
        doubt = context_of(request).task
        if isinstance(doubt, Doubt):
            self._commits.record_doubt(fetch, doubt.since, failure)
        return iter(())


# The last page of `Chain._last_page` comes after the end of the walk.
def _note_going_on(feed: FeedCrawl, fetch: Fetch) -> None:
    if fetch.role is not Role.LISTED:
        feed.end_at(None)
