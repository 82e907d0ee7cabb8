"""Crawls the complete history of web feeds and reports whether anything is missing."""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name == "Addon":
        return import_module("fhcrawl.core.addons").Addon
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
