"""Fossil: its feed of the timeline, which shows as many changes as are requested."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.platforms.publisher import Change, Feed, Post, Repository, run

USER = ("--user", "author")


class Fossil(Repository):
    name, program, package = "Fossil", Path("/usr/bin/fossil"), "fossil"
    # 20 and 200 check-ins, in the order of time.
    feeds = (Feed("", "/timeline.rss?y=ci", pages=2, ends=0, shows=frozenset({Change.ADD, Change.BACKDATE})),)

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        (self.folder / "checkout").mkdir()
        self._run("init", "--admin-user", "author", "../site.fossil")
        self._run("open", "../site.fossil", *USER)
        self._run("settings", "mtime-changes", "off")
        address = ("--localhost", "--port", str(self.port))
        with self.process("fossil", "server", "site.fossil", *address, HOME=str(self.folder)):
            yield

    def _run(self, *command: str) -> None:
        run("fossil", *command, cwd=self.folder / "checkout", HOME=str(self.folder), USER="author")

    def commit(self, posts: Sequence[Post]) -> None:
        file = self.folder / "checkout" / "file"
        for post in posts:
            is_new = not file.exists()
            file.write_text(f"{post.number} {post.text}", encoding="utf-8")
            if is_new:
                self._run("add", "file")
            date = f"{post.published:%Y-%m-%dT%H:%M:%S}"
            options = ("--date-override", date, "--allow-older", "--no-warnings", "--user-override", "author")
            self._run("commit", *options, "--comment", f"{post.title} {post.text}")
