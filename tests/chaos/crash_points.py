"""Moments at which something is brought to the disk for good: a process is killed right before one of them.

What a process that dies leaves behind changes at these moments alone. Most of them lie so near to each other
that nobody who kills it from outside hits what is between them.
"""

import contextlib
import os
import signal
import sys
from collections import Counter
from typing import Any, NamedTuple

import pytest
from sqlalchemy import Connection, Engine, event

from fhcrawl.core import checks
from fhcrawl.extensions import verdicts
from fhcrawl.store.opening import BEGINS, IMMEDIATE
from tests.faketime import clock_ahead

COMMIT, RENAME, COMMIT_AFTER_RENAME = "commit", "rename", "commit after rename"
EXPORTS = ".jsonl"


class Moment(NamedTuple):
    """A moment of a process.

    :param what: the store commits, or an export gets its name
    :param number: how many of these it is, from 1
    """

    what: str
    number: int


# What a process is changed by until it ends.
_FOR_GOOD = contextlib.ExitStack()


def prepare(looks: float, moment: list[Any] | None, days: int = 0) -> None:
    """Change this process for a run.

    :param looks: seconds between looks for feeds that are done, with which FHCRAWL_EXPORT_SECONDS may be a
        part of a second; 0: as ever
    :param moment: it is killed right before that
    :param days: by which its clock is ahead
    """
    if days:
        _FOR_GOOD.enter_context(clock_ahead(days))
    if looks:
        changed = _FOR_GOOD.enter_context(pytest.MonkeyPatch.context())
        changed.setattr(verdicts, "LOOKS_AGAIN_SECONDS", looks)
        changed.delitem(checks.OUR_NUMBERS, "FHCRAWL_EXPORT_SECONDS")
    if moment is not None:
        die_before(Moment(*moment))


def die_before(moment: Moment) -> None:
    passed: Counter[str] = Counter()

    def reach(what: str) -> None:
        passed[what] += 1
        if passed[moment.what] == moment.number:
            os.kill(os.getpid(), signal.SIGKILL)

    def commit(connection: Connection) -> None:
        if connection.get_execution_options().get(BEGINS) != IMMEDIATE:
            return
        if passed[RENAME]:
            reach(COMMIT_AFTER_RENAME)
        reach(COMMIT)

    def audit(name: str, args: tuple[object, ...]) -> None:
        if name == "os.rename" and str(args[1]).endswith(EXPORTS):
            reach(RENAME)

    event.listen(Engine, "commit", commit)
    sys.addaudithook(audit)
