"""Schedules the documents of feeds, from the subscription document backwards."""

from __future__ import annotations

import hashlib
import logging
from itertools import groupby
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider

from fhcrawl import documents, logical_feed, signals, subscriptions
from fhcrawl.clock import now
from fhcrawl.exceptions import ArgumentError, FhcrawlError, NotAFeedError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.failures import loss_of
from fhcrawl.items import EntryVersion
from fhcrawl.logical_feed import Link, Loss, Place, Role, State, Version, Visit
from fhcrawl.logs import printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure
    from typing_extensions import Self

    from fhcrawl.documents import Entry, FeedDocument

logger = logging.getLogger(__name__)

NOT_MODIFIED = 304
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


class HistorySpider(Spider):
    """Crawls the whole history of feeds.

    Arguments: `feed`, URLs separated by spaces; `feeds`, path of a list (a URL a line, or OPML);
    `deltafetch_reset`, 1 to fetch every document again.
    """

    name = "history"

    def __init__(self, urls: list[str], deltafetch_reset: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.urls = urls
        self.deltafetch_reset = deltafetch_reset

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Check the arguments.

        :raises ArgumentError: if one cannot be used
        """
        return super().from_crawler(crawler, *args, **cls.check(**kwargs))

    @staticmethod
    def check(
        feed: str | None = None,
        feeds: str | None = None,
        deltafetch_reset: str | bool = False,
        **others: Any,
    ) -> dict[str, Any]:
        """The arguments, read.

        :raises ArgumentError: if one cannot be used
        """
        urls = subscriptions.from_arguments(feed, feeds)
        return {**others, "urls": urls, "deltafetch_reset": _flag(deltafetch_reset)}

    async def start(self) -> AsyncIterator[Request]:
        """The subscription document of each feed."""
        extension = StoreExtension.of(self.crawler)
        for feed in self.urls:
            known = extension.store.begin_walk(feed, extension.run, now())
            headers = {"If-None-Match": known.etag, "If-Modified-Since": known.last_modified}
            yield self._request(
                Role.SUBSCRIPTION,
                known.location,
                feed=feed,
                place=Place(known.walk, 0),
                headers={name: value for name, value in headers.items() if value},
                meta={"deltafetch_enabled": False, "handle_httpstatus_list": [NOT_MODIFIED]},
                body_digest=known.body_digest,
                known_behind=None if known.behind is None else known.behind.plain(),
            )

    def _request(
        self,
        role: Role,
        url: str,
        *,
        feed: str,
        place: Place,
        headers: dict[str, str] | None = None,
        meta: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Request:
        # Scrapy's duplicate filter would drop an archive that two feeds share, and end a loop silently.
        return Request(
            url,
            callback=self.parse,
            errback=self.lose,
            headers=headers,
            meta=meta,
            dont_filter=True,
            cb_kwargs={
                "feed": feed,
                "asked": url,
                "role": role.value,
                "walk": place.walk,
                "step": place.step,
                **kwargs,
            },
        )

    def parse(
        self,
        response: Response,
        feed: str,
        asked: str,
        role: str,
        walk: int,
        step: int,
        body_digest: str | None = None,
        known_behind: list[Any] | None = None,
        referred: bool = False,
        **kwargs: Any,
    ) -> Iterator[Request | EntryVersion]:
        """Read a document: yields the request for the one behind it, then its entries."""
        visit = _visit(_asked(response), response.url)
        if self._is_unchanged(response, body_digest):
            self._send(signals.document_unchanged, visit=visit)
            if known_behind is not None:
                yield self._known_behind(visit, known_behind)
            return
        try:
            document = documents.read(response.body, response.url, _header(response, "Content-Type"))
        except NotAFeedError as error:
            self._lose(visit, Loss(State.INVALID, error.kind, f"is not a feed: {error}"))
            return
        if visit.role is Role.SUBSCRIPTION and not referred:
            current = logical_feed.subscription_link(document)
            if current is not None and current not in (asked, response.url):
                logger.info(
                    "%s is not the subscription document: going to %s",
                    printable(asked),
                    printable(current),
                )
                yield self._refer(visit, current)
                return
        yield from self._read(visit, response, document)

    @staticmethod
    def _is_unchanged(response: Response, body_digest: str | None) -> bool:
        if response.status == NOT_MODIFIED:
            return True
        return body_digest is not None and _digest(response) == body_digest

    def _known_behind(self, visit: Visit, known_behind: list[Any]) -> Request:
        key, url, role, walk, step = known_behind
        # An archive keeps its place; a page has the one of the walk that reads it.
        place = visit.place.before() if role == Role.PAGE.value else Place(walk, step)
        return self._request(
            Role(role),
            url,
            feed=visit.feed,
            place=place,
            meta={"deltafetch_key": key} if key != url else None,
            documents=1,
        )

    def _refer(self, visit: Visit, current: str) -> Request:
        return self._request(
            Role.SUBSCRIPTION,
            current,
            feed=visit.feed,
            place=visit.place,
            meta={"deltafetch_enabled": False},
            referred=True,
        )

    def _read(
        self, visit: Visit, response: Response, document: FeedDocument
    ) -> Iterator[Request | EntryVersion]:
        visit.title = document.title
        visit.kind = logical_feed.kind(document).value
        visit.updated = document.updated
        visit.behind = logical_feed.behind(document)
        visit.loss = _loss(visit, document)
        entries = list(_versions(visit, document))
        visit.versions = [version for version, _entry in entries]
        visit.lost_entries = len(document.entries) - len(entries)
        if visit.role is Role.SUBSCRIPTION and visit.loss is None:
            visit.validators = (
                _header(response, "ETag"),
                _header(response, "Last-Modified"),
                _digest(response),
            )
        if document.complete and visit.role is Role.SUBSCRIPTION and not visit.lost_entries:
            visit.present = frozenset(version.id for version in visit.versions)
        self._report(visit, document)
        self._send(signals.document_read, visit=visit, response=response)
        if visit.behind is not None and (visit.loss is None or document.fault is None):
            yield self._behind(visit, response, visit.behind)
        for version, entry in entries:
            yield _item(visit, version, entry)

    def _behind(self, visit: Visit, response: Response, link: Link) -> Request:
        so_far = response.cb_kwargs.get("documents", 0)
        return self._request(
            link.role,
            link.url,
            feed=visit.feed,
            place=visit.place.before(),
            documents=so_far + 1,
        )

    def _report(self, visit: Visit, document: FeedDocument) -> None:
        """Say what is wrong with a document and its entries: a sentence for each kind of fault."""
        url = printable(visit.asked)
        if visit.loss is not None:
            logger.warning("%s %s", url, visit.loss.detail)
        if document.complete and {"prev-archive", "next"} & document.links.keys():
            logger.warning("%s has fh:complete and links to other documents; they are not followed", url)
        by_kind = sorted(document.problems, key=lambda problem: problem.kind)
        for kind, group in groupby(by_kind, key=lambda problem: problem.kind):
            problems = list(group)
            logger.warning(
                "%s: %s: %s%s",
                url,
                printable(problems[0].entry),
                printable(problems[0].detail),
                f" (and {len(problems) - 1} more)" if len(problems) > 1 else "",
            )
            if kind == "no-id":
                self._count("entry/invalid", len(problems))

    def lose(self, failure: Failure) -> None:
        """Note why a document could not be fetched."""
        request = failure.request  # type: ignore[attr-defined]
        self._lose(_visit(request, request.url), loss_of(failure))

    def _lose(self, visit: Visit, loss: Loss) -> None:
        visit.loss = loss
        level = logging.INFO if loss.state is State.KNOWN else logging.WARNING
        logger.log(level, "%s %s", printable(visit.asked), loss.detail)
        self._send(signals.document_lost, visit=visit)

    def _send(self, signal: object, **kwargs: Any) -> None:
        self.crawler.signals.send_catch_log(signal, spider=self, **kwargs)

    def _count(self, stat: str, count: int = 1) -> None:
        self.crawler.stats.inc_value(f"fhcrawl/{stat}", count)


def _flag(value: str | bool) -> bool:
    if isinstance(value, bool):
        return value
    if value.lower() not in TRUE + FALSE:
        raise ArgumentError(f"-a deltafetch_reset={printable(value)}: write -a deltafetch_reset=1, or 0")
    return value.lower() in TRUE


def _asked(response: Response) -> Request:
    # After a redirect another request than the one that was asked for, but with its cb_kwargs and meta.
    if response.request is None:
        raise FhcrawlError(f"A response without a request: {response.url}")
    return response.request


def _visit(request: Request, url: str) -> Visit:
    known = request.cb_kwargs
    return Visit(
        feed=known["feed"],
        key=request.meta.get("deltafetch_key") or known["asked"],
        asked=known["asked"],
        url=url,
        role=Role(known["role"]),
        place=Place(known["walk"], known["step"]),
        fetched=now(),
    )


def _digest(response: Response) -> str:
    return hashlib.sha256(response.body).hexdigest()


def _header(response: Response, name: str) -> str | None:
    value = response.headers.get(name)
    return value.decode("latin-1") if value else None


def _loss(visit: Visit, document: FeedDocument) -> Loss | None:
    if document.fault is not None:
        detail = f"is cut off or not well-formed: {printable(document.fault)}"
        return Loss(State.INVALID, "not-well-formed", detail)
    if visit.role is Role.SUBSCRIPTION and document.archive and not document.complete:
        detail = "is an archive document and does not say which document is current"
        if "current" not in document.links:
            return Loss(State.INVALID, "no-current", detail)
    return None


def _versions(visit: Visit, document: FeedDocument) -> Iterator[tuple[Version, Entry]]:
    latest = logical_feed.latest_time(visit.fetched)
    for position, entry in enumerate(document.entries):
        entry_id = logical_feed.identity(entry, document)
        if entry_id is None:
            continue
        order = logical_feed.order(entry.updated, document.updated, visit.place, position, latest)
        yield Version(entry_id, order, logical_feed.digest(entry)), entry


def _item(visit: Visit, version: Version, entry: Entry) -> EntryVersion:
    return EntryVersion(
        visit.feed,
        version.id,
        entry.title,
        entry.link,
        entry.published,
        entry.updated,
        entry.authors,
        entry.categories,
        entry.summary,
        entry.content,
        entry.content_type,
        entry.enclosures,
        entry.operation,
        visit.url,
        visit.updated,
        version=version,
        visit=visit,
    )
