"""The items of the project's own."""

from dataclasses import dataclass


@dataclass
class Page:
    """A page that an entry links to."""

    entry: str
    url: str
    title: str | None
