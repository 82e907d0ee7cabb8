"""fhcrawl rebuilds the whole history of a web feed (RFC 5005) and says whether it is whole."""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Return the add-on, `fhcrawl.Addon`, whose module is imported only when it is needed."""
    if name == "Addon":
        return import_module("fhcrawl.core.addons").Addon
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
