"""Writes the report on feeds as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
import re
import tempfile
from collections import Counter
from importlib import resources
from itertools import accumulate, chain, groupby
from typing import IO, TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fhcrawl import __version__
from fhcrawl.logical_feed import WORDS, Role, Verdict, shown_verdict
from fhcrawl.logical_feed.results import State
from fhcrawl.logical_feed.verdicts import BASES, CHAIN
from fhcrawl.reasons import ReasonKind
from fhcrawl.reporting.summary import unknown_entries, with_kind_of_advice
from fhcrawl.utils.text import LONGEST, UNFIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fhcrawl.logical_feed import Reason
    from fhcrawl.store import ChainNode, Details, Feed

# Of more consecutive documents with the same state, the first and last are shown; the others are counted.
MOST_SINGLE = 3
MOST_STRETCHES = 40
MOST_REASONS = 20
# With entries in more months than these, they are counted by year.
MOST_MONTHS = 24
# Dates of a wrong century do not make the table long.
MOST_YEARS = 100
MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])")
TO_THE_YEAR, TO_THE_MONTH, TO_THE_DAY, TO_THE_MINUTE = map(
    len, ("2003", "2003-12", "2003-12-13", "2003-12-13T18:30")
)
# Explanations of the verdicts in words.
STATUSES = {
    ReasonKind.NOT_READ.value: "could never be read",
    Verdict.INCOMPLETE.value: "something is missing",
    Verdict.LOSSY.value: "two readings differ, or entries are lost",
    Verdict.UNKNOWN.value: "older entries may exist",
    Verdict.COMPLETE.value: "nothing is missing",
}
# The subject of a sentence whose rest is a reason's detail, by the role of the document.
SUBJECTS = {
    Role.ARCHIVE.value: "An archive",
    Role.PAGE.value: "A page",
    Role.PART.value: "A part of its list",
    Role.INDEX.value: "The snapshot",
}
# Reasons why older entries may exist, although each document was read.
OPEN_ENDED = frozenset({ReasonKind.NO_HISTORY, ReasonKind.PLATFORM, ReasonKind.LOOP})


class Stretch:
    def __init__(self, documents: Sequence[ChainNode]) -> None:
        self.count = len(documents)
        self.first, self.last = documents[0], documents[-1]
        self.states = dict(Counter(document.state for document in documents))
        self.fetched = max(document.fetched or "" for document in documents)
        # All have lost the same number of entries.
        self.is_gap = self.states.keys() != {State.PROCESSED.value} or self.first.lost_entries != 0


class Section:
    """A feed in the report.

    :ivar anchor: a fragment identifier, the same in each report
    :ivar status: a key of STATUSES, which `summary` explains
    :ivar unknown: which entries are not known, as a clause; '' for none
    """

    def __init__(self, feed: Feed, details: Details) -> None:
        gaps = [reason for reason in feed.reasons if reason.is_gap]
        is_open = any(reason.kind in OPEN_ENDED for reason in feed.reasons)
        self.feed, self.details = feed, details
        self.anchor = f"feed-{hashlib.sha256(feed.feed.encode()).hexdigest()[:12]}"
        self.name = (feed.title or "").strip() or feed.feed
        self.status = feed.verdict_in_words
        self.summary = _summary(feed, details, gaps)
        self.gaps, self.more_gaps = gaps[:MOST_REASONS], len(gaps[MOST_REASONS:])
        self.remarks = [reason for reason in feed.reasons if not reason.is_gap]
        self.unknown = "" if details.gap is None else unknown_entries(feed, details.gap)
        if not self.unknown and is_open and details.first:
            self.unknown = f"entries before {details.first[:TO_THE_DAY]} are unknown"
        self.dated = over_time(details.months)
        self.undated = sum(count for month, count in details.months.items() if not MONTH.fullmatch(month))
        self.chain, self.snapshot = stretches(details.chain), stretches(details.snapshot)
        # The worst feeds are first.
        self.order = (WORDS.index(self.status), not gaps, self.name.casefold(), feed.feed)


class FeedProblem(NamedTuple):
    anchor: str
    name: str
    reason: Reason


class Advised:
    def __init__(self, kind: ReasonKind) -> None:
        self.advice, self.is_gap = kind.advice, kind.is_gap
        self.problems: list[FeedProblem] = []
        self.more = 0  # further problems, beyond MOST_REASONS


class Overview:
    def __init__(self) -> None:
        self.statuses: Counter[str] = Counter()
        self.entries = self.documents = 0
        self.months: Counter[str] = Counter()
        self.read_first: str | None = None
        self.read_last: str | None = None
        self._advised: dict[tuple[bool, str], Advised] = {}

    @property
    def feeds(self) -> int:
        return self.statuses.total()

    @property
    def to_do(self) -> list[Advised]:
        return sorted(self._advised.values(), key=lambda advised: not advised.is_gap)

    def add(self, section: Section) -> None:
        feed = section.feed
        self.statuses[section.status] += 1
        self.entries += feed.entries
        self.documents += feed.documents.get(State.PROCESSED.value, 0)
        self.months.update(section.details.months)
        for reason, kind in with_kind_of_advice(feed.reasons):
            advised = self._advised.setdefault((kind.is_gap, kind.advice), Advised(kind))
            if len(advised.problems) < MOST_REASONS:
                advised.problems.append(FeedProblem(section.anchor, section.name, reason))
            else:
                advised.more += 1
        if feed.crawled:
            self.read_first = min(self.read_first or feed.crawled, feed.crawled)
            self.read_last = max(self.read_last or feed.crawled, feed.crawled)


def _summary(feed: Feed, details: Details, gaps: list[Reason]) -> str:
    if gaps:
        roles = {document.url: document.role for document in (*details.snapshot, *details.chain)}
        first = f"{SUBJECTS.get(roles.get(gaps[0].url, ''), 'The feed')} {gaps[0].detail}"
        more = len(gaps) - 1
        return f"{first}; and {more:,} more {'gap' if more == 1 else 'gaps'}" if more else first
    if feed.reasons:
        return f"The feed {feed.reasons[0].detail}"
    if feed.basis not in (None, CHAIN):
        return BASES[feed.basis]
    documents = len(details.chain)
    if documents == 1:
        return "Its only document was read; there are no older ones"
    return f"Its chain of {documents:,} documents was read to its oldest document"


def over_time(months: Mapping[str, int]) -> list[tuple[str, int, int]]:
    """Return the months, else the years, from the first to the last one, with their numbers and totals."""
    dated = sorted(month for month in months if MONTH.fullmatch(month))
    if not dated:
        return []
    first, last = (12 * int(month[:TO_THE_YEAR]) + int(month[-2:]) - 1 for month in (dated[0], dated[-1]))
    is_long = last - first >= MOST_MONTHS
    counts: Counter[str] = Counter()
    if not is_long:
        counts.update({f"{month // 12:04}-{month % 12 + 1:02}": 0 for month in range(first, last + 1)})
    elif last // 12 - first // 12 < MOST_YEARS:
        counts.update({f"{year:04}": 0 for year in range(first // 12, last // 12 + 1)})
    for month in dated:
        counts[month[: TO_THE_YEAR if is_long else TO_THE_MONTH]] += months[month]
    return [(*item, total) for item, total in zip(counts.items(), accumulate(counts.values()), strict=True)]


def stretches(documents: Iterable[ChainNode]) -> list[Stretch]:
    groups: list[list[ChainNode]] = []
    for _, equal_documents in groupby(
        documents, lambda item: (item.role, item.state, item.reason, item.lost_entries)
    ):
        run = list(equal_documents)
        if len(run) <= MOST_SINGLE:
            groups += [[document] for document in run]
        else:
            groups += [run[:1], run[1:-1], run[-1:]]
    if len(groups) > MOST_STRETCHES:
        groups[MOST_STRETCHES - 2 : -1] = [[*chain.from_iterable(groups[MOST_STRETCHES - 2 : -1])]]
    return [Stretch(group) for group in groups]


# With at most this many feeds, the details of all feeds are open, so that they are printed too.
MOST_OPEN = 5
MOST_MISSING = 200  # pages of sitemaps
MOST_SHOWN = 5  # problems with one advice; the others are collapsed
SHORT = 60  # characters
# Publishers do not see the report as referrer, and search engines do not count its links.
REL = "noopener noreferrer nofollow"
ROLES = {
    "subscription": "Feed document",
    "archive": "Archive",
    "page": "Page",
    "part": "Part",
    "index": "List of parts",
}
STATES = {
    "known": "not fetched yet",
    "processed": "read",
    "missing": "missing",
    "failed": "failed",
    "refused": "not allowed",
    "invalid": "invalid",
}
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")


def write(feeds: Iterable[tuple[Feed, Details]], file: IO[str], made: str, several: bool) -> Overview:
    """Write a report on feeds; return their totals.

    :param made: time of the report, ISO 8601 in UTC
    :param several: there are more feeds than MOST_OPEN; details are collapsed
    """
    # Feeds are rendered to a temporary file, because the page begins with their totals and the worst feeds.
    environment = _environment()
    overview = Overview()
    part = environment.get_template("feed.html")
    with tempfile.TemporaryFile() as sections:
        places = []
        for feed, details in feeds:
            section = Section(feed, details)
            overview.add(section)
            begin = sections.tell()
            sections.write(part.render(section=section, is_open=not several).encode("utf-8", "replace"))
            places.append((section.order, begin, sections.tell() - begin))
        places.sort()
        page = environment.get_template("page.html")
        style = resources.files("fhcrawl.reporting").joinpath("templates", "style.css").read_text("utf-8")
        values = {
            "overview": overview,
            "dated": over_time(overview.months),
            "made": made,
            "version": __version__,
            "style": Markup(style),  # noqa: S704 - a file of this package
            # Content Security Policy Level 3, 2.3.1, hash-source: the hash of the element's exact content.
            "style_hash": base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
            "few": not several,
            "sections": (_read_markup(sections, begin, length) for _order, begin, length in places),
        }
        for piece in page.generate(values):
            file.write(piece)
    return overview


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("fhcrawl.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    limits = {"most_missing": MOST_MISSING, "most_shown": MOST_SHOWN}
    environment.globals |= {**limits, "statuses": STATUSES, "roles": ROLES}
    filters = (text, url, link, host, short, sentence, day, minute, shown_verdict)
    environment.filters |= {function.__name__: function for function in filters}
    environment.filters |= {"number": "{:,}".format, "state": lambda state: STATES.get(state, state)}
    return environment


def _read_markup(file: IO[bytes], begin: int, length: int) -> Markup:
    file.seek(begin)
    return Markup(file.read(length).decode())  # noqa: S704 - escaped by the template


# Filters of the templates. Text of a feed is shown without control characters and changes of direction; only
# URLs of HTTP without them become links.


def text(value: str) -> str:
    shown = _without_controls(" ".join(value.split()))
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"


def _without_controls(value: str) -> str:
    return UNFIT.sub("\ufffd", CONTROLS.sub("\ufffd", value))


def url(address: str) -> Markup:
    if not _is_web(address):
        return Markup('<span class="url">{}</span>').format(text(address))
    return Markup('<a href="{}" rel="{}">{}</a>').format(address, REL, text(address))


def link(shown: str, address: str | None) -> Markup:
    if address is None or not _is_web(address):
        return Markup("<bdi>{}</bdi>").format(text(shown))
    return Markup('<a href="{}" rel="{}"><bdi>{}</bdi></a>').format(address, REL, text(shown))


def _is_web(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    has_host = parts.scheme in {"http", "https"} and bool(parts.netloc)
    return has_host and _without_controls(address) == address


def host(address: str) -> str:
    try:
        return text(urlsplit(address).hostname or "")
    except ValueError:
        return ""


def short(value: str) -> str:
    # A URL is cut in the middle: its end identifies it.
    shown = text(value)
    if len(shown) <= SHORT:
        return shown
    if not _is_web(value):
        return f"{shown[: SHORT - 1]}…"
    begin = (SHORT - 1) // 2
    return f"{value[:begin]}…{value[begin + 1 - SHORT :]}"


def sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:].rstrip('.')}."


def day(time: str) -> Markup:
    return Markup("<time>{}</time>").format(time[:TO_THE_DAY])


def minute(time: str) -> Markup:
    return Markup("<time>{}</time> UTC").format(time[:TO_THE_MINUTE].replace("T", " "))
