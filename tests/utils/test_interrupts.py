"""What Ctrl-C does to a command: a sentence, and its exit code."""

import asyncio
import logging
import signal
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import NoReturn

import pytest
from scrapy.utils.ossignal import install_shutdown_handlers

from fhcrawl import __main__
from fhcrawl.commands import feeds
from fhcrawl.utils import interrupts
from tests.projects import Project


def interrupt(*_args: object) -> NoReturn:
    raise KeyboardInterrupt


class Interrupted:
    """Finds no module: the user has pressed Ctrl-C."""

    find_spec = staticmethod(interrupt)


@pytest.fixture(autouse=True)
def handled() -> Iterator[None]:
    before = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM)}
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


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
    """Handle signals as Scrapy does."""

    def __init__(self) -> None:
        self.handled: list[tuple[str, int]] = []
        install_shutdown_handlers(self.shut_down)

    def shut_down(self, signum: int, _frame: object) -> None:
        install_shutdown_handlers(self.kill)
        self.handled.append(("shutdown", signum))

    def kill(self, signum: int, _frame: object) -> None:
        install_shutdown_handlers(signal.SIG_IGN)
        self.handled.append(("kill", signum))


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        *(([], None), ([signal.SIGTERM], None), ([signal.SIGINT], 130)),
        *(([signal.SIGINT] * 2, 130), ([signal.SIGTERM] * 2, 143)),
    ],
)
def test_exit_code_after_signals(
    sent: list[signal.Signals], code: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    count, crawls, loop = interrupts.SignalCount(), Crawls(), asyncio.new_event_loop()
    count.watch(loop)
    for signum in sent:
        signal.raise_signal(signum)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    assert (count.code, count.number) == (code, len(sent))
    assert crawls.handled == list(zip(("shutdown", "kill"), sent, strict=False))
    how = {signal.SIGINT: "press Ctrl-C", signal.SIGTERM: "send SIGTERM"}
    assert caplog.messages == [
        f"Stopping when the requests in progress are complete; {how[first]} again to stop now"
        for first in sent[:1]
    ]
