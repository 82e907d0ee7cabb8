"""Scrapy's feed storages for files and stdout, which complete an export before it counts."""

from __future__ import annotations

import contextlib
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from scrapy.extensions import feedexport

from fhcrawl.exporters import appending, delivery
from fhcrawl.utils.locks import lock_when_free, locked

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider

    from fhcrawl.exporters.delivery import WrittenFile


class FileFeedStorage(feedexport.FileFeedStorage):
    """Writes a temporary file beside the target; `FeedExporter` renames it when the export is complete.

    Appending copies the target first, so that it is complete at any time. It is locked from the copy to the
    renaming. Targets that are not regular files (a pipe, a device) are written directly.
    """

    beside: Path | None = None
    written: WrittenFile | None = None
    # Completes or discards the export of a process that died while it was writing to the file.
    recover: Callable[[Path], None] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lock = ExitStack()
        self._target = Path()
        self._options = kwargs["feed_options"] or {}

    @property
    def target(self) -> Path:
        """The path of the file, with symbolic links resolved."""
        return Path(self.path).resolve()

    async def lock(self) -> None:
        """Wait for the lock on the file, without blocking the crawl."""
        if not delivery.is_special(Path(self.path)):
            self._target = self.target
            self._lock = await lock_when_free(self._target)

    def open(self, spider: Spider) -> IO[bytes]:
        """Return a file to write to, at its end. `release` must be called even if the export fails."""
        special = delivery.open_special(Path(self.path))
        if special is not None:
            return special
        path = self.target
        mode: Literal["wb", "ab"] = "wb" if self.write_mode == "wb" else "ab"
        if path != self._target:
            self._lock.enter_context(locked(path))
            self._target = path
        if self.recover is not None:
            self.recover(path)
        if mode == "ab":
            appending.check(path, self._options)
        file, self.beside = delivery.open_beside(path, mode)
        if mode == "ab":
            file.write(appending.line_end(path, self._options))
        return file

    def store(self, file: IO[bytes]) -> None:
        """Write the file to the disk, and close it."""
        if self.beside is None:
            file.close()
        else:
            self.written = delivery.close_whole(file, self.beside, self._target)

    def release(self) -> None:
        """Remove the temporary file if it was not renamed, and release the lock."""
        with self._lock:
            if self.beside is not None:
                # If this fails, the next export to the file removes it.
                with contextlib.suppress(OSError):
                    self.beside.unlink()


class StdoutFeedStorage(feedexport.StdoutFeedStorage):
    """Flushes its buffer before entries are marked as exported."""

    def open(self, spider: Spider) -> IO[bytes]:
        """Return stdout as a file."""
        return delivery.open_stdout()

    def store(self, file: IO[bytes]) -> None:
        """Flush the buffer."""
        file.close()
