"""libfaketime: a process whose clock is wrong (Debian's package libfaketime)."""

from __future__ import annotations

from pathlib import Path

from tests.servers import leave_out

PLACES = ("/usr/lib", "/usr/lib64", "/usr/local/lib")
NAME = "faketime/libfaketime.so.1"


def clock(time: str) -> dict[str, str]:
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
