"""Clocks that are wrong: of a process, by libfaketime (a package of Debian's), and of fhcrawl in this one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from tests.servers import leave_out

PLACES = ("/usr/lib", "/usr/lib64", "/usr/local/lib")
NAME = "faketime/libfaketime.so.1"


def clock(time: str) -> dict[str, Any]:
    """The environment of a process whose clock begins at a time and goes on from there.

    :param time: `2000-01-01 00:00:00`, in UTC
    """
    patterns = (NAME, f"*/{NAME}")
    library = next((path for place in PLACES for p in patterns for path in Path(place).glob(p)), None)
    if library is None:
        leave_out("There is no libfaketime here: apt-get install libfaketime")
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME": f"@{time}",
        # Timeouts and delays go on as they are.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "TZ": "UTC",
    }


@contextlib.contextmanager
def clock_at(time: str) -> Iterator[None]:
    """Let it be a time for fhcrawl in this process; the time stands still.

    :param time: `2000-01-01T00:00:00`, in UTC
    """

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            return cls.fromisoformat(time).replace(tzinfo=tz)

    with _with_clock(Clock):
        yield


@contextlib.contextmanager
def clock_ahead(days: int) -> Iterator[None]:
    """Let it be some days later for fhcrawl in this process; the time goes on."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + timedelta(days)

    with _with_clock(Clock):
        yield


@contextlib.contextmanager
def _with_clock(clock: type[datetime]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fhcrawl.utils.clock.datetime", clock)
        yield
