"""Access to private attributes of Scrapy's engine, as of Scrapy 2.19."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.engine import ExecutionEngine


def requests_in_progress(engine: ExecutionEngine | None) -> set[Request]:
    """Return the requests that have left the scheduler and have not ended.

    A signal for the end of a request could replace it: `request_left_downloader` is sent before the callback.
    """
    slot = _slot(engine)
    return set() if slot is None else slot.inprogress


def is_closing(engine: ExecutionEngine | None) -> bool:
    """Return whether the engine takes no more requests."""
    slot = _slot(engine)
    return slot is None or slot.closing is not None


def _slot(engine: ExecutionEngine | None) -> Any:
    return None if engine is None else engine._slot
