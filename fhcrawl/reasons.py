"""The kinds of reasons why a document or a feed is not complete, with advice for each."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

# Advice that is too long for a line, or shared by several kinds.
ALLOW = "if you want it to be fetched, add its host to FHCRAWL_ALLOWED_PRIVATE_HOSTS"
BROKEN = "tell the publisher; the next run tries again"
CHALLENGE = (
    "ask the publisher to exempt feeds, or your USER_AGENT, from the challenge; "
    "until then, the feed is requested once a day"
)
CUT_PERIOD = (
    "nothing: the publisher shows only the newest entries of that period; web archives may have the others"
)
ENDLESS = (
    "nothing, if there are no older entries; otherwise run the crawl again: each run reads a few more "
    "documents"
)
EXPORTED = "crawl the feed from which this one was exported, or tell the publisher"
HTTPS = "tell the publisher to use https: links; if you trust the connection, crawl the feed by its http: URL"
LARGE = "if you trust the publisher and the limit is a setting, raise it; otherwise tell the publisher"
LIMITED = "the next run continues there; if the limit is a setting, you can raise it"
LINKS = "tell the publisher, who knows which link is the right one"
LOST = "see the log for details, and tell the publisher; fhcrawl crawl --reset reads everything again"
MISSING = "the next run tries again; if it stays missing, contact its publisher or look in a web archive"
NETWORK = "the next run tries again; if that keeps failing, check the network and the host name"
NO_DTD = "tell the publisher to replace the entities with their text; fhcrawl does not read DTDs"
NO_FEED = "open the URL in a browser; if it is no longer a feed, tell the publisher"
NO_MORE_PAGES = (
    "nothing, if there are no older entries; otherwise tell the publisher that the server has no page after "
    "this one"
)
NOT_NEWEST = (
    "crawl the URL of the feed, not of an archive; if its link relations are reversed, "
    "set reversed = true in a list of feeds"
)
OFTENER = (
    "subscribe to it and run fhcrawl crawl --due every 15 minutes: if the server allows it, a feed is then "
    "requested before all of its entries have been replaced"
)
OLDER = "look for an older snapshot, or for the feed's archives"
ONLY_CAPTURES = "nothing, if the feed no longer exists; otherwise the next run tries again"
OURS = "find the error in the log and fix its cause; the next run tries again"
PLAIN = (
    "crawl it often, because fhcrawl keeps all entries; --from-sitemap and --web-archive may find older ones"
)
PLATFORM = (
    "to read older entries, crawl it without --no-platforms and platforms = false; "
    "if its software is unknown, add --probe"
)
PRIVATE = "set HTTPAUTH_USER, HTTPAUTH_PASS and HTTPAUTH_DOMAIN, or set headers for the feed in a TOML list"
REFUSED = "ask the publisher for access"
SUBSCRIPTIONS = "save it to a file, and crawl the feeds that it lists: fhcrawl crawl --feeds FILE"
UNREAD = (
    "open the URL in a browser; if there is no feed, correct the URL, "
    "and remove the wrong one with fhcrawl unsubscribe"
)


class Retry(Enum):
    """When to poll a feed again for a missing document, even if it is not due by its schedule."""

    SOON = "as soon as the user's limits allow"
    LATER = "once it has been missing for half as long again"
    NEVER = "no sooner than the feed itself is due"


class ReasonKind(str, Enum):
    """A kind of reason; its value is `kind` in the database and in `fhcrawl feeds --json`.

    `ReasonKind(value)` never fails: HTTP statuses and kinds of other versions need not be members.

    :param advice: what the user can do: the rest of a sentence
    :param is_gap: whether a known document or entry is missing
    """

    advice: str
    retry: Retry
    is_gap: bool

    NOT_READ = "not-read", UNREAD, Retry.NEVER, False
    ONLY_CAPTURES = "only-captures", ONLY_CAPTURES, Retry.NEVER, False
    HTTP_401 = "http-401", PRIVATE
    HTTP_403 = "http-403", REFUSED
    HTTP_404 = "http-404", MISSING
    HTTP_410 = "http-410", "look in a web archive"
    HTTP_429 = "http-429", "the next run continues after the pause that the server requires"
    HTTP_451 = "http-451", "nothing"
    HTTP_5XX = "http-5xx", "the next run tries again"
    CHALLENGE = "challenge", CHALLENGE, Retry.NEVER
    TIMEOUT = "timeout", "the next run tries again; if the server is slow, raise DOWNLOAD_TIMEOUT"
    NO_HOST = "no-host", NETWORK
    NO_FILE = "no-file", "check its path and permissions"
    CONNECTION_REFUSED = "connection-refused", NETWORK
    DOWNLOAD_ERROR = "download-error", NETWORK
    CUT_OFF = "cut-off", "the next run tries again; if the response is always truncated, tell the publisher"
    ROBOTS_TXT = "robots-txt", REFUSED
    TOO_LARGE = "too-large", LARGE
    REDIRECTS = "redirects", BROKEN
    REFUSED_URL = "refused-url", "if you trust that URL, crawl it directly"
    PRIVATE_ADDRESS = "private-address", ALLOW
    DOWNGRADE = "downgrade", HTTPS
    IGNORED = "ignored", "check which middleware drops the request"
    EMPTY = "empty", BROKEN
    HTML = "html", NO_FEED
    NOT_XML = "not-xml", NO_FEED
    NOT_JSON = "not-json", NO_FEED
    NOT_A_FEED = "not-a-feed", NO_FEED
    OPML = "opml", SUBSCRIPTIONS
    NO_BOUNDARY = "no-boundary", BROKEN
    NO_PARTS = "no-parts", BROKEN
    NOT_WELL_FORMED = "not-well-formed", BROKEN
    UNRESOLVED_ENTITIES = "unresolved-entities", NO_DTD
    CONTRADICTORY_LINKS = "contradictory-links", LINKS
    EMPTY_LINK = "empty-link", "tell the publisher; the oldest document should have no such link"
    LOOP = "loop", "tell the publisher that the links form a loop; older documents cannot be found"
    REPEATS = "repeats", NO_MORE_PAGES
    CUT_PERIOD = "cut-period", CUT_PERIOD, Retry.NEVER
    EMPTY_ARCHIVES = "empty-archives", ENDLESS, Retry.NEVER
    LIMIT = "limit", LIMITED, Retry.SOON
    MOVED = "moved", "run the crawl again: it checks whether the chain still leads there"
    NOT_CRAWLED = "not-crawled", "crawl it, or run fhcrawl crawl --due if it is subscribed", Retry.SOON
    KNOWN = "known", "run the crawl again: it continues there", Retry.SOON
    PIPELINE_ERROR = "pipeline-error", OURS
    STORE_ERROR = "store-error", "free up disk space or repair the store, then run the crawl again"
    ERROR = "error", OURS
    ENTRIES_LOST = "entries-lost", LOST, Retry.NEVER
    ENTRIES_MISSING = "entries-missing", EXPORTED, Retry.NEVER
    NO_CURRENT = "no-current", NOT_NEWEST
    NOT_A_SNAPSHOT = "not-a-snapshot", "omit the snapshot, or give the URL of the snapshot's index"
    BEGINS_LATER = "begins-later", OLDER
    PAGED = (
        "paged",
        "run the crawl again: each crawl reads up to FHCRAWL_CONFIRM_PAGES pages once more, until two "
        "readings agree",
        Retry.NEVER,
        False,
    )
    NO_HISTORY = "no-history", PLAIN, Retry.NEVER, False
    HOLES = "holes", OFTENER, Retry.NEVER, False
    PLATFORM = "platform", PLATFORM, Retry.NEVER, False
    OTHER = "other", "the next run tries again"

    def __new__(cls, value: str, advice: str = "", retry: Retry = Retry.LATER, is_gap: bool = True) -> Self:
        kind = str.__new__(cls, value)
        kind._value_, kind.advice, kind.retry, kind.is_gap = value, advice, retry, is_gap
        return kind

    __str__ = str.__str__

    # RFC 9110, 15: "a client MUST understand the class of any status code, as indicated by the first digit,
    # and treat an unrecognized status code as being equivalent to the x00 status code of that class."
    @classmethod
    def _missing_(cls, value: object) -> ReasonKind:
        kind = str.__new__(cls, value)
        vars(kind).update(vars(cls.HTTP_5XX if kind.startswith("http-5") else cls.OTHER), _value_=str(value))
        return kind

    # Some versions of Python would look a member up by its name.
    def __reduce_ex__(self, protocol: object) -> tuple[type[ReasonKind], tuple[str]]:
        return type(self), (self.value,)

    @classmethod
    def http(cls, status: int) -> ReasonKind:
        return cls(f"http-{status}")


# The subscription document of the feed could never be read.
NEVER_READ = frozenset({ReasonKind.NOT_READ, ReasonKind.ONLY_CAPTURES})
# Other documents of the host may fail for the same reason.
_OF_HOST = (
    *("timeout", "no-host", "connection-refused", "download-error", "http-429", "http-503"),
    *("challenge", "limit"),
)
OF_HOST = frozenset(map(ReasonKind, _OF_HOST))
# The publisher is not the cause: the document was not requested, or not stored.
_OURSELVES = (
    *("known", "not-crawled", "limit", "ignored"),
    *("pipeline-error", "store-error", "error"),
)
OURSELVES = frozenset(map(ReasonKind, _OURSELVES))
