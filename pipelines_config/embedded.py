"""One machine, one process, a SQLite store in the project's data directory: the default."""

from __future__ import annotations

from fhcrawl.settings import *  # noqa: F403
