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
from markupsafe import Markup, escape

from fhcrawl import __version__
from fhcrawl.logical_feed import Verdict
from fhcrawl.reporting import contents, plot
from fhcrawl.utils.text import LONGEST, UNFIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fhcrawl.store import Details, Feed

# With at most this many feeds, the details of all feeds are open, so that they are printed too.
MOST_OPEN = 5
CHUNK = 1 << 16  # characters
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")
TO_THE_DAY = len("2003-12-13")
TO_THE_MINUTE = len("2003-12-13T18:30")


def write(
    feeds: Iterable[tuple[Feed, Details]], file: IO[str], made: str, several: bool = True
) -> contents.Overview:
    """Write a report on feeds; return their totals.

    Feeds are rendered one at a time to a temporary file, because the page begins with their totals.

    :param made: time of the report, ISO 8601 in UTC
    :param several: there are more feeds than MOST_OPEN; details are collapsed
    """
    environment = _environment()
    overview = contents.Overview()
    part = environment.get_template("feed.html")
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace", newline="") as sections:
        for feed, details in feeds:
            section = contents.section(feed, details)
            overview.add(section)
            sections.write(part.render(section=section, is_open=not several))
        sections.seek(0)
        page = environment.get_template("page.html")
        style, script = _read("style.css"), _read("filter.js")
        values = {
            "overview": overview,
            "made": made,
            "version": __version__,
            "style": Markup(style),  # noqa: S704 - a file of this package
            "script": Markup(script),  # noqa: S704 - a file of this package
            "style_hash": _hash(style),
            "script_hash": _hash(script),
            "few": not several,
            "sections": _chunks(sections),
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
        "verdicts": list(Verdict),
        "most_attention": contents.MOST_ATTENTION,
    }
    environment.filters |= {"text": text, "url": url, "day": day, "minute": minute, "number": number}
    return environment


def _read(name: str) -> str:
    return resources.files("fhcrawl.reporting").joinpath("templates", name).read_text(encoding="utf-8")


# Content Security Policy Level 3, 2.3.1, hash-source: the hash of the element's exact content.
def _hash(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def _chunks(file: IO[str]) -> Iterator[Markup]:
    while chunk := file.read(CHUNK):
        yield Markup(chunk)  # noqa: S704 - escaped by the template


def text(said: str) -> str:
    """Return text of a feed on one line, without control characters and changes of direction."""
    shown = _without_controls(" ".join(said.split()))
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"


def _without_controls(said: str) -> str:
    return UNFIT.sub("\ufffd", CONTROLS.sub("\ufffd", said))


def url(address: str) -> Markup:
    """Return a link for an HTTP URL without control characters; else the URL as text."""
    shown = escape(text(address))
    try:
        is_web = urlsplit(address).scheme in {"http", "https"} and _without_controls(address) == address
    except ValueError:
        is_web = False
    if not is_web:
        return Markup('<span class="url">{}</span>').format(shown)
    link = Markup('<a class="url" href="{}" rel="noreferrer noopener">{}</a>')
    return link.format(address, shown)


def day(time: str) -> Markup:
    """Return the day of a time, ISO 8601 in UTC."""
    return Markup('<time datetime="{0}">{0}</time>').format(time[:TO_THE_DAY])


def minute(time: str) -> Markup:
    """Return a time with a precision of minutes."""
    shown = time[:TO_THE_MINUTE].replace("T", " ")
    return Markup('<time datetime="{}">{} UTC</time>').format(time, shown)


def number(value: int) -> str:
    """Return a number with thousands separators."""
    return f"{value:,}"
