"""The classes of differences between fhcrawl and feedparser.

In all of them, fhcrawl reads what the document says: see `expected`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.documents.differential.classes import references, texts
from tests.documents.differential.classes.registry import CLASSES
from tests.documents.differential.expected import expected

if TYPE_CHECKING:
    from tests.documents.differential.comparing import Difference

__all__ = ["CLASSES", "explain", "references", "texts"]


def explain(difference: Difference) -> str | None:
    """Return the name of the class of a difference; None if fhcrawl is wrong, or it is of no class."""
    if difference.ours != expected(difference.document, difference.element, difference.field):
        return None
    fitting = (one for one in CLASSES if difference.field in one.fields and one.holds(difference))
    return next((one.name for one in fitting), None)
