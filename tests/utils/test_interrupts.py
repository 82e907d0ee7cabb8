"""What Ctrl-C does to a command: a sentence, and its exit code."""

import signal
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NoReturn

import pytest

from fhcrawl import __main__
from fhcrawl.commands import feeds
from fhcrawl.core.engine import watch_signals
from fhcrawl.utils import interrupts
from tests.projects import Project


def interrupt(*_args: object) -> NoReturn:
    raise KeyboardInterrupt


class Interrupted:
    """Finds no module: the user has pressed Ctrl-C."""

    find_spec = staticmethod(interrupt)


@pytest.fixture(autouse=True)
def handled() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.in_process
@pytest.mark.any_store("what the user says")
def test_interrupted_command_prints_one_line(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds.Command, "execute", interrupt)
    done = project.scrapy("feeds")
    assert (done.returncode, done.stderr) == (130, f"{interrupts.SENTENCE}\n")


def test_command_interrupted_at_startup_prints_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(__main__, "read_settings", interrupt)
    with pytest.raises(SystemExit) as ended:
        __main__.main(["feeds"])
    assert (ended.value.code, capsys.readouterr().err) == (130, f"{interrupts.SENTENCE}\n")
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    # While modules are imported.
    for name in ("shtab", "fhcrawl.__main__"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Interrupted, *sys.meta_path])
    monkeypatch.setattr(Interrupted, "find_spec", lambda name, *_: interrupt() if name == "shtab" else None)
    with pytest.raises(SystemExit) as ended:
        import_module("fhcrawl.__main__")
    assert (ended.value.code, capsys.readouterr().err) == (130, f"{interrupts.SENTENCE}\n")


class Crawls:
    def __init__(self) -> None:
        self.handled: list[tuple[str, int]] = []

    def _signal_shutdown(self, signum: int, _: Any) -> None:
        self.handled.append(("shutdown", signum))

    def _signal_kill(self, signum: int, _: Any) -> None:
        self.handled.append(("kill", signum))


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        *(([], None), ([signal.SIGTERM], None), ([signal.SIGINT], 130)),
        *(([signal.SIGINT] * 2, 130), ([signal.SIGTERM] * 2, 143)),
    ],
)
def test_exit_code_after_signals(sent: list[signal.Signals], code: int | None) -> None:
    count, crawls = interrupts.SignalCount(), Crawls()
    watch_signals(crawls, count)
    handlers = (crawls._signal_shutdown, crawls._signal_kill)
    for handler, signum in zip(handlers, sent, strict=False):
        handler(signum, None)
    assert (count.code, count.number, len(crawls.handled)) == (code, len(sent), len(sent))
