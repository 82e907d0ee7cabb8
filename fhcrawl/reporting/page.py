"""Writes the report: one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
import re
import tempfile
from importlib import resources
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fhcrawl import __version__
from fhcrawl.reporting import contents, plot
from fhcrawl.utils.text import LONGEST, UNFIT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fhcrawl.store import Details, Feed

# With at most this many feeds, the details of all feeds are open, so that they are printed too.
MOST_OPEN = 5
MOST_SHOWN = 5  # problems with one advice; the others are collapsed
SHORT = 60  # characters
# Feeds are not to learn who reads about them, and gain nothing from being linked to.
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
    "missing": "not there",
    "failed": "not read: it failed",
    "refused": "not read: it is refused",
    "invalid": "not readable",
}
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")
TO_THE_DAY = len("2003-12-13")
TO_THE_MINUTE = len("2003-12-13T18:30")


def write(
    feeds: Iterable[tuple[Feed, Details]], file: IO[str], made: str, several: bool = True
) -> contents.Overview:
    """Write a report on feeds; return their totals.

    Feeds are rendered one at a time to a temporary file, because the page begins with their totals and the
    worst feeds.

    :param made: time of the report, ISO 8601 in UTC
    :param several: there are more feeds than MOST_OPEN; details are collapsed
    """
    environment = _environment()
    overview = contents.Overview()
    part = environment.get_template("feed.html")
    with tempfile.TemporaryFile() as sections:
        places = []
        for feed, details in feeds:
            section = contents.section(feed, details)
            overview.add(section)
            begin = sections.tell()
            sections.write(part.render(section=section, is_open=not several).encode("utf-8", "replace"))
            places.append((section.order, begin, sections.tell() - begin))
        places.sort()
        page = environment.get_template("page.html")
        style, script = _read("style.css"), _read("table.js")
        values = {
            "overview": overview,
            "made": made,
            "version": __version__,
            "style": Markup(style),  # noqa: S704 - a file of this package
            "script": Markup(script),  # noqa: S704 - a file of this package
            "style_hash": _hash(style),
            "script_hash": _hash(script),
            "few": not several,
            "sections": (_part(sections, begin, length) for _order, begin, length in places),
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
    environment.globals |= {
        "plot": plot,
        "statuses": contents.STATUSES,
        "roles": ROLES,
        "most_shown": MOST_SHOWN,
    }
    filters = (text, url, link, host, short, sentence, state, day, minute, number)
    environment.filters |= {one.__name__: one for one in filters}
    return environment


def _read(name: str) -> str:
    return resources.files("fhcrawl.reporting").joinpath("templates", name).read_text(encoding="utf-8")


# Content Security Policy Level 3, 2.3.1, hash-source: the hash of the element's exact content.
def _hash(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def _part(file: IO[bytes], begin: int, length: int) -> Markup:
    file.seek(begin)
    return Markup(file.read(length).decode())  # noqa: S704 - escaped by the template


def text(said: str) -> str:
    """Return text of a feed on one line, without control characters and changes of direction."""
    shown = _without_controls(" ".join(said.split()))
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"


def _without_controls(said: str) -> str:
    return UNFIT.sub("\ufffd", CONTROLS.sub("\ufffd", said))


def url(address: str) -> Markup:
    """Return a link for an HTTP URL without control characters; else the URL as text."""
    if not _is_web(address):
        return Markup('<span class="url">{}</span>').format(text(address))
    return Markup('<a href="{}" rel="{}">{}</a>').format(address, REL, text(address))


def link(shown: str, address: str | None) -> Markup:
    """Return text as a link to an HTTP URL without control characters; as text for other URLs."""
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
    """Return the host of a URL; '' if there is none."""
    try:
        return text(urlsplit(address).hostname or "")
    except ValueError:
        return ""


def short(said: str) -> str:
    """Return text of at most SHORT characters; a URL is cut in the middle, since its end identifies it."""
    shown = text(said)
    if len(shown) <= SHORT:
        return shown
    if not _is_web(said):
        return f"{shown[: SHORT - 1]}…"
    begin = (SHORT - 1) // 2
    return f"{said[:begin]}…{said[begin + 1 - SHORT :]}"


def sentence(said: str) -> str:
    """Return text that begins with a capital letter and ends with a full stop."""
    return f"{said[:1].upper()}{said[1:].rstrip('.')}."


def state(name: str) -> str:
    """Return the state of a document in words."""
    return STATES.get(name, name)


def day(time: str) -> Markup:
    """Return the day of a time, ISO 8601 in UTC."""
    return Markup("<time>{}</time>").format(time[:TO_THE_DAY])


def minute(time: str) -> Markup:
    """Return a time with a precision of minutes, ISO 8601 in UTC."""
    return Markup("<time>{}</time> UTC").format(time[:TO_THE_MINUTE].replace("T", " "))


def number(value: int) -> str:
    """Return a number with thousands separators."""
    return f"{value:,}"
