"""What to do about what is missing of a feed, by the kind of the reason; and about a run that has failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MISSING = "the next run asks again; if it stays away, ask its publisher, or look in a web archive"
REFUSED = "ask its publisher for access"
SERVER = "its server is to blame; the next run asks again"
NETWORK = "the next run asks again; if it goes on, check the network and the host's name"
BROKEN = "tell its publisher; the next run reads it again, and it counts once it is mended"
NO_FEED = "check in a browser what is there; if that is no feed any more, tell its publisher"
ODD = "tell its publisher; the next run looks again"
OURS = "look in the log for the error and mend it; the next run reads it again"

ADVICE = {
    "http-401": "it wants a password: set HTTPAUTH_USER, HTTPAUTH_PASS and HTTPAUTH_DOMAIN",
    "http-403": REFUSED,
    "http-404": MISSING,
    "http-410": "it is gone for good: look in a web archive",
    "http-429": "run it again later, with a higher DOWNLOAD_DELAY",
    "http-451": "nothing can be done from here",
    "timeout": "the next run asks again; if its server is slow, raise DOWNLOAD_TIMEOUT",
    "no-host": NETWORK,
    "connection-refused": NETWORK,
    "download-error": NETWORK,
    "cut-off": "the next run asks again; if it always comes incomplete, tell its publisher",
    "robots-txt": REFUSED,
    "too-large": "if you trust it, raise the setting that it names, if that can be; else tell its publisher",
    "redirects": ODD,
    "refused-url": "nothing, if you did not ask for it; if you trust it, name it with -a feed=",
    "private-address": "nothing, if you did not mean it; else name its host in FHCRAWL_ALLOWED_PRIVATE_HOSTS",
    "downgrade": "tell its publisher to link with https:; if you trust the way, give the feed with http:",
    "ignored": "look which middleware of yours drops it",
    "empty": ODD,
    "html": NO_FEED,
    "not-xml": NO_FEED,
    "not-json": NO_FEED,
    "not-a-feed": NO_FEED,
    "no-boundary": BROKEN,
    "no-parts": BROKEN,
    "not-well-formed": BROKEN,
    "unresolved-entities": "tell its publisher to write the entities out: no DTD is fetched",
    "contradictory-links": "tell its publisher, who knows which of the links is wrong",
    "empty-link": "tell its publisher: the oldest document has no such link at all",
    "loop": "tell its publisher, whose links lead back; what is behind the loop cannot be known",
    "repeats": "nothing, if its pages end there; else tell its publisher",
    "reader-died": "the next run reads it again; if memory was short, lower FHCRAWL_MAX_ELEMENTS; if time "
    "was, raise FHCRAWL_READER_TIMEOUT",
    "limit": "raise the setting that it names, if that can be; the next run goes on where one has stopped",
    "disk-full": "make room on that disk (the log says where), then run it again; the next run goes on there",
    "moved": "run it again: the next run sees whether the chain still leads there",
    "known": "run it again: the next run goes on there",
    "pipeline-error": OURS,
    "store-error": "make room for the store or mend it, then run again",
    "error": OURS,
    "entries-lost": "the log says which, and why; tell its publisher; -a deltafetch_reset=1 reads all again",
    "no-current": "name the feed's own address with -a feed=, not that of an archive; if its relations are "
    "backwards, write reversed = true for it in a list of feeds (README, 'Odd publishers')",
    "not-a-snapshot": "leave out -a snapshot=, or give it the snapshot's index",
    "begins-later": "look for an older snapshot or for the feed's archives; what lies between is not there",
    "paged": "run it often: a paged feed cannot promise more",
    "no-history": "run it often: what it shows from now on is kept",
}
OTHERWISE = "the next run asks again"

# By the beginnings of stats. `scrapy crawl` ends with exit code 1 then.
FAILURES = {
    "fhcrawl/disk/full": "A disk was nearly full (see the log): make room on it, then run again.",
    "fhcrawl/cluster/failed": "Redis has failed (see the log): mend it, then run again.",
    "fhcrawl/feed/unread": "No feed could be read (see the log); the next run asks again.",
    "fhcrawl/store/failed": "The store has failed (see the log): mend it, then run again.",
    "fhcrawl/warc/failed": "Not all of this run is in finished WARC files (see the log).",
    "feedexport/failed_count/": (
        "The export was not written (see the log); the next run of these feeds exports it."
    ),
}


def advice(kind: str) -> str:
    """What to do about a reason: the rest of a sentence.

    :param kind: of the reason, as `fhcrawl.logical_feed.Reason` has it
    """
    return ADVICE.get(kind, SERVER if kind.startswith("http-5") else OTHERWISE)


def failures(stats: Iterable[str]) -> list[str]:
    """What has failed in a run, a sentence each.

    :param stats: the names of the run's stats
    """
    names = list(stats)
    return [said for begin, said in FAILURES.items() if any(name.startswith(begin) for name in names)]
