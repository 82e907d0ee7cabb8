"""The kinds of reasons why a document or a feed is not complete, with advice for each."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

# Advice that is too long for a line, or shared by several kinds.
ALLOW = "nothing, if you did not mean it; else name its host in FHCRAWL_ALLOWED_PRIVATE_HOSTS"
BROKEN = "tell its publisher; the next run reads it again, and it counts once it is mended"
ENDLESS = (
    "nothing, if its entries end there; each run reads a few more, so run it again if there may be older ones"
)
FULL = "make room on that disk (the log says where), then run it again; the next run goes on there"
HTTPS = "tell its publisher to link with https:; if you trust the way, give the feed with http:"
LARGE = "if you trust it, raise the setting that it names, if that can be; else tell its publisher"
LIMITED = "raise the setting that it names, if that can be; the next run goes on where one has stopped"
LINKS = "tell its publisher, who knows which of the links is wrong"
LOST = "the log says which, and why; tell its publisher; fhcrawl crawl --reset reads all again"
MISSING = "the next run asks again; if it stays away, ask its publisher, or look in a web archive"
NETWORK = "the next run asks again; if it goes on, check the network and the host's name"
NO_DTD = "tell its publisher to write the entities out: no DTD is fetched"
NO_MORE_PAGES = (
    "nothing, if its entries end there; else tell its publisher, whose server has no page after that: "
    "the history may be longer"
)
NO_FEED = "check in a browser what is there; if that is no feed any more, tell its publisher"
NOT_NEWEST = (
    "crawl the feed's own address, not that of an archive; if its relations are backwards, "
    "write reversed = true for it in a list of feeds (docs/howto/odd-publishers.md)"
)
ODD = "tell its publisher; the next run looks again"
OLDER = "look for an older snapshot or for the feed's archives; what lies between is not there"
OURS = "look in the log for the error and mend it; the next run reads it again"
PLAIN = "run it often: what it shows from now on is kept; --web-archive reads what web archives have of it"
PRIVATE = (
    "it wants a password: set HTTPAUTH_USER, HTTPAUTH_PASS and HTTPAUTH_DOMAIN, "
    "or give the feed headers in a TOML list"
)
CHALLENGE = (
    "ask its publisher to exempt feeds from it, or your crawler by its USER_AGENT; "
    "until then, the feed is requested once a day"
)
REFUSED = "ask its publisher for access"
OFTENER = (
    "subscribe to it, and run fhcrawl crawl --due every 15 minutes: a feed is due before all that it shows "
    "is new, as far as its server allows (docs/howto/schedule.md)"
)
ONLY_CAPTURES = (
    "nothing, if its publisher is gone: its entries are from captures, and stay; "
    "else, the next run asks again"
)
PLATFORM = (
    "crawl it without --no-platforms, and without platforms = false in a list (numbered pages of unknown "
    "software: with --probe): that brings older entries"
)
CUT_PERIOD = (
    "nothing: its publisher shows only the newest entries of that time; web archives may have the others"
)
UNREAD = (
    "look in a browser whether a feed is there; if not, correct its address, "
    "and `unsubscribe` from the wrong one if it is subscribed"
)
SHARED = (
    "tell its publisher; or choose what identifies its entries: crawl it with --ids digest or --ids link, "
    'or write ids = "digest" for it in a list (docs/howto/odd-publishers.md)'
)
SUBSCRIPTIONS = "give it as a list, saved as a file: fhcrawl crawl --feeds FILE"


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

    UNREACHABLE = "unreachable", UNREAD, Retry.NEVER, False
    ONLY_CAPTURES = "only-captures", ONLY_CAPTURES, Retry.NEVER, False
    HTTP_401 = "http-401", PRIVATE
    HTTP_403 = "http-403", REFUSED
    HTTP_404 = "http-404", MISSING
    HTTP_410 = "http-410", "it is gone for good: look in a web archive"
    HTTP_429 = "http-429", "the next run goes on after the pause that its server asks for"
    HTTP_451 = "http-451", "nothing can be done from here"
    HTTP_5XX = "http-5xx", "its server is to blame; the next run asks again"
    CHALLENGE = "challenge", CHALLENGE, Retry.NEVER
    TIMEOUT = "timeout", "the next run asks again; if its server is slow, raise DOWNLOAD_TIMEOUT"
    NO_HOST = "no-host", NETWORK
    NO_FILE = "no-file", "check its path, and who may read it"
    CONNECTION_REFUSED = "connection-refused", NETWORK
    DOWNLOAD_ERROR = "download-error", NETWORK
    CUT_OFF = "cut-off", "the next run asks again; if it always comes incomplete, tell its publisher"
    ROBOTS_TXT = "robots-txt", REFUSED
    TOO_LARGE = "too-large", LARGE
    REDIRECTS = "redirects", ODD
    REFUSED_URL = "refused-url", "nothing, if you did not ask for it; if you trust it, crawl it by itself"
    PRIVATE_ADDRESS = "private-address", ALLOW
    DOWNGRADE = "downgrade", HTTPS
    IGNORED = "ignored", "look which middleware of yours drops it"
    EMPTY = "empty", ODD
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
    EMPTY_LINK = "empty-link", "tell its publisher: the oldest document has no such link at all"
    LOOP = "loop", "tell its publisher, whose links lead back; what is behind the loop cannot be known"
    REPEATS = "repeats", NO_MORE_PAGES
    CUT_PERIOD = "cut-period", CUT_PERIOD, Retry.NEVER
    EMPTY_ARCHIVES = "empty-archives", ENDLESS, Retry.NEVER
    LIMIT = "limit", LIMITED, Retry.SOON
    DISK_FULL = "disk-full", FULL, Retry.SOON
    MOVED = "moved", "run it again: the next run sees whether the chain still leads there"
    KNOWN = "known", "run it again: the next run goes on there", Retry.SOON
    PIPELINE_ERROR = "pipeline-error", OURS
    STORE_ERROR = "store-error", "make room for the store or mend it, then run again"
    ERROR = "error", OURS
    ENTRIES_LOST = "entries-lost", LOST, Retry.NEVER
    SHARED_ID = "shared-id", SHARED, Retry.NEVER
    NO_CURRENT = "no-current", NOT_NEWEST
    NOT_A_SNAPSHOT = "not-a-snapshot", "leave out the snapshot, or name the snapshot's index"
    BEGINS_LATER = "begins-later", OLDER
    PAGED = (
        "paged",
        "run it often: it is complete once two readings of all its pages agree (--reset reads them at once)",
        Retry.NEVER,
        False,
    )
    NO_HISTORY = "no-history", PLAIN, Retry.NEVER, False
    HOLES = "holes", OFTENER, Retry.NEVER, False
    PLATFORM = "platform", PLATFORM, Retry.NEVER, False
    OTHER = "other", "the next run asks again"

    def __new__(cls, value: str, advice: str = "", retry: Retry = Retry.LATER, is_gap: bool = True) -> Self:
        """Create a member whose value is the first argument."""
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

    def __reduce_ex__(self, protocol: object) -> tuple[type[ReasonKind], tuple[str]]:
        """Pickle by value: some versions of Python would look a member up by its name."""
        return type(self), (self.value,)

    @classmethod
    def http(cls, status: int) -> ReasonKind:
        """Return the kind for the HTTP status of an error response."""
        return cls(f"http-{status}")


# The subscription document of the feed could never be read.
NEVER_READ = frozenset({ReasonKind.UNREACHABLE, ReasonKind.ONLY_CAPTURES})
# Other documents of the host may fail for the same reason.
OF_HOST = frozenset(
    {
        ReasonKind.TIMEOUT,
        ReasonKind.NO_HOST,
        ReasonKind.CONNECTION_REFUSED,
        ReasonKind.DOWNLOAD_ERROR,
        ReasonKind.HTTP_429,
        ReasonKind.http(503),
        ReasonKind.CHALLENGE,
        ReasonKind.LIMIT,
        ReasonKind.DISK_FULL,
    }
)
# The publisher is not the cause: the document was not requested, or not stored.
OURSELVES = frozenset(
    {
        ReasonKind.KNOWN,
        ReasonKind.LIMIT,
        ReasonKind.DISK_FULL,
        ReasonKind.IGNORED,
        ReasonKind.PIPELINE_ERROR,
        ReasonKind.STORE_ERROR,
        ReasonKind.ERROR,
    }
)
