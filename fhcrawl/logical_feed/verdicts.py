"""The verdict on a logical feed: whether its stored history is complete."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING

from fhcrawl.logical_feed.chain import Kind
from fhcrawl.logical_feed.platforms import NUMBERED
from fhcrawl.reasons import NEVER_READ, OURSELVES, ReasonKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fhcrawl.logical_feed.coverage import Covered
    from fhcrawl.logical_feed.listings import Listing, SitemapReport


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a verdict is not `complete`; `detail` continues a sentence that begins with the URL.

    :param last_read: when the subscription document was last read, if it could not be read again since: all
        that was known is stored, and the verdict is as of that time
    """

    kind: ReasonKind
    url: str
    detail: str
    since: str
    last_read: str | None = None

    @property
    def is_gap(self) -> bool:
        return self.kind.is_gap and self.last_read is None

    def to_row(self) -> dict[str, str]:
        return {name: value for name, value in asdict(self).items() if value is not None}


class Verdict(str, Enum):
    """A verdict; the worst is first. If several apply to a feed, it has the worst of them."""

    INCOMPLETE = "incomplete"
    LOSSY = "lossy"
    UNKNOWN = "unknown"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is stored of a feed besides its documents.

    :param entries: number of its live entries; without a subscription document, they are from captures
    :param total: number of the feed's entries that the subscription document declares
    :param software: its software, if its older pages, which no document links to, are not requested
    :param agreed: when all pages were the feed: two readings agreed; ISO 8601 in UTC
    :param differing: number of confirmations in a row in which two readings differed
    :param caveat: what its documents may lack (`Platform`)
    """

    entries: int = 0
    total: int | None = None
    software: str | None = None
    listing: Listing | None = None
    agreed: str | None = None
    differing: int = 0
    sitemap: SitemapReport | None = None
    caveat: str = ""

    @property
    def shows_all_pages(self) -> bool:
        return (
            self.agreed is not None and not self.caveat and (self.total is None or self.total <= self.entries)
        )

    @property
    def has_less(self) -> bool:
        """Whether all pages were read, but the publisher has more entries, or may have (`caveat`)."""
        return self.agreed is not None or (self.listing is not None and not self.listing.is_whole)

    # A publisher may count entries that no page shows, or those of another moment; and the stored entries may
    # be others than those counted. So a number alone does not make a feed complete.
    @property
    def in_words(self) -> str:
        text = "" if self.sitemap is None else self.sitemap.in_words
        if self.listing is not None:
            text = self.listing.in_words
        elif self.total is not None:
            text = f"its publisher counts {self.total:,} entries; the store has {self.entries:,}"
        return "".join(f"; {each}" for each in (text, self.caveat) if each)


# The verdicts for people, the worst first.
WORDS = (ReasonKind.NOT_READ.value, *(verdict.value for verdict in Verdict))
# Of feeds whose last read failed, besides their verdicts.
FAILED = "failed"
SAYS_NOTHING = "does not link to older entries"
HAS_MOVED = "leads to another document: the publisher may have moved its archives during the crawl"
NO_DOCUMENT = {
    ReasonKind.NOT_READ: "has never been read",
    ReasonKind.ONLY_CAPTURES: "has never been read directly; its entries are from captures",
}
HAS_OTHER_PAGES = "is made with {}, which has older entries on unlinked pages"
IS_PAGED = "is split into pages; entries can move between pages during a crawl"
IS_READ = "was read in full"
NOT_CONFIRMED = f"{IS_READ}, not confirmed: all of its pages were read only once"
HAS_CHANGED = "has pages that changed between two readings"
HAS_CHANGED_OFTEN = "has pages that changed between two readings in each of {} crawls"
HAS_HOLES = "may have dropped entries between two reads"
ASKS_FOR_LESS = "the feed or its server does not allow reads as often as needed"
NO_ORDER = "coverage unknown: the order of its entries does not show whether any were missed"
TO_THE_DAY, TO_THE_MINUTE = len("2003-12-13"), len("2003-12-13T18:30")
# Why feeds are `complete`.
CHAIN = "chain"
BASES = {
    "document": "the feed says that its document has all of its entries",
    CHAIN: "its chain of documents was read to its oldest document",
    "list": "the store has each entry of the publisher's list",
    "count": "its pages were read in full, and the store has as many entries as the publisher counts",
    "readings": "two readings of all of its pages agree",
}
# The kinds of the reasons that are stored for documents of exports, by the verdicts that they declare.
DECLARED = {
    Verdict.INCOMPLETE.value: ReasonKind.ENTRIES_MISSING,
    Verdict.LOSSY.value: ReasonKind.PAGED,
    Verdict.UNKNOWN.value: ReasonKind.NO_HISTORY,
}
NO_EVIDENCE = Evidence()


def verdict(
    feed: str,
    kind: Kind | None,
    since: str,
    gaps: Iterable[Reason],
    evidence: Evidence = NO_EVIDENCE,
    covered: Covered | None = None,
    is_held_back: bool = False,
) -> tuple[Verdict, list[Reason]]:
    """Return the verdict on a feed, and the reasons why it is not `complete`, or only as of an earlier read.

    :param gaps: these, and reasons of failed reads
    :param kind: kind of the last subscription document; None if none has been read
    :param since: when that document was read, or else when the feed was first crawled
    :param covered: for how long a plain feed is covered; None if neither it nor a capture was read
    :param is_held_back: a plain feed or its server requests fewer polls than its holes would need
    """
    reasons = sorted(gaps, key=lambda reason: not reason.is_gap)
    has_gap = any(reason.is_gap for reason in reasons)
    reached = [Verdict.INCOMPLETE] if has_gap else [Verdict.COMPLETE]
    if kind is None:
        if not evidence.entries and all(reason.kind in OURSELVES for reason in reasons):
            return Verdict.UNKNOWN, reasons
        why = ReasonKind.ONLY_CAPTURES if evidence.entries else ReasonKind.NOT_READ
        detail = NO_DOCUMENT[why] if covered is None else f"{NO_DOCUMENT[why]}{_captured_period(covered)}"
        return Verdict.UNKNOWN, [Reason(why, feed, detail, since), *reasons, *_holes(feed, covered, False)]
    kinds = {reason.kind for reason in reasons}
    if declared := [word for word, declared_kind in DECLARED.items() if declared_kind in kinds]:
        return (Verdict.INCOMPLETE if any(each.is_gap for each in kinds) else Verdict(declared[0])), reasons
    listing = evidence.listing
    is_listed = listing is not None and listing.is_evidence and not has_gap
    is_counted = evidence.total is not None and evidence.shows_all_pages and not has_gap
    if kind is Kind.SINGLE and not is_listed and not is_counted:
        why, detail = ReasonKind.NO_HISTORY, SAYS_NOTHING
        if evidence.software is not None:
            why, detail = ReasonKind.PLATFORM, HAS_OTHER_PAGES.format(evidence.software)
            if evidence.software == NUMBERED.name:
                detail = "has older entries on unlinked numbered pages"
        detail += evidence.in_words if covered is None else f"{evidence.in_words}; {_coverage(covered)}"
        reasons += [Reason(why, feed, detail, since), *_holes(feed, covered, is_held_back)]
        reached.append(Verdict.UNKNOWN)
    elif kind is Kind.PAGED and not is_listed and (has_gap or not evidence.shows_all_pages):
        # After a hole in the first page, a walk reads the older pages: the hole is not a reason.
        reasons.append(Reason(ReasonKind.PAGED, feed, _of_pages(evidence, has_gap), since))
        is_lossy = evidence.differing or (evidence.has_less and not evidence.caveat)
        reached.append(Verdict.LOSSY if is_lossy else Verdict.UNKNOWN)
    return min(reached, key=list(Verdict).index), reasons


def basis(kind: Kind | None, evidence: Evidence) -> str:
    """Return what a verdict `complete` of `verdict` is based on: a key of BASES."""
    if kind in (Kind.COMPLETE, Kind.ARCHIVED):
        return "document" if kind is Kind.COMPLETE else CHAIN
    if evidence.listing is not None and evidence.listing.is_evidence:
        return "list"
    return "count" if kind is Kind.SINGLE else "readings"


def _of_pages(evidence: Evidence, has_gap: bool) -> str:
    if has_gap or evidence.has_less:
        return (IS_PAGED if has_gap else IS_READ) + evidence.in_words
    many = HAS_CHANGED_OFTEN.format(evidence.differing) if evidence.differing > 1 else HAS_CHANGED
    return (many if evidence.differing else NOT_CONFIRMED) + evidence.in_words


# The text after a semicolon differs between feeds.
def _coverage(covered: Covered) -> str:
    if covered.doubted is not None:
        return f"coverage unknown: the clock has gone back since the read at {_minute(covered.doubted)}"
    if not covered.is_proof:
        return NO_ORDER
    first, last = covered.spans[0], covered.spans[-1]
    begin = first.since[:TO_THE_DAY]
    sentence = f"nothing has been missed since {begin}"
    if covered.holes:
        sentence = f"nothing has been missed since {_minute(last.since)}; entries before {begin} are unknown"
    read = covered.read or ""
    captured = f"; anything before {read[:TO_THE_DAY]} is from captures" if first.since < read else ""
    return f"{sentence}{captured}"


def _captured_period(covered: Covered) -> str:
    since, until = covered.spans[0].since, covered.spans[-1].until
    if since == until:
        return ""
    sentence = "entries may have been missed" if covered.holes else "nothing has been missed"
    sentence += f" between {since[:TO_THE_DAY]} and {until[:TO_THE_DAY]}"
    return f"; {sentence if covered.is_proof else NO_ORDER}"


def _holes(feed: str, covered: Covered | None, is_held_back: bool) -> Iterator[Reason]:
    if covered is None or not (holes := covered.holes):
        return
    last, number = holes[-1], sum(hole.number for hole in holes)
    times = "" if number == 1 else f"{number:,} times, most recently "
    after, before = _minute(last.after), _minute(last.before)
    when = f"between {after} and {before}" if after != before else f"at {after}"
    cost = "" if last.entries is None else f" (about {last.entries:,} at its usual rate)"
    is_own = covered.read is not None and last.after >= covered.read
    why = f"; {ASKS_FOR_LESS}" if is_held_back and is_own else ""
    detail = f"{HAS_HOLES}; {times}{when}{cost}{why}"
    yield Reason(ReasonKind.HOLES, feed, detail, last.before)


def _minute(time: str) -> str:
    return time[:TO_THE_MINUTE].replace("T", " ")


def is_not_read(reasons: Iterable[Reason]) -> bool:
    return any(reason.kind is ReasonKind.NOT_READ for reason in reasons)


def shown_verdict(word: str) -> str:
    return word.replace("-", " ")


def in_words(verdict: Verdict, reasons: Iterable[Reason]) -> str:
    return ReasonKind.NOT_READ.value if is_not_read(reasons) else verdict.value


def words(verdict: Verdict, reasons: Iterable[Reason]) -> set[str]:
    """Return the verdict in words, and `FAILED` if the last read of the feed failed."""
    reasons = list(reasons)
    failed = any(reason.last_read or reason.kind in NEVER_READ for reason in reasons)
    return {in_words(verdict, reasons), *([FAILED] if failed else [])}
