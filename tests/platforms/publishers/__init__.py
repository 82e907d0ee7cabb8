"""One module for each program, with one subclass or more of `Publisher`."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from tests.platforms.publisher import Publisher


def every() -> list[type[Publisher]]:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return sorted(_named(Publisher), key=lambda one: one.name.lower())


def _named(base: Any) -> list[type[Publisher]]:
    found = [one for child in base.__subclasses__() for one in _named(child)]
    return [*([base] if base.name else []), *found]
