"""What a walk asks for, and what each of its requests carries: plain values, for any process of a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request

from fhcrawl import logical_feed
from fhcrawl.crawling import given_hosts, reading, responses, wordpress
from fhcrawl.logical_feed import Place, Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from fhcrawl.logical_feed import Link, Newer
    from fhcrawl.logical_feed.visit import Visit
    from fhcrawl.store import Step, Subscription
    from fhcrawl.warc.captures import Capture

# What a walk's requests hand on, each to the next one; it may be read by another process.
HANDED_ON = ("feed", "options", "run", "begun", "octets", given_hosts.SPECIAL)
# The meta of requests for pages that may not be there.
GUESSED = {"handle_httpstatus_list": [wordpress.NOT_FOUND]}


def first(known: Subscription, options: dict[str, Any]) -> Iterator[Request]:
    """The requests that a walk begins with: the index of a snapshot, or the subscription document.

    What is left of a snapshot's pages is read too.

    :param options: what the user says of the feed, as plain values
    """
    stored = known.snapshot
    walk = {"feed": known.feed, "options": options, "run": known.run}
    index: str | None = options.get("snapshot") or (stored.url if stored else None)
    if index is not None:
        walk["options"] = options = {**options, "snapshot": index}
    walk[given_hosts.SPECIAL] = given_hosts.from_store(known, options)
    if stored is not None and stored.is_read and stored.url == index:
        walk["options"] = {**options, "since": stored.created_at}
        if stored.part is not None:
            yield part(stored.part, walk)
        index = None
    if index is None:
        yield subscription(known, walk)
        return
    yield _request(
        Role.SUBSCRIPTION,
        index,
        walk=walk,
        place=Place(known.walk, 0),
        meta={"deltafetch_enabled": False},
    )


def subscription(known: Subscription, walk: dict[str, Any]) -> Request:
    """The request for a subscription document, if it has changed, or is to be read in another way.

    :param walk: what the requests of its walk hand on
    """
    if known.body_digest is not None and not responses.is_read_like(known.body_digest, walk["options"]):
        known = known.anew()
    return _request(
        Role.SUBSCRIPTION,
        known.location,
        walk=walk,
        place=Place(known.walk, 0),
        meta={"deltafetch_enabled": False, "handle_httpstatus_list": [responses.NOT_MODIFIED]},
        body_digest=known.body_digest,
        validators=[known.validated_url, known.etag, known.last_modified],
        known_behind=None if known.behind is None else known.behind.plain(),
        is_new=known.crawled is None,
    )


def subscription_elsewhere(visit: Visit, response: Response, url: str) -> Request:
    """The request for the subscription document that another document has named."""
    # If it is not there either, what has led there is read as what it is.
    given: dict[str, Any] = {"is_given": True, "archive": visit.asked} if url == visit.feed else {}
    return _request(
        Role.SUBSCRIPTION,
        url,
        walk=response.cb_kwargs,
        place=visit.place,
        via=response.url,
        meta={"deltafetch_enabled": False},
        **reading.referral(visit, response, url),
        **given,
    )


def last_known(visit: Visit, walk: dict[str, Any]) -> Iterator[Request]:
    """The request for the archive that a feed was last at, if it is not where the user said either.

    :param walk: what the request for where the user said has carried
    """
    if "archive" in walk:
        meta = {"deltafetch_enabled": False}
        yield _request(
            Role.SUBSCRIPTION, walk["archive"], walk=walk, place=visit.place, meta=meta, is_last=True
        )


def as_given(visit: Visit, walk: dict[str, Any]) -> Iterator[Request]:
    """The request for a subscription document where the user said that it is, if it is lost elsewhere.

    What a redirect for good has led to may be no more, and the redirect have been a mistake. A server that
    says when to ask again is still there.

    :param walk: what the request for it has carried
    """
    is_elsewhere = visit.asked not in (visit.feed, walk["options"].get("snapshot")) and walk["via"] is None
    if visit.role is Role.SUBSCRIPTION and is_elsewhere and visit.retry_after is None:
        meta = {"deltafetch_enabled": False}
        yield _request(Role.SUBSCRIPTION, visit.feed, walk=walk, place=visit.place, meta=meta, is_given=True)


def behind(visit: Visit, response: Response, link: Link, is_guess: bool, newer: Newer | None) -> Request:
    """The request for the document that a document leads to.

    :param is_guess: it may not be there
    :param newer: what that document is compared with
    """
    known = response.cb_kwargs
    return _request(
        link.role,
        link.url,
        walk=known,
        place=visit.place.before(),
        via=response.url,
        documents=known.get("documents", 0) + 1,
        meta=GUESSED if is_guess else None,
        page_digest=responses.digest(response) if link.role is Role.PAGE and not is_guess else None,
        guessed_from=wordpress.shown(visit) if is_guess else None,
        newer=newer and newer.plain(),
    )


def known_behind(visit: Visit, response: Response, known: list[Any]) -> Request:
    """The request for what is left behind a document that has not changed.

    :param known: what the request for that document has carried
    """
    key, url, role, walk, step = known
    # An archive keeps its place; a page has the one of the walk that reads it.
    place = visit.place.before() if role == Role.PAGE.value else Place(walk, step)
    is_guess = role == Role.PAGE.value and wordpress.is_guess(url, response.cb_kwargs)
    return _request(
        Role(role),
        url,
        walk=response.cb_kwargs,
        place=place,
        via=response.url,
        meta={**({"deltafetch_key": key} if key != url else {}), **(GUESSED if is_guess else {})},
        guessed_from="" if is_guess else None,
        documents=1,
    )


def part(step: Step, walk: dict[str, Any], documents: int = 1) -> Request:
    """The request for a document that a list names.

    :param documents: how many of them have been asked for in this run, with this one
    """
    return _request(
        step.role,
        step.url,
        walk=walk,
        place=step.place,
        meta={"deltafetch_key": step.key},
        documents=documents,
    )


def capture(found: Capture, walk: dict[str, Any]) -> Request:
    """The request for a document of a web archive."""
    request = _request(
        Role.CAPTURE,
        found.url,
        walk=walk,
        place=logical_feed.place_of_capture(found.date, found.depth),
        meta={"deltafetch_key": found.place, "deltafetch_enabled": False},
        fetched=found.date,
    )
    return request.replace(url=found.place)


def _request(
    role: Role,
    url: str,
    *,
    walk: dict[str, Any],
    place: Place,
    via: str | None = None,
    meta: dict[str, Any] | None = None,
    **kwargs: Any,
) -> Request:
    # Scrapy's duplicate filter would drop an archive that two feeds share, and end a loop silently.
    return Request(
        **responses.aim(url, walk),
        meta=meta,
        dont_filter=True,
        cb_kwargs={
            **{name: walk[name] for name in HANDED_ON if name in walk},
            "asked": url,
            "via": via,
            "role": role.value,
            "walk": place.walk,
            "step": place.step,
            **kwargs,
        },
    )
