"""A terminal for a process."""

import errno
import fcntl
import os
import pty
import struct
import termios
from collections.abc import Callable
from subprocess import Popen
from typing import Any

import pyte

from tests.fork_server import ForkedProcess

WIDTH, HEIGHT = 100, 50


class Terminal:
    """A terminal of its own for a process, and what is on its screen.

    :param start: starts the process with the terminal as its streams, as `subprocess.Popen` does
    """

    def __init__(
        self, start: Callable[..., Popen[Any] | ForkedProcess], width: int = WIDTH, height: int = HEIGHT
    ) -> None:
        self.screen = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self._outer, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.process = start(stdin=inner, stdout=inner, stderr=inner)
        os.close(inner)

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.screen.display]

    def read(self) -> bool:
        try:
            piece = os.read(self._outer, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        self.raw += piece
        self._stream.feed(piece)
        return bool(piece)

    def until(self, is_seen: Callable[[list[str]], bool]) -> list[str]:
        while not is_seen(self.lines):
            assert self.read(), self.lines
        return self.lines

    def wait(self, code: int = 0) -> list[str]:
        while self.read():
            pass
        os.close(self._outer)
        assert self.process.wait(60) == code
        return self.lines
