"""fhcrawl rebuilds the whole history of a web feed (RFC 5005) and says whether it is whole."""

from __future__ import annotations

__version__ = "0.1.0"
